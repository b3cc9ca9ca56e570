"""Learning with a head that points: what is learned of a card at one entry holds at every other."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from hand_game import BY_NUMBER, ORDER, POINTING, HandGame, demonstrated, hands
from small_runs import VALUE, Run

from lanista.games.check import check_game
from lanista.learn.imitation.cloner import Cloner
from lanista.learn.imitation.settings import Imitation
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

IMITATION = Imitation(epochs=25, lr=0.01, batch_size=128, patience=25, seed=1)
REMEMBERING = replace(POINTING, kind="transformer_lstm")
LEARNING = Learning(terms=VALUE, lr=0.01)


def share_of_best(policy: Policy, cards: np.ndarray) -> float:
    """Return how often the likeliest choice is the strongest card."""
    with torch.no_grad():
        chosen = policy(torch.from_numpy(cards)).argmax(1).numpy()
    return float((chosen == ORDER[cards].argmax(1)).mean())


def clone(network: Network) -> Policy:
    """Imitate a teacher whose strongest card always lay at the entries 0 and 1."""
    data = demonstrated(hands(600, (0, 1), seed=1))
    cloner = Cloner(data.spec, network, IMITATION)
    learned, held_out = np.arange(500), np.arange(500, 600)
    while not cloner.finished:
        cloner.train_epoch(data, learned, held_out)
    return cloner.best()[0]


def test_a_clone_that_points_plays_cards_at_entries_where_it_never_saw_them_played() -> None:
    policy = clone(POINTING)
    assert share_of_best(policy, hands(300, (0, 1), seed=2)) > 0.9
    assert share_of_best(policy, hands(300, (2, 3), seed=3)) > 0.9


def test_a_clone_that_reads_choices_by_number_does_not() -> None:
    policy = clone(BY_NUMBER)
    assert share_of_best(policy, hands(300, (0, 1), seed=2)) > 0.6
    assert share_of_best(policy, hands(300, (2, 3), seed=3)) < 0.1


def test_a_head_that_points_without_its_tokens_cannot_choose() -> None:
    policy = clone(POINTING)
    with torch.no_grad():
        policy.head.roles.zero_()  # type: ignore[union-attr]
    cards = torch.from_numpy(hands(50, (0, 1, 2, 3), seed=2))
    probabilities = policy(cards).softmax(-1)
    torch.testing.assert_close(probabilities, torch.full_like(probabilities, 0.25))


@pytest.mark.parametrize("critic_sees", ["features", "seat"])
def test_a_learner_that_points_learns_from_its_own_play(critic_sees: str) -> None:
    settings = Learning(terms=VALUE, lr=0.01, critic_sees=critic_sees)  # type: ignore[arg-type]
    run = Run(HandGame(slots=64, seed=1), settings, POINTING, unroll_length=4)
    cards = hands(300, (0, 1, 2, 3), seed=4)
    assert share_of_best(run.learner.policy, cards) < 0.6
    run.train(30, matches=128)
    assert share_of_best(run.learner.policy, cards) > 0.75


def test_a_learner_that_points_and_remembers_learns_too() -> None:
    run = Run(HandGame(slots=64, seed=1), LEARNING, REMEMBERING, unroll_length=4)
    before = run.learner.policy.torso.cells[0].weight_ih.detach().clone()  # type: ignore[index,union-attr]
    cards = hands(300, (0, 1, 2, 3), seed=4)
    run.train(30, matches=128)
    assert share_of_best(run.learner.policy, cards) > 0.75
    after = run.learner.policy.torso.cells[0].weight_ih  # type: ignore[index,union-attr]
    assert (before != after).any()


@pytest.mark.parametrize("network", [POINTING, REMEMBERING], ids=["points", "remembers too"])
def test_it_is_resumed_to_the_bit(network: Network) -> None:
    run = Run(HandGame(slots=64, seed=1), LEARNING, network, unroll_length=4)
    data = [run.play(64) for _ in range(3)]
    run.learner.update(data[0])
    state = copy.deepcopy(run.learner.state())
    again = Learner(run.game.spec, network, LEARNING, updates=100, seed=3)
    again.load_state(state)
    for unrolls in data[1:]:
        run.learner.update(unrolls)
        again.update(unrolls)
    for one, other in zip(run.learner.parameters, again.parameters, strict=True):
        assert torch.equal(one, other)


def test_the_game_keeps_the_contract() -> None:
    check_game(HandGame)
