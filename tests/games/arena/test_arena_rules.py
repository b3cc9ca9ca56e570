"""The rules of the arena, one by one, from the rulebook's numbers."""

import itertools
import math

import numpy as np
import pytest
from arena_positions import (
    ABILITY_AT,
    FIRE_AT,
    INTERACT_AT,
    edited,
    fresh,
    mask_of,
    order,
    place,
    play,
    put_item,
    state,
)

from lanista.games import GameError

STAND = order()
DASH, SHIELD = 1, 2
HEALTH_ITEM, AMMO_ITEM = 1, 2


def facing(distance=3.0, **settings):
    """Two seats on the x axis, seat 1 to the right of seat 0."""
    game = fresh(**settings)
    with edited(game) as match:
        place(match, (0.0, 0.0), (distance, 0.0))
    return game


def fire_once(game, seat, aim, decisions=6):
    """Seat fires one shot, everybody else stands, and it is given time to arrive."""
    orders = [STAND] * game.spec.seats
    orders[seat] = order(aim=aim)
    play(game, *orders)
    play(game, *[STAND] * game.spec.seats, times=decisions - 1)


def test_killing_the_last_enemy_ends_the_match_at_plus_one():
    game = facing()
    with edited(game) as match:
        match["body"][1]["hp"] = 10.0
    fire_once(game, 0, (1, 0))
    assert game.returns[0].tolist() == [1.0, -1.0]
    assert game.reward[0].tolist() == [1.0, -1.0]
    assert game.place[0].tolist() == [1, 2]
    assert game.score[0].tolist() == [100.0, 0.0]
    assert game.done[0].all()
    assert not game.cut_off[0].any()
    assert len(game.decisions()) == 0


def test_the_time_limit_is_a_draw_at_zero_and_not_a_truncation():
    game = fresh(duration=1.0)
    play(game, STAND, STAND, times=game.spec.facts.longest)
    assert game.done[0].all()
    assert game.returns[0].tolist() == [0.0, 0.0]
    assert game.place[0].tolist() == [1, 1]
    assert not game.cut_off[0].any()
    assert state(game)["tick"] == 30


def test_deaths_in_the_same_tick_are_a_draw():
    game = facing(2.5)
    with edited(game) as match:
        match["body"]["hp"][:2] = 5.0
    play(game, order(aim=(1, 0)), order(aim=(-1, 0)))
    play(game, STAND, STAND)
    assert game.done[0].all()
    assert game.returns[0].tolist() == [0.0, 0.0]
    assert state(game)["alive"] == 0


def test_a_dead_seat_is_paid_at_once_and_asked_no_more():
    game = fresh(seats=3)
    with edited(game) as match:
        place(match, (0.0, 0.0), (3.0, 0.0), (0.0, 9.0))
        match["body"][1]["hp"] = 10.0
    fire_once(game, 0, (1, 0))
    assert game.done[0].tolist() == [False, True, False]
    assert game.reward[0].tolist() == [0.0, -1.0, 0.0]
    assert game.decisions().seat.tolist() == [0, 2]
    with edited(game) as match:
        match["body"][2]["hp"] = 10.0
    fire_once(game, 0, (0, 1))
    assert game.returns[0].tolist() == [1.0, -1.0, 0.0]
    assert game.reward[0].tolist() == [1.0, -1.0, 0.0]
    assert game.place[0].tolist() == [1, 3, 2]


def test_survivors_share_the_first_place_at_the_time_limit():
    game = fresh(seats=3, duration=2.0)
    with edited(game) as match:
        place(match, (0.0, 0.0), (3.0, 0.0), (0.0, 9.0))
        match["body"][1]["hp"] = 10.0
    fire_once(game, 0, (1, 0), decisions=20)
    assert game.place[0].tolist() == [1, 3, 1]
    assert game.returns[0].tolist() == [0.5, -1.0, 0.5]


@pytest.mark.parametrize("move", [(1, 0), (0, -1), (1, 1), (-1, 1), (1, -0.6), (0.8, 0.8)])
def test_a_diagonal_is_not_faster(move):
    game = fresh()
    start = state(game)["body"][0].copy()
    play(game, order(move=move), STAND, times=10)
    body = state(game)["body"][0]
    walked = math.hypot(body["x"] - start["x"], body["y"] - start["y"])
    assert walked == pytest.approx(5.0, abs=1e-12)  # one second at speed 5
    assert math.hypot(body["vx"], body["vy"]) == pytest.approx(5.0, abs=1e-12)


def test_a_short_move_is_slower():
    game = facing(9.0)
    play(game, order(move=(0.4, 0)), STAND, times=10)
    assert state(game)["body"][0]["x"] == pytest.approx(2.0, abs=1e-12)


