"""Runs side by side: arms by settings, bands over seeds, tables with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made_runs import made_run

from lanista.errors import LanistaError
from lanista.view.runs.compare import Compared, arms_of, compare, read_compared


def compared(tmp_path: Path, *runs: dict[str, Any]) -> list[Compared]:
    read = []
    for number, options in enumerate(runs):
        folder = made_run(tmp_path / options.pop("name", f"run-{number}"), **options)
        read.append(read_compared(folder.relative_to(tmp_path).as_posix(), folder))
    return read


def section(body: dict[str, Any], title: str) -> dict[str, Any]:
    (found,) = (one for one in body["sections"] if one["title"] == title)
    return dict(found)


def seeded(seed: int, **more: Any) -> dict[str, Any]:
    return {"settings": {"seed": seed, "learning": {"lr": 0.1, **more}}}


def test_runs_that_differ_in_nothing_but_the_seed_are_one_arm(tmp_path: Path) -> None:
    runs = compared(
        tmp_path,
        {"name": "slow/one", **seeded(1)},
        {"name": "slow/two", **seeded(2)},
        {"name": "fast", **seeded(1, lr=0.5)},
    )
    arms = arms_of(runs)
    assert {arm: len(members) for arm, members in arms.items()} == {"slow": 2, "fast": 1}
    body = compare(runs, "policy/loss")
    chart = section(body, "Curves")["elements"][0]["figure"]
    names = [trace["name"] for trace in chart["data"] if "name" in trace]
    assert names == ["slow (2 seeds)", "fast"]
    assert sum(trace.get("fill") == "toself" for trace in chart["data"]) == 1  # One band.


@pytest.mark.parametrize(
    ("seed", "matches", "arms"),
    [(2, 3712, 1), (1, 3712, 2), (2, 7296, 2)],
    ids=["measured with another seed", "the same seed", "far apart"],
)
def test_what_a_sample_said_otherwise_under_another_seed_makes_no_arm_of_its_own(
    tmp_path: Path, seed: int, matches: int, arms: int
) -> None:
    runs = compared(
        tmp_path,
        {"settings": {"seed": 1, "rollouts": {"matches": 3648}}},
        {"settings": {"seed": seed, "rollouts": {"matches": matches}}},
    )
    assert len(arms_of(runs)) == arms


def test_only_settings_that_differ_are_listed_and_a_missing_group_is_one_row(
    tmp_path: Path,
) -> None:
    runs = compared(
        tmp_path,
        {"settings": {"learning": {"lr": 0.1, "gamma": 1.0}, "league": None}},
        {"settings": {"learning": {"lr": 0.2, "gamma": 1.0}, "league": {"a": 1, "b": [1, 2]}}},
    )
    table = section(compare(runs), "Settings")["elements"][0]
    assert table["rows"] == [
        ("league", "none", "2 settings"),
        ("learning.lr", "0.1", "0.2"),
    ]


@pytest.mark.parametrize(
    ("axis", "last"), [("decisions", 2000.0), ("cpu_seconds", 10.0), ("update", 20.0)]
)
def test_curves_are_drawn_against_what_was_spent(tmp_path: Path, axis: str, last: float) -> None:
    runs = compared(tmp_path, seeded(1), seeded(2, lr=0.5))
    chart = section(compare(runs, "policy/loss", axis), "Curves")["elements"][0]["figure"]
    assert chart["data"][0]["x"][-1] == pytest.approx(last)
    assert chart["data"][0]["y"][-1] == pytest.approx(1 / 20)


def test_final_scores_have_their_intervals_and_what_was_not_measured_a_dash(
    tmp_path: Path,
) -> None:
    runs = compared(tmp_path, {"scores": {"random": 0.75}}, {"scores": {"tough": 0.25}})
    table = section(compare(runs), "Final scores")["elements"][0]
    assert table["columns"] == ("run", "random", "tough")
    assert table["rows"] == [
        ("run-0", "0.750 [0.700, 0.800]", "—"),
        ("run-1", "—", "0.250 [0.200, 0.300]"),
    ]


def test_lower_is_better_for_losses_and_the_worst_seed_follows_from_it(tmp_path: Path) -> None:
    runs = compared(tmp_path, {"updates": 10, **seeded(1)}, {"updates": 20, **seeded(2)})
    ended = section(compare(runs, "policy/loss"), "How they ended")
    (row,) = ended["elements"][0]["rows"]
    assert ended["lead"].endswith("Lower is better.")
    assert row[:2] == ["run-0 and 1 more", "2"]
    assert row[4] == "0.100"  # 1/10, the higher of the two.


def test_too_few_too_many_and_unknown_numbers_are_refused_in_one_sentence(tmp_path: Path) -> None:
    (run,) = compared(tmp_path, seeded(1))
    with pytest.raises(LanistaError, match="1 runs were chosen; choose from 2 to 20"):
        compare([run])
    with pytest.raises(LanistaError, match="21 runs were chosen"):
        compare([run] * 21)
    with pytest.raises(LanistaError, match="None of these runs has the number 'nothing'"):
        compare([run, run], "nothing")
    with pytest.raises(LanistaError, match="'sideways' is nothing to draw against"):
        compare([run, run], "", "sideways")
