"""What a game is: its description, its decisions, and the methods every game has.

A game object holds many slots, each playing one match. Knows nothing of players, files or how a
match is scored against another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lanista.games.references import (
    GameError as GameError,
)
from lanista.games.references import (
    Group as Group,
)
from lanista.games.references import (
    References as References,
)
from lanista.games.references import (
    Role as Role,
)
from lanista.games.references import (
    refuse_groups,
    refuse_lengths,
    refuse_missing_tokens,
    refuse_off_grid,
)
from lanista.games.streams import Stream

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
Options = Mapping[str, int | Sequence[int] | NDArray[Any]]
"""What `start` takes beside match ids: one number for all matches, or one for each."""
Saved = dict[str, NDArray[Any]]
"""Slots put away as plain arrays, fit for an npz file without objects."""


@dataclass(frozen=True)
class Field:
    """A named run of numbers in an observation."""

    name: str
    size: int = 1
    classes: int = 0
    """Above 0: each entry is a category in [0, classes). 0: each entry is a number."""
    scale: float = 1.0
    """For numbers: divide by this to come to about [-1, 1]."""
    group: str = ""
    """Fields of one group, all of one size, describe the same things, an entry each (the places in
    a line, the animals of a seat): a network that looks at tokens makes a token of each."""
    table: str = ""
    """Categories of fields that name one table mean the same (a move, wherever it stands): a
    network that looks at tokens learns one embedding for all of them."""
    planes: tuple[int, ...] = field(default=(), compare=False)
    """Of numbers that lie on a board: how many planes, rows and columns, the last counting fastest.
    A network that looks at boards slides over rows and columns."""

    def __post_init__(self) -> None:
        if self.planes and (len(self.planes) != 3 or math.prod(self.planes) != self.size):
            raise GameError(
                f"The field {self.name} has {self.size} numbers and planes {self.planes}; give "
                "planes, rows and columns that make all numbers."
            )
        if self.planes and self.classes:
            raise GameError(
                f"The field {self.name} has {self.classes} classes and planes, which are of "
                "numbers; leave planes out, and put the field into a group with a grid."
            )


@dataclass(frozen=True)
class Observation:
    """The layout of one observation: fields one after another, all of one dtype."""

    fields: tuple[Field, ...]
    dtype: str = "float32"
    groups: tuple[Group, ...] = field(default=(), compare=False)
    """What networks that point at tokens, or look at grids, know of groups; one that is not named
    here is in order, each entry at a place of its own."""

    def __post_init__(self) -> None:
        if self.groups:
            refuse_groups(self.group_sizes, self.groups)
            for entry in self.fields:
                refuse_off_grid(entry.name, entry.size, entry.planes, entry.group, self.groups)

    @cached_property
    def group_sizes(self) -> dict[str, int]:
        """How many entries each group has."""
        return {field.group: field.size for field in self.fields if field.group}

    @cached_property
    def length(self) -> int:
        return sum(field.size for field in self.fields)

    def slice_of(self, name: str) -> slice:
        """Return where the field `name` lies."""
        start = 0
        for entry in self.fields:
            if entry.name == name:
                return slice(start, start + entry.size)
            start += entry.size
        raise GameError(f"No observation field is called {name!r}.")


@dataclass(frozen=True)
class Head:
    """One part of an action: a choice among `size`."""

    name: str
    size: int
    labels: tuple[str, ...] = ()
    """What each choice is called, where that helps a reader."""
    parts: tuple[int, ...] = ()
    """Where a choice is made of parts: how many each has, the last counting fastest, so that
    choice = first * parts[1] + second. A network then learns each part for all others at once."""
    only_with: tuple[str, int] | None = field(default=None, compare=False)
    """The head, and its choice, without which this one changes nothing; none: it always counts.
    What a teacher chose there is not imitated."""
    references: tuple[References, ...] = field(default=(), compare=False)
    """What the choices are about: one for the head, or one for each of its parts. A network with
    `readout` pointer scores a choice by the tokens it refers to, one with `readout` cells by its
    cell of the grid; none: by its number alone."""

    def __post_init__(self) -> None:
        refuse_lengths(self.name, self.parts or (self.size,), self.references)
        if self.parts and math.prod(self.parts) != self.size:
            raise GameError(
                f"The head {self.name} has {self.size} choices, and parts {self.parts} make "
                f"{math.prod(self.parts)}; parts must make all choices."
            )


@dataclass(frozen=True)
class Option:
    """A whole number that one match can be started with."""

    name: str
    default: int
    low: int
    high: int
    about: str = ""


@dataclass(frozen=True)
class Symmetry:
    """Ways to turn or mirror a position after which the game is the same, as a group.

    Element g turns a view x into `x'[i] = signs[g][i] · x[columns[g][i]]`, and the choice c into
    `choices[g][c]`. All are tuples over elements; the first element changes nothing.
    """

    columns: tuple[tuple[int, ...], ...]
    signs: tuple[tuple[int, ...], ...]
    choices: tuple[tuple[int, ...], ...]
    direction: tuple[float, ...]
    """Weights over a turned view. Of all its turns a view is shown in the one with the largest
    weighted sum, so that positions that are turns of each other look the same."""

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(frozen=True)
class Facts:
    """What is true of a game, whoever plays it."""

    seats: int
    longest: int
    """The most turns a match can take; a turn is one advance of a match."""
    rules_version: int = 1
    """Moves exactly when the same seed and actions can give another match."""
    observation_version: int = 1
    """Moves exactly when the same position can give another observation."""
    hidden: bool = False
    chance: bool = False
    zero_sum: bool = False
    simultaneous: bool = False
    symmetric: bool = False
    """No seat has an advantage over another."""
    paid_alike: bool = False
    """Every seat gets the same, so that players win or lose together."""


@dataclass(frozen=True)
class Abilities:
    """What a game's simulator can do."""

    seedable: bool = True
    restorable: bool = True
    replayable: bool = True
    simulator: str = "lanista"
    simulator_version: str = "1"


