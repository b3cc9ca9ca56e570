"""A position of Beasty Bar as plain values for a page, and its plays in words.

Shows a hand only to the eyes of its seat. Knows nothing of how it is drawn, and no rules.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from lanista.games.beastybar.animals import ACTIONS, CHAMELEON, KANGAROO, PARROT, POINTS, SPECIES
from lanista.games.contract import Game, Spec
from lanista.games.scenes import Board, Eyes, Facts, Scene

TO_COME, IN_LINE, IN_BAR, GONE = range(4)
"""Where an animal is, as an observation has it."""


class _Shows(Protocol):
    def state(self, slot: int) -> dict[str, Any]: ...


def scene(game: Game, slot: int, eyes: Eyes) -> Scene:
    """Return line, bar, THAT'S IT and the hands that the eyes may see."""
    now = _state(game, slot)
    seats = range(game.spec.seats)
    return {
        "kind": "beastybar",
        "line": [{**_animal(species), "owner": owner} for species, owner in now["line"]],
        "seats": [
            {
                "hand": [_animal(one) for one in now["hands"][seat]] if seat in eyes else None,
                "cards": len(now["hands"][seat]),
                "pile": len(now["piles"][seat]),
                "bar": [_animal(one) for one in now["bar"][seat]],
                "out": [_animal(one) for one in now["out"][seat]],
                "points": now["points"][seat],
            }
            for seat in seats
        ],
        "turn": now["turn"],
        "to_move": None if now["turn"] == len(SPECIES) * len(seats) else now["to_move"],
    }


def words(game: Game, slot: int, seat: int, head: int, choice: int) -> str:
    """Return a play in words: who is played, and whom it is about."""
    play, line = ACTIONS[choice], _state(game, slot)["line"]
    name = SPECIES[play.species]
    if play.copy is not None:
        name = f"{name} as {SPECIES[play.copy]}"
    acting = play.species if play.copy is None else play.copy
    if acting == KANGAROO:
        if not play.choice:
            return f"{name}, no jump"
        return f"{name}, jumps over {play.choice}"
    if acting == PARROT:
        if play.choice is None or play.choice >= len(line):
            return f"{name}, chases nobody"
        species, owner = line[play.choice]
        return f"{name}, chases the {SPECIES[species]} of seat {owner}"
    return f"{name}, copies nobody" if acting == CHAMELEON else name


def targets(game: Game, slot: int, seat: int, choice: int) -> tuple[str, ...]:
    """Return what is clicked for a play: the card, then whom it is about."""
    play = ACTIONS[choice]
    card = f"card:{play.species}"
    acting = play.species if play.copy is None else play.copy
    parts = [card] if play.copy is None else [card, f"copy:{play.copy}"]
    if acting == PARROT and play.choice is not None:
        parts.append(f"line:{play.choice}")
    if acting == KANGAROO:
        parts.append(f"jump:{play.choice}")
    return tuple(parts)


def seen(spec: Spec, observation: NDArray[Any]) -> Facts:
    """Return what a seat saw: line, own hand, what everybody has in the bar and lost."""
    view = {entry.name: observation[spec.observation.slice_of(entry.name)].tolist()
            for entry in spec.observation.fields}  # fmt: skip
    owners = ["", "own", *(f"next {n}" if spec.seats > 2 else "other" for n in range(1, 4))]
    line = [
        f"{SPECIES[species - 1]} ({owners[owner]})"
        for species, owner in zip(view["line species"], view["line owner"], strict=True)
        if species
    ]
    hand = [SPECIES[at] for at, there in enumerate(view["hand"]) if there]
    facts = [("line, from the gate", ", ".join(line) or "empty"), ("hand", ", ".join(hand) or "—")]
    for seat in range(spec.seats):
        where = view[f"where {seat}"]
        who = owners[seat + 1]
        for place, title in ((IN_BAR, "in the bar"), (GONE, "THAT'S IT")):
            names = [SPECIES[at] for at, now in enumerate(where) if now == place]
            facts.append((f"{who}, {title}", ", ".join(names) or "—"))
    points = ", ".join(f"{owners[at + 1]} {n}" for at, n in enumerate(view["points"]))
    return [*facts, ("points", points), ("turn", str(view["turn"][0]))]


def _animal(species: int) -> dict[str, Any]:
    return {
        "species": species,
        "name": SPECIES[species],
        "strength": species + 1,
        "points": POINTS[species],
    }


def _state(game: Any, slot: int) -> dict[str, Any]:
    shows: _Shows = game
    return shows.state(slot)


BOARD = Board(scene, words, targets, seen, open_moves=True)
