"""What a learner is given: each reward on its action, unrolls in order, nothing lost in a save."""

import numpy as np
import pytest
import torch

from lanista.data.trajectory import from_arrays, join, to_arrays
from lanista.errors import LanistaError
from lanista.games import Abilities, Facts, PythonGame, Step, View, make, make_bot
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import LEARNER, Collector
from lanista.rollout.inference.actor import Actor

SMALL = Network(width=8, layers=1)
# A second thread costs more than it brings on tensors this small.
torch.set_num_threads(1)


class Scripted(PythonGame):
    """Seats move in a fixed order; each move pays both seats amounts fixed beforehand."""

    name = "scripted"
    observation = 3
    moves = 2
    facts = Facts(seats=2, longest=20)
    order = (0, 1, 0, 1)
    pays = ((1, 0), (0, 10), (100, 0), (0, 1000))
    cut = False

    def deal(self, rng):
        return [0]

    def view(self, state, seat):
        place = state[0]
        return View([seat, place, place * 0.5], (0, 1)) if self.order[place] == seat else None

    def apply(self, state, moves, rng):
        pay = self.pays[state[0]]
        state[0] += 1
        if state[0] == len(self.order):
            total = [float(sum(column)) for column in zip(*self.pays, strict=True)]
            return Step(rewards=pay, returns=total, cut_off=self.cut)
        return Step(rewards=pay)


class OtherMovesTwice(Scripted):
    """Seat 0, then seat 1 twice, then seat 0: what seat 1's moves pay seat 0 must not be lost."""

    order = (0, 1, 1, 0, 1)
    pays = ((1, 0), (10, 0), (100, 7), (1000, 0), (10000, 0))


class Long(Scripted):
    """Seven moves of seat 0, each paying its own place."""

    order = (0,) * 7
    pays = tuple((place + 1, 0) for place in range(7))


def collector(game, length=64, network=SMALL, opponents=(), seating=None, critic=True, **more):
    torch.manual_seed(1)
    policy = Policy(game.spec, network)
    judge = Critic(game.spec, network, features=policy.torso.width) if critic else None
    actor = Actor(policy, 3, judge)
    return Collector(game, actor, opponents, seating, unroll_length=length, **more)


def by_seat(unrolls, name="reward"):
    """Return a column's values of each seat's unrolls, in order."""
    found = {}
    for lane in range(len(unrolls)):
        rows = unrolls.index[:, lane]
        rows = rows[rows >= 0]
        found.setdefault(int(unrolls.seat[rows[0]]), []).append(getattr(unrolls, name)[rows])
    return {seat: np.concatenate(parts).tolist() for seat, parts in found.items()}


def test_each_reward_lies_on_the_action_that_caused_it():
    unrolls = collector(Scripted(1)).whole_matches(1)
    # Seat 0 moves first and third: 1 came from its first move, 100 from its second.
    assert by_seat(unrolls) == {0: [1, 100], 1: [10, 1000]}
    assert by_seat(unrolls, "ended") == {0: [False, True], 1: [False, True]}
    assert by_seat(unrolls, "turn") == {0: [0, 2], 1: [1, 3]}


def test_rewards_between_two_own_decisions_are_folded_when_the_other_moves_twice():
    unrolls = collector(OtherMovesTwice(1)).whole_matches(1)
    # 1 + 10 + 100 came before seat 0's second move, 1000 + 10000 after it. What came to seat 1
    # on its second move in a row (7) lies on that move, not on the first.
    assert by_seat(unrolls) == {0: [111, 11000], 1: [0, 7, 0]}


def test_only_the_learners_seats_are_kept_and_others_rewards_still_folded():
    game = OtherMovesTwice(1)

    def first_seat(ids):
        return np.tile(np.array([[LEARNER, 1]], np.int32), (len(ids), 1))

    bot = make_bot("kuhn", "random", game.spec, 0)
    unrolls = collector(game, opponents=[bot], seating=first_seat).whole_matches(1)
    assert by_seat(unrolls) == {0: [111, 11000]}


def test_a_seat_that_moves_once_keeps_what_comes_after_its_move():
    class Once(Scripted):
        order = (1, 0, 0)
        pays = ((0, 1), (0, 10), (5, 100))

    assert by_seat(collector(Once(1)).whole_matches(1)) == {0: [0, 5], 1: [111]}


