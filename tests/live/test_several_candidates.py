"""Several candidates at once: a fair split, a test for each, and one chance of error for all.

python tests/live/test_several_candidates.py
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from practice import Bench, policy_of, published, quick, settings_of

from lanista.errors import LanistaError
from lanista.live.agent.agent import Agent
from lanista.live.files.policy_folder import Pointer, PolicyFolder, PolicyFolderError
from lanista.live.files.sealed_json import sealed
from lanista.live.learner.ledger import GameRow
from lanista.live.learner.settings import Gate
from lanista.live.promotion.deployment import Deployment, Verdict
from lanista.live.promotion.gate import Trial
from lanista.live.promotion.sequential_test import Rule

STABLE = "ab" * 32
ROW = GameRow(
    update_number=1, content="", game_id="", policy=STABLE, serial=7, candidate=False, outcome=1.0,
    crashed=False, steps=1, overruled=0, reward=0.0, log_prob=0.0, staleness=0, use="learned",
    predicted=None, came=None, at=0.0,
)  # fmt: skip


def digests(number: int, many: int) -> tuple[str, ...]:
    return tuple(hashlib.sha256(f"{number}/{at}".encode()).hexdigest() for at in range(many))


def pointer_of(names: tuple[str, ...], gate: Gate) -> Pointer:
    return Pointer(STABLE, names[0], gate.share_of(len(names)), 7, names[1:])


def deployed(better: tuple[float, ...], number: int, games: int, gate: Gate) -> str | None:
    """Let candidates that score so much more than 0.4 play; return which was published."""
    names = digests(number, len(better))
    pointer = pointer_of(names, gate)
    deployment = Deployment(gate, pointer)
    deployment.share, deployment.split = pointer.share, len(names)
    deployment.tests = {name: Trial(gate.trial_rule) for name in names}
    gain, drawn = dict(zip(names, better, strict=True)), np.random.default_rng([11, number])
    for at in range(games):
        chosen = pointer.chosen(f"game {at}")
        outcome = 1.0 if drawn.random() < 0.4 + gain.get(chosen or "", 0.0) else -1.0
        row = replace(ROW, candidate=chosen is not None, policy=chosen or STABLE, outcome=outcome)
        for verdict in deployment.take(row):
            if verdict.kind == "published":
                return verdict.digest
    return None


def test_games_are_split_evenly_among_candidates_and_the_stable_policy() -> None:
    names = digests(0, 3)
    pointer = pointer_of(names, Gate(candidates=3))
    ids = [f"game {at}" for at in range(12_000)]
    counts = Counter(pointer.chosen(name) for name in ids)
    assert counts.keys() == {None, *names}
    for count in counts.values():
        # A quarter each; five standard deviations of a binomial count.
        assert abs(count - 3000) < 5 * np.sqrt(12_000 * 0.25 * 0.75)
    assert [pointer.chosen(name) for name in ids[:100]] == [
        replace(pointer, serial=9).chosen(name) for name in ids[:100]
    ]


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_each_candidate_is_to_the_stable_policy_as_one_alone_would_be(share: float) -> None:
    gate = Gate(candidates=4, share=share)
    for many in (1, 2, 3, 4):
        own = gate.share_of(many) / many
        assert own / (own + 1 - gate.share_of(many)) == pytest.approx(share)


def test_one_candidate_has_the_games_that_it_had_before_there_were_several() -> None:
    """By the formula of the first version: SHA-256 of candidate/id below the share."""
    pointer = Pointer(STABLE, "cd" * 32, 0.3, 1)
    for at in range(300):
        drawn = hashlib.sha256(f"{'cd' * 32}/game {at}".encode()).digest()
        mine = int.from_bytes(drawn[:8], "big") < 0.3 * 2.0**64
        assert pointer.chosen(f"game {at}") == ("cd" * 32 if mine else None)


def test_the_chance_that_any_of_several_equal_candidates_is_published_stays_within_the_bound() -> (
    None
):
    gate = Gate(candidates=3, rule=Rule(publish=0.05, futile=0, margin=0.3))
    runs = 120
    wrong = sum(deployed((0.0, 0.0, 0.0), number, 240, gate) is not None for number in range(runs))
    # Three standard deviations above 5 % of the runs.
    assert wrong <= runs * 0.05 + 3 * np.sqrt(runs * 0.05 * 0.95)
    # Without dividing the chance it would be three tests at 5 % each.
    assert gate.trial_rule.publish == pytest.approx(0.05 / 3)
    assert gate.trial_rule.share == pytest.approx(gate.rule.share / 3)
    assert Gate().trial_rule == Gate().rule


@pytest.mark.slow
def test_over_2000_deployments_of_equal_candidates_the_bound_holds() -> None:
    gate = Gate(candidates=3, rule=Rule(publish=0.05, futile=0, margin=0.3))
    wrong = sum(deployed((0.0,) * 3, number, 600, gate) is not None for number in range(2000))
    assert wrong / 2000 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 2000)


def test_the_better_one_of_several_is_the_one_that_is_published() -> None:
    gate = Gate(candidates=3, rule=Rule(publish=0.05, futile=0, margin=0.3))
    published = [deployed((0.0, 0.35, 0.0), number, 400, gate) for number in range(20)]
    right = sum(name == digests(at, 3)[1] for at, name in enumerate(published))
    assert right >= 16


@pytest.fixture
def folder(tmp_path: Path) -> PolicyFolder:
    return published(tmp_path)


def three_tried(folder: PolicyFolder) -> tuple[Deployment, list[str]]:
    """Return a deployment that tries three candidates, offered one after another."""
    deployment = Deployment(Gate(every=5, candidates=3, rule=Rule(limit=100)), folder.pointer())
    names = [folder.add(policy_of(at)) for at in (1, 2, 3)]
    for name in names:
        deployment.try_out(name, "candidate")
        assert deployment.carry_out(folder)
    return deployment, names


def row_of(deployment: Deployment, digest: str | None, outcome: float) -> GameRow:
    policy, candidate = digest or deployment.stable, digest is not None
    row = replace(ROW, serial=deployment.serial, policy=policy)
    return replace(row, candidate=candidate, outcome=outcome)


def test_candidates_join_until_there_are_enough_and_the_tests_of_the_others_go_on(
    folder: PolicyFolder,
) -> None:
    gate = Gate(every=1, candidates=2, refresh=4)
    deployment = Deployment(gate, folder.pointer())
    first, second, third = (folder.add(policy_of(at)) for at in (1, 2, 3))
    deployment.try_out(first, "candidate")
    deployment.carry_out(folder)
    assert deployment.take(row_of(deployment, first, -1)) == ()
    deployment.learned = 1
    assert deployment.wants_candidate(False)
    deployment.try_out(second, "candidate")
    deployment.carry_out(folder)
    pointer = folder.pointer()
    assert (pointer.candidate, pointer.others) == (first, (second,))
    assert pointer.share == pytest.approx(2 / 3)
    assert deployment.tests[first].games == 1
    # A game of the stable policy counts in both tests, one of a candidate in its own.
    deployment.take(row_of(deployment, None, 1))
    deployment.take(row_of(deployment, second, 1))
    assert [test.games for test in deployment.tests.values()] == [2, 2]
    assert not deployment.wants_candidate(False)  # Both places are taken, and both are new.
    for _ in range(2):
        deployment.take(row_of(deployment, first, -1))
    assert deployment.outlasted == first  # Four games, and not ahead.
    deployment.try_out(third, "candidate")
    deployment.carry_out(folder)
    assert folder.pointer().candidates == (second, third)
    assert [test.games for test in deployment.tests.values()] == [2, 0]
    assert [change.pointer.candidates for change in folder.history()][1:] == [
        (first,), (first, second), (second, third),
    ]  # fmt: skip


def test_the_first_to_pass_is_published_and_the_others_are_dropped_with_the_reason(
    folder: PolicyFolder,
) -> None:
    old = folder.pointer().stable
    deployment, names = three_tried(folder)
    verdicts: list = []
    for _ in range(100):
        for digest, outcome in ((names[0], -1.0), (names[1], 1.0), (names[2], -1.0), (None, -1.0)):
            verdicts += deployment.take(row_of(deployment, digest, outcome))
        if verdicts:
            break
    kinds = [(verdict.kind, verdict.digest, verdict.decision.reason) for verdict in verdicts]
    assert kinds == [
        ("published", names[1], "better"),
        ("superseded", names[0], "another was published"),
        ("superseded", names[2], "another was published"),
    ]
    # Killed here, the next learner finds it due and does it.
    again = Deployment.of(deployment.gate, deployment.state())
    assert again.carry_out(folder)
    pointer = folder.pointer()
    assert (pointer.stable, pointer.candidates) == (names[1], (old,))
    assert again.watching
    deployment.carry_out(folder)  # It is done.
    assert deployment.serial == again.serial


def test_one_that_is_worse_goes_and_the_others_play_on(folder: PolicyFolder) -> None:
    deployment, names = three_tried(folder)
    verdicts: list = []
    for _ in range(100):
        for digest, outcome in ((names[0], -1.0), (names[1], 1.0), (names[2], 1.0), (None, 1.0)):
            verdicts += deployment.take(row_of(deployment, digest, outcome))
        if verdicts:
            break
    (verdict,) = verdicts
    assert (verdict.kind, verdict.digest, verdict.newest) == ("rejected", names[0], False)
    games = deployment.tests[names[1]].games
    again = Deployment.of(deployment.gate, deployment.state())
    assert again.carry_out(folder)
    pointer = folder.pointer()
    assert pointer.candidates == (names[1], names[2])
    assert pointer.share == pytest.approx(2 / 3)
    assert [test.games for test in again.tests.values()] == [games, games]
    assert not again.carry_out(folder)


def rejected(deployment: Deployment, folder: PolicyFolder, digest: str) -> Verdict:
    """Let a candidate lose until it is rejected; return the verdict."""
    for _ in range(100):
        for name, outcome in ((digest, -1.0), (None, 1.0)):
            verdicts = deployment.take(row_of(deployment, name, outcome))
            if verdicts:
                (verdict,) = verdicts
                assert (verdict.kind, verdict.digest) == ("rejected", digest)
                deployment.carry_out(folder)
                return verdict
    raise AssertionError("not rejected")


def test_after_the_newest_is_rejected_an_older_one_says_nothing_about_the_weights(
    folder: PolicyFolder,
) -> None:
    deployment, names = three_tried(folder)
    assert rejected(deployment, folder, names[2]).newest
    # The weights are those of the stable policy now, also for a learner that goes on.
    deployment = Deployment.of(deployment.gate, deployment.state())
    assert not rejected(deployment, folder, names[1]).newest
    deployment = Deployment.of(deployment.gate, deployment.state())
    fourth = folder.add(policy_of(4))
    deployment.try_out(fourth, "candidate")
    deployment.carry_out(folder)
    assert not rejected(deployment, folder, names[0]).newest
    assert rejected(deployment, folder, fourth).newest


def test_what_was_learned_since_the_weights_returned_survives_an_older_ones_rejection(
    tmp_path: Path,
) -> None:
    gate = quick(every=2, candidates=2, refresh=0, patience=0, rule=Rule(limit=60, futile=0))
    bench = Bench(tmp_path, settings_of(gate))
    with bench.start() as learner:
        for _ in range(2):
            bench.play(1, -1)
            bench.learn(learner)
        first, second = bench.folder.pointer().candidates
        learner.gatekeeper.settings = settings_of(replace(gate, every=1000))
        learner.gatekeeper.deployment.gate = replace(gate, every=1000)
        for digest in (second, first):
            serial = bench.folder.pointer().serial
            for _ in range(40):
                bench.play(-1, policy=digest, serial=serial, candidate=True)
                bench.play(1, serial=serial)
            bench.learn(learner)
        events = [event.body["digest"] for event in learner.ledger.events("rejected")]
        assert events == [second, first]
        assert len(learner.ledger.events("returned")) == 1


def test_with_fewer_places_than_before_every_candidate_that_goes_is_noted(tmp_path: Path) -> None:
    gate = quick(every=2, candidates=3, refresh=0, patience=0, rule=Rule(limit=400, futile=0))
    bench = Bench(tmp_path, settings_of(gate))
    with bench.start() as learner:
        for _ in range(3):
            bench.play(1, -1)
            bench.learn(learner)
        tried = bench.folder.pointer().candidates
        assert len(tried) == 3
    with bench.start(settings_of(replace(gate, candidates=1, patience=1))) as learner:
        bench.play(1, -1)
        bench.learn(learner)
        bench.play(1, -1)
        bench.learn(learner)
        now = bench.folder.pointer().candidates
        assert len(now) == 1
        gone = [event.body["digest"] for event in learner.ledger.events("superseded")]
        assert gone[:3] == [*tried]


def test_a_learner_offers_one_after_another_and_notes_which_are_tried_beside(
    tmp_path: Path,
) -> None:
    gate = quick(every=2, candidates=2, refresh=0, patience=0, rule=Rule(limit=40, futile=0))
    bench = Bench(tmp_path, settings_of(gate))
    old = bench.stable
    with bench.start() as learner:
        for _ in range(2):
            bench.play(1, -1)
            bench.learn(learner)
        first, second = bench.folder.pointer().candidates
        offers = learner.ledger.events("candidate")
        assert [event.body["digest"] for event in offers] == [first, second]
        assert [event.body.get("beside") for event in offers] == [None, [first]]
        assert [event.body["share"] for event in offers] == pytest.approx([1 / 2, 1 / 3])
    # Another learner goes on with both tests.
    with bench.start() as learner:
        assert [*learner.gatekeeper.deployment.tests] == [first, second]
        serial = bench.folder.pointer().serial
        for _ in range(30):
            bench.play(-1, policy=first, serial=serial, candidate=True)
            bench.play(1, policy=second, serial=serial, candidate=True)
            bench.play(-1, serial=serial)
        bench.learn(learner)
        assert bench.folder.pointer().stable == second != old
        (dropped,) = learner.ledger.events("superseded")
        assert dropped.body["digest"] == first
        assert dropped.body["reason"] == "another was published"


def test_an_agent_plays_every_candidate_in_its_own_games(
    folder: PolicyFolder, tmp_path: Path
) -> None:
    _, names = three_tried(folder)
    pointer = folder.pointer()
    with Agent(folder.folder, tmp_path / "spool") as agent:
        for at in range(40):
            game = agent.game(f"game {at}")
            chosen = pointer.chosen(f"game {at}")
            assert (game.candidate, game.policy) == (chosen is not None, chosen or pointer.stable)
            game.end(None)
    assert {pointer.chosen(f"game {at}") for at in range(40)} == {None, *names}


def test_a_pointer_of_one_candidate_is_what_earlier_versions_read(folder: PolicyFolder) -> None:
    folder.try_out(folder.add(policy_of(1)), 0.5)
    assert '"others"' not in (folder.folder / "current.json").read_text()
    values = {"stable": STABLE, "candidate": "cd" * 32, "share": 0.5, "serial": 3}
    for others, wrong in ((["cd" * 32], "not different"), (["x"], "other candidates"), ("", "are")):
        (folder.folder / "current.json").write_text(sealed(values | {"others": others}))
        with pytest.raises(PolicyFolderError, match=wrong):
            folder.pointer()


def test_several_candidates_are_for_a_live_gate() -> None:
    with pytest.raises(LanistaError, match=r"set gate\.kind to live, or gate\.candidates to 1\."):
        Gate(kind="open", candidates=2)
    with pytest.raises(LanistaError, match=r"gate\.candidates is 0; give 1 or more"):
        Gate(candidates=0)


if __name__ == "__main__":
    for many in (1, 2, 3):
        gate = Gate(candidates=many, rule=Rule(publish=0.05, futile=0, margin=0.3))
        for better in (0.0, 0.3):
            gains = (better,) + (0.0,) * (many - 1)
            rows = [deployed(gains, number, 150, gate) for number in range(1000)]
            right = sum(name == digests(at, many)[0] for at, name in enumerate(rows))
            print(many, better, "published", sum(map(bool, rows)) / 1000, "the first", right / 1000)
