"""Why a run does not learn: a sound one has no finding, each planted fault gives its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from invented_run import EMPTY, invented
from recorded_league import make_league

from lanista.cli.main import main
from lanista.findings import Finding
from lanista.report.diagnosis import examine_run
from lanista.report.reading import read_run
from lanista.report.run_record import Lineup, Match, Member, RunRecord
from lanista.runs.schema import TrainingGamesRow

MAIN = Member("main", "", "learner", "self", "main", (), 1.0, 0, {})
BOT = Member("rusher", "", "bot", "bot", "", (), 1.0, 0, {})


def games(update: int, met: str, pairs: tuple[int, int, int], seat: int = 0) -> TrainingGamesRow:
    names = ("main", met) if seat == 0 else (met, "main")
    return TrainingGamesRow(
        update, "main", names, "self", ("learner:main", "x"), sum(pairs), (pairs,), (0.0, 0.0),
        0, 1, update,
    )  # fmt: skip


def evaluated(update: int, digest: str, cut_off: bool = False) -> Match:
    lineup = Lineup(update, "evaluation", ("main", "rusher"), (digest, "b"), 0, 1, 1)
    return Match(update, update, lineup, 0, (1.0, -1.0), (1, 2), cut_off)


def sound() -> RunRecord:
    """Return a run with two opponents, results of all kinds and high entropy."""
    updates = range(1, 21)
    return replace(
        EMPTY,
        name="run",
        game="arena",
        players=(MAIN, BOT),
        training=tuple(
            row
            for u in updates
            for row in (games(u, "rusher", (6, 1, 3), u % 2), games(u, "kiter", (3, 0, 7)))
        ),
        matches=tuple(evaluated(u, f"{u:064x}") for u in updates),
        metrics={
            "policy/entropy/0": tuple((u, 0.5) for u in updates),
            "policy/entropy/1": tuple((u, 0.004) for u in updates),
        },
    )


@pytest.mark.parametrize(
    ("learning", "lag", "told"),
    [
        ("{epochs: 1, minibatches: 1}", 0.0, True),
        ("{epochs: 1, minibatches: 2, accumulate: 2}", 0.0, False),
        ("{epochs: 1, minibatches: 1, accumulate: 2}", 0.0, True),
        ("{epochs: 2, minibatches: 1}", 0.0, False),
        ("{epochs: 1, minibatches: 2}", 0.0, False),
        ("{epochs: 1, minibatches: 1}", 3.0, False),  # Of older weights, so that it says something.
        ("[]", 0.0, False),
    ],
)
def test_where_an_update_is_one_step_it_is_told_that_the_kl_says_nothing(learning, lag, told):
    record = sound()
    settings = f"game: arena\nlearning: {learning}\n"
    metrics = {**record.metrics, "lag/mean": ((1, 0.0), (2, lag))}
    facts = examine_run(replace(record, settings=settings, metrics=metrics)).facts
    assert any("its KL is taken before that step" in fact for fact in facts) == told


def only(record: RunRecord, name: str) -> Finding:
    findings = examine_run(record).findings
    assert [finding.name for finding in findings] == [name]
    return findings[0]


def test_sound_runs_have_no_finding(tmp_path: Path) -> None:
    assert examine_run(sound()).findings == ()
    assert examine_run(invented()).findings == ()
    assert examine_run(read_run(make_league(tmp_path / "league"))).findings == ()


def test_one_opponent_is_found(tmp_path: Path) -> None:
    record = replace(sound(), training=tuple(games(u, "rusher", (6, 1, 3)) for u in range(20)))
    finding = only(record, "one_opponent")
    assert (finding.evidence["opponent"], finding.evidence["matches"]) == ("rusher", 200)


def test_playing_itself_is_not_one_opponent() -> None:
    record = replace(sound(), training=tuple(games(u, "main", (6, 0, 4)) for u in range(20)))
    assert examine_run(record).findings == ()


@pytest.mark.parametrize(
    ("pairs", "kind"), [((10, 0, 0), "won"), ((0, 10, 0), "drawn"), ((0, 0, 10), "lost")]
)
def test_results_that_are_all_alike_are_found_from_either_seat(
    pairs: tuple[int, int, int], kind: str
) -> None:
    early = [games(u, "kiter", (5, 0, 5)) for u in range(10)]
    late = [
        games(u, "rusher", pairs if u % 2 else pairs[::-1], 0 if u % 2 else 1)
        for u in range(10, 30)
    ]
    finding = only(replace(sound(), training=(*early, *late)), "results_all_alike")
    assert finding.evidence[kind] == 150
    assert f"were {kind}" in finding.sentence


def test_entropy_that_is_gone_is_found_over_all_heads() -> None:
    gone = tuple((u, 0.5 if u < 11 else 0.001) for u in range(1, 21))
    metrics = {"policy/entropy/0": gone, "policy/entropy/1": gone}
    finding = only(replace(sound(), metrics=metrics), "entropy_gone")
    assert finding.evidence["first"] == pytest.approx(1.0)
    assert finding.evidence["last"] == pytest.approx(0.002)


def test_a_learner_evaluated_as_the_same_file_is_found() -> None:
    matches = tuple(evaluated(u, "a" * 64 if u > 5 else f"{u:064x}") for u in range(1, 11))
    finding = only(replace(sound(), matches=matches), "other_policy")
    assert finding.evidence["updates"] == [6, 7, 8, 9, 10]
    assert finding.evidence["digest"] == "a" * 64


def test_matches_that_are_broken_off_are_found() -> None:
    matches = tuple(evaluated(u, f"{u:064x}", cut_off=u > 5) for u in range(1, 121))
    assert only(replace(sound(), matches=matches), "no_results").evidence["cut_off"] == 115


def test_the_command_reads_a_runs_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_league(tmp_path / "league")
    assert main(["doctor", str(folder)]) == 0
    assert "Nothing was found." in capsys.readouterr().out
    assert main(["doctor", str(folder), "--policy", str(folder)]) == 2
    assert "is a run" in capsys.readouterr().err
    assert main(["doctor", str(tmp_path)]) == 2
    assert f"name a run in it: {folder}." in capsys.readouterr().err
