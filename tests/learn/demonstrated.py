"""Made-up demonstrations in Kuhn's layout, for tests of imitation."""

from __future__ import annotations

import numpy as np

from lanista.data.demonstration_builder import Gathering
from lanista.data.demonstrations import Demonstrations
from lanista.data.records import PlayerInfo
from lanista.games import make

SPEC = make("kuhn").spec
TEACHER = PlayerInfo("teacher", "t" * 64)


def demonstrate(matches: int = 64, seed: int = 0, *, rule=None, outcome=None) -> Demonstrations:
    """Return trajectories of 1 to 3 decisions on random views; `rule` chooses from a view."""
    rng = np.random.Generator(np.random.PCG64(seed))
    rule = rule or (lambda view: int(view[0]))
    gathering = Gathering(SPEC)
    lengths = rng.integers(1, 4, matches)
    rows = int(lengths.sum())
    views = rng.integers(0, 2, (rows, SPEC.observation.length)).astype(np.uint8)
    match = np.repeat(np.arange(matches), lengths)
    gathering.add(
        observation=views,
        mask=np.ones((rows, SPEC.choices), np.bool_),
        action=np.array([[rule(view)] for view in views]),
        turn=np.arange(rows),
        reward=np.sin(np.arange(rows) + seed),
        match=match,
        seat=np.zeros(rows, np.int32),
        outcome=rng.integers(0, 3, matches) if outcome is None else np.full(matches, outcome),
        group=np.arange(matches, dtype=np.uint64),
        teacher=[TEACHER] * matches,
    )
    return gathering.done()
