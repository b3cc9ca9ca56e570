"""Readiness: every check has a rule, fails where it is broken, and the verdict is all of them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patients import STEPS, book_of, learn, other_policy, play, sight
from toy import folder_of

from lanista.cli.live.policy_ready import ready
from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.evaluation.score import Estimate
from lanista.live.diagnosis.drift import Drift, drift
from lanista.live.files.policy_folder import Change, Pointer
from lanista.live.learner.ledger import GameRow
from lanista.live.promotion.acceptance import (
    CHECKS,
    Demands,
    Played,
    Readiness,
    assess,
    calibrated,
    played_since,
    scores_of,
)

A, B, C = ("a" * 64, "b" * 64, "c" * 64)
GOOD = Estimate(0.6, 0.55, 0.65, 300)
ALONE = Played(300, ((A, 300),), (), 0)


def row(number: int = 0, **changed: Any) -> GameRow:
    made = GameRow(
        update_number=1, content=f"{number:064x}", game_id=f"game {number}", policy=A, serial=1,
        candidate=False, outcome=1.0, crashed=False, steps=STEPS, overruled=0, reward=0.0,
        log_prob=-3.0, staleness=0, use="learned", predicted=None, came=None, at=float(number),
    )  # fmt: skip
    return replace(made, **changed)


def drifted(by: float) -> Drift:
    """Return what drift says of one feature whose second side lies `by` higher, from 0 to 1."""
    drawn = np.random.default_rng(0)
    before, now = drawn.random((400, 1)), drawn.random((400, 1)) + by
    game = np.repeat(np.arange(40), 10)
    return drift(before, game, now, game, names=["height"], least=0.25)


def honest(n: int = 300) -> list[GameRow]:
    """Return games whose outcome was predicted as often as it came: 0.2 for 60 % won."""
    return [
        row(i, outcome=(1.0 if i % 5 < 3 else -1.0), came=(1.0 if i % 5 < 3 else -1.0),
            predicted=0.2)
        for i in range(n)
    ]  # fmt: skip


def judged(**changed: Any) -> Readiness:
    given: dict[str, Any] = {
        "rows": honest(), "played": ALONE, "score": GOOD, "win_rate": GOOD, "drift": drifted(0.0),
        "demands": Demands(),
    }  # fmt: skip
    given |= changed
    return assess(A, given.pop("rows"), given.pop("played"), **given)


def states(found: Readiness) -> dict[str, bool | None]:
    return {check.name: check.holds for check in found.checks}


def test_a_sound_policy_is_ready_by_every_check() -> None:
    found = judged()
    assert found.ready
    assert states(found) == dict.fromkeys(CHECKS, True)
    assert (found.wins, found.draws, found.losses, found.missing) == (180, 0, 120, 0)


SURE = [row(i, outcome=1.0 if i % 2 else -1.0, came=1.0 if i % 2 else -1.0, predicted=0.9)
        for i in range(300)]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("games", {"rows": honest(199)}),
        ("results", {"rows": [*honest(), *(row(400 + i, outcome=None) for i in range(16))]}),
        ("score", {"score": Estimate(0.55, 0.49, 0.61, 300)}),
        ("calibration", {"rows": SURE}),
        ("drift", {"drift": drifted(0.5)}),
        ("played", {"played": Played(10, ((A, 8), (B, 2)), (B,), 0)}),
    ],
)
def test_one_broken_rule_is_enough(name: str, changed: dict[str, Any]) -> None:
    found = judged(**changed)
    assert not found.ready
    assert [key for key, holds in states(found).items() if not holds] == [name]
    assert judged(**changed, demands=Demands(leave_out=(name,))).ready


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("score", {"score": None}),
        ("calibration", {"rows": [row(i) for i in range(300)]}),
        ("drift", {"drift": None}),
        ("played", {"played": Played(0, (), (), 0)}),
    ],
)
def test_what_is_unknown_does_not_hold(name: str, changed: dict[str, Any]) -> None:
    found = judged(**changed)
    assert states(found)[name] is None
    assert not found.ready


def test_a_drift_of_half_the_range_has_that_distance() -> None:
    # Uniform on 0 to 1 against uniform on ½ to 1½: the distribution functions differ by ½ at most.
    (feature,) = drifted(0.5).features
    assert feature.distance == pytest.approx(0.5, abs=0.08)


def test_a_policy_must_show_what_the_manual_says_unless_something_else_is_demanded() -> None:
    assert asdict(Demands()) == {
        "least_games": 200,
        "most_missing": 0.05,
        "least_score": 0.5,
        "most_error": 0.1,
        "most_drift": 0.25,
        "leave_out": (),
    }


def test_wins_draws_losses_and_missing_results_are_counted() -> None:
    outcomes = [2.0] * 4 + [0.0] * 3 + [-1.0] * 2 + [None]
    found = judged(rows=[row(i, outcome=outcome) for i, outcome in enumerate(outcomes)])
    assert (found.wins, found.draws, found.losses, found.missing) == (4, 3, 2, 1)


def test_wins_draws_and_losses_score_one_half_and_nothing() -> None:
    rows = [row(i, outcome=o) for i, o in enumerate((3.0, 0.0, -0.5, None))]
    assert scores_of(rows).tolist() == [1.0, 0.5, 0.0]


def test_calibration_maps_returns_to_their_range() -> None:
    # Returns of -2 and 6; 4 was expected and half the games brought 6: 0.75 against 0.5.
    rows = [row(i, came=(6.0 if i % 2 else -2.0), predicted=4.0) for i in range(200)]
    found = calibrated(rows)
    assert found is not None
    assert found.error == pytest.approx(0.25)
    assert calibrated([replace(one, came=1.0) for one in rows]) is None
    beyond = calibrated([replace(one, predicted=100.0) for one in rows])
    assert beyond is not None
    assert beyond.error == pytest.approx(0.5)


def test_who_played_is_counted_since_the_policy_last_became_stable() -> None:
    history = [
        Change(Pointer(B, None, 0.0, 1), None, ""),
        Change(Pointer(B, A, 0.5, 2), None, ""),
        Change(Pointer(A, B, 0.2, 3), B, ""),
        Change(Pointer(A, None, 0.0, 4), B, ""),
    ]
    games = [(B, 1), (A, 2), (A, 3), (B, 2), (B, 3), (A, 4), (C, 4)]
    rows = [row(i, policy=policy, serial=serial) for i, (policy, serial) in enumerate(games)]
    found = played_since(rows, history[-1].pointer, history)
    assert found.games == 4
    assert dict(found.by) == {A: 2, B: 1, C: 1}
    assert found.unnamed == (C,)
    assert found.late == 1


def test_demands_that_make_no_sense_are_refused() -> None:
    with pytest.raises(LanistaError, match="did you mean 'drift'"):
        Demands(leave_out=("drfit",))
    with pytest.raises(LanistaError, match="least_score is 2"):
        Demands(least_score=2.0)
    with pytest.raises(LanistaError, match="least_games is 0"):
        Demands(least_games=0)


# On real folders.


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that was learned from 20 games, published, and played 30 since."""
    path = tmp_path_factory.mktemp("service")
    folder = folder_of(path / "policy")
    play(path, 20, prefix="before")
    learn(path, update=1)
    made = folder.add(other_policy())
    with book_of(path) as ledger:
        ledger.add_policy(1, made, folder.pointer().stable)
    folder.publish(made)
    play(path, 30, prefix="since")
    learn(path, update=2)
    return path


