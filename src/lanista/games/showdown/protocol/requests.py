"""What a request tells a player of its own team, kept in the order the simulator counts it.

Order matters: a choice names a Pokémon by its place in the party. Knows nothing of the opponent.
"""

from __future__ import annotations

from typing import Any

from lanista.games.showdown.protocol.battle_state import Known, read_condition, read_details
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.games.showdown.sim.views import Request

STATS = ("atk", "def", "spa", "spd", "spe")
# Kinds of request.
NOT_ASKED, PREVIEW, TURN, FORCED = range(4)
FULL_PP = 100


class OwnMon:
    """One of the player's own Pokémon, known in full."""

    __slots__ = (
        *("name", "species", "level", "gender", "hp", "points", "most", "status", "fainted"),
        *(
            "stats",
            "moves",
            "offered",
            "item",
            "ability",
            "tera",
            "terastallized",
            "commanding",
            "reviving",
        ),
        *("pp", "disabled", "entry", "written", "reckoned"),
    )

    def __init__(self, entry: dict[str, Any]) -> None:
        self.entry = entry
        self.written: tuple[Any, Any] = (None, None)
        """What an observation was last made of and how it was written, to be used again."""
        self.reckoned: tuple[Any, Any] = (None, None)
        """The same for what it is reckoned with as."""
        self.name = entry["ident"].partition(": ")[2]
        self.species, self.level, self.gender = read_details(entry["details"])
        self.hp, self.points, self.most, self.status = read_condition(entry["condition"])
        self.fainted = self.status == "fnt"
        if self.fainted:
            self.status = ""
        stats = entry["stats"]
        self.stats = [stats[name] for name in STATS]
        self.moves: list[str] = entry["moves"]
        self.offered: list[str] = []
        """The moves it may choose from, in the order that choices count them, where it is asked."""
        self.item: str = entry["item"]
        self.ability: str = entry.get("ability") or entry["baseAbility"]
        self.tera = to_id(entry.get("teraType", ""))
        self.terastallized = bool(entry.get("terastallized"))
        self.commanding = bool(entry.get("commanding"))
        self.reviving = bool(entry.get("reviving"))
        self.pp: list[int] = []
        """Hundredths of the PP of `moves` that are left, as last told."""
        self.disabled: list[int] = []
        """Which of `offered` cannot be chosen."""


class Own:
    """The player's own team and what it is asked."""

    def __init__(self) -> None:
        self.party: list[OwnMon] = []
        """In the simulator's order: those on the field first."""
        self.kind = NOT_ASKED
        self.active: list[dict[str, Any]] = []
        """The request's word on each place, where it asks for moves."""
        self.forced: list[bool] = []
        self.pp_by_mon: dict[str, tuple[list[str], list[int]]] = {}
        """By nickname: moves and hundredths of PP, as last told."""


def read_request(own: Own, battle: Known, request: Request) -> None:
    """Take in a request; the lines before it have been heard."""
    before = {mon.name: mon for mon in own.party}
    own.party = [_read_mon(entry, before) for entry in request["side"]["pokemon"]]
    own.active = request.get("active") or []
    own.forced = request.get("forceSwitch") or []
    own.kind = NOT_ASKED
    if request.get("teamPreview"):
        own.kind = PREVIEW
    elif own.forced:
        own.kind = FORCED
    elif own.active:
        own.kind = TURN
    for mon, active in zip(own.party, own.active, strict=False):
        _read_active(own, mon, active)
    hidden = any(mon.ability == "illusion" for mon in own.party)
    for mon in own.party:
        moves, pp = own.pp_by_mon.get(mon.name, ([], []))
        mon.pp = pp if moves == mon.moves else [FULL_PP] * len(mon.moves)
        # In disguise a Pokémon moves under another's name: then no name says how fast it is.
        battle.own_speeds[mon.name] = (0 if hidden else mon.stats[4], mon.item, mon.ability)
        battle.own_moves[mon.name] = tuple(mon.moves)


def _read_mon(entry: dict[str, Any], before: dict[str, OwnMon]) -> OwnMon:
    """Return a Pokémon of the party, the one read before if nothing is new."""
    mon = before.get(entry["ident"].partition(": ")[2])
    if mon is None or mon.entry != entry:
        return OwnMon(entry)
    mon.offered, mon.disabled = [], []
    return mon


def _read_active(own: Own, mon: OwnMon, active: dict[str, Any]) -> None:
    moves = active["moves"]
    mon.offered = [move["id"] for move in moves]
    mon.disabled = [int(bool(move.get("disabled"))) for move in moves]
    # A locked Pokémon is offered one move alone, which says nothing of the others.
    if mon.offered == mon.moves:
        pp = [FULL_PP * move.get("pp", 1) // (move.get("maxpp") or 1) for move in moves]
        own.pp_by_mon[mon.name] = mon.moves, pp