def test_walls_stop_at_fifty():
    game = fresh()
    with edited(game) as match:
        place(match, (49.9, -49.9))
    play(game, order(move=(1, -1)), STAND, times=3)
    body = state(game)["body"][0]
    assert (body["x"], body["y"]) == (50.0, -50.0)


def test_a_shot_flies_twenty_a_second_and_takes_ten():
    game = facing(9.0)
    play(game, order(aim=(1, 0)), STAND)
    shot = state(game)["shot"][0]
    assert shot["x"] == pytest.approx(2.0, abs=1e-12)  # three ticks of 20/30
    assert state(game)["body"][0]["ammo"] == 29
    play(game, STAND, STAND, times=4)
    assert state(game)["shots"] == 0
    assert state(game)["body"][1]["hp"] == 90.0
    assert state(game)["body"][0]["dealt"] == 10.0


@pytest.mark.parametrize(("aside", "hp"), [(0.99, 90.0), (1.01, 100.0)])
def test_a_shot_hits_within_one_unit(aside, hp):
    game = fresh()
    with edited(game) as match:
        # At x = 2 after three ticks, right beside the enemy.
        place(match, (0.0, 0.0), (2.0, aside))
    fire_once(game, 0, (1, 0))
    assert state(game)["body"][1]["hp"] == hp


def test_a_shot_lives_five_seconds():
    game = facing()
    with edited(game) as match:
        place(match, (0.0, 0.0), (0.0, 40.0))
        shot = match["shot"][0]
        shot["x"], shot["y"], shot["vx"], shot["owner"], shot["life"] = -20.0, 0.0, 0.1, 0, 150
        match["shots"] = 1
    play(game, STAND, STAND, times=49)
    assert state(game)["shots"] == 1
    play(game, STAND, STAND)
    assert state(game)["shots"] == 0


def test_a_shot_never_hits_its_owner_and_hits_only_the_nearest():
    game = fresh(seats=3)
    with edited(game) as match:
        place(match, (0.0, 0.0), (2.0, 0.5), (2.0, -0.6))
    play(game, order(aim=(1, 0)), STAND, STAND)
    assert state(game)["body"]["hp"][:3].tolist() == [100.0, 90.0, 100.0]


def test_fire_rests_a_fifth_of_a_second_and_aim_with_it():
    game = facing(9.0)
    assert mask_of(game, 0)[FIRE_AT : FIRE_AT + 2].all()
    play(game, order(aim=(0, 1)), STAND)
    mask = mask_of(game, 0)
    assert mask[FIRE_AT : FIRE_AT + 2].tolist() == [True, False]
    for start in (22, 33):
        assert np.flatnonzero(mask[start : start + 11]).tolist() == [5]
    play(game, STAND, STAND)
    assert mask_of(game, 0)[FIRE_AT + 1]


def test_without_ammo_fire_is_refused_and_nothing_changes():
    game = facing()
    with edited(game) as match:
        match["body"][0]["ammo"] = 0
    before = {name: array.copy() for name, array in game.save([0]).items()}
    decisions = game.decisions()
    assert decisions.mask[0, FIRE_AT : FIRE_AT + 2].tolist() == [True, False]
    with pytest.raises(GameError, match="not legal for seat 0"):
        game.act([0, 1], np.array([order(aim=(1, 0)), STAND], np.int32))
    after = game.save([0])
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_fire_without_a_direction_keeps_the_ammo():
    game = facing()
    play(game, [5, 5, 5, 5, 1, 0, 0], STAND)
    assert state(game)["shots"] == 0
    assert state(game)["body"][0]["ammo"] == 30


def test_a_dash_covers_three_units_in_a_fifth_of_a_second_and_rests_three_seconds():
    game = facing(9.0)
    play(game, order(move=(0, 1), ability=DASH), STAND)
    play(game, order(move=(0, 1)), STAND)
    assert state(game)["body"][0]["y"] == pytest.approx(3.0, abs=1e-12)
    play(game, order(move=(0, 1)), STAND)
    assert state(game)["body"][0]["y"] == pytest.approx(3.5, abs=1e-12)
    play(game, STAND, STAND, times=26)
    assert not mask_of(game, 0)[ABILITY_AT + DASH]
    play(game, STAND, STAND)
    assert mask_of(game, 0)[ABILITY_AT : ABILITY_AT + 3].all()


def test_a_shield_takes_shots_for_half_a_second_and_rests_five():
    game = facing(2.0)
    play(game, STAND, order(ability=SHIELD))
    for _ in range(4):
        fire = order(aim=(1, 0)) if mask_of(game, 0)[FIRE_AT + 1] else STAND
        play(game, fire, STAND)
    assert state(game)["body"][0]["ammo"] == 28
    assert state(game)["body"][1]["hp"] == 100.0
    assert state(game)["body"][0]["dealt"] == 0.0
    play(game, order(aim=(1, 0)), STAND)  # 15 ticks are over
    assert state(game)["body"][1]["hp"] == 90.0
    assert mask_of(game, 1)[ABILITY_AT + SHIELD] == 0
    play(game, STAND, STAND, times=44)
    assert mask_of(game, 1)[ABILITY_AT + SHIELD] == 1


