"""How the checks play: under which ids and deals, in how many slots, in which parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sound_games import Duel, Signals

from lanista.games import Abilities, Option, Stream
from lanista.games.check import determinism, legality
from lanista.games.check.positions import Position, chosen_positions, in_batches, stand
from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.seen import Seen, first_difference
from lanista.games.check.trial import Play, Trial, begin, copied, sentence
from lanista.games.compiled import CompiledGame
from lanista.games.registry import make


class Recorder:
    """Makes games and keeps what they were made and started with."""

    def __init__(self, game=Duel):
        self.game, self.made, self.started, self.closed = game, [], [], 0

    def __call__(self, slots, seed):
        recorder = self
        recorder.made.append((slots, seed))

        class Recorded(self.game):
            name = "recorded"

            def start(self, slots, match_ids, options=None):
                recorder.started.append((list(slots), list(match_ids), options))
                super().start(slots, match_ids, options)

            def close(self):
                recorder.closed += 1

        return Recorded(slots, seed)

    def ids(self):
        return [match for _, matches, _ in self.started for match in matches]


def trial_of(make_game, matches=5, seed=2, effort=1000):
    return Trial(make_game, seed, matches, effort, False)


def plain(game):
    return lambda slots, seed: game(slots, seed)


def recorded(check, matches=5, game=Duel):
    """Return a check's words and what was made for it after the base play."""
    recorder = Recorder(game)
    trial = trial_of(recorder, matches)
    assert trial.sound().trouble == ""
    recorder.made.clear()
    recorder.started.clear()
    return check(trial), recorder


def test_a_match_is_played_again_in_1_and_7_slots_and_in_64_among_others():
    words, recorder = recorded(determinism.determinism)
    assert words == "5 matches, 20 decisions, the same in each"
    assert recorder.made == [(1, 2), (7, 2), (64, 2)]
    ids = recorder.ids()
    assert ids[:5] == [0, 1, 2, 3, 4]
    assert ids[5:10] == [4, 3, 2, 1, 0]
    beside = [1_000_000 + i for i in range(5)]
    assert ids[10:] == [key for pair in zip(beside, range(5), strict=True) for key in pair]
    assert recorder.closed == 2 + 3


def test_more_matches_than_64_are_played_to_the_last():
    _, recorder = recorded(determinism.determinism, 66)
    ids = recorder.ids()[2 * 66 :]
    assert len(ids) == 64 + 66
    assert ids[:128:2] == [1_000_000 + i for i in range(64)]
    assert [key for key in ids if key < 1_000_000] == list(range(66))


def test_chance_is_asked_of_another_seed_and_of_other_match_ids():
    words, recorder = recorded(determinism.chance)
    assert words == "another seed and other match ids gave other matches under the same answers"
    assert recorder.made == [(7, 2), (7, 3), (7, 2)]
    assert recorder.ids() == [*range(5), *range(5), *(1_000_000 + i for i in range(5))]


def test_a_game_without_chance_is_the_same_under_another_seed():
    class Fixed(Duel):
        facts = replace(Duel.facts, chance=False)

        def deal(self, rng):
            return super().deal(Stream.keyed(0, 0, 0, "chance"))

    words = determinism.chance(trial_of(plain(Fixed)))
    assert words == "another seed and other match ids gave the same matches under the same answers"


def test_deals_are_played_again_under_other_match_ids():
    words, recorder = recorded(determinism.deals)
    assert words == "5 deals came out the same under other match ids"
    assert recorder.made == [(7, 2)]
    assert [(ids, options) for _, ids, options in recorder.started] == [
        ([1_000_000 + key], {"deal": key}) for key in range(5)
    ]


def test_two_other_orders_of_answering_are_tried_in_five_slots():
    words, recorder = recorded(determinism.order)
    assert words == "two other orders of answering, in parts, gave the same matches"
    assert recorder.made == [(5, 2), (5, 2)]


def test_parts_are_some_of_the_rows_in_any_order_in_one_to_three_calls():
    batches = determinism.in_parts(0, 0)
    rows = np.array([3, 5, 6, 9], np.int64)
    drawn = [[part.tolist() for part in batches(rows)] for _ in range(300)]
    assert {len(parts) for parts in drawn} == {1, 2, 3}
    taken = [[row for part in parts for row in part] for parts in drawn]
    assert {len(rows) for rows in taken} == {1, 2, 3, 4}
    assert all(parts and all(parts_of) for parts, parts_of in zip(taken, drawn, strict=True))
    whole = {tuple(rows) for rows in taken if len(rows) == 4}
    assert len(whole) > 12, "of 24 orders"
    assert all(len(set(rows)) == len(rows) <= 4 and {3, 5, 6, 9} >= set(rows) for rows in taken)
    # One call as often as two and as three, where there are rows for three.
    calls = [len(parts) for parts, rows in zip(drawn, taken, strict=True) if len(rows) >= 3]
    assert all(0.2 < calls.count(n) / len(calls) < 0.47 for n in (1, 2, 3))


