"""What feedback says: the header and the steps of a stream, and the outcomes of a manifest.

Turns JSON objects into checked values and columns, and refuses what does not fit the game's
layout. Knows nothing of files; docs/reference/feedback.md describes them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.demonstrations import FULL_VIEW, OUTCOMES, SOURCES
from lanista.data.lines import ReplayError
from lanista.data.records import PlayerInfo, player_of
from lanista.data.values import keys, list_of, settings_of, text, whole, wrong
from lanista.games.contract import GameError, Spec
from lanista.games.registry import Projection
from lanista.text import quoted

FORMAT, VERSION = "lanista-feedback", 1
MANIFEST_VERSION = 1
MOST_EXTRAS = 64
LARGEST_OBSERVATION = 1 << 16
MOST_STEP = 2**31 - 1

_HEADER_KEYS = (
    "format", "version", "session", "game", "settings", "rules_version", "observation_version",
    "observation_length", "heads", "player",
)  # fmt: skip
_HEADER_OPTIONAL = ("source",)
_STEP_KEYS = ("match", "step", "time", "observation", "action")
_STEP_OPTIONAL = ("seat", "mask", "extras")
_OUTCOME_KEYS = ("version", "runtime_feedback", "outcome")
_OUTCOME_OPTIONAL = ("match", "seat", "time", "info")
_MOST_SEATS = 64
_LARGEST = float(np.finfo(np.float32).max)

Extra = float | str | None


@dataclass(frozen=True)
class StreamHeader:
    """What all steps of a stream share: whose they are and how an observation is laid out."""

    session: str
    game: str
    settings: Mapping[str, Any]
    rules_version: int
    observation_version: int
    observation_length: int
    heads: tuple[tuple[str, int], ...]
    """Name and size of each."""
    player: PlayerInfo
    source: str = FULL_VIEW
    """One of `SOURCES`."""

    @classmethod
    def of(
        cls, spec: Spec, session: str, player: PlayerInfo, source: str = FULL_VIEW
    ) -> StreamHeader:
        """Return the header for a client that plays a game."""
        return cls(
            session=session,
            game=spec.name,
            settings=dict(spec.settings),
            rules_version=spec.facts.rules_version,
            observation_version=spec.facts.observation_version,
            observation_length=spec.observation.length,
            heads=tuple((head.name, head.size) for head in spec.heads),
            player=player,
            source=source,
        )


@dataclass
class Stream:
    """All steps of a stream, by match in order of appearance, then seat, then step."""

    header: StreamHeader
    spec: Spec
    matches: list[str]
    match: NDArray[np.int64]
    seat: NDArray[np.int32]
    step: NDArray[np.int32]
    time: NDArray[np.float64]
    observation: NDArray[Any]
    mask: NDArray[np.bool_]
    action: NDArray[np.int32]
    extras: dict[str, list[Extra]] = field(default_factory=dict)
    unfinished: bool = False
    """The last line had no end and was left out: its writer was stopped, or is still at it."""
    unknown: dict[str, int] = field(default_factory=dict)
    """By name: in how many events it was said, where the game has no place for it."""

    def __len__(self) -> int:
        return len(self.match)


@dataclass(frozen=True)
class Outcome:
    """How a match ended for a live client."""

    runtime_feedback: str
    """The session, or the path of its stream."""
    outcome: int
    """0 win, 1 draw, 2 loss."""
    match: str | None = None
    """None: the only match of the stream."""
    seat: int = 0


def parse_header(value: dict[str, Any]) -> StreamHeader:
    """Return the header in a JSON object."""
    if value.get("format") != FORMAT:
        raise ReplayError(f"it does not say {FORMAT!r} as its format, so it is something else.")
    if value.get("version") != VERSION or type(value["version"]) is not int:
        raise ReplayError(
            f"it has version {quoted(value.get('version'))} of the format; "
            f"this program reads version {VERSION}."
        )
    keys("the header", value, _HEADER_KEYS, _HEADER_OPTIONAL)
    source = value.get("source", FULL_VIEW)
    if source not in SOURCES:
        wrong("source", source, " or ".join(SOURCES))
    return StreamHeader(
        session=name_of("session", value["session"]),
        game=text("game", value["game"]),
        settings=settings_of(value["settings"]),
        rules_version=whole("rules_version", value["rules_version"]),
        observation_version=whole("observation_version", value["observation_version"]),
        observation_length=whole(
            "observation_length", value["observation_length"], LARGEST_OBSERVATION
        ),
        heads=tuple(_head(one) for one in list_of("heads", value["heads"], 1, _MOST_SEATS)),
        player=player_of(value["player"]),
        source=source,
    )


def parse_outcome(value: dict[str, Any]) -> Outcome:
    """Return the outcome in a JSON object."""
    if value.get("version") != MANIFEST_VERSION or type(value["version"]) is not int:
        raise ReplayError(
            f"it has version {quoted(value.get('version'))}; this program reads manifests of "
            f"version {MANIFEST_VERSION}."
        )
    keys("an outcome", value, _OUTCOME_KEYS, _OUTCOME_OPTIONAL)
    if value["outcome"] not in OUTCOMES:
        wrong("outcome", value["outcome"], "win, draw or loss")
    if "time" in value:
        _number("time", value["time"])
    if "info" in value:
        _extras("info", value["info"])
    return Outcome(
        runtime_feedback=name_of("runtime_feedback", value["runtime_feedback"]),
        outcome=OUTCOMES.index(value["outcome"]),
        match=name_of("match", value["match"]) if "match" in value else None,
        seat=whole("seat", value.get("seat", 0), _MOST_SEATS - 1),
    )


def name_of(label: str, value: Any) -> str:
    """Return a name that is there at all and can be shown on a line."""
    name = text(label, value)
    if not name or not name.isprintable():
        wrong(label, value, "a text of printable letters")
    return name


class Steps:
    """Steps as they are read, checked one by one and turned into columns at the end."""

    def __init__(self, header: StreamHeader, spec: Spec, project: Projection | None = None) -> None:
        self.header, self.spec, self.project = header, spec, project
        self.unknown: Counter[str] = Counter()
        self.sizes = [head.size for head in spec.heads]
        self.all_legal = "1" * spec.choices
        self.matches: dict[str, int] = {}
        self.last: dict[tuple[int, int], int] = {}
        self.place: list[tuple[int, int, int]] = []
        self.time: list[float] = []
        self.observations: list[NDArray[Any]] = []
        self.mask: list[NDArray[np.bool_]] = []
        self.action: list[list[int]] = []
        self.extras: dict[str, list[Extra]] = {}
        self.kinds: dict[str, type] = {}

    def take(self, value: dict[str, Any]) -> None:
        """Add the step in a JSON object, or refuse it."""
        keys("a step", value, _STEP_KEYS, _STEP_OPTIONAL)
        match = name_of("match", value["match"])
        seat = whole("seat", value.get("seat", 0), self.spec.seats - 1)
        step = whole("step", value["step"], MOST_STEP)
        seen, chosen, unknown = self._projected(value["observation"], value["action"])
        observation = observation_of(self.spec, seen)
        mask = self._legal(value.get("mask", self.all_legal))
        action = self._choices(chosen, mask)
        time = _number("time", value["time"])
        extras = _extras("extras", value.get("extras", {}))
        number = self.matches.setdefault(match, len(self.matches))
        if step <= self.last.get((number, seat), -1):
            raise ReplayError(
                f"step {step} of match {quoted(match)} comes after step "
                f"{self.last[number, seat]}; steps of a match must rise."
            )
        self.last[number, seat] = step
        self.unknown.update(set(unknown))
        self._measure(extras)
        self.place.append((number, seat, step))
        self.time.append(time)
        self.observations.append(observation)
        self.mask.append(mask)
        self.action.append(action)

    def stream(self, unfinished: bool) -> Stream:
        count, spec = len(self.place), self.spec
        place = np.array(self.place, np.int64).reshape(count, 3)
        order = np.lexsort((place[:, 2], place[:, 1], place[:, 0]))
        observation = np.array(self.observations, spec.observation.dtype)
        mask = np.array(self.mask, np.bool_)
        extras = {
            name: [values[i] if i < len(values) else None for i in order.tolist()]
            for name, values in self.extras.items()
        }
        return Stream(
            header=self.header,
            spec=spec,
            matches=list(self.matches),
            match=place[order, 0],
            seat=place[order, 1].astype(np.int32),
            step=place[order, 2].astype(np.int32),
            time=np.array(self.time)[order],
            observation=observation.reshape(count, spec.observation.length)[order],
            mask=mask.reshape(count, spec.choices)[order],
            action=np.array(self.action, np.int32).reshape(count, len(self.sizes))[order],
            extras=extras,
            unfinished=unfinished,
            unknown=dict(sorted(self.unknown.items())),
        )

    def _projected(self, observation: Any, action: Any) -> tuple[Any, Any, list[str]]:
        """Return both in the game's layout, and the names of what it has no place for."""
        unknown: list[str] = []
        events = [value for value in (observation, action) if type(value) is dict]
        if not events:
            return observation, action, unknown
        if self.project is None:
            raise ReplayError(
                f"it has named values, and {self.spec.name} says nothing of events; write lists "
                "in its layout."
            )
        try:
            if type(observation) is dict:
                observation, more = self.project.observation(self.spec, observation)
                unknown += more
            if type(action) is dict:
                action, more = self.project.action(action)
                unknown += more
        except GameError as problem:
            raise ReplayError(str(problem)) from problem
        return observation, action, unknown

    def _measure(self, extras: dict[str, float | str]) -> None:
        for name, value in extras.items():
            column = self.extras.setdefault(name, [])
            if len(self.extras) > MOST_EXTRAS:
                raise ReplayError(f"it has more than {MOST_EXTRAS} extras.")
            if self.kinds.setdefault(name, type(value)) is not type(value):
                wrong(f"extra {quoted(name)}", value, "of one kind, number or text, throughout")
            column.extend([None] * (len(self.place) - len(column)))
            column.append(value)

    def _legal(self, value: Any) -> NDArray[np.bool_]:
        choices = self.spec.choices
        if type(value) is not str or len(value) != choices or set(value) - {"0", "1"}:
            wrong("mask", value, f"a text of {choices} letters 0 and 1")
        legal: NDArray[np.bool_] = np.frombuffer(value.encode(), np.uint8) == ord("1")
        return legal

    def _choices(self, value: Any, mask: NDArray[np.bool_]) -> list[int]:
        action = list_of("action", value, len(self.sizes), len(self.sizes))
        start = 0
        for head, choice in zip(self.spec.heads, action, strict=True):
            whole(f"the choice of head {head.name}", choice, head.size - 1)
            if not mask[start + choice]:
                raise ReplayError(f"choice {choice} of head {head.name} is not legal by its mask.")
            start += head.size
        return action


