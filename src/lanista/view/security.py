"""Who may ask the server what: host, origin, token, size, patience and the headers of answers.

One layer around all pages, so that no page can forget it. docs/reference/view-security.md has the
table of what is refused. Knows nothing of what the pages show.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
import traceback
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lanista.view.context import ViewContext
from lanista.web.requests import TooLargeError, TooSlowError, bounded, is_token

COOKIE = "lanista_token"
HEADER = "x-lanista-token"
READS = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: "
    "blob:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Plotly sets styles, so styles may stand in a page; scripts may not."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Of every answer that does not have its own."""
NEEDS_TOKEN = (
    "This needs the token that `lanista view` printed when it started; open the address with it."
)


class Guard:
    """Refuses what must not reach a page, and gives every answer its headers."""

    def __init__(self, app: ASGIApp, context: ViewContext) -> None:
        self.app, self.context = app, context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        # Nothing here speaks another protocol.

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        limits = self.context.limits
        started = False

        async def guarded_send(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        receive = bounded(receive, limits.body_bytes, limits.patience)
        try:
            refusal = self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, guarded_send)
            else:
                await self.app(scope, receive, guarded_send)
        except TooLargeError:
            sentence = f"A request may have {limits.body_bytes:,} bytes; send less."
            await _refused(413, sentence)(scope, receive, guarded_send)
        except TooSlowError:
            await _refused(408, "The request did not arrive in time.")(scope, receive, send)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            if not started:  # Else the server drops the connection, and the client sees that.
                name = type(error).__name__
                sentence = f"The server failed at this ({name}); its terminal has the trace."
                await _refused(500, sentence)(scope, receive, guarded_send)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that goes no further; None: it may be served."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not is_own_host(host, self.context.host):
            return _refused(
                421, "This server does not go by that name; open the address that it printed."
            )
        writes = scope["method"] not in READS
        if writes and not is_same_origin(headers, host):
            return _refused(403, "Another site's page may not change anything here.")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.context.limits.body_bytes:
            return _refused(
                413, f"A request may have {self.context.limits.body_bytes:,} bytes; send less."
            )
        if not writes and (answer := self._entering(scope)) is not None:
            return answer
        public = self.context.is_local and not writes
        if public or scope["path"] == "/token" or self.holds_token(headers):
            return None
        return _refused(401, NEEDS_TOKEN)

    def holds_token(self, headers: Headers) -> bool:
        """Whether a request came with the token, in its cookie or header."""
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except CookieError:
            return False
        given = [headers.get(HEADER, "")]
        if COOKIE in cookies:
            given.append(cookies[COOKIE].value)
        return any(is_token(token, self.context.token) for token in given)

    def _entering(self, scope: Scope) -> Response | None:
        """Return how a person with the printed address gets in: a cookie, and the token gone."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in pairs if name == "token"]
        if not tokens:
            return None
        if not is_token(tokens[0], self.context.token):
            return _refused(401, f"That is not the token. {NEEDS_TOKEN}")
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        # A path with two slashes in front would lead to another server.
        path = "/" + scope["path"].lstrip("/\\")
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        set_token(answer, self.context)
        return answer


async def enter_token(request: Request) -> Response:
    """Take the token that a person typed into a page."""
    context: ViewContext = request.app.state.context
    try:
        token = (await request.json()).get("token", "")
    except (ValueError, AttributeError, RecursionError):
        token = ""
    if not is_token(token, context.token):
        return _refused(401, f"That is not the token. {NEEDS_TOKEN}")
    answer = JSONResponse({"done": True})
    set_token(answer, context)
    return answer


def set_token(answer: Response, context: ViewContext) -> None:
    """Give the browser the token; no script can read it, and no other site's request carries it."""
    answer.set_cookie(COOKIE, context.token, httponly=True, samesite="strict", path="/")


def is_own_host(host: str, bound: str) -> bool:
    """Whether a Host header is a name of this machine.

    A page whose own name was turned to this address (DNS rebinding) sends its name. The port is not
    looked at, since a tunnel may end at another one.
    """
    name = host.rsplit("]", 1)[0] + "]" if host.startswith("[") else host.rsplit(":", 1)[0]
    name = name.strip("[]").lower().rstrip(".")
    if name in ("localhost", bound.lower(), socket.gethostname().lower()):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_same_origin(headers: Headers, host: str) -> bool:
    """Whether a write comes from one of our own pages, or from no page at all."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2].lower() == host.lower()


def _refused(status: int, sentence: str) -> Response:
    if status == 421:
        return PlainTextResponse(f"{sentence}\n", status)
    return JSONResponse({"error": sentence}, status)
