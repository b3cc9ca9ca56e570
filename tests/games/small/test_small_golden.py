"""Fixed matches of the small games, so that no rule or view changes unnoticed.

If a digest here changes, the same seed and actions give another match or another view: move
`rules_version` or `observation_version` with it.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from lanista.games import make
from lanista.games.streams import Stream

GOLDEN = {
    "kuhn": "020db272caa9965b",
    "leduc": "67ecc3b964be2e0a",
    "liars_dice": "ec6f8b266a95e085",
    "phantom_ttt": "64f693fdb214ab17",
    "card_rps": "ec1e383f65df6586",
}


def transcript(name: str, matches: int) -> Any:
    """Yield every decision, answer and result of fixed matches as bytes."""
    game = make(name, seed=20)
    for match in range(matches):
        game.start([0], [match])
        while len(decisions := game.decisions()):
            legal = np.flatnonzero(decisions.mask[0]).tolist()
            seat, turn = int(decisions.seat[0]), int(decisions.turn[0])
            action = Stream.keyed(20, match, seat, "act", turn).choice(legal)
            yield bytes([match, seat, turn, action])
            yield decisions.observation[0].tobytes() + decisions.mask[0].tobytes()
            game.act([0], [action])
        yield game.returns[0].astype("<f4").tobytes() + game.place[0].astype("<i4").tobytes()


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_fixed_matches_are_what_they_were(name: str) -> None:
    digest = hashlib.sha256(b"".join(transcript(name, matches=50))).hexdigest()
    facts = make(name).spec.facts
    assert (facts.rules_version, facts.observation_version, digest[:16]) == (1, 1, GOLDEN[name])


PICTURES = {
    "kuhn": ([0, 1], "cards {0} | {1}   pass bet"),
    "leduc": ([2, 1, 1], "cards {0} | {1}   public {2}   stakes 3 | 3   rc / c"),
    "liars_dice": ([0, 10], "dice {0} | {1}   1x1 2x5"),
    "phantom_ttt": ([4, 4, 0], "o..\n.x.\n..."),
    "card_rps": ([0, 0, 1], "cards {0} | {1}   score +0   rock - rock, paper"),
}


def shown(name: str, state: dict[str, Any]) -> list[str]:
    if name == "kuhn":
        return ["JQK"[card] for card in state["cards"]]
    if name == "leduc":
        deck = ["Js", "Jh", "Qs", "Qh", "Ks", "Kh"]
        return [deck[card] for card in [*state["cards"], state["public"]]]
    if name == "card_rps":
        return [("rock", "paper", "scissors")[card] for card in state["cards"]]
    return [str(die + 1) for die in state.get("dice", [])]


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_a_match_is_drawn_with_its_cards_and_moves(name: str) -> None:
    moves, picture = PICTURES[name]
    game = make(name, seed=9)
    game.start([0], [1])
    for move in moves:
        game.decisions()
        game.act([0], [move])
    assert game.draw(0) == picture.format(*shown(name, game.state(0)))


def test_labels_name_the_choices() -> None:
    assert make("leduc").spec.heads[0].labels == ("fold", "call", "raise")
    assert make("kuhn").spec.heads[0].labels == ("pass", "bet")
    dice = make("liars_dice").spec.heads[0].labels
    assert (dice[0], dice[10], dice[12]) == ("1x1", "2x5", "liar")
    assert make("card_rps").spec.heads[0].labels == ("rock", "paper", "scissors")
    assert make("phantom_ttt").spec.heads[0].labels[:4] == ("a1", "b1", "c1", "a2")
