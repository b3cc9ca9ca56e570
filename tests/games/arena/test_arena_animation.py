"""A match as frames and as an animated picture."""

import xml.etree.ElementTree as ElementTree

import pytest
from arena_positions import edited, fresh, order, place, play, put_item, state

from lanista.games.arena.animation import COLOURS, HOLD_SECONDS, ArenaAnimation
from lanista.games.arena.frames import Item, frame_of
from lanista.games.arena.smil import Clock

SVG = "{http://www.w3.org/2000/svg}"


def film(game, *turns, names=("left", "right")):
    """Play the turns, each an order for every seat, and return the picture's root."""
    animation = ArenaAnimation(game.spec, names)
    for orders in turns:
        animation.show(game, dict(enumerate(orders)))
        play(game, *orders)
    animation.show(game, {})
    return ElementTree.fromstring(animation.svg())


def shots(root):
    """Return the marks of shots: circles of a seat's colour that fly by themselves."""
    return [
        circle
        for circle in root.iter(f"{SVG}circle")
        if circle.find(f"{SVG}animateTransform") is not None
    ]


def test_a_frame_says_what_the_match_holds():
    game = fresh(seats=3)
    with edited(game) as match:
        match["tick"] = 600
        place(match, (1.0, 2.0), (-3.0, 4.0), (9.0, 9.0))
        match["body"][0]["hp"], match["body"][0]["ammo"] = 35.0, 7
        match["body"][1]["shield_wait"] = 150
        match["body"][2]["alive"], match["body"][2]["died"] = 0, 450
        put_item(match, 2, 5.0, -6.0, 2)
    frame = frame_of(state(game), 3, 1200)
    assert frame.seconds == pytest.approx(20.0)
    assert frame.zone == pytest.approx(26.5)  # Half way from 50 to 3.
    one, two, three = frame.fighters
    assert (one.x, one.y, one.hp, one.ammo, one.shielded) == (1.0, 2.0, 35.0, 7, False)
    assert two.shielded
    assert (three.alive, three.died) == (False, 15.0)
    assert frame.items == (Item(5.0, -6.0, "ammo"),)


def test_a_shot_keeps_its_name_while_it_flies():
    game = fresh()
    with edited(game) as match:
        place(match, (0.0, 0.0), (0.0, 40.0))
    play(game, order(aim=(1, 0)), order())
    (first,) = frame_of(state(game), 2, 1200).shots
    play(game, order(), order())
    (later,) = frame_of(state(game), 2, 1200).shots
    assert (first.owner, first.fired) == (later.owner, later.fired) == (0, 0)
    assert later.x - first.x == pytest.approx(20.0 / 10)  # 20 units a second, a decision apart.


def test_every_shot_is_drawn_once_from_where_its_owner_stood():
    game = fresh()
    with edited(game) as match:
        place(match, (-3.0, 1.0), (4.0, 40.0))
    right, nothing = order(aim=(1, 0)), order()
    root = film(game, (right, nothing), (nothing, nothing), (right, nothing), (nothing, nothing))
    marks = shots(root)
    assert [mark.get("fill") for mark in marks] == [COLOURS[0]] * 2
    for mark in marks:
        way = mark.find(f"{SVG}animateTransform")
        start, still, end, gone = way.get("values").split(";")
        assert start == still == "-3.00 1.00"
        assert end == gone
        assert float(end.split()[0]) > -3.0
    begins = [float(mark.find(f"{SVG}animate").get("keyTimes").split(";")[1]) for mark in marks]
    seconds = 0.4 + HOLD_SECONDS
    assert begins == pytest.approx([0.0, 0.2 / seconds], abs=1e-4)


def test_all_parts_of_the_picture_share_one_clock_and_no_script():
    game = fresh(seats=4)
    calm = (order(),) * 4
    root = film(game, calm, calm, calm, names=("a", "b", "c", "home/me/d.pt"))
    changes = [mark for mark in root.iter() if "animate" in mark.tag]
    assert {mark.get("dur") for mark in changes} == {f"{0.3 + HOLD_SECONDS:g}s"}
    assert {mark.get("repeatCount") for mark in changes} == {"indefinite"}
    for mark in changes:
        times = [float(time) for time in mark.get("keyTimes").split(";")]
        assert len(times) == len(mark.get("values").split(";"))
        assert times[0] == 0.0
        assert times == sorted(times)
        assert times[-1] <= 1.0
    assert not [mark for mark in root.iter() if "script" in mark.tag]
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts[:4] == ["a", "b", "c", "d.pt"]


def test_the_winner_stands_below_and_names_stay_text():
    game = fresh()
    with edited(game) as match:
        place(match, (0.0, 0.0), (0.5, 0.0))
        match["body"][1]["hp"] = 5.0
    root = film(game, (order(aim=(1, 0)), order()), names=("<b>&", "other"))
    assert root.find(f"{SVG}title").text.startswith("Arena: <b>& against other; <b>& wins after")
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "<b>&" in texts
    assert "wins after 0.1 s" in texts or "wins after 0.0 s" in texts


def test_a_turn_takes_the_shorter_way_round():
    game = fresh()
    with edited(game) as match:
        place(match, (0.0, 0.0), (0.0, 40.0))
    up_left, down_left, nothing = order(aim=(-1, 0.2)), order(aim=(-1, -0.2)), order()
    root = film(game, (up_left, nothing), (nothing, nothing), (down_left, nothing))
    turn = next(m for m in root.iter(f"{SVG}animateTransform") if m.get("type") == "rotate")
    degrees = [float(value) for value in turn.get("values").split(";")]
    assert degrees[0] == pytest.approx(168.69, abs=0.01)  # atan2(1, -5)
    assert degrees[-1] == pytest.approx(191.31, abs=0.01)  # and on past 180


def test_what_lies_on_a_straight_line_is_left_out():
    clock = Clock(6, 0.5, 2.5)
    ramp = ElementTree.fromstring(clock.ramp("r", [0.0, 1.0, 2.0, 3.0, 3.0, 2.0]))
    assert ramp.get("values") == "0;3;3;2;2"
    assert ramp.get("keyTimes") == "0;0.3;0.4;0.5;1"
    steps = ElementTree.fromstring(clock.steps("opacity", [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]))
    assert (steps.get("values"), steps.get("keyTimes")) == ("0;1;0", "0;0.2;0.4")
    assert steps.get("calcMode") == "discrete"
