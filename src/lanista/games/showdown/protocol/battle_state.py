"""What one player knows of a battle: both sides, the field, and what happened last.

Plain state that lines.py changes and encoding.py reads. Side 0 is the player's own, side 1 the
opponent's. A place on the field is counted from the player's own left: in doubles 0 and 1 are own,
2 and 3 the opponent's; in singles 0 is own and 1 the opponent's. Knows nothing of the protocol.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

from lanista.games.showdown.protocol.vocabulary import NO_SPECIES, dex, to_id

OWN, FOE = 0, 1
BOOSTS = ("atk", "def", "spa", "spd", "spe", "accuracy", "evasion")
MOST_MONS = 24
"""Pokémon that a side is believed to have: six, and what Illusion makes of them."""
MOST_EVENTS = 500
"""Events that a turn is believed to have; the busiest that were seen had some thirty."""
FULL = 1000
"""All of a Pokémon's HP: HP is counted in thousandths, of which an opponent's shows hundredths."""
# Kinds of event.
NOTHING, MOVED, SWITCHED, DRAGGED, KEPT_FROM_MOVING, RESIDUAL = range(6)
BATON_PASS = frozenset(
    (
        *("substitute", "confusion", "leechseed", "curse", "focusenergy", "aquaring", "ingrain"),
        *("magnetrise", "perish", "embargo"),
    )
)


class Mon:
    """A Pokémon, as far as it is known."""

    __slots__ = (
        *("name", "species", "base", "level", "gender", "hp", "status", "slept", "appeared"),
        *("item", "lost_item", "brought", "ability", "tera", "terastallized", "moves"),
        *("speed_low", "speed_high", "guessed", "written", "reckoned"),
    )

    def __init__(self, name: str, species: str, level: int, gender: str) -> None:
        self.name = name
        self.species = species
        self.base = base_of(species)
        self.level = level
        self.gender = gender
        self.hp = FULL
        self.status = ""
        self.slept = 0
        """Turns lost to sleep since it fell asleep."""
        self.appeared = False
        """It has been on the field."""
        self.item: str | None = None
        """None while unknown, "" once it is known to hold nothing."""
        self.lost_item = ""
        """The last item that it was seen to lose."""
        self.brought = ""
        """The item it came with, once revealed; it may be gone."""
        self.ability = ""
        """The ability it brought, once revealed."""
        self.tera = ""
        """The type it turns or turned into, once revealed."""
        self.terastallized = False
        self.moves: dict[str, int] = {}
        """Moves of its own that were seen, and how often each was used."""
        self.speed_low = 0
        """A lower bound of its acting speed drawn from who moved first; 0 while there is none."""
        self.speed_high = 0
        """The upper bound; 0 while there is none."""
        self.guessed: tuple[Any, Any] = (None, None)
        """What was revealed when it was last guessed what else it has, and the guess."""
        self.written: tuple[Any, Any] = (None, None)
        """What an observation was last made of and how it was written, to be used again."""
        self.reckoned: tuple[Any, Any] = (None, None)
        """The same for what it is reckoned with as."""

    def show_item(self, item: str) -> None:
        """Know what it has been holding all along, unless more is known already."""
        if self.item is None:
            self.item = self.brought = item

    def lose_item(self, item: str) -> None:
        """Know that it holds nothing any more, and what it was."""
        self.show_item(item)
        self.item, self.lost_item = "", item
        self.speed_low = self.speed_high = 0

    def take_item(self, item: str) -> None:
        """Know what it holds now."""
        self.item = item
        self.speed_low = self.speed_high = 0


class Place:
    """A place on the field and what holds only while a Pokémon stays there."""

    __slots__ = (
        *("index", "mon", "boosts", "volatiles", "single", "since", "last_move", "protects"),
        *("protected", "forme", "types", "added", "ability", "moves", "odd", "before"),
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.mon: Mon | None = None
        self.before: dict[str, Any] = {}
        """What was known of the Pokémon when it came in, in case it is another in disguise."""
        self.clear(0)

    def clear(self, turn: int) -> None:
        """Forget what ends when a Pokémon leaves."""
        self.boosts = [0] * len(BOOSTS)
        self.volatiles: dict[str, int] = {}
        """By name: the turn it began, or a count (see effects.py)."""
        self.single: set[str] = set()
        """What holds for this turn alone."""
        self.since = turn
        self.last_move = ""
        self.protects = 0
        """Protections in a row."""
        self.protected = -9
        """The turn of the last one."""
        self.forme = ""
        """The species it looks and acts like until it leaves, if not its own."""
        self.types: tuple[str, ...] = ()
        """Types it was changed to, if it was."""
        self.added = ""
        self.ability = ""
        """An ability other than its own."""
        self.moves: dict[str, int] | None = None
        """The moves of what it has transformed into."""
        self.odd = False
        """Its speed is no longer its own."""

    def enter(self, mon: Mon, turn: int, passes: str = "") -> None:
        """Put a Pokémon here; `passes` is the move that hands something over to it."""
        boosts, volatiles = self.boosts, self.volatiles
        self.clear(turn)
        if passes == "batonpass":
            self.boosts = boosts
            self.volatiles = {name: volatiles[name] for name in BATON_PASS & volatiles.keys()}
        elif passes == "shedtail":
            self.volatiles = {"substitute": turn}
        self.mon = mon

    @property
    def species(self) -> str:
        """What stands here, as it acts; "" if nothing does."""
        return self.forme or (self.mon.species if self.mon else "")

    def current_types(self) -> tuple[str, ...]:
        """Return the types that count now."""
        mon = self.mon
        if mon is None:
            return ()
        if mon.terastallized and mon.tera and mon.tera != "stellar":
            return (mon.tera,)
        types = self.types or dex().species_of(self.species).types
        return (*types, self.added) if self.added else types


class Event:
    """A move, a switch, a lost turn, or what the end of a turn does, and what came of it."""

    __slots__ = (
        *("kind", "actor", "move", "species", "target", "damage", "fell"),
        *("crit", "missed", "failed", "blocked", "immune", "effective", "mon", "hurt"),
    )

    def __init__(self, kind: int, places: int, actor: int = -1) -> None:
        self.kind = kind
        self.actor = actor
        self.species = ""
        self.move = ""
        self.target = -1
        self.damage = [0] * places
        """By place: HP lost in thousandths; below 0 where it gained some."""
        self.fell = [0] * places
        self.crit = self.missed = self.failed = self.blocked = self.immune = self.effective = 0
        self.mon: Mon | None = None
        """Who acts, wherever it stands later."""
        self.hurt: dict[Mon, int] = {}
        """The HP that Pokémon lost, as in `damage`, wherever they stand later."""


class Side:
    """One player's side."""

    __slots__ = ("conditions", "mons", "places", "previewed", "size", "terastallized")

    def __init__(self, first_place: int, places: int) -> None:
        self.mons: list[Mon] = []
        self.places = [Place(first_place + at) for at in range(places)]
        self.conditions: dict[str, int] = {}
        """By name: the turn it began, or its layers."""
        self.size = 0
        """How many Pokémon are in the battle; 0 while unknown."""
        self.previewed = False
        """The whole team was shown before the battle."""
        self.terastallized = False
        """One of its Pokémon has used the team's only change of type."""

    def recognise(self, name: str, details: str) -> Mon:
        """Return the Pokémon that a switch shows, one never seen before if need be."""
        species, level, gender = read_details(details)
        base = base_of(species)
        for mon in self.mons:
            if mon.name == name and mon.base == base:
                break
        else:
            mon = self._nameless(species, base) or Mon(name, species, level, gender)
            if mon not in self.mons:
                self.add(mon)
            mon.name = name
        mon.species, mon.base, mon.level, mon.gender = species, base, level, gender
        return mon

    def add(self, mon: Mon) -> None:
        """Know one more Pokémon; every line may look through all of them."""
        if len(self.mons) >= MOST_MONS:
            raise ValueError(f"a side has more than {MOST_MONS} Pokémon")
        self.mons.append(mon)

    def _nameless(self, species: str, base: str) -> Mon | None:
        """Return the previewed Pokémon that has not shown itself yet and can be this one."""
        waiting = [mon for mon in self.mons if not mon.name]
        same = [mon for mon in waiting if mon.species == species]
        return next(iter(same or [mon for mon in waiting if mon.base == base]), None)

    def named(self, name: str) -> Mon | None:
        """Return a Pokémon by its nickname."""
        for mon in self.mons:
            if mon.name == name:
                return mon
        return None

    def brought(self) -> int:
        """Return how many of its Pokémon have shown themselves in the battle."""
        return sum(mon.appeared for mon in self.mons)