def test_a_report_is_made_from_ledger_archive_and_pointer(service: Path) -> None:
    found = ready(service / "policy", None, Demands(least_games=20))
    assert (found.wins, found.losses) == (20, 10)
    assert found.drift is not None
    assert found.drift.games == (20, 30)
    assert [feature.name for feature in found.drift.features][:2] == ["phase", "numbers[0]"]
    assert found.played.by == ((found.policy, 30),)
    # 1/3 was expected of ±1, that is 2/3 of the range, and two of three games were won.
    assert found.calibration is not None
    assert found.calibration.error == pytest.approx(0.0, abs=1e-6)
    assert found.ready == (found.score is not None and (found.score.low or 0) >= 0.5)


def test_drift_between_training_and_service_is_found(service: Path, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "policy")
    play(tmp_path, 20, prefix="before")
    learn(tmp_path, update=1)
    made = folder.add(other_policy())
    with book_of(tmp_path) as ledger:
        ledger.add_policy(1, made, None)
    folder.publish(made)
    shift = np.array([0, 0, 0, 5, 0, 0])
    play(tmp_path, 20, prefix="since", seen=lambda i, s: sight(i, s) + shift)
    learn(tmp_path, update=2)
    found = ready(tmp_path / "policy", tmp_path / "spool", Demands())
    assert found.drift is not None
    assert [feature.name for feature in found.drift.drifted] == ["numbers[2]"]


def test_the_command_says_ready_or_not(
    service: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, told = str(service / "policy"), tmp_path / "told.json"
    words = ["policy", "ready", policy, "--least-games", "30", "--least-score", "0.4"]
    assert main([*words, "--json", str(told)]) == 0
    said = capsys.readouterr().out
    assert said.rstrip().endswith("\nready")
    assert json.loads(told.read_text())["ready"] is True
    assert main(["policy", "ready", policy]) == 1
    said = capsys.readouterr().out
    assert said.rstrip().endswith("\nnot ready")
    assert "30 with a result" in said
    assert "at least 200" in said


def test_the_command_refuses_a_folder_without_a_learner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder_of(tmp_path / "policy")
    assert main(["policy", "ready", str(tmp_path / "policy")]) == 2
    assert "lanista learn" in capsys.readouterr().err


def test_the_command_names_the_option_and_the_folder_that_cannot_be_used(
    service: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, policy = tmp_path / "file", str(service / "policy")
    file.write_text("")
    nowhere = str(tmp_path / "nowhere")
    slips = {
        (policy, "--least-games", "-1"): "--least-games is -1; give 1 or more.",
        (policy, "--most-drift", "2"): "--most-drift is 2.0; give 0 to 1.",
        (policy, "--spool", nowhere): f"There is no folder {nowhere!r}; give --spool a spool.",
        (str(file),): f"{str(file)!r} is a file, and no folder; name a policy folder.",
    }
    for words, sentence in slips.items():
        assert main(["policy", "ready", *words]) == 2
        assert sentence in capsys.readouterr().err


def test_the_command_says_which_games_it_counts_and_what_a_first_policy_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 20, prefix="first")
    learn(tmp_path, update=1)
    assert main(["policy", "ready", str(tmp_path / "policy"), "--games", "15"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert ", of the newest 15 games: " in said
    assert "--leave-out drift" in said
    assert " late" not in said


def test_late_games_are_explained() -> None:
    played = Played(300, ((A, 300),), (), 3)
    found = assess(
        A, honest(), played, score=GOOD, win_rate=GOOD, drift=drifted(0.0), demands=Demands()
    )
    assert found.checks[-1].found.endswith(
        "; 3 late: taken in since, but begun before it was stable"
    )
