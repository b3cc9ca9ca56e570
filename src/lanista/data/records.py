"""What a replay says: who played which game, and each match's deal, actions and outcome.

Turns it into JSON lines and back, and refuses a line of the wrong shape. Whether a match can be
played as recorded is for `resimulation` to find out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.lines import ReplayError
from lanista.data.values import (
    LARGEST_WORD,
    keys,
    list_of,
    settings_of,
    text,
    whole,
    wrong,
)
from lanista.games import Player, Spec
from lanista.text import quoted

FORMAT, VERSION = "lanista-replay", 1
HUMAN = "human"
SOURCES = (HUMAN,)
"""Where matches come from that are not played by programs alone."""

_LARGEST_RETURN = float(np.finfo(np.float32).max)
_MOST_PLAYERS = 256
_MOST_SEATS = 64

_HEADER_KEYS = (
    "format",
    "version",
    "game",
    "settings",
    "rules_version",
    "observation_version",
    "simulator",
    "simulator_version",
    "seed",
    "players",
)
_RECORD_KEYS = ("match", "deal", "options", "seating", "actions", "returns", "place", "cut_off")


@dataclass(frozen=True)
class PlayerInfo:
    """Who played: a name for readers, a digest for certainty."""

    name: str
    digest: str


@dataclass(frozen=True)
class Header:
    """What all matches of a replay file share."""

    game: str
    settings: Mapping[str, Any]
    rules_version: int
    observation_version: int
    simulator: str
    simulator_version: str
    seed: int
    players: tuple[PlayerInfo, ...]
    source: str = ""
    """Who sat there beside programs: `human`, or nothing."""

    @classmethod
    def of(cls, spec: Spec, seed: int, players: Sequence[Player], source: str = "") -> Header:
        """Return the header for matches of a game between `players`."""
        return cls(
            game=spec.name,
            settings=dict(spec.settings),
            rules_version=spec.facts.rules_version,
            observation_version=spec.facts.observation_version,
            simulator=spec.abilities.simulator,
            simulator_version=spec.abilities.simulator_version,
            seed=int(seed),
            players=tuple(PlayerInfo(player.name, player.digest) for player in players),
            source=source,
        )


@dataclass(frozen=True)
class Record:
    """One match: all it takes to play it again, and how it ended."""

    match: int
    deal: int
    options: Mapping[str, int]
    seating: tuple[int, ...]
    """For each seat, the index of its player in the header."""
    actions: NDArray[np.int32]
    """`[decisions, heads]`, by turn and then by seat."""
    returns: tuple[float, ...]
    place: tuple[int, ...]
    cut_off: bool = False


def header_line(header: Header) -> bytes:
    """Return the first line of a replay file."""
    value = {
        "format": FORMAT,
        "version": VERSION,
        "game": header.game,
        "settings": dict(sorted(header.settings.items())),
        "rules_version": header.rules_version,
        "observation_version": header.observation_version,
        "simulator": header.simulator,
        "simulator_version": header.simulator_version,
        "seed": header.seed,
        "players": [{"name": one.name, "digest": one.digest} for one in header.players],
    }
    if header.source:
        value["source"] = header.source
    parse_header(value)
    return _dump(value)


def record_line(record: Record, players: int) -> bytes:
    """Return a match's line; what could not be read back is refused here."""
    actions = np.asarray(record.actions)
    if actions.ndim != 2 or actions.dtype.kind not in "iu":
        raise ReplayError(
            f"match {record.match} has actions of {actions.dtype} {list(actions.shape)}; "
            "give whole numbers [decisions, heads]."
        )
    value = {
        "match": int(record.match),
        "deal": int(record.deal),
        "options": {name: int(number) for name, number in sorted(record.options.items())},
        "seating": [int(player) for player in record.seating],
        "actions": actions.T.tolist(),
        "returns": [float(amount) for amount in record.returns],
        "place": [int(place) for place in record.place],
        "cut_off": bool(record.cut_off),
    }
    parse_record(value, players)
    return _dump(value)