@dataclass(frozen=True)
class Spec:
    """The whole description of a game as it was made, settings included."""

    name: str
    facts: Facts
    observation: Observation
    heads: tuple[Head, ...]
    abilities: Abilities = Abilities()
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[Option, ...] = ()
    """What `start` takes beside match ids. Every seedable game also takes `deal`: matches of one
    deal share the game's own chance; it is the match id unless given."""
    privileged: Observation | None = None
    """The layout of `privileged()`, for critics in training; never shown to a policy."""
    free_settings: tuple[str, ...] = ()
    """Settings that a policy is not bound to, such as which decks are dealt: whatever they are, a
    policy sees the same layout and has the same choices."""
    symmetry: Symmetry | None = field(default=None, compare=False)
    """How positions can be turned, for networks that have it built in; none: not at all."""
    game_file: str = field(default="", compare=False)
    """SHA-256 of the Python file that the game comes from; empty: from an installed package."""
    game_path: str = field(default="", compare=False)
    """That file as it was named, `my_game.py` or `my_game.py:Class`."""

    def __post_init__(self) -> None:
        for head in self.heads:
            if head.references:
                refuse_missing_tokens(head.name, head.references, self.observation.group_sizes)

    @property
    def seats(self) -> int:
        return self.facts.seats

    @property
    def choices(self) -> int:
        """The length of a legal mask: all heads one after another."""
        return sum(head.size for head in self.heads)

    def conditions(self) -> list[tuple[int, int, int]]:
        """Return each head that counts only with a choice of another: (head, other, choice)."""
        names = [head.name for head in self.heads]
        return [
            (at, names.index(head.only_with[0]), head.only_with[1])
            for at, head in enumerate(self.heads)
            if head.only_with is not None
        ]


@dataclass(frozen=True)
class Decisions:
    """Every decision that is ready, a row each, by slot and then seat.

    The arrays are read-only views of the game's own memory and change with its next call: copy
    what is to be kept.
    """

    slot: Ints
    seat: Ints
    match: NDArray[np.int64]
    turn: Ints
    """How many times the match has advanced."""
    observation: NDArray[Any]
    mask: Flags

    def __len__(self) -> int:
        return len(self.slot)


class Game(Protocol):
    """Many matches of one game, side by side.

    The arrays `reward` to `place` are `[slots, seats]`. `reward` and `shaping` hold what came to a
    seat since its last decision; `done` says that a seat has no more decisions in this match,
    `cut_off` that its match was broken off and has no result. `returns` (what is optimised),
    `score` (what a person reads off the board) and `place` (1 is best, equals share) are valid
    from a match's end until the slot is started again.
    """

    # Properties, because a game's arrays are its own: a caller reads them.
    @property
    def spec(self) -> Spec: ...
    @property
    def slots(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def reward(self) -> Floats: ...
    @property
    def shaping(self) -> Floats: ...
    @property
    def done(self) -> Flags: ...
    @property
    def cut_off(self) -> Flags: ...
    @property
    def returns(self) -> Floats: ...
    @property
    def score(self) -> Floats: ...
    @property
    def place(self) -> Ints: ...

    def start(self, slots: Any, match_ids: Any, options: Options | None = None) -> None:
        """Begin a match in each of `slots`, leaving what was played there."""

    def decisions(self) -> Decisions:
        """Return every decision that is ready."""
        ...

    def act(self, rows: Any, actions: Any) -> Ints:
        """Answer `rows` of the last `decisions()` with `actions` `[rows, heads]`.

        A match advances when every seat it waits for has answered. Returns the slots whose match
        ended, in order. An illegal answer is refused and nothing changes.
        """
        ...

    def privileged(self) -> NDArray[Any]:
        """Return the privileged view of each row of the last `decisions()`, before an answer."""
        ...

    def resample_hidden(self, slot: int, seat: int, stream: Stream) -> None:
        """Redraw, in place, what `seat` cannot see, consistently with all it has seen."""

    def save(self, slots: Any) -> Saved:
        """Put the matches in `slots` away as arrays."""
        ...

    def load(self, slots: Any, saved: Saved) -> None:
        """Load saved matches into `slots`."""

    def draw(self, slot: int) -> str:
        """Return a picture of a match for a terminal."""
        ...

    def close(self) -> None:
        """End whatever the game started outside this process."""


@runtime_checkable
class Overlooks(Protocol):
    """A game whose observations cost so much that it leaves out those that nobody reads."""

    def overlook(self, slots: Any, unread: Flags) -> None:
        """Leave out observations of the seats in `unread`, `[slots, seats]`, until told otherwise.

        To be called before the matches in `slots` are started or loaded.
        """


class Animation(Protocol):
    """Makes a moving picture of one match; a game's registry entry says how it is made."""

    def show(self, game: Game, actions: Mapping[int, Sequence[int]]) -> None:
        """See the match in slot 0, and what its seats are about to do there."""

    def svg(self) -> str:
        """Return the match as it was shown, as a picture that any browser plays."""
        ...
