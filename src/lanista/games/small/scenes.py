"""Positions of the small games as plain values for a page: cards and dice, or a grid of marks.

A card or die is shown to the eyes of its seat, and to everybody once the match is over and it was
shown down. Knows nothing of how they are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from lanista.games.contract import Game, Spec
from lanista.games.scenes import Board, Eyes, Facts, Scene, everybody

RANKS, SUITS = "JQK", "♠♥"
SIDES = 6
CELLS = 9
THROWS = ("rock", "paper", "scissors")
_LEDUC_MOVES = ("fold", "call", "raise")


def kuhn(game: Game, slot: int, eyes: Eyes) -> Scene:
    """Return the cards, the pot and what was done."""
    now = _state(game, slot)
    moves = [("pass", "bet")[move] for move in now["moves"]]
    over = bool(game.done[slot].all())
    stakes = [1, 1]
    for number, move in enumerate(moves):
        stakes[number % 2] += move == "bet"
    folded = over and moves[-1] == "pass" and "bet" in moves
    seats = [
        {
            "cards": [RANKS[card]] if seat in eyes or (over and not folded) else None,
            "stake": stakes[seat],
        }
        for seat, card in enumerate(now["cards"])
    ]
    log = [{"seat": number % 2, "words": move} for number, move in enumerate(moves)]
    return {"kind": "cards", "seats": seats, "public": [], "log": log, "over": over}


def leduc(game: Game, slot: int, eyes: Eyes) -> Scene:
    """Return the cards, the public one, the stakes and what was done in both rounds."""
    now = _state(game, slot)
    over = bool(game.done[slot].all())
    folded = any(0 in moves for moves in now["moves"])
    seats = [
        {
            "cards": [_leduc_card(card)] if seat in eyes or (over and not folded) else None,
            "stake": now["stakes"][seat],
        }
        for seat, card in enumerate(now["cards"])
    ]
    log = [
        {"seat": number % 2, "words": _LEDUC_MOVES[move], "round": at + 1}
        for at, moves in enumerate(now["moves"])
        for number, move in enumerate(moves)
    ]
    public = [] if now["public"] is None else [_leduc_card(now["public"])]
    return {"kind": "cards", "seats": seats, "public": public, "log": log, "over": over}


def liars_dice(game: Game, slot: int, eyes: Eyes) -> Scene:
    """Return the dice and the bids."""
    now = _state(game, slot)
    over = bool(game.done[slot].all())
    labels = game.spec.heads[0].labels
    seats = [
        {"dice": [die + 1] if seat in eyes or over else None}
        for seat, die in enumerate(now["dice"])
    ]
    bids = [*now["bids"], *([len(labels) - 1] if now["doubted"] else [])]
    log = [{"seat": number % 2, "words": labels[bid]} for number, bid in enumerate(bids)]
    return {"kind": "cards", "seats": seats, "public": [], "log": log, "over": over}


def phantom_ttt(game: Game, slot: int, eyes: Eyes) -> Scene:
    """Return the marks that the eyes know of: a seat's own, and those it ran into."""
    attempts = _state(game, slot)["attempts"]
    over = bool(game.done[slot].all())
    everything = eyes == everybody(game.spec)
    cells = ["."] * CELLS
    for seat, cell, marked in attempts:
        mark = "xo"[seat if marked else 1 - seat]
        if everything or seat in eyes:
            cells[cell] = mark
    rows = ["".join(cells[at : at + 3]) for at in range(0, CELLS, 3)]
    last = [cell for seat, cell, _ in attempts if everything or seat in eyes][-1:]
    return {"kind": "grid", "rows": rows, "last": last, "look": "marks", "over": over}


