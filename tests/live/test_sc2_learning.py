"""A StarCraft II bot from its games through the learner to its next games, on the stand-in.

Nothing here was played on StarCraft II: results are of the stand-in.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import numpy as np
import pytest

from lanista.evaluation.score import mean_score
from lanista.live.files import game_file
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.ledger import reading
from lanista.live.sc2 import first_policy

pytest.importorskip("sc2", reason="burnysc2 is not installed")

from sc2_learning import BUILDS, Player, learn, played, story

SHORT = [1, 2, 4]
"""Numbers of games that do not last: their builds end them sooner."""


class Quick(Player):
    """Asks and acts every few seconds of game time, since here it does not matter how well."""

    macro_interval = 6.0

    async def on_start(self) -> None:
        self.client.game_step = 88


def games_in(folder: Path, number: int) -> dict[str, game_file.GameFile]:
    """Return the games that wait, once so many do: the bot writes them beside its game."""
    last = time.monotonic() + 900
    while len(paths := list((folder / "spool" / "new").glob("*.npz"))) < number:
        assert time.monotonic() < last
        time.sleep(0.05)
    return {game.header.game_id: game for game in map(game_file.read, paths)}


def test_a_bot_plays_the_policy_that_its_own_games_made(tmp_path: Path) -> None:
    first = first_policy(tmp_path / "policies").stable
    policies, bot = PolicyFolder(tmp_path / "policies"), Quick(tmp_path)
    scores = asyncio.run(played(bot, SHORT, "one"))
    before = games_in(tmp_path, 3)
    assert {game.header.policy for game in before.values()} == {first}
    learn(tmp_path, "gate.every=3")
    second = policies.pointer().stable
    assert second != first
    # The bot was not started again: it looks before each game.
    asyncio.run(played(bot, [5], "two"))
    (after,) = games_in(tmp_path, 1).values()
    bot.macro_close()
    assert after.header.policy == second
    with reading(tmp_path / "policies" / "learner" / "learn.db") as ledger:
        rows = {row.game_id: row for row in ledger.games()}
    assert {row.use for row in rows.values()} == {"learned"}
    assert [0.5 + 0.5 * (rows[f"one {n}"].outcome or 0.0) for n in SHORT] == scores
    # Whoever reads the book sees that this was not StarCraft.
    opponents = [rows[f"one {n}"].opponent for n in SHORT]
    assert opponents == [f"stand-in, {BUILDS[n % len(BUILDS)]}" for n in SHORT]


def test_a_candidate_plays_its_share_of_the_games_and_they_count_for_it(tmp_path: Path) -> None:
    stable = first_policy(tmp_path / "policies").stable
    policies, bot = PolicyFolder(tmp_path / "policies"), Quick(tmp_path)
    asyncio.run(played(bot, [1], "one"))
    games_in(tmp_path, 1)
    live = ("gate.kind=live", "gate.every=1", "gate.patience=0")
    learn(tmp_path, *live)
    pointer = policies.pointer()
    assert pointer.candidate is not None
    numbers = [n for n in range(100) if n % len(BUILDS) == 1]
    theirs = next(n for n in numbers if pointer.chosen(f"two {n}"))
    ours = next(n for n in numbers if not pointer.chosen(f"two {n}"))
    asyncio.run(played(bot, [theirs, ours], "two"))
    found = games_in(tmp_path, 2)
    bot.macro_close()
    headers = [found[f"two {n}"].header for n in (theirs, ours)]
    assert [(each.candidate, each.policy) for each in headers] == [
        (True, pointer.candidate),
        (False, stable),
    ]
    learn(tmp_path, *live, "gate.rule.limit=2")
    assert policies.pointer().candidate is None  # Two games were the most: it is withdrawn.
    with reading(tmp_path / "policies" / "learner" / "learn.db") as ledger:
        (ended,) = ledger.events("rejected")
    assert ended.body["played"] == [1, 1]


@pytest.mark.slow
def test_what_is_learned_on_the_stand_in_wins_more_of_its_games(tmp_path: Path) -> None:
    found = story(tmp_path, games=150, judging=30)
    before, after = (mean_score(np.array(found[name])) for name in ("before", "after"))
    assert before is not None
    assert after is not None
    assert before.high is not None
    assert after.low is not None
    assert after.low > before.high