def test_unrolls_are_cut_at_their_length_and_bootstrap_from_the_next_decision():
    unrolls = collector(Long(1), length=3).whole_matches(1)
    assert unrolls.index.shape == (3, 3)
    lanes = [unrolls.index[:, lane] for lane in range(3)]
    rewards = [unrolls.reward[rows[rows >= 0]].tolist() for rows in lanes]
    assert rewards == [[1, 2, 3], [4, 5, 6], [7]]
    assert unrolls.goes_on.tolist() == [True, True, False]
    # The next decisions are those at places 3 and 6; after the end there is none.
    assert unrolls.next_observation[:, 1].tolist() == [3, 6, 0]
    assert unrolls.next_mask.tolist() == [[True, True], [True, True], [False, False]]
    start_of_second = lanes[1][0]
    assert unrolls.next_value[0] == unrolls.value[start_of_second]
    assert unrolls.index[1:, 2].tolist() == [-1, -1]


def test_unrolls_of_a_stream_go_on_across_matches_and_harvests():
    stream = collector(Long(2), length=3)
    seen = {}
    for _ in range(9):
        unrolls = stream.unrolls(2)
        assert len(unrolls) >= 2
        for lane in range(len(unrolls)):
            rows = unrolls.index[:, lane]
            rows = rows[rows >= 0]
            assert len({*unrolls.match[rows]}) == 1
            for row in rows:
                seen.setdefault(int(unrolls.match[row]), []).append(int(unrolls.turn[row]))
    whole = [turns for turns in seen.values() if len(turns) == 7]
    assert len(whole) >= 4
    assert all(turns == list(range(7)) for turns in whole)
    # Matches that are still open are missing their ends only.
    assert all(turns == list(range(len(turns))) for turns in seen.values())


def test_a_broken_off_match_has_no_result_to_learn_from():
    class Sometimes(Scripted):
        def deal(self, rng):
            return [0, rng.below(2)]

        def apply(self, state, moves, rng):
            self.cut = bool(state[1])
            return super().apply(state, moves, rng)

    game = Sometimes(40)
    game.start(np.arange(40), np.arange(40))
    broken = {match.id for match in game._matches if match.state[1]}
    assert 0 < len(broken) < 40
    unrolls = collector(Sometimes(4), length=3).whole_matches(40)
    assert {*unrolls.match.tolist()} == {*range(40)} - broken
    for lane in range(len(unrolls)):
        (ended,) = by_seat(unrolls.take(np.array([lane])), "ended").values()
        assert ended == [False, True]


@pytest.mark.parametrize(("how", "matches"), [("whole_matches", 8), ("unrolls", 20 * 4 + 4)])
def test_a_game_whose_every_match_is_broken_off_is_refused_with_a_sentence(how, matches):
    class Always(Scripted):
        cut = True

    endless = collector(Always(4), length=3)
    with pytest.raises(LanistaError, match=f"^All of {matches} matches of scripted were cut off"):
        getattr(endless, how)(8)


def test_a_stream_goes_on_for_any_number_of_matches_that_give_unrolls():
    assert len(collector(Scripted(1), length=3).unrolls(100)) == 100


class Watched(Actor):
    """An actor that keeps what it was shown."""

    def choose(self, decisions, rows, privileged=None):
        for row in rows:
            key = int(decisions.match[row]), int(decisions.seat[row]), int(decisions.turn[row])
            self.shown[key] = (decisions.observation[row].tobytes(), decisions.mask[row].tobytes())
        return super().choose(decisions, rows, privileged)


@pytest.mark.parametrize("name", ["kuhn", "beastybar", "arena"])
def test_recorded_observations_are_what_the_policy_was_given_bit_for_bit(name):
    settings = {"duration": 2.0} if name == "arena" else {}
    made = collector(make(name, slots=3, seed=2, **settings), length=5)
    watched = Watched(made.actor.policy, 3)
    watched.shown = {}
    made.actor = watched
    unrolls = made.whole_matches(4)
    recorded = {
        (int(m), int(s), int(t)): (unrolls.observation[row].tobytes(), unrolls.mask[row].tobytes())
        for row, (m, s, t) in enumerate(zip(unrolls.match, unrolls.seat, unrolls.turn, strict=True))
    }
    assert recorded == watched.shown
    assert len({seen for seen, _ in recorded.values()}) > 3


def test_recorded_log_probabilities_are_those_of_the_weights_that_acted():
    made = collector(make("kuhn", slots=4, seed=1), keep_log_probs=True)
    unrolls = made.whole_matches(50)
    policy = made.actor.policy
    with torch.no_grad():
        logits = policy(torch.from_numpy(unrolls.observation))
        expected = policy.heads.log_probs(logits, torch.from_numpy(unrolls.mask))
        chosen = policy.heads.joint(expected, torch.from_numpy(unrolls.action).long())
    torch.testing.assert_close(torch.from_numpy(unrolls.log_prob), chosen)
    torch.testing.assert_close(torch.from_numpy(unrolls.log_probs), expected)


