"""The arena's codec of actions, and events in its own units projected onto its 19 numbers."""

import itertools
import json
from contextlib import closing

import numpy as np
import pytest

from lanista.cli.main import main
from lanista.data.feedback import STREAM, header_line, read_feedback, read_stream
from lanista.data.feedback.schema import StreamHeader
from lanista.data.records import PlayerInfo
from lanista.games import make, make_bot
from lanista.games.arena import Action, decode_action, encode_action
from lanista.games.arena.events import project_action, project_observation
from lanista.games.arena.layout import HEADS, match_dtype
from lanista.games.contract import GameError

CLIENT = PlayerInfo("client", "c" * 64)
STEP = {"match": "m0", "step": 0, "time": 1.0}


def test_every_choice_survives_decoding_and_encoding():
    for head in range(len(HEADS)):
        for choice in range(HEADS[head].size):
            choices = [5, 5, 5, 5, 0, 0, 0]
            choices[head] = choice
            assert encode_action(decode_action(choices)) == choices
    for switches in itertools.product(range(2), range(3), range(2)):
        choices = [0, 10, 3, 7, *switches]
        assert encode_action(decode_action(choices)) == choices


def test_a_number_comes_back_within_half_a_bin():
    for number in np.linspace(-1, 1, 401):
        action = Action(move_x=number, aim_y=-number, fire=True, ability="dash")
        again = decode_action(encode_action(action))
        assert abs(again.move_x - number) <= 0.1 + 1e-12
        assert again.aim_y == -again.move_x
        assert (again.fire, again.ability, again.interact) == (True, "dash", False)
    assert encode_action(Action(move_x=3.0, move_y=-3.0)) == [10, 0, 5, 5, 0, 0, 0]
    # Bin b is the direction (b − 5) / 5, as the rules have it.
    assert decode_action([0, 10, 6, 5, 1, 2, 1]) == Action(
        -1.0, 1.0, 0.2, 0.0, True, "shield", True
    )


@pytest.mark.parametrize(
    ("work", "sentence"),
    [
        (lambda: encode_action(Action(move_x=float("nan"))), "move_x is nan"),
        (lambda: encode_action(Action(ability="jump")), "ability is 'jump'"),
        (lambda: decode_action([0] * 6), "7 choices; 6 given"),
        (lambda: decode_action([11, 0, 0, 0, 0, 0, 0]), "head move_x is 11"),
        (lambda: project_action({"fire": 1}), "fire of the action is 1"),
        (lambda: project_action({"move_x": "left"}), "move_x of the event is 'left'"),
    ],
)
def test_what_is_no_action_is_refused(work, sentence):
    with pytest.raises(GameError, match=sentence):
        work()


def event_of(game, seat):
    """Return what a collector that reads the world itself would say of a seat's view."""
    match = game.save([0])["matches"].view(match_dtype(2)).reshape(-1)[0]
    body = match["body"][seat]
    other = match["body"][1 - seat]
    items = [{"x": float(one["x"]), "y": float(one["y"])} for one in match["item"] if one["kind"]]
    own = {name: float(body[name]) for name in ("x", "y", "vx", "vy", "hp", "ammo")}
    enemy = {name: float(other[name]) for name in ("x", "y", "hp")}
    return {**own, "enemies": [enemy] if other["alive"] else [], "items": items}


def test_events_become_the_numbers_that_the_game_shows():
    seen_enemies = 0
    with closing(make("arena", seed=3, observation="classic19", duration=20.0)) as game:
        bots = [make_bot("arena", name, game.spec, 3) for name in ("rusher", "kiter")]
        game.start([0], [0])
        while not game.done[0].all():
            decisions = game.decisions()
            for row in range(len(decisions)):
                shown = decisions.observation[row]
                radius = float(shown[8]) * 50
                event = {**event_of(game, int(decisions.seat[row])), "zone_radius": radius}
                numbers, unknown = project_observation(game.spec, event)
                np.testing.assert_allclose(numbers, shown, atol=1e-5)
                assert unknown == []
                seen_enemies += shown[12] >= 0
            rows = np.arange(len(decisions))
            chosen = [
                bots[int(decisions.seat[row])].act(decisions, rows[row : row + 1])[0]
                for row in rows
            ]
            game.act(rows, np.array(chosen))
    assert seen_enemies > 5


def stream_of(folder, *steps, **settings):
    spec = make("arena", observation="classic19", **settings).spec
    lines = [header_line(StreamHeader.of(spec, "monday", CLIENT)).decode(), *map(json.dumps, steps)]
    path = folder / "monday" / STREAM
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines) + "\n")
    return path


EVENT = {
    "x": 5, "y": -5, "vx": 3, "vy": 0, "hp": 80, "ammo": 15, "zone_radius": 25,
    "enemies": [{"x": 5, "y": 45, "hp": 10}, {"x": 8, "y": -1, "hp": 50, "name": "zoe"}],
    "ping": 30,
}  # fmt: skip


def test_a_stream_of_events_is_read_and_what_has_no_place_is_counted(tmp_path, capsys):
    action = {"move_x": 0.41, "aim_y": -1, "fire": True, "emote": "wave"}
    steps = [{**STEP, "step": step, "observation": EVENT, "action": action} for step in range(3)]
    stream = read_stream(stream_of(tmp_path, *steps))
    expected = [
        0.1,
        -0.1,
        0.2,
        0,
        0.8,
        0.5,
        0,
        0,
        0.5,
        1,
        0.16,
        -0.02,
        0.5,
        0,
        0,
        1 / 7,
        0,
        0.5,
        -1,
    ]
    np.testing.assert_allclose(stream.observation[0], expected, atol=1e-6)
    assert stream.action.tolist() == [[7, 5, 5, 0, 1, 0, 0]] * 3
    assert stream.unknown == {"emote": 3, "enemies.name": 3, "ping": 3}
    (tally,) = read_feedback(tmp_path).streams
    assert tally.as_json()["unknown"] == stream.unknown
    assert main(["data", "--feedback-dir", str(tmp_path)]) == 0
    assert "no place for emote ×3, enemies.name ×3, ping ×3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"x": "here"}, "x of the event is 'here'; give a number"),
        ({"hp": None}, "hp of the event is None"),
        ({"enemies": 3}, "enemies of the event is no list of objects"),
    ],
)
def test_an_event_that_cannot_be_projected_is_refused(tmp_path, change, reason):
    step = {**STEP, "observation": {**EVENT, **change}, "action": {}}
    stream_of(tmp_path, step)
    (broken,) = read_feedback(tmp_path).broken
    assert reason in broken.reason
    assert "line 2" in broken.reason


def test_only_the_19_numbers_and_games_with_a_mapping_take_events(tmp_path):
    spec = make("arena").spec
    with pytest.raises(GameError, match="set it to classic19"):
        project_observation(spec, EVENT)
    kuhn = make("kuhn").spec
    first = header_line(StreamHeader.of(kuhn, "monday", CLIENT)).decode()
    path = tmp_path / "monday" / STREAM
    path.parent.mkdir()
    path.write_text(f"{first}\n{json.dumps({**STEP, 'observation': {}, 'action': [0]})}\n")
    (broken,) = read_feedback(tmp_path).broken
    assert "kuhn says nothing of events" in broken.reason
