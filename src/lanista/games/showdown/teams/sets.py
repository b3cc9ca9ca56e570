"""Sets of Pokémon as the simulator packs them: what a team brings, one set each.

Reads the packed text of a team. Judges nothing: whether a set is legal is the simulator's to say.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanista.games.showdown.protocol.vocabulary import dex, to_id

SPEED = 5
_ABILITY_CODES = {"": 0, "0": 0, "1": 1, "H": -1}
FASTER = frozenset(("timid", "hasty", "jolly", "naive"))
SLOWER = frozenset(("brave", "relaxed", "quiet", "sassy"))


@dataclass(frozen=True)
class Set:
    """One Pokémon as it was brought."""

    name: str
    species: str
    item: str
    """"" where it holds nothing."""
    ability: str
    moves: tuple[str, ...]
    tera: str
    speed_effort: int = 0
    speed_gene: int = 31
    nature: str = ""

    def speed(self, level: int) -> int:
        """Return the Speed stat at a level."""
        base = dex().species_of(self.species).stats[SPEED]
        stat = (2 * base + self.speed_gene + self.speed_effort // 4) * level // 100 + 5
        return stat * (10 + (self.nature in FASTER) - (self.nature in SLOWER)) // 10


def unpack(packed: str) -> tuple[Set, ...]:
    """Return the sets of a packed team."""
    return tuple(_read(part.split("|")) for part in packed.split("]") if part)


def _read(parts: list[str]) -> Set:
    if len(parts) < 12:
        raise ValueError(f"{'|'.join(parts)!r} is no packed set")
    species = to_id(parts[1] or parts[0])
    told = dex().species_of(species)
    ability = to_id(parts[3])
    if parts[3] in _ABILITY_CODES:
        ability = told.abilities[_ABILITY_CODES[parts[3]]] if told.abilities else ""
    extra = parts[11].split(",")
    return Set(
        name=parts[0],
        species=species,
        item=to_id(parts[2]),
        ability=ability,
        moves=tuple(to_id(move) for move in parts[4].split(",") if move),
        tera=to_id(extra[5]) if len(extra) > 5 and extra[5] else next(iter(told.types), ""),
        speed_effort=_number(parts[6], 0),
        speed_gene=_number(parts[8], 31),
        nature=to_id(parts[5]),
    )


def _number(listed: str, default: int) -> int:
    """Return the last of six comma-separated numbers, the one for Speed."""
    parts = listed.split(",")
    return int(parts[SPEED]) if len(parts) > SPEED and parts[SPEED] else default
