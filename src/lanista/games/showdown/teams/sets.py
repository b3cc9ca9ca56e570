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
    return tuple(_read(packed_set.split("|")) for packed_set in packed.split("]") if packed_set)


def species_names(packed: str) -> tuple[str, ...]:
    """Return the species of a packed team, as they are written there."""
    fields = [packed_set.split("|") for packed_set in packed.split("]") if packed_set]
    return tuple(one[1] or one[0] for one in fields)


def _read(fields: list[str]) -> Set:
    if len(fields) < 12:
        raise ValueError(f"{'|'.join(fields)!r} is no packed set")
    species = to_id(fields[1] or fields[0])
    dex_entry = dex().species_of(species)
    ability = to_id(fields[3])
    if fields[3] in _ABILITY_CODES:
        ability = dex_entry.abilities[_ABILITY_CODES[fields[3]]] if dex_entry.abilities else ""
    extra = fields[11].split(",")
    return Set(
        name=fields[0],
        species=species,
        item=to_id(fields[2]),
        ability=ability,
        moves=tuple(to_id(move) for move in fields[4].split(",") if move),
        tera=to_id(extra[5]) if len(extra) > 5 and extra[5] else next(iter(dex_entry.types), ""),
        speed_effort=_number(fields[6], 0),
        speed_gene=_number(fields[8], 31),
        nature=to_id(fields[5]),
    )


def _number(listed: str, default: int) -> int:
    """Return the last of six comma-separated numbers, the one for Speed."""
    numbers = listed.split(",")
    return int(numbers[SPEED]) if len(numbers) > SPEED and numbers[SPEED] else default
