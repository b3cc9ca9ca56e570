"""What the gatekeeper counts, whom it spares, and what it forgets when weights return."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from practice import Bench, kinds_of, offered, policy_of, quick, settings_of, written
from test_deployment import ROW

from lanista.live.learner.background_learner import BackgroundLearner
from lanista.live.promotion import candidates
from lanista.live.promotion.sequential_test import Decision


def test_only_games_that_were_learned_from_count_towards_a_candidate(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=4)))
    with bench.start() as learner:
        bench.play(1, -1)
        for number in range(5):
            # The bot's rules played all of it: it took effect, and taught nothing.
            told = {"policy": bench.stable, "serial": 1, "play": f"{number:016x}"}
            bench.spool.write(written([(0, 0)] * 2, [0, 0], 1, overruled=[0, 1], **told))
        bench.learn(learner)
        assert learner.ledger.count() == 7
        assert learner.gatekeeper.deployment.learned == 2
        assert "candidate" not in kinds_of(learner)
        bench.play(1, -1)
        bench.learn(learner)
        assert "candidate" in kinds_of(learner)
        assert learner.gatekeeper.deployment.learned == 0


def test_the_policy_that_the_weights_began_from_is_spared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=2), keep_policies=3))
    asked: list[tuple[int, set[str]]] = []
    with bench.start() as learner:

        def prune(keep: int, spared: Collection[str] = ()) -> int:
            asked.append((keep, set(spared)))
            return 0

        monkeypatch.setattr(learner.folder, "prune", prune)
        offered(bench, learner)
        assert asked == [(3, {learner.weights.base})]


def test_weights_that_returned_begin_to_count_anew(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=2), batch_games=1000))
    with bench.start() as learner:
        candidate = offered(bench, learner)
        learner.gatekeeper.deployment.learned = 1
        bench.duel(40, -1, 1)
        learner.step()
        kinds = kinds_of(learner)
        assert kinds[-2:] == ["rejected", "returned"]
        assert learner.gatekeeper.deployment.learned == 0
        assert learner.ledger.update_of(bench.stable) == learner.number
        assert learner.ledger.update_of(candidate) == 1


def judged(learner: BackgroundLearner, *rows: tuple[str, str]) -> int:
    """Return how many candidates are offered for games of (use, policy)."""
    offers: list[int] = []
    learner.gatekeeper._offer = offers.append  # type: ignore[method-assign]
    learner.gatekeeper.deployment.learned = 0
    learner.gatekeeper.judge([replace(ROW, use=use, policy=policy) for use, policy in rows], 1)
    return len(offers)


def test_nothing_but_old_games_of_the_stable_policy_calls_for_a_candidate_early(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=100)))
    with bench.start() as learner:
        mine, other = bench.stable, "ef" * 32
        assert judged(learner, ("stale", mine)) == 1
        assert judged(learner, ("stale", mine), ("empty", mine)) == 1
        assert judged(learner, ("stale", other)) == 0
        assert judged(learner, ("stale", mine), ("learned", mine)) == 0
        assert judged(learner, ("learned", mine)) == 0
        assert judged(learner, ("empty", mine)) == 0


@pytest.mark.parametrize("verdict", ["publish", "reject"])
def test_a_simulation_is_of_the_candidate_against_the_stable_policy_on_deals_of_the_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: str
) -> None:
    bench = Bench(tmp_path, settings_of(quick(every=100)))
    asked: list[Any] = []

    def simulate(candidate: Path, stable: Path, settings: Any, *, number: int, stop: Any) -> Any:
        asked.append((candidate, stable, number))
        return Decision(verdict, "better", 8), {"games": 8}

    monkeypatch.setattr(candidates, "simulate", simulate)
    with bench.start() as learner:
        new = bench.folder.add(policy_of(4))
        learner.gatekeeper._simulate(new, 17)
        paths = bench.folder.path_of(new), bench.folder.path_of(bench.stable)
        assert asked == [(*paths, 17)]
        due = learner.gatekeeper.deployment.due
        assert (due is not None and due.digest == new) == (verdict == "publish")
        assert ("returned" in kinds_of(learner)) == (verdict == "reject")
