"""A learner on a full disk says so once, waits, and goes on as if there had been room all along."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from practice import Bench, contents, quick, same_weights, settings_of
from toy import agent_of, files_of, folder_of, view

from lanista.live.files import policy_folder as folders
from lanista.live.files import spool
from lanista.live.learner import full_disk
from lanista.live.learner.background_learner import BackgroundLearner
from lanista.live.learner.full_disk import is_full
from lanista.live.learner.service import Service, begin, give_memory_back, serve
from lanista.runs.checkpoints import Checkpoints

sys.path.insert(0, str(Path(__file__).parents[1] / "chaos"))
from disks import SmallDisk, small_disk

SETTINGS = settings_of(quick(kind="open", every=4), batch_games=4)
GAMES = 16


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_disk, "LONGEST_PAUSE", 0.02)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Return folders with games, and the weights that a learner with room makes of them."""
    first = tmp_path_factory.mktemp("first")
    bench = Bench(first, SETTINGS)
    bench.play(*[1, -1] * (GAMES // 2))
    with bench.start():
        pass
    other = tmp_path_factory.mktemp("other") / "learned"
    shutil.copytree(first, other)
    with Bench(other, SETTINGS).learn() as learner:
        assert learner.ledger.count() == GAMES
        return first, learner.weights.learner.policy


class Watched:
    """What a learner says, and what is done when it first says that there is no room."""

    def __init__(self, relief: Callable[[], None]) -> None:
        self.said: list[str] = []
        self.relief = relief

    def __call__(self, sentence: str) -> None:
        self.said.append(sentence)
        if sentence.startswith("There is no room"):
            threading.Timer(0.1, self.relief).start()


def learn(path: Path, say: Watched) -> BackgroundLearner:
    """Serve until all games took effect; return the learner, closed."""
    stop, ends = threading.Event(), time.monotonic() + 900

    def make() -> BackgroundLearner:
        return BackgroundLearner(path / "spool", path / "policy", SETTINGS, say=say)

    learner = begin(make, say, stop, 0.01)
    assert learner is not None
    with learner:
        while learner.ledger.count() < GAMES and time.monotonic() < ends:
            serve(learner, Service(once=True, poll=0.01, report_every=0), stop)
    return learner


def refuse_difference(path: Path, learner: BackgroundLearner, policy: Any) -> None:
    bench = Bench(path, SETTINGS)
    with bench.start() as again:
        assert again.ledger.count() == GAMES
        assert again.ledger.totals().games == GAMES
        assert again.step() is None
        assert same_weights(again.weights.learner.policy, policy)
    assert same_weights(learner.weights.learner.policy, policy)
    assert len(contents(bench.spool.archive)) == GAMES
    assert contents(bench.spool.new) == contents(bench.spool.work) == []


@pytest.mark.parametrize("room", [0, 30_000, 60_000, 90_000, 130_000, 170_000])
def test_on_a_full_disk_a_learner_waits_and_every_game_counts_once(
    tmp_path: Path, wanted: tuple[Path, Any], room: int
) -> None:
    first, policy = wanted
    with small_disk(tmp_path / "disk", 4 << 20) as disk:
        path = disk.path / "folders"
        shutil.copytree(first, path)
        disk.fill(room)
        say = Watched(disk.clear)
        learner = learn(path, say)
        assert len([s for s in say.said if s.startswith("There is no room")]) >= 1
        assert "There is room again, and the learner goes on." in say.said
        refuse_difference(path, learner, policy)


def test_a_disk_that_fills_again_and_again_costs_nothing(
    tmp_path: Path, wanted: tuple[Path, Any]
) -> None:
    first, policy = wanted
    with small_disk(tmp_path / "disk", 4 << 20) as disk:
        path = disk.path / "folders"
        shutil.copytree(first, path)
        stop = threading.Event()
        tide = threading.Thread(target=come_and_go, args=(disk, stop))
        tide.start()
        try:
            learner = learn(path, Watched(lambda: None))
        finally:
            stop.set()
            tide.join()
        disk.clear()
        refuse_difference(path, learner, policy)


def come_and_go(disk: SmallDisk, stop: threading.Event) -> None:
    for turn in range(200):
        if stop.wait(0.05):
            break
        if turn % 2:
            disk.clear()
        else:
            try:
                disk.fill(turn % 7 * 20_000)
            except OSError:
                continue  # The learner took the room first.
    disk.clear()


def test_a_bot_on_a_full_disk_plays_on_and_its_games_are_written_when_there_is_room(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "disk", 2 << 20) as disk:
        folder_of(disk.path / "policy")
        with agent_of(disk.path) as agent:
            play(agent, "before")
            disk.fill()
            for number in range(5):
                play(agent, f"while full {number}")
            while not agent.report().games.problem:
                time.sleep(0.01)
            assert "no space left on device" in agent.report().games.problem
            disk.clear()
            play(agent, "after")
        games = agent.report().games
        assert (games.written, games.dropped, games.left) == (7, 0, 0)
        assert len(files_of(disk.path / "spool")) == 7


def play(agent: Any, name: str) -> None:
    game = agent.game(name)
    for step in range(3):
        game.act(view(step))
    game.end(1)


# Where no disk can be mounted: planted errors, of each kind and at each place.


@contextmanager
def planted(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, code: int, times: int
) -> Iterator[list[int]]:
    """Let a function fail for want of room, the second time it is called and some more."""
    usual, calls = getattr(owner, name), [0]

    def failing(*given: Any, **more: Any) -> Any:
        calls[0] += 1
        if 1 < calls[0] <= 1 + times:
            raise OSError(code, "No space left on device", "somewhere")
        return usual(*given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failing)
        yield calls


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Checkpoints, "save"),
        (Path, "rename"),
        (folders, "write_text"),
        (folders, "write_bytes"),
        (spool.Spool, "put_away"),
    ],
)
def test_no_room_at_any_step_is_waited_for(
    tmp_path: Path,
    wanted: tuple[Path, Any],
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    code: int,
) -> None:
    first, policy = wanted
    path = tmp_path / "folders"
    shutil.copytree(first, path)
    say = Watched(lambda: None)
    with planted(monkeypatch, owner, name, code, 3) as calls:
        learner = learn(path, say)
    assert calls[0] > 4
    assert "There is room again, and the learner goes on." in say.said
    refuse_difference(path, learner, policy)


