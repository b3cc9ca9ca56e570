"""What a seat sees, what it does not, and that nothing hidden reaches it or a bot."""

import numpy as np
import pytest
from arena_positions import edited, fresh, place, put_item, state, view_of

from lanista.games import Stream
from lanista.games.arena import ENTRY
from lanista.games.arena.layout import CLASSIC, RICH
from lanista.games.random_bot import RandomBot

NAMES = [*ENTRY.bots, "random"]
FAR = (40.0, 40.0)


def bot_of(name, spec, seed=2):
    return RandomBot(spec, seed) if name == "random" else ENTRY.bots[name](spec, seed)


def after_some_play(turns, **settings):
    """Matches of mixed bots, a few turns in."""
    game = fresh(24, 6, **settings)
    cast = [bot_of(name, game.spec) for name in ("scavenger", "random", "kiter", "rusher")]
    for _ in range(turns):
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        actions = np.zeros((len(rows), 7), np.int32)
        for i, bot in enumerate(cast):
            mine = rows[(decisions.slot + decisions.seat) % len(cast) == i]
            actions[mine] = bot.act(decisions, mine)
        game.act(rows, actions)
    return game


def test_a_match_redrawn_at_every_turn_stays_within_its_memory():
    game = fresh(2, 3, duration=600.0)
    stream = Stream(5)
    most = 0
    while len(decisions := game.decisions()) and most < 50:
        for slot, seat in zip(decisions.slot.copy(), decisions.seat.copy(), strict=True):
            game.resample_hidden(slot, seat, stream)
        decisions = game.decisions()
        # Both run to opposite corners and fire across at every chance.
        first = decisions.seat == 0
        actions = np.zeros((len(decisions), 7), np.int32)
        actions[~first, :2] = 10
        actions[:, 2:4] = 5
        fires = decisions.mask[:, 45]
        actions[fires, 4] = 1
        actions[fires & first, 2:4] = 10
        actions[fires & ~first, 2:4] = 0
        game.act(np.arange(len(decisions)), actions)
        most = max(int(state(game, slot)["shots"]) for slot in range(2))
    assert most == 50  # two seats' share of the struct, and no shot more


@pytest.mark.parametrize("wait", ["shield_wait", "dash_wait"])
def test_an_enemys_shield_or_dash_is_redrawn_exactly_when_it_is_out_of_sight(wait):
    game = fresh()
    full = {"shield_wait": 150, "dash_wait": 90}[wait]
    for where, kept in (((5.0, 0.0), True), (FAR, False)):
        with edited(game) as match:
            place(match, (0.0, 0.0), where)
            match["tick"] = 300
            match["body"][1][wait] = full
        saved, after = game.save([0]), set()
        for key in range(60):
            game.load([0], saved)
            game.resample_hidden(0, 0, Stream(key))
            after.add(int(state(game)["body"][1][wait]))
        assert (after == {full}) == kept
        assert kept or 0 in after


def test_both_layouts_have_the_promised_length():
    assert fresh(observation="classic19").spec.observation.length == 19 == len(CLASSIC)
    assert fresh().spec.observation.length == sum(field.size for field in RICH) == 74


def test_classic_numbers_are_scaled_and_in_their_order():
    game = fresh(observation="classic19")
    with edited(game) as match:
        place(match, (10.0, -5.0), (13.0, -1.0))
        match["body"][0]["ammo"] = 15
        match["body"][1]["hp"] = 40.0
        put_item(match, 0, 10.0, 1.0, 2)
    numbers = game.decisions().observation[0]
    expected = [0.2, -0.1, 0, 0, 1, 0.5, 0, 0, 1, 1, 0.26, -0.02, 0.4, 0.2, 0.02]
    assert numbers.tolist() == pytest.approx([*expected, 1 / 7, 0.2, 0.5, 0.6])


def test_absent_is_told_apart_from_an_enemy_or_item_at_the_origin():
    game = fresh(observation="classic19")
    with edited(game) as match:
        place(match, (0.0, 0.0), FAR)
    absent = view_of(game, 0)
    with edited(game) as match:
        place(match, (0.0, 0.0), (0.0, 0.0))
        put_item(match, 0, 0.0, 0.0, 1)
    present = view_of(game, 0)
    for name, gone, there in (
        ("enemy hp", -1.0, 1.0),
        ("enemy distance", -1.0, 0.0),
        ("item distance", -1.0, 0.0),
        ("enemies in sight", 0.0, pytest.approx(1 / 7)),
        ("items in sight", 0.0, pytest.approx(0.2)),
    ):
        assert absent[name][0] == gone
        assert present[name][0] == there


