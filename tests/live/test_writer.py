"""Writing games beside the bot: disks that hang or are full, and processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from toy import (
    HERE,
    agent_of,
    files_all,
    files_of,
    folder_of,
    game_of,
    only,
    view,
)

from lanista import files
from lanista.live.agent import game_writer
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool


@pytest.fixture
def folder(tmp_path: Path) -> PolicyFolder:
    return folder_of(tmp_path / "policy")


# Disks.


def test_a_disk_that_hangs_never_stops_a_game(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    hanging = threading.Event()

    def hang(handle: int) -> None:
        hanging.set()
        go_on.wait()

    agent = agent_of(tmp_path)
    monkeypatch.setattr(files.os, "fsync", hang)
    # Would wait for ever here if any call waited for the disk.
    for number in range(30):
        game = agent.game(f"game {number}")
        for step in range(10):
            game.act(view(step))
            game.reward(1)
        game.end(1)
    assert hanging.wait(60)
    report = agent.report()
    assert (report.games.written, report.games.waiting) == (0, 30)
    go_on.set()
    assert agent.close(60).games.written == 30
    assert len(files_of(tmp_path / "spool")) == 30


def test_what_waits_is_bounded_and_drops_are_counted(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(game_writer, "MOST_WAITING", 4)
    agent = agent_of(tmp_path)
    monkeypatch.setattr(files.os, "fsync", lambda handle: go_on.wait())
    for number in range(10):
        agent.game(f"game {number}").end(1)
    assert agent.report().games.waiting == 4
    go_on.set()
    games = agent.close(60).games
    assert (games.written, games.dropped) == (4, 6)
    assert "too many games wait" in games.problem
    assert not list(Spool(tmp_path / "spool").open.iterdir())


def test_a_game_that_no_file_could_hold_is_dropped_and_costs_no_more_memory(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lanista.live.agent import journal

    monkeypatch.setattr(journal, "MOST_BYTES", 2000)
    with agent_of(tmp_path) as agent:
        game = agent.game("endless")
        for step in range(200):
            game.act(view(step))
        assert game._recording.size < 2100
        game.end(1)
    games = agent.report().games
    assert (games.written, games.dropped) == (0, 1)
    assert "grew beyond" in games.problem


FULL_DISK = """
import resource, sys, signal
from pathlib import Path
sys.path.insert(0, {here!r})
from toy import view
from lanista.live import Agent
agent = Agent({policy!r}, {spool!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.RLIM_INFINITY))
for number, steps in enumerate((5, 2000, 5, 2000, 5)):
    game = agent.game(f"game {{number}}")
    for step in range(steps):
        game.act(view(step))
        game.reward(1)
    game.end(1)
if {room}:
    import time
    while agent.report().games.written < 3 or "waits" not in agent.report().games.problem:
        time.sleep(0.01)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(agent.close(60).games)
"""


def full_disk(tmp_path: Path, room: bool) -> str:
    code = FULL_DISK.format(
        here=str(HERE), policy=str(tmp_path / "policy"), spool=str(tmp_path / "spool"), room=room
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=900
    )
    return done.stdout + done.stderr


def test_a_full_disk_costs_the_games_it_has_no_room_for_and_says_so(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    said = full_disk(tmp_path, room=False)
    assert "written=3" in said
    assert "dropped=2" in said
    assert "file too large" in said
    assert set(files_of(tmp_path / "spool")) == {"game 0", "game 2", "game 4"}
    spool = Spool(tmp_path / "spool")
    assert not list(spool.open.iterdir())
    assert not list(spool.new.glob(".*"))


def test_games_wait_until_the_disk_has_room_again(tmp_path: Path, folder: PolicyFolder) -> None:
    said = full_disk(tmp_path, room=True)
    assert "written=5" in said
    assert "dropped=0" in said
    assert len(files_of(tmp_path / "spool")) == 5


# Kills.

PLAYER = """
import sys
sys.path.insert(0, {here!r})
from toy import view
from lanista.live import Agent
from lanista.live.agent import game_writer
game_writer.JOURNAL_SECONDS = 0.001
agent = Agent({policy!r}, {spool!r})
done = 0
games = [agent.game(f"{run}/{{number}}") for number in range(4)]
while True:
    for number, game in enumerate(games):
        game.act(view(game.decisions, number))
        game.reward(game.decisions)
        if game.decisions >= 30 + 10 * number:
            game.end(1)
            done += 1
            games[number] = agent.game(f"{run}/{{number + 4 * done}}")
            if done == 3:
                print("playing", flush=True)
