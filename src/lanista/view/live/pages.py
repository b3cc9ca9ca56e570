"""The addresses of the pages on live bots. Knows nothing of how a policy folder is read."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from lanista.errors import LanistaError
from lanista.live.diagnosis.doctor import examine
from lanista.live.learner.ledger import NAME
from lanista.live.promotion.folder_view import look
from lanista.report.live_record import LEARNER, is_live, read_live
from lanista.report.pages.live_page import headline, live_sections
from lanista.view.context import NotHereError, ViewContext
from lanista.view.live.changes import change_policy
from lanista.view.runs.elements import plain_sections
from lanista.view.runs.overview import Overview
from lanista.view.runs.survey import Place, place_at
from lanista.view.shell import page

HEALTH_SHARE = 0.005
"""Of one core, that the doctor's looks at a live bot may take."""
LAST_CHANGES = 50


def routes(context: ViewContext) -> list[BaseRoute]:
    """Return the addresses of these pages."""
    pages = LivePages(context)
    return [
        Route("/live", pages.live),
        Route("/events/live", pages.stream),
        Route("/api/events/live", pages.latest),
        Route("/api/live/health", pages.health),
        Route("/api/live/change", pages.change, methods=["POST"]),
    ]


class LivePages:
    """Answers what is asked about live bots."""

    def __init__(self, context: ViewContext) -> None:
        self.context, self.overview = context, Overview(context)
        self._seen: dict[Path, tuple[Any, dict[str, Any]]] = {}
        self._examined: dict[Path, tuple[float, dict[str, Any]]] = {}
        self._turn = threading.Lock()

    def live(self, request: Request) -> Response:
        if "id" not in request.query_params:
            bots = [line for line in self.overview.lines() if line["kind"] == "live"]
            return page("Live bots", "live_list.js", active="/live", data={"bots": bots})
        place = self._place(request)
        first = self._look(place)
        return page(first["line"]["name"], "live.js", active="/live", data=first)

    async def stream(self, request: Request) -> Response:
        place = self._place(request)
        return await self.context.hub.stream(("live", place.path), lambda: self._look(place))

    async def latest(self, request: Request) -> Response:
        place, mark = self._place(request), request.query_params.get("mark", "")
        return await self.context.hub.latest(("live", place.path), lambda: self._look(place), mark)

    def _look(self, place: Place) -> dict[str, Any]:
        """Return who plays, with the evidence; read again when a file of the bot has changed."""
        line, mark = self.overview.line(place), _mark(place.path)
        with self._turn:
            seen_mark, shown = self._seen.get(place.path, (None, {}))
        if seen_mark != mark:
            shown = _shown(place.path)
            with self._turn:
                self._seen[place.path] = mark, shown
        return {"line": line, **shown}

    def health(self, request: Request) -> Response:
        """Return the doctor's findings, not made more often than their cost allows."""
        path = self._place(request).path
        with self._turn:
            due, examined = self._examined.get(path, (0.0, {}))
            if time.monotonic() >= due:
                began = time.thread_time()
                examined = examine(policy=path).as_json()
                rest = max(5.0, (time.thread_time() - began) / HEALTH_SHARE)
                self._examined[path] = time.monotonic() + rest, examined
        again = max(1.0, self._examined[path][0] - time.monotonic())
        return JSONResponse({**_without_evidence(examined), "again_in": again})

    async def change(self, request: Request) -> Response:
        """Promote or roll back; needs the token, as everything that writes."""
        try:
            wish = await request.json()
        except (ValueError, RecursionError):
            wish = None
        if not isinstance(wish, dict):
            raise LanistaError("The request is no JSON object.")
        place = self._at(str(wish.get("id", "")))
        verb, digest, serial, why = (wish.get(n) for n in ("verb", "digest", "serial", "reason"))
        pointer = await run_in_threadpool(
            lambda: change_policy(place.path, verb, digest, serial, why)
        )
        return JSONResponse({"serial": pointer.serial, "stable": pointer.stable})

    def _place(self, request: Request) -> Place:
        return self._at(request.query_params.get("id", ""))

    def _at(self, name: str) -> Place:
        place = place_at(self.context.path_of(name))
        if place is None or place.kind != "live":
            raise NotHereError(f"There is no live bot at {name!r:.200}; see the list of live bots.")
        return place


def _shown(folder: Path) -> dict[str, Any]:
    view = asdict(look(folder))
    view["history"] = view["history"][-LAST_CHANGES:]
    sections: list[dict[str, Any]] = []
    sentences = ["No learner has run here, so games and scores are not known."]
    if is_live(folder):
        record = read_live(folder)
        sections, sentences = plain_sections(live_sections(record)), headline(record)
    return {"view": view, "sections": sections, "headline": sentences}


def _without_evidence(examined: dict[str, Any]) -> dict[str, Any]:
    names = ("name", "gravity", "sentence", "meaning", "remedy")
    findings = [{key: one[key] for key in names} for one in examined["findings"]]
    return {"facts": examined["facts"], "findings": findings}


def _mark(folder: Path) -> tuple[Any, ...]:
    book = folder / LEARNER / NAME
    paths = (folder / "current.json", book, book.with_name(f"{book.name}-wal"))
    stamps = []
    for path in paths:
        try:
            status = path.lstat()
            stamps.append((status.st_mtime_ns, status.st_size))
        except OSError:
            stamps.append((0, 0))
    return tuple(stamps)
