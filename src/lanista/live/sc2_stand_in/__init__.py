"""A stand-in for the StarCraft II program: a small game of ours behind the program's protocol."""
