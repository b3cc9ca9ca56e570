"""The engine's own bots as players of ours."""

from __future__ import annotations

import io

import numpy as np
import pytest
from microrts_matches import fingerprint, needs_engine, play, player, step

from lanista.games import GameError
from lanista.games.check.trial import copied
from lanista.games.microrts import ENTRY, MicroRTS
from lanista.games.microrts.engine_bots import DRAWN, FREE, SCRIPTED, SCRIPTS

pytestmark = needs_engine

BY_KIND = {
    kind: [name for name, script in SCRIPTS.items() if script.kind == kind]
    for kind in (SCRIPTED, DRAWN, FREE)
}


@pytest.mark.parametrize("name", [*BY_KIND[SCRIPTED], *BY_KIND[DRAWN]])
def test_a_bot_plays_the_same_match_again(name):
    turns = 15 if name == "naive_mcts" else 250
    again = [fingerprint(play((name, "random"), turns=turns)) for _ in range(2)]
    assert again[0] == again[1]
    if name != "passive":
        assert any(order[1] == 0 for order in again[0][0][0])


@pytest.mark.parametrize("name", BY_KIND[FREE])
def test_a_bot_with_dice_or_a_clock_of_its_own_plays(name):
    game = play((name, "passive"), turns=2)
    assert any(order[1] == 0 for order in game._matches[0].orders)


def test_another_seed_draws_another_match():
    game = MicroRTS(2)
    game.start([0, 1], [0, 0])
    first, second = (ENTRY.bots["random_biased"](game.spec, seed) for seed in (1, 2))
    for _ in range(20):
        decisions = game.decisions()
        actions = np.zeros((len(decisions), 64), np.int32)
        for slot, bot in ((0, first), (1, second)):
            rows = np.flatnonzero(decisions.slot == slot)
            actions[rows] = bot.act(decisions, rows)
        game.act(np.arange(len(decisions)), actions)
    assert game._matches[0].orders != game._matches[1].orders


@pytest.mark.parametrize(
    ("strong", "weak"),
    [("worker_rush", "passive"), ("worker_rush", "light_rush"), ("worker_rush", "random_biased")],
)
def test_a_strong_bot_wins_from_both_seats(strong, weak):
    assert play((strong, weak)).returns.tolist() == [[1.0, -1.0]]
    assert play((weak, strong)).returns.tolist() == [[-1.0, 1.0]]


def test_a_bot_asked_twice_says_the_same_and_remembers_once():
    game = MicroRTS()
    bot = player(game, "rojo")
    game.start([0], [0])
    for _ in range(30):
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        once, twice = bot.act(decisions, rows), bot.act(decisions, rows)
        assert (once == twice).all()
        game.act(rows, once)
    assert fingerprint(game) == fingerprint(play(("rojo", "rojo"), turns=30))


def test_a_bot_goes_on_the_same_after_save_and_load():
    whole = play(("rojo", "light_rush"), longest=400)
    game = play(("rojo", "light_rush"), longest=400, turns=120)
    file = io.BytesIO()
    np.savez(file, **game.save([0]))
    file.seek(0)
    other = MicroRTS(3, longest=400)
    with np.load(file) as saved:
        other.load([2], dict(saved))
    players = tuple(player(other, name) for name in ("rojo", "light_rush"))
    while not other.done[2].all():
        step(other, players)
    assert other._matches[2].orders == whole._matches[0].orders
    assert other.returns[2].tolist() == whole.returns[0].tolist()


def test_damaged_saves_are_refused_and_change_nothing():
    game = play(("rojo", "random"), turns=60, longest=200)
    saved = game.save([0])
    before = fingerprint(game), game.boards.mask.copy()

    def damaged(name, change):
        array = saved[name].copy()
        change(array)
        return {**saved, name: array}

    def put(at, value):
        return lambda array: array.__setitem__(at, value)

    hurt = [
        damaged("orders", put((0, 3), 64)),
        damaged("orders", put((0, 2), 10_000)),
        damaged("orders", put((0, 1), 7)),
        damaged("orders", put((0, 0), 50)),
        damaged("turns", put(0, 3)),
        damaged("turns", put(0, 10**9)),
        damaged("lengths", put(0, 1)),
        damaged("minds", put((0, 0, 0), 99)),
        damaged("match_ids", put(0, -1)),
        damaged("answers", put((0, 0), 64)),
        {name: array for name, array in saved.items() if name != "minds"},
        {**saved, "orders": saved["orders"].astype(np.float32)},
    ]
    for one in hurt:
        with pytest.raises(GameError):
            game.load([0], one)
        assert fingerprint(game) == before[0]
        assert (game.boards.mask == before[1]).all()
    game.load([0], saved)
    assert fingerprint(game) == before[0]


def test_a_bot_of_the_engine_refuses_copied_decisions():
    game = MicroRTS()
    game.start([0], [0])
    with pytest.raises(GameError, match="not a copy"):
        player(game, "coac").act(copied(game.decisions()), np.arange(2))


def test_bots_have_names_and_digests_of_their_own():
    game = MicroRTS()
    bots = [player(game, name) for name in ENTRY.bots]
    assert [bot.name for bot in bots] == list(SCRIPTS)
    assert len({bot.digest for bot in bots}) == len(bots)
    assert len({script.number for script in SCRIPTS.values()}) == len(SCRIPTS)
