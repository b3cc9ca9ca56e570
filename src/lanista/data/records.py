"""What a replay says: who played which game, and each match's deal, actions and outcome.

Turns it into JSON lines and back, and refuses a line of the wrong shape. Whether a match can be
played as recorded is for `resimulation` to find out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lanista.data.lines import ReplayError
from lanista.data.text import quoted
from lanista.games import Player, Spec

FORMAT, VERSION = "lanista-replay", 1

_LARGEST_WORD = 2**63 - 1
_LARGEST_RETURN = float(np.finfo(np.float32).max)
_LONGEST_NAME = 200
_MOST_PLAYERS = 256
_MOST_SEATS = 64
# More brackets than any record has: refused before a parser makes an object of each.
_MOST_BRACKETS = 1024

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

    @classmethod
    def of(cls, spec: Spec, seed: int, players: Sequence[Player]) -> Header:
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
        "options": {name: int(given) for name, given in sorted(record.options.items())},
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


def parse_line(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line."""
    if line.count(b"[") + line.count(b"{") > _MOST_BRACKETS:
        raise ReplayError("it nests more lists and objects than a replay has.")
    try:
        value = json.loads(
            line.decode("utf-8"), object_pairs_hook=_without_repeats, parse_constant=_no_constant
        )
    except UnicodeDecodeError as problem:
        raise ReplayError("it is not UTF-8 text.") from problem
    except RecursionError as problem:
        raise ReplayError("it is nested too deeply.") from problem
    except ValueError as problem:
        # A number of more than 4,300 digits is a plain ValueError.
        what = "not JSON" if isinstance(problem, json.JSONDecodeError) else "no usable JSON"
        raise ReplayError(f"it is {what}.") from problem
    if type(value) is not dict:
        raise ReplayError(f"it is {quoted(value)}, not a JSON object.")
    return value


def parse_header(value: dict[str, Any]) -> Header:
    """Return the header in a JSON object."""
    if value.get("format") != FORMAT:
        raise ReplayError(f"it does not say {FORMAT!r} as its format, so it is something else.")
    if value.get("version") != VERSION or type(value["version"]) is not int:
        raise ReplayError(
            f"it has version {quoted(value.get('version'))} of the format; "
            f"this program reads version {VERSION}."
        )
    _keys("the header", value, _HEADER_KEYS)
    players = _list("players", value["players"], 1, _MOST_PLAYERS)
    return Header(
        game=_text("game", value["game"]),
        settings=_settings(value["settings"]),
        rules_version=_whole("rules_version", value["rules_version"]),
        observation_version=_whole("observation_version", value["observation_version"]),
        simulator=_text("simulator", value["simulator"]),
        simulator_version=_text("simulator_version", value["simulator_version"]),
        seed=_whole("seed", value["seed"]),
        players=tuple(_player(one) for one in players),
    )


def parse_record(value: dict[str, Any], players: int) -> Record:
    """Return the match in a JSON object."""
    _keys("a match", value, _RECORD_KEYS)
    seating = _list("seating", value["seating"], 1, _MOST_SEATS)
    seats = len(seating)
    for player in seating:
        _whole("a player in seating", player, players - 1)
    returns = _list("returns", value["returns"], seats, seats)
    place = _list("place", value["place"], seats, seats)
    for number in place:
        _whole("a place", number, seats)
    if type(value["cut_off"]) is not bool:
        _wrong("cut_off", value["cut_off"], "true or false")
    return Record(
        match=_whole("match", value["match"]),
        deal=_whole("deal", value["deal"]),
        options=_options(value["options"]),
        seating=tuple(seating),
        actions=_actions(value["actions"]),
        returns=tuple(_amount(amount) for amount in returns),
        place=tuple(place),
        cut_off=value["cut_off"],
    )


def parse_end(value: dict[str, Any]) -> int:
    """Return the number of matches that the last line names."""
    _keys("the last line", value, ("end", "matches"))
    if value["end"] is not True:
        _wrong("end", value["end"], "true")
    return _whole("matches", value["matches"])


def _dump(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is given twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _wrong(what: str, value: object, wanted: str) -> NoReturn:
    raise ReplayError(f"{what} is {quoted(value)}; it must be {wanted}.")


def _keys(what: str, value: dict[str, Any], wanted: Iterable[str]) -> None:
    missing = [key for key in wanted if key not in value]
    unknown = sorted(set(value) - set(wanted))
    if missing:
        raise ReplayError(f"{what} has no {missing[0]!r}.")
    if unknown:
        raise ReplayError(f"{what} has an unknown key {quoted(unknown[0])}.")


def _whole(what: str, value: Any, high: int = _LARGEST_WORD) -> int:
    if type(value) is not int or not 0 <= value <= high:
        _wrong(what, value, f"a whole number from 0 to {high}")
    return value


def _text(what: str, value: Any) -> str:
    if type(value) is not str or len(value) > _LONGEST_NAME:
        _wrong(what, value, f"a text of at most {_LONGEST_NAME} letters")
    return value


def _list(what: str, value: Any, low: int, high: int) -> list[Any]:
    if type(value) is not list or not low <= len(value) <= high:
        count = str(low) if low == high else f"{low} to {high}"
        _wrong(what, value, f"a list of {count}")
    return value


def _amount(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) <= _LARGEST_RETURN:
        _wrong("a return", value, "a finite number")
    return float(value)


def _player(value: Any) -> PlayerInfo:
    if type(value) is not dict:
        _wrong("a player", value, "an object")
    _keys("a player", value, ("name", "digest"))
    return PlayerInfo(_text("a player's name", value["name"]), _text("digest", value["digest"]))


def _settings(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        _wrong("settings", value, "an object")
    for name, given in value.items():
        _text("a setting's name", name)
        if type(given) is str:
            _text(f"setting {quoted(name)}", given)
        elif type(given) not in (int, float, bool, type(None)):
            _wrong(f"setting {quoted(name)}", given, "a number, a text, true, false or null")
        elif type(given) in (int, float) and not (
            abs(given) <= _LARGEST_WORD and math.isfinite(given)
        ):
            _wrong(f"setting {quoted(name)}", given, "a number of 64 bits")
    return value


def _options(value: Any) -> dict[str, int]:
    if type(value) is not dict:
        _wrong("options", value, "an object")
    for name, given in value.items():
        _text("an option's name", name)
        if type(given) is not int or abs(given) > _LARGEST_WORD:
            _wrong(f"option {quoted(name)}", given, "a whole number of 64 bits")
    return value


def _actions(value: Any) -> NDArray[np.int32]:
    """Return `[decisions, heads]` from a list per head."""
    columns = _list("actions", value, 1, _MOST_SEATS)
    for column in columns:
        if type(column) is not list or len(column) != len(columns[0]):
            _wrong("actions", value, "one list of whole numbers per head, all of one length")
        if not set(map(type, column)) <= {int}:
            _wrong("actions", column, "whole numbers only")
    try:
        table = np.array(columns, np.int32).reshape(len(columns), -1)
    except OverflowError:
        table = np.array([[-1]])
    if table.size and table.min() < 0:
        raise ReplayError("an action is below 0 or above 2147483647.")
    return np.ascontiguousarray(table.T)
