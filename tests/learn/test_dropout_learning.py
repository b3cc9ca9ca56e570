"""Learning with dropout: targets from the whole network, masks by update, resumed to the bit."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from demonstrated import SPEC, demonstrate
from small_runs import VALUE, leduc_run

from lanista.errors import LanistaError
from lanista.learn.imitation.cloner import Cloner
from lanista.learn.imitation.settings import Imitation
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.nets.settings import Network

DROPPING = Network(width=16, layers=2, dropout=0.4)
SEVERAL = Learning(terms=VALUE, lr=0.01, epochs=2, minibatches=2, shards=3, critic_sees="seat")


def weights_of(learner: Learner) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in learner.parameters]


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(map(torch.equal, one, other))


def test_advantages_come_from_the_whole_network_and_ratios_from_the_dropped_one() -> None:
    settings = Learning(terms=VALUE, critic_sees="seat")
    dropping = leduc_run(settings, DROPPING)
    dropping.train(2)  # Fresh networks say the same whatever is dropped.
    whole = copy.deepcopy(dropping.learner)
    whole.network = Network(width=16, layers=2)
    unrolls = dropping.play(40)
    one, other = (learner._inputs(unrolls, dict(VALUE), 0) for learner in (dropping.learner, whole))
    assert torch.equal(one.advantage, other.advantage)
    assert not torch.equal(one.chosen, other.chosen)


def test_every_update_drops_other_units_and_every_resume_the_same() -> None:
    run = leduc_run(SEVERAL, DROPPING)
    data = [run.play(40) for _ in range(3)]
    run.learner.update(data[0])
    state = copy.deepcopy(run.learner.state())
    for unrolls in data[1:]:
        run.learner.update(unrolls)
    again = Learner(run.game.spec, DROPPING, SEVERAL, updates=100, seed=3)
    again.load_state(state)
    for unrolls in data[1:]:
        again.update(unrolls)
    assert same(weights_of(run.learner), weights_of(again))
    late = Learner(run.game.spec, DROPPING, SEVERAL, updates=100, seed=3)
    late.load_state({**state, "update_count": 7})
    for unrolls in data[1:]:
        late.update(unrolls)
    assert not same(weights_of(again), weights_of(late))


def test_threads_drop_what_one_thread_drops() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    run = leduc_run(SEVERAL, DROPPING)
    unrolls, results = run.play(40), []
    for threads in (1, 3):
        learner = Learner(run.game.spec, DROPPING, SEVERAL, updates=9, seed=3, threads=threads)
        learner.update(unrolls)
        learner.close()
        results.append(weights_of(learner))
    torch.set_num_threads(before)
    assert same(*results)


def test_a_clone_that_drops_units_is_resumed_to_the_bit() -> None:
    data = demonstrate(64)
    learned, held_out = np.arange(48), np.arange(48, 64)

    def cloner() -> Cloner:
        return Cloner(SPEC, DROPPING, Imitation(epochs=3, batch_size=32))

    unbroken, first, second = cloner(), cloner(), cloner()
    for _ in range(3):
        unbroken.train_epoch(data, learned, held_out)
    first.train_epoch(data, learned, held_out)
    second.load_state(copy.deepcopy(first.state()))
    for _ in range(2):
        second.train_epoch(data, learned, held_out)
    assert unbroken.history == second.history
    plain = Cloner(SPEC, Network(width=16, layers=2), Imitation(epochs=3, batch_size=32))
    plain.train_epoch(data, learned, held_out)
    assert plain.history[0] != unbroken.history[0]


def test_dropout_in_compiled_networks_is_refused() -> None:
    with pytest.raises(LanistaError, match=r"learning\.compile is on, and dropout"):
        leduc_run(Learning(terms=VALUE, compile=True), DROPPING)
