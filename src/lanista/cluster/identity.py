"""What a machine runs: Python, this package, compiled games, rules, simulators, numeric libraries.

Machines whose numbers could differ must not play for one run, so each is compared with the
driver's before it gets work. Knows nothing of Ray.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path

import lanista
from lanista.errors import LanistaError
from lanista.games import registry
from lanista.games.contract import GameError

_REMEDY = {
    "python": "install the same Python there",
    "rules": "install the same version of the package there",
    "simulators": "install the same version of the simulator there",
    "code": "install the same version of the package there",
    "compiled": "build it there from the same sources with the same compiler, or copy the wheel",
    "torch": "install the same version there",
    "numpy": "install the same version there",
    "extensions": "install the same packages there",
}
_INSTALLED = {"showdown": "package-lock.json"}
"""By simulator: the file that fixes each of its parts."""
_SIMULATOR_FILES = {
    "microrts": "lanista.games.microrts.engine",
    "showdown": "lanista.games.showdown.install",
}
"""By simulator: the module that knows which of its files play."""


@dataclass(frozen=True)
class Identity:
    """What must be the same on all machines of a run."""

    python: str
    rules: str
    """The rules versions of the games that come with the package."""
    simulators: str
    """Of engines and simulators from elsewhere that are installed: a version, or a digest of what
    plays."""
    code: str
    """Digest of the package's Python files."""
    compiled: str
    """Digest of the compiled games and of the other compiled modules."""
    torch: str
    numpy: str
    extensions: str
    """Packages that add games, launchers or terms, with their versions."""

    def refusal(self, other: Identity, machine: str) -> str:
        """Return why `machine`, which runs `other`, may not play; nothing: it may."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name, "")
            if field.name in ("rules", "simulators"):
                mine, theirs = _differing(mine, theirs)
            if mine != theirs:
                return (
                    f"Machine {machine} is refused: its {_word(field.name)} {_short(theirs)}, and "
                    f"the driver's {_short(mine)}; {_REMEDY[field.name]}."
                )
        return ""


def _differing(mine: str, theirs: str) -> tuple[str, str]:
    """Return what both have in other versions: a simulator may be missing on one."""
    ours, others = (dict(word.split(":") for word in words.split()) for words in (mine, theirs))
    names = [name for name in ours if others.get(name, ours[name]) != ours[name]]
    one, other = (" ".join(f"{name}:{has[name]}" for name in names) for has in (ours, others))
    return one, other


def _word(name: str) -> str:
    return {
        "python": "Python is",
        "rules": "games have the rules",
        "simulators": "simulators are",
        "code": "code of lanista has the digest",
        "compiled": "build of the compiled games has the digest",
        "torch": "torch is",
        "numpy": "NumPy is",
        "extensions": "packages that extend lanista are",
    }[name]


def _short(value: str) -> str:
    return value[:12] if len(value) == 64 and " " not in value else value or "none"


@cache
def identity() -> Identity:
    """Return what this process runs."""
    folder = Path(lanista.__file__).parent
    suffixes = tuple(EXTENSION_SUFFIXES)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return Identity(
        python=platform.python_version(),
        rules=_rules(),
        simulators=_simulators(),
        code=_digest(folder, [path for path in files if path.suffix == ".py"]),
        compiled=_digest(folder, [path for path in files if path.name.endswith(suffixes)]),
        torch=version("torch"),
        numpy=version("numpy"),
        extensions=_extensions(),
    )


def stamp() -> str:
    """Return what changes with every file of the package that is written, and with the others.

    Files are not read, so it takes a tenth of the time: for a machine that was compared before.
    """
    lines = [platform.python_version(), version("torch"), version("numpy"), _extensions()]
    for folder, folders, names in os.walk(Path(lanista.__file__).parent):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        lines += _states(Path(folder, name) for name in sorted(names))
    for files in _simulator_files().values():
        lines += _states(files[1])
    return hashlib.sha256("\n".join([*lines, _openspiel()]).encode()).hexdigest()


def _states(paths: Iterable[Path]) -> Iterator[str]:
    """Yield what changes with each file that is written."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # An editor's, or one that has just gone.
            status = path.stat()
            yield f"{path} {status.st_size} {status.st_mtime_ns}"


def _rules() -> str:
    """Return the rules versions of the games that can be made here without anything outside.

    Of a simulator outside, which takes seconds to start, the list of what is installed for it.
    """
    versions: dict[str, object] = {
        name: _rules_version(name) for name in registry.BUILT_IN if name not in _INSTALLED
    }
    for name, file in _INSTALLED.items():
        listed = Path(registry.__file__).parent / name / file
        versions[name] = hashlib.sha256(listed.read_bytes()).hexdigest()[:12]
    return " ".join(f"{name}:{number}" for name, number in versions.items() if number)


def _simulators() -> str:
    """Return the digest or the version of each engine and simulator that is here, as `name:it`."""
    versions = {name: _digest(*files)[:12] for name, files in _simulator_files().items()}
    if openspiel := _openspiel():
        versions["openspiel"] = openspiel
    return " ".join(f"{name}:{it}" for name, it in versions.items())


def _simulator_files() -> dict[str, tuple[Path, list[Path]]]:
    """Return of each simulator that is here its folder and the files that play."""
    places = {}
    for name, module in _SIMULATOR_FILES.items():
        with contextlib.suppress(GameError):  # It is not installed.
            places[name] = importlib.import_module(module).playing_files()
    return places


def _openspiel() -> str:
    """Return OpenSpiel's version; nothing: it is not here."""
    try:
        return version("open_spiel")
    except PackageNotFoundError:
        return ""


def _rules_version(name: str) -> int:
    """Return a game's rules version; 0: it is a family, or cannot be made here."""
    try:
        game_entry = registry.entry(name)
        return 0 if game_entry.extra else registry.spec_of(name).facts.rules_version
    except (LanistaError, ImportError):
        return 0


def _digest(folder: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(folder).as_posix()}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _extensions() -> str:
    points = entry_points()
    names = {
        f"{point.dist.name} {point.dist.version}"
        for group in points.groups
        if group.startswith("lanista.")
        for point in points.select(group=group)
        if point.dist is not None
    }
    return ", ".join(sorted(names))
