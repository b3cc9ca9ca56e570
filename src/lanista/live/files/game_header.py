"""What a game file says of itself: which game, played by which policy, under which layout.

JSON with sorted keys and nothing optional, so that the same header is always the same bytes.
Knows nothing of arrays and archives.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from lanista import __version__
from lanista.errors import LanistaError
from lanista.nets.files.policy_format import PolicyHeader
from lanista.text import quoted

FORMAT = "lanista-game"
CHOSEN_ONLY, ALL_PROBABILITIES = 1, 2
"""Versions: with the probability of what was chosen alone, or with that of every choice."""
VERSIONS = (CHOSEN_ONLY, ALL_PROBABILITIES)
MOST_PROBABILITIES = 1024
"""A layout of more choices than these is kept without all their probabilities."""
LONGEST_ID = 200
MOST_STEPS = 1 << 22
_MOST_NUMBERS = 1 << 20
_MOST_TEXT = 200
_DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PLAY = re.compile(r"[0-9a-f]{16}")


class GameFileError(LanistaError):
    """A file is not a game, is damaged, or was not played with the layout asked for."""


@dataclass(frozen=True)
class Layout:
    """All that observations and actions depend on: games of one layout can be learnt from alike."""

    game: str
    settings: Mapping[str, Any]
    seats: int
    rules_version: int
    observation_version: int
    dtype: str
    """Of observations."""
    length: int
    """Numbers in an observation."""
    fields: str
    """SHA-256 over the observation's fields: name, size, classes, scale and group of each."""
    heads: tuple[tuple[str, int], ...]
    """Name and size of each part of an action."""

    @classmethod
    def of(cls, policy: PolicyHeader) -> Layout:
        """Return the layout that a policy plays."""
        field_rows = [
            [f.name, f.size, f.classes, f.scale, f.group] for f in policy.observation.fields
        ]
        return cls(
            game=policy.game,
            settings=json.loads(json.dumps(dict(policy.settings))),
            seats=policy.seats,
            rules_version=policy.rules_version,
            observation_version=policy.observation_version,
            dtype=policy.observation.dtype,
            length=policy.observation.length,
            fields=hashlib.sha256(_compact(field_rows)).hexdigest(),
            heads=tuple((head.name, head.size) for head in policy.heads),
        )

    @property
    def choices(self) -> int:
        """The length of a legal mask: all heads one after another."""
        return sum(size for _, size in self.heads)

    @property
    def newest_version(self) -> int:
        """The version in which games of this layout are written."""
        return ALL_PROBABILITIES if self.choices <= MOST_PROBABILITIES else CHOSEN_ONLY

    def difference(self, other: Layout) -> tuple[str, str, str] | None:
        """Return what differs first, as it is here and as it is there; None if nothing does."""
        for entry in fields(self):
            mine, theirs = getattr(self, entry.name), getattr(other, entry.name)
            if mine == theirs:
                continue
            about = entry.name.replace("_", " ")
            if entry.name == "settings":
                names = sorted({*mine, *theirs})
                name = next(name for name in names if mine.get(name) != theirs.get(name))
                about, mine, theirs = f"setting {name}", mine.get(name), theirs.get(name)
            return about, quoted(mine, 80), quoted(theirs, 80)
        return None


@dataclass(frozen=True)
class GameHeader:
    """Which game a file holds."""

    game_id: str
    """What the bot calls it."""
    play: str
    """A random word drawn when it began, so that two games of one id are never taken for copies."""
    policy: str
    """Digest of the policy that played all of it."""
    layout: Layout
    seed: int
    """With the game id and a step's number it names the stream the action was drawn from."""
    serial: int
    """Of the pointer under which the game began."""
    candidate: bool
    """Whether the policy was the pointer's candidate, not its stable one."""
    steps: int = 0
    early_reward: float = 0.0
    """What came before the policy's first action, and so belongs to none."""
    cut_off: bool = False
    """Whether it has no result, so that nothing may be taken for one."""
    crashed: bool = False
    """Whether the bot's process ended in mid-game; the file was made from its journal."""
    opponent: str = ""
    """Whom the bot played against, if it said so."""
    lanista: str = __version__
    """Version of the package that wrote it."""
    version: int = CHOSEN_ONLY
    """Of the file: whether it holds the probabilities of all choices."""


_KEYS = tuple(entry.name for entry in fields(GameHeader))
_LAYOUT_KEYS = tuple(entry.name for entry in fields(Layout))


def header_bytes(header: GameHeader) -> bytes:
    """Return a header as JSON."""
    return _compact(asdict(header) | {"format": FORMAT})


