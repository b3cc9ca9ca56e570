"""The counts by which a redraw is blamed, on tables made so that every bound is met and missed."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pytest
from sound_games import Duel, Signals

from lanista.games import Facts, Field, GameError, Head, Observation, Spec, Stream
from lanista.games.check import recall as module
from lanista.games.check.recall import Looks, Pairs, Redrawn, recall
from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.seen import Seen
from lanista.games.check.trial import Play, Trial


def bits(rows):
    return np.array(rows, np.bool_)


def test_the_constants_are_those_the_module_explains():
    sizes = (module.MOST_MATCHES, module.MOST_REAL, module.FEWEST, module.SLOTS)
    assert sizes == (1_000, 32_000, 100, 64)
    assert (module.UNLIKELY, module.CERTAIN, module.USUAL, module.REPEATED) == (50, 12, 3, 5)


def test_pairs_count_how_often_two_sights_came_together():
    looks = Looks(
        bits([[1, 0], [1, 1], [0, 0]]), bits([[1, 1, 0], [0, 1, 0], [1, 1, 1]]), [7, 8, 9]
    )
    pairs = Pairs.of(looks)
    assert pairs.together.tolist() == [[1, 2, 0], [0, 1, 0]]
    assert pairs.before.tolist() == [2, 1]
    assert pairs.after.tolist() == [2, 3, 1]
    assert pairs.matches == 3
    pairs.add(Pairs.of(Looks(bits([[0, 1]]), bits([[1, 0, 1]]), [10])))
    assert pairs.together.tolist() == [[1, 2, 0], [1, 1, 1]]
    assert pairs.before.tolist() == [2, 2]
    assert pairs.after.tolist() == [3, 3, 2]
    assert pairs.matches == 4


def counted(together, before, after, matches):
    return Pairs(np.array(together, np.float32), np.array(before, np.float32),
                 np.array(after, np.float32), matches)  # fmt: skip


def test_pairs_exclude_each_other_if_common_sights_never_came_together():
    """Of 1,000 matches, by chance before * after / 1,000 of them show both; log 4 = 1.386."""
    pairs = counted([[0, 0], [0, 1]], [70, 69], [20, 500], 1000)
    # 1.4 and 35 expected and none seen; 1.38 expected; 34.5 expected and one seen.
    assert pairs.exclusive().tolist() == [[True, True], [False, False]]


def test_a_single_pair_has_to_be_expected_log_2_times():
    assert counted([[0]], [7], [100], 1000).exclusive().tolist() == [[True]]
    assert counted([[0]], [6], [100], 1000).exclusive().tolist() == [[False]]


def test_more_pairs_have_to_be_expected_more_often():
    """log 200 = 5.3."""
    before, after = [100] * 10, [52] + [54] * 19
    result = counted(np.zeros((10, 20)), before, after, 1000).exclusive()
    assert result.tolist() == [[False] + [True] * 19] * 10


def test_a_match_shows_a_pair_if_its_first_sight_was_before_and_its_second_after():
    looks = Looks(
        bits([[1, 0], [1, 0], [0, 1], [1, 1]]), bits([[1, 0], [0, 1], [0, 1], [1, 1]]), [1, 2, 3, 4]
    )
    assert looks.showing(bits([[0, 1], [0, 0]])).tolist() == [False, True, False, True]
    assert looks.showing(bits([[0, 1], [1, 0]])).tolist() == [False, True, False, True]
    assert looks.showing(bits([[0, 0], [0, 0]])).tolist() == [False] * 4


@pytest.mark.parametrize(("count", "of", "rate"), [(100, 1000, 0.07), (9, 10, 0), (4, 10, 0),
                                                   (0, 0, 0), (25, 0, 10), (16, 1, 4)])  # fmt: skip
def test_a_rate_is_taken_three_standard_errors_below_what_was_counted(count, of, rate):
    assert math.isclose(module._at_least(count, of), rate)


# A game of one seat that sees x at turn 0 and y at turn 1. In real play y is x.
SPEC = Spec("pairs", Facts(seats=1, longest=2, hidden=True), Observation((Field("card"),)),
            (Head("huge", 161),))  # fmt: skip


def table(matches, wrong):
    """x is 1 in every fourth match; `wrong` says in which matches y is not x."""
    x = (np.arange(len(matches)) % 4 == 0).astype(np.float32)
    y = np.where(wrong, 1 - x, x)
    return {
        "match": np.repeat(np.array(matches, np.int64), 2),
        "turn": np.tile([0, 1], len(matches)),
        "seat": np.zeros(2 * len(matches), np.int64),
        "observation": np.stack([x, y], 1).reshape(-1, 1),
        "action": np.zeros((2 * len(matches), 1), np.int64),
    }


def wrong_ones(count, low, high):
    """So many matches that saw 0 at first, and so many that saw 1, of `count`."""
    ones = np.arange(count) % 4 == 0
    wrong = np.zeros(count, np.bool_)
    wrong[np.flatnonzero(~ones)[:low]] = True
    wrong[np.flatnonzero(ones)[:high]] = True
    return wrong


def trial_with(replayed=10**6, matches=10, rows=20):
    trial = Trial(None, 3, 10, 0, False)
    base = Seen({"match": np.zeros(rows)}, {"match": np.zeros(matches)})
    trial.__dict__.update(spec=SPEC, base=base, replayed=replayed)
    return trial


@pytest.fixture
def judged(monkeypatch):
    """Judge 1,000 redraws of which so many saw 0 and then 1, or 1 and then 0."""

    def judge(low, high=0, real=None, most=32_000):
        played = []

        def play(trial, first, count):
            played.append((first, count))
            often = (real or {}).get(first, 0)
            keys = range(first, first + count)
            return table(keys, wrong_ones(count, often, 0))

        monkeypatch.setattr(module, "_sizes", lambda trial: (1_000, most))
        monkeypatch.setattr(module, "_real", play)
        monkeypatch.setattr(
            module, "_targets", lambda _, rows: {int(m): (0, 0) for m in np.unique(rows["match"])}
        )
        monkeypatch.setattr(
            module,
            "_redrawn",
            lambda _, targets: table(list(targets), wrong_ones(1_000, low, high)),
        )
        try:
            return recall(trial_with()), played
        except Fault as fault:
            return str(fault), played

    return judge


def test_redraws_that_lead_to_nothing_new_are_cleared_by_four_times_as_many_real_matches(judged):
    words, played = judged(0)
    assert words == (
        "1,000 redraws led to nothing that real play rules out after what the seat had seen: none "
        "of 24 pairs of sights came together in redraws alone, in 4,000 matches"
    )
    assert played == [(0, 1000), (1000, 1000), (2000, 2000)]


def test_a_contradiction_is_told_once_real_play_would_have_shown_it_fifty_times_twelve_times(
    judged,
):
    """680 - 3 √680 = 601.8 of 1,000 exceed 50 * 12; 678 - 3 √678 = 599.9 do not."""
    words, played = judged(680)
    assert words == (
        "resample contradicts what the seat saw: after card = 0 at that decision it led to card = "
        "1 in what the seat sees next, as at match 1, turn 0, seat 0; 680 of 1,000 redraws led to "
        "what 2,000 matches of real play all but rule out"
    )
    assert played == [(0, 1000), (1000, 1000)]
    words, played = judged(678)
    assert "what 4,000 matches of real play" in words
    assert played == [(0, 1000), (1000, 1000), (2000, 2000)]


def test_what_real_play_shows_too_counts_for_the_game_a_hundred_times(judged):
    """745 - 3 √745 = 663: more than 600 and less than 50 * (2 + 12) = 700."""
    assert "what 2,000 matches of real play" in judged(745)[0]
    # Once in fresh real play, and the pair excludes nothing any more.
    assert "in 4,000 matches" in judged(745, real={1000: 1})[0]
    assert "in 4,000 matches" in judged(745, real={1000: 400})[0]
    # 790 - 3 √790 = 706 is more than 700.
    assert "what 2,000 matches of real play" in judged(750, 40, real={1000: 1})[0]


def test_a_pair_counts_from_the_fifth_redraw_on(judged):
    assert "; 680 of 1,000 redraws" in judged(680, 4)[0]
    assert "; 685 of 1,000 redraws" in judged(680, 5)[0]


def test_the_most_frequent_contradiction_is_the_one_that_is_named(judged):
    assert (
        "after card = 1 at that decision it led to card = 0 in" in judged(240, 250, most=64_000)[0]
    )


def test_redraws_are_cleared_if_real_play_may_lead_there_a_third_as_often(judged):
    """Of 2,000 matches 2 (11 - 3 √11) = 2.1 are not above 3, and 2 (12 - 3 √12) = 3.2 are."""
    assert "in 4,000 matches" in judged(11)[0]
    # Once more in real play, and twice as often is still no more than usual.
    assert "in 4,000 matches" in judged(12, real={2000: 1})[0]
    # 2 (36 - 3 √36) = 36 = 3 (11 + 1).
    assert "in 4,000 matches" in judged(36, real={2000: 11})[0]
    assert "in 8,000 matches" in judged(36, real={2000: 10})[0]
    assert "in 8,000 matches" in judged(12, most=8_000)[0]
    assert "in 8,000 matches" in judged(12, most=4_001)[0]


def test_a_game_that_hides_nothing_has_nothing_to_recall():
    with pytest.raises(NotApplicable, match="nothing is hidden"):
        recall(Trial(lambda slots, seed: Signals(slots, seed), 0, 4, 100, False))


@pytest.mark.parametrize(
    ("replayed", "sizes"),
    [(10**6, (1000, 32_000)), (8_000, (1000, 16_000)), (4_000, (500, 8_000)), (800, (100, 1_600))],
)
def test_a_quarter_of_the_effort_is_redrawn_and_four_times_it_is_played(replayed, sizes):
    # Two decisions a match.
    assert module._sizes(trial_with(replayed)) == sizes


def test_long_matches_cost_more():
    assert module._sizes(trial_with(8_000, matches=10, rows=100)) == (200, 3_200)
    assert module._sizes(trial_with(8_000, matches=0, rows=10)) == (200, 3_200)


def test_fewer_than_a_hundred_redraws_tell_nothing():
    with pytest.raises(NotApplicable, match="it takes 100 redraws to tell, and 99 fit"):
        module._sizes(trial_with(799))


def trial_of(game, seed=3):
    return Trial(lambda slots, seed: game(slots, seed), seed, 4, 1000, False)


def test_real_matches_are_played_under_keys_of_their_own_with_their_privileged_views():
    rows = module._real(trial_of(Duel), 10, 5)
    assert np.unique(rows["match"]).tolist() == [5_000_010 + i for i in range(5)]
    with trial_of(Duel).game(1) as game:
        alone = Play(game, [5_000_012], fully=True).run().rows
    for name, column in alone.items():
        assert rows[name][rows["match"] == 5_000_012].tolist() == column.tolist(), name
    assert "privileged" in rows


def test_a_real_match_that_breaks_is_told():
    class Breaks(Duel):
        def apply(self, state, moves, rng):
            raise ValueError("no more cards")

    with pytest.raises(Fault, match=r"the matches could not be played: .*no more cards"):
        module._real(trial_of(Breaks), 0, 3)


def test_any_decision_of_a_match_may_be_the_target_and_the_same_seed_takes_the_same():
    trial = trial_of(Duel)
    rows = module._real(trial, 0, 60)
    targets = module._targets(trial, rows)
    assert list(targets) == [module.FIRST_KEY + i for i in range(60)]
    # Seat 0 decides at even turns, seat 1 at odd ones.
    assert set(targets.values()) == {(0, 0), (1, 1), (2, 0), (3, 1)}
    counts = [list(targets.values()).count(target) for target in set(targets.values())]
    assert min(counts) >= 6
    assert module._targets(trial, rows) == targets
    assert module._targets(trial_of(Duel, 4), rows) != targets
    later = {name: column[4:] for name, column in rows.items()}
    assert next(iter(module._targets(trial, later))) == module.FIRST_KEY + 1


class Watched(Duel):
    calls: ClassVar[list[tuple[int, int, int]]] = []

    def resample(self, state, seat, rng):
        self.calls.append((len(state.moves), seat, rng.state))
        super().resample(state, seat, rng)


def test_a_match_is_redrawn_once_at_its_target_from_a_stream_of_its_own(monkeypatch):
    monkeypatch.setattr(Watched, "calls", [])
    targets = {50: (1, 1), 51: (2, 0), 52: (0, 0)}
    rows = module._redrawn(trial_of(Watched), targets)
    expected = [
        (turn, seat, Stream.keyed(3, match, seat, "resample", turn).state)
        for match, (turn, seat) in targets.items()
    ]
    assert sorted(Watched.calls) == sorted(expected)
    assert np.unique(rows["match"]).tolist() == [50, 51, 52]
    assert len(rows["match"]) == 12
    assert "privileged" in rows


def test_a_target_of_a_seat_that_does_not_decide_then_is_never_redrawn(monkeypatch):
    monkeypatch.setattr(Watched, "calls", [])
    with trial_of(Watched).game(2) as game:
        play = Redrawn(trial_of(Watched), game, {50: (1, 0), 51: (9, 1)})
        assert play.run().trouble == ""
    assert Watched.calls == []
    assert not play.refuses


def test_a_game_that_refuses_to_redraw_is_not_judged_here():
    class Refuses(Duel):
        def resample(self, state, seat, rng):
            raise GameError("not now")

    with pytest.raises(NotApplicable, match="could not be redrawn; see `hidden`"):
        module._redrawn(trial_of(Refuses), {50: (1, 1)})


def test_a_match_that_breaks_after_a_redraw_is_told():
    class Breaks(Duel):
        def resample(self, state, seat, rng):
            raise ValueError("lost the deck")

    with pytest.raises(Fault, match=r"cannot be played on after resample_hidden: .*lost the deck"):
        module._redrawn(trial_of(Breaks), {50: (1, 1)})
