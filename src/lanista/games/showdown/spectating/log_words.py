"""Says the main lines of a battle log in words: who came in, moved, was hurt, and fell.

For readers alone: nothing is tracked here, and what is not said in words is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanista.games.showdown.protocol.naming import FROM, Fields, tag

Said = Callable[[Fields], str]


def lines_in_words(lines: Sequence[str]) -> list[str]:
    """Return the lines that have words, in order."""
    words = []
    for line in lines:
        fields = line.split("|")
        say = SAYINGS.get(fields[1]) if len(fields) > 2 else None
        if say is not None:
            words.append(say([*fields, "", ""]))
    return words


def _who(ident: str) -> str:
    """Return "Ann's" side and name of "p1a: Name"."""
    place, _, name = ident.partition(": ")
    return f"{name or place} ({place[:2]})"


def _because(fields: Fields) -> str:
    cause = tag(fields, FROM)
    return f", by {cause.partition(': ')[2] or cause}" if cause else ""


def _switch(fields: Fields) -> str:
    return f"{_who(fields[2])} comes in"


def _move(fields: Fields) -> str:
    aim = f" on {_who(fields[4])}" if ": " in fields[4] else ""
    return f"{_who(fields[2])} uses {fields[3]}{aim}{_because(fields)}"


def _cant(fields: Fields) -> str:
    return f"{_who(fields[2])} cannot move: {fields[3].partition(': ')[2] or fields[3]}"


def _hp(word: str) -> Said:
    return lambda fields: f"{_who(fields[2])} {word} {fields[3]}{_because(fields)}"


def _of_mon(word: str) -> Said:
    return lambda fields: f"{_who(fields[2])} {word}"


def _of_effect(word: str) -> Said:
    return lambda fields: f"{_who(fields[2])} {word} {fields[3].partition(': ')[2] or fields[3]}"


def _weather(fields: Fields) -> str:
    return f"the weather is {fields[2]}" if fields[2] != "none" else "the weather ends"


SAYINGS: dict[str, Said] = {
    "switch": _switch,
    "drag": _switch,
    "replace": lambda fields: f"{_who(fields[2])} shows itself",
    "move": _move,
    "cant": _cant,
    "faint": _of_mon("faints"),
    "win": lambda fields: f"{fields[2]} wins",
    "-damage": _hp("is hurt and has"),
    "-heal": _hp("is healed and has"),
    "-miss": _of_mon("misses"),
    "-crit": _of_mon("takes a critical hit"),
    "-immune": _of_mon("is immune"),
    "-supereffective": _of_mon("takes a super effective hit"),
    "-resisted": _of_mon("resists"),
    "-terastallize": lambda fields: f"{_who(fields[2])} terastallizes: {fields[3]}",
    "-status": _of_effect("gets"),
    "-curestatus": _of_effect("is cured of"),
    "-boost": lambda fields: f"{_who(fields[2])} {fields[3]} +{fields[4]}",
    "-unboost": lambda fields: f"{_who(fields[2])} {fields[3]} −{fields[4]}",
    "-item": _of_effect("shows its"),
    "-enditem": _of_effect("loses its"),
    "-ability": _of_effect("has"),
    "-weather": _weather,
    "-fieldstart": lambda fields: f"{fields[2].partition(': ')[2] or fields[2]} begins",
    "-fieldend": lambda fields: f"{fields[2].partition(': ')[2] or fields[2]} ends",
    "-sidestart": lambda fields: f"{fields[3].partition(': ')[2] or fields[3]} for {fields[2][:2]}",
}
