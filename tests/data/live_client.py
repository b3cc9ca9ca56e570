"""A live client for tests: plays matches and writes its feedback as one would outside."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from lanista.data.feedback import STREAM, FeedbackWriter
from lanista.data.records import PlayerInfo
from lanista.games import make, make_bot

CLIENT = PlayerInfo("client", "c" * 64)


def play_live(
    folder: Path, session: str = "monday", matches: int = 2, game: str = "kuhn", **settings
):
    """Let seat 0 of random matches write feedback; return all that it was given, in order."""
    played = make(game, seed=4, **settings)
    bot = make_bot(game, "random", played.spec, 4)
    writer = FeedbackWriter(folder / session, played.spec, session, CLIENT)
    seen = []
    for match in range(matches):
        played.start([0], [match])
        step = 0
        while not played.done[0].all():
            decisions = played.decisions()
            rows = np.arange(len(decisions))
            chosen = bot.act(decisions, rows)
            for row in np.flatnonzero(decisions.seat == 0):
                observation = decisions.observation[row].copy()
                writer.step(
                    f"m{match}",
                    step,
                    1000.0 + step,
                    observation,
                    chosen[row],
                    mask=decisions.mask[row],
                    extras={"fps": 30.0 + step, "banner": f"step {step}"},
                )
                seen.append((observation, decisions.mask[row].copy(), chosen[row].copy()))
                step += 1
            played.act(rows, chosen)
    writer.close()
    return played.spec, seen


def lines_of(folder: Path, session: str = "monday") -> list[dict]:
    """Return a stream's lines as values."""
    text = (folder / session / STREAM).read_text()
    return [json.loads(line) for line in text.splitlines()]


def rewrite(folder: Path, values: list, session: str = "monday") -> Path:
    """Write a stream's lines anew; what is no dict is written as it is."""
    path = folder / session / STREAM
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [one if isinstance(one, str) else json.dumps(one) for one in values]
    path.write_text("".join(line + "\n" for line in lines))
    return path
