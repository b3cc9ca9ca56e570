"""The twelve animals, what they are worth, and the numbers of all plays.

Both engines use these numbers, so their order is part of the rules version. Knows nothing of
what an animal does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanista.games.references import NOTHING, References, Role

SPECIES = (
    "skunk",
    "parrot",
    "kangaroo",
    "monkey",
    "chameleon",
    "seal",
    "zebra",
    "giraffe",
    "snake",
    "crocodile",
    "hippo",
    "lion",
)
"""Names in order of strength: a species' index is its printed strength less one."""

SKUNK, PARROT, KANGAROO, MONKEY, CHAMELEON, SEAL = range(6)
ZEBRA, GIRAFFE, SNAKE, CROCODILE, HIPPO, LION = range(6, 12)

POINTS = (4, 4, 4, 3, 3, 2, 4, 3, 2, 3, 2, 2)
"""The points printed on each species' card."""

PLAIN = (SKUNK, MONKEY, SEAL, ZEBRA, GIRAFFE, SNAKE, CROCODILE, HIPPO, LION)
"""Species whose action leaves the player nothing to choose."""


@dataclass(frozen=True)
class Play:
    """One way to play one card."""

    species: int
    copy: int | None = None
    """The species that a chameleon copies."""
    choice: int | None = None
    """How many animals a kangaroo jumps, or the place in line of a parrot's target (Gate = 0)."""

    @property
    def label(self) -> str:
        """Return the play in words, such as "chameleon as parrot 2"."""
        words = [SPECIES[self.species]]
        if self.copy is not None:
            words += ["as", SPECIES[self.copy]]
        if self.choice is not None:
            words.append(str(self.choice))
        elif _acting(self) in (PARROT, CHAMELEON):
            words.append("none")
        return " ".join(words)


ACTIONS = (
    *(Play(species) for species in PLAIN),
    *(Play(KANGAROO, choice=jump) for jump in (0, 1, 2)),
    Play(PARROT),
    *(Play(PARROT, choice=target) for target in range(4)),
    Play(CHAMELEON),
    *(Play(CHAMELEON, copy=species) for species in PLAIN),
    *(Play(CHAMELEON, copy=KANGAROO, choice=jump) for jump in (1, 2)),
    *(Play(CHAMELEON, copy=PARROT, choice=target) for target in range(4)),
    # The last two exist only where the rules let a kangaroo stay or a parrot decline.
    Play(CHAMELEON, copy=KANGAROO, choice=0),
    Play(CHAMELEON, copy=PARROT),
)

NUMBER = {play: number for number, play in enumerate(ACTIONS)}


def action_count(kangaroo_may_stay: bool = False, parrot_may_decline: bool = False) -> int:
    """Return the size of the action head under these rules: 33 or 35."""
    return 35 if kangaroo_may_stay or parrot_may_decline else 33


def references_of(plays: Sequence[Play]) -> References:
    """Return what plays are about: the card, the species it copies, the animal a parrot sends off.

    How far a kangaroo jumps is the kind of a play.
    """
    copies = (NOTHING if play.copy is None else play.copy for play in plays)
    targets = (
        play.choice if play.choice is not None and _acting(play) == PARROT else NOTHING
        for play in plays
    )
    kinds = (f"jump {play.choice}" if _acting(play) == KANGAROO else "" for play in plays)
    return References(
        (
            Role("card", "animal", tuple(play.species for play in plays)),
            Role("copy", "animal", tuple(copies)),
            Role("target", "line", tuple(targets)),
        ),
        tuple(kinds),
    )


def _acting(play: Play) -> int:
    """Return the species whose action a play takes."""
    return play.species if play.copy is None else play.copy
