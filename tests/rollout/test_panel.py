"""Frozen policies that answer together: as each would alone, and only those that can."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lanista import games
from lanista.games.contract import Decisions, Facts, Field, Game, Head, Observation, Spec
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.device_transfer import Lane, Lanes
from lanista.rollout.inference.opponent_batch import OpponentBatch, Others
from lanista.rollout.inference.policy_players import PolicyPlayer
from lanista.rollout.inference.stacked_networks import Stacked, shape_of
from lanista.rollout.timing import Phases

SLOTS = 60
CPU = torch.device("cpu")


def at_start(name: str = "beastybar") -> tuple[Game, Decisions]:
    game = games.make(name, slots=SLOTS, seed=3)
    game.start(np.arange(SLOTS), np.arange(SLOTS))
    return game, game.decisions()


def player(
    game: Game, number: int, kind: str = "mlp", seed: int = 7, **manner: object
) -> PolicyPlayer:
    torch.manual_seed(number)
    network = Network(kind=kind, width=16 + 16 * (number % 2), layers=1)  # type: ignore[arg-type]
    policy = Policy(game.spec, network).eval()
    torch.nn.init.normal_(policy.head.weight)  # Sure of itself: near uniform no manner shows.
    actor = Actor(policy, seed, **manner)  # type: ignore[arg-type]
    return PolicyPlayer(f"p{number}", f"d{number}", actor)


def parts(*sizes: int) -> list[np.ndarray]:
    """Return rows in disorder, cut into parts of these sizes."""
    rows = np.random.default_rng(0).permutation(SLOTS)[: sum(sizes)]
    return np.split(rows, np.cumsum(sizes)[:-1])


def act(panel: OpponentBatch, decisions: Decisions, rows: list[np.ndarray]) -> np.ndarray:
    return panel.act(decisions, np.concatenate(rows), [len(own) for own in rows])


@pytest.mark.parametrize("game_name", ["beastybar", "arena"])
@pytest.mark.parametrize("manner", [{}, {"greedy": True}, {"temperature": 0.5}])
def test_each_policy_answers_its_rows_as_it_would_alone(game_name, manner):
    game, decisions = at_start(game_name)
    players = [player(game, number, **manner) for number in range(3)]
    rows = parts(20, 1, 30)
    together = act(OpponentBatch(players, Lane(CPU)), decisions, rows)
    alone = np.concatenate([p.act(decisions, own) for p, own in zip(players, rows, strict=True)])
    # A product of other shape may round otherwise; a draw on the very border is not worth a test.
    assert (together == alone).all(1).mean() > 0.97
    assert together.dtype == np.int32
    if manner:
        usual = act(OpponentBatch([player(game, n) for n in range(3)], Lane(CPU)), decisions, rows)
        assert (together == usual).all(1).mean() < 0.95  # The manner can be seen at all.


def alike(game: Game, count: int, **manner: object) -> list[PolicyPlayer]:
    return [player(game, 2 * number, **manner) for number in range(count)]


@pytest.mark.parametrize("game_name", ["beastybar", "arena"])
@pytest.mark.parametrize("manner", [{}, {"greedy": True}, {"temperature": 0.5}])
def test_networks_that_run_as_one_answer_as_they_do_in_turn(game_name, manner):
    game, decisions = at_start(game_name)
    players, rows = alike(game, 4, **manner), parts(20, 0, 7, 30)
    in_turn, at_once = (
        act(OpponentBatch(players, Lane(CPU), stack=stack), decisions, rows)
        for stack in (False, True)
    )
    assert at_once.dtype == np.int32
    # A product of other shape may round otherwise, as above.
    assert (at_once == in_turn).all(1).mean() > 0.97


def test_networks_that_run_as_one_are_not_asked_in_turn(monkeypatch):
    game, decisions = at_start()
    players = alike(game, 3)
    panel = OpponentBatch(players, Lane(CPU), stack=True)
    for each in players:
        monkeypatch.setattr(each.actor.policy, "forward", None)
    assert act(panel, decisions, parts(10, 4, 5)).shape == (19, 1)


def test_one_network_with_nearly_all_rows_is_not_waited_for_with_empty_ones():
    game, decisions = at_start()
    players, asked = alike(game, 6), []
    panel = OpponentBatch(players, Lane(CPU), stack=True)
    panel._stacked = lambda seen: asked.append(seen)
    assert act(panel, decisions, parts(40, 1, 1, 1, 1, 1)).shape == (45, 1)
    assert asked == []


def test_only_plain_networks_of_one_shape_run_as_one():
    game, _ = at_start()
    plain, wider = player(game, 0), player(game, 1)
    assert shape_of(plain.actor.policy) == shape_of(player(game, 2).actor.policy)
    assert shape_of(plain.actor.policy) != shape_of(wider.actor.policy)
    assert shape_of(player(game, 0, kind="residual").actor.policy) is None
    for players in ([plain, wider], [plain], [player(game, 5, kind="residual")] * 2):
        assert OpponentBatch(players, Lane(CPU), stack=True)._stacked is None
    assert (
        OpponentBatch(alike(game, 2), Lane(CPU))._stacked is None
    )  # Not on the CPU unless asked to.


def test_stacked_networks_have_the_logits_of_each_also_of_choices_made_of_parts():
    layout = Observation((Field("kind", 2, classes=3), Field("number", 6, scale=4.0)), "uint8")
    spec = Spec("pairs", Facts(1, 1), layout, (Head("a", 2), Head("b", 6, parts=(2, 3))))
    policies = []
    for number in range(3):
        torch.manual_seed(number)
        policy = Policy(spec, Network(kind="mlp", width=16, layers=2)).eval()
        torch.nn.init.normal_(policy.head.weight)
        torch.nn.init.normal_(policy.head.parts)
        policies.append(policy)
    seen = torch.randint(0, 3, (3, 11, 8), dtype=torch.uint8)
    with torch.no_grad():
        wanted = torch.stack([policy(own) for policy, own in zip(policies, seen, strict=True)])
    found = Stacked(policies)(seen)
    assert not found.requires_grad  # It holds no weights but its own.
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_policy_without_rows_is_not_asked(monkeypatch):
    game, decisions = at_start()
    players = [player(game, number) for number in range(3)]
    monkeypatch.setattr(players[1].actor.policy, "forward", None)
    actions = act(OpponentBatch(players, Lane(CPU)), decisions, parts(10, 0, 5))
    assert actions.shape == (15, 1)


def test_each_network_is_asked_once_a_step(monkeypatch):
    game, decisions = at_start()
    players = [player(game, number) for number in range(4)]
    asked = []
    for number, each in enumerate(players):
        whole = each.actor.policy.forward
        monkeypatch.setattr(
            each.actor.policy,
            "forward",
            lambda seen, number=number, whole=whole: asked.append(number) or whole(seen),
        )
    act(OpponentBatch(players, Lane(CPU)), decisions, parts(10, 20, 3, 7))
    assert asked == [0, 1, 2, 3]


def test_only_policies_of_one_manner_without_memory_answer_together():
    game, _ = at_start()
    players = [
        player(game, 0),
        games.make_bot("beastybar", "heuristic", game.spec, 0),
        player(game, 1),
        player(game, 2, kind="lstm"),
        player(game, 3, greedy=True),
        player(game, 4, temperature=0.5),
        player(game, 5, kind="residual"),
        player(game, 6, precision=torch.bfloat16),
        player(game, 7, seed=8),
    ]
    others = Others(players, Lanes())
    assert [
        [players.index(others.players[n - 1]) for n in numbers] for numbers, _ in others.panels
    ] == [[0, 2, 6], [4], [5], [8]]
    assert [players.index(each) for each in others.apart] == [1, 3, 7]
    assert others.players[:3] == others.apart


def test_everybody_answers_their_own_decisions_and_nobody_else_s():
    game, decisions = at_start()
    players = [
        player(game, 0),
        games.make_bot("beastybar", "heuristic", game.spec, 0),
        player(game, 1, kind="lstm"),
        player(game, 2, greedy=True),
        player(game, 3),
    ]
    others = Others(players, Lanes())
    nothing = 1 + others.players.index(players[4])
    who = np.random.default_rng(1).integers(0, 6, SLOTS)
    who[who == nothing] = 0
    order, start = np.argsort(who, kind="stable"), np.searchsorted(np.sort(who), range(7)).tolist()
    given = others.answer(decisions, order, start, Phases())
    answers = np.concatenate([answer.action for answer in given])
    assert np.array_equal(np.concatenate([answer.rows for answer in given]), order[start[1] :])
    assert all(answer.log_prob is None for answer in given)
    assert len(answers) == SLOTS - start[1]
    for number, each in enumerate(others.players, start=1):
        rows = np.flatnonzero(who == number)
        if number != nothing:
            own = answers[start[number] - start[1] : start[number + 1] - start[1]]
            assert (own == each.act(decisions, rows)).mean() > 0.9


def test_a_table_without_others_has_no_answers():
    _, decisions = at_start()
    assert Others([], Lanes()).answer(decisions, np.arange(SLOTS), [0, SLOTS], Phases()) == []


@pytest.mark.parametrize("stack", [False, True])
def test_an_answer_stays_as_it_was_when_the_next_step_is_answered(stack):
    game, decisions = at_start("arena")
    panel = OpponentBatch(alike(game, 2), Lane(CPU), stack=stack)
    rows = parts(20, 20)
    first = act(panel, decisions, rows)
    before = first.copy()
    second = act(panel, decisions, rows[::-1])
    assert not np.array_equal(first, second)
    assert np.array_equal(first, before)