def parse_header(text: bytes) -> GameHeader:
    """Return the header in a JSON text; refuse one that says too much, too little or nonsense."""
    value = _json(text)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise GameFileError(f"it does not say {FORMAT!r} as its format, so it is something else")
    if value.get("version") not in VERSIONS or type(value["version"]) is not int:
        raise GameFileError(
            f"it has version {quoted(value.get('version'))}, and this lanista reads "
            f"{CHOSEN_ONLY} and {ALL_PROBABILITIES}"
        )
    layout = value.pop("layout", None)
    del value["format"]
    if not isinstance(layout, dict) or set(layout) != set(_LAYOUT_KEYS):
        raise GameFileError("its header describes no layout")
    if {*value, "layout"} != set(_KEYS):
        raise GameFileError("its header has other keys than a game's")
    header = GameHeader(**value, layout=_layout(layout))
    refuse_nonsense(header)
    if header_bytes(header) != text:
        raise GameFileError("its header is not written as lanista writes it")
    return header


def refuse_id(game_id: object) -> str:
    """Return a game id; refuse what cannot be one."""
    if type(game_id) is not str or not 0 < len(game_id) <= LONGEST_ID or not game_id.isprintable():
        raise GameFileError(
            f"A game id is {quoted(game_id)}; give a text of 1 to {LONGEST_ID} printable letters."
        )
    return game_id


def refuse_opponent(name: object) -> str:
    """Return an opponent's name, empty where none is known; refuse what cannot be one."""
    if type(name) is not str or len(name) > LONGEST_ID or not name.isprintable():
        raise GameFileError(
            f"An opponent is {quoted(name)}; give a text of at most {LONGEST_ID} printable letters."
        )
    return name


def refuse_nonsense(header: GameHeader) -> None:
    """Refuse a header with values that no game has."""
    refuse_id(header.game_id)
    refuse_opponent(header.opponent)
    texts = (
        (header.play, _PLAY),
        (header.policy, _DIGEST),
        (header.lanista, re.compile(r"[0-9A-Za-z.+!-]{1,40}")),
    )
    for text, pattern in texts:
        if type(text) is not str or not pattern.fullmatch(text):
            raise GameFileError(f"its header holds {quoted(text)} where a name or digest belongs")
    wholes = (header.seed, header.serial, header.steps)
    if any(type(number) is not int or not 0 <= number < 1 << 63 for number in wholes):
        raise GameFileError("its header holds a seed, serial or number of steps that is none")
    if header.steps > MOST_STEPS:
        raise GameFileError(f"it has {header.steps:,} steps, and {MOST_STEPS:,} are the most")
    early = header.early_reward
    if type(early) is not float or not math.isfinite(early):
        raise GameFileError(f"its early reward is {quoted(early)}")
    flags = (header.candidate, header.cut_off, header.crashed)
    if any(type(flag) is not bool for flag in flags) or (header.crashed and not header.cut_off):
        raise GameFileError("its header holds flags that no game has")
    _refuse_layout(header.layout)
    if header.version > header.layout.newest_version:
        raise GameFileError(
            f"it has the probabilities of {header.layout.choices:,} choices, and "
            f"{MOST_PROBABILITIES:,} are the most"
        )


def _refuse_layout(layout: Layout) -> None:
    numbers = (layout.seats, layout.rules_version, layout.observation_version)
    sound = (
        all(type(text) is str and len(text) <= _MOST_TEXT for text in (layout.game, layout.dtype))
        and isinstance(layout.settings, dict)
        and all(type(number) is int and 0 <= number < 1 << 63 for number in numbers)
        and type(layout.length) is int
        and 0 < layout.length < _MOST_NUMBERS
        and layout.dtype in _DTYPES
        and type(layout.fields) is str
        and bool(_DIGEST.fullmatch(layout.fields))
        and all(
            type(name) is str and type(size) is int and 0 < size < _MOST_NUMBERS
            for name, size in layout.heads
        )
        and 0 < layout.choices < _MOST_NUMBERS
    )
    if not sound:
        raise GameFileError("its header describes a layout that no game has")


def _layout(values: dict[str, Any]) -> Layout:
    try:
        heads = tuple((name, size) for name, size in values["heads"])
    except (TypeError, ValueError) as error:
        raise GameFileError("its header describes a layout that no game has") from error
    return Layout(**(values | {"heads": heads}))


def _compact(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def _json(text: bytes) -> Any:
    try:
        return json.loads(text.decode("ascii"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise GameFileError("its header is not JSON") from error


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number.")