class Known:
    """Everything that one player knows beside the request."""

    def __init__(self, seat: int, places: int) -> None:
        self.names = (f"p{seat + 1}", f"p{2 - seat}")
        self.sides = (Side(0, places), Side(places, places))
        self.places = [*self.sides[OWN].places, *self.sides[FOE].places]
        self.turn = 0
        self.weather = ""
        self.weather_since = 0
        self.terrain = ""
        self.terrain_since = 0
        self.rooms: dict[str, int] = {}
        """Trick Room and its like, by name: the turn each began."""
        self.events: list[Event] = []
        """What happened in the last turn, oldest first, or in this one as far as it got."""
        self.earlier: list[Event] = []
        """What happened in the turn before those events."""
        self.turn_over = False
        """The next event is the first of a new turn."""
        self.gap = False
        """What comes next is not put down to the last move."""
        self.used_up: tuple[Mon, str] | None = None
        """Who has lost which item in the event that is going on."""
        self.strange: Counter[str] = Counter()
        """Lines and effects that nobody here knows, ignored and counted."""
        self.own_speeds: dict[str, tuple[int, str, str]] = {}
        """By own nickname: Speed stat, item and ability, as the last request told."""
        self.own_moves: dict[str, tuple[str, ...]] = {}
        """By own nickname: its moves, as the last request told."""
        self.acted: list[tuple[int, Mon, int, list[tuple[Mon, float] | None], bool]] = []
        """Who moved in this turn, for speeds.py."""
        self.unclear: set[Mon] = set()
        """Whose order in this turn says nothing of its speed."""
        self.unordered = False
        """From here to the turn's end, order says nothing."""

    def begin(self, kind: int, actor: int = -1) -> Event:
        """Open an event; what comes of the lines that follow is put down to it."""
        if self.turn_over:
            self.earlier, self.events = self.events, []
            self.turn_over = False
        self.gap = False
        self.used_up = None
        if len(self.events) >= MOST_EVENTS:
            raise ValueError(f"a turn has more than {MOST_EVENTS} events")
        event = Event(kind, len(self.places), actor)
        if actor >= 0:
            event.mon = self.places[actor].mon
        self.events.append(event)
        return event

    def event(self) -> Event:
        """Return the event that lines are about now."""
        if self.turn_over or self.gap or not self.events:
            return self.begin(RESIDUAL)
        return self.events[-1]

    def set_hp(self, mon: Mon, hp: int, place: Place | None) -> None:
        """Change a Pokémon's HP and put it down to the event."""
        if place is not None and hp != mon.hp:
            event = self.event()
            event.damage[place.index] += mon.hp - hp
            event.hurt[mon] = event.hurt.get(mon, 0) + mon.hp - hp
        mon.hp = hp


@lru_cache(maxsize=1 << 12)
def base_of(species: str) -> str:
    """Return the species that a forme belongs to."""
    dex_entry = dex().species_of(species)
    return species if dex_entry is NO_SPECIES else dex_entry.base


@lru_cache(maxsize=1 << 12)
def read_details(details: str) -> tuple[str, int, str]:
    """Return species, level and gender of "Landorus, L50, M"; a hidden forme is its base's."""
    first, *rest = details.split(", ")
    level, gender = 100, ""
    for detail in rest:
        if detail in ("M", "F"):
            gender = detail
        elif detail[0] == "L" and detail[1:].isdigit():
            level = int(detail[1:])
    return to_id(first.removesuffix("-*")), level, gender


@lru_cache(maxsize=1 << 14)
def read_condition(condition: str) -> tuple[int, int, int, str]:
    """Return thousandths, points, most points and status of "57/165 par"; "0 fnt" is fainted."""
    health, _, status = condition.partition(" ")
    if status == "fnt" or "/" not in health:
        return 0, 0, 0, "fnt"
    now, most = (int(points) for points in health.split("/"))
    # A Pokémon that lives is never shown as one that does not.
    return max(1, now * FULL // most) if now else 0, now, most, status
