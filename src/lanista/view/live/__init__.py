"""The page of a live bot: who plays, what was decided, promote and roll back."""

from lanista.view.live.pages import routes

__all__ = ["routes"]
