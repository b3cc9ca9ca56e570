"""A step cut into shards: the cut, the threads, and that neither changes what is learned."""

from __future__ import annotations

import copy
import sys
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import warm_python
from hypothesis import given
from hypothesis import strategies as st
from small_runs import RECURRENT, SMALL, Run, leduc_run

from lanista.data.trajectory import Unrolls
from lanista.errors import LanistaError
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.learn.update.shards import Threads, added, by_decisions, by_matches, gradients_of
from lanista.nets.settings import Network

TERMS = {
    "policy": 1.0, "value": 0.5, "entropy": 0.1, "upgo": 0.3, "magnet": 0.2, "behaviour": 0.1,
    "reference": 0.1, "portfolio": 0.1, "forecast": 0.2,
}  # fmt: skip
OFTEN = {"portfolio_every": 2, "reference_every": 2, "lr": 0.01, "forecast": ("bets",)}
CASES: dict[str, tuple[dict[str, Any], Network]] = {
    "ppo": ({"policy": "ppo"}, SMALL),
    "ppo in pieces": ({"policy": "ppo", "accumulate": 2, "minibatches": 2, "epochs": 2}, SMALL),
    "ppo in bf16": ({"policy": "ppo", "precision": "bf16"}, SMALL),
    "ppo of some": ({"policy": "ppo", "keep_advantages": 0.4, "critic_sees": "seat"}, SMALL),
    "vtrace": ({"policy": "vtrace"}, SMALL),
    "recurrent vtrace": ({"policy": "vtrace"}, RECURRENT),
    "recurrent ppo in bf16": ({"policy": "ppo", "precision": "bf16"}, RECURRENT),
    "all_action": ({"policy": "all_action", "critic_output": "q"}, SMALL),
    "neurd": ({"policy": "neurd", "critic_output": "q"}, SMALL),
    "rnad": ({"policy": "neurd", "eta": 0.2, "fixed_point": (2,)}, SMALL),
    "rnad in bf16": ({"policy": "neurd", "eta": 0.2, "precision": "bf16"}, SMALL),
    "regularised ppo": ({"policy": "ppo", "eta": 0.2, "fixed_point": (2,)}, SMALL),
}


def learner_of(run: Run, settings: Learning, threads: int) -> Learner:
    learner = run.learner
    return Learner(
        run.game.spec, learner.network, settings, updates=100, seed=3, threads=threads
    )  # fmt: skip


def run_of(case: str, **others: Any) -> tuple[Run, Learning]:
    told, network = CASES[case]
    settings = Learning(**{"terms": TERMS, **OFTEN, **told, **others})
    return leduc_run(settings, network, unroll_length=20 if settings.rnad else 3), settings


