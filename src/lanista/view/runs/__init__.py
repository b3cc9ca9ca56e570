"""The pages on runs: all of them, one of them, several side by side."""

from lanista.view.runs.pages import routes

__all__ = ["routes"]
