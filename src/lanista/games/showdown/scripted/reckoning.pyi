from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lanista.games.showdown.scripted.damage import Fighter, Ground

class Arsenal:
    """Moves by their codes."""

    @property
    def names(self) -> tuple[str, ...]: ...

class Air:
    """Weather and terrain as factors."""

    @property
    def ground(self) -> Ground: ...

class Sheet:
    """A fighter as numbers."""

    @property
    def fighter(self) -> Fighter: ...
    def __init__(self, fighter: Fighter) -> None: ...

def arsenal(names: tuple[str, ...]) -> Arsenal: ...
def air(ground: Ground) -> Air: ...
def share(attacker: Sheet, move: str, target: Sheet, air: Air, spread: bool = False) -> float: ...
def best(attacker: Sheet, moves: Arsenal, target: Sheet, air: Air) -> float: ...
def threat(moves: Arsenal, attacker: Sheet, target: Sheet, air: Air) -> float: ...
def hit_chance(attacker: Sheet, move: str, target: Sheet, air: Air) -> float: ...
def write_versus_foe(
    mon: Sheet,
    turned: Sheet,
    moves: Arsenal,
    foe: Sheet,
    shown: Arsenal,
    likely: Arsenal,
    air: Air,
    before: float,
    faster: bool,
    out: NDArray[np.int16],
) -> float: ...
def write_moves_versus_foe(
    attacker: Sheet,
    turned: Sheet,
    moves: Arsenal,
    foe: Sheet,
    air: Air,
    spread: Sequence[bool],
    priorities: Sequence[int],
    before: float,
    out: NDArray[np.int16],
) -> None: ...
def facts(
    attacker: Sheet, move: str, target: Sheet, air: Air
) -> tuple[int, int, int, int, int, int, int, int]: ...
def versus_team(
    mon: Sheet, moves: Arsenal, team: list[tuple[Sheet, Arsenal]], air: Air
) -> tuple[float, float]: ...
