"""Reads a pickle as data: nothing it names is imported, built or called.

A pickle is a program for a stack machine. This one keeps what it would build: plain values as they
are, and a `Call` with its name and arguments wherever a class or a function of another program is
named. Knows nothing of torch.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lanista.errors import LanistaError

MOST_STEPS = 20_000_000
"""Instructions of one pickle; a checkpoint of thousands of tensors has some hundred thousand."""
_LONGEST_NAME = 1_000


@dataclass(frozen=True)
class Name:
    """A class or a function that a pickle names, as `module.name`; it is never looked up."""

    word: str


@dataclass(eq=False)
class Call:
    """What a pickle would build by calling something."""

    function: Any
    arguments: Any
    state: Any = None
    """What would be put into the object afterwards."""
    entries: dict[Any, Any] = field(default_factory=dict)
    """What would be set in it by key, as in an ordered dictionary."""

    @property
    def word(self) -> str:
        return self.function.word if isinstance(self.function, Name) else ""


@dataclass(frozen=True)
class Stored:
    """A persistent id: something that lies outside the pickle."""

    identity: Any


class PickleReadingError(LanistaError):
    """A pickle that is damaged, or that nobody wrote to be read."""


_MARK = object()


def read_pickle(data: bytes) -> Any:
    """Return what a pickle holds, as plain values, `Call`, `Name` and `Stored`."""
    machine = _Machine()
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if count > MOST_STEPS:
                raise PickleReadingError(f"it has more than {MOST_STEPS:,} instructions")
            if opcode.name == "STOP":
                return machine.stack[-1]
            machine.step(opcode.name, argument)
    except PickleReadingError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise PickleReadingError(f"its pickle is damaged ({error})") from error
    raise PickleReadingError("its pickle has no end")


class _Machine:
    """The stack machine of a pickle, without the parts that run anything."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        if name in _PUSHES:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in _STEPS:
            _STEPS[name](self, argument)
        elif name not in _NOTHING:
            raise PickleReadingError(f"its pickle has the instruction {name}, which is not read")

    def since_mark(self) -> list[Any]:
        values: list[Any] = []
        while (value := self.stack.pop()) is not _MARK:
            values.append(value)
        return values[::-1]

    def popped(self, count: int) -> tuple[Any, ...]:
        values = tuple(self.stack[-count:])
        if len(values) < count:
            raise IndexError("the stack is empty")
        del self.stack[-count:]
        return values

    def make_dict(self) -> None:
        pairs = self.since_mark()
        self.stack.append({})
        self.set_items(pairs)

    def set_items(self, pairs: list[Any]) -> None:
        target = self.stack[-1]
        entries = target.entries if isinstance(target, Call) else target
        if not isinstance(entries, dict):
            raise TypeError("it sets entries of what is no dictionary")
        entries.update(zip(map(_key, pairs[::2]), pairs[1::2], strict=True))

    def extend(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, list):
            target.extend(values)
        elif isinstance(target, set):
            target.update(map(_key, values))
        else:
            target.entries.update(enumerate(values, start=len(target.entries)))

    def remember(self, key: int) -> None:
        self.memo[key] = self.stack[-1]

    def name(self) -> None:
        words = self.popped(2)
        if not all(isinstance(word, str) and len(word) <= _LONGEST_NAME for word in words):
            raise TypeError("it names a class by something else than two short texts")
        self.stack.append(Name(".".join(words)))

    def call(self) -> None:
        function, arguments = self.popped(2)
        self.stack.append(Call(function, arguments))

    def call_with_keywords(self) -> None:
        function, arguments, keywords = self.popped(3)
        self.stack.append(Call(function, arguments, keywords))

    def build(self) -> None:
        (state,) = self.popped(1)
        if isinstance(self.stack[-1], Call):
            self.stack[-1].state = state


def _key(value: Any) -> Any:
    """Return a key of a dictionary: a plain value itself, a mark of its own for all others.

    Nothing nested is ever hashed or compared: that recurses in C, and shared parts would be gone
    through again and again. A whole number's hash takes time by its length.
    """
    plain = value is None or isinstance(value, str | bytes | float | bool)
    short = isinstance(value, int) and value.bit_length() <= 64
    return value if plain or short else object()


_PUSHES = {
    "INT", "LONG", "LONG1", "LONG4", "BININT", "BININT1", "BININT2", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
    "BYTEARRAY8", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8",
}  # fmt: skip
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "MARK": lambda: _MARK,
    "EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_SET": set,
}  # fmt: skip
_NOTHING = {"PROTO", "FRAME"}
_STEPS: dict[str, Callable[[_Machine, Any], object]] = {
    "POP": lambda m, _: m.popped(1),
    "POP_MARK": lambda m, _: m.since_mark(),
    "DUP": lambda m, _: m.stack.append(m.stack[-1]),
    "TUPLE": lambda m, _: m.stack.append(tuple(m.since_mark())),
    "TUPLE1": lambda m, _: m.stack.append(m.popped(1)),
    "TUPLE2": lambda m, _: m.stack.append(m.popped(2)),
    "TUPLE3": lambda m, _: m.stack.append(m.popped(3)),
    "LIST": lambda m, _: m.stack.append(m.since_mark()),
    "FROZENSET": lambda m, _: m.stack.append(frozenset(map(_key, m.since_mark()))),
    "APPEND": lambda m, _: m.extend(list(m.popped(1))),
    "APPENDS": lambda m, _: m.extend(m.since_mark()),
    "ADDITEMS": lambda m, _: m.extend(m.since_mark()),
    "SETITEM": lambda m, _: m.set_items(list(m.popped(2))),
    "SETITEMS": lambda m, _: m.set_items(m.since_mark()),
    "DICT": lambda m, _: m.make_dict(),
    "BINPUT": lambda m, key: m.remember(key),
    "LONG_BINPUT": lambda m, key: m.remember(key),
    "PUT": lambda m, key: m.remember(int(key)),
    "MEMOIZE": lambda m, _: m.remember(len(m.memo)),
    "BINGET": lambda m, key: m.stack.append(m.memo[key]),
    "LONG_BINGET": lambda m, key: m.stack.append(m.memo[key]),
    "GET": lambda m, key: m.stack.append(m.memo[int(key)]),
    "GLOBAL": lambda m, words: m.stack.append(Name(words.replace(" ", "."))),
    "STACK_GLOBAL": lambda m, _: m.name(),
    "REDUCE": lambda m, _: m.call(),
    "NEWOBJ": lambda m, _: m.call(),
    "NEWOBJ_EX": lambda m, _: m.call_with_keywords(),
    "BUILD": lambda m, _: m.build(),
    "BINPERSID": lambda m, _: m.stack.append(Stored(*m.popped(1))),
    "PERSID": lambda m, word: m.stack.append(Stored(word)),
}  # fmt: skip
