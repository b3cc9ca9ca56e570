"""Addresses of the match pages. What they show is made elsewhere and given here as JSON."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from lanista.errors import LanistaError
from lanista.insight.films import Film
from lanista.view.context import ViewContext
from lanista.view.match.film_cache import AUTO, FilmCache, Look
from lanista.view.match.takes import listed
from lanista.view.match.walk import replay_summary, walk
from lanista.view.shell import page

MOST_STEPS = 200
"""Steps that are given at once."""
MOST_FILES = 200
"""Replay files whose headers are read for one list."""


def routes(context: ViewContext) -> list[BaseRoute]:
    """Return the addresses of these pages."""
    pages = _Pages(context)
    return [
        Route("/matches", pages.matches),
        Route("/match", pages.match),
        Route("/api/matches", pages.files),
        Route("/api/matches/in", pages.listed),
        Route("/api/match/film", pages.film),
        Route("/api/match/steps", pages.steps),
        Route("/api/match/judge", pages.judge),
    ]


class _Pages:
    def __init__(self, context: ViewContext) -> None:
        self.context, self.films = context, FilmCache(context)

    async def matches(self, request: Request) -> Response:
        """The list of files and runs, or of the matches in one."""
        place = request.query_params.get("place", "")
        return page(
            "Matches", "match/list.js", active="/matches", style="match/match.css",
            data={"place": place},
        )  # fmt: skip

    async def match(self, request: Request) -> Response:
        """One match."""
        return page("Match", "match/match.js", active="/matches", style="match/match.css")

    async def files(self, request: Request) -> Response:
        """What lies in the folder that has matches in it."""
        return JSONResponse(await run_in_threadpool(self._files))

    def _files(self) -> dict[str, Any]:
        listing = walk(self.context.folder)
        shown = listing.replays[:MOST_FILES]
        replays = [
            {"place": self.context.place_of(path), "changed": path.stat().st_mtime,
             **replay_summary(path)}
            for path in shown
        ]  # fmt: skip
        runs = [self.context.place_of(path) for path in listing.runs[:MOST_FILES]]
        return {"replays": replays, "runs": runs, "more": len(listing.replays) - len(shown)}

    async def listed(self, request: Request) -> Response:
        """A part of the matches of one file or run."""
        words = request.query_params
        path = self.context.path_of(words.get("place", ""))
        first, count = number(words, "first", 0), number(words, "count", 50)
        return JSONResponse(await run_in_threadpool(listed, path, first, count))

    async def film(self, request: Request) -> Response:
        """What a match is, its decisions and worst mistakes."""
        return JSONResponse(await run_in_threadpool(self._film, look_of(request)))

    def _film(self, look: Look) -> dict[str, Any]:
        from lanista.insight.judgements import reason_against

        film = self.films.film(look)
        advisers = self.films.advisers(look)
        reasons = [reason_against(film.spec, adviser) for adviser in advisers.values()]
        return {
            **about(film),
            "policies": self.films.policies(film.take.header.game, len(film.take.digests)),
            "judges": {str(seat): adviser.name for seat, adviser in advisers.items()},
            "unjudged": (reasons or [reason_against(film.spec, None)])[0],
        }

    async def steps(self, request: Request) -> Response:
        """Some steps of a match."""
        words = request.query_params
        first = number(words, "first", 0)
        count = min(number(words, "count", MOST_STEPS), MOST_STEPS)
        film = await run_in_threadpool(self.films.film, look_of(request))
        return JSONResponse({"first": first, "steps": film.steps(first, count)})

    async def judge(self, request: Request) -> Response:
        """What the moves of one decision were worth."""
        words = request.query_params
        step, seat = number(words, "step", 0), number(words, "seat", 0)
        judged = await run_in_threadpool(self.films.judge, look_of(request), step, seat)
        return JSONResponse(judged.plain())


def about(film: Film) -> dict[str, Any]:
    """Return what a film is, without its steps."""
    take, record = film.take, film.take.record
    return {
        "game": take.header.game,
        "seed": take.header.seed,
        "source": take.header.source,
        "players": list(take.names),
        "places": list(record.place),
        "returns": list(record.returns),
        "score": list(film.score),
        "cut_off": record.cut_off,
        "hidden": film.spec.facts.hidden,
        "seats": film.spec.seats,
        "eyes": sorted(film.eyes),
        "steps": len(film),
        "decisions": [decided.plain() for decided in film.decisions],
        "mistakes": [decided.plain() for decided in film.mistakes()],
        "valued": sorted(film.seats_with_value),
    }


def look_of(request: Request) -> Look:
    """Return which match an address is about."""
    words = request.query_params
    return Look(
        words.get("place", ""),
        number(words, "match", 0),
        words.get("eyes", "0"),
        words.get("policy", AUTO),
    )


def number(words: Any, name: str, default: int) -> int:
    """Return a whole number of an address."""
    text = words.get(name, str(default))
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise LanistaError(f"{name} is {text[:20]!r}; give a whole number.")
    return int(text)
