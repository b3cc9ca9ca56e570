"""`make bench`: prints one JSON line for each measurement."""

from __future__ import annotations

import json
import platform
import subprocess
import sys

from bench import (
    blocks,
    estimators,
    games,
    gpu,
    launchers,
    league,
    learning,
    live,
    live_serve,
    microrts,
    mirror_steps,
    ranks,
    ray_cluster,
    readouts,
    showdown,
    showdown_champion,
    showdown_server,
    solving,
    view,
)
from bench.strength import command
from bench.untuned import command as untuned_command

MEASURES = (
    games.rates, games.openspiel, games.threads, games.memory, learning.learning,
    launchers.launchers, gpu.gpu, league.league, ranks.ranks,
    blocks.blocks, readouts.readouts, live.live, live_serve.live_serve, microrts.microrts,
    ray_cluster.ray,
    showdown.showdown, showdown_champion.showdown_champion, showdown_server.showdown_server,
    solving.solve, solving.boards, estimators.estimators, mirror_steps.mirror_steps, view.view,
    command.strength, untuned_command.untuned,
)  # fmt: skip


def main() -> None:
    """Run every measurement, or those whose name is one of the words given."""
    for name, tool in (("strength", command), ("untuned", untuned_command)):
        if sys.argv[1:2] == [name]:
            tool.main(sys.argv[2:])
            return
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    print(json.dumps({"commit": commit.stdout.strip() or None, "machine": platform.machine(),
                      "python": platform.python_version()}))  # fmt: skip
    for measure in MEASURES:
        if len(sys.argv) > 1 and measure.__name__ not in sys.argv[1:]:
            continue
        for line in measure():
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
