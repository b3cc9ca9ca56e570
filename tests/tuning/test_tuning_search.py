"""Searches: ASHA stops what is hopeless, kills lose no more than what was running.

The runs are stand-ins that reach NashConv lr + seed/update after 0.1 CPU s an update.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from lanista.errors import LanistaError, RefusedError
from lanista.pipeline.experiment import Job, held
from lanista.pipeline.timed_run import finish
from lanista.runs.settings import apply_overrides, load_settings
from lanista.tuning import plan as plans
from lanista.tuning.confirm import confirm
from lanista.tuning.plan import Plan, load_plan, resumed
from lanista.tuning.search import Search
from lanista.tuning.space import parse_space
from lanista.tuning.study import Record, Study

STAND_IN = Path(__file__).parents[1] / "helpers" / "stand_in_run.py"
RECIPE = load_settings({"game": "kuhn", "iterations": 10_000, "learning": {"lr": 0.1}})
PLAN = Plan(
    "some",
    RECIPE,
    "nash_conv<=0.301",
    {"learning.lr": "choice:0.1,0.9"},
    budget=6.0,
    trials=4,
    iteration_seconds=0.1,
    untrained=0.9,
)


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (sys.executable, str(STAND_IN))
    monkeypatch.setattr(plans, "Job", partial(Job, program=program))


@contextmanager
def study_in(folder: Path, plan: Plan = PLAN, *, parallel: bool = False) -> Iterator[Study]:
    folder.mkdir(exist_ok=True)
    space = parse_space(plan.space)
    with closing(Study(folder, space, seed=plan.seed, parallel=parallel)) as study:
        yield study


def searched(folder: Path, plan: Plan = PLAN, at_once: int = 1) -> list[Record]:
    with study_in(folder, plan, parallel=at_once > 1) as study, held(folder) as lock:
        Search(plan, study, folder, at_once=at_once).run(lock)
        return study.records()


def starts(folder: Path, number: int, seed: int = 1) -> int:
    run = folder / "trials" / f"{number:03}" / f"seed-{seed}.safetensors.run"
    return len((run / "starts").read_text().splitlines())


def test_one_in_three_goes_on_from_a_rung(tmp_path: Path) -> None:
    """ASHA: who is not among the best third, and at least the best, of those so far is stopped."""
    costs = [5.0, 6.0, 4.0, 7.0, 3.5, 3.9, 3.8, 1.0, 8.0]
    went_on = []
    with study_in(tmp_path) as study:
        for cost in costs:
            number, values = study.ask()
            went_on.append(not study.hopeless(number, 1, cost))
            study.end(Record(number, values, "stopped", cost, ()))
    for at, cost in enumerate(costs):
        best_third = sorted(costs[: at + 1])[: max(1, (at + 1) // 3)]
        assert went_on[at] == (cost in best_third), at


def test_a_hopeless_setting_is_stopped_and_a_good_one_runs_with_all_seeds(tmp_path: Path) -> None:
    records = searched(tmp_path)
    assert [record.number for record in records] == [0, 1, 2, 3]
    defaults, *others = records
    assert defaults.values == {"learning.lr": 0.1}
    # lr + seed/n ≤ 0.301 from n = 5 seeds on: 0.5 and 1.0 CPU s.
    assert [run["seconds"] for run in defaults.runs] == pytest.approx([0.5, 1.0])
    assert defaults.state == "done"
    assert defaults.cost == pytest.approx(0.75)
    hopeless = [record for record in others if record.values["learning.lr"] == 0.9]
    assert hopeless
    for record in hopeless:
        assert record.state == "stopped"
        assert [run["seconds"] for run in record.runs] == [None]
        # At the first rung, a ninth of the budget, NashConv was 0.9 + 1/6: worse than untrained.
        assert record.cost == pytest.approx(2 * PLAN.budget)
    with study_in(tmp_path) as study:
        steps = {trial.number: [*trial.intermediate_values] for trial in study.study.trials}
        assert all(steps[record.number] == [1] for record in hopeless)
        assert steps[0] == [1, 3, 9]
        best = study.best()
        assert best is not None
        assert best.number in [r.number for r in records if r.values["learning.lr"] == 0.1]


def test_a_run_ends_when_it_has_reached_the_mark(tmp_path: Path) -> None:
    run = PLAN.timed_run("a", {"learning.lr": 0.1}, 1, tmp_path / "a")
    with held(tmp_path) as lock:
        finish([run], lock, at_once=1, watch=lambda: None)
    assert run.outcome.seconds == pytest.approx(0.5)
    assert run.job.state == "done"
    assert run.spent < 0.1 * RECIPE.iterations
    # Looked at again, without a process, it says the same.
    again = PLAN.timed_run("a", {"learning.lr": 0.1}, 1, tmp_path / "a")
    assert again.ended
    assert again.outcome.seconds == run.outcome.seconds
    # Also if a kill came before it was marked as done.
    run.job.mark.unlink()
    unmarked = PLAN.timed_run("a", {"learning.lr": 0.1}, 1, tmp_path / "a")
    assert unmarked.ended
    assert run.job.mark.exists()


def test_a_recipe_that_does_not_run_ends_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (sys.executable, "-c", "import sys; sys.exit('The deck is not shuffled.')")
    monkeypatch.setattr(plans, "Job", partial(Job, program=broken))
    with pytest.raises(LanistaError, match=r"own settings do not run \(.*The deck is not shuffled"):
        searched(tmp_path / "a")
    # Where the recipe lies outside of the space its values are not tried, and others just fail.
    other = Plan(**{**vars(PLAN), "space": {"learning.lr": "choice:0.8,0.9"}, "trials": 2})
    records = searched(tmp_path / "b", other)
    assert [record.state for record in records] == ["failed", "failed"]
    assert all("not shuffled" in record.why for record in records)
    assert all(record.cost == 2 * PLAN.budget for record in records)
    with study_in(tmp_path / "b", other) as study:
        assert study.best() is None


LONG = Plan(**{**vars(PLAN), "space": {"learning.lr": "choice:0.7,0.8,0.9"}, "seeds": 1})
"""No run reaches the mark, and the recipe's own values are not among those tried."""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs POSIX signals")
def test_a_killed_search_goes_on_and_loses_what_was_running_alone(tmp_path: Path) -> None:
    script = textwrap.dedent(
        f"""
        import sys
        from contextlib import closing
        from functools import partial
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import test_tuning_search as tests
        tests.plans.Job = partial(
            tests.Job, program=(sys.executable, {str(STAND_IN)!r}, "--attended")
        )
        tests.searched(Path({str(tmp_path)!r}), tests.LONG)
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", script])
    running = tmp_path / "trials" / "001" / "seed-1.safetensors.run" / "starts"
    while not running.exists():
        assert parent.poll() is None
        time.sleep(0.02)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    with study_in(tmp_path, LONG) as study:
        (before,) = study.records()
        lost = dict(study.study.trials[1].params)
    records = searched(tmp_path, LONG)
    assert records[0] == before
    assert starts(tmp_path, 0) == 1
    assert len(records) == LONG.trials
    # The lost trial has no record; the next one has its values.
    assert [record.number for record in records] == [0, 2, 3, 4]
    assert records[1].values == lost
    # What is done is not run again.
    assert searched(tmp_path, LONG) == records
    assert starts(tmp_path, 4) == 1


def test_more_trials_draw_other_values_than_the_first(tmp_path: Path) -> None:
    plan = Plan(**{**vars(LONG), "space": {"learning.lr": "float:0.5..0.9"}, "trials": 2})
    first = [dict(record.values) for record in searched(tmp_path, plan)]
    more = searched(tmp_path, Plan(**{**vars(plan), "trials": 4}), at_once=2)
    values = [record.values["learning.lr"] for record in more]
    assert [dict(record.values) for record in more[:2]] == first
    assert len(set(values)) == 4


def test_winner_and_defaults_meet_on_seeds_that_the_search_did_not_use(tmp_path: Path) -> None:
    winner = Record(7, {"learning.lr": 0.05}, "done", 1.0, ())
    plan = Plan(**{**vars(PLAN), "space": {"learning.lr": "float:0.01..0.2"}})
    with held(tmp_path) as lock:
        arms = confirm(plan, winner, tmp_path, lock, at_once=2)
        again = confirm(plan, winner, tmp_path, lock, at_once=2)
    assert arms == again
    assert [*arms] == ["defaults", "trial-007"]
    assert arms["defaults"].seeds == (3, 4, 5)
    # lr + seed/n ≤ 0.301: n = 5 seeds with lr 0.1, 4 seeds with 0.05.
    assert arms["defaults"].costs == pytest.approx([1.5, 2.0, 2.5])
    assert arms["trial-007"].costs == pytest.approx([1.2, 1.6, 2.0])
    own = Record(0, {"learning.lr": 0.1}, "done", 1.0, ())
    with held(tmp_path) as lock:
        assert [*confirm(plan, own, tmp_path, lock, at_once=1)] == ["defaults"]


def test_a_plan_is_read_back_and_another_search_is_refused(tmp_path: Path) -> None:
    PLAN.save(tmp_path)
    saved = load_plan(tmp_path)
    assert saved == PLAN
    same = {"mark": PLAN.mark, "recipe": RECIPE, "trials": 9, "name": "other.yaml"}
    assert resumed(saved, same, tmp_path) == Plan(**{**vars(PLAN), "trials": 9})
    # A mark that the recipe names by now is not the search's, which has its own.
    marked = apply_overrides(RECIPE, ["mark=nash_conv<=0.1"])
    assert resumed(saved, {"recipe": marked}, tmp_path) == PLAN
    with pytest.raises(
        RefusedError, match=r"--mark 'nash_conv<=0.301', and now it is 'score>=0.5'"
    ):
        resumed(saved, {"mark": "score>=0.5"}, tmp_path)
    other = apply_overrides(RECIPE, ["learning.lr=0.2"])
    with pytest.raises(RefusedError, match=r"learning.lr of the recipe 0.1, and now it is 0.2"):
        resumed(saved, {"recipe": other}, tmp_path)
    with pytest.raises(LanistaError, match="holds no search"):
        load_plan(tmp_path / "nowhere")


def test_a_run_is_evaluated_by_the_mark_alone_about_thirty_times_in_its_budget() -> None:
    settings = Plan(**{**vars(PLAN), "budget": 60.0}).run_settings({}, 3)
    assert (settings.evaluation.every, settings.seed) == (20, 3)
    assert (settings.evaluation.bots, settings.evaluation.exact) == ((), "always")
    plan = Plan(**{**vars(PLAN), "mark": "score:random>=0.6", "budget": 60.0})
    half = plan.run_settings({"rollouts.matches": RECIPE.rollouts.matches // 2}, 1)
    assert half.evaluation.every == 40
    assert (half.evaluation.bots, half.evaluation.exact) == (("random",), "never")
    marked = Plan(**{**vars(PLAN), "recipe": apply_overrides(RECIPE, ["mark=nash_conv<=0.1"])})
    assert marked.run_settings({}, 3) == PLAN.run_settings({}, 3)
    # The winner's file has the recipe's own evaluation.
    assert plan.settings({"learning.lr": 0.2}).evaluation == RECIPE.evaluation


@pytest.mark.parametrize("name", ["a?b", "a#b%41", "{SCHEMA}"])
def test_a_folder_of_any_name_holds_its_study(name: str, tmp_path: Path) -> None:
    with study_in(tmp_path / name) as study:
        study.enqueue({"learning.lr": 0.1})
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with study_in(tmp_path / name) as study:
        assert not study.empty


def test_a_study_that_is_damaged_or_not_ours_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "study.db").write_text("no database at all, " * 500)
    with pytest.raises(LanistaError, match=r"study\.db cannot be read .*move it away"):
        searched(tmp_path)
    (tmp_path / "study.db").unlink()
    with study_in(tmp_path) as study:
        study.study.tell(study.study.ask(study.distributions), 1.0)
    with pytest.raises(LanistaError, match=r"Trial 0 in .* was not written by lanista tune"):
        searched(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.75])
def test_a_study_damaged_anywhere_is_refused_before_the_search_goes_on(
    share: float, tmp_path: Path
) -> None:
    with study_in(tmp_path) as study:
        for _ in range(3):
            number, values = study.ask()
            study.end(Record(number, values, "done", 1.0, ()))
    file = tmp_path / "study.db"
    page, size = 4096, file.stat().st_size
    with file.open("r+b") as damaged:
        damaged.seek(int(size * share) // page * page)
        damaged.write(b"\xff" * page)
    with (
        pytest.raises(LanistaError, match="cannot be read as a study") as refusal,
        study_in(tmp_path),
    ):
        pass
    assert "\n" not in str(refusal.value)
