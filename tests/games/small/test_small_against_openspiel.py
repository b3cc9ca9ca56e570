"""Our small games and OpenSpiel's, played side by side on the same chance and the same moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openspiel_mirror import CHANCE, GAMES, OPENSPIEL_NAMES, Mirror, pyspiel

from lanista.games import make, make_bot


def compare(mirror: Mirror, observation: Any, mask: Any, seat: int) -> None:
    state = mirror.state
    assert state.current_player() == seat
    assert state.legal_actions() == np.flatnonzero(mask).tolist()
    np.testing.assert_array_equal(observation, state.information_state_tensor(seat))


def play_beside_openspiel(name: str, matches: int, seed: int) -> int:
    """Play `matches` at random in both; return how many decisions agreed."""
    slots = 64
    game = make(name, slots=slots, seed=seed)
    bot = make_bot(name, "random", game.spec, seed)
    agreed = 0
    for first in range(0, matches, slots):
        game.start(range(slots), range(first, first + slots))
        mirrors = [Mirror(name) for _ in range(slots)]
        while len(decisions := game.decisions()):
            rows = np.arange(len(decisions))
            actions = bot.act(decisions, rows)
            for row in rows:
                slot, seat = int(decisions.slot[row]), int(decisions.seat[row])
                mirrors[slot].follow_chance(game.state(slot))
                compare(mirrors[slot], decisions.observation[row], decisions.mask[row], seat)
                mirrors[slot].move(int(actions[row, 0]))
            for slot in game.act(rows, actions):
                assert mirrors[slot].state.is_terminal()
                assert game.returns[slot].tolist() == mirrors[slot].state.returns()
            agreed += len(rows)
        assert game.done.all()
    return agreed


@pytest.mark.parametrize("name", GAMES)
def test_random_play_agrees_with_openspiel_at_every_decision(name: str) -> None:
    assert play_beside_openspiel(name, matches=2048, seed=7) > 2 * 2048


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_long_random_play_agrees_with_openspiel_at_every_decision(name: str) -> None:
    assert play_beside_openspiel(name, matches=64 * 1000, seed=8) > 2 * 64 * 1000


@pytest.mark.parametrize("name", GAMES)
def test_facts_agree_with_openspiel(name: str) -> None:
    spec = make(name).spec
    theirs = pyspiel.load_game(OPENSPIEL_NAMES[name])
    kind = theirs.get_type()
    assert spec.seats == theirs.num_players() == 2
    assert spec.choices == theirs.num_distinct_actions() == len(spec.heads[0].labels)
    assert spec.facts.longest == theirs.max_game_length()
    assert spec.observation.length == theirs.information_state_tensor_size()
    assert spec.facts.hidden is (kind.information == type(kind).Information.IMPERFECT_INFORMATION)
    assert spec.facts.chance is (kind.chance_mode != type(kind).ChanceMode.DETERMINISTIC)
    assert spec.facts.zero_sum is (kind.utility == type(kind).Utility.ZERO_SUM)
    assert spec.facts.simultaneous is (kind.dynamics == type(kind).Dynamics.SIMULTANEOUS)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "liars_dice"])
def test_every_deal_is_about_as_likely_as_every_other(name: str) -> None:
    matches = 6000
    game = make(name, slots=matches, seed=3)
    game.start(range(matches), range(matches))
    deals, counts = np.unique(
        [CHANCE[name](game.state(slot))[:2] for slot in range(matches)], axis=0, return_counts=True
    )
    expected = {"kuhn": 3 * 2, "leduc": 6 * 5, "liars_dice": 6 * 6}[name]
    assert len(deals) == expected
    # Five standard deviations of a binomial count: one test in a million would miss by chance.
    assert abs(counts - matches / expected).max() < 5 * np.sqrt(matches / expected)
