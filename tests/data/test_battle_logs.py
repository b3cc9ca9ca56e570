"""Battle logs as imitation data: counted, labelled, never mixed by accident, whole or not there."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from battle_log_files import singles_log, write_logs

from lanista.data.battle_logs import PLAYER, Wanted, import_logs
from lanista.data.datasets import DatasetError
from lanista.data.demonstrations import LOSS, WIN, DemonstrationError
from lanista.data.feedback import STREAM, FeedbackWriter, read_stream
from lanista.data.feedback_schema import SPECTATOR
from lanista.data.gathering import gather
from lanista.data.records import PlayerInfo
from lanista.data.sessions import read_feedback
from lanista.errors import LanistaError, RefusedError
from lanista.games.contract import GameError
from lanista.games.showdown.install import find, find_node


def missing() -> str:
    try:
        find_node()
        find()
    except GameError as error:
        return str(error)
    return ""


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "it is there")
ALL = Wanted()


@pytest.fixture(scope="module")
def spectated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spectated")
    import_logs([write_logs(folder / "logs.jsonl", 30)], folder / "data", ALL)
    return folder / "data"


def test_what_is_imported_is_labelled_and_linked_to_its_outcome(spectated: Path) -> None:
    summary = read_feedback(spectated, spectated)
    (stream,) = summary.streams
    assert not summary.broken
    assert (stream.source, stream.player, stream.matches) == (SPECTATOR, PLAYER.name, 30)
    # Six turns a side; what was ordered in the seventh never showed.
    assert (stream.decisions, stream.linked, stream.trajectories) == (30 * 12, 60, 60)
    assert stream.extras == ("player", "rating")
    told = json.loads((spectated / "import.json").read_text())
    assert (told["known"], told["unknown"], told["source"]) == (360, 60, SPECTATOR)


def test_both_sides_of_a_battle_are_held_out_together(spectated: Path) -> None:
    data, _ = gather(feedback=spectated, reports=spectated)
    assert data.sources == (SPECTATOR,)
    assert len(np.unique(data.group)) == 30
    assert sorted(np.unique(data.outcome[data.seat == 0]).tolist()) == [WIN]
    assert sorted(np.unique(data.outcome[data.seat == 1]).tolist()) == [LOSS]


def test_full_views_and_spectators_are_mixed_only_when_asked(
    spectated: Path, tmp_path: Path
) -> None:
    stream = read_stream(next(spectated.rglob(STREAM)))
    both = tmp_path / "both"
    for session, source in (("a", "player"), ("b", SPECTATOR)):
        writer = FeedbackWriter(
            both / session, stream.spec, session, PlayerInfo("me", "c" * 64), source
        )
        row = (stream.observation[0], stream.action[0])
        writer.step("m", 0, 0.0, *row, mask=stream.mask[0])
        writer.close()
    with pytest.raises(DemonstrationError, match="--mix-sources") as refusal:
        gather(feedback=both)
    assert str(both) not in str(refusal.value)
    assert "a/feedback_stream.jsonl is what a player saw" in str(refusal.value)
    data, _ = gather(feedback=both, mix_sources=True)
    assert (len(data), data.sources) == (2, ("player", SPECTATOR))


def test_a_source_that_nobody_knows_is_refused(spectated: Path, tmp_path: Path) -> None:
    first, *rest = next(spectated.rglob(STREAM)).read_text().splitlines()
    header = {**json.loads(first), "source": "hearsay"}
    file = tmp_path / "x" / STREAM
    file.parent.mkdir()
    file.write_text("\n".join([json.dumps(header), *rest]) + "\n")
    (broken,) = read_feedback(tmp_path).broken
    assert "hearsay" in broken.reason


def test_logs_that_cannot_be_used_are_counted_and_left_alone(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.log").write_text(singles_log(1))
    (logs / "b.log").write_text(singles_log(1))
    (logs / "c.log").write_text(singles_log(2).replace("Random Battle", "OU"))
    (logs / "d.html").write_text("<html>nothing</html>")
    (logs / "e.log").write_text(singles_log(3).replace("|turn|2", "|turn|two"))
    (logs / "f.json").write_bytes(b"\xff\xfe\x00")
    before = {path: path.read_bytes() for path in logs.iterdir()}
    done = import_logs([logs], tmp_path / "data", ALL)
    assert (done.logs, done.battles) == (6, 1)
    assert done.left_out == {
        "was read already": 1,
        "is of another format": 1,
        "is a page without a battle's log": 1,
        "has lines that cannot be followed": 1,
        "is not text in UTF-8": 1,
    }
    assert done.examples["is of another format"] == ["c.log is of another format: gen9ou"]
    assert {path: path.read_bytes() for path in logs.iterdir()} == before


def test_winners_and_ratings_can_be_picked(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs.jsonl", 2)
    winners = import_logs([logs], tmp_path / "winners", Wanted(winners_only=True))
    rated = import_logs([logs], tmp_path / "rated", Wanted(min_rating=1400))
    for done in (winners, rated):
        data, _ = gather(feedback=done.output)
        assert set(data.seat.tolist()) == {0}
    none = import_logs([logs], tmp_path / "none", Wanted(min_rating=1600))
    assert none.left_out == {"is of players with a lower rating, or none": 2}
    assert not none.output.exists()


def test_an_import_never_writes_over_anything(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs.jsonl", 1)
    (tmp_path / "data").mkdir()
    with pytest.raises(RefusedError, match="exists"):
        import_logs([logs], tmp_path / "data", ALL)
    with pytest.raises(LanistaError, match="does not exist"):
        import_logs([tmp_path / "no.log"], tmp_path / "other", ALL)


def test_the_same_logs_give_the_same_bytes(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs.jsonl", 3)
    made = [import_logs([logs], tmp_path / name, ALL).output for name in "ab"]
    first, second = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.jsonl")}
        for folder in made
    )
    assert first == second
    assert len(first) == 2


def test_a_killed_import_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    logs, output = write_logs(tmp_path / "logs.jsonl", 1500, turns=12), tmp_path / "data"
    command = [sys.executable, "-m", "lanista.cli.main", "showdown", "import-logs"]
    process = subprocess.Popen([*command, str(logs), "--output", str(output)])
    while not list(tmp_path.rglob(STREAM)) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL
    assert not output.exists()
    (left,) = tmp_path.glob(".data.*.partial")
    with pytest.raises(DatasetError, match="no feedback"):
        read_feedback(tmp_path)
    import_logs([write_logs(tmp_path / "few.jsonl", 2)], output, ALL)
    assert not left.exists()
    assert not read_feedback(output, output).broken