def equal(one, other):
    first, second = to_arrays(one), to_arrays(other)
    return first.keys() == second.keys() and all(
        first[name].dtype == second[name].dtype and np.array_equal(first[name], second[name])
        for name in first
    )


@pytest.mark.parametrize("network", [SMALL, Network(kind="lstm", width=6)], ids=["mlp", "lstm"])
@pytest.mark.parametrize("opponent", [False, True], ids=["self", "bot"])
def test_a_saved_stream_goes_on_exactly(network, opponent):
    def made():
        game = make("arena", slots=3, seed=4, duration=3.0)
        bots = [make_bot("arena", "rusher", game.spec, 4)] if opponent else []

        def seating(ids):
            table = np.zeros((len(ids), 2), np.int32)
            table[:, 1] = opponent * (ids % 2)
            return table

        return collector(game, 4, network, bots, seating, keep_log_probs=True)

    one, other = made(), made()
    for _ in range(3):
        one.unrolls(5)
    other.load(one.save())
    assert one.tape.rows > 0
    for _ in range(4):
        assert equal(one.unrolls(5), other.unrolls(5))


def flat(saved, where=""):
    """Return every array and number of a save, by its place."""
    if isinstance(saved, dict | list):
        items = saved.items() if isinstance(saved, dict) else enumerate(saved)
        return {k: v for name, each in items for k, v in flat(each, f"{where}/{name}").items()}
    return {where: saved.tolist() if isinstance(saved, np.ndarray) else saved}


@pytest.mark.parametrize("network", [SMALL, Network(kind="lstm", width=6)], ids=["mlp", "lstm"])
def test_what_was_saved_stays_as_it_is_while_more_is_played_from_it(network):
    def made():
        def seating(ids):
            return np.stack([ids % 2, (ids + 1) % 2], 1).astype(np.int32)

        game = make("leduc", slots=5, seed=4)
        return collector(game, 2, network, [make_bot("leduc", "random", game.spec, 4)], seating)

    one, other = made(), made()
    one.unrolls(5)
    saved = one.save()
    before = flat(saved)
    other.load(saved)
    for update, each in ((1, one), (2, other)):
        each.update = update
        each.unrolls(40)  # Every slot has another match by then.
        assert {*each.match.tolist()}.isdisjoint(saved["match"].tolist())
    assert flat(saved) == before


def test_unfinished_unrolls_that_were_loaded_are_copies():
    def made():
        return collector(make("leduc", slots=5, seed=4), 2, Network(kind="lstm", width=6))

    one, other = made(), made()
    one.unrolls(5)
    saved = one.tape.save()
    before = flat(saved)
    assert {"/last", "/state", "/columns/next"} <= set(before)
    other.tape.load(saved)
    for array in (saved["last"], saved["state"], *saved["columns"].values()):
        array[...] = 0
    assert flat(saved) != before
    assert flat(other.tape.save()) == before


def test_between_whole_matches_only_the_next_match_is_to_be_saved():
    one, other = (collector(make("kuhn", slots=4, seed=4)) for _ in range(2))
    one.whole_matches(9)
    assert one.save() == {"next_match": 9}
    other.load(one.save())
    assert equal(one.whole_matches(9), other.whole_matches(9))


def test_slots_do_not_change_what_is_played():
    few, many = (collector(make("beastybar", slots=s, seed=4)).whole_matches(12) for s in (2, 12))

    def rows(unrolls):
        order = np.lexsort((unrolls.turn, unrolls.seat, unrolls.match))
        return unrolls.action[order], unrolls.reward[order], unrolls.observation[order]

    assert all(np.array_equal(a, b) for a, b in zip(rows(few), rows(many), strict=True))


def test_shaping_counts_only_with_a_scale():
    plain, shaped = (
        collector(make("arena", slots=2, seed=4, duration=3.0), shaping_scale=s).whole_matches(4)
        for s in (0.0, 0.5)
    )
    assert {*np.unique(plain.reward)} <= {-1.0, 0.0, 1.0}
    assert len(np.unique(shaped.reward)) > 3


def test_the_first_matches_of_a_staggered_stream_begin_evenly_over_its_steps():
    stream, begun = collector(Long(slots=4, seed=1), 7, stagger=8), []
    for _ in range(10):
        stream._begin()
        begun.append(stream.next_match)
    # A slot every second step; the first at once, and none twice.
    assert begun == [1, 1, 1, 1, 2, 2, 3, 3, 4, 4]


