"""Folders with matches in them, for the tests of the match and play pages."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from lanista.data.records import Header, PlayerInfo
from lanista.data.replays import write_replays
from lanista.games import registry
from lanista.rollout import rotations
from lanista.rollout.match_runner import Table, play
from lanista.rollout.replay_recorder import records_of

HOSTILE = '<img src=x onerror="window.attacked=1"><b>bold</b>'


def recorded(folder: Path, game: str, *, name: str = "random", matches: int = 2) -> str:
    """Record random matches of a game; return the place of the file."""
    made = registry.make(game, seed=4)
    bot = registry.make_bot(game, "random", made.spec, 4)
    results = play([Table(made, (bot, bot))], rotations(2, matches), record=True)
    header = Header.of(made.spec, 4, (bot, bot))
    players = (PlayerInfo(name, bot.digest), PlayerInfo("other", bot.digest))
    header = Header(**{**vars(header), "players": players})
    place = f"{game.replace(':', '-')}.jsonl.gz"
    write_replays(folder / place, header, records_of(results, {}))
    return place


class Client:
    """Asks a server as a page's script does."""

    def __init__(self, address: str) -> None:
        self.base, _, query = address.partition("?")
        self.base = self.base.rstrip("/")
        self.token = query.partition("token=")[2]

    def get(self, path: str, **query: Any) -> tuple[int, Any]:
        """Return status and JSON of an address."""
        words = f"?{urlencode(query)}" if query else ""
        return self._answer(urllib.request.Request(f"{self.base}{path}{words}"))

    def post(self, path: str, body: Any, token: bool = True) -> tuple[int, Any]:
        """Send JSON, with the token or without."""
        headers = {"content-type": "application/json"}
        if token:
            headers["x-lanista-token"] = self.token
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._answer(urllib.request.Request(f"{self.base}{path}", data, headers))

    def _answer(self, request: urllib.request.Request) -> tuple[int, Any]:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())
