"""Writes battles as the standard HTML replays that Showdown's own pages play.

The page is poke-env's template. What opponents say and call themselves is text in it, never markup.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

from poke_env.data.replay_template import REPLAY_TEMPLATE

from lanista.files import write_text
from lanista.live.showdown.table import Result

_MOST_COPIES = 10_000


def save_replay(folder: Path, name: str, result: Result) -> Path:
    """Write a battle of the account `name` into a folder; never over one that is there."""
    stem = re.sub(r"[^A-Za-z0-9 -]", "_", f"{name} - {result.tag}")
    path = folder / f"{stem}.html"
    # Servers count their battles from 1 when they start.
    for copy in range(2, _MOST_COPIES):
        if not path.exists():
            break
        path = folder / f"{stem} ({copy}).html"
    write_text(path, replay_page(name, result))
    return path


def replay_page(name: str, result: Result) -> str:
    """Return a battle as a page."""
    # The log lies in a script element, which ends at the first "</script", or later after "<!--".
    log = "\n".join((f">{result.tag}", *result.log)).replace("</", "<\\/").replace("<!--", "<! --")
    replacements = {
        "{BATTLE_TAG}": html.escape(result.tag),
        "{PLAYER_USERNAME}": html.escape(name),
        "{OPPONENT_USERNAME}": html.escape(result.opponent),
        "{REPLAY_LOG}": log,
    }
    # In one pass: what one name says is never taken for the place of another.
    pattern = "|".join(re.escape(place) for place in replacements)
    return re.sub(pattern, lambda match: replacements[match[0]], REPLAY_TEMPLATE)
