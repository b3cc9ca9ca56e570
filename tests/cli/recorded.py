"""Recorded matches of random bots, for tests of commands."""

from pathlib import Path

import numpy as np

from lanista.data import Header, Record, write_replays
from lanista.games import make, make_bot


def record(path: Path, name: str, matches: int, *, players=None) -> list[Record]:
    """Play matches one at a time and write them to `path`."""
    game = make(name, seed=3)
    bot = make_bot(name, "random", game.spec, 3)
    header = Header.of(game.spec, 3, players or [bot] * game.spec.seats)
    records = []
    for match in range(10, 10 + matches):
        actions = []
        game.start([0], [match])
        while not game.done[0].all():
            decisions = game.decisions()
            rows = np.arange(len(decisions))
            chosen = bot.act(decisions, rows)
            actions.extend(chosen.tolist())
            game.act(rows, chosen)
        records.append(
            Record(
                match,
                match,
                {},
                tuple(range(game.spec.seats)),
                np.array(actions, np.int32),
                tuple(game.returns[0].tolist()),
                tuple(game.place[0].tolist()),
            )
        )
    write_replays(path, header, records)
    return records
