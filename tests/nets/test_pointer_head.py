"""A head that points scores each choice by its own tokens, whatever their order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from described_games import (
    DISCARD,
    FOES,
    HAND,
    MOOD,
    PAIR,
    POINTER,
    eager,
    layout,
    slow_logits,
    spec,
    views,
)
from positions import spec_of

from lanista.errors import LanistaError
from lanista.games.contract import Head, References, Role
from lanista.nets.heads import pointer_head, pointers
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network


@pytest.mark.parametrize("heads", [(DISCARD, MOOD, PAIR), (PAIR,), (DISCARD,), (MOOD, DISCARD)])
@pytest.mark.parametrize("looked_up", [False, True])
def test_logits_are_those_of_the_formula(
    heads: tuple[Head, ...], looked_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if looked_up:
        monkeypatch.setattr(pointers, "_DENSE", 0)
    game = spec(heads=heads)
    policy = eager(game)
    assert (policy.head.counts is None) == looked_up
    rows = views(3)
    expected = slow_logits(policy, game, rows)
    assert expected.std() > 0.5
    torch.testing.assert_close(policy(torch.from_numpy(rows)), expected, rtol=1e-5, atol=1e-4)


def test_three_parts_answer_each_other_in_pairs() -> None:
    card = References((Role("card", "hand", (0, 1, 2)),))
    foe = References((Role("target", "foe", (2, -1)),), ("hit", "rest"))
    bare = References((), ("soft", "hard"))
    game = spec(heads=(Head("volley", 12, parts=(3, 2, 2), references=(card, foe, bare)),))
    policy = eager(game)
    rows = views(2)
    torch.testing.assert_close(
        policy(torch.from_numpy(rows)), slow_logits(policy, game, rows), rtol=1e-5, atol=1e-4
    )


@pytest.mark.parametrize("learns", [False, True])
def test_many_rows_are_the_same_in_pieces(learns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, rows = eager(spec()), torch.from_numpy(views(50))
    with torch.set_grad_enabled(learns):
        whole = policy(rows)
        for name in ("_AT_ONCE", "_LEARNED_AT_ONCE"):
            monkeypatch.setattr(pointer_head, name, 7 * len(policy.head.index) * 16)
        torch.testing.assert_close(policy(rows), whole, rtol=1e-5, atol=1e-5)


def _exchanged(rows: Any, hand: Any, foes: Any) -> Any:
    """Return views whose entries i are the former entries `hand[i]` and `foes[i]`."""
    order, start = [], 0
    for field in layout().fields:
        inner = {"hand": hand, "foe": foes}.get(field.group, np.arange(field.size))
        order += [start + at for at in inner]
        start += field.size
    return np.ascontiguousarray(rows[:, order])


def _choices_after(hand: Any, foes: Any) -> Any:
    """Return, for each choice of the made-up game, the same choice before entries moved."""
    orders: dict[tuple[str, int, int], int] = {}
    part = PAIR.references[0]
    for choice, key in enumerate(
        zip(part.kinds, part.roles[0].entries, part.roles[1].entries, strict=True)
    ):
        orders[key] = choice
    former = [
        orders[kind, hand[card] if card >= 0 else -1, foes[foe] if foe >= 0 else -1]
        for kind, card, foe in orders
    ]
    pairs = [len(former) * one + other for one in former for other in former]
    thrown = list(zip(*(role.entries for role in DISCARD.references[0].roles), strict=True))
    discards = [thrown.index(tuple(sorted((hand[a], hand[b])))) for a, b in thrown]
    moods = [10, 11, 12]
    return np.array([*discards, *moods, *(13 + pair for pair in pairs)])


@pytest.mark.parametrize("seed", range(4))
def test_exchanging_entries_of_one_place_exchanges_choices_and_nothing_else(seed: int) -> None:
    policy, rows = eager(spec()), views(20)
    drawn = np.random.default_rng(seed)
    hand, foes = drawn.permutation(HAND), np.array([*drawn.permutation(2), 2])
    logits = policy(torch.from_numpy(rows))
    moved = policy(torch.from_numpy(_exchanged(rows, hand, foes)))
    mask = torch.ones_like(logits, dtype=torch.bool)
    before = policy.heads.log_probs(logits, mask).exp()
    after = policy.heads.log_probs(moved, mask).exp()
    torch.testing.assert_close(after, before[:, _choices_after(hand, foes)], rtol=1e-5, atol=1e-5)
    assert before.std(0).max() > 1e-3


def test_places_that_differ_are_told_apart() -> None:
    policy, rows = eager(spec()), views(20)
    foes = np.array([2, 1, 0])
    moved = policy(torch.from_numpy(_exchanged(rows, np.arange(HAND), foes)))
    before = policy(torch.from_numpy(rows))[:, _choices_after(np.arange(HAND), foes)]
    assert not torch.allclose(moved, before, atol=1e-2)


def test_exchanging_the_parts_of_a_pair_exchanges_its_logits() -> None:
    logits = eager(spec(heads=(PAIR,)))(torch.from_numpy(views(5))).view(5, *PAIR.parts)
    torch.testing.assert_close(logits, logits.mT, rtol=1e-5, atol=1e-4)


def test_the_gradient_reaches_every_parameter() -> None:
    policy = Policy(spec(), POINTER)
    log_probs = policy.heads.log_probs(
        policy(torch.from_numpy(views(64))), torch.ones(64, policy.heads.choices, dtype=torch.bool)
    )
    (log_probs * torch.randn_like(log_probs)).sum().backward()
    for name, parameter in policy.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_a_policy_starts_near_uniform() -> None:
    policy = Policy(spec(), POINTER)
    logits = policy(torch.from_numpy(views(64)))
    assert logits.abs().max() < 0.5
    assert logits.std(0).max() > 0


def test_a_critic_on_the_policys_features_does_not_read_the_tokens() -> None:
    game = spec()
    policy = Policy(game, POINTER)
    features = policy.torso(torch.from_numpy(views(4)))
    critic = Critic(game, POINTER, features=policy.torso.width)
    torch.nn.init.normal_(critic.head.weight)
    assert features.shape[1] > policy.torso.width
    torch.testing.assert_close(critic(features), critic(features[:, : policy.torso.width]))
    assert Critic(game, POINTER)(torch.from_numpy(views(4))).shape == (4,)


def test_without_a_readout_a_described_game_has_the_network_it_had() -> None:
    network = replace(POINTER, readout=None)
    described, plain = spec(), spec(in_order=True, heads=(Head("discard", 10), MOOD))
    torch.manual_seed(1)
    one = Policy(replace(described, heads=(DISCARD, MOOD)), network)
    torch.manual_seed(1)
    other = Policy(plain, network)
    rows = torch.from_numpy(views(5))
    torch.testing.assert_close(one(rows), other(rows), rtol=0, atol=0)
    assert one.state_dict().keys() == other.state_dict().keys()


@pytest.mark.parametrize("kind", ["mlp", "residual", "lstm"])
def test_a_network_without_tokens_cannot_point(kind: str) -> None:
    with pytest.raises(LanistaError, match="has no tokens to point at; take the kind transformer"):
        Network(kind, readout="pointer")


def test_another_readout_is_refused() -> None:
    with pytest.raises(LanistaError, match="Network readout is 'points'; give 'pointer'"):
        Network("transformer", readout="points")  # type: ignore[arg-type]


def test_symmetry_and_a_pointer_are_not_had_together() -> None:
    with pytest.raises(LanistaError, match="leave one of them out"):
        Network("transformer", readout="pointer", symmetry=8)


def test_a_game_that_describes_no_choice_is_refused() -> None:
    with pytest.raises(LanistaError, match="no head of this game has references"):
        Policy(spec_of("kuhn"), POINTER)


def test_described_choices_without_a_role_are_no_description() -> None:
    head = Head("mood", 2, references=(References((), ("good", "bad")),))
    with pytest.raises(LanistaError, match="no head of this game has references"):
        Policy(spec(heads=(head,)), POINTER)


def test_foes_and_hand_have_the_sizes_the_tests_count_on() -> None:
    assert layout().group_sizes == {"hand": HAND, "foe": FOES}
