"""Battle logs written by hand: a doubles battle that has begun, and turns to go on with."""

from __future__ import annotations

from lanista.games.showdown.formats import format_named
from lanista.games.showdown.spectating.spectator import Decision, Order, Told
from lanista.games.showdown.spectating.witness import witness

TEAMS = {
    "p1": ("Indeedee-F", "Dondozo", "Tatsugiri", "Pawmot", "Oricorio", "Dragonite"),
    "p2": ("Amoonguss", "Raichu", "Comfey", "Sableye", "Flutter Mane", "Urshifu"),
}


def came(place: str, name: str, *tags: str, hp: str = "100/100") -> str:
    """Return the line of somebody who is brought in."""
    return "|".join(("", "switch", f"{place}: {name}", f"{name}, L50", hp, *tags))


def opening(*leads: str, format: str = "[Gen 9] VGC 2025 Reg I") -> list[str]:
    """Return a log's lines up to the first turn."""
    lines = [
        *("|j|☆Ann", "|j|☆Bob", "|t:|1700000000", "|gametype|doubles"),
        *("|player|p1|Ann|1|1510", "|player|p2|Bob|2|1490", "|teamsize|p1|6", "|teamsize|p2|6"),
        *("|gen|9", f"|tier|{format}", "|rated|", "|clearpoke"),
        *(f"|poke|{side}|{name}, L50|" for side, team in TEAMS.items() for name in team),
        *("|teampreview|4", "|c|☆Ann|good luck"),
        *("|", "|t:|1700000010", "|teamsize|p1|4", "|teamsize|p2|4", "|start"),
    ]
    places = ("p1a", "p1b", "p2a", "p2b")
    lines += [came(place, name) for place, name in zip(places, leads, strict=True)]
    return [*lines, "|turn|1"]


def turn(number: int, *lines: str, ends: bool = True) -> list[str]:
    """Return what a turn's choices brought, up to the next turn where it `ends`."""
    told = ["|", f"|t:|17000001{number:02d}", *lines]
    return [*told, "|", "|upkeep", f"|turn|{number + 1}"] if ends else told


def more(*lines: str) -> list[str]:
    """Return what a choice within a turn brought."""
    return ["|", "|t:|1700000999", *lines]


def heard(*parts: list[str]) -> Told:
    """Return what a log tells that is made of these parts."""
    return witness(format_named("gen9vgc2025regi"), [line for part in parts for line in part])


def ordered(told: Told, seat: int) -> list[list[Order]]:
    """Return a seat's orders, decision by decision, without the team preview."""
    return [decision.orders for decision in of(told, seat)[1:]]


def of(told: Told, seat: int) -> list[Decision]:
    """Return a seat's decisions."""
    return [decision for decision in told.decisions if decision.seat == seat]
