"""Frozen dataclasses to plain values and back, as YAML files and `--set key=value` have them.

An unknown key is refused with the nearest one, a value of another kind with a sentence. Knows
nothing of what the settings mean.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import yaml

from lanista import yaml_text
from lanista.errors import LanistaError, nearest
from lanista.runs.former_keys import present_key, with_present_keys
from lanista.yaml_text import YamlError, parse_yaml

T = TypeVar("T")

# YAML 1.1 reads 3e-4 as text; whoever writes it means the number.
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)


class SettingsError(LanistaError):
    """Settings that cannot be used."""


def build(cls: type[T], values: object, where: str = "") -> T:
    """Return an object of the dataclass `cls` made from plain `values`."""
    if isinstance(values, cls):
        return values
    shorthand = getattr(cls, "from_text", None)
    if shorthand is not None and isinstance(values, str):
        instance: T = shorthand(values)
        return instance
    if not isinstance(values, Mapping):
        raise SettingsError(f"{where or 'The settings'} must be keys and values, got {values!r}.")
    present: Mapping[Any, Any] = with_present_keys(values)
    hints = _hints(cast(Any, cls))
    for key in present:
        if key not in hints:
            raise SettingsError(
                f"There is no setting {_join(where, str(key))!r}; "
                f"{nearest(str(key), hints, _join(where, ''))}"
            )
    arguments = {
        str(key): read(hints[str(key)], value, _join(where, str(key)))
        for key, value in present.items()
    }
    try:
        return cls(**arguments)
    except TypeError as error:
        missing = [f.name for f in fields(cls) if f.name not in arguments]  # type: ignore[arg-type]
        raise SettingsError(f"{where or 'The settings'} lack one of {missing}: {error}.") from error


def read(kind: Any, value: object, where: str) -> Any:
    """Return `value` as the type hint `kind` has it, or refuse."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return _numbers(value)
    if origin is Union or origin is types.UnionType:
        if value is None and type(None) in arguments:
            return None
        (inner,) = (argument for argument in arguments if argument is not type(None))
        return read(inner, value, where)
    if origin is Literal:
        if value not in arguments:
            remedy = nearest(str(value), [str(argument) for argument in arguments])
            raise SettingsError(f"{where} is {value!r}; {remedy}")
        return value
    if origin is tuple:
        return _read_tuple(arguments, value, where)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise SettingsError(f"{where} is {value!r}; give keys and values.")
        return {str(key): read(arguments[1], item, where) for key, item in value.items()}
    if is_dataclass(kind):
        return build(kind, value, where)  # type: ignore[arg-type]
    return _read_scalar(kind, value, where)


def _read_tuple(arguments: tuple[Any, ...], value: object, where: str) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise SettingsError(f"{where} is {value!r}; give a list.")
    if arguments[-1] is Ellipsis:
        return tuple(read(arguments[0], item, where) for item in value)
    if len(value) != len(arguments):
        raise SettingsError(f"{where} is {list(value)}; give {len(arguments)} values.")
    return tuple(read(kind, item, where) for kind, item in zip(arguments, value, strict=True))


def _read_scalar(kind: Any, value: object, where: str) -> Any:
    value = _numbers(value) if kind in (int, float) else value
    if kind is float and type(value) is int:
        return float(value)
    if kind is int and type(value) is float and value.is_integer():
        return int(value)
    if type(value) is not kind:
        expected = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
        raise SettingsError(f"{where} is {value!r}; give {expected.get(kind, kind.__name__)}.")
    return value


def _numbers(value: Any) -> Any:
    """Return a plain value in which texts that are numbers are numbers."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        number = float(value)
        return int(value) if value.lstrip("+-").isdigit() else number
    if isinstance(value, Mapping):
        return {str(key): _numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(item) for item in value]
    return value


def load(cls: type[T], source: str | Path | Mapping[str, Any]) -> T:
    """Return an object of the dataclass `cls` from a YAML file or a mapping."""
    if isinstance(source, Mapping):
        return build(cls, source)
    path = Path(source)
    values = read_yaml(path)
    try:
        return build(cls, {} if values is None else values)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds; one that cannot be read is refused, with the place."""
    if path.exists() and not path.is_file():  # A pipe would be waited for.
        raise SettingsError(f"{str(path)!r} is no regular file; name a settings file.")
    try:
        return yaml_text.read_yaml(path)
    except YamlError as error:
        raise SettingsError(str(error)) from error


def read_value(key: str, text: str) -> Any:
    """Return the value that `--set key=text` gives."""
    try:
        return parse_yaml(text, f"The value of {key}")
    except YamlError as error:
        shown = text if len(text) <= 80 else f"{text[:80]}…"
        raise SettingsError(f"{key} is {shown!r}, which is no YAML that can be used.") from error