def card_rps(game: Game, slot: int, eyes: Eyes) -> Scene:
    """Return the cards and the throws that the eyes have seen.

    What a round was worth would tell who holds which card, and is left out.
    """
    now = _state(game, slot)
    over = bool(game.done[slot].all())
    throws, rounds = now["throws"], len(now["worth"])
    log = [
        {"seat": number % 2, "words": THROWS[throw], "round": number // 2 + 1}
        for number, throw in enumerate(throws)
        if number < 2 * rounds or number % 2 in eyes
    ]
    seats = [
        {"cards": [THROWS[card]] if seat in eyes or over else None}
        for seat, card in enumerate(now["cards"])
    ]
    return {"kind": "cards", "seats": seats, "public": [], "log": log, "over": over}


def cell_target(game: Game, slot: int, seat: int, choice: int) -> tuple[str, ...]:
    """Return the cell that is clicked for a choice, which is its number."""
    return (f"cell:{choice // 3},{choice % 3}",)


def cards_seen(cards: Sequence[str], steps: int, spec: Spec, observation: NDArray[Any]) -> Facts:
    """Return a poker seat's view: its card, the public one, and the bets so far."""
    facts = []
    for entry in spec.observation.fields:
        values = observation[spec.observation.slice_of(entry.name)].tolist()
        if entry.name == "seat":
            facts.append(("seat", str(values.index(1))))
        elif entry.size == len(cards):
            facts.append((entry.name, cards[values.index(1)] if 1 in values else "none yet"))
        else:
            names = ("pass", "bet") if steps == 1 else ("call", "raise")
            pairs = [values[at : at + 2] for at in range(0, len(values), 2)]
            moves = [names[pair.index(1)] for pair in pairs if 1 in pair]
            facts.append((entry.name, ", ".join(moves) or "none yet"))
    return facts


def dice_seen(spec: Spec, observation: NDArray[Any]) -> Facts:
    """Return a dice seat's view: its die and the bids."""
    view = {entry.name: observation[spec.observation.slice_of(entry.name)].tolist()
            for entry in spec.observation.fields}  # fmt: skip
    bids = [spec.heads[0].labels[at] for at, made in enumerate(view["bids"]) if made]
    return [
        ("seat", str(view["seat"].index(1))),
        ("die", str(view["die"].index(1) + 1)),
        ("bids", ", ".join(bids) or "none yet"),
    ]


def throws_seen(spec: Spec, observation: NDArray[Any]) -> Facts:
    """Return a seat's card, and both throws of each round that it has seen."""
    facts = []
    for entry in spec.observation.fields:
        values = observation[spec.observation.slice_of(entry.name)].tolist()
        names = THROWS if len(values) == len(THROWS) else ("0", "1")
        facts.append((entry.name, names[values.index(1)] if 1 in values else "none yet"))
    return facts


def marks_seen(spec: Spec, observation: NDArray[Any]) -> Facts:
    """Return which marks a seat knows, and its attempts in order."""
    labels = spec.heads[0].labels
    facts = []
    for name in ("x", "o"):
        values = observation[spec.observation.slice_of(name)].tolist()
        marks = [labels[at] for at, there in enumerate(values) if there]
        facts.append((f"{name} known", ", ".join(marks) or "none"))
    attempts = observation[spec.observation.slice_of("attempts")].reshape(CELLS, CELLS)
    tried = [labels[int(row.argmax())] for row in attempts if row.any()]
    return [*facts, ("own attempts", ", ".join(tried) or "none")]


def _leduc_card(card: int) -> str:
    return RANKS[card // 2] + SUITS[card % 2]


def _state(game: Any, slot: int) -> dict[str, Any]:
    state: dict[str, Any] = game.state(slot)
    return state


_LEDUC_CARDS = tuple(_leduc_card(card) for card in range(6))
KUHN = Board(kuhn, seen=partial(cards_seen, RANKS, 1), open_moves=True)
LEDUC = Board(leduc, seen=partial(cards_seen, _LEDUC_CARDS, 2), open_moves=True)
LIARS_DICE = Board(liars_dice, seen=dice_seen, open_moves=True)
PHANTOM_TTT = Board(phantom_ttt, targets=cell_target, seen=marks_seen)
CARD_RPS = Board(card_rps, seen=throws_seen)
