"""No seat of the arena has an advantage: exact statements about mirrored and relabelled play."""

import numpy as np
import pytest
from arena_positions import edited, fresh, state

from lanista.games.random_bot import RandomBot

BODY = ("vx", "vy", "hp", "dealt", "ammo", "fire_wait", "dash_wait", "shield_wait", "died")


def turned(action, quarters):
    """Return an action turned by quarter turns about the origin."""
    move_x, move_y, aim_x, aim_y, *rest = action
    for _ in range(quarters):
        move_x, move_y, aim_x, aim_y = 10 - move_y, move_x, 10 - aim_y, aim_x
    return [move_x, move_y, aim_x, aim_y, *rest]


def turned_point(x, y, quarters):
    for _ in range(quarters):
        x, y = -y, x
    return x, y


@pytest.mark.parametrize(("seats", "quarters"), [(2, 2), (4, 1)])
def test_mirrored_actions_give_mirrored_trajectories_to_the_last_bit(seats, quarters):
    """Every seat copies seat 0, turned into its own place: all stay alike until they all end.

    Nobody picks up items: those alone are not mirrored, chance drops them one at a time.
    """
    game = fresh(40, seats=seats)
    bot = RandomBot(game.spec, 4)
    damage = 0.0
    while len(decisions := game.decisions()):
        lead = np.flatnonzero(decisions.seat == 0)
        actions = bot.act(decisions, lead)
        actions[:, 6] = 0
        # Straight at the middle now and then, so that shots meet bodies.
        own = decisions.observation[lead, :2]
        towards = 5 - np.rint(5 * own / np.abs(own).max(axis=1, keepdims=True))
        close = decisions.turn[lead] % 3 > 0
        actions[close, :2] = towards[close]
        aimed = close & (actions[:, 4] == 1)
        actions[aimed, 2:4] = towards[aimed]
        everybody = [
            turned(action, quarters * seat) for action in actions.tolist() for seat in range(seats)
        ]
        game.act(np.arange(len(decisions)), np.array(everybody, np.int32))
        for slot in range(game.slots):
            bodies = state(game, slot)["body"]
            for seat in range(1, seats):
                quarter = quarters * seat
                assert turned_point(bodies[0]["x"], bodies[0]["y"], quarter) == (
                    bodies[seat]["x"],
                    bodies[seat]["y"],
                )
                assert bodies[0]["hp"] == bodies[seat]["hp"]
                assert bodies[0]["ammo"] == bodies[seat]["ammo"]
            damage += bodies["dealt"].sum()
    assert damage > 0
    assert (game.returns == 0).all()
    assert (game.place == 1).all()


@pytest.mark.parametrize("seats", [2, 3, 8])
def test_seats_that_change_places_change_results_and_nothing_else(seats):
    """The same position with other seat numbers and the same actions is the same match."""
    game = fresh(2, seats=seats, duration=40.0)
    rng = np.random.default_rng(seats)
    new = np.roll(np.arange(seats), 1)  # seat s of slot 0 is seat new[s] of slot 1
    with edited(game, 0) as match:
        # Close together, so that much happens.
        for seat in range(seats):
            match["body"][seat]["x"] *= 0.4
            match["body"][seat]["y"] *= 0.4
        original = match.copy()
    with edited(game, 1) as match:
        match["body"][new] = original["body"][:seats]
        match["chance"] = original["chance"]
    while len(decisions := game.decisions()):
        first = decisions.slot == 0
        actions = {
            int(seat): [int(rng.choice(np.flatnonzero(head))) for head in heads_of(mask)]
            for seat, mask in zip(decisions.seat[first], decisions.mask[first], strict=True)
        }
        old = {int(new[seat]): seat for seat in range(seats)}
        answers = [
            actions[int(seat) if slot == 0 else old[int(seat)]]
            for slot, seat in zip(decisions.slot, decisions.seat, strict=True)
        ]
        game.act(np.arange(len(decisions)), np.array(answers, np.int32))
        a, b = state(game, 0), state(game, 1)
        assert np.array_equal(a["body"][:seats], b["body"][new])
        assert np.array_equal(a["item"], b["item"])
    assert np.array_equal(game.returns[0], game.returns[1][new])
    assert state(game, 0)["body"]["dealt"].sum() > 0


def heads_of(mask):
    return np.split(mask, np.cumsum([11, 11, 11, 11, 2, 3]))


@pytest.mark.parametrize("seats", range(2, 9))
def test_everybody_starts_equally_far_from_the_middle_and_from_the_next(seats):
    bodies = state(fresh(1, 77, seats=seats))["body"][:seats]
    away = np.hypot(bodies["x"], bodies["y"])
    gaps = np.hypot(
        bodies["x"] - np.roll(bodies["x"], 1),
        bodies["y"] - np.roll(bodies["y"], 1),
    )
    assert away == pytest.approx(away[0], abs=1e-12)
    assert gaps == pytest.approx(gaps[0], abs=1e-12)
    assert 6.0 + seats / 2 <= away[0] <= 8.0 + seats / 2
