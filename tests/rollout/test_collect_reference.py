"""A collector against a reference that plays every match alone and adds up by the definitions."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import combinations, zip_longest

import numpy as np
import pytest
import torch
from race_game import Cycling, First, Last

from lanista.games import Facts, Field, PythonGame, Step, View
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import LEARNER, Collector
from lanista.rollout.inference.actor import Actor

# A second thread costs more than it brings on tensors this small.
torch.set_num_threads(1)
SEATS, MOVES, CUT = 3, 4, (2, 5)
SHAPING = 0.5
NETWORKS = {"mlp": Network(width=8, layers=1), "lstm": Network(kind="lstm", width=6)}


def pay(turn, moves):
    """Return what a turn brings each seat, whether it moved or waited."""
    total = sum(moves.values())
    return [moves.get(seat, 0) + 0.5 * seat * total - 0.25 * turn for seat in range(SEATS)]


def hint(turn):
    """Return what a turn's shaping is, by seat."""
    return [0.125 * (turn + 1) * (seat + 1) for seat in range(SEATS)]


class Ledger(PythonGame):
    """Two of three seats move at once; every turn pays everybody, and some deals are broken off."""

    name = "ledger"
    facts = Facts(seats=SEATS, longest=12, chance=True, simultaneous=True)
    observation = 4
    moves = MOVES
    privileged_fields = (Field("turns", 1), Field("seat", 1))

    def deal(self, rng):
        return {"turn": 0, "turns": 1 + rng.below(7), "sum": [0.0] * SEATS}

    def view(self, state, seat):
        if state["turn"] % SEATS == seat:
            return None
        legal = [move for move in range(MOVES) if move != (state["turn"] + seat) % MOVES]
        return View([state["turn"], seat, state["sum"][seat], state["turns"]], legal)

    def view_all(self, state, seat):
        return [state["turns"], seat]

    def apply(self, state, moves, rng):
        rewards = pay(state["turn"], moves)
        state["sum"] = [sum(pair) for pair in zip(state["sum"], rewards, strict=True)]
        state["turn"] += 1
        if state["turn"] < state["turns"]:
            return Step(rewards=rewards)
        if state["turns"] in CUT:
            return Step(rewards=rewards, cut_off=True)
        return Step(rewards=rewards, returns=state["sum"])

    def _advance(self, slot, match):
        super()._advance(slot, match)  # There is no hook for shaping, which compiled games have.
        self.shaping[slot] += np.array(hint(match.turn - 1), np.float32)


class Shifted(Cycling):
    """Cycles among what is legal."""

    def choose(self, observation, legal, stream):
        (choices,) = legal
        return choices[int(observation[0] + 2 * observation[1]) % len(choices)]


def bots(spec):
    """Return the opponents 1 to 4; the first sits down under two numbers."""
    first, last, shifted = First(spec, 0), Last(spec, 0), Shifted(spec, 0)
    return [first, last, first, shifted]


TABLES = ((0, 1, 2), (3, 0, 4), (2, 4, 0), (0, 0, 3), (4, 2, 1), (0, 0, 0), (1, 0, 4), (4, 0, 0))


def usual(ids):
    return np.array([TABLES[match * 5 % 8] for match in ids], np.int32)


def others(ids):
    return np.array([TABLES[(match * 3 + 1) % 8][::-1] for match in ids], np.int32)


@dataclass
class Decision:
    turn: int
    observation: list
    mask: list
    privileged: list
    action: int
    log_prob: float
    log_probs: np.ndarray
    value: float | None
    state: np.ndarray | None
    reward: float = 0.0


@dataclass
class Match:
    decisions: dict
    returns: list
    cut_off: bool


@cache
def networks(kind):
    torch.manual_seed(1)
    spec = Ledger(1).spec
    policy = Policy(spec, NETWORKS[kind])
    critic = Critic(spec, NETWORKS[kind], features=policy.torso.width)
    with torch.no_grad():
        for parameter in critic.parameters():  # A fresh critic says 0 of everything.
            parameter.normal_()
    return policy, critic


