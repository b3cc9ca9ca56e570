"""Serves plotly's script as the installed package has it; no page needs a network for it."""

from __future__ import annotations

import gzip
import hashlib
from functools import lru_cache

from starlette.requests import Request
from starlette.responses import Response


@lru_cache(maxsize=1)
def _packed() -> tuple[bytes, str]:
    """Return the script, compressed once, and its mark for the browser's cache."""
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    data = get_plotlyjs().encode("utf-8")
    return gzip.compress(data, 6, mtime=0), f'"{hashlib.sha256(data).hexdigest()[:32]}"'


def plotly(request: Request) -> Response:
    """Return the script, or that it has not changed."""
    packed, mark = _packed()
    headers = {"etag": mark, "cache-control": "max-age=3600"}
    if request.headers.get("if-none-match") == mark:
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(packed), media_type="text/javascript", headers=headers)
    headers |= {"content-encoding": "gzip", "vary": "accept-encoding"}
    return Response(packed, media_type="text/javascript", headers=headers)
