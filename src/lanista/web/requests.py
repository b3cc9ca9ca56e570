"""What a request may cost: its size, how slowly it comes; and a token, compared in constant time.

Knows nothing of addresses and answers.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets

from starlette.types import Message, Receive


class TooLargeError(Exception):
    """A request's body is over the limit."""


class TooSlowError(Exception):
    """A client does not send its request."""


def new_token() -> str:
    """Return a token that nobody guesses."""
    return secrets.token_urlsafe(24)


def is_token(given: object, token: str) -> bool:
    """Compare in constant time."""
    if type(given) is not str:
        return False
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())


def bounded(receive: Receive, most: int, patience: float) -> Receive:
    """Return `receive` that gives up on a body that is too large or comes too slowly."""
    size, complete = 0, False

    async def bounded_receive() -> Message:
        nonlocal size, complete
        if complete:
            return await receive()  # The client's leaving, for which a stream may wait long.
        try:
            message = await asyncio.wait_for(receive(), patience)
        except TimeoutError:
            raise TooSlowError from None
        size += len(message.get("body", b""))
        if size > most:
            raise TooLargeError
        complete = not message.get("more_body", False)
        return message

    return bounded_receive