@cache
def played_alone(match, seating, kind):
    """Play one match in a game of its own; fold each seat's pay from decision to decision."""
    game = Ledger(1, seed=2)
    policy, critic = networks(kind)
    actor, opponents = Actor(policy, 3, critic), bots(game.spec)
    game.start([0], [match])
    decided = {seat: [] for seat in range(SEATS) if seating[seat] == LEARNER}
    over = []
    while not len(over):
        asked, privileged, actions = game.decisions(), game.privileged(), []
        for row, seat in enumerate(asked.seat.tolist()):
            if seating[seat] != LEARNER:
                player = opponents[seating[seat] - 1]
                actions.append(player.act(asked, np.array([row]))[0].tolist())
                continue
            seen = privileged[row : row + 1]
            choice = actor.choose(asked, np.array([row]), seen)
            actions.append(choice.action[0].tolist())
            decided[seat].append(
                Decision(
                    int(asked.turn[row]), asked.observation[row].tolist(),
                    asked.mask[row].tolist(), seen[0].tolist(), actions[-1][0],
                    float(choice.log_prob[0]), choice.log_probs[0],
                    None if choice.value is None else float(choice.value[0]),
                    None if choice.state is None else choice.state[0],
                )
            )  # fmt: skip
        moves = {int(seat): move for seat, (move,) in zip(asked.seat, actions, strict=True)}
        came = pay(int(asked.turn[0]), moves)
        shaped = hint(int(asked.turn[0]))
        over = game.act(np.arange(len(actions)), np.array(actions))
        for seat, decisions in decided.items():
            if decisions:
                decisions[-1].reward += came[seat] + SHAPING * shaped[seat]
    return Match(decided, game.returns[0].tolist(), bool(game.cut_off[0].any()))


def expected_unrolls(matches, length):
    """Return every unroll there is to learn from, by match, seat and first turn."""
    unrolls = {}
    for number, match in matches.items():
        for seat, decisions in match.decisions.items():
            chunks = [decisions[at : at + length] for at in range(0, len(decisions), length)]
            pairs = list(zip_longest(chunks, [chunk[0] for chunk in chunks[1:]]))
            # What was broken off has no result: its last unroll is left out, no other.
            for chunk, after in pairs[: len(pairs) - match.cut_off]:
                unrolls[number, seat, chunk[0].turn] = chunk, after
    return unrolls


def expected_counts(matches, seatings, update):
    """Return what a tally says, by seating, added up match by match."""
    counts = {}
    for number, match in matches.items():
        if match.cut_off:
            continue
        seating = tuple(int(who) for who in seatings[number])
        counts.setdefault(seating, []).append((number, match.returns, update[number]))
    rows = []
    for seating, ended in sorted(counts.items()):
        pairs = tuple(
            tuple(
                sum(1 for _, got, _ in ended if np.sign(got[a] - got[b]) == sign)
                for sign in (1, 0, -1)
            )
            for a, b in combinations(range(SEATS), 2)
        )
        sums = tuple(sum(got[seat] for _, got, _ in ended) for seat in range(SEATS))
        numbers = [number for number, _, _ in ended]
        first = min(began for _, _, began in ended)
        rows.append((seating, len(ended), pairs, sums, min(numbers), max(numbers), first))
    return rows


def told_of(count):
    return (
        count.seating, count.matches, count.pairs, count.returns, count.first_match,
        count.last_match, count.first_update,
    )  # fmt: skip


def collector(slots, length, kind):
    policy, critic = networks(kind)
    game = Ledger(slots, seed=2)
    return Collector(
        game, Actor(policy, 3, critic), bots(game.spec), usual, unroll_length=length,
        shaping_scale=SHAPING, keep_log_probs=True, keep_privileged=True,
    )  # fmt: skip


def close(one, other):
    return np.allclose(one, other, rtol=1e-5, atol=1e-6)


