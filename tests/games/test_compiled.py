"""The contract as the base of compiled games keeps it, seen through the small games."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from small_rules import PLAYED, RULES

from lanista.games import GameError, make, make_bot
from lanista.games.arena.layout import match_dtype
from lanista.games.streams import Stream

GAMES = ["kuhn", "leduc", "liars_dice", "phantom_ttt", "card_rps"]
PER_SEAT = ["reward", "shaping", "done", "cut_off", "returns", "score", "place"]


def started(name: str, slots: int, seed: int = 0) -> Any:
    game = make(name, slots=slots, seed=seed)
    game.start(range(slots), range(slots))
    return game


def everything(game: Any) -> dict[str, bytes]:
    return {key: value.tobytes() for key, value in game.save(range(game.slots)).items()}


def play_matches(name: str, slots: int, matches: int, seed: int = 3) -> dict[int, list[Any]]:
    """Play match ids 0 to `matches`, refilling slots as they come free; return each in full."""
    game = make(name, slots=slots, seed=seed)
    bot = make_bot(name, "random", game.spec, seed)
    record: dict[int, list[Any]] = {match: [] for match in range(matches)}
    todo = iter(range(matches))
    playing: dict[int, int] = {}

    def fill(free: Any) -> None:
        for slot in free:
            playing.pop(int(slot), None)
            match = next(todo, None)
            if match is not None:
                game.start([slot], [match])
                playing[int(slot)] = match

    fill(range(slots))
    while len(decisions := game.decisions()):
        rows = np.arange(len(decisions))
        actions = bot.act(decisions, rows)
        for row in rows:
            record[int(decisions.match[row])].append(
                (
                    int(decisions.seat[row]),
                    int(decisions.turn[row]),
                    decisions.observation[row].tobytes(),
                    decisions.mask[row].tobytes(),
                    int(actions[row, 0]),
                )
            )
        ended = game.act(rows, actions)
        for slot in ended:
            record[playing[int(slot)]].append(game.returns[slot].tolist())
        fill(ended)
    return record


# Starting and looking.


@pytest.mark.parametrize("name", GAMES)
def test_the_same_matches_come_out_with_any_number_of_slots(name: str) -> None:
    one = play_matches(name, slots=1, matches=200)
    assert all(isinstance(match[-1], list) for match in one.values())
    assert play_matches(name, slots=7, matches=200) == one
    assert play_matches(name, slots=1024, matches=200) == one


@pytest.mark.parametrize("name", ["kuhn", "leduc", "liars_dice", "card_rps"])
def test_another_seed_gives_other_deals(name: str) -> None:
    first, second = started(name, 100, seed=1), started(name, 100, seed=2)
    assert everything(first)["matches"] != everything(second)["matches"]


def test_a_game_that_was_not_started_waits_for_nobody() -> None:
    assert len(make("leduc", slots=3).decisions()) == 0


def test_rows_come_by_slot_and_show_match_and_turn() -> None:
    game = make("leduc", slots=4)
    game.start([3, 1], [30, 10])
    decisions = game.decisions()
    assert decisions.slot.tolist() == [1, 3]
    assert decisions.match.tolist() == [10, 30]
    assert decisions.seat.tolist() == [0, 0]
    assert decisions.turn.tolist() == [0, 0]
    game.act([1], [1])
    decisions = game.decisions()
    assert decisions.seat.tolist() == [0, 1]
    assert decisions.turn.tolist() == [0, 1]


def test_matches_of_one_deal_share_chance() -> None:
    game = make("leduc", slots=3, seed=4)
    game.start([0, 1, 2], [5, 6, 7], {"deal": [5, 5, 8]})
    while len(decisions := game.decisions()):
        game.act(np.arange(len(decisions)), np.ones(len(decisions), np.int32))
    first, second, other = (game.state(slot) for slot in range(3))
    assert first["public"] is not None
    assert first == second
    assert first != other
    game.start([0], [8])
    assert game.state(0)["cards"] == other["cards"]


def test_one_option_value_serves_all_matches() -> None:
    game = make("kuhn", slots=50)
    game.start(range(50), range(50), {"deal": 3})
    assert len({tuple(game.state(slot)["cards"]) for slot in range(50)}) == 1


def test_a_restarted_slot_forgets_its_last_match() -> None:
    game = started("kuhn", 1)
    for _ in range(2):
        game.decisions()
        game.act([0], [0])
    assert game.done.all()
    game.start([0], [1])
    for name in PER_SEAT:
        assert not getattr(game, name).any(), name
    assert game.decisions().turn.tolist() == [0]


@pytest.mark.parametrize(
    ("slots", "ids", "options", "words"),
    [
        ([2], [0], None, "Slot 2"),
        ([-1], [0], None, "Slot -1"),
        ([0.5], [0], None, "whole numbers"),
        ([True, False], [0, 1], None, "whole numbers"),
        ([0, 1], [0], None, "one id"),
        ([0], [-1], None, "at least 0"),
        ([0], [1.5], None, "whole numbers"),
        ([0], [0], {"cards": 1}, "no match option 'cards'"),
        ([0], [0], {"deal": -1}, "deal must lie in 0"),
        ([0, 1], [0, 1], {"deal": [1, 2, 3]}, "3 values for 2 matches"),
    ],
)
def test_a_wrong_start_is_refused_and_nothing_changes(
    slots: Any, ids: Any, options: Any, words: str
) -> None:
    game = started("leduc", 2)
    before = everything(game)
    with pytest.raises(GameError, match=words):
        game.start(slots, ids, options)
    assert everything(game) == before


@pytest.mark.parametrize(("slots", "seed"), [(0, 0), (-1, 0), (2**30, 0), (1, -1), (1, 2**63)])
def test_an_impossible_size_or_seed_is_refused(slots: int, seed: int) -> None:
    with pytest.raises(GameError, match=r"slots is|seed is"):
        make("kuhn", slots=slots, seed=seed)


# Answering.


@pytest.mark.parametrize(
    ("rows", "actions", "words"),
    [
        ([0, 1], [1, 0], r"\[0\] is not legal for seat 0 of match 1 at turn 0"),
        ([0, 1], [1, 3], "not legal"),
        ([0, 1], [1, -1], "not legal"),
        ([0, 1], np.array([1, 2**32 + 1]), "not legal"),
        ([0, 1, 0], [1, 1, 1], "Row 0 was answered already"),
        ([0, 3], [1, 1], "Row 3 was answered, but 3 decisions are ready"),
        ([-1], [1], "Row -1"),
        ([0.0], [1], "whole numbers"),
        ([True, False, True], [1, 1, 1], "whole numbers"),
        ([0, 1], [1], "one per decision and head"),
        ([0, 1], [[1, 1], [1, 1]], "one per decision and head"),
        ([0], [1.0], "whole numbers"),
        ([0], [True], "whole numbers"),
    ],
)
def test_a_wrong_answer_is_refused_and_nothing_changes(rows: Any, actions: Any, words: str) -> None:
    game = started("leduc", 3)
    game.decisions()
    before = everything(game)
    with pytest.raises(GameError, match=words):
        game.act(rows, actions)
    assert everything(game) == before
    assert game.act([0, 1, 2], [1, 1, 1]).tolist() == []
    assert game.decisions().turn.tolist() == [1, 1, 1]


def test_a_row_is_answered_once() -> None:
    game = started("leduc", 2)
    game.decisions()
    game.act([0], [1])
    with pytest.raises(GameError, match="Row 0 was answered already"):
        game.act([0], [1])
    game.act([1], [1])


@pytest.mark.parametrize(("match", "deal"), [(9, 9), (0, 9)])
def test_a_row_of_a_slot_that_was_started_again_is_refused(match: int, deal: int) -> None:
    game = started("phantom_ttt", 2)
    game.decisions()
    game.start([0], [match], {"deal": deal})
    with pytest.raises(GameError, match=r"Row 0 .* another now"):
        game.act([0], [0])
    game.act([1], [0])


def test_a_row_of_a_match_that_was_redrawn_or_loaded_wants_a_new_look() -> None:
    game = started("phantom_ttt", 2)
    saved = game.save([1])
    game.decisions()
    game.resample_hidden(0, 1, Stream.keyed(0, 0, 1, "resample"))
    game.load([1], saved)
    for row in (0, 1):
        with pytest.raises(GameError, match=f"Row {row} "):
            game.act([row], [0])
    game.decisions()
    game.act([0, 1], [0, 0])


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_answers_of_any_whole_number_type_are_taken(dtype: Any, shape: Any) -> None:
    game = started("leduc", 3)
    game.decisions()
    game.act(np.arange(3, dtype=np.int32), np.full(shape, 2, dtype))
    assert [game.state(slot)["moves"][0] for slot in range(3)] == [[2]] * 3


def test_no_answers_are_no_move() -> None:
    game = started("leduc", 2)
    game.decisions()
    assert game.act([], []).tolist() == []
    assert game.decisions().turn.tolist() == [0, 0]


@pytest.mark.parametrize("name", GAMES)
def test_answers_in_parts_and_in_any_order_give_the_same_matches(name: str) -> None:
    def play(parts: int) -> dict[str, bytes]:
        game = started(name, 40, seed=6)
        bot = make_bot(name, "random", game.spec, 6)
        while len(decisions := game.decisions()):
            rows = np.arange(len(decisions))[:: 1 if parts == 1 else -1]
            actions = bot.act(decisions, rows)
            for part in range(parts):
                game.act(rows[part::parts], actions[part::parts])
        return everything(game)

    assert play(1) == play(3)


@pytest.mark.parametrize("name", GAMES)
def test_an_answer_is_applied_once_to_its_own_match_and_to_no_other(name: str) -> None:
    slots, rng = 16, np.random.default_rng(5)
    game = make(name, slots=slots, seed=4)
    game.start(range(slots), range(100, 100 + slots))
    answered: list[list[int]] = [[] for _ in range(slots)]
    result: list[float | None] = [None] * slots
    while len(decisions := game.decisions()):
        playing = [slot for slot in range(slots) if result[slot] is None]
        assert decisions.slot.tolist() == playing
        assert decisions.match.tolist() == [100 + slot for slot in playing]
        assert decisions.turn.tolist() == [len(answered[slot]) for slot in playing]
        rows = rng.permutation(len(decisions))[: rng.integers(1, len(decisions) + 1)]
        legal = np.where(decisions.mask, rng.random(decisions.mask.shape), -1.0)
        actions, touched = legal.argmax(1)[rows], decisions.slot[rows].tolist()
        ended = game.act(rows, actions)
        for slot, action in zip(touched, actions.tolist(), strict=True):
            answered[slot].append(action)
        states = [game.state(slot) for slot in range(slots)]
        assert [PLAYED[name](state) for state in states] == answered
        pairs = zip(states, answered, strict=True)
        result = [RULES[name](state, moves) for state, moves in pairs]
        assert ended.tolist() == sorted(slot for slot in touched if result[slot] is not None)
        paid = [[value or 0.0, -(value or 0.0)] for value in result]
        assert game.returns.tolist() == game.reward.tolist() == paid
        assert game.done.tolist() == [[value is not None] * 2 for value in result]
    assert None not in result
    assert len({tuple(moves) for moves in answered}) > 2


def ticks(game: Any) -> list[int]:
    """Return how far each match of an arena has come by its own clock."""
    layout = match_dtype(game.spec.seats)
    matches = np.ascontiguousarray(game.save(range(game.slots))["matches"])
    return [int(row[: layout.itemsize].view(layout)[0]["tick"]) for row in matches]


def test_seats_that_choose_together_go_on_once_when_the_last_has_answered() -> None:
    sizes: dict[str, Any] = {"slots": 3, "seed": 2, "seats": 3, "duration": 5.0}
    game, together = (make("arena", ticks_per_decision=3, **sizes) for _ in range(2))
    for arena in (game, together):
        arena.start(range(3), range(3))
    rng = np.random.default_rng(1)
    for turn in range(12):
        decisions = game.decisions()
        asked = list(zip(decisions.slot.tolist(), decisions.seat.tolist(), strict=True))
        assert asked == [(slot, seat) for slot in range(3) for seat in range(3)]
        assert decisions.turn.tolist() == [turn] * 9
        masks = np.split(decisions.mask, np.cumsum([h.size for h in game.spec.heads])[:-1], axis=1)
        drawn = [np.where(mask, rng.random(mask.shape), -1.0).argmax(1) for mask in masks]
        actions = np.stack(drawn, 1).astype(np.int32)
        waits = [3, 3, 3]
        for row in rng.permutation(9).tolist():
            game.act([row], actions[[row]])
            waits[asked[row][0]] -= 1
            assert ticks(game) == [3 * turn + (0 if left else 3) for left in waits]
        together.decisions()
        together.act(np.arange(9), actions)
        assert everything(together) == everything(game)


def test_a_seat_that_has_answered_is_not_asked_again() -> None:
    game = make("arena", slots=2, seed=2, seats=3)
    game.start(range(2), range(2))
    decisions = game.decisions()
    game.act([1, 3], np.zeros((2, len(game.spec.heads)), np.int32))
    decisions = game.decisions()
    asked = list(zip(decisions.slot.tolist(), decisions.seat.tolist(), strict=True))
    assert asked == [(0, 0), (0, 2), (1, 1), (1, 2)]
    assert decisions.turn.tolist() == [0] * 4


def test_finished_slots_come_in_order() -> None:
    game = started("kuhn", 40)
    game.decisions()
    assert game.act(np.arange(40), np.ones(40, np.int32)).tolist() == []
    game.decisions()
    rows = np.roll(np.arange(40)[::-1], 11)
    ended = game.act(rows, np.zeros(40, np.int32))
    assert ended.dtype == np.int32
    assert ended.tolist() == list(range(40))


# Rewards, returns, places.


def test_rewards_returns_and_places_of_a_called_bet() -> None:
    game = started("kuhn", 200)
    for _ in range(2):
        assert not game.done.any()
        assert not game.reward.any()
        assert not game.returns.any()
        decisions = game.decisions()
        game.act(np.arange(200), np.ones(200, np.int32))
        assert (decisions.seat == decisions.seat[0]).all()
    cards = np.array([game.state(slot)["cards"] for slot in range(200)])
    higher = cards > cards[:, ::-1]
    np.testing.assert_array_equal(game.returns, np.where(higher, 2, -2))
    np.testing.assert_array_equal(game.reward, game.returns)
    np.testing.assert_array_equal(game.score, game.returns)
    np.testing.assert_array_equal(game.place, np.where(higher, 1, 2))
    assert game.done.all()
    assert not game.cut_off.any()
    assert not game.shaping.any()
    assert len(game.decisions()) == 0


def test_equals_share_the_first_place() -> None:
    game = started("phantom_ttt", 1)
    for cell in [0, 1, 2, 4, 3, 5, 7, 6, 8]:  # fills the board without a line
        game.decisions()
        game.act([0], [cell])
    assert game.draw(0) == "xox\nxoo\noxx"
    assert game.returns.tolist() == [[0, 0]]
    assert game.place.tolist() == [[1, 1]]
    assert game.done.all()


def test_results_stay_until_the_slot_is_started_again() -> None:
    game = started("kuhn", 2)
    for _ in range(2):
        game.decisions()
        game.act([0], [0])
    kept = game.returns[0].tolist()
    assert kept in ([1, -1], [-1, 1])
    for _ in range(2):
        game.decisions()
        game.act([0], [1])
    assert game.returns[0].tolist() == kept
    assert sorted(game.returns[1].tolist()) == [-2, 2]


# What is handed out.


@pytest.mark.parametrize("name", PER_SEAT)
def test_arrays_per_seat_are_read_only(name: str) -> None:
    game = started("kuhn", 2)
    array = getattr(game, name)
    assert array.shape == (2, 2)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1
    with pytest.raises(AttributeError):
        setattr(game, name, np.zeros((2, 2)))


@pytest.mark.parametrize("name", ["slot", "seat", "match", "turn", "observation", "mask"])
def test_arrays_of_decisions_are_read_only(name: str) -> None:
    game = started("kuhn", 2)
    array = getattr(game.decisions(), name)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_the_privileged_view_is_read_only() -> None:
    game = started("kuhn", 2)
    game.decisions()
    with pytest.raises(ValueError, match="read-only"):
        game.privileged()[0, 0] = 1


def test_decisions_have_the_layout_of_the_spec() -> None:
    for name in GAMES:
        game = started(name, 5)
        spec, decisions = game.spec, game.decisions()
        assert decisions.observation.shape == (5, spec.observation.length)
        assert decisions.observation.dtype == spec.observation.dtype
        assert decisions.mask.shape == (5, spec.choices)
        assert decisions.mask.dtype == np.bool_
        assert game.privileged().shape == (5, spec.privileged.length)


# Saving.


@pytest.mark.parametrize("name", GAMES)
def test_saved_matches_go_on_as_they_would_have(name: str) -> None:
    game = started(name, 30, seed=8)
    bot = make_bot(name, "random", game.spec, 8)

    def go_on(playing: Any) -> dict[str, bytes]:
        while len(decisions := playing.decisions()):
            rows = np.arange(len(decisions))
            playing.act(rows, bot.act(decisions, rows))
        return everything(playing)

    for _ in range(game.spec.facts.longest):
        saved = game.save(range(30))
        elsewhere = make(name, slots=40, seed=8)
        elsewhere.load(range(10, 40), saved)
        moved_on = make(name, slots=30, seed=8)
        moved_on.load(range(30), elsewhere.save(range(10, 40)))
        assert everything(moved_on) == everything(game)
        unbroken = go_on(game)
        assert go_on(moved_on) == unbroken
        game.load(range(30), saved)
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        game.act(rows, bot.act(decisions, rows))


def test_a_save_is_a_copy() -> None:
    game = started("leduc", 2)
    saved = game.save([0, 1])
    kept = {name: array.copy() for name, array in saved.items()}
    game.decisions()
    game.act([0, 1], [2, 2])
    for name, array in saved.items():
        np.testing.assert_array_equal(array, kept[name])
        assert array.dtype != object


@pytest.mark.parametrize(
    ("foreign", "words"),
    [
        (lambda: started("liars_dice", 2).save([0, 1]), "another game"),
        (lambda: started("leduc", 2, seed=1).save([0, 1]), "seed 0"),
        (lambda: started("leduc", 2).save([0]), "lack a fitting"),
        (lambda: {**started("leduc", 2).save([0, 1]), "turns": np.zeros(2)}, "'turns'"),
        (dict, "lack a fitting"),
    ],
)
def test_foreign_saves_are_refused_and_nothing_changes(foreign: Any, words: str) -> None:
    game = started("leduc", 2)
    game.decisions()
    game.act([0, 1], [2, 1])
    before = everything(game)
    with pytest.raises(GameError, match=words):
        game.load([0, 1], foreign())
    assert everything(game) == before


def test_each_saved_field_is_needed() -> None:
    saved = started("leduc", 2).save([0, 1])
    for name in saved:
        with pytest.raises(GameError, match=f"'{name}'"):
            make("leduc", slots=2).load([0, 1], {k: v for k, v in saved.items() if k != name})


def test_a_seed_is_the_same_whatever_number_type_holds_it() -> None:
    saved = started("leduc", 2, seed=np.int64(5)).save([0, 1])  # type: ignore[arg-type]
    make("leduc", slots=2, seed=5).load([0, 1], saved)


@pytest.mark.parametrize("size", [{"slots": 2**40}, {"slots": 1.0}, {"seed": 2**63}, {"seed": "1"}])
def test_a_game_of_an_impossible_size_is_refused(size: Any) -> None:
    with pytest.raises(GameError, match="give"):
        make("kuhn", **size)


def test_the_privileged_view_of_a_match_that_has_gone_on_is_refused() -> None:
    game = started("leduc", 2)
    game.decisions()
    game.act([1], [1])
    with pytest.raises(GameError, match="row 1 has gone on"):
        game.privileged()
    game.decisions()
    assert len(game.privileged()) == 2


def test_the_privileged_view_of_a_match_that_has_ended_is_refused() -> None:
    game = started("kuhn", 2)
    game.decisions()
    game.act([0, 1], [1, 1])
    game.decisions()
    assert game.act([1], [0]).tolist() == [1]
    with pytest.raises(GameError, match="row 1 has gone on"):
        game.privileged()
    game.decisions()
    assert len(game.privileged()) == 1


# Threads and the rest.


def test_games_in_two_threads_do_not_disturb_each_other() -> None:
    alone = play_matches("leduc", slots=64, matches=300)
    results: list[Any] = [None, None]

    def work(i: int) -> None:
        results[i] = play_matches("leduc", slots=64, matches=300)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [alone, alone]


def test_a_slot_that_is_not_there_cannot_be_drawn() -> None:
    with pytest.raises(GameError, match="slot is 1"):
        make("kuhn").draw(1)


@pytest.mark.parametrize(
    ("name", "bot"),
    [("leduc", "random"), ("beastybar", "heuristic"), ("beastybar", "outcome"), ("arena", "kiter")],
)
def test_a_bot_refuses_rows_that_are_not_there_and_another_games_decisions(
    name: str, bot: str
) -> None:
    game = started(name, 2)
    player = make_bot(name, bot, game.spec, 1)
    decisions = game.decisions()
    for rows in ([len(decisions)], [-1], [0, 2**40]):
        with pytest.raises(GameError, match="beyond"):
            player.act(decisions, np.array(rows))
    other = make("beastybar", seats=4) if name == "beastybar" else make("liars_dice")
    if name == "arena":
        other = make("arena", observation="classic19")
    other.start([0], [0])
    with pytest.raises(GameError, match="another game"):
        player.act(other.decisions(), np.array([0]))


def test_the_random_bot_draws_each_legal_choice_about_as_often() -> None:
    game = started("liars_dice", 13000)
    bot = make_bot("liars_dice", "random", game.spec, 1)
    decisions = game.decisions()
    counts = np.bincount(bot.act(decisions, np.arange(13000))[:, 0], minlength=13)
    assert counts[12] == 0  # nothing to doubt yet
    expected = 13000 / 12
    assert abs(counts[:12] - expected).max() < 5 * expected**0.5
