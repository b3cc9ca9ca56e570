"""Tables of what settings can name: our own entries, and those of installed packages.

An entry has a line about it and its implementation, or where that lies as "module:name", so that
a table can be read without loading what it names. Knows nothing of what is in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from lanista.errors import LanistaError, nearest


@dataclass(frozen=True)
class Entry:
    """One line of a table."""

    about: str
    """What it does, in one line."""
    implementation: Any
    """What does it, or where that lies as "module:name"."""

    def load(self) -> Any:
        """Return the implementation."""
        return located(self.implementation)


E = TypeVar("E", bound=Entry)


class Table(MutableMapping[str, E], Generic[E]):
    """What a name in the settings stands for.

    An installed package adds to it by an entry point of `group`, which is an entry or, where
    `wrap` makes one of it, the implementation alone. Our own names cannot be replaced so.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        entries: Mapping[str, E],
        wrap: Callable[[str, Any], E] | None = None,
    ) -> None:
        """Hold `entries`; `kind` is what one of them is called, such as "loss term"."""
        self.kind, self.group = kind, group
        self.own: dict[str, E] = dict(entries)
        self._loaded: dict[str, E] = {}
        """Of installed packages: terms are looked up at every step."""
        self._wrap = wrap

    def __getitem__(self, name: str) -> E:
        if name in self.own:
            return self.own[name]
        if name not in self._loaded:
            self._loaded[name] = self._of_package(self.added()[name])
        return self._loaded[name]

    def __setitem__(self, name: str, entry: E) -> None:
        self.own[name] = entry

    def __delitem__(self, name: str) -> None:
        del self.own[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from (name for name in self.added() if name not in self.own)

    def __len__(self) -> int:
        return len(set(self.own) | set(self.added()))

    def __contains__(self, name: object) -> bool:
        # Our own first: to look through installed packages takes milliseconds.
        return name in self.own or name in self.added()

    def added(self) -> dict[str, EntryPoint]:
        """Return what installed packages add, by name; nothing of theirs is loaded."""
        return {point.name: point for point in entry_points(group=self.group)}

    def named(self, name: str) -> E:
        """Return the entry of a name; one that nobody has is refused with the nearest."""
        self.refuse_unknown(name)
        return self[name]

    def load(self, name: str) -> Any:
        """Return the implementation that a name stands for."""
        return self.named(name).load()

    def refuse_unknown(self, name: object, *also: str, where: str = "") -> None:
        """Refuse a name that is neither here nor among `also`; `where` is the setting it is of."""
        if isinstance(name, str) and (name in also or name in self):
            return
        remedy = nearest(str(name), [*also, *self])
        begins = f"{where} is {name!r}" if where else f"There is no {self.kind} {name!r}"
        raise LanistaError(f"{begins}; {remedy}")

    def _of_package(self, point: EntryPoint) -> E:
        try:
            value = point.load()
        except (ImportError, AttributeError) as error:
            raise LanistaError(
                f"The {self.kind} {point.name!r} of an installed package lies at {point.value!r} "
                f"and cannot be loaded ({error}); repair the package, or remove it."
            ) from error
        if isinstance(value, Entry):
            return value  # type: ignore[return-value]
        if self._wrap is None:
            raise LanistaError(
                f"The {self.kind} {point.name!r} of an installed package is {value!r}; its entry "
                f"point in {self.group} must be an entry of the table, see docs/guides/extend.md."
            )
        return self._wrap(f"of the package {_package(point)}", value)


def located(place: Any) -> Any:
    """Return what lies at "module:name"; anything but a text is the thing itself."""
    if not isinstance(place, str):
        return place
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module
