"""Plays matches one decision at a time and keeps, for tests, all that passed by.

Written without the batches of the package, so that it can disagree with them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lanista.data import Header, Record, Replays
from lanista.games import make, make_bot


@dataclass
class Seen:
    """What the players of one match were given and what came of it."""

    seat: list[int] = field(default_factory=list)
    turn: list[int] = field(default_factory=list)
    observation: list[bytes] = field(default_factory=list)
    mask: list[bytes] = field(default_factory=list)
    action: list[list[int]] = field(default_factory=list)


def record(game: str, matches: int, seed: int = 5, first: int = 0, **settings) -> Replays:
    """Return matches between random bots, each on its own deal."""
    return watch_and_record(game, matches, seed, first, **settings)[0]


def watch_and_record(
    name: str, matches: int, seed: int = 5, first: int = 0, **settings
) -> tuple[Replays, list[Seen]]:
    """Return matches between random bots and what their players were given."""
    game = make(name, slots=1, seed=seed, **settings)
    bot = make_bot(name, "random", game.spec, seed)
    header = Header.of(game.spec, seed, [bot] * game.spec.seats)
    played = [_play(game, bot, match) for match in range(first, first + matches)]
    return Replays(header, tuple(one for one, _ in played)), [seen for _, seen in played]


def _play(game, bot, match):
    seen = Seen()
    game.start([0], [match], {"deal": 3 * match + 1})
    while not game.done[0].all():
        decisions = game.decisions()
        actions = bot.act(decisions, np.arange(len(decisions)))
        for row in range(len(decisions)):
            seen.seat.append(int(decisions.seat[row]))
            seen.turn.append(int(decisions.turn[row]))
            seen.observation.append(decisions.observation[row].tobytes())
            seen.mask.append(decisions.mask[row].tobytes())
            seen.action.append(actions[row].tolist())
        game.act(np.arange(len(decisions)), actions)
    one = Record(
        match=match,
        deal=3 * match + 1,
        options={},
        seating=tuple(range(game.spec.seats)),
        actions=np.array(seen.action, np.int32),
        returns=tuple(game.returns[0].tolist()),
        place=tuple(game.place[0].tolist()),
        cut_off=bool(game.cut_off[0].any()),
    )
    return one, seen