def test_a_staggered_stream_that_was_saved_while_it_begins_goes_on_exactly():
    unbroken, fresh = (collector(Long(slots=4, seed=1), 3, stagger=20) for _ in range(2))
    unbroken.unrolls(2)
    saved = unbroken.save()
    assert saved["begun"][0] < 4
    fresh.load(saved)
    for _ in range(8):
        one, other = to_arrays(unbroken.unrolls(3)), to_arrays(fresh.unrolls(3))
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)
    assert "begun" not in unbroken.save()


def test_the_tally_counts_every_match_once_with_the_learners_return():
    made = collector(make("kuhn", slots=4, seed=4))
    made.whole_matches(25)
    (count,) = made.tally.counts()
    assert (count.seating, count.matches, sum(count.returns)) == ((0, 0), 25, 0.0)
    ((wins, draws, losses),) = count.pairs
    assert (wins + draws + losses, draws) == (25, 0)
    assert (count.first_match, count.last_match) == (0, 24)


def test_joined_unrolls_keep_every_lane_where_some_have_no_next_decision():
    long, ended = (
        collector(Long(1), length=3).whole_matches(1),
        collector(Scripted(1), length=3).whole_matches(1),
    )
    assert ended.next_observation is None
    both = join([ended, long])
    assert len(both) == 5
    assert both.next_observation[2:, 1].tolist() == [3, 6, 0]
    assert both.next_observation[:2].sum() == 0
    for lane in range(3):
        assert equal_lane(both, lane + 2, long, lane)
    assert equal(from_arrays(to_arrays(both)), both)


def equal_lane(one, lane, other, number):
    first, second = one.take(np.array([lane])), other.take(np.array([number]))
    return np.array_equal(first.reward, second.reward) and np.array_equal(
        first.observation, second.observation
    )


def test_matches_that_cannot_be_saved_are_begun_afresh():
    class Live(Long):
        abilities = Abilities(restorable=False, replayable=False)

    one, other = collector(Live(2), length=3), collector(Live(2), length=3)
    one.unrolls(3)
    assert one.save() == {"next_match": one.next_match}
    other.load(one.save())
    assert other.unrolls(2).match.min() == one.next_match


def test_what_was_handed_over_stays_as_it_is_while_more_is_played():
    # Three steps of "leduc" at least; streams keep rows, whole matches hand all of them over.
    for how in ("whole_matches", "unrolls"):
        played = collector(make("leduc", slots=8, seed=2), length=3)
        first = getattr(played, how)(8)
        before = {name: getattr(first, name).copy() for name in ("observation", "reward", "action")}
        getattr(played, how)(8)
        for name, column in before.items():
            assert np.array_equal(getattr(first, name), column), (how, name)


def test_whoever_is_met_again_is_not_set_up_again_and_sits_where_the_new_seating_says():
    game = make("leduc", slots=8, seed=2)
    one, other = (make_bot("leduc", "random", game.spec, seed) for seed in (2, 3))
    against = collector(
        game, opponents=[one, other], seating=lambda ids: np.tile([LEARNER, 1], (len(ids), 1))
    )
    before = against._others
    against.meet([one, one, other], lambda ids: np.tile([3, LEARNER], (len(ids), 1)))
    assert against._others is before
    against.whole_matches(8)
    assert {count.seating for count in against.tally.counts()} == {(3, LEARNER)}
    against.meet([other], lambda ids: np.tile([1, LEARNER], (len(ids), 1)))
    assert against._others is not before
    assert against._others.players == [other]


def test_more_is_played_until_the_learner_has_had_a_decision():
    game = make("leduc", slots=3, seed=2)
    bots = [make_bot("leduc", "random", game.spec, seed) for seed in (2, 3)]

    def seating(ids):
        return np.where(ids[:, None] < 8, [1, 2], [LEARNER, 2]).astype(np.int32)

    played = collector(game, opponents=bots, seating=seating)
    unrolls = played.whole_matches(5)
    # Two times five: the first eight are the bots' alone.
    assert ({*unrolls.match.tolist()}, played.next_match) == ({8, 9}, 10)
    assert played.tally.matches == 10


def test_an_opponent_swapped_in_mid_match_is_refused():
    game = make("leduc", slots=8, seed=2)
    bot = make_bot("leduc", "random", game.spec, 2)

    class Swapped:
        name, digest = "swapped", bot.digest

        def act(self, decisions, rows):
            self.digest = "f" * 64
            return bot.act(decisions, rows)

    against = collector(
        game, opponents=[Swapped()], seating=lambda ids: np.tile([LEARNER, 1], (len(ids), 1))
    )
    with pytest.raises(LanistaError, match="swapped changed in the middle of a match"):
        against.whole_matches(8)
