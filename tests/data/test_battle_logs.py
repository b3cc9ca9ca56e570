"""Battle logs as imitation data: counted, labelled, never mixed by accident, whole or not there."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import warm_python
from battle_log_files import singles_log, write_logs

from lanista.data.battle_logs import PLAYER, Wanted, import_logs
from lanista.data.demonstrations import LOSS, SPECTATOR, WIN, DemonstrationError
from lanista.data.feedback import STREAM, FeedbackWriter, read_feedback, read_stream
from lanista.data.gathering import gather
from lanista.data.records import PlayerInfo
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


def as_a_player_saw(log: str, seat: int) -> str:
    """Return a battle's log as the client of one of its players kept it: its own HP in points."""
    lines = log.replace("|c|Bob|", f"|c|{'Ann' if seat == 0 else 'Cat'}|").split("\n")
    mine = f"|switch|p{seat + 1}a"
    lines = [
        line.replace("100/100", "255/255") if line.startswith(mine) else line for line in lines
    ]
    room = [
        ">battle-gen9randombattle-1",
        "|init|battle",
        "|title|Ann vs. Bob",
        "|j|☆Ann",
        "|j|☆Bob",
    ]
    lines.insert(lines.index("|turn|1"), f"|inactive|Time left: {100 + seat} sec this turn")
    return "\n".join([*room, *lines, "|l|☆Bob"])


def test_one_battle_from_several_sources_is_read_once(tmp_path: Path) -> None:
    logs, log = tmp_path / "logs", singles_log(1)
    logs.mkdir()
    server = {"roomid": "battle-gen9randombattle-1", "log": log.split("\n")}
    (logs / "a.log.json").write_text(json.dumps(server))
    page = '<script type="text/plain" class="battle-log-data">{}</script>'
    for seat in (0, 1):
        (logs / f"b{seat}.html").write_text(page.format(as_a_player_saw(log, seat)))
    done = import_logs([logs], tmp_path / "data", ALL)
    assert (done.logs, done.battles, done.left_out) == (3, 1, {"was read already": 2})


def test_battles_that_differ_in_time_or_in_one_move_are_two(tmp_path: Path) -> None:
    logs, log = tmp_path / "logs", singles_log(1)
    logs.mkdir()
    (logs / "a.log").write_text(log)
    (logs / "b.log").write_text(log.replace("|t:|17000010", "|t:|17000020"))
    (logs / "c.log").write_text(log.replace("|Hydro Pump|", "|Thunderbolt|", 1))
    (logs / "d.log").write_text(log.replace("|win|Ann", "|win|Bob"))
    done = import_logs([logs], tmp_path / "data", ALL)
    assert (done.battles, done.left_out) == (4, {})


def test_a_battle_counts_as_read_only_once_its_log_could_be_followed(tmp_path: Path) -> None:
    logs, log = tmp_path / "logs", singles_log(1)
    logs.mkdir()
    (logs / "a.log").write_text(log.replace("|turn|2", "|turn|two"))
    (logs / "b.log").write_text(log)
    done = import_logs([logs], tmp_path / "data", ALL)
    assert (done.battles, done.left_out) == (1, {"has lines that cannot be followed": 1})


def test_a_file_that_is_gone_when_it_is_its_turn_is_counted(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number, name in enumerate(("a.log", "b.log", "c.jsonl")):
        (logs / name).write_text(singles_log(number))
    (logs / "c.jsonl").write_text(json.dumps({"log": singles_log(9)}))

    def after(done: int, total: int) -> None:
        for name in ("b.log", "c.jsonl"):
            (logs / name).unlink(missing_ok=True)

    done = import_logs([logs], tmp_path / "data", ALL, after)
    assert (done.logs, done.battles, done.left_out) == (3, 1, {"cannot be opened": 2})


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
    process = warm_python.Popen([*command, str(logs), "--output", str(output)])
    while not list(tmp_path.rglob(STREAM)) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL
    assert not output.exists()
    (left,) = tmp_path.glob(".tmp-*.part")
    assert not read_feedback(tmp_path).streams
    import_logs([write_logs(tmp_path / "few.jsonl", 2)], output, ALL)
    assert not left.exists()
    assert not read_feedback(output, output).broken
