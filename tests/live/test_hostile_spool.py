"""Whatever lies in a spool, a learner goes on: it is set aside or passed over, and said once."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from practice import Bench, contents
from toy import agent_of, folder_of, view

from lanista.cli.main import main
from lanista.live.files.spool import FOLDERS, Spool, SpoolError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="made of what Unix has")
KINDS = ("folder", "full folder", "pipe", "socket", "link", "link to a folder", "dangling", "loop")
ODD_NAMES = (b"new\nline", b"\x1b[31mred", b"\xff\xfe not text", b"-rf", b"a" * 240, b"...", b" ")


def put(kind: str, place: Path, outside: Path) -> None:
    """Put something that is no game at a place; links lead outside."""
    makers: dict[str, Callable[[], object]] = {
        "folder": place.mkdir,
        "full folder": lambda: (place.mkdir(), (place / "inside").write_text("mine")),
        "pipe": lambda: os.mkfifo(place),
        "socket": lambda: bound(place),
        "link": lambda: place.symlink_to(outside / "precious"),
        "link to a folder": lambda: place.symlink_to(outside),
        "dangling": lambda: place.symlink_to("/nowhere/at/all"),
        "loop": lambda: place.symlink_to(place.name),
    }
    makers[kind]()


def bound(place: Path) -> None:
    """Leave a socket behind; their paths must be short, so it is bound from within."""
    here = Path.cwd()
    os.chdir(place.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name[:50])
    finally:
        os.chdir(here)


def littered(bench: Bench, outside: Path) -> None:
    """Fill every folder of a spool with everything."""
    outside.mkdir()
    (outside / "precious").write_text("precious")
    for number, kind in enumerate(KINDS):
        for name in FOLDERS:
            for suffix in (".npz", ".journal", ".npz.reason.txt", ""):
                put(kind, bench.spool.folder / name / f"k{number}{suffix}", outside)
    for folder in (bench.spool.open, bench.spool.new, bench.spool.work, bench.spool.bad):
        for name in ODD_NAMES:
            for suffix in (b".npz", b".journal"):
                (folder / os.fsdecode(name + suffix)).write_bytes(b"junk")


def test_a_spool_full_of_everything_stops_no_learner(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(tmp_path)
    littered(bench, tmp_path / "outside")
    bench.play(1, -1, 1)
    folders = ["--spool", str(bench.spool.folder), "--policy", str(bench.folder.folder)]
    for _ in range(2):
        assert main(["learn", *folders, "--once"]) == 0
    said = capfd.readouterr()
    assert "games 3 (" in said.out
    assert "Traceback" not in said.err
    lines = [line for line in said.err.splitlines() if "k0.journal" in line or "k0.npz" in line]
    assert lines
    assert len(lines) == len(set(lines))
    assert (tmp_path / "outside" / "precious").read_text() == "precious"
    assert contents(tmp_path / "outside") == ["precious"]
    assert not list(bench.spool.open.glob("*.journal"))
    assert bench.spool.taken() == []
    assert len(list(bench.spool.bad.rglob("inside"))) > 3
    assert main(["doctor", *folders[1:2], *folders[2:]]) in (0, 1)


def test_an_agent_begins_beside_odd_journals_and_writes_its_games(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    spool = Spool(tmp_path / "spool")
    spool.create()
    for number, kind in enumerate(KINDS):
        put(kind, spool.open / f"k{number}.journal", tmp_path)
    with agent_of(tmp_path) as agent:
        game = agent.game("one")
        game.act(view())
        game.end(1)
    assert agent.report().games.written == 1
    assert agent.report().games.dropped == 0


def test_what_lies_in_the_archive_in_a_games_place_is_set_aside(tmp_path: Path) -> None:
    """Its game took effect, so that every start would meet it again."""
    bench = Bench(tmp_path)
    for number, kind in enumerate(("folder", "full folder", "pipe", "dangling")):
        for deep in (False, True):
            bench.play(1)
            (path,) = bench.spool.waiting()
            with bench.start() as learner:
                taken = learner.intake.take(1, learner.weights.header)
                ((_, game),) = taken.games
                place = bench.spool.archived(game.content)
                shutil.rmtree(place.parent, ignore_errors=True)
                if deep:
                    place.parent.mkdir()
                put(kind, place if deep else place.parent, tmp_path)
                learner._apply(taken)
                assert learner.ledger.count() == 2 * number + deep + 1
            assert bench.spool.is_archived(game.content), (kind, deep)
            assert not path.exists()


def test_a_game_that_cannot_be_moved_is_passed_over_and_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    stuck, *_ = bench.play(1, -1, 1)
    rename = Path.rename

    def refusing(path: Path, place: Path) -> Path:
        if path == stuck:
            raise PermissionError(1, "Operation not permitted")
        return rename(path, place)

    monkeypatch.setattr(Path, "rename", refusing)
    with bench.start() as learner:
        bench.learn(learner)
        bench.play(1)
        bench.learn(learner)
        assert learner.ledger.count() == 3
    assert len([said for said in bench.said if "operation not permitted" in said]) == 1
    monkeypatch.undo()
    with bench.learn() as learner:
        assert learner.ledger.count() == 4


def test_a_journal_of_somebody_else_is_passed_over_and_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    (bench.spool.open / "theirs.journal").write_bytes(b"something")
    usual = os.open

    def refusing(path: object, *given: object) -> int:
        if str(path).endswith("theirs.journal"):
            raise PermissionError(13, "Permission denied")
        return usual(path, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refusing)
    bench.play(1)
    with bench.start() as learner:
        bench.learn(learner)
        learner.go_back()
        assert learner.ledger.count() == 1
    assert [said for said in bench.said if "theirs" in said] == [
        "The journal 'theirs.journal' is passed over: permission denied."
    ]
    assert contents(bench.spool.open) == ["theirs.journal"]


def test_a_spool_that_is_cleared_away_meanwhile_is_made_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with bench.start() as learner:
        for _ in range(2):
            shutil.rmtree(bench.spool.folder)
            assert learner.step() is None
            bench.play(1)
            bench.learn(learner)
        assert learner.ledger.count() == 2


@pytest.mark.parametrize("name", FOLDERS)
def test_a_link_in_place_of_a_spools_folder_is_refused(tmp_path: Path, name: str) -> None:
    bench = Bench(tmp_path)
    shutil.rmtree(bench.spool.folder / name)
    (tmp_path / "elsewhere").mkdir()
    (bench.spool.folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SpoolError, match="is a symbolic link"):
        bench.start()
