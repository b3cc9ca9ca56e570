"""Joins the pages into one application, and turns what goes wrong into one sentence.

Knows nothing of what the pages show; the rules of who may ask what are in `security`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from lanista.errors import LanistaError, RefusedError
from lanista.view import live, match, play, runs
from lanista.view.context import NotHereError, ViewContext
from lanista.view.plotly_file import plotly
from lanista.view.security import Guard, enter_token
from lanista.view.shell import page

STATIC = Path(__file__).parent / "static"


def make_app(context: ViewContext) -> Starlette:
    """Return the application that serves a folder."""
    families = (runs, match, play, live)
    own: list[BaseRoute] = [
        Route("/token", enter_token, methods=["POST"]),
        Route("/static/plotly.js", plotly),
        Mount("/static", _Static(directory=STATIC)),
    ]
    app = Starlette(
        routes=[*own, *(route for family in families for route in family.routes(context))],
        middleware=[Middleware(Guard, context=context)],
        exception_handlers={
            LanistaError: _refused,
            HTTPException: _not_served,
        },
    )
    app.state.context = context
    return app


class _Static(StaticFiles):
    """Files that the browser keeps, and asks each time whether they are still the same."""

    def file_response(self, *words: Any, **options: Any) -> Response:
        response = super().file_response(*words, **options)
        response.headers["cache-control"] = "no-cache"
        return response


def _answer(request: Request, sentence: str, status: int) -> Response:
    """Return a sentence as whoever asked can read it: a page's script, or a person."""
    if request.url.path.startswith(("/api/", "/events/", "/token")):
        return JSONResponse({"error": sentence}, status)
    return page("Not here", "sentence.js", data={"sentence": sentence}, status=status)


def _refused(request: Request, error: Exception) -> Response:
    status = 422
    if isinstance(error, NotHereError):
        status = 404
    elif isinstance(error, RefusedError):
        status = 409
    return _answer(request, str(error), status)


def _not_served(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {404: "There is no such page; see the list of runs.", 405: "This cannot be asked."}
    return _answer(request, sentences.get(error.status_code, error.detail), error.status_code)
