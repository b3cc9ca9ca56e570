"""Trains agents for competitive games, and says honestly how strong they are."""

__version__ = "0.1.0"
