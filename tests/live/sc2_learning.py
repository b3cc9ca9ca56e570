"""Lets the example's bot learn on the stand-in: scores before, while and after, by build.

    python tests/live/sc2_learning.py --games 150 --judged 30 --seed 0

The first policy holds all strategies alike. It plays with fixed weights, then with a learner that
takes up every ten games and an open gate, and what came of it plays with fixed weights again, on
the seeds of before. Results are of the stand-in, which is not StarCraft.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sc2.data import AIBuild, Result
from test_sc2_games import Learning, play

from lanista.cli.main import main as lanista
from lanista.evaluation.score import Estimate, mean_score
from lanista.live.files import game_file
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.sc2 import Strategy, first_policy
from lanista.live.sc2_stand_in.server import StandIn

BUILDS = ("Timing", "Macro", "Air")
"""Against each of them one strategy wins and others lose."""
INTERVAL = 15.0
BATCH = 10
SETTINGS = [
    "gate.kind=open", f"gate.every={BATCH}", "gate.watch_share=0", "warm_up=0",
    "learning.lr=0.003", "learning.epochs=4", "learning.gamma=0.995",
]  # fmt: skip
_FIRST = 10_000
"""The first seed of those that judge; learning has none of them."""
SCORES = {Result.Victory: 1.0, Result.Tie: 0.5, Result.Defeat: 0.0}


class Player(Learning):
    """The example's bot, which asks its policy every quarter of a minute."""

    macro_interval = INTERVAL


async def played(bot: Player, numbers: Sequence[int], name: str) -> list[float]:
    """Play a game for each number, against the builds by turns; return the scores."""
    found = []
    async with StandIn() as server:
        for number in numbers:
            build = BUILDS[number % len(BUILDS)]
            bot.macro_game_id = f"{name} {number}"
            bot.macro_opponent = f"stand-in, {build}"
            found.append(SCORES[await play(server, bot, AIBuild[build], number)])
    return found


def learn(folder: Path, *settings: str) -> None:
    """Run the learner on what is there."""
    where = ["--spool", str(folder / "spool"), "--policy", str(folder / "policies")]
    given = [*SETTINGS, *settings]
    code = lanista(["learn", *where, "--once", "--nice", "0", "--set", *given])
    assert code == 0


def judged(folder: Path, policy: bytes, games: int, name: str) -> list[float]:
    """Let a policy play with fixed weights."""
    place = PolicyFolder(folder / name / "policies")
    place.publish(place.add(policy))
    bot = Player(folder / name)
    found = asyncio.run(played(bot, range(_FIRST, _FIRST + games), name))
    bot.macro_close()
    return found


def learned(folder: Path, games: int, seed: int = 0) -> list[float]:
    """Play and learn by turns; return the scores in order."""
    first_policy(folder / "policies", seed)
    bot, found = Player(folder), []
    for at in range(0, games, BATCH):
        numbers = range(at, min(at + BATCH, games))
        found += asyncio.run(played(bot, numbers, "learning"))
        bot.macro_close()
        learn(folder, f"seed={seed}")
    return found


def stable(folder: Path) -> bytes:
    place = PolicyFolder(folder / "policies")
    return place.path_of(place.pointer().stable).read_bytes()


def story(folder: Path, games: int, judging: int, seed: int = 0) -> dict[str, list[float]]:
    """Return the scores of the first policy, of learning and of the last policy."""
    first_policy(folder / "policies", seed)
    before = judged(folder, stable(folder), judging, "before")
    while_learning = learned(folder, games, seed)
    after = judged(folder, stable(folder), judging, "after")
    return {"before": before, "learning": while_learning, "after": after}


def chosen(folder: Path) -> dict[str, float]:
    """Return the shares of the strategies in a judged policy's own choices."""
    counts = np.zeros(len(Strategy), int)
    for path in (folder / "spool" / "new").glob("*.npz"):
        game = game_file.read(path)
        counts += np.bincount(game.actions[game.decisions, 0], minlength=len(Strategy))
    return {each.name.lower(): counts[each] / counts.sum() for each in Strategy}


def said(scores: Sequence[float]) -> str:
    found = mean_score(np.array(scores))
    assert isinstance(found, Estimate)
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=150)
    parser.add_argument("--judged", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        found = story(Path(folder), given.games, given.judged, given.seed)
        shares = {name: chosen(Path(folder) / name) for name in ("before", "after")}
    print("| stand-in | all |", " | ".join(BUILDS), "|")
    print("|---" * (len(BUILDS) + 2) + "|")
    for name in ("before", "after"):
        by_build = [found[name][place :: len(BUILDS)] for place in _places()]
        print(f"| {name} | {said(found[name])} |", " | ".join(map(said, by_build)), "|")
    stretches = [found["learning"][at : at + 30] for at in range(0, given.games, 30)]
    print("while learning, 30 games each:", ", ".join(map(said, stretches)))
    for name, parts in shares.items():
        print(f"chosen {name}:", ", ".join(f"{k} {share:.0%}" for k, share in parts.items()))
    print(f"{time.process_time() - began:.0f} CPU seconds")


def _places() -> list[int]:
    """Return where each build first comes among the judged games."""
    return [(place - _FIRST) % len(BUILDS) for place in range(len(BUILDS))]


if __name__ == "__main__":
    main()
