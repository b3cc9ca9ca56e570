"""The addresses of a server of live games, and its answers; a refusal is JSON with a sentence.

    GET /v1/pointer              which policies play, byte for byte; ETag, 304
    GET /v1/policy               the policy in service; its digest is the ETag, 304
    GET /v1/policies/DIGEST      any policy that the folder holds
    PUT /v1/games/SHA256         a game file, under the SHA-256 of its bytes
    GET /v1/status               what the server did so far

Every request needs the token, before anything of its body is read. Knows nothing of spools and of
what is in a game.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import stat
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lanista.errors import LanistaError
from lanista.live.files.game_header import GameFileError
from lanista.live.files.policy_folder import POINTER, PolicyFolder, PolicyFolderError, pointer_in
from lanista.live.server.limits import Limits
from lanista.live.server.reception import DamagedError, NoRoomError, Reception
from lanista.web.requests import TooLargeError, TooSlowError, bounded, is_token

WRITERS = 8
"""Threads that check games and put them on the disk; most of their time is the disk's."""
_USUAL = {
    "Not Found": "There is nothing at this address.",
    "Method Not Allowed": "This address takes other methods.",
}
_DIGEST = re.compile(r"[0-9a-f]{64}")
_STATUS: dict[type[Exception], int] = {
    DamagedError: 400, GameFileError: 422, NoRoomError: 507, PolicyFolderError: 503,
    LanistaError: 503, TooLargeError: 413, TooSlowError: 408,
}  # fmt: skip


class BusyError(LanistaError):
    """More games come in at once than the server takes."""


class Service:
    """What the answers are made from."""

    def __init__(self, reception: Reception, folder: PolicyFolder, limits: Limits) -> None:
        self.reception, self.folder, self.limits = reception, folder, limits
        self.writers = ThreadPoolExecutor(WRITERS, "lanista-reception")
        self._uploads = self._upload_bytes = 0

    async def pointer(self, request: Request) -> Response:
        """Say which policies play."""
        data = self._pointer_bytes()
        return _unless_had(request, hashlib.sha256(data).hexdigest(), data)

    async def stable(self, request: Request) -> Response:
        """Answer with the policy in service."""
        return self._policy(request, self.folder.pointer().stable)

    async def policy(self, request: Request) -> Response:
        """Answer with a policy by its digest."""
        return self._policy(request, request.path_params["digest"])

    async def game(self, request: Request) -> Response:
        """Take a game; answer when it is on the disk."""
        digest, length = request.path_params["digest"], request.headers.get("content-length", "")
        if not _DIGEST.fullmatch(digest):
            raise HTTPException(404, "A game's address ends with the SHA-256 of its file.")
        if not length.isdigit():
            raise HTTPException(411, "A game must come with its Content-Length.")
        if int(length) > self.limits.game_bytes:
            raise TooLargeError
        with self._upload(int(length)):
            data = bytearray()
            async for chunk in request.stream():
                data += chunk
            receipt = await asyncio.get_running_loop().run_in_executor(
                self.writers, self.reception.take, bytes(data), digest
            )
        # The digest again, so that no answer of anybody else passes for a receipt.
        answer = asdict(receipt) | {"sha256": digest}
        return JSONResponse(answer, 200 if receipt.repeated else 201)

    async def status(self, request: Request) -> Response:
        """Say what the server did so far."""
        pointer = self.folder.pointer()
        counts = asdict(self.reception.counts())
        return JSONResponse({"stable": pointer.stable, "serial": pointer.serial, **counts})

    @contextmanager
    def _upload(self, length: int) -> Iterator[None]:
        """Count an upload while it comes in and is written; refuse one too many."""
        limits = self.limits
        if self._uploads >= limits.uploads or self._upload_bytes + length > limits.upload_bytes:
            raise BusyError("The server takes other games just now; send it in a second.")
        self._uploads += 1
        self._upload_bytes += length
        try:
            yield
        finally:
            self._uploads -= 1
            self._upload_bytes -= length

    def _pointer_bytes(self) -> bytes:
        path = self.folder.folder / POINTER
        data = path.read_bytes()
        pointer_in(data, path)  # A damaged one is refused here, not by every bot.
        return data

    def _policy(self, request: Request, digest: str) -> Response:
        missing = HTTPException(404, "There is no policy of this digest here.")
        if not _DIGEST.fullmatch(digest):
            raise missing
        path = self.folder.path_of(digest)
        try:
            mode = path.lstat().st_mode
        except OSError:
            raise missing from None
        if not stat.S_ISREG(mode):
            raise missing
        answer = _unless_had(request, digest)
        if answer.status_code == 304:
            return answer
        return FileResponse(path, headers=_tag(digest), media_type="application/octet-stream")


def make_app(service: Service, token: str) -> ASGIApp:
    """Return the application: the addresses, and the guard around them."""
    routes = [
        Route("/v1/pointer", service.pointer),
        Route("/v1/policy", service.stable),
        Route("/v1/policies/{digest}", service.policy),
        Route("/v1/games/{digest}", service.game, methods=["PUT"]),
        Route("/v1/status", service.status),
    ]
    return Guard(Router(routes, redirect_slashes=False), token, service.limits)


class Guard:
    """Asks for the token first, and turns whatever goes wrong into one sentence."""

    def __init__(self, app: ASGIApp, token: str, limits: Limits) -> None:
        self.app, self.token, self.limits = app, token, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = False

        async def plain_send(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers.setdefault("cache-control", "no-store")
                headers.setdefault("x-content-type-options", "nosniff")
            await send(message)

        receive = bounded(receive, self.limits.game_bytes, self.limits.patience)
        try:
            if not is_token(_bearer(Headers(scope=scope)), self.token):
                await _refused(401, "This needs the server's token.")(scope, receive, plain_send)
            else:
                # With an application in its scope a router raises what it does not have.
                await self.app({**scope, "app": self}, receive, plain_send)
        except ClientDisconnect:
            return  # The bot has the game still, and sends it again.
        except Exception as error:
            answer = self._answer_to(error)
            if not started:
                await answer(scope, receive, plain_send)

    def _answer_to(self, error: Exception) -> Response:
        status = next((_STATUS[kind] for kind in type(error).mro() if kind in _STATUS), 500)
        sentence = str(error)
        if isinstance(error, HTTPException):
            status, sentence = error.status_code, _USUAL.get(error.detail, error.detail)
        elif isinstance(error, TooLargeError):
            sentence = f"A game may have {self.limits.game_bytes:,} bytes; this one has more."
        elif isinstance(error, TooSlowError):
            sentence = "The request did not arrive in time."
        elif status == 500:
            traceback.print_exc(file=sys.stderr)
            sentence = f"The server failed at this ({type(error).__name__}); its log has the trace."
        return _refused(status, sentence, 1 if isinstance(error, BusyError) else None)


def _bearer(headers: Headers) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _tag(digest: str) -> dict[str, str]:
    return {"etag": f'"{digest}"', "cache-control": "no-cache"}


def _unless_had(request: Request, digest: str, data: bytes = b"") -> Response:
    """Return the answer, or 304 where the client has what a digest names."""
    had = {tag.strip() for tag in request.headers.get("if-none-match", "").split(",")}
    if f'"{digest}"' in had:
        return Response(status_code=304, headers=_tag(digest))
    return Response(data, media_type="application/json", headers=_tag(digest))


def _refused(status: int, sentence: str, after: int | None = None) -> Response:
    headers = {} if after is None else {"retry-after": str(after)}
    return JSONResponse({"error": sentence}, status, headers=headers)
