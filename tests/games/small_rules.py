"""The small games' rules once more, from their rule books: what a line of moves comes to.

A match is its moves in order and what was dealt. `RULES[game](state, moves)` gives seat 0's return,
or None while the match goes on; `PLAYED[game](state)` what the game itself says was played.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LIAR = 12
LINES = ("012", "345", "678", "036", "147", "258", "048", "246")


def kuhn(state: dict[str, Any], moves: list[int]) -> float | None:
    """Pass is 0, bet is 1; both have put in 1, a bet is 1 more."""
    line = "".join("pb"[move] for move in moves)
    if line in ("bp", "pbp"):
        return 1.0 if line == "bp" else -1.0
    if line not in ("pp", "bb", "pbb"):
        return None
    stake = 1.0 if line == "pp" else 2.0
    return stake if state["cards"][0] > state["cards"][1] else -stake


def leduc(state: dict[str, Any], moves: list[int]) -> float | None:
    """Fold is 0, call is 1, raise is 2: by 2 in the first round and by 4 in the second."""
    paid, round_, seat, opened = [1, 1], 0, 0, False
    for move in moves:
        if move == 0:
            return float(-paid[0] if seat == 0 else paid[1])
        paid[seat] = paid[1 - seat]
        if move == 2:
            paid[seat] += (2, 4)[round_]
        if move == 1 and opened:
            round_, seat, opened = round_ + 1, 0, False
        else:
            seat, opened = 1 - seat, True
        if round_ == 2:
            first, second = (card // 2 for card in state["cards"])
            pair = state["public"] // 2
            if first == second:
                return 0.0
            wins = first == pair or (second != pair and first > second)
            return float(paid[1] if wins else -paid[0])
    return None


def liars_dice(state: dict[str, Any], moves: list[int]) -> float | None:
    """A bid is a count and a face, low counts first; sixes count as every face."""
    if LIAR not in moves:
        return None
    bid, doubter = moves[-2], (len(moves) - 1) % 2
    count, face = bid // 6 + 1, bid % 6
    shown = sum(die in (face, 5) for die in state["dice"])
    winner = doubter if shown < count else 1 - doubter
    return 1.0 if winner == 0 else -1.0


def phantom_ttt(state: dict[str, Any], moves: list[int]) -> float | None:
    """A try at a cell that is taken marks nothing, and the same seat tries again."""
    marks: tuple[set[str], set[str]] = (set(), set())
    seat = 0
    for cell in map(str, moves):
        if cell in marks[1 - seat]:
            continue
        marks[seat].add(cell)
        if any(set(line) <= marks[seat] for line in LINES):
            return 1.0 if seat == 0 else -1.0
        seat = 1 - seat
    return 0.0 if len(marks[0] | marks[1]) == 9 else None


def card_rps(state: dict[str, Any], moves: list[int]) -> float | None:
    """Rock, paper, scissors are 0, 1, 2; three rounds, both throws of each one after the other."""
    if len(moves) < 6:
        return None
    total = 0
    for first, second in zip(moves[::2], moves[1::2], strict=True):
        if (first, second) in ((1, 0), (2, 1), (0, 2)):
            total += 3 if first == state["cards"][0] else 1
        elif first != second:
            total -= 3 if second == state["cards"][1] else 1
    return float(total)


RULES: dict[str, Callable[[dict[str, Any], list[int]], float | None]] = {
    "kuhn": kuhn,
    "leduc": leduc,
    "liars_dice": liars_dice,
    "phantom_ttt": phantom_ttt,
    "card_rps": card_rps,
}
PLAYED: dict[str, Callable[[dict[str, Any]], list[int]]] = {
    "kuhn": lambda state: list(state["moves"]),
    "leduc": lambda state: [*state["moves"][0], *state["moves"][1]],
    "liars_dice": lambda state: [*state["bids"], *[LIAR] * state["doubted"]],
    "phantom_ttt": lambda state: [cell for _, cell, _ in state["attempts"]],
    "card_rps": lambda state: list(state["throws"]),
}
