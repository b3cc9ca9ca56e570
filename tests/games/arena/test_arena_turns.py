"""What the arena says of its symmetry holds in its rules: turned play gives turned views."""

import numpy as np
import pytest
from arena_positions import edited, fresh

from lanista.games.arena.layout import CLASSIC, HEADS, RICH
from lanista.games.arena.symmetry import turns

PLACES = (("x", "y"), ("vx", "vy"))


def turned_view(symmetry, turn, view):
    return view[:, list(symmetry.columns[turn])] * np.array(symmetry.signs[turn], np.float32)


def turned_actions(symmetry, turn, actions):
    """Return whole actions turned; a choice may move to another head."""
    starts = np.cumsum([0, *(head.size for head in HEADS)])
    where = np.array(symmetry.choices[turn])[actions + starts[:-1]]
    heads = np.searchsorted(starts, where, side="right") - 1
    out = np.empty_like(actions)
    np.put_along_axis(out, heads, where - starts[heads], axis=1)
    return out.astype(np.int32)


def turn_match(match, swap, sign_x, sign_y):
    for bodies in (match["body"], match["shot"], match["item"]):
        for x, y in PLACES if "vx" in bodies.dtype.names else PLACES[:1]:
            old_x, old_y = bodies[x].copy(), bodies[y].copy()
            bodies[x] = sign_x * (old_y if swap else old_x)
            bodies[y] = sign_y * (old_x if swap else old_y)


@pytest.mark.parametrize(("observation", "seats"), [("rich", 2), ("rich", 4), ("classic19", 4)])
@pytest.mark.parametrize("turn", range(8))
def test_turned_positions_and_actions_give_turned_views_to_the_last_bit(turn, observation, seats):
    game = fresh(2, observation=observation, seats=seats)
    symmetry = game.spec.symmetry
    swap, sign_x, sign_y = turn >= 4, 1 - (turn // 2 % 2) * 2, 1 - (turn % 2) * 2
    with edited(game, 0) as match:
        match["body"]["x"] *= 0.4  # Within sight of each other.
        match["body"]["y"] *= 0.4
        for place, (x, y) in enumerate([(1.0, 2.0), (-3.0, 0.5), (2.5, -1.5)]):
            match["item"][place]["x"], match["item"][place]["y"] = x, y
            match["item"][place]["kind"] = 1 + place % 2
        original = match.copy()
    with edited(game, 1) as match:
        for name in original.dtype.names:
            match[name] = original[name]
        turn_match(match, swap, sign_x, sign_y)
    rng = np.random.default_rng(turn)
    shots = 0
    for _ in range(45):  # Then an item falls, by chance and where it is not turned.
        decisions = game.decisions()
        first, second = decisions.slot == 0, decisions.slot == 1
        view = decisions.observation[first]
        expected = turned_view(symmetry, turn, view)
        assert np.array_equal(decisions.observation[second], expected)
        action = np.array([rng.integers(head.size, size=len(view)) for head in HEADS])
        action = action.T.astype(np.int32)
        mask = np.split(decisions.mask[first], np.cumsum([h.size for h in HEADS])[:-1], axis=1)
        for head, legal in enumerate(mask):
            barred = ~np.take_along_axis(legal, action[:, head : head + 1], 1)[:, 0]
            action[barred, head] = legal[barred].argmax(1)
        other = turned_actions(symmetry, turn, action)
        theirs = np.split(decisions.mask[second], np.cumsum([h.size for h in HEADS])[:-1], axis=1)
        for head, legal in enumerate(theirs):  # A head that rests has one choice, turned or not.
            rests = legal.sum(1) == 1
            other[rests, head] = legal[rests].argmax(1)
        answers = np.empty((len(decisions), len(HEADS)), np.int32)
        answers[first], answers[second] = action, other
        shots += int((action[:, 4] == 1).sum())
        game.act(np.arange(len(decisions)), answers)
    assert shots > 10


@pytest.mark.parametrize(("observation", "fields"), [("rich", RICH), ("classic19", CLASSIC)])
def test_turns_are_a_group_of_permutations(observation, fields):
    length = sum(field.size for field in fields)
    symmetry = turns(observation, length)
    views = np.random.default_rng(0).normal(size=(1, length)).astype(np.float32)
    orbit = {turned_view(symmetry, turn, views).tobytes() for turn in range(8)}
    assert len(symmetry) == len(orbit) == 8
    for first in range(8):
        assert sorted(symmetry.choices[first]) == list(range(sum(head.size for head in HEADS)))
        for second in range(8):
            both = turned_view(symmetry, second, turned_view(symmetry, first, views))
            assert both.tobytes() in orbit