"""


def killed_player(tmp_path: Path, run: int, extra: float) -> None:
    code = PLAYER.format(
        here=str(HERE), policy=str(tmp_path / "policy"), spool=str(tmp_path / "spool"), run=run
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as player:
        assert player.stdout is not None
        assert player.stdout.readline() == b"playing\n"
        try:
            player.wait(extra)
        except subprocess.TimeoutExpired:
            player.send_signal(signal.SIGKILL)


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize(
    "kills", [4, pytest.param(60, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_a_killed_bot_leaves_games_cut_off_never_lost_or_half_written(
    tmp_path: Path, folder: PolicyFolder, kills: int
) -> None:
    for run in range(kills):
        killed_player(tmp_path, run, 0.013 * run)
    spool = Spool(tmp_path / "spool")
    left = sum(path.stat().st_size > 0 for path in spool.open.iterdir())
    with agent_of(tmp_path) as agent:
        agent.game("the next bot").end(None)
    assert agent.report().games.recovered == left
    assert not list(spool.open.iterdir())
    assert not list(spool.bad.iterdir())
    assert not list(spool.new.glob(".*"))
    games = files_all(tmp_path)
    assert len({game.header.game_id for game in games}) == len(games)  # none twice
    crashed = [game for game in games if game.header.crashed]
    assert crashed
    for game in games:
        steps = game.header.steps
        assert game.rewards.tolist() == list(range(1, steps + 1))
        seed = int(game.header.game_id.split("/")[-1]) % 4 if "/" in game.header.game_id else 0
        for step in range(steps):
            assert (game.observations[step] == view(step, seed)).all()
        if game.header.crashed:
            assert game.header.cut_off
        elif "/" in game.header.game_id:
            assert game.outcome.tolist() == [1.0]


def test_a_game_on_the_disk_is_not_told_again_by_its_journal(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if killed after the file had its name, before the journal was gone."""
    from lanista.live.agent.journal import Journal

    monkeypatch.setattr(game_writer, "JOURNAL_SECONDS", 0.001)
    monkeypatch.setattr(Journal, "remove", Journal.leave)
    with agent_of(tmp_path) as agent:
        game = agent.game("once")
        for step in range(20):
            game.act(view(step))
        while game._recording.journal is None or game._recording.unsaved:
            pass
        game.end(-1)
    spool = Spool(tmp_path / "spool")
    (before,) = spool.waiting()
    assert len(list(spool.open.iterdir())) == 1
    monkeypatch.undo()
    assert spool.recover().games == 1
    assert spool.waiting() == [before]
    assert only(tmp_path).outcome.tolist() == [-1.0]


def test_the_end_reaches_the_journal_before_the_file_has_its_name(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A game that ends just after its journal was looked at: by hand, without the thread."""
    from lanista.live.agent.journal import END, RESULT, Journal, Recording, Rows

    spool = Spool(tmp_path / "spool")
    spool.create()
    by_hand = game_writer.Writer(spool)
    by_hand.close(60)
    told = replace(game_of().header, steps=0, early_reward=0.0)
    recording = Recording(told, Rows(told.layout))
    by_hand.begin(recording)
    by_hand._keep_journals()
    recording.add(recording.format.pack(END | RESULT, 0.0, -1.0))
    by_hand.end(recording)
    monkeypatch.setattr(Journal, "remove", Journal.leave)
    by_hand._write_ended()
    assert spool.recover().games == 1
    assert [game.outcome.tolist() for game in files_all(tmp_path)] == [[-1.0]]


def test_a_game_is_journaled_as_long_as_it_is_played_and_then_let_go(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    from lanista.live.agent.journal import END, RESULT, Recording, Rows, recovering

    spool = Spool(tmp_path / "spool")
    spool.create()
    by_hand = game_writer.Writer(spool)
    by_hand.close(60)
    told = replace(game_of().header, steps=0, early_reward=0.0)
    played, other = (Recording(replace(told, game_id=name), Rows(told.layout)) for name in "ab")
    step = bytes(played.format.dtype.itemsize - 17)
    for recording in (played, other):
        by_hand.begin(recording)
    for number in range(3):
        by_hand._keep_journals()
        assert not played.unsaved
        for recording in (played, other):
            recording.add(recording.format.pack(0, 0.0, float(number), step))
    assert by_hand._pause() == game_writer.JOURNAL_SECONDS
    played.add(played.format.pack(END | RESULT, 0.0, 1.0))
    by_hand.end(played)
    by_hand._keep_journals()
    assert by_hand._playing == [other]
    assert not other.unsaved
    assert other.journal is not None
    other.journal.leave()
    with recovering(other.journal.path) as game:
        assert game is not None
        assert game.rewards.tolist() == [0.0, 1.0, 2.0]


def test_what_waits_is_written_when_the_process_ends_in_good_order(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import time
from toy import view
from lanista import files
from lanista.live import Agent
# Slower than the bot, which would else be overtaken by what it need not wait for.
files.os.fsync = lambda handle: time.sleep(0.05)
def play():
    agent = Agent({str(tmp_path / "policy")!r}, {str(tmp_path / "spool")!r})
    for number in range(5):
        game = agent.game(str(number))
        game.act(view())
        game.end(1)
play()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=900)
    assert len(files_of(tmp_path / "spool")) == 5