def observation_of(spec: Spec, value: Any) -> NDArray[Any]:
    """Return an observation as the game itself writes it, or refuse it."""
    layout = spec.observation
    if type(value) is not list or len(value) != layout.length:
        count = len(value) if type(value) is list else "no"
        raise ReplayError(
            f"its observation has {count} numbers; one of {spec.name} with these settings has "
            f"{layout.length}."
        )
    if not set(map(type, value)) <= {int, float} or not all(abs(one) <= _LARGEST for one in value):
        wrong("observation", value, "finite numbers only")
    wide = np.array(value, np.float64)
    with np.errstate(invalid="ignore"):
        out = wide.astype(layout.dtype)
    if out.dtype.kind in "iu" and (out != wide).any():
        wrong("observation", value, f"numbers that fit {layout.dtype}")
    start = 0
    for entry in layout.fields:
        inside = wide[start : start + entry.size]
        whole_ones = entry.classes and (inside == np.floor(inside)).all()
        if entry.classes and not (
            whole_ones and inside.min() >= 0 and inside.max() < entry.classes
        ):
            wrong(f"{entry.name} in the observation", inside.tolist(), f"0 to {entry.classes - 1}")
        start += entry.size
    return out


def _head(value: Any) -> tuple[str, int]:
    if type(value) is not dict:
        wrong("a head", value, "an object")
    keys("a head", value, ("name", "size"))
    return text("a head's name", value["name"]), whole("a head's size", value["size"])


def _number(label: str, value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) <= _LARGEST or not math.isfinite(value):
        wrong(label, value, "a finite number")
    return float(value)


def _extras(label: str, value: Any) -> dict[str, float | str]:
    if type(value) is not dict or len(value) > MOST_EXTRAS:
        wrong(label, value, f"an object of at most {MOST_EXTRAS} numbers and texts")
    if "time" in value:
        raise ReplayError("an extra is called 'time', which is the step's own; call it otherwise.")
    return {
        name_of("an extra's name", name): text(f"extra {quoted(name)}", entry)
        if type(entry) is str
        else _number(f"extra {quoted(name)}", entry)
        for name, entry in value.items()
    }
