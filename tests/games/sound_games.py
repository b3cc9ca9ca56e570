"""Games that keep the contract, each small enough to be checked in a moment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lanista.games import Facts, Field, PythonGame, Step, Stream, View

CARDS, TURNS = 6, 4


@dataclass
class Hand:
    cards: list[int]
    moves: list[int] = field(default_factory=list)


class Duel(PythonGame):
    """A sound game. Two seats hold a card of six and take turns, four in all.

    A raise pays one chip to the other seat at once; the higher card takes two at the end.
    """

    facts = Facts(seats=2, longest=TURNS, hidden=True, chance=True, zero_sum=True)
    observation = (Field("card", 1, CARDS), Field("moves", TURNS, 3))
    moves = 2
    dtype = "uint8"
    privileged_fields = (Field("cards", 2, CARDS),)

    def deal(self, rng: Stream) -> Hand:
        first = rng.below(CARDS)
        return Hand([first, (first + 1 + rng.below(CARDS - 1)) % CARDS])

    def apply(self, state: Hand, moves: dict[int, int], rng: Stream) -> Step:
        ((seat, move),) = moves.items()
        state.moves.append(move)
        rewards = [0.0, 0.0]
        rewards[seat], rewards[1 - seat] = -move, move
        if len(state.moves) < TURNS:
            return Step(rewards=rewards)
        paid = [sum(state.moves[1::2]) - sum(state.moves[0::2])] * 2
        paid[1] = -paid[0]
        winner = int(state.cards[1] > state.cards[0])
        paid[winner] += 2
        paid[1 - winner] -= 2
        return Step(rewards=rewards, returns=paid)

    def view(self, state: Hand, seat: int) -> View | None:
        if len(state.moves) % 2 != seat:
            return None
        seen = [move + 1 for move in state.moves]
        raised = sum(state.moves[seat::2])
        legal = [0] if raised else [0, 1]
        return View([state.cards[seat], *seen, *[0] * (TURNS - len(seen))], legal)

    def view_all(self, state: Hand, seat: int) -> list[int]:
        return [state.cards[seat], state.cards[1 - seat]]

    def resample(self, state: Hand, seat: int, rng: Stream) -> None:
        own = state.cards[seat]
        state.cards[1 - seat] = (own + 1 + rng.below(CARDS - 1)) % CARDS


class Signals(PythonGame):
    """A simultaneous game without hidden cards: both name a number, the higher one wins it."""

    facts = Facts(seats=2, longest=3, chance=True, zero_sum=True, simultaneous=True, symmetric=True)
    observation = 2
    moves = 3

    def deal(self, rng: Stream) -> list[int]:
        return [rng.below(5), 0, 0]

    def apply(self, state: list[int], moves: dict[int, int], rng: Stream) -> Step | None:
        state[1] += 1
        state[2] += (moves[0] > moves[1]) - (moves[0] < moves[1])
        return Step(returns=[state[2], -state[2]]) if state[1] == 3 else None

    def view(self, state: list[int], seat: int) -> View:
        return View(state[:2], [0, 1, 2])


class OneTurn(Signals):
    facts = replace(Signals.facts, longest=1)

    def apply(self, state, moves, rng):
        won = (moves[0] > moves[1]) - (moves[0] < moves[1])
        return [won, -won]
