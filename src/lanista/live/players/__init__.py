"""Bots that play on and on in processes of their own, for `lanista live run`."""
