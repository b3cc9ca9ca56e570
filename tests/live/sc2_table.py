"""Plays every strategy of the example's bot against every build of the stand-in; prints a table.

    python tests/live/sc2_table.py --seeds 2

Results are of the stand-in, which is not StarCraft.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools

from sc2.data import AIBuild, Result
from test_sc2_games import Plain, play

from lanista.live.sc2 import Strategy
from lanista.live.sc2_stand_in.computer import BUILDS
from lanista.live.sc2_stand_in.server import StandIn

LETTERS = {Result.Victory: "W", Result.Defeat: "L", Result.Tie: "D"}


async def results(seeds: int) -> dict[tuple[Strategy, str], str]:
    """Return a letter for each game by strategy and build."""
    table = {}
    async with StandIn() as server:
        for strategy, build in itertools.product(Strategy, BUILDS):
            played = [
                await play(server, Plain(strategy), AIBuild[build], seed) for seed in range(seeds)
            ]
            table[strategy, build] = "".join(LETTERS[result] for result in played)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1)
    table = asyncio.run(results(parser.parse_args().seeds))
    print("| stand-in |", " | ".join(BUILDS), "|")
    print("|---" * (len(BUILDS) + 1) + "|")
    for strategy in Strategy:
        cells = [table[strategy, build] for build in BUILDS]
        print(f"| {strategy.name.lower()} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
