"""Protocol lines of a battle as sentences for a reader. Knows nothing of who reads them."""

from __future__ import annotations

from lanista.games.showdown.protocol.naming import FROM, tag

SEAT_NAMES, SIDE_NAMES = ("seat 0", "seat 1"), ("p1", "p2")
"""What the sides are called: as in our matches, or as in Showdown's own."""
_STATUS = {
    "brn": "was burned",
    "par": "was paralysed",
    "slp": "fell asleep",
    "frz": "was frozen",
    "psn": "was poisoned",
    "tox": "was badly poisoned",
}
_PLAIN = {
    "-crit": "A critical hit on {0}",
    "-supereffective": "It is super effective on {0}",
    "-resisted": "{0} resists it",
    "-immune": "It does not affect {0}",
    "-miss": "{0} misses",
    "-fail": "It fails",
    "faint": "{0} fainted",
    "-mega": "{0} evolved",
    "-curestatus": "{0} is cured",
    "-fieldstart": "{0} begins",
    "-fieldend": "{0} ends",
    "-weather": "Weather: {0}",
    "-sidestart": "{1} begins for {0}",
    "-sideend": "{1} ends for {0}",
    "replace": "{0} shows itself",
    "-ability": "{0} has {1}",
    "-item": "{0} holds {1}",
    "-enditem": "{0} lost {1}",
    "-terastallize": "{0} terastallizes to {1}",
    "-start": "{0}: {1}",
    "-end": "{0}: {1} ends",
    "-activate": "{0}: {1}",
    "cant": "{0} cannot move ({1})",
    "turn": "Turn {0}",
    "win": "{0} wins",
    "tie": "A tie",
}


def line_words(line: str, sides: tuple[str, str] = SEAT_NAMES) -> str:
    """Return a protocol line as a sentence; nothing for one that a reader does not miss."""
    _, kind, *rest = [*line.split("|"), "", ""]
    names = [_name(part, sides) for part in rest if not part.startswith("[")] + ["", ""]
    if kind == "move":
        aim = f" on {names[2]}" if names[2] and names[2] != names[0] else ""
        return f"{names[0]} uses {names[1]}{aim}{_because(rest)}"
    if kind in ("switch", "drag"):
        return f"{names[0]} comes in"
    if kind in ("-damage", "-heal"):
        verb = "is at" if kind == "-damage" else "is back to"
        return f"{names[0]} {verb} {rest[1].partition(' ')[0]}{_because(rest)}"
    if kind == "-status":
        return f"{names[0]} {_STATUS.get(rest[1], rest[1])}"
    if kind in ("-boost", "-unboost"):
        way = "rises" if kind == "-boost" else "falls"
        return f"{names[0]}'s {rest[1]} {way} by {rest[2]}"
    if kind == "-weather" and "[upkeep]" in line:
        return ""
    pattern = _PLAIN.get(kind)
    return pattern.format(*names) if pattern else ""


def _because(fields: list[str]) -> str:
    cause = tag(fields, FROM)
    return f", by {cause.partition(': ')[2] or cause}" if cause else ""


def _name(part: str, sides: tuple[str, str]) -> str:
    """Return "p1a: Pikachu" as "Pikachu (seat 0)"; effects without their kind."""
    place, colon, name = part.partition(": ")
    if colon and len(place) in (2, 3) and place[:2] in SIDE_NAMES:
        return f"{name} ({sides[SIDE_NAMES.index(place[:2])]})"
    return name if colon and place in ("move", "ability", "item") else part