def check_unrolls(unrolls, expected, updates):
    """Hold every unroll against the reference's; return their keys."""
    keys = []
    for lane in range(len(unrolls)):
        rows = unrolls.index[:, lane]
        assert (rows[(rows >= 0).sum() :] == -1).all()
        rows = rows[rows >= 0]
        match, seat = int(unrolls.match[rows[0]]), int(unrolls.seat[rows[0]])
        keys.append((match, seat, int(unrolls.turn[rows[0]])))
        chunk, after = expected[keys[-1]]
        assert unrolls.match[rows].tolist() == [match] * len(chunk)
        assert unrolls.seat[rows].tolist() == [seat] * len(chunk)
        for name in ("turn", "observation", "mask", "privileged"):
            wanted = [getattr(one, name) for one in chunk]
            assert getattr(unrolls, name)[rows].tolist() == wanted, name
        assert unrolls.action[rows, 0].tolist() == [one.action for one in chunk]
        assert {*unrolls.update[rows].tolist()} <= {*updates}
        ended = [False] * len(chunk)
        ended[-1] = after is None
        assert unrolls.ended[rows].tolist() == ended
        for name in ("reward", "log_prob", "log_probs", "value"):
            assert close(getattr(unrolls, name)[rows], [getattr(one, name) for one in chunk]), name
        assert bool(unrolls.goes_on[lane]) == (after is not None)
        if after is not None:
            assert unrolls.next_observation[lane].tolist() == after.observation
            assert unrolls.next_mask[lane].tolist() == after.mask
            assert unrolls.next_privileged[lane].tolist() == after.privileged
            assert close(unrolls.next_value[lane], after.value)
        if unrolls.state is not None:
            assert close(unrolls.state[lane], chunk[0].state)
    return keys


def seatings_of(seating, ids):
    return dict(zip(ids, seating(np.array(ids)).tolist(), strict=True))


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("slots", [1, 3, 50])
def test_whole_matches_are_those_of_the_reference_whatever_the_slots(slots, kind):
    """Every match once and to its end, each seat by the player of its number, cut off ones out."""
    one = collector(slots, 2, kind)
    for update, first in ((0, 0), (3, 24)):
        ids = list(range(first, first + 24))
        seatings = seatings_of(usual, ids)
        matches = {match: played_alone(match, tuple(seatings[match]), kind) for match in ids}
        assert 3 < sum(match.cut_off for match in matches.values()) < 20
        assert len({len(one) for match in matches.values() for one in match.decisions.values()}) > 3
        expected = expected_unrolls(matches, 2)
        one.update = update
        one.tally.clear()
        keys = check_unrolls(one.whole_matches(24), expected, [update])
        assert sorted(keys) == sorted(expected)
        assert one.next_match == first + 24
        began = dict.fromkeys(ids, update)
        counts = [told_of(count) for count in one.tally.counts()]
        assert counts == expected_counts(matches, seatings, began)
        assert one.tally.matches == sum(not match.cut_off for match in matches.values())


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("slots", [1, 5])
def test_a_stream_is_that_of_the_reference_over_changes_of_company_and_saves(slots, kind):
    """No decision is lost or twice, whoever is met meanwhile and wherever it was put away."""
    one, keys, tallied = collector(slots, 3, kind), [], {}
    border, latest, expected = None, 0, {}
    began = {}
    for update in range(12):
        if update == 5:
            border = one.next_match
            one.meet(one.opponents, others)
        if update == 8:
            again = collector(slots, 3, kind)
            again.meet(one.opponents, others)
            again.load(one.save())
            one = again
        one.update = update
        one.tally.clear()
        before = one.next_match
        unrolls = one.unrolls(7)
        for match in range(latest, one.next_match):
            if match not in began:
                began[match] = update if match >= before else None
            seating = (usual if border is None or match < border else others)(np.array([match]))[0]
            tallied.setdefault(match, {"seated": seating.tolist(), "update": began[match]})
            played = played_alone(match, tuple(seating.tolist()), kind)
            tallied[match] |= {"match": played}
            expected |= expected_unrolls({match: played}, 3)
        latest = one.next_match
        keys += check_unrolls(unrolls, expected, range(update + 1))
        ended = one.tally.rows()
        for row, match in enumerate(ended.get("match", np.empty(0)).tolist()):
            wanted = tallied[match]
            assert not wanted["match"].cut_off
            assert ended["seated"][row].tolist() == wanted["seated"]
            assert ended["update"][row] == wanted["update"]
            assert ended["returns"][row].tolist() == wanted["match"].returns
            assert "ended" not in wanted
            wanted["ended"] = True
    assert max(Counter(keys).values()) == 1
    # Whoever ended has handed over all there was; matches that are still open are the last ones.
    over = {match for match, told in tallied.items() if "ended" in told}
    assert {key for key in expected if key[0] in over} <= {*keys}
    missing = {match for match, told in tallied.items() if not told["match"].cut_off} - over
    assert len(missing) <= slots
    assert border is not None
    assert latest > border + slots
