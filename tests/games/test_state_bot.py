"""Bots that read the rules' own objects: the position as their seat knows it, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanista.games import StateBot, make
from lanista.games.beastybar import reference
from lanista.games.bot_files import bot_from_file
from lanista.games.contract import GameError
from lanista.games.random_bot import RandomBot
from lanista.games.streams import Stream
from lanista.rollout import Table, play, rotations

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "state_bot.py")


class Witness(StateBot):
    """Keeps what it was shown, and does the first thing allowed."""

    name = "witness"

    def __init__(self, spec: Any, seed: int) -> None:
        super().__init__(spec, seed)
        self.shown: list[tuple[Any, int, list[list[int]]]] = []
        self.views: list[np.ndarray] = []

    def plan(self, copies: Any, observation: Any, legal: Any, stream: Any) -> Any:
        self.views.append(observation.copy())
        return super().plan(copies, observation, legal, stream)

    def choose_in(self, state: Any, seat: int, legal: list[list[int]], stream: Any) -> int:
        self.shown.append((state, seat, legal))
        return legal[0][0]


def witnessed(game: Any, matches: int = 4) -> Witness:
    witness = Witness(game.spec, 5)
    play([Table(game, (witness, RandomBot(game.spec, 5)))], rotations(2, matches))
    return witness


@pytest.mark.parametrize("settings", [{}, {"scoring": "count", "parrot_may_decline": True}])
def test_the_state_of_beasty_bar_says_what_the_view_says_and_allows_what_is_legal(
    settings: dict[str, Any],
) -> None:
    witness = witnessed(make("beastybar", slots=2, seed=3, **settings))
    assert len(witness.shown) == 4 * 12
    for (state, seat, legal), view in zip(witness.shown, witness.views, strict=True):
        assert isinstance(state, reference.State)
        assert reference.observation(state, seat) == view.tolist()
        assert (state.to_move, reference.legal(state)) == (seat, legal[0])
        assert (state.rules.scoring == "count") == bool(settings)
        cards = [*state.line, *state.bar, *state.out]
        cards += [card for row in (*state.hands, *state.piles) for card in row]
        assert sorted((card.owner, card.species) for card in cards) == [
            (owner, species) for owner in range(2) for species in range(12)
        ]


def test_what_the_seat_cannot_see_is_redrawn_and_not_the_match_s_own() -> None:
    game = make("beastybar", slots=1, seed=3)
    game.start([0], [0])
    truth = game.state(0)
    hidden = []
    for seed in range(20):
        witness = Witness(game.spec, seed)
        table = Table(make("beastybar", slots=1, seed=3), (witness, RandomBot(game.spec, 1)))
        play([table], rotations(2, 2))
        state, seat, _ = witness.shown[0]
        hidden.append(sorted(card.species for card in state.hands[1 - seat]))
        assert sorted(card.species for card in state.hands[seat]) == sorted(truth["hands"][seat])
    # Of 20 hands of four of twelve, all equal to the true one has the chance of 495 ** -20.
    assert any(hand != sorted(truth["hands"][1]) for hand in hidden)
    assert len({tuple(hand) for hand in hidden}) > 10


def test_a_state_can_be_played_on_by_the_rules_without_touching_the_match() -> None:
    game = make("beastybar", slots=1, seed=3)
    bot = bot_from_file(EXAMPLE, game.spec, 1)
    results = play([Table(game, (bot, RandomBot(game.spec, 2)))], rotations(2, 60))
    own = results.returns[results.schedule.seating == 0]
    assert float(np.mean(own)) > 0.5


def test_the_state_of_a_game_in_python_is_the_object_of_its_hooks() -> None:
    game = make(str(ROOT / "examples" / "my_game.py"), slots=2, seed=3)
    witness = witnessed(game)
    kind = type(game.deal(Stream(1)))
    assert witness.shown
    assert all(isinstance(state, kind) for state, _, _ in witness.shown)


def test_the_state_of_a_small_game_is_its_dictionary() -> None:
    witness = witnessed(make("kuhn", slots=2, seed=3))
    assert all(isinstance(state, dict) for state, _, _ in witness.shown)


def test_a_game_that_shows_no_state_is_refused_in_a_sentence() -> None:
    with pytest.raises(GameError, match="arena shows no state of its rules; choose by the obs"):
        witnessed(make("arena", slots=2, seed=3, duration=4.0), 1)
