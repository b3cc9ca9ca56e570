"""Behaviour cloning: the cloner, its settings, and how near a clone comes."""
