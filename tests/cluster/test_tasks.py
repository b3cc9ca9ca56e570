"""Tasks in processes of this machine: results as of a loop, whatever dies."""

import sys

import pytest
import task_work

from lanista.cluster import session
from lanista.cluster.tasks import MOST_DEATHS, LocalTasks, in_order, tasks, wanted
from lanista.errors import LanistaError, RefusedError
from lanista.evaluation.lineup import gauntlet_lineups, lineup
from lanista.evaluation.lineup_matches import play_against, play_pairs

if sys.platform == "win32":
    pytest.skip("forks processes", allow_module_level=True)


@pytest.fixture(scope="module")
def doer():
    with session.using("local"), tasks(2) as doer:
        yield doer


def test_results_come_in_the_order_of_the_arguments(doer):
    assert in_order(doer, task_work.square, [(n,) for n in range(7)]) == [n * n for n in range(7)]
    assert in_order(doer, task_work.square, []) == []


def test_a_task_whose_process_dies_is_done_again(doer, tmp_path):
    arguments = [(n, str(tmp_path)) for n in range(6)]
    assert in_order(doer, task_work.square, arguments) == [n * n for n in range(6)]
    assert (tmp_path / "died").exists()


def test_a_task_that_always_dies_is_given_up_with_a_sentence(doer):
    with pytest.raises(LanistaError, match=f"died {MOST_DEATHS + 1} times"):
        list(doer.each(task_work.die, [(1,)]))


def test_a_refusal_in_a_task_is_the_drivers(doer):
    with pytest.raises(RefusedError, match=r"5 is refused\."):
        list(doer.each(task_work.refuse, [(5,)]))


def test_a_task_runs_in_the_same_folder_and_has_no_tasks_of_its_own(doer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANISTA_TOLD", "so")
    assert in_order(doer, task_work.where, [()]) == [(str(tmp_path), None, "so")]


def test_stopped_work_ends_before_all_is_done(doer):
    results = []
    for number, result in doer.each(
        task_work.square, [(n,) for n in range(50)], lambda: len(results) >= 2
    ):
        results.append((number, result))
    assert len(results) < 10


def test_without_a_cluster_nothing_is_a_task(monkeypatch):
    monkeypatch.delenv(session.CLUSTER, raising=False)
    assert not wanted()
    with session.using("local"):
        assert wanted()


def same_results(ours, theirs):
    return all(
        (getattr(ours, name) == getattr(theirs, name)).all()
        for name in ("returns", "place", "score", "decisions", "cut_off")
    )


def test_a_gauntlet_and_a_round_robin_in_tasks_come_to_the_same():
    mine, others = gauntlet_lineups("random", ["outcome", "heuristic"], [], game="beastybar")
    (plain,) = play_against(mine, others, 20)
    bots = lineup("beastybar", ["random", "queue", "skunk"], [], seats=2, seed=1)
    pairs = play_pairs(bots, 40)
    with session.using("local"):
        (spread,) = play_against(mine, others, 20)
        spread_pairs = play_pairs(bots, 40)
    assert same_results(plain, spread)
    assert all(same_results(pairs[pair], spread_pairs[pair]) for pair in pairs)


def test_local_tasks_leave_no_process():
    doer = LocalTasks(2)
    assert in_order(doer, task_work.square, [(2,)]) == [4]
    processes = list(doer._pool._processes.values())
    doer.close()
    assert processes
    assert not any(process.is_alive() for process in processes)
