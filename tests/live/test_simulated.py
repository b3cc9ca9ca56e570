"""Candidates that are tried in a simulator, on the same deals as the stable policy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from practice import (
    is_policy,
    kinds_of,
    quick,
    settings_of,
)
from toy import agent_of

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.background_learner import BackgroundLearner
from lanista.live.promotion import simulator_trial as simulated_trials
from lanista.live.promotion.sequential_test import Rule
from lanista.live.promotion.simulator_trial import refuse_unknown_game, simulate, unit_scores
from lanista.nets.files.policy_file import policy_bytes
from lanista.nets.files.policy_format import read_header
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.match_runner import Results
from lanista.rollout.schedule import Schedule


def kuhn(path: Path, seed: int, bluff: float | None = None) -> Path:
    """Write a policy for Kuhn poker: random, or one that always folds to a bet."""
    spec = registry.make("kuhn").spec
    torch.manual_seed(seed)
    policy = Policy(spec, Network("mlp", width=8, layers=1))
    if bluff is not None:
        with torch.no_grad():
            policy.head.weight.zero_()
            policy.head.bias.copy_(torch.tensor([bluff, -bluff]))
    path.write_bytes(policy_bytes(policy, spec))
    return path


def test_in_a_simulator_a_better_policy_is_published_and_an_equal_one_is_not(
    tmp_path: Path,
) -> None:
    settings = settings_of(quick(kind="simulator", rule=Rule(limit=2000)))
    passes, plays = kuhn(tmp_path / "a", 0, 8.0), kuhn(tmp_path / "b", 0)
    better = simulate(plays, passes, settings, stop=lambda: False)
    worse = simulate(passes, plays, settings, stop=lambda: False)
    equal = simulate(plays, kuhn(tmp_path / "c", 0), settings, stop=lambda: False)
    assert better is not None
    assert worse is not None
    assert equal is not None
    assert (better[0].verdict, better[0].reason) == ("publish", "better")
    assert better[1]["low"] > 0
    assert worse[0].verdict == "reject"
    assert equal[0].verdict == "reject"
    assert equal[0].games <= 2000
    assert simulate(plays, passes, settings, stop=lambda: True) is None


def results_of(seating: Any, place: Any, cut_off: Any) -> Results:
    """Return what came of matches whose places are given."""
    count = len(seating)
    schedule = Schedule(np.arange(count), np.arange(count), np.array(seating, np.int32))
    shape = np.array(place).shape
    return Results(
        schedule=schedule,
        returns=np.zeros(shape, np.float32),
        place=np.array(place, np.int32),
        score=np.zeros(shape, np.float32),
        decisions=np.ones(count, np.int32),
        cut_off=np.array(cut_off),
        digests=("a", "b"),
    )


def test_a_deals_score_is_the_mean_share_of_seats_that_the_candidate_beat() -> None:
    seating = [[0, 1, 1], [1, 0, 1], [1, 1, 0]] * 2
    place = [
        # First alone, beaten by both, and one beaten with the other equal: 1, 0 and ¾.
        [1, 2, 3], [1, 3, 1], [3, 1, 1],
        [1, 1, 1], [2, 1, 3], [1, 1, 1],
    ]  # fmt: skip
    whole = unit_scores(results_of(seating, place, [False] * 6))
    assert whole.tolist() == pytest.approx([(1 + 0 + 0.75) / 3, (0.5 + 1 + 0.5) / 3])
    cut = unit_scores(results_of(seating, place, [False, False, True, False, False, False]))
    assert np.isnan(cut[0])
    assert cut[1] == whole[1]


def test_a_deal_compares_both_on_the_same_opponent_and_one_cut_off_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = {"new": [1.0, 0.5, np.nan, 0.0], "old": [0.0, 0.5, 1.0, 1.0]}
    asked = []

    def played(game: Any, one: Any, other: Any, deal: int, size: int, options: Any) -> Any:
        asked.append((one, other, deal, size, options))
        return one

    monkeypatch.setattr(simulated_trials, "_played", played)
    monkeypatch.setattr(simulated_trials, "unit_scores", lambda one: np.array(scores[one]))
    both: Any = ["new", "old"]
    game: Any = None
    bot: Any = "bot"
    found = simulated_trials._scores(game, both, bot, 7, 4, {"a": 1})
    assert found.tolist() == [1.0, 0.5, 0.5, 0.0]
    assert asked == [("new", "bot", 7, 4, {"a": 1}), ("old", "bot", 7, 4, {"a": 1})]
    asked.clear()
    assert simulated_trials._scores(game, both, None, 9, 4, {}).tolist() == [1.0, 0.5, 0.5, 0.0]
    assert asked == [("new", "old", 9, 4, {})]


def test_the_matches_of_a_deal_are_all_seatings_of_it_and_deals_follow_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schedules: list[Any] = []
    monkeypatch.setattr(
        simulated_trials, "play", lambda tables, schedule, options: schedules.append(schedule)
    )
    game = registry.make("kuhn")
    player: Any = None
    simulated_trials._played(game, player, player, 7, 3, {})
    (schedule,) = schedules
    assert schedule.deal.tolist() == [7, 7, 8, 8, 9, 9]
    assert schedule.match.tolist() == [14, 15, 16, 17, 18, 19]
    assert schedule.seating.tolist() == [[0, 1], [1, 0]] * 3


def test_in_a_simulator_both_meet_the_same_bots(tmp_path: Path) -> None:
    settings = settings_of(quick(kind="simulator", rule=Rule(limit=3000), opponents=("random",)))
    passes, plays = kuhn(tmp_path / "a", 0, 8.0), kuhn(tmp_path / "b", 0)
    found = simulate(plays, passes, settings, stop=lambda: False)
    assert found is not None
    assert found[0].verdict in ("publish", "reject")
    same = simulate(plays, plays, settings, stop=lambda: False)
    assert same is not None
    assert same[0].verdict == "reject"
    assert same[1]["difference"] == 0


def test_every_candidate_is_tried_on_deals_of_its_own(tmp_path: Path) -> None:
    """Else the luck of one set of deals would decide about all of them alike."""
    settings = settings_of(quick(kind="simulator", rule=Rule(limit=300)))
    one, other = kuhn(tmp_path / "a", 0), kuhn(tmp_path / "b", 1)
    found = [
        simulate(one, other, settings, number=number, stop=lambda: False) for number in (3, 3, 4)
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


@pytest.mark.parametrize("opponents", [(), ("random", "random")])
def test_no_deal_counts_twice_in_one_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opponents: tuple[str, ...]
) -> None:
    played: list[int] = []

    def scores(game: Any, both: Any, other: Any, deal: int, size: int, options: Any) -> Any:
        played.extend(range(deal, deal + size))
        return np.full(size, 0.5)

    monkeypatch.setattr(simulated_trials, "_scores", scores)
    gate = quick(kind="simulator", rule=Rule(futile=0, limit=500), opponents=opponents)
    one, other = kuhn(tmp_path / "a", 0), kuhn(tmp_path / "b", 1)
    simulate(one, other, settings_of(gate), number=2, stop=lambda: False)
    assert len(played) >= 500
    assert len(set(played)) == len(played)
    assert min(played) == 2 << 24


def test_looks_come_after_twice_the_deals_until_1024_lie_between_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def scores(game: Any, both: Any, other: Any, deal: int, size: int, options: Any) -> Any:
        assert deal == (2 << 24) + sum(sizes)
        sizes.append(size)
        return np.full(size, 0.5)

    monkeypatch.setattr(simulated_trials, "_scores", scores)
    gate = quick(kind="simulator", rule=Rule(futile=0, limit=5000))
    path = kuhn(tmp_path / "a", 0)
    found = simulate(path, path, settings_of(gate), number=2, stop=lambda: False)
    assert sizes == [32, 64, 128, 256, 512, 1024, 1024, 1024, 1024]
    assert found is not None
    assert found[1]["games"] == found[0].games == 5000
    assert (found[1]["low"], found[1]["high"]) == (-found[1]["high"], -found[1]["low"])


def test_a_policys_file_may_not_ask_for_processes_by_its_games_settings(tmp_path: Path) -> None:
    header = read_header(kuhn(tmp_path / "a", 0))
    refuse_unknown_game(header)
    asking = replace(header, game="showdown", settings={"workers": 64})
    with pytest.raises(LanistaError, match="setting workers is 64, which a file may not choose"):
        refuse_unknown_game(asking)
    refuse_unknown_game(replace(asking, settings={"workers": 1}))
    with pytest.raises(LanistaError, match="set it to live"):
        refuse_unknown_game(replace(header, game="no such game"))


@pytest.mark.parametrize(
    ("words", "options"), [((), {}), (("hands=3", "cap=-2"), {"hands": 3, "cap": -2})]
)
def test_options_reach_the_matches_as_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], options: dict[str, int]
) -> None:
    asked: list[Any] = []

    def scores(*given: Any) -> Any:
        asked.append(given[-1])
        return np.full(32, 0.5)

    monkeypatch.setattr(simulated_trials, "_scores", scores)
    gate = quick(kind="simulator", rule=Rule(limit=32), options=words)
    path = kuhn(tmp_path / "a", 0)
    simulate(path, path, settings_of(gate), stop=lambda: False)
    assert asked[0] == options


@pytest.mark.parametrize("opponents", [(), ("random",)])
def test_matches_that_are_all_cut_off_end_a_simulation_at_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opponents: tuple[str, ...]
) -> None:
    monkeypatch.setattr(simulated_trials, "unit_scores", lambda results: np.full(32, np.nan))
    gate = quick(kind="simulator", rule=Rule(limit=100, futile=0.0), opponents=opponents)
    path, looks = kuhn(tmp_path / "a", 0), iter(range(20))

    def stop() -> bool:
        next(looks)  # An error once it has gone on for too long.
        return False

    found = simulate(path, path, settings_of(gate), stop=stop)
    assert found is not None
    assert (found[0].verdict, found[0].games) == ("reject", 100)
    assert found[1]["difference"] == 0


@pytest.mark.parametrize("option", ["hands", "hands=many", "=3"])
def test_an_option_that_is_none_is_refused(tmp_path: Path, option: str) -> None:
    settings = settings_of(quick(kind="simulator", options=(option,)))
    path = kuhn(tmp_path / "a", 0)
    with pytest.raises(LanistaError, match="give NAME=NUMBER"):
        simulate(path, path, settings, stop=lambda: False)


def simulated(tmp_path: Path, liked: int) -> Any:
    """Return the folder of a policy that nearly always passes, settings with a simulator, and
    leave games in which one action was liked."""
    folder = PolicyFolder(tmp_path / "policy")
    folder.publish(folder.add(kuhn(tmp_path / "a", 0, 1.0).read_bytes()))
    gate = quick(kind="simulator", every=20, rule=Rule(limit=3000))
    settings = settings_of(gate, {"lr": 0.2, "epochs": 10}, batch_games=20)
    spec = registry.make("kuhn").spec
    with agent_of(tmp_path, spec=spec) as agent:
        for number in range(20):
            game = agent.game(f"g{number}")
            seen = np.zeros(spec.observation.length, spec.observation.dtype)
            game.end(1 if game.act(seen) == liked else -1)
    return folder, settings


@pytest.mark.parametrize(("liked", "kind"), [(1, "published"), (0, "rejected")])
def test_a_learner_with_a_simulator_publishes_what_is_better_there(
    tmp_path: Path, liked: int, kind: str
) -> None:
    folder, settings = simulated(tmp_path, liked)
    first = folder.pointer().stable
    with BackgroundLearner(tmp_path / "spool", folder.folder, settings, say=str) as learner:
        learner.step()
        assert kinds_of(learner)[:2] == ["candidate", kind]
        (event,) = learner.ledger.events(kind)
        assert event.body["simulated"]
        assert event.body["games"] <= 3000
        if kind == "published":
            assert folder.pointer().stable == event.body["digest"] != first
        else:
            assert folder.pointer().stable == first
            assert is_policy(learner, first)


def test_a_stop_in_the_middle_of_a_simulation_puts_it_off(tmp_path: Path) -> None:
    folder, settings = simulated(tmp_path, 1)
    with BackgroundLearner(
        tmp_path / "spool", folder.folder, settings, say=str, stop=lambda: True
    ) as learner:
        learner.step()
        assert learner.ledger.count() == 20
        assert learner.gatekeeper.deployment.learned >= settings.gate.every
        assert not learner.ledger.events("published", "rejected")
    assert folder.pointer().serial == 1
