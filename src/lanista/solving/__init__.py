"""Equilibria of games whose tree can be walked, as policy files."""