def test_parts_depend_on_the_seed_and_the_attempt_alone():
    def drawn(seed, attempt):
        batches = determinism.in_parts(seed, attempt)
        return [[p.tolist() for p in batches(np.arange(6))] for _ in range(5)]

    assert drawn(1, 0) == drawn(1, 0)
    assert drawn(1, 0) != drawn(1, 1)
    assert drawn(1, 0) != drawn(2, 0)


# Positions.


def trial_with_turns(turns, replayed, simultaneous=False, seedable=True):
    trial = trial_of(plain(Signals if simultaneous else Duel))
    spec = Signals(1).spec if simultaneous else Duel(1).spec
    rows = {
        "match": np.arange(len(turns)) + 10,
        "turn": np.array(turns, np.int32),
        "seat": np.arange(len(turns)) % 2,
    }
    trial.__dict__.update(
        spec=replace(spec, abilities=Abilities(seedable=seedable)),
        base=Seen(rows, {"match": np.zeros(0)}),
        replayed=replayed,
    )
    return trial


def test_all_positions_are_taken_if_the_effort_allows():
    """A position at turn t costs t + 1 turns for each copy: 3 * (1 + 2 + 3 + 4) = 30."""
    chosen = chosen_positions(trial_with_turns([0, 1, 2, 3], 30), 3)
    assert chosen == [Position(10 + i, i, i % 2, i) for i in range(4)]
    assert len(chosen_positions(trial_with_turns([0, 1, 2, 3], 29), 3)) < 4


def test_in_a_simultaneous_game_every_seat_answers_a_turn():
    assert len(chosen_positions(trial_with_turns([1] * 10, 60, simultaneous=True), 3)) == 5
    assert len(chosen_positions(trial_with_turns([1] * 10, 60), 3)) == 10


def test_some_positions_are_drawn_in_order_and_one_at_least():
    chosen = chosen_positions(trial_with_turns([0] * 100, 40), 2)
    assert len(chosen) == 20
    rows = [position.row for position in chosen]
    assert rows == sorted(set(rows))
    assert max(rows) > 60, "drawn from all of the play"
    assert len(chosen_positions(trial_with_turns([5] * 9, 1), 2)) == 1


def test_no_position_can_be_brought_about_without_a_seed_or_a_decision():
    with pytest.raises(NotApplicable, match="takes no seed"):
        chosen_positions(trial_with_turns([0], 10, seedable=False), 1)
    with pytest.raises(NotApplicable, match="no decision"):
        chosen_positions(trial_with_turns([], 10), 1)


def test_positions_come_in_portions_of_48():
    positions = [Position(i, 0, 0, i) for i in range(100)]
    batches = list(in_batches(positions))
    assert [len(batch) for batch in batches] == [48, 48, 4]
    assert [position for batch in batches for position in batch] == positions
    assert str(positions[7]) == "match 7, turn 0, seat 0"


@pytest.mark.parametrize("game", [Duel, Signals])
def test_a_position_stands_as_the_base_play_came_to_it(game):
    trial = trial_of(plain(game))
    positions = chosen_positions(trial, 1)[::3]
    assert len({position.turn for position in positions}) > 1
    with trial.game(len(positions)) as other:
        stand(other, positions)
        decisions = copied(other.decisions())
    at = list(zip(decisions.slot.tolist(), decisions.seat.tolist(), strict=True))
    for slot, position in enumerate(positions):
        row = at.index((slot, position.seat))
        assert decisions.turn[row] == position.turn
        assert decisions.observation[row].tolist() == (
            trial.base.rows["observation"][position.row].tolist()
        )


# Plays.


def test_every_second_match_is_begun_with_options_from_all_that_the_game_allows():
    class Optional(Duel):
        def __init__(self, slots, seed):
            super().__init__(slots, seed)
            options = (Option("bonus", 0, 2, 4), Option("deep", 0, 0, 2**62))
            self.spec = replace(self.spec, options=options)
            self.calls = []

        def start(self, slots, match_ids, options=None):
            self.calls.append((slots, match_ids, options))

    game = Optional(50, 0)
    begin(game, range(50), range(100, 150))
    assert [(slots, ids) for slots, ids, _ in game.calls] == [([i], [100 + i]) for i in range(50)]
    assert all(options == {} for _, _, options in game.calls[::2])
    drawn = [options for _, _, options in game.calls[1::2]]
    assert {options["bonus"] for options in drawn} == {2, 3, 4}
    assert all(0 <= options["deep"] < 2**31 for options in drawn)
    assert max(options["deep"] for options in drawn) > 2**30
    game.calls.clear()
    begin(game, [3], [101], id_of=lambda key: key + 7, deal_of=lambda key: key * 2)
    assert game.calls == [([3], [108], {**drawn[0], "deal": 202})]


