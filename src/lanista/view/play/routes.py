"""Addresses of the play page. Everything that changes a match is a write and needs the token."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from lanista.errors import LanistaError
from lanista.view.context import ViewContext
from lanista.view.play.choices import game_names, opponents
from lanista.view.shell import page
from lanista.view.streams import TOO_MANY, Hub

if TYPE_CHECKING:
    from lanista.view.play.clock import Clock
    from lanista.view.play.sessions import Session, Sessions


def routes(context: ViewContext) -> list[BaseRoute]:
    """Return the addresses of these pages."""
    pages = _Pages(context)
    return [
        Route("/play", pages.page),
        Route("/api/play/games", pages.games),
        Route("/api/play/opponents", pages.opponents),
        Route("/api/play/session", pages.session),
        Route("/api/play/hint", pages.hint, methods=["POST"]),
        Route("/api/play/start", pages.start, methods=["POST"]),
        Route("/api/play/move", pages.move, methods=["POST"]),
        Route("/api/play/undo", pages.undo, methods=["POST"]),
        Route("/api/play/rematch", pages.rematch, methods=["POST"]),
        Route("/api/play/keys", pages.keys, methods=["POST"]),
        Route("/events/play", pages.frames),
    ]


class _Pages:
    def __init__(self, context: ViewContext) -> None:
        self.context = context
        self.clocks: dict[str, Clock] = {}

    @cached_property
    def sessions(self) -> Sessions:
        """The matches that go on; torch is imported with the first."""
        from lanista.view.play.sessions import Sessions

        return Sessions(self.context)

    async def page(self, request: Request) -> Response:
        """The page."""
        return page("Play", "play/play.js", active="/play", style="play/play.css")

    async def games(self, request: Request) -> Response:
        """What can be played."""
        names = await run_in_threadpool(game_names, self.context)
        return JSONResponse({"games": names})

    async def opponents(self, request: Request) -> Response:
        """Who can be met in a game."""
        game = request.query_params.get("game", "")
        return JSONResponse(await run_in_threadpool(opponents, self.context, game))

    async def session(self, request: Request) -> Response:
        """A match as it stands."""
        session = self.sessions.get(request.query_params.get("id", ""))
        return JSONResponse(await run_in_threadpool(session.plain))

    async def start(self, request: Request) -> Response:
        """Begin a match."""
        session = await run_in_threadpool(self._begin, await body_of(request))
        return JSONResponse(await run_in_threadpool(session.plain))

    def _begin(self, body: dict[str, Any]) -> Session:
        from lanista.view.play.setup import read_wish

        return self.sessions.begin(read_wish(body))

    async def move(self, request: Request) -> Response:
        """Make the person's move."""
        body, session = await self._asked(request)
        action, turn = body.get("action"), body.get("turn")
        if not isinstance(action, list) or type(turn) is not int:
            raise LanistaError("A move has `action`, a list of choices, and `turn`.")
        await run_in_threadpool(session.move, action, turn)
        return JSONResponse(await run_in_threadpool(session.plain))

    async def undo(self, request: Request) -> Response:
        """Take back the person's last move."""
        _, session = await self._asked(request)
        await run_in_threadpool(session.undo)
        return JSONResponse(await run_in_threadpool(session.plain))

    async def hint(self, request: Request) -> Response:
        """What a policy thinks of the person's view; it is counted."""
        _, session = await self._asked(request)
        return JSONResponse(await run_in_threadpool(session.hint))

    async def rematch(self, request: Request) -> Response:
        """Begin the same match again with seats swapped."""
        _, session = await self._asked(request)
        wish = session.seated.wish.swapped
        again = await run_in_threadpool(self.sessions.begin, wish)
        return JSONResponse(await run_in_threadpool(again.plain))

    async def keys(self, request: Request) -> Response:
        """Take what the person holds."""
        body, session = await self._asked(request)
        clock = self._clock(session)
        await run_in_threadpool(clock.hold, body.get("keys"))
        return JSONResponse({"late": clock.late})

    async def frames(self, request: Request) -> Response:
        """The moments of a match that does not wait."""
        clock = self._clock(self.sessions.get(request.query_params.get("id", "")))
        hub = self.context.hub
        if hub.open >= hub.most:
            return JSONResponse({"error": TOO_MANY}, 503, {"retry-after": "5"})
        return StreamingResponse(_counted(hub, clock.frames()), media_type="text/event-stream")

    def _clock(self, session: Session) -> Clock:
        if not session.match.board.live:
            raise LanistaError("This match waits for its moves; it has no clock.")
        for number in [number for number, one in self.clocks.items() if one.session.closed]:
            del self.clocks[number]
        from lanista.view.play.clock import Clock

        if session.id not in self.clocks:
            self.clocks[session.id] = Clock(session)
        return self.clocks[session.id]

    async def _asked(self, request: Request) -> tuple[dict[str, Any], Session]:
        body = await body_of(request)
        return body, self.sessions.get(str(body.get("id", "")))


async def _counted(hub: Hub, frames: AsyncGenerator[str]) -> AsyncGenerator[str]:
    """Hold a place among the streams while frames are sent."""
    hub.open += 1
    try:
        async for frame in frames:
            yield frame
    finally:
        hub.open -= 1
        await frames.aclose()


async def body_of(request: Request) -> dict[str, Any]:
    """Return the object that a request holds."""
    try:
        body = await request.json()
    except (ValueError, RecursionError) as error:
        raise LanistaError("The request holds no JSON.") from error
    if not isinstance(body, dict):
        raise LanistaError("The request must hold an object.")
    return body
