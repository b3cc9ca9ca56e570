"""Public battle logs, and what they prove of each side."""
