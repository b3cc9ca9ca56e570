"""The bench of clusters at its smallest sizes: what is compared with what. Nothing is timed."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("ray") is None:
    pytest.skip("ray is not installed", allow_module_level=True)
if sys.platform != "linux":
    pytest.skip("reads /proc", allow_module_level=True)

import bench.__main__ as every
from bench.ray_model import Costs, table

from bench import ray_cluster

SMALL = {
    "game": "kuhn",
    "network": {"width": 8, "layers": 1},
    "rollouts": {"matches": 64, "slots": 16},
    "device": "cpu",
}
QUEUE = [
    {"size": 0, "cpu_milliseconds_a_piece": 1.0},
    {"size": 1 << 20, "cpu_milliseconds_a_megabyte": 1.0},
]
WEIGHTS = [{"megabytes": 1, "milliseconds": 1.0}]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(ray_cluster, "GAMES", {"kuhn": SMALL})
    monkeypatch.setattr(ray_cluster, "ROUNDS", 1)
    monkeypatch.setattr(ray_cluster, "SECONDS", 0.1)


def costs(decisions: float, updates: float) -> dict[str, float]:
    return {
        "decisions_a_cpu_second": decisions,
        "decisions_a_players_cpu_second": 2 * decisions,
        "updates_a_second": updates,
    }


def test_it_is_among_the_measurements_of_make_bench() -> None:
    assert ray_cluster.ray in every.MEASURES


def test_two_machines_are_compared_with_one_in_the_same_run() -> None:
    assert ray_cluster.CASES["same_on_one"][1] == ray_cluster.CASES["two"][1]
    measured = {"one": costs(100, 4), "same_on_one": costs(80, 5), "two": costs(76, 6)}
    line = ray_cluster.two_over_one(measured)
    assert (line["ratio"], line["ratio_of_actors_and_workers"]) == (0.95, 0.95)
    assert (line["whole_run_rate_ratio"], line["met"]) == (1.2, True)
    assert line["over_one_shard"]["ratio"] == 0.76
    measured["two"] = costs(71, 6)
    assert ray_cluster.two_over_one(measured)["met"] is False


@pytest.mark.slow
def test_a_run_has_the_same_unrolls_on_one_machine_and_on_two(small: None) -> None:
    line = json.loads(json.dumps(ray_cluster.two_machines("kuhn")))
    one, two = line["same_on_one"], line["two"]
    assert one["playing_seconds_an_update"] > 0
    # Matches are as many, and their lengths are chance; a shard plays its own.
    assert one["decisions_an_update"] == pytest.approx(two["decisions_an_update"], rel=0.2)
    assert line["ratio"] == pytest.approx(
        two["decisions_a_cpu_second"] / one["decisions_a_cpu_second"], abs=1e-3
    )
    check, *_, farthest = list(table(Costs.measured(QUEUE, WEIGHTS, line), line))
    assert check["measured_updates_a_second"] == round(line["one"]["updates_a_second"], 3)
    assert farthest["bench"].startswith("model, kuhn, 512 machines")
