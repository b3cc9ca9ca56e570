"""A player's knowledge as one row of numbers, and its description."""
