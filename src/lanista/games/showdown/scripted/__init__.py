"""Scripted bots, and the damage formula they calculate with."""
