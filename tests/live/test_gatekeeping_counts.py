"""What the gatekeeper counts, whom it spares, and what it forgets when weights return."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from practice import Bench, kinds_of, offered, quick, settings_of, written


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
