"""Real Showdown servers on this machine."""
