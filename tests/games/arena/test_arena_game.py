"""The arena as a game: settings, determinism over slots, saving, drawing, and golden matches."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from arena_positions import edited, fresh, order, place, play, put_item, state

from lanista.games import GameError, check_game, make, make_bot
from lanista.games.arena.draw import HEIGHT, WIDTH

CAST = ("rusher", "random", "scavenger", "kiter", "zoner", "random", "rusher", "still")


def play_matches(slots, matches=64, **settings):
    """Play fixed matches in so many slots; return a digest of each, in order of match id."""
    game = make("arena", slots=slots, seed=17, **settings)
    seats = game.spec.seats
    players = [make_bot("arena", name, game.spec, 40) for name in CAST[:seats]]
    hashes = [hashlib.sha256() for _ in range(matches)]
    playing = np.arange(min(slots, matches))
    started = len(playing)
    ids = playing.copy()
    game.start(playing, ids)
    while len(decisions := game.decisions()):
        rows = np.arange(len(decisions))
        actions = np.zeros((len(rows), 7), np.int32)
        for seat, player in enumerate(players):
            mine = rows[decisions.seat == seat]
            actions[mine] = player.act(decisions, mine)
        for row in rows:
            hashes[decisions.match[row]].update(decisions.observation[row].tobytes())
            hashes[decisions.match[row]].update(actions[row].tobytes())
        for slot in game.act(rows, actions):
            done = hashes[ids[slot]]
            for array in (game.returns, game.score, game.reward, game.shaping, game.place):
                done.update(array[slot].tobytes())
            done.update(state(game, slot)["body"].tobytes())
            if started < matches:
                ids[slot] = started
                game.start([slot], [started])
                started += 1
    return [done.hexdigest() for done in hashes]


@pytest.mark.parametrize("settings", [{"observation": "classic19"}, {"seats": 4, "duration": 20.0}])
def test_the_same_matches_come_out_of_1_7_and_64_slots(settings):
    tables = [play_matches(slots, matches=20, **settings) for slots in (1, 7, 64)]
    assert tables[0] == tables[1] == tables[2]
    assert len(set(tables[0])) == 20


GOLDEN = {
    "duel": ({"observation": "classic19"}, "48a0cc572de3d87f495e4b34426c0a62"),
    "rich": ({"duration": 30.0}, "4f13d15a40855ff9ab7cb5646bf20f05"),
    "crowd": ({"seats": 8}, "363fb0f4e3042725895925c19462118d"),
    "slow": (
        {"seats": 3, "ticks_per_decision": 5, "duration": 45.5},
        "0c3a8f978707691a05b73cfeca884a2c",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_matches_have_not_drifted(name):
    """A change here is a change of rules, views or bots: their versions must move with it."""
    settings, expected = GOLDEN[name]
    digests = play_matches(3, matches=6, **settings)
    assert hashlib.sha256("".join(digests).encode()).hexdigest()[:32] == expected


@pytest.mark.parametrize(
    "settings",
    [
        # Without settings it is checked among all compiled games.
        pytest.param({}, marks=pytest.mark.slow),
        {"observation": "classic19", "duration": 20.0},
        {"seats": 5, "duration": 20.0},
    ],
)
def test_the_checker_finds_nothing_wrong(settings):
    checkup = check_game("arena", settings=settings, matches=6, effort=200)
    assert checkup.passed


def test_saved_matches_go_on_as_if_they_had_never_stopped():
    def go_on(game):
        bot = make_bot("arena", "random", game.spec, 8)
        while len(decisions := game.decisions()):
            rows = np.arange(len(decisions))
            game.act(rows, bot.act(decisions, rows))
        return game.returns.tolist(), game.save([0, 1])["matches"].tolist()

    game = fresh(2, 3, seats=3, duration=30.0)
    play(game, *[order(move=(1, 0), aim=(0, 1))] * 3)
    saved = game.save([0, 1])
    expected = go_on(game)
    other = fresh(2, 3, seats=3, duration=30.0)
    other.load([0, 1], saved)
    assert go_on(other) == expected


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"seats": 1}, "seats is 1"),
        ({"seats": 9}, "seats is 9"),
        ({"duration": 0.5}, "duration is 0.5; give 1 to 600"),
        ({"duration": 601}, "duration is 601"),
        ({"duration": float("nan")}, "duration is nan"),
        ({"ticks_per_decision": 0}, "ticks_per_decision is 0"),
        ({"ticks_per_decision": 31}, "ticks_per_decision is 31"),
        ({"observation": "classic"}, "observation is 'classic'"),
        ({"seat": 3}, "no setting 'seat'; did you mean 'seats'"),
    ],
)
def test_settings_that_cannot_be_played_are_refused_in_a_sentence(settings, words):
    with pytest.raises(GameError, match=words):
        make("arena", **settings)


def test_the_spec_tells_layouts_and_settings_apart():
    specs = [make("arena", observation=name).spec for name in ("rich", "classic19")]
    assert specs[0].settings["observation"] == "rich"
    assert specs[0] != specs[1]
    facts = specs[0].facts
    assert (facts.longest, facts.seats) == (600, 2)
    assert facts.hidden
    assert facts.chance
    assert facts.zero_sum
    assert facts.simultaneous
    assert facts.symmetric
    assert [head.size for head in specs[0].heads] == [11, 11, 11, 11, 2, 3, 2]


def test_a_match_of_an_odd_length_ends_on_its_last_tick():
    game = fresh(duration=1.0, ticks_per_decision=7)
    assert game.spec.facts.longest == 5
    play(game, order(), order(), times=5)
    assert game.done[0].all()
    assert state(game)["tick"] == 30


def test_matches_of_one_deal_start_alike_and_others_do_not():
    game = fresh(3)
    game.start([0, 1, 2], [5, 6, 7], {"deal": [1, 1, 2]})
    places = [state(game, slot)["body"]["x"][0] for slot in range(3)]
    assert places[0] == places[1] != places[2]


def test_the_picture_shows_seats_shots_items_and_hp():
    game = fresh()
    with edited(game) as match:
        place(match, (0.0, 0.0), (8.0, 4.0))
        match["body"][1]["hp"] = 42.0
        put_item(match, 0, -5.0, 0.0, 1)
        put_item(match, 1, -5.0, -5.0, 2)
    play(game, order(aim=(0, 1)), order())
    lines = game.draw(0).splitlines()
    field = lines[1 : 1 + HEIGHT]
    assert all(len(line) == WIDTH for line in field)
    cells = "".join(field)
    assert [cells.count(mark) for mark in "01*+="] == [1, 1, 1, 1, 1]
    assert field[HEIGHT // 2][WIDTH // 2] == "0"
    rows = {mark: cells.index(mark) // WIDTH for mark in "01"}
    assert rows["1"] < rows["0"]  # larger y is further up
    assert "42.0 hp" in lines[-1]
    assert "29 ammo" in lines[-2]


def test_the_picture_shows_the_zone_and_the_dead():
    game = fresh(seats=3)
    with edited(game) as match:
        match["tick"] = 1500
        match["body"][1]["alive"], match["body"][1]["died"] = 0, 900
    text = game.draw(0)
    assert ":" in text.splitlines()[1]
    assert "1 dead at 30.0 s" in text


def test_importing_the_games_does_not_import_the_arena():
    code = "import sys, lanista.games; print('lanista.games.arena' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
