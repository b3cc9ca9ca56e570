"""The compiled arena equals the readable one, to the last bit, after every step."""

import numpy as np
import pytest
from arena_positions import state

from lanista.games.arena import ENTRY, Arena
from lanista.games.arena.reference import ReferenceArena
from lanista.games.arena.reference_view import classic19, rich
from lanista.games.bots import legal_choices
from lanista.games.random_bot import RandomBot
from lanista.games.streams import key_of

BODY = (
    *("x", "y", "vx", "vy", "hp", "dealt", "start_x", "start_y"),
    *("ammo", "fire_wait", "dash_wait", "shield_wait", "alive", "died"),
)
VIEWS = {"rich": rich, "classic19": classic19}


def reference_state(match):
    return {
        "chance": match.chance.state,
        "tick": match.tick,
        "alive": len(match.living()),
        "bodies": [tuple(getattr(body, name) for name in BODY) for body in match.bodies],
        "shots": [(s.x, s.y, s.vx, s.vy, s.owner, s.life) for s in match.shots],
        "items": [(i, t.x, t.y, t.kind) for i, t in enumerate(match.items) if t.kind],
    }


def compiled_state(game):
    match = state(game)
    return {
        "chance": int(match["chance"]),
        "tick": int(match["tick"]),
        "alive": int(match["alive"]),
        "bodies": [
            tuple(body[name].item() for name in BODY) for body in match["body"][: game.spec.seats]
        ],
        "shots": [shot.item() for shot in match["shot"][: match["shots"]]],
        "items": [
            (i, *item[["x", "y", "kind"]].item())
            for i, item in enumerate(match["item"])
            if item["kind"]
        ],
    }


def check_decisions(game, match, decisions):
    view = VIEWS[game.spec.settings["observation"]]
    assert decisions.seat.tolist() == match.living()
    for row, seat in enumerate(decisions.seat.tolist()):
        expected = np.array(view(match, seat), np.float32)
        assert decisions.observation[row].tobytes() == expected.tobytes()
        assert legal_choices(game.spec, decisions.mask[row]) == match.legal(seat)


def check_outcome(game, outcome, seats):
    for seat in seats:
        paid = outcome.rewards.get(seat, 0.0)
        if outcome.returns is not None:
            paid = outcome.returns[seat]
        assert game.reward[0, seat] == np.float32(paid)
        assert game.shaping[0, seat] == np.float32(outcome.shaping[seat])
        assert game.done[0, seat] == (seat in outcome.rewards or outcome.returns is not None)
    if outcome.returns is not None:
        assert game.returns[0].tolist() == np.array(outcome.returns, np.float32).tolist()


def compare(game, players, match_id):
    """Play one match in both; return how many decisions were compared."""
    settings = dict(game.spec.settings)
    settings.pop("observation")
    match = ReferenceArena(key_of(game.seed, match_id, 0, "chance"), **settings)
    game.start([0], [match_id])
    count, outcome = 0, None
    while outcome is None or outcome.returns is None:
        assert compiled_state(game) == reference_state(match)
        decisions = game.decisions()
        check_decisions(game, match, decisions)
        rows = np.arange(len(decisions))
        actions = np.concatenate(
            [players[seat].act(decisions, rows[i : i + 1]) for i, seat in enumerate(decisions.seat)]
        )
        seats = decisions.seat.tolist()
        outcome = match.advance(dict(zip(seats, actions.tolist(), strict=True)))
        ended = game.act(rows, actions)
        assert list(ended) == ([0] if outcome.returns is not None else [])
        check_outcome(game, outcome, seats)
        count += len(seats)
    assert compiled_state(game) == reference_state(match)
    return count


def compare_many(decisions, first_match, players, **settings):
    game = Arena(1, 9, **settings)
    seated = [
        RandomBot(game.spec, 3) if name == "random" else ENTRY.bots[name](game.spec, 3)
        for name in players
    ]
    count, match_id = 0, first_match
    while count < decisions:
        count += compare(game, seated, match_id)
        match_id += 1


CASES = [
    (("random", "random"), {"observation": "rich"}),
    (("random", "random"), {"observation": "classic19", "duration": 20.5}),
    (("random", "rusher"), {"observation": "classic19", "ticks_per_decision": 1}),
    (("kiter", "scavenger", "random"), {"seats": 3, "ticks_per_decision": 7, "duration": 40.0}),
    (("scavenger", "zoner", "rusher", "kiter"), {"seats": 4}),
    (("random",) * 5 + ("scavenger", "kiter", "rusher"), {"seats": 8, "observation": "classic19"}),
]


@pytest.mark.parametrize(("players", "settings"), CASES)
def test_compiled_rules_equal_the_reference_after_every_step(players, settings):
    compare_many(4_000, 0, players, **settings)


@pytest.mark.slow
@pytest.mark.parametrize(("players", "settings"), CASES)
def test_compiled_rules_equal_the_reference_over_a_hundred_thousand_decisions(players, settings):
    compare_many(20_000, 1_000, players, **settings)
