"""The match pages."""

from __future__ import annotations

from starlette.routing import BaseRoute

from lanista.view.context import ViewContext


def routes(context: ViewContext) -> list[BaseRoute]:
    """Return the addresses of these pages."""
    return []