def test_a_play_keeps_every_decision_with_what_was_paid_and_our_count_of_steps():
    with trial_of(plain(Duel)).game(3) as game:
        seen = Play(game, [8, 2, 5, 1], fully=True).run()
    assert seen.trouble == ""
    assert seen.too_long == []
    assert seen.rows["match"].tolist() == [1] * 4 + [2] * 4 + [5] * 4 + [8] * 4
    assert seen.rows["turn"].tolist() == seen.rows["steps"].tolist() == [0, 1, 2, 3] * 4
    assert seen.rows["seat"].tolist() == [0, 1] * 8
    assert seen.rows["privileged"].shape == (16, 2)
    assert seen.ends["match"].tolist() == [1, 2, 5, 8]
    assert seen.ends["turn"].tolist() == [4] * 4
    for match in range(4):
        rows = seen.rows
        paid = [0.0, 0.0]
        for row in range(4 * match, 4 * match + 4):
            paid[rows["seat"][row]] += rows["reward"][row]
        assert np.allclose(paid + seen.ends["reward"][match], seen.ends["returns"][match])
    with trial_of(plain(Duel)).game(3) as game:
        assert "steps" not in Play(game, [1]).run().rows


def test_a_match_is_answered_by_its_key_whatever_the_game_is_told():
    with trial_of(plain(Duel)).game(2) as game:
        base = Play(game, [1, 2, 3]).run()
    deal_of = {"deal_of": lambda key: key}
    with trial_of(plain(Duel)).game(2) as game:
        renamed = Play(game, [1, 2, 3], id_of=lambda key: key + 50, **deal_of).run()
    assert first_difference(base, renamed) == ""
    with trial_of(plain(Duel)).game(2) as game:
        other = Play(game, list(range(20)), answer_as=lambda key: key + 50, **deal_of).run()
    with trial_of(plain(Duel)).game(2) as game:
        named = Play(game, list(range(50, 70)), deal_of=lambda key: key - 50).run()
    assert other.rows["action"].tolist() == named.rows["action"].tolist()
    with trial_of(plain(Duel)).game(2) as game:
        assert "another" in first_difference(Play(game, list(range(20))).run(), other)


def test_a_match_that_asks_beyond_the_longest_is_left_and_the_others_go_on():
    class Long(Duel):
        def start(self, slots, match_ids, options=None):
            self.spec = replace(self.spec, facts=replace(self.spec.facts, longest=3))
            super().start(slots, match_ids, options)

        def _advance(self, slot, match):
            self.spec = replace(self.spec, facts=replace(self.spec.facts, longest=99))
            super()._advance(slot, match)

    with trial_of(plain(Long)).game(2) as game:
        play = Play(game, [4, 6, 7])
        play.spec = replace(game.spec, facts=replace(game.spec.facts, longest=3))
        seen = play.run()
    assert seen.trouble == ""
    assert seen.too_long == [4, 6]
    assert len(seen.ends["match"]) == 0
    assert seen.rows["turn"].tolist() == [0, 1, 2] * 2


def test_turns_that_do_not_count_up_are_left_after_longest_answers_of_every_seat():
    class Stands(Duel):
        facts = replace(Duel.facts, longest=3)

        def _advance(self, slot, match):
            super()._advance(slot, match)
            match.turn = 0

        def apply(self, state, moves, rng):
            super().apply(state, moves, rng)
            state.moves = state.moves[-1:]

        def view(self, state, seat):
            return None if seat else super().view(type(state)(state.cards, []), 0)

    with trial_of(plain(Stands)).game(1) as game:
        seen = Play(game, [4]).run()
    assert seen.too_long == [4]
    assert len(seen.rows["match"]) == 3 * 2


def trouble_of(game, keys=(0, 1)):
    with trial_of(plain(game)).game(2) as made:
        return Play(made, list(keys)).run().trouble


def test_what_a_play_finds_wrong_is_told():
    class NeverSaid(Duel):
        def act(self, rows, actions):
            super().act(rows, actions)
            return np.zeros(0, np.int32)

    assert trouble_of(NeverSaid) == "match 0 asks nobody, but act() did not say that it had ended"

    class EndsTwice(Duel):
        def act(self, rows, actions):
            return np.repeat(super().act(rows, actions), 2)

    assert trouble_of(EndsTwice) == "act() says that slot 0 ended, which was not playing"

    class WrongName(Duel):
        def decisions(self):
            found = super().decisions()
            return replace(found, match=found.match + 1)

    assert trouble_of(WrongName) == "decisions() shows match 1 in 0's slot"

    class EndsEarly(Duel):
        def act(self, rows, actions):
            super().act(rows, actions)
            return np.array([1], np.int32)

    assert trouble_of(EndsEarly) == (
        "a slot asks for a decision though act() said that its match had ended"
    )


