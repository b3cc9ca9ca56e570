"""Commands for live bots."""
