"""Films: a recorded match as steps, what a policy thinks of it, and what stays hidden."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from insight_takes import RECURRENT, SMALL, policy_of, take_of

from lanista.data.replays import ReplayError
from lanista.games import registry
from lanista.games.scenes import everybody
from lanista.insight.films import Take, film
from lanista.insight.opinions import Adviser
from lanista.nets.files.value_file import VALUE, value_bytes
from lanista.nets.policy import Critic, Policy


@pytest.mark.parametrize("name", ["beastybar", "kuhn", "openspiel:connect_four", "arena"])
def test_a_film_has_a_step_for_each_position_and_one_for_the_end(name: str) -> None:
    take = take_of(name)
    shown = film(take, everybody(registry.spec_of(name)))
    assert len(shown.decisions) == len(take.record.actions)
    steps = shown.steps(0, len(shown))
    assert [len(step["decisions"]) > 0 for step in steps] == [True] * (len(steps) - 1) + [False]
    actions = [one["action"] for step in steps for one in step["decisions"]]
    assert actions == take.record.actions.tolist()
    assert shown.steps(2, 1) == [steps[2]]
    assert shown.steps(len(shown), 5) == []


def test_what_the_eyes_do_not_see_is_nowhere_in_a_film() -> None:
    """Two matches that differ in what seat 0 never saw are the same film to seat 0."""
    game = registry.make("kuhn", seed=1)
    films = []
    for seed in range(40):
        take = take_of("kuhn", seed)
        shown = film(take, frozenset({0}))
        parts = [part for step in shown.steps(0, 9) for part in step["decisions"]]
        assert all("seen" not in part and "action" not in part for part in parts if part["seat"])
        last = shown.steps(len(shown) - 1, 1)[0]["scene"]
        folded = last["log"][-1]["words"] == "pass" and any(
            move["words"] == "bet" for move in last["log"]
        )
        if folded:
            films.append(json.dumps(shown.steps(0, 9)))
            assert last["seats"][1]["cards"] is None
    assert films
    game.close()


def test_probabilities_are_those_of_the_policy(tmp_path: Path) -> None:
    name = "openspiel:tic_tac_toe"
    adviser = Adviser(policy_of(tmp_path, name), registry.spec_of(name))
    shown = film(take_of(name), everybody(adviser.spec), {0: adviser, 1: adviser})
    for step, decided in zip(shown.steps(0, len(shown) - 1), shown.decisions, strict=True):
        (part,) = step["decisions"]
        chances = [one["probability"] for one in part["choices"]]
        assert chances == sorted(chances, reverse=True)
        legal = 9 - step["turn"]
        assert len(chances) == min(legal, 8)
        if legal <= 8:
            assert sum(chances) == pytest.approx(1, abs=1e-5)
        made = [one["probability"] for one in part["choices"] if one["choice"] == part["action"][0]]
        if made:
            assert decided.probability == pytest.approx(made[0], abs=1e-6)
        assert (decided.best is None) == (part["choices"][0]["choice"] == part["action"][0])


def test_a_recurrent_policy_is_asked_as_if_it_had_played(tmp_path: Path) -> None:
    name = "openspiel:tic_tac_toe"
    path = policy_of(tmp_path, name, RECURRENT)
    take = take_of(name)
    spec = registry.spec_of(name)
    whole = film(take, everybody(spec), {0: Adviser(path, spec)})
    fresh = Adviser(path, spec)
    # Asked for a later decision alone, it has not seen what came before, and thinks otherwise.
    again = film(take, everybody(spec), {0: fresh})
    assert [one.probability for one in whole.decisions] == [
        one.probability for one in again.decisions
    ]


def test_costs_by_value_add_up_to_what_was_expected_less_what_came(tmp_path: Path) -> None:
    """Σ (V_t − r_t − V_{t+1}) = V_0 − Σ r: the costs of a seat telescope."""
    name = "openspiel:connect_four"
    path = policy_of(tmp_path, name)
    spec = registry.spec_of(name)
    policy = Policy(spec, SMALL)
    critic = Critic(spec, SMALL, "value", observation=spec.observation)
    torch.nn.init.normal_(critic.head.weight)
    digest = Adviser(path, spec).digest
    data = value_bytes(critic, policy, SMALL, digest, 1.0)
    assert data is not None
    folder = tmp_path / "p.safetensors.run"
    folder.mkdir()
    (folder / VALUE).write_bytes(data)
    take = take_of(name)
    shown = film(take, everybody(spec), dict.fromkeys((0, 1), Adviser(path, spec)))
    assert shown.seats_with_value == {0, 1}
    for seat in (0, 1):
        own = [one for one in shown.decisions if one.seat == seat]
        assert sum(one.cost or 0.0 for one in own) == pytest.approx(
            (own[0].value or 0.0) - take.record.returns[seat], abs=1e-4
        )
    worst = shown.mistakes(3)
    costs = [one.cost or 0.0 for one in shown.decisions]
    assert [one.cost for one in worst] == sorted(costs, reverse=True)[:3]


def test_without_values_the_least_likely_moves_are_the_mistakes(tmp_path: Path) -> None:
    name = "openspiel:connect_four"
    adviser = Adviser(policy_of(tmp_path, name), registry.spec_of(name))
    shown = film(take_of(name), everybody(adviser.spec), {0: adviser, 1: adviser})
    worst = shown.mistakes(4)
    chances = [one.probability or 0.0 for one in worst]
    assert chances == sorted(chances)
    assert all(one.best for one in worst)


def test_a_match_that_goes_otherwise_is_refused() -> None:
    take = take_of("kuhn")
    wrong = type(take.record)(**{**vars(take.record), "returns": (9.0, -9.0)})
    with pytest.raises(ReplayError, match="another outcome"):
        film(Take(take.header, wrong), frozenset({0}))


def test_a_long_match_is_kept_in_little_memory() -> None:
    take = take_of("arena")
    shown = film(take, everybody(registry.spec_of("arena")))
    assert shown.size < 3000 * len(shown)
    assert np.isfinite(shown.score).all()