def test_matches_that_stand_already_are_carried_on_and_the_callers_are_left_alone():
    with trial_of(plain(Duel)).game(3) as game:
        game.start([0, 2], [5, 6])
        live = {2: 6}
        seen = Play(game, []).carry_on(live)
        assert live == {2: 6}
        assert seen.trouble == ""
        assert seen.ends["match"].tolist() == [6]
        assert set(seen.rows["match"].tolist()) == {6}
        # Slot 0 was left as it stood.
        assert game.decisions().turn.tolist() == [0]


def test_decisions_are_unanswered_from_the_turn_on_that_the_match_is_at():
    rows = {
        "turn": np.array([0, 0, 1, 1, 2, 2]),
        "seat": np.array([0, 1, 0, 1, 0, 1]),
    }
    with trial_of(plain(Signals)).game(1) as game:
        play = Play(game, [0], batches=lambda ready: [ready[:1]])
        play._fill([0])
        assert play.unanswered(0, rows)["turn"].tolist() == [0, 0, 1, 1, 2, 2]
        play.step()
        left = play.unanswered(0, rows)
        assert list(zip(left["turn"], left["seat"], strict=True)) == [
            (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]  # fmt: skip
        play.step()
        play.step()
        left = play.unanswered(0, rows)
        assert list(zip(left["turn"], left["seat"], strict=True)) == [(1, 1), (2, 0), (2, 1)]


def test_copied_decisions_stay_as_they_are():
    game = Duel(2, 0)
    game.start([0, 1], [0, 1])
    given = game.decisions()
    kept = copied(given)
    for name in ("slot", "seat", "match", "turn", "observation", "mask"):
        one, other = getattr(given, name), getattr(kept, name)
        assert one.tolist() == other.tolist()
        assert not np.shares_memory(one, other), name


def test_a_game_in_c_is_played_again_twenty_times_as_often():
    assert trial_of(plain(Duel), effort=70).replayed == 70
    trial = trial_of(lambda slots, seed: make("kuhn", slots=slots, seed=seed), effort=70)
    with trial.game(1) as game:
        assert isinstance(game, CompiledGame)
    assert trial.replayed == 1400


def test_a_trial_makes_its_game_with_its_seed_and_closes_it():
    recorder = Recorder()
    trial = trial_of(recorder)
    with trial.game(3):
        assert recorder.closed == 0
    with pytest.raises(ValueError, match="mine"), trial.game(2, 0):
        raise ValueError("mine")
    assert recorder.made == [(3, 2), (2, 0)]
    assert recorder.closed == 2
    assert trial.keys == [0, 1, 2, 3, 4]


def test_only_matches_with_a_result_count_as_results():
    trial = trial_of(plain(Duel))
    base = trial.base
    cut = base.ends["cut_off"]
    cut[1] = True
    cut[3, 0] = True
    assert trial.ended.ends["match"].tolist() == [0, 1, 2, 3, 4]
    assert trial.results.ends["match"].tolist() == [0, 2, 4]
    assert set(trial.results.rows["match"].tolist()) == {0, 2, 4}
    cut[:] = True
    with pytest.raises(NotApplicable, match="every match was cut off"):
        _ = trial.results


def test_what_was_played_is_held_against_the_base():
    trial = trial_of(plain(Duel))
    trial.hold_against_base(trial.base, "again")
    with pytest.raises(Fault, match=r"^again, the matches could not be played: it broke$"):
        trial.hold_against_base(replace(trial.base, trouble="it broke"), "again")
    with pytest.raises(Fault, match=r"^again, match 4, turn 0, seat 0: another course$"):
        trial.hold_against_base(trial.base.only([0, 1, 2, 3]), "again")


def test_a_finding_is_told_as_it_is_and_an_error_with_its_kind():
    assert sentence(Fault("the sum is 3")) == "the sum is 3"
    assert sentence(ValueError("no")) == "ValueError: no"


def test_wrong_answers_are_tried_in_five_slots_and_again_in_the_two_they_need():
    _, recorder = recorded(legality.illegal)
    assert recorder.made == [(5, 2), (2, 2)]
    again = recorder.started[-8:]
    assert [(slots, ids) for slots, ids, _ in again] == [
        ([0, 1], [match, match + 1]) for match in range(8)
    ]
    assert recorder.closed == 2 + 2
