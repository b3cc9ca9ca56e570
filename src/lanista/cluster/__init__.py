"""Machines that work together: Ray's session, what a machine runs, and work in tasks."""
