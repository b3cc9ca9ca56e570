"""`solve`: when it stops, what it writes, and that it goes on where it was killed."""

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open
from safetensors.numpy import load, save

from lanista.errors import LanistaError, RefusedError
from lanista.evaluation.evaluator import probabilities
from lanista.games.trees.exact import exact_nash_conv, information_tree
from lanista.nets.files.policy_file import load_policy
from lanista.solving import solver as solver_module
from lanista.solving.solver import SolveSettings, next_look, solve
from lanista.solving.state import load_state, save_state, state_path
from lanista.solving.tabular import TabularSolver


def test_it_stops_at_the_target_and_the_file_keeps_it(tmp_path: Path) -> None:
    output = tmp_path / "p.safetensors"
    looks = []
    solution = solve(SolveSettings("kuhn", target=0.01), output, looked=looks.append)
    assert solution.nash_conv <= 0.01
    assert [look.nash_conv > 0.01 for look in looks] == [True] * (len(looks) - 1) + [False]
    loaded = load_policy(output)
    assert loaded.digest == solution.digest
    exact = exact_nash_conv("kuhn", probabilities(loaded.policy))
    assert exact == pytest.approx(solution.nash_conv, abs=1e-6)
    assert loaded.header.step == solution.iterations
    assert loaded.header.extra["solver"].startswith(f"cfr+, {solution.iterations} iterations")


def test_it_stops_after_so_many_iterations(tmp_path: Path) -> None:
    settings = SolveSettings("kuhn", target=0, iterations=17)
    assert solve(settings, tmp_path / "p").iterations == 17


def test_it_stops_when_the_time_is_over(tmp_path: Path) -> None:
    settings = SolveSettings("leduc", target=0, minutes=1e-9)
    assert solve(settings, tmp_path / "p").iterations < 3


def killed_at(looks: int) -> Any:
    def looked(look: Any) -> None:
        if look.iterations >= looks:
            raise SystemExit

    return looked


@pytest.mark.parametrize("method", ["cfr+", "dcfr"])
def test_a_solve_that_was_killed_comes_to_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: Any
) -> None:
    settings = SolveSettings("leduc", method=method, target=0.05)
    whole = solve(settings, tmp_path / "whole")
    monkeypatch.setattr(solver_module, "SAVE_EVERY", 0.0)
    with pytest.raises(SystemExit):
        solve(settings, tmp_path / "killed", looked=killed_at(20))
    assert not (tmp_path / "killed").exists()
    again = solve(settings, tmp_path / "killed", resume=True)
    assert again.digest == whole.digest
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_an_interrupted_solve_saves_and_goes_on(tmp_path: Path) -> None:
    output, settings = tmp_path / "p", SolveSettings("leduc", target=0.02)
    looks: list[int] = []
    part = solve(settings, output, stop=lambda: len(looks) > 5, looked=lambda look: looks.append(1))
    assert part.interrupted
    assert load_policy(output).digest == part.digest
    rest = solve(settings, output, resume=True)
    assert rest.digest == solve(settings, tmp_path / "q").digest


def test_a_larger_target_later_goes_on_from_there(tmp_path: Path) -> None:
    output = tmp_path / "p"
    first = solve(SolveSettings("kuhn", target=0.1), output)
    second = solve(SolveSettings("kuhn", target=0.001), output, resume=True)
    assert second.iterations > first.iterations
    assert second.nash_conv <= 0.001


def test_the_state_of_something_else_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "p"
    solve(SolveSettings("kuhn", target=0.1), output)
    state = state_path(output)
    with pytest.raises(RefusedError, match="another game"):
        load_state(state, information_tree("leduc"), "cfr+")
    with pytest.raises(RefusedError, match="solved with the method 'cfr\\+'"):
        load_state(state, information_tree("kuhn"), "dcfr")
    with pytest.raises(LanistaError, match="leave out --resume"):
        load_state(tmp_path / "none", information_tree("kuhn"), "cfr+")
    data = state.read_bytes()
    for damaged in (b"", data[:40], data[:-8], b"\0" * 64, b"\x08" + b"\0" * 7 + b'{"a": 1}'):
        state.write_bytes(damaged)
        with pytest.raises(RefusedError, match="not the state of a solve, or is damaged"):
            load_state(state, information_tree("kuhn"), "cfr+")


@pytest.mark.parametrize("number", ["-5", '"7"', "1e3", "true", "null", "9" * 30])
def test_a_state_with_no_number_of_iterations_is_refused(tmp_path: Path, number: str) -> None:
    tree = information_tree("kuhn")
    state = tmp_path / "p.state"
    save_state(state, TabularSolver(tree, "cfr+"))
    about = json.loads(load_metadata(state))
    text = json.dumps(about).replace('"iterations": 0', f'"iterations": {number}')
    state.write_bytes(save(load(state.read_bytes()), {"lanista_solve": text}))
    with pytest.raises(RefusedError, match="not the state of a solve, or is damaged"):
        load_state(state, tree, "cfr+")


def load_metadata(path: Path) -> str:
    with safe_open(path, "numpy") as file:
        return str(file.metadata()["lanista_solve"])


def test_a_state_keeps_all_that_the_next_iterations_depend_on(tmp_path: Path) -> None:
    output = tmp_path / "p"
    solve(SolveSettings("leduc", target=0, iterations=30), output)
    loaded = load_state(state_path(output), information_tree("leduc"), "cfr+")
    fresh = TabularSolver(information_tree("leduc"), "cfr+")
    fresh.iterate(30)
    for solver in (loaded, fresh):
        solver.iterate(5)
    for name, array in fresh.arrays.items():
        assert (array == loaded.arrays[name]).all()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"target": -1}, "target is -1"),
        ({"target": float("nan")}, "target is nan"),
        ({"target": float("inf")}, "target is inf"),
        ({"iterations": 0}, "iterations is 0"),
        ({"minutes": 0}, "minutes is 0"),
        ({"target": 0}, "give iterations or minutes too"),
    ],
)
def test_ends_that_cannot_be_are_refused(values: Any, words: str) -> None:
    with pytest.raises(LanistaError, match=words):
        SolveSettings("kuhn", **values)


def test_looks_lie_at_the_same_numbers_wherever_one_goes_on() -> None:
    looks = [0]
    while looks[-1] < 10_000:
        looks.append(next_look(looks[-1]))
    for iterations in (1, 7, 95, 96, 123, 4567):
        assert next_look(iterations) == next(look for look in looks if look > iterations)
