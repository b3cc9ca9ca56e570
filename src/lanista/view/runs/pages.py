"""The addresses of the pages on runs. Knows nothing of how a run is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from lanista.errors import LanistaError
from lanista.report.pages.run_page import page as report_page
from lanista.report.reading import read_run
from lanista.report.summary import summarise
from lanista.view.context import NotHereError, ViewContext
from lanista.view.runs.compare import MOST, compare, read_compared
from lanista.view.runs.overview import Overview, newest_run, stages_of
from lanista.view.runs.parts import PartsKept, pipeline_sections
from lanista.view.runs.survey import Place, place_at, survey
from lanista.view.shell import page


def routes(context: ViewContext) -> list[BaseRoute]:
    """Return the addresses of these pages."""
    pages = RunPages(context)
    return [
        Route("/", pages.runs),
        Route("/run", pages.run),
        Route("/compare", pages.compare),
        Route("/report", pages.report),
        Route("/api/runs", pages.lines),
        Route("/events/runs", pages.lines_stream),
        Route("/api/events/runs", pages.lines_latest),
        Route("/api/run", pages.part),
        Route("/api/evaluation", pages.evaluation),
        Route("/events/run", pages.run_stream),
        Route("/api/events/run", pages.run_latest),
        Route("/api/compare", pages.compared),
    ]


class RunPages:
    """Answers what is asked about runs."""

    def __init__(self, context: ViewContext) -> None:
        self.context = context
        self.overview, self.parts = Overview(context), PartsKept()

    def runs(self, request: Request) -> Response:
        return page("Runs", "runs.js", active="/", data=self._lines())

    def run(self, request: Request) -> Response:
        place = self._place(request)
        line = self.overview.line(place)
        return page(line["name"], "run.js", active="/", data={"line": line})

    def compare(self, request: Request) -> Response:
        return page("Compare", "compare.js", active="/compare", data={"most": MOST})

    def report(self, request: Request) -> Response:
        """Return the run's report, the same one file that `lanista report` writes."""
        record = read_run(self._run_folder(self._place(request)))
        text = report_page(record, summarise(record, by_order=False))
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
        return HTMLResponse(text, headers={"content-security-policy": policy})

    def lines(self, request: Request) -> Response:
        return JSONResponse(self._lines())

    async def lines_stream(self, request: Request) -> Response:
        return await self.context.hub.stream("runs", self._lines)

    async def lines_latest(self, request: Request) -> Response:
        mark = request.query_params.get("mark", "")
        return await self.context.hub.latest("runs", self._lines, mark)

    def _lines(self) -> dict[str, Any]:
        folder = str(self.context.folder)
        return {"folder": folder, "runs": self.overview.lines()}

    def part(self, request: Request) -> Response:
        """Return the sections on learning or on strength."""
        place = self._place(request)
        folder = self._run_folder(place)
        parts = self.parts.of(folder)
        if request.query_params.get("part") == "strength":
            part, wait = parts.strength(self.overview.numbers(folder).evaluations)
        else:
            part, wait = parts.learning(), 0.0
        return Response(f'{{"again_in":{wait:.1f},{part.json[1:]}', media_type="application/json")

    def evaluation(self, request: Request) -> Response:
        """Return the final evaluation of a pipeline, where there is one."""
        return JSONResponse({"sections": pipeline_sections(self._place(request).path)})

    async def run_stream(self, request: Request) -> Response:
        place = self._place(request)
        return await self.context.hub.stream(("run", place.path), lambda: self._look(place))

    async def run_latest(self, request: Request) -> Response:
        place, mark = self._place(request), request.query_params.get("mark", "")
        return await self.context.hub.latest(("run", place.path), lambda: self._look(place), mark)

    def _look(self, place: Place) -> dict[str, Any]:
        """Return what an open page of a run must hear of: its line, and whether curves are new."""
        line = self.overview.line(place)
        try:
            learning = self.parts.of(self._run_folder(place)).learning().version
        except LanistaError:  # The line says what is wrong.
            learning = 0
        return {"line": line, "learning": learning}

    def compared(self, request: Request) -> Response:
        """Return the comparison of runs; a folder of runs stands for all of them."""
        places: dict[str, Path] = {}
        for name in request.query_params.getlist("id")[: MOST + 1]:
            path = self.context.path_of(name)
            place = place_at(path)
            inside = survey(path) if place is None else [place]
            folders = [self._run_folder(one) for one in inside if one.kind in ("run", "pipeline")]
            if not folders:
                raise NotHereError(f"There is no run at {name!r:.200}; choose from the list.")
            places |= {self.context.place_of(folder): folder for folder in folders}
        if len(places) > MOST:
            raise LanistaError(f"{len(places)} runs were chosen; choose from 2 to {MOST}.")
        runs = [read_compared(name, folder) for name, folder in places.items()]
        metric = request.query_params.get("metric", "")
        return JSONResponse(compare(runs, metric, request.query_params.get("axis", "decisions")))

    def _place(self, request: Request) -> Place:
        name = request.query_params.get("id", "")
        place = place_at(self.context.path_of(name))
        if place is None or place.kind == "live":
            raise NotHereError(f"There is no run at {name!r:.200}; see the list of runs.")
        return place

    def _run_folder(self, place: Place) -> Path:
        """Return the run that a page is about: itself, or the newest of a pipeline."""
        if place.kind == "run":
            return place.path
        folder = newest_run(place.path, stages_of(place.path)) if place.kind == "pipeline" else None
        if folder is None:
            raise NotHereError(
                f"{self.context.place_of(place.path)} has no run yet; it is before the stage that "
                "learns by playing."
            )
        return folder