def test_a_book_that_cannot_grow_is_waited_for(tmp_path: Path) -> None:
    """SQLite's own word for it: database or disk is full."""
    bench = Bench(tmp_path, settings_of(batch_games=40))
    bench.play(*[1, -1] * 40)
    limit = "PRAGMA max_page_count="
    with bench.start() as learner:
        connection = learner.ledger._connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"{limit}{pages}")
        usual = learner.go_back
        learner.go_back = lambda: (connection.execute(f"{limit}100000"), usual())  # type: ignore
        serve(learner, Service(once=True, poll=0.01, report_every=0), threading.Event())
        assert learner.ledger.count() == learner.ledger.totals().games == 80
    full = [said for said in bench.said if said.startswith("There is no room")]
    assert full == [
        f"There is no room: no space left on device at {learner.ledger.path}; waiting until there "
        "is. Nothing is lost."
    ]
    assert len(contents(bench.spool.archive)) == 80


def test_who_stops_a_learner_that_waits_need_not_wait(
    tmp_path: Path, wanted: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = wanted
    path = tmp_path / "folders"
    shutil.copytree(first, path)
    stop = threading.Event()
    say = Watched(stop.set)
    with (
        planted(monkeypatch, Checkpoints, "save", errno.ENOSPC, 10**6),
        BackgroundLearner(path / "spool", path / "policy", SETTINGS, say=say) as learner,
    ):
        serve(learner, Service(once=True, poll=0.01, report_every=0), stop)
    assert len([s for s in say.said if "no room" in s]) == 1
    with Bench(path, SETTINGS).learn() as learner:
        assert learner.ledger.count() == GAMES


def test_other_errors_of_a_disk_are_not_waited_for() -> None:
    assert is_full(OSError(errno.ENOSPC, "full"))
    assert not is_full(OSError(errno.EIO, "broken"))
    assert not is_full(None)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's memory is meant")
def test_memory_that_was_freed_in_pieces_goes_back_to_the_system() -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("the C library here has no malloc_trim")
    pieces = [bytearray(100_000) for _ in range(1000)]
    del pieces[:-1]  # The last one lies on top of all that was freed.
    before = resident()
    assert give_memory_back()
    assert resident() < before - 50_000_000
    del pieces


def resident() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
