"""Measurements of what the package claims, each beside its alternative in the same run."""
