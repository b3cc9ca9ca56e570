"""Our small games and OpenSpiel's, played side by side on the same chance and the same moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lanista.games import make, make_bot

pyspiel = pytest.importorskip("pyspiel")

Chance = Callable[[dict[str, Any]], list[int]]

OPENSPIEL_NAMES = {
    "kuhn": "kuhn_poker",
    "leduc": "leduc_poker",
    "liars_dice": "liars_dice",
    "phantom_ttt": "phantom_ttt",
}
# What chance decided so far, in OpenSpiel's order, read off the whole state of our match.
CHANCE: dict[str, Chance] = {
    "kuhn": lambda state: state["cards"],
    "leduc": lambda state: [*state["cards"], state["public"]],
    "liars_dice": lambda state: state["dice"],
    "phantom_ttt": lambda state: [],
}
GAMES = sorted(OPENSPIEL_NAMES)


class Mirror:
    """An OpenSpiel state that follows one of our matches."""

    def __init__(self, name: str) -> None:
        self.chance, self.drawn = CHANCE[name], 0
        self.state = pyspiel.load_game(OPENSPIEL_NAMES[name]).new_initial_state()

    def follow(self, ours: dict[str, Any]) -> None:
        """Let OpenSpiel's chance nodes have the outcomes that our match had."""
        while self.state.is_chance_node():
            self.state.apply_action(self.chance(ours)[self.drawn])
            self.drawn += 1


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
                mirrors[slot].follow(game.state(slot))
                compare(mirrors[slot], decisions.observation[row], decisions.mask[row], seat)
                mirrors[slot].state.apply_action(int(actions[row, 0]))
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