def test_the_rich_view_flags_what_is_present():
    game = fresh()
    with edited(game) as match:
        place(match, (0.0, 0.0), FAR)
    absent = view_of(game, 0)
    assert not any(absent[name].any() for name in ("enemy 1", "incoming shot 1", "item 1"))
    with edited(game) as match:
        place(match, (0.0, 0.0), (4.0, -3.0))
        match["body"][1]["shield_wait"] = 150
        put_item(match, 3, 0.0, 0.0, 2)
        shot = match["shot"][0]
        shot["x"], shot["vx"], shot["owner"], shot["life"] = 5.0, -20.0, 1, 100
        match["shots"] = 1
    present = view_of(game, 0)
    assert present["enemy 1"].tolist() == pytest.approx([1, 0.4, -0.3, 0, 0, 1, 1])
    assert present["incoming shot 1"].tolist() == pytest.approx([1, 0.5, 0, -1, 0])
    assert present["item 1"].tolist() == [1, 0, 0, 0, 1]
    assert not present["item 2"].any()


@pytest.mark.parametrize(("distance", "seen"), [(10.0, 1.0), (10.01, 0.0)])
def test_sight_ends_at_ten(distance, seen):
    game = fresh()
    with edited(game) as match:
        place(match, (0.0, 0.0), (distance, 0.0))
        put_item(match, 0, 0.0, distance, 1)
    view = view_of(game, 0)
    assert view["enemy 1"][0] == seen
    assert view["item 1"][0] == seen


def test_shots_that_fly_away_or_are_ones_own_are_not_incoming():
    game = fresh()
    with edited(game) as match:
        place(match, (0.0, 0.0), (9.0, 0.0))
        for i, (owner, vx) in enumerate([(1, 20.0), (0, -20.0)]):
            shot = match["shot"][i]
            shot["x"], shot["vx"], shot["owner"], shot["life"] = 5.0, vx, owner, 100
        match["shots"] = 2
    assert not view_of(game, 0)["incoming shot 1"].any()


def test_the_privileged_view_shows_the_enemy_beyond_sight():
    game = fresh()
    with edited(game) as match:
        place(match, (0.0, 0.0), FAR)
        match["body"][1]["ammo"] = 3
    game.decisions()
    view = game.privileged()[0]
    layout = game.spec.privileged
    assert view.shape == (layout.length,)
    assert view[layout.slice_of("seat +1")][:7].tolist() == pytest.approx(
        [1, 0.8, 0.8, 0, 0, 1, 0.1]
    )


@pytest.mark.parametrize("observation", ["rich", "classic19"])
@pytest.mark.parametrize("seats", [2, 4])
def test_redrawing_what_is_hidden_leaves_view_and_mask_to_the_last_bit(observation, seats):
    changed = 0
    for turns in (0, 20, 80):
        game = after_some_play(turns, seats=seats, observation=observation)
        before = game.decisions()
        views, masks = before.observation.copy(), before.mask.copy()
        where = list(zip(before.slot.tolist(), before.seat.tolist(), strict=True))
        saved = game.save(np.arange(24))
        for row, (slot, seat) in enumerate(where):
            game.resample_hidden(slot, seat, Stream(1000 + row))
            now = game.decisions()
            assert now.observation[row].tobytes() == views[row].tobytes()
            assert now.mask[row].tobytes() == masks[row].tobytes()
            changed += game.save([slot])["matches"].tobytes() != saved["matches"][slot].tobytes()
            game.load(np.arange(24), saved)
    assert changed > 0


def test_redrawing_moves_unseen_enemies_items_and_chance():
    game = fresh()
    with edited(game) as match:
        match["tick"] = 600
        place(match, (-20.0, 0.0), (20.0, 0.0))
        put_item(match, 0, 10.0, 0.0, 1)
    before = state(game)
    game.resample_hidden(0, 0, Stream(5))
    after = state(game)
    assert after["body"][0] == before["body"][0]
    assert (after["body"][1]["x"], after["body"][1]["y"]) != (20.0, 0.0)
    assert after["item"][0]["x"] != 10.0
    assert after["chance"] != before["chance"]
    other = after["body"][1]
    assert 0.0 < other["hp"] <= 100.0
    assert 0 <= other["ammo"] <= 30
    assert np.hypot(other["x"] + 20.0, other["y"]) > 10.0


@pytest.mark.parametrize("observation", ["rich", "classic19"])
@pytest.mark.parametrize("name", NAMES)
def test_a_bot_chooses_the_same_when_what_it_cannot_see_is_redrawn(name, observation):
    game = after_some_play(40, seats=3, observation=observation)
    bot = bot_of(name, game.spec)
    decisions = game.decisions()
    choices = bot.act(decisions, np.arange(len(decisions)))
    where = list(zip(decisions.slot.tolist(), decisions.seat.tolist(), strict=True))
    saved = game.save(np.arange(24))
    assert len(where) > 24
    for row, (slot, seat) in enumerate(where):
        game.resample_hidden(slot, seat, Stream(row))
        assert bot.act(game.decisions(), np.array([row])).tolist() == [choices[row].tolist()]
        game.load(np.arange(24), saved)


@pytest.mark.parametrize("observation", ["rich", "classic19"])
def test_observations_stay_near_the_unit_range(observation):
    for turns in (5, 60, 150):
        game = after_some_play(turns, seats=5, observation=observation)
        views = game.decisions().observation
        assert np.isfinite(views).all()
        assert np.abs(views).max() <= 1.0
