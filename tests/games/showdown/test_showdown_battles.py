"""Battles over workers: the same again, faster but no different, and alive after a death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from showdown_play import MAIN_FORMATS, needs_simulator, odd_setups, play, said, setups

from lanista.games.contract import GameError
from lanista.games.showdown.sim.battles import Battles, Setup, simulator_seed
from lanista.games.streams import Stream

pytestmark = needs_simulator
VGC = MAIN_FORMATS[0]


@pytest.fixture(scope="module")
def battles() -> Iterator[Battles]:
    with Battles() as found:
        yield found


def played(battles: Battles, wanted: list[Setup], at_once: int = 16) -> dict[int, list[object]]:
    return {told.setup.slot: said(told) for told in play(battles, wanted, at_once)}


@pytest.fixture(scope="module")
def plain() -> Iterator[Battles]:
    with Battles(plain=True) as found:
        yield found


ALL_KINDS = (*MAIN_FORMATS, "odd teams")


def check_speedups(battles: Battles, plain: Battles, kind: str, count: int) -> None:
    odd = kind == "odd teams"
    wanted = odd_setups(battles, count) if odd else setups(battles, kind, count, seed=11)
    expected = played(plain, wanted)
    assert played(battles, wanted) == expected
    assert len(expected) == count


@pytest.mark.parametrize("format", MAIN_FORMATS)
def test_speedups_change_no_line_of_a_battle(battles: Battles, plain: Battles, format: str) -> None:
    check_speedups(battles, plain, format, 8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_speedups_change_no_line_of_five_hundred_battles(
    battles: Battles, plain: Battles, kind: str
) -> None:
    check_speedups(battles, plain, kind, 500)


@pytest.mark.parametrize("format", [VGC, "gen9randomdoublesbattle"])
def test_a_seed_fixes_a_battle_whatever_is_played_beside_it(battles: Battles, format: str) -> None:
    wanted = setups(battles, format, 4)
    alone = played(battles, wanted, at_once=1)
    with Battles(workers=2) as two:
        assert played(two, wanted) == alone
    other = played(battles, [replace(wanted[0], seed="9,9,9,9")])
    assert other[0] != alone[0]


def test_a_battle_is_taken_up_again_from_its_choices(battles: Battles) -> None:
    told = next(play(battles, setups(battles, VGC, 1)))
    half = len(told.choices) // 2
    start = replace(told.setup, choices=tuple(told.choices[:half]))
    updates = battles.start([start])
    for seat, text in told.choices[half:]:
        updates += battles.choose([(start.slot, seat, text)])
    assert updates[-1].ended
    assert updates[-1].winner == told.end.winner
    for seat in (0, 1):
        lines = [line for each in updates for line in each.views[seat].lines]
        assert lines == [line for each in told.updates for line in each.views[seat].lines]


def test_views_hold_back_what_a_player_cannot_know(battles: Battles) -> None:
    told = next(play(battles, setups(battles, VGC, 1)))
    for seat, foe in ((0, "p2"), (1, "p1")):
        lines = [line for update in told.updates for line in update.views[seat].lines]
        assert not any(line.startswith(("|split|", "|t:|", "|request|")) for line in lines)
        health = [line for line in lines if line.startswith(f"|-damage|{foe}")]
        assert health
        assert all("/100" in line or "0 fnt" in line for line in health)
        for update in told.updates[:-1]:
            request = update.views[seat].request
            assert request is not None
            assert request["side"]["id"] == ("p1", "p2")[seat]


def test_the_winner_is_the_one_the_log_names(battles: Battles) -> None:
    for told in play(battles, setups(battles, VGC, 6)):
        named = [line for line in told.end.views[0].lines if line.startswith("|win|")]
        assert named == [f"|win|Player {told.end.winner + 1}"]


def test_a_worker_that_dies_loses_its_battles_and_no_others() -> None:
    with Battles(workers=2) as battles:
        wanted = setups(battles, VGC, 4)
        battles.start(wanted)
        os.kill(battles._workers[1].process.pid, signal.SIGKILL)
        updates = battles.choose(
            [(slot, seat, "team 1234") for slot in range(4) for seat in (0, 1)]
        )
        assert [update.slot for update in updates] == [0, 1, 2, 3]
        assert [update.cut_off for update in updates] == [False, True, False, True]
        assert "code -9" in updates[1].reason
        assert battles.restarts == 1
        with pytest.raises(GameError, match="slot 1"):
            battles.choose([(1, 0, "team 1234")])
        again = battles.start([wanted[1]])
        assert not again[0].cut_off
        battles.drop([1])


def test_a_death_found_while_dropping_is_told_with_the_next_answer() -> None:
    with Battles() as battles:
        battles.start(setups(battles, VGC, 4))
        battles._workers[0].process.kill()
        battles.drop([0])
        again = replace(setups(battles, VGC, 1)[0], slot=1)
        assert [(update.slot, update.cut_off) for update in battles.start([again])] == [
            *((1, False), (2, True), (3, True))
        ]
        battles.drop([1])


def test_a_choice_that_is_not_legal_cuts_off_that_battle_alone(battles: Battles) -> None:
    battles.start(setups(battles, VGC, 2))
    updates = battles.choose([(0, 0, "move 1"), (0, 1, "team 1234"), (1, 0, "team 1234")])
    assert [(update.slot, update.cut_off) for update in updates] == [(0, True)]
    assert "move 1" in updates[0].reason
    assert len(battles.choose([(1, 1, "team 1234")])) == 1
    battles.drop([1])


PARENT = """
import sys, time
from lanista.games.showdown.sim.battles import Battles
battles = Battles(workers=2)
print(*(worker.process.pid for worker in battles._workers), flush=True)
time.sleep(600)
"""


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")  # noqa: PTH112
def test_workers_end_when_their_parent_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(word) for word in parent.stdout.readline().split()]
    assert len(workers) == 2
    assert all(is_running(worker) for worker in workers)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    for _ in range(600):
        if not any(is_running(worker) for worker in workers):
            return
        time.sleep(0.1)
    raise AssertionError(f"Workers {workers} outlived their parent.")


HARDY = """
import os, signal
from lanista.games.showdown.sim.process import Worker
worker = Worker()
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
    os.killpg(0, number)
print(worker.ask({"do": "usage"})["rss"] > 0)
worker.close()
"""


def test_a_signal_to_the_whole_group_ends_no_worker() -> None:
    told = subprocess.run(
        [sys.executable, "-c", HARDY], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert told.stdout == "True\n"


def test_closing_ends_the_workers_and_can_be_done_twice() -> None:
    battles = Battles()
    process = battles._workers[0].process
    battles.close()
    battles.close()
    assert process.poll() is not None


def test_a_simulator_seed_is_the_streams_next_word() -> None:
    word = Stream.keyed(1, 2, 0, "chance").next_word()
    parts = [int(part) for part in simulator_seed(Stream.keyed(1, 2, 0, "chance")).split(",")]
    assert sum(part << 16 * (3 - at) for at, part in enumerate(parts)) == word


def test_a_setup_without_teams_is_refused() -> None:
    with pytest.raises(GameError, match="needs teams"):
        Setup(0, VGC, "1,2,3,4").message()
