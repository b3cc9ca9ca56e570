"""Bots, what they play on and the learner in one command: `lanista live run`."""