def test_the_zone_shrinks_from_fifty_to_three_and_hurts_more_with_time():
    game = fresh(duration=60.0)
    with edited(game) as match:
        place(match, (0.0, 0.0), (45.0, 45.0))
    play(game, STAND, STAND, times=10)
    hp = state(game)["body"]["hp"]
    assert hp[0] == 100.0
    # Rate 1 + 4 t / 1800 a second over ticks 0 to 29.
    assert hp[1] == pytest.approx(100.0 - sum((1 + 4 * t / 1800) / 30 for t in range(30)))
    radii = [float(game.decisions().observation[0, 11]) * 50]
    for _ in range(58):
        with edited(game) as match:
            match["body"]["hp"][:2] = 100.0
        play(game, STAND, STAND, times=10)
        radii.append(float(game.decisions().observation[0, 11]) * 50)
    assert radii[0] == pytest.approx(50 - 47 / 40)
    assert all(a > b for a, b in itertools.pairwise(radii[:40]))
    assert radii[39:] == pytest.approx([3.0] * 20)
    assert state(game)["body"]["hp"][0] == 100.0
    assert 100.0 - state(game)["body"]["hp"][1] == pytest.approx(1 + 4 * 58.5 / 60, abs=0.01)


def test_two_who_only_stand_are_ended_by_the_zone_or_the_clock():
    game = fresh()
    play(game, STAND, STAND, times=game.spec.facts.longest)
    assert len(game.decisions()) == 0
    assert (state(game)["body"]["hp"][:2] < 60.0).all()


def test_one_item_falls_every_five_seconds_and_never_more_than_five_lie_about():
    game = fresh(duration=60.0)
    counts = []
    for _ in range(8):
        play(game, STAND, STAND, times=49)
        before = (state(game)["item"]["kind"] > 0).sum()
        play(game, STAND, STAND)
        items = state(game)["item"]
        counts.append((before, (items["kind"] > 0).sum()))
    assert counts == [(min(i, 5), min(i + 1, 5)) for i in range(8)]
    assert set(items["kind"].tolist()) <= {HEALTH_ITEM, AMMO_ITEM}
    assert (np.hypot(items["x"], items["y"]) <= 15.0).all()


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        (HEALTH_ITEM, (50.0, 3), (75.0, 3)),
        (HEALTH_ITEM, (90.0, 3), (100.0, 3)),
        (AMMO_ITEM, (50.0, 3), (50.0, 18)),
        (AMMO_ITEM, (50.0, 20), (50.0, 30)),
    ],
)
def test_an_item_within_two_is_picked_up(kind, before, after):
    game = facing(9.0)
    with edited(game) as match:
        match["body"][0]["hp"], match["body"][0]["ammo"] = before
        put_item(match, 2, 1.9, 0.0, kind)
    play(game, order(interact=1), STAND)
    body = state(game)["body"][0]
    assert (body["hp"], body["ammo"]) == after
    assert state(game)["item"]["kind"].tolist() == [0] * 5


def test_an_item_out_of_reach_cannot_be_asked_for():
    game = facing(9.0)
    with edited(game) as match:
        put_item(match, 0, 2.01, 0.0, HEALTH_ITEM)
    assert mask_of(game, 0)[INTERACT_AT : INTERACT_AT + 2].tolist() == [True, False]
    with edited(game) as match:
        put_item(match, 0, 2.0, 0.0, HEALTH_ITEM)
    assert mask_of(game, 0)[INTERACT_AT : INTERACT_AT + 2].all()


@pytest.mark.parametrize(("x", "hp"), [(1.4, [75.0, 50.0]), (1.6, [50.0, 75.0]), (1.5, [75.0] * 2)])
def test_the_nearer_of_two_gets_the_item_and_equals_both_do(x, hp):
    game = facing(3.0)
    with edited(game) as match:
        match["body"]["hp"][:2] = 50.0
        put_item(match, 0, x, 0.0, HEALTH_ITEM)
    play(game, order(interact=1), order(interact=1))
    assert state(game)["body"]["hp"][:2].tolist() == hp


def test_shaping_is_the_change_of_own_less_the_rivals_hp_and_no_reward():
    game = facing(2.0)
    play(game, order(aim=(1, 0)), STAND)
    assert game.shaping[0].tolist() == pytest.approx([0.1, -0.1])
    assert game.reward[0].tolist() == [0.0, 0.0]
    play(game, STAND, STAND)
    assert game.shaping[0].tolist() == [0.0, 0.0]
