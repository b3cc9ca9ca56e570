"""The arena's bots fight, beat random play, and differ from each other."""

import numpy as np
import pytest
from arena_positions import fresh

from lanista.games import GameError, make, make_bot
from lanista.games.arena import ENTRY, Arena
from lanista.games.arena.layout import match_dtype

FIGHTERS = ["rusher", "kiter", "scavenger", "zoner"]
PAIRS = 60


def duel(name, other, observation, pairs=PAIRS):
    """Play pairs of matches, seats swapped on one deal; return pair scores and mean damage."""
    game = Arena(2 * pairs, 21, observation=observation)
    players = [make_bot("arena", bot, game.spec, 30 + i) for i, bot in enumerate((name, other))]
    ids = np.arange(2 * pairs)
    game.start(ids, ids, {"deal": ids // 2})
    while len(decisions := game.decisions()):
        actions = np.zeros((len(decisions), 7), np.int32)
        for i, player in enumerate(players):
            rows = np.flatnonzero((decisions.seat + decisions.match) % 2 == i)
            actions[rows] = player.act(decisions, rows)
        game.act(np.arange(len(decisions)), actions)
    bodies = game.save(ids)["matches"].view(match_dtype(2))[:, 0]["body"]
    scores = (game.returns[ids, ids % 2].reshape(-1, 2) + 1) / 2
    return scores.mean(axis=1), bodies["dealt"][ids, ids % 2].mean()


@pytest.mark.parametrize("observation", ["rich", "classic19"])
@pytest.mark.parametrize("name", FIGHTERS)
def test_a_fighter_beats_random_clearly_and_deals_damage(name, observation):
    scores, damage = duel(name, "random", observation)
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    assert scores.mean() - 1.96 * error > 0.8
    assert damage > 50.0


@pytest.mark.parametrize("name", FIGHTERS)
def test_a_fighter_deals_damage_to_its_own_kind(name):
    _, damage = duel(name, name, "rich", pairs=20)
    assert damage > 30.0


def test_still_never_deals_damage():
    _, damage = duel("still", "rusher", "rich", pairs=10)
    assert damage == 0.0


def choices(observation):
    """Return every bot's actions in the same situations."""
    game = fresh(60, 8, observation=observation, seats=3)
    bots = {name: make_bot("arena", name, game.spec, 1) for name in ("random", *ENTRY.bots)}
    collected = {name: [] for name in bots}
    for turn in range(60):
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        actions = {name: bot.act(decisions, rows) for name, bot in bots.items()}
        for name in bots:
            collected[name].append(actions[name])
        driver = FIGHTERS[turn % len(FIGHTERS)]
        game.act(rows, actions[driver])
    return {name: np.concatenate(parts) for name, parts in collected.items()}


@pytest.mark.parametrize("observation", ["rich", "classic19"])
def test_every_two_bots_choose_differently_in_a_good_part_of_situations(observation):
    played = choices(observation)
    for a in played:
        for b in played:
            if a < b:
                assert (played[a] != played[b]).any(axis=1).mean() > 0.15, (a, b)


@pytest.mark.parametrize("name", ENTRY.bots)
def test_a_bot_answers_alike_alone_and_in_a_batch(name):
    game = fresh(30, 3, seats=4)
    bot = make_bot("arena", name, game.spec, 5)
    decisions = game.decisions()
    rows = np.arange(len(decisions))
    together = bot.act(decisions, rows)
    alone = np.concatenate([bot.act(decisions, rows[i : i + 1]) for i in rows[::-1]])[::-1]
    assert np.array_equal(together, alone)


def test_bots_have_versions_and_digests_of_their_own():
    spec = fresh().spec
    bots = [make_bot("arena", name, spec, 0) for name in ENTRY.bots]
    assert len({bot.digest for bot in bots}) == len(bots)
    assert all(bot.version >= 1 for bot in bots)


def test_a_bot_of_the_arena_refuses_another_game():
    with pytest.raises(GameError, match="plays arena, not kuhn"):
        ENTRY.bots["rusher"](make("kuhn").spec, 0)
