"""One turn on a line that you lay out yourself: for puzzles, docs and tests.

Turns names into cards and back, and says in a sentence what is wrong with them. Knows no rules:
either engine resolves the turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lanista.errors import nearest
from lanista.games.beastybar.animals import (
    ACTIONS,
    CHAMELEON,
    KANGAROO,
    NUMBER,
    PARROT,
    SPECIES,
    Play,
)
from lanista.games.beastybar.reference import Card, Rules, play_turn, plays_of
from lanista.games.contract import GameError

Animal = tuple[int, int]
"""A species' index and its owner's seat."""
Outcome = tuple[list[Animal], list[Animal], list[Animal]]


def resolve(
    line: Sequence[str],
    card: str,
    copy: str | None = None,
    choice: int | None = None,
    engine: str = "compiled",
) -> tuple[list[str], list[str], list[str]]:
    """Play `card` on `line` and return the line, who entered the bar, and who went out.

    Animals are names, Gate first: "hippo", or "hippo:1" for seat 1's. `copy` is the species a
    chameleon copies; `choice` is how many animals a kangaroo jumps, or the place in line of a
    parrot's target (Gate = 0). Whatever has one possibility only may be left out.
    """
    if engine not in ENGINES:
        raise GameError(f"There is no engine {engine!r}; choose from {', '.join(ENGINES)}.")
    if isinstance(line, str) or not isinstance(line, Sequence):
        raise GameError(f"The line is {line!r}; give a list of animals.")
    animals = [_animal(name) for name in line]
    if len(animals) > 4:
        raise GameError(f"The line has {len(animals)} animals; give at most four.")
    played = _animal(card)
    play = _find_play(animals, played[0], copy, choice)
    outcome = ENGINES[engine](animals, played, NUMBER[play])
    remaining, entered, out = ([_name(animal) for animal in group] for group in outcome)
    return remaining, entered, out


def _reference(line: list[Animal], played: Animal, action: int) -> Outcome:
    cards = [Card(species, seat) for species, seat in line]
    entered, out = play_turn(cards, Card(*played), ACTIONS[action])
    return _animals(cards), _animals(entered), _animals(out)


def _compiled(line: list[Animal], played: Animal, action: int) -> Outcome:
    from lanista.games.beastybar.rules import resolve_line

    remaining, entered, out = resolve_line(line, *played, action)
    return remaining, entered, out


ENGINES = {"compiled": _compiled, "reference": _reference}


def _animals(cards: Iterable[Card]) -> list[Animal]:
    return [(card.species, card.owner) for card in cards]


def _name(animal: Animal) -> str:
    species, seat = animal
    return f"{SPECIES[species]}:{seat}" if seat else SPECIES[species]


def _animal(name: str) -> Animal:
    species, colon, seat = _text(name).partition(":")
    if colon and seat not in ("0", "1", "2", "3"):
        raise GameError(f"The animal {name!r} has seat {seat!r}; give a seat from 0 to 3.")
    return _species(species), int(seat or 0)


def _species(name: str) -> int:
    if _text(name) not in SPECIES:
        raise GameError(f"There is no animal {name!r}; {nearest(name, SPECIES)}")
    return SPECIES.index(name)


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise GameError(f"{name!r} is not an animal; give a name such as 'hippo' or 'hippo:1'.")
    return name


def _find_play(line: list[Animal], species: int, copy: str | None, choice: int | None) -> Play:
    """Return the one legal play that is meant."""
    if copy is not None and species != CHAMELEON:
        raise GameError(f"A {SPECIES[species]} cannot copy {copy!r}; only a chameleon copies.")
    copied = None if copy is None else _species(copy)
    if choice is not None and type(choice) is not int:
        raise GameError(f"The choice is {choice!r}; give a whole number.")
    plays = list(plays_of([Card(*animal) for animal in line], species, Rules()))
    if copied is not None:
        plays = _copies(plays, copied)
    fitting = [play for play in plays if choice is None or play.choice == choice]
    if len(fitting) == 1:
        return fitting[0]
    if len({play.copy for play in plays}) > 1:
        names = ", ".join(SPECIES[c] for c in sorted({p.copy for p in plays if p.copy is not None}))
        raise GameError(f"A chameleon here can copy {names}; give one as copy.")
    raise GameError(_wrong_choice(plays, choice))


def _copies(plays: list[Play], copied: int) -> list[Play]:
    if copied == CHAMELEON:
        raise GameError("A chameleon cannot copy a chameleon; copy another species in line.")
    fitting = [play for play in plays if play.copy == copied]
    if not fitting:
        raise GameError(
            f"A chameleon cannot copy a {SPECIES[copied]} that is not in line; "
            "copy a species that is there."
        )
    return fitting


def _wrong_choice(plays: list[Play], choice: int | None) -> str:
    acting = plays[0].species if plays[0].copy is None else plays[0].copy
    meaning = {KANGAROO: "animals to jump", PARROT: "a target's place in line, Gate = 0"}.get(
        acting
    )
    possible = ", ".join(str(play.choice) for play in plays if play.choice is not None)
    remedy = f"give {possible} ({meaning})" if possible else "leave it out"
    problem = "is missing" if choice is None else f"{choice} is not possible"
    return f"The choice of the {SPECIES[acting]}'s action {problem}; {remedy}."