def end_line(matches: int) -> bytes:
    """Return the last line, without which a file counts as cut short."""
    return _dump({"end": True, "matches": matches})


def parse_header(value: dict[str, Any]) -> Header:
    """Return the header in a JSON object."""
    if value.get("format") != FORMAT:
        raise ReplayError(f"it does not say {FORMAT!r} as its format, so it is something else.")
    if value.get("version") != VERSION or type(value["version"]) is not int:
        raise ReplayError(
            f"it has version {quoted(value.get('version'))} of the format; "
            f"this program reads version {VERSION}."
        )
    source = value.get("source", "")
    if "source" in value and source not in SOURCES:
        wrong("source", source, f"one of {', '.join(SOURCES)}")
    keys("the header", value, _HEADER_KEYS, ("source",))
    players = list_of("players", value["players"], 1, _MOST_PLAYERS)
    return Header(
        game=text("game", value["game"]),
        settings=settings_of(value["settings"]),
        rules_version=whole("rules_version", value["rules_version"]),
        observation_version=whole("observation_version", value["observation_version"]),
        simulator=text("simulator", value["simulator"]),
        simulator_version=text("simulator_version", value["simulator_version"]),
        seed=whole("seed", value["seed"]),
        players=tuple(player_of(one) for one in players),
        source=source,
    )


def parse_record(value: dict[str, Any], players: int) -> Record:
    """Return the match in a JSON object."""
    keys("a match", value, _RECORD_KEYS)
    seating = list_of("seating", value["seating"], 1, _MOST_SEATS)
    seats = len(seating)
    for player in seating:
        whole("a player in seating", player, players - 1)
    returns = list_of("returns", value["returns"], seats, seats)
    place = list_of("place", value["place"], seats, seats)
    for number in place:
        whole("a place", number, seats)
    if type(value["cut_off"]) is not bool:
        wrong("cut_off", value["cut_off"], "true or false")
    return Record(
        match=whole("match", value["match"]),
        deal=whole("deal", value["deal"]),
        options=_options(value["options"]),
        seating=tuple(seating),
        actions=_actions(value["actions"]),
        returns=tuple(_amount(amount) for amount in returns),
        place=tuple(place),
        cut_off=value["cut_off"],
    )


def parse_end(value: dict[str, Any]) -> int:
    """Return the number of matches that the last line names."""
    keys("the last line", value, ("end", "matches"))
    if value["end"] is not True:
        wrong("end", value["end"], "true")
    return whole("matches", value["matches"])


def _dump(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def _amount(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) <= _LARGEST_RETURN:
        wrong("a return", value, "a finite number")
    return float(value)


def player_of(value: Any) -> PlayerInfo:
    """Return the player in a JSON object."""
    if type(value) is not dict:
        wrong("a player", value, "an object")
    keys("a player", value, ("name", "digest"))
    return PlayerInfo(text("a player's name", value["name"]), text("digest", value["digest"]))


def _options(value: Any) -> dict[str, int]:
    if type(value) is not dict:
        wrong("options", value, "an object")
    for name, entry in value.items():
        text("an option's name", name)
        if type(entry) is not int or abs(entry) > LARGEST_WORD:
            wrong(f"option {quoted(name)}", entry, "a whole number of 64 bits")
    return value


def _actions(value: Any) -> NDArray[np.int32]:
    """Return `[decisions, heads]` from a list per head."""
    columns = list_of("actions", value, 1, _MOST_SEATS)
    for column in columns:
        if type(column) is not list or len(column) != len(columns[0]):
            wrong("actions", value, "one list of whole numbers per head, all of one length")
        if not set(map(type, column)) <= {int}:
            wrong("actions", column, "whole numbers only")
    try:
        table = np.array(columns, np.int32).reshape(len(columns), -1)
    except OverflowError:
        table = np.array([[-1]])
    if table.size and table.min() < 0:
        raise ReplayError("an action is below 0 or above 2147483647.")
    return np.ascontiguousarray(table.T)
