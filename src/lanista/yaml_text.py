"""Reads YAML that others wrote; what would hang, fill the memory or be misread is refused.

The one reader of the project: a text is bounded in size, depth and in what its aliases come to, and
a key stands once. Knows nothing of what the values mean.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import yaml

from lanista.errors import LanistaError

MOST_BYTES = 1 << 20
"""Of a file or text; settings are a few thousand."""
MOST_DEPTH = 50
"""Lists and maps inside each other."""
MOST_VALUES = 50_000
"""Values of a text, with every alias written out."""
_LONGEST_NUMBER = 100
"""Characters of a number: PyYAML takes quadratic time for groups of sixty (1:59:59)."""
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlError(LanistaError):
    """A text that is no YAML, or none that is read here."""


class _Composing(Protocol):
    def get_single_node(self) -> yaml.Node | None: ...
    def construct_document(self, node: yaml.Node) -> Any: ...
    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any: ...
    def dispose(self) -> None: ...


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds; one that cannot be read is refused, with the place."""
    return parse_yaml(text_of(path), repr(str(path)))


def text_of(path: Path) -> str:
    """Return the text of a settings file; a pipe, a device or a large file is refused."""
    name = repr(str(path))
    try:
        return _bytes(path, name).decode("utf-8")
    except UnicodeDecodeError as error:
        raise YamlError(f"{name} is no text in UTF-8; save it as such.") from error


def parse_yaml(text: str, source: str) -> Any:
    """Return what a YAML text holds; a refusal begins with `source`, its name."""
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise _too_large(source)
    try:
        _refuse_depth(text, source)
        loader: _Composing = _Loader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                return None
            _refuse_aliases(root, source)
            _refuse_misread(loader, root, source)
            return loader.construct_document(root)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise YamlError(f"{source} is no YAML: {_fault(error)}.") from error


def _bytes(path: Path, name: str) -> bytes:
    """Return what is in a regular file that is not too large; nothing else is waited for."""
    try:
        # A pipe that nobody writes to would be waited for without end.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise YamlError(
                    f"{name} is no regular file but a folder, pipe or device; copy what it gives "
                    "into a file."
                )
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise YamlError(f"{name} cannot be read: {why}.") from error
    if len(data) > MOST_BYTES:
        raise _too_large(name)
    return data


def _too_large(source: str) -> YamlError:
    return YamlError(f"{source} has more than {MOST_BYTES:,} bytes of YAML; is it the right file?")


def _place(mark: yaml.Mark | None) -> str:
    return "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"


def _refuse_depth(text: str, source: str) -> None:
    """Refuse lists in lists without end; events come one by one, where nodes need the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MOST_DEPTH:
            raise YamlError(
                f"{source} has lists and maps inside each other more than {MOST_DEPTH} deep "
                f"({_place(event.start_mark)}); settings need no such thing."
            )


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _refuse_aliases(root: yaml.Node, source: str) -> None:
    """Refuse a text whose aliases, written out, come to too much, lie too deep or have no end."""
    extents: dict[int, tuple[int, int]] = {}
    """By node: how many values it comes to, and how deep they lie; none: it is under way."""

    # An alias stands after what it names, which is measured by then: no deeper than the text.
    def extent(node: yaml.Node) -> tuple[int, int]:
        if id(node) not in extents:
            extents[id(node)] = 0, 0
            inside = [extent(child) for child in _children(node)]
            values = 1 + sum(count for count, _ in inside)
            extents[id(node)] = values, 1 + max((depth for _, depth in inside), default=0)
        values, depth = extents[id(node)]
        problem = ""
        if not values:
            problem = "has an alias inside what it stands for"
        elif values > MOST_VALUES:
            problem = f"comes to more than {MOST_VALUES:,} values with its aliases written out"
        elif depth > MOST_DEPTH + 1:
            problem = f"is more than {MOST_DEPTH} deep with its aliases written out"
        if problem:
            raise YamlError(
                f"{source} {problem} ({_place(node.start_mark)}); write it without them."
            )
        return values, depth

    extent(root)


def _refuse_misread(loader: _Composing, root: yaml.Node, source: str) -> None:
    """Refuse keys that stand twice, of which YAML would take the last, and endless numbers."""
    visited: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        waiting += _children(node)
        if node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
            raise YamlError(
                f"{source} has a number of {len(node.value):,} characters "
                f"({_place(node.start_mark)}); give one that fits {_LONGEST_NUMBER}."
            )
        if isinstance(node, yaml.MappingNode):
            _refuse_twice(loader, node, source)


def _refuse_twice(loader: _Composing, node: yaml.MappingNode, source: str) -> None:
    first: dict[str, yaml.Node] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue  # YAML itself refuses it, when it is to be a key.
        is_text = key.tag == "tag:yaml.org,2002:str" or key.tag.endswith(":merge")
        # As settings read it: 1 and "1" are one name.
        name = key.value if is_text else str(loader.construct_object(key))
        if name in first:
            raise YamlError(
                f"{source} has the key {name!r} twice, in lines "
                f"{first[name].start_mark.line + 1} and {key.start_mark.line + 1}; keep one."
            )
        first[name] = key


def _fault(error: Exception) -> str:
    """Return what is wrong in a YAML text, with the lines that it is about."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    problems = ((error.context, error.context_mark), (error.problem, error.problem_mark))
    return ", ".join(
        f"{problem} ({_place(mark)})" if mark else problem for problem, mark in problems if problem
    )
