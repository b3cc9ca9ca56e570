"""Bots for Showdown: what they see, what they reckon with, and who beats whom."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from showdown_matches import fingerprint, finish, player, step
from showdown_play import MAIN_FORMATS, needs_simulator

from lanista.games import GameError
from lanista.games.check.trial import copied
from lanista.games.showdown.entry import ENTRY
from lanista.games.showdown.game import Showdown
from lanista.games.showdown.install import find, find_node
from lanista.games.showdown.protocol.vocabulary import dex
from lanista.games.showdown.scripted.damage import (
    HITS,
    MEAN_ROLL,
    Fighter,
    Ground,
    expected_share,
    guessed_stats,
    hit_chance,
)
from lanista.games.streams import Stream

pytestmark = needs_simulator
VGC = MAIN_FORMATS[0]
SINGLES = "gen9randombattle"
BOTS = tuple(ENTRY.bots)
PROBE = Path(__file__).parent / "damage_probe.mjs"
GUESSED = {"heavyslam", "heatcrash", "lowkick", "grassknot"}
"""Their power hangs on a weight that the dex here does not have."""


@pytest.fixture(scope="module")
def games() -> Iterator[dict[str, Showdown]]:
    made = {format: Showdown(8, 1, format=format) for format in (VGC, SINGLES)}
    yield made
    for game in made.values():
        game.close()


def score(game: Showdown, names: tuple[str, str], pairs: int) -> float:
    """Return the first bot's mean score over deals played from both seats."""
    won = []
    for seats in (0, 1):
        bots = [player(game, names[seat ^ seats]) for seat in (0, 1)]
        for first in range(0, pairs, game.slots):
            slots = range(min(game.slots, pairs - first))
            game.start(slots, [first + slot for slot in slots])
            finish(game, bots)
            won += [(1 + game.returns[slot, seats]) / 2 for slot in slots]
    return float(np.mean(won))


@pytest.mark.parametrize(
    ("names", "format"),
    [
        (("max_power", "random"), VGC),
        (("damage", "max_power"), VGC),
        (("heuristic", "max_power"), VGC),
        (("damage", "random"), SINGLES),
    ],
)
def test_a_bot_that_reckons_with_more_wins_more(
    games: dict[str, Showdown], names: tuple[str, str], format: str
) -> None:
    assert score(games[format], names, 8) >= 0.6


@pytest.mark.parametrize("name", BOTS)
def test_a_bot_plays_the_same_match_again(games: dict[str, Showdown], name: str) -> None:
    game = games[VGC]
    again = []
    for _ in range(2):
        game.start([0, 1], [5, 6])
        finish(game, [player(game, name), player(game, "random")])
        again.append(fingerprint(game)[:2])
    assert again[0] == again[1]


@pytest.mark.parametrize("format", [VGC, SINGLES])
def test_what_a_seat_cannot_see_changes_no_bots_choice(
    games: dict[str, Showdown], format: str
) -> None:
    game = games[format]
    bots = [player(game, name) for name in BOTS]
    changed = 0
    for match, turns in ((2, 0), (3, 2), (4, 5)):
        game.start([0], [match])
        for _ in range(turns):
            step(game, bots[:2])
        while len(decisions := game.decisions()) < 2:
            step(game, bots[:2])
        rows = np.array([0])
        before = [bot.act(decisions, rows).tolist() for bot in bots]
        other = decisions.observation[1].copy()
        game.resample_hidden(0, 0, Stream.keyed(1, match, 0, "resample"))
        decisions = game.decisions()
        assert [bot.act(decisions, rows).tolist() for bot in bots] == before
        changed += bool((decisions.observation[1] != other).any())
        finish(game, bots[:2])
    assert changed


@pytest.mark.parametrize("name", BOTS)
def test_a_bot_that_is_given_a_copy_says_so(games: dict[str, Showdown], name: str) -> None:
    game = games[VGC]
    game.start([0], [0])
    with pytest.raises(GameError, match="not a copy"):
        player(game, name).act(copied(game.decisions()), np.array([0]))
    finish(game, [player(game, "random")] * 2)


def fighter(told: dict[str, Any]) -> Fighter:
    types = tuple(type.lower() for type in told.pop("types"))
    rest = {key: tuple(value) if isinstance(value, list) else value for key, value in told.items()}
    return Fighter(types=types, born=types, **rest)


def test_damage_with_both_sets_known_is_the_simulators(games: dict[str, Showdown]) -> None:
    pool = games[VGC].dealer.pool
    assert pool is not None
    previews = [[f"team {lead}", f"team {lead}"] for lead in ("1234", "3456", "5612", "2613")]
    teams = [team.packed for team in pool.teams]
    battle = {"format": VGC, "seed": "1,2,3,4", "teams": teams, "previews": previews}
    done = subprocess.run(
        [find_node(), str(PROBE), str(find())],
        input=json.dumps(battle),
        capture_output=True,
        text=True,
        check=True,
    )
    compared = 0
    for case in json.loads(done.stdout):
        attacker, target = fighter(case["attacker"]), fighter(case["target"])
        # Sheer Force is decided while a move is used, which nobody does here.
        if case["move"] in GUESSED or attacker.ability == "sheerforce":
            continue
        ground = Ground(case["weather"], case["terrain"])
        share = expected_share(attacker, case["move"], target, ground, spread=case["spread"])
        ours = share * target.most_hp / MEAN_ROLL / HITS.get(case["move"], 1)
        assert ours == pytest.approx(case["damage"], rel=0.04, abs=3), case["move"]
        compared += 1
    assert compared > 60


def ordinary(species: str, **more: Any) -> Fighter:
    told = dex().species_of(species)
    most, stats = guessed_stats(told.stats, 50)
    return Fighter(species, 50, told.types, told.types, stats, most, 1.0, **more)


def test_the_guessed_stats_are_those_of_the_formula() -> None:
    # Level 50, 31 individual and 124 effort points: floor((2 * base + 31 + 31) / 2) + 5.
    most, stats = guessed_stats((95, 115, 90, 80, 90, 60), 50)
    assert most == (190 + 62) // 2 + 60
    assert stats == (146 + 5, 121 + 5, 111 + 5, 121 + 5, 91 + 5)


def test_damage_knows_immunity_tera_screens_and_accuracy() -> None:
    ground = Ground()
    lander, bird, hands = ordinary("landorus"), ordinary("tornadus"), ordinary("ironhands")
    assert expected_share(lander, "earthpower", bird, ground) == 0
    plain = expected_share(lander, "earthpower", hands, ground)
    assert plain > 0
    turned = expected_share(lander.turned("ground"), "earthpower", hands, ground)
    assert turned == pytest.approx(plain * 2 / 1.5, rel=1e-6)
    behind = ordinary("ironhands", screens=frozenset(("lightscreen",)))
    assert expected_share(lander, "earthpower", behind, ground) == pytest.approx(plain * 2 / 3)
    spread = expected_share(lander, "earthpower", hands, ground, spread=True)
    assert spread == pytest.approx(plain * 0.75)
    assert expected_share(lander, "protect", hands, ground) == 0
    assert hit_chance(bird, "bleakwindstorm", hands, ground) == 0.8
    assert hit_chance(bird, "bleakwindstorm", hands, Ground("raindance")) == 1