@pytest.fixture(autouse=True)
def one_torch_thread():
    """Threads compute as one thread does; several of torch's own may add up differently."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("case", CASES)
def test_shards_in_threads_learn_bit_for_bit_what_shards_in_turn_learn(case: str) -> None:
    run, settings = run_of(case, shards=3)
    data = [run.play(40) for _ in range(2)] * 2
    found = []
    for threads in (1, 2, 3):
        learner = learner_of(run, settings, threads)
        logs = [learner.update(unrolls) for unrolls in data]
        found.append((logs, [p.detach().clone() for p in learner.parameters]))
        learner.close()
    (logs, weights), *others = found
    for other_logs, other_weights in others:
        assert other_logs == logs
        assert all(map(torch.equal, weights, other_weights))


def step_of(learner: Learner, unrolls: Unrolls) -> list[torch.Tensor]:
    learner._step(unrolls, {name: float(weight) for name, weight in TERMS.items()})
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in learner.parameters]


@pytest.mark.parametrize("case", [case for case in CASES if "bf16" not in case])
def test_shards_have_the_gradient_of_the_whole(case: str) -> None:
    run, settings = run_of(case, max_grad_norm=0.0)
    run.train(3)
    unrolls = run.play(80)
    # With a share of the advantages, which of several equal ones is kept depends on their order.
    unrolls = replace(
        unrolls, reward=unrolls.reward + np.linspace(0, 1, unrolls.decisions, dtype="f")
    )
    whole, cut = copy.deepcopy(run.learner), copy.deepcopy(run.learner)
    cut.settings = replace(settings, shards=4)
    assert [len(piece) for piece in cut._pieces(unrolls)] == [4] * settings.accumulate
    one, other = step_of(whole, unrolls), step_of(cut, unrolls)
    assert max(float(gradient.abs().max()) for gradient in one) > 1e-3
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=2e-6)


def test_weights_converted_for_one_shard_are_not_taken_over_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, settings = run_of("ppo in bf16", shards=2)
    learner, kept = learner_of(run, settings, 2), []
    seen = learner._inputs

    def asked(*args: Any) -> Any:
        kept.append(torch.is_autocast_cache_enabled())
        return seen(*args)

    monkeypatch.setattr(learner, "_inputs", asked)
    learner.update(run.play(20))
    learner.close()
    assert kept == [False, False]


def test_an_error_in_a_shard_comes_out_as_itself() -> None:
    run, settings = run_of("rnad", shards=2)
    learner = learner_of(run, settings, 2)
    unrolls = run.play(20)
    ended = unrolls.ended.copy()
    ended[np.flatnonzero(ended)[-1]] = False
    before = [p.detach().clone() for p in learner.parameters]
    with pytest.raises(LanistaError, match="eta needs whole matches"):
        learner.update(replace(unrolls, ended=ended))
    assert all(map(torch.equal, before, learner.parameters))
    learner.update(unrolls)
    learner.close()


def small(sizes: list[tuple[int, int]]) -> Unrolls:
    """Return unrolls with these matches and numbers of decisions, and nothing else in them."""
    total, longest = sum(size for _, size in sizes), max(size for _, size in sizes)
    index, match, at = np.full((longest, len(sizes)), -1, np.int32), [], 0
    for lane, (number, size) in enumerate(sizes):
        index[:size, lane] = np.arange(at, at + size)
        match += [number] * size
        at += size
    run = leduc_run(Learning())
    like = run.play(1)
    rows = np.zeros(total, np.int64)
    columns = {
        name: getattr(like, name)[rows]
        for name in ("observation", "mask", "action", "log_prob", "reward", "ended", "seat",
                     "turn", "update")
    }  # fmt: skip
    return Unrolls(
        **columns, match=np.array(match), index=index, goes_on=np.zeros(len(sizes), bool)
    )


LANES = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 12)), min_size=1, max_size=30)


@given(LANES, st.integers(1, 6), st.sampled_from([by_matches, by_decisions]))
def test_a_cut_holds_every_unroll_once_and_no_match_twice(sizes: Any, parts: int, cut: Any) -> None:
    unrolls = small(sizes)
    found = cut(unrolls, parts)
    assert 1 <= len(found) <= parts
    assert all(len(lanes) for lanes in found)
    assert sorted(np.concatenate(found)) == list(range(len(sizes)))
    matches = [{sizes[lane][0] for lane in lanes} for lanes in found]
    assert sum(map(len, matches)) == len(set().union(*matches))


@given(LANES, st.integers(1, 6))
def test_no_shard_is_larger_than_its_part_and_one_match_more(sizes: Any, parts: int) -> None:
    unrolls = small(sizes)
    by_match = np.bincount(*np.array(sizes).T)
    for lanes in by_decisions(unrolls, parts):
        size = unrolls.take(lanes).decisions
        assert size <= unrolls.decisions / parts + by_match.max()


def test_a_cut_of_some_unrolls_leaves_the_others_out() -> None:
    unrolls = small([(0, 3), (1, 3), (0, 2), (2, 5), (1, 4), (3, 5)])
    some = np.array([5, 0, 2, 3])
    found = by_decisions(unrolls, 2, some)
    assert [sorted(lanes) for lanes in found] == [[0, 2], [3, 5]]


def test_the_same_number_is_always_the_same_threads() -> None:
    threads = Threads(3)
    first = threads.map(lambda n: (n, threading.get_ident()), range(7))
    assert [n for n, _ in first] == list(range(7))
    assert len({ident for _, ident in first}) == 3
    assert all(threads.map(lambda n: (n, threading.get_ident()), range(7)) == first for _ in "123")
    threads.close()
    assert not any(thread.name.startswith("shard") for thread in threading.enumerate())


def test_of_several_errors_the_first_comes_out_when_all_work_is_done() -> None:
    threads, done = Threads(2), []

    def work(number: int) -> None:
        done.append(number)
        raise KeyError(number)

    with pytest.raises(KeyError, match="0"):
        threads.map(work, range(4))
    assert sorted(done) == [0, 1, 2, 3]
    threads.close()


def test_one_thread_is_the_callers_own() -> None:
    me = threading.get_ident()
    assert Threads(1).map(lambda _: threading.get_ident(), range(3)) == [me] * 3
    assert Threads(4).map(lambda _: threading.get_ident(), range(1)) == [me]


def test_threads_do_not_keep_a_process_alive() -> None:
    script = (
        "from lanista.learn.update.shards import Threads\n"
        "threads = Threads(2)\n"
        "print(threads.map(str, [1, 2, 3]))\n"
    )
    done = warm_python.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=900, check=True
    )
    assert done.stdout.strip() == "['1', '2', '3']"


def test_gradients_are_added_where_there_are_any() -> None:
    a, b, c = (torch.full((2,), float(n), requires_grad=True) for n in (1, 2, 3))
    one = gradients_of((a * b).sum(), [a, b, c])
    two = gradients_of((b * c).sum(), [a, b, c])
    total = added(added([], one), two)
    assert [None if g is None else g.tolist() for g in total] == [[2, 2], [4, 4], [2, 2]]
    assert gradients_of(a.sum(), [a, b])[1] is None


def test_gradients_lie_in_memory_as_their_parameters_do() -> None:
    weight = torch.randn(3, 4, requires_grad=True)
    (found,) = gradients_of((weight.T @ torch.randn(3, 5)).square().sum(), [weight])
    assert found is not None
    assert found.stride() == weight.stride()


def test_a_learner_that_is_closed_leaves_no_thread_behind() -> None:
    run, settings = run_of("ppo", shards=2)
    before = set(threading.enumerate())
    learner = learner_of(run, settings, 2)
    learner.update(run.play(20))
    assert len(set(threading.enumerate()) - before) == 2
    learner.close()
    assert set(threading.enumerate()) == before


def test_nobody_who_asks_for_no_threads_gets_any() -> None:
    run, settings = run_of("ppo", shards=2)
    before = set(threading.enumerate())
    learner = Learner(run.game.spec, run.learner.network, settings, updates=100)
    learner.update(run.play(20))
    assert Threads().map(lambda _: threading.get_ident(), [1, 2]) == [threading.get_ident()] * 2
    assert set(threading.enumerate()) == before
    learner.close()
