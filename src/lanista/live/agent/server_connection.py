"""Speaks to the server of a learner elsewhere: asks for policies, sends games.

What fails is told apart by what helps: to try again later (`AwayError`), or never with this file
(`RefusedFileError`). Redirects are not followed, since the token would go with them. Knows nothing
of folders and threads.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lanista import __version__
from lanista.errors import LanistaError
from lanista.live.files.sealed_json import MOST_BYTES as MOST_SMALL
from lanista.nets.files.policy_format import MOST_BYTES as MOST_POLICY
from lanista.text import printable, quoted

SECONDS = 10.0
"""How long the server may be silent."""
_CHUNK = 1 << 18
_FINAL = (413, 422)
"""What the server says of a file that it will never take."""


class AwayError(LanistaError):
    """The server cannot be reached, or cannot do what is asked just now."""

    def __init__(self, sentence: str, status: int | None = None, after: float = 0.0) -> None:
        super().__init__(sentence)
        self.status = status
        self.after = after
        """Seconds that the server asks to wait."""


class RefusedFileError(LanistaError):
    """The server will never take this file."""


@dataclass(frozen=True)
class Address:
    """Where a server is."""

    scheme: str
    host: str
    port: int | None
    prefix: str = ""

    @classmethod
    def of(cls, text: str) -> Address:
        """Return the parts of an address; refuse what is none."""
        try:
            parts = urlsplit(text)
            port = parts.port
        except (ValueError, AttributeError, TypeError) as error:
            raise _no_address(text) from error
        extra = parts.username or parts.password or parts.query or parts.fragment
        if parts.scheme not in ("http", "https") or not parts.hostname or extra:
            raise _no_address(text)
        return cls(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.prefix}"


class ServerConnection:
    """A connection that is made when needed, and kept until it is let go; for one thread."""

    def __init__(self, address: Address, token: str, certificate: Path | None = None) -> None:
        if type(token) is not str or not token.isascii() or not token.isprintable() or not token:
            raise LanistaError("An agent's token is no text of letters, digits and signs.")
        self.address = address
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": f"lanista/{__version__}"}
        self._context = _tls(certificate) if address.scheme == "https" else None
        self._connection: http.client.HTTPConnection | None = None

    def pointer(self, tag: str) -> bytes | None:
        """Return the bytes that say which policies play; None: still those of `tag`."""
        answer = self._ask("GET", "/v1/pointer", {"If-None-Match": f'"{tag}"'} if tag else {})
        if answer.status == 304:
            answer.read()
            return None
        data = self._small(answer)
        if answer.status != 200:
            raise self._failure(answer, data)
        return data

    def policy(self, digest: str) -> Iterator[bytes]:
        """Yield the bytes of a policy in pieces; raise at the end if they are not the policy's."""
        answer = self._ask("GET", f"/v1/policies/{digest}", {})
        if answer.status != 200:
            raise self._failure(answer, self._small(answer))
        total, size = hashlib.sha256(), 0
        while chunk := self._read(answer, _CHUNK):
            total.update(chunk)
            size += len(chunk)
            if size > MOST_POLICY:
                break
            yield chunk
        if total.hexdigest() != digest:
            self.close()
            raise AwayError(
                f"{self.address} sent {size:,} bytes that are not the policy {digest[:12]}."
            )

    def send(self, data: bytes) -> bool:
        """Send a game until it is safe there; return whether the server had it before."""
        digest = hashlib.sha256(data).hexdigest()
        headers = {"Content-Type": "application/octet-stream"}
        answer = self._ask("PUT", f"/v1/games/{digest}", headers, data)
        body = self._small(answer)
        receipt = _object(body)
        if answer.status in (200, 201) and receipt.get("sha256") == digest:
            return answer.status == 200
        if answer.status in _FINAL and type(receipt.get("error")) is str:
            raise RefusedFileError(printable(receipt["error"], 400))
        raise self._failure(answer, body)

    def close(self) -> None:
        """Let go of the connection; the next request makes a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> http.client.HTTPResponse:
        try:
            if self._connection is None:
                self._connection = self._new()
            try:
                self._connection.request(
                    method, self.address.prefix + path, body, self._headers | headers
                )
            except (BrokenPipeError, ConnectionResetError):
                if body is None:
                    raise
                # It may have refused the game before it had all of it, and said why.
            return self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise self._away(error) from error

    def _new(self) -> http.client.HTTPConnection:
        host, port = self.address.host, self.address.port
        if self._context is None:
            return http.client.HTTPConnection(host, port, timeout=SECONDS)
        return http.client.HTTPSConnection(host, port, timeout=SECONDS, context=self._context)

    def _read(self, answer: http.client.HTTPResponse, most: int) -> bytes:
        try:
            return answer.read(most)
        except (OSError, http.client.HTTPException) as error:
            raise self._away(error) from error

    def _small(self, answer: http.client.HTTPResponse) -> bytes:
        data = self._read(answer, MOST_SMALL + 1)
        if len(data) > MOST_SMALL:
            self.close()
            raise AwayError(f"{self.address} answers with more than it should; is it the server?")
        return data

    def _away(self, error: Exception) -> AwayError:
        self.close()
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return AwayError(f"{self.address} cannot be reached: {printable(why, 200).lower()}.")

    def _failure(self, answer: http.client.HTTPResponse, body: bytes) -> AwayError:
        sentence = _object(body).get("error")
        reason = printable(sentence, 400) if type(sentence) is str else "It says nothing more."
        after = answer.getheader("Retry-After", "")
        return AwayError(
            f"{self.address} answers {answer.status}: {reason}",
            answer.status,
            min(float(after), 600.0) if after.isdigit() else 0.0,
        )


def _object(body: bytes) -> dict[str, object]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _tls(certificate: Path | None) -> ssl.SSLContext:
    if certificate is not None and not certificate.is_file():
        raise LanistaError(f"There is no certificate {quoted(str(certificate))}; name its file.")
    try:
        return ssl.create_default_context(cafile=certificate)
    except (OSError, ValueError) as error:
        raise LanistaError(
            f"{quoted(str(certificate))} is no certificate to trust: {printable(str(error), 200)}."
        ) from error


def _no_address(text: object) -> LanistaError:
    return LanistaError(
        f"A server is {quoted(text)}; give an address such as https://learner.example:8788."
    )
