"""Policies and values as files: bytes, checks of a header, and those that come with the project."""
