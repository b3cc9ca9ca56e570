"""Games that hold processes: whatever uses one ends them, and holds no more than it was told."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "games" / "showdown"))

from showdown_play import needs_simulator

from lanista.cli.main import main
from lanista.games import registry
from lanista.runs.settings import load_settings
from lanista.training.loop import train
from lanista.training.observers import Observer

pytestmark = [
    needs_simulator,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc"),
]
WORKERS = 2
TINY = {
    "game": "showdown",
    "game_settings": {"workers": WORKERS},
    "iterations": 1,
    "network": {"kind": "mlp", "width": 8, "layers": 1},
    "rollouts": {"matches": 2, "opponents": ["self", "random"]},
    "evaluation": {"every": 1, "bots": ["random"], "matches": 2},
    "checkpoints": {"save_every": 1},
}


def children() -> list[int]:
    """Return the Node processes of this one, also those that ended and were not waited for."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            said = (place / "stat").read_text()
        except OSError:
            continue  # It ended meanwhile.
        name, rest = said[said.index("(") + 1 : said.rindex(")")], said[said.rindex(")") + 2 :]
        if int(rest.split()[1]) == os.getpid() and "node" in name.lower():
            found.append(int(place.name))
    return found


@pytest.fixture(autouse=True)
def count() -> Iterator[Callable[[], int]]:
    """Give how many Node processes a test has, without a garbage collector that might help.

    In the end there is none.
    """
    before = set(children())
    gc.disable()
    try:
        yield lambda: len(set(children()) - before)
        assert set(children()) <= before
    finally:
        gc.enable()


class Counting(Observer):
    """Notes how many Node processes there are at every update."""

    def __init__(self, count: Callable[[], int]) -> None:
        self.count, self.counts = count, list[int]()

    def updated(self, update: int, values: Mapping[str, float]) -> None:
        self.counts.append(self.count())


def test_children_are_counted_and_a_spec_leaves_none(count: Callable[[], int]) -> None:
    game = registry.make("showdown", slots=WORKERS, workers=WORKERS)
    assert count() == WORKERS
    game.close()
    assert count() == 0
    assert registry.spec_of("showdown").seats == 2


def test_a_run_holds_the_workers_of_its_game_alone_and_resumes_as_well(
    tmp_path: Path, count: Callable[[], int]
) -> None:
    output, counting = tmp_path / "main.safetensors", Counting(count)
    assert train(load_settings(TINY), output, observers=[counting]) == 0
    more: dict[str, Any] = TINY | {"iterations": 2}
    assert count() == 0
    assert train(load_settings(more), output, resume=True, observers=[counting]) == 0
    assert set(counting.counts) == {WORKERS}
    assert len(counting.counts) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["play", "showdown", "--seats", "random,max_power", "--matches", "2"],
        ["evaluate", "max_power", "--game", "showdown", "--opponents", "random", "--games", "2"],
        ["roundrobin", "showdown", "--bots", "random,max_power", "--matches", "2", "--differences"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_ends_what_it_started(words: list[str], capsys: Any) -> None:
    assert main(words) == 0
    assert "random" in capsys.readouterr().out
