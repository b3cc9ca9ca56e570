"""Commands to play and look."""
