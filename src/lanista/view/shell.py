"""The frame around every page: head, navigation, and the data its script begins with.

All text is escaped here, and no script stands in a page: each is a module under /static. Knows
nothing of what the pages show.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from starlette.responses import HTMLResponse

from lanista.text import without_controls


@dataclass(frozen=True)
class Entry:
    """A link of the navigation."""

    name: str
    address: str


NAVIGATION = (
    Entry("Runs", "/"),
    Entry("Compare", "/compare"),
    Entry("Matches", "/matches"),
    Entry("Play", "/play"),
    Entry("Live bots", "/live"),
)
"""In the order they are shown."""


def page(
    title: str,
    script: str,
    *,
    active: str = "",
    data: Mapping[str, Any] | None = None,
    style: str = "",
    status: int = 200,
    description: str = "",
) -> HTMLResponse:
    """Return a page whose `<main>` the module /static/`script` fills.

    `active` is the address of its entry in the navigation; `data` is what the module's `pageData()`
    returns; `style` is a further style sheet under /static.
    """
    sheets = "".join(
        f'<link rel="stylesheet" href="/static/{escape(name)}">\n' for name in ("view.css", style)
        if name
    )  # fmt: skip
    name = escape(without_controls(title))
    return HTMLResponse(
        f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{name} · Lanista</title>
<link rel="icon" href="data:,">
{sheets}<script src="/static/theme.js"></script>
<script type="module" src="/static/{escape(script)}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="top">
<a class="brand" href="/">Lanista</a>
<nav aria-label="Pages">{_links(active)}</nav>
<button type="button" class="quiet" id="theme" aria-label="Switch between light and dark">◐</button>
</header>
<main id="main" tabindex="-1" aria-busy="true">
<noscript><p class="notice">These pages are drawn by their own script; allow it for this
address.</p></noscript>
{f'<p class="lead">{escape(without_controls(description))}</p>' if description else ""}
</main>
<div id="status" class="visually-hidden" role="status" aria-live="polite"></div>
<script type="application/json" id="data">{plain_json(data or {})}</script>
</body>
</html>
""",
        status,
    )


def _links(active: str) -> str:
    links = []
    for entry in NAVIGATION:
        current = ' aria-current="page"' if entry.address == active else ""
        links.append(f'<a href="{entry.address}"{current}>{escape(entry.name)}</a>')
    return "".join(links)


def plain_json(value: Any) -> str:
    """Return JSON that cannot end the script element it stands in."""
    written = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