def overridden(settings: T, overrides: Iterable[str]) -> T:
    """Return settings with `key=value` put in, such as `learning.lr=1e-3`; values are YAML."""
    values = plain(settings)
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SettingsError(f"--set was given {text!r}; write it as key=value.")
        *above, last = key.split(".")
        _put(values, [*above, present_key(last)], read_value(key, value), key)
    return build(type(settings), values)


# A key of these is a name, so that a new one can be set.
_OPEN = ("learning.terms", "game_settings")


def _put(values: dict[str, Any], path: Sequence[str], value: Any, key: str) -> None:
    here = values
    for depth, segment in enumerate(path[:-1]):
        inside = ".".join(path[: depth + 1])
        if segment not in here:
            above = _join(".".join(path[:depth]), "")
            raise SettingsError(f"There is no setting {key!r}; {nearest(segment, here, above)}")
        if here[segment] is None or not isinstance(here[segment], dict):
            if not inside.startswith("learning."):
                raise SettingsError(
                    f"{inside} is {here[segment]!r} and has no parts; set it whole."
                )
            here[segment] = {}
        here = here[segment]
    above = ".".join(path[:-1])
    if path[-1] not in here and above not in _OPEN and len(path) < 3:
        remedy = nearest(path[-1], here, _join(above, ""))
        raise SettingsError(f"There is no setting {key!r}; {remedy}")
    here[path[-1]] = value


def plain(value: Any) -> Any:
    """Return settings as what YAML and JSON can hold."""
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: plain(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def flat(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Give every value of a dataclass with its dotted key, in plain form; a schedule is one."""
    for entry in fields(value):
        field_value, key = getattr(value, entry.name), _join(where, entry.name)
        if is_dataclass(field_value) and not isinstance(field_value, type):
            yield from flat(field_value, key)
        elif isinstance(field_value, Mapping) and "kind" not in field_value:
            yield from ((_join(key, name), plain(item)) for name, item in field_value.items())
        else:
            yield key, plain(field_value)


def unlike(saved: Mapping[str, Any], now: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Give each dotted key at which a dataclass differs from plain values, with both.

    What is not among the values counts as its default: an older version may not have known it.
    """
    saved = with_present_keys(saved)
    entries = {entry.name: entry for entry in fields(now)}
    for name, entry in entries.items():
        key, after = _join(where, name), getattr(now, name)
        before = saved[name] if name in saved else plain(_default(entry))
        if is_dataclass(after) and isinstance(before, Mapping):
            yield from unlike(before, after, key)
        elif not _alike(before, after):
            yield key, before, plain(after)
    for name in saved:
        if name not in entries:
            yield _join(where, name), saved[name], None


def _alike(before: Any, after: Any) -> bool:
    """Return whether a value is what was saved; entries of a list may have keys it did not know."""
    if not isinstance(after, tuple) or not isinstance(before, list | tuple):
        return bool(before == plain(after))
    return len(before) == len(after) and all(
        not any(unlike(was, now))
        if is_dataclass(now) and isinstance(was, Mapping)
        else _alike(was, now)
        for was, now in zip(before, after, strict=True)
    )


def _default(entry: Field[Any]) -> Any:
    if entry.default_factory is not MISSING:
        return entry.default_factory()
    return None if entry.default is MISSING else entry.default


def commented(value: Any, indent: int = 0) -> str:
    """Return a dataclass as YAML with each field's sentence above it."""
    lines, about = [], sentences(cast(Any, type(value)))
    for entry in fields(value):
        field_value, space = getattr(value, entry.name), " " * indent
        width = 96 - indent
        lines += [f"{space}# {line}" for line in textwrap.wrap(about.get(entry.name, ""), width)]
        if is_dataclass(field_value) and not isinstance(field_value, type):
            lines += [f"{space}{entry.name}:", commented(field_value, indent + 2).rstrip("\n")]
        else:
            text = yaml.safe_dump(
                {entry.name: plain(field_value)}, sort_keys=False, allow_unicode=True
            )
            lines.append(textwrap.indent(text.rstrip("\n"), space))
    return "\n".join(lines) + "\n"


@cache
def sentences(cls: Any) -> dict[str, str]:
    """Return the sentence under each field of a dataclass and its bases, read from the source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(tree, ast.ClassDef)
    sentence_by_field: dict[str, str] = {}
    for base in reversed(cls.__bases__):
        sentence_by_field |= sentences(cast(Any, base)) if is_dataclass(base) else {}
    last = ""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = node.target.id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and last:
            sentence_by_field[last] = " ".join(str(node.value.value).split())
            last = ""
    return sentence_by_field


@cache
def _hints(cls: Any) -> dict[str, Any]:
    field_names = {entry.name for entry in fields(cls)}
    return {name: hint for name, hint in get_type_hints(cls).items() if name in field_names}


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
