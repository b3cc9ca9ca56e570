"""The MicroRTS engine: Java in this process, started once, gone when the process ends.

Finds Java and the engine's files, says in one sentence what is missing, and wraps one match. What
a tick does is the engine's business alone. Knows nothing of slots, observations or masks.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.contract import GameError
from lanista.games.microrts.layout import KINDS, REACH, VECTORS

EXTRA = "microrts"
VERSION = "0.4.3"
"""The gym-microrts whose jars are played; a match is promised to be the same with this one."""
PLACE = "LANISTA_MICRORTS"
"""An environment variable: the folder into which gym-microrts was installed."""
OLDEST_JAVA = 11
JARS = (
    *("microrts.jar", "Coac.jar", "Droplet.jar", "GRojoA3N.jar", "Izanagi.jar"),
    *("MixedBot.jar", "RojoBot.jar", "TiamatBot.jar"),
)
FLAGS = (
    "-Xrs",  # Python keeps the signals: Ctrl-C and SIGTERM mean what they mean without Java.
    "-XX:+UseSerialGC",  # One thread; the default would start one for every core.
    "-XX:-UsePerfData",
    "-Xmx1g",
    "-Djava.awt.headless=true",
)
FIRST_MADE = 1000
"""The number of the first unit made in a match; a map's own are far below."""

LOCK = threading.RLock()
"""The engine counts units in one number for the whole process, so one match moves at a time."""


@dataclass(frozen=True)
class Units:
    """What the engine's unit table says, a row for each kind; row 0 is an empty cell."""

    cost: NDArray[np.int64]
    hit_points: NDArray[np.int64]
    move_time: NDArray[np.int64]
    attack_time: NDArray[np.int64]
    harvest_time: NDArray[np.int64]
    make_time: NDArray[np.int64]
    reach: NDArray[np.int64]
    """How far it attacks; 0: it does not."""
    moves: NDArray[np.bool_]
    harvests: NDArray[np.bool_]
    stores: NDArray[np.bool_]
    makes: NDArray[np.bool_]
    """`[kinds, kinds]`: which makes which."""


class Engine:
    """The started engine: its classes, its unit table and its maps."""

    def __init__(self, folder: Path) -> None:
        import jpype

        self.folder = folder
        self.array_of = jpype.JArray.of
        self.java = jpype.JClass
        self.error: type[Exception] = jpype.JException
        self.unit = jpype.JClass("rts.units.Unit")
        self.commands = jpype.JClass("rts.PlayerAction")
        self.table = jpype.JClass("rts.units.UnitTypeTable")()
        self.units = _read_units(self.table)
        self._maps: dict[int, Any] = {}

    def match(self, side: int) -> EngineMatch:
        """Return a fresh match on the standard map of a size."""
        if side not in self._maps:
            path = self.folder / "maps" / f"{side}x{side}" / f"basesWorkers{side}x{side}.xml"
            ground = self.java("rts.PhysicalGameState").load(str(path), self.table)
            self._maps[side] = self.java("rts.GameState")(ground, self.table)
        with LOCK:
            return EngineMatch(self, self._maps[side].clone())


class EngineMatch:
    """One match in the engine. Boards are the engine's own, whichever seat looks."""

    def __init__(self, engine: Engine, state: Any) -> None:
        self.engine, self.state = engine, state
        self.next_unit = FIRST_MADE
        self._players = (state.getPlayer(0), state.getPlayer(1))

    def prepare(self, seat: int, orders: list[tuple[int, int]]) -> Any:
        """Return a seat's orders, (cell, choice) each, as the engine takes them."""
        rows = VECTORS[[choice for _, choice in orders]]
        rows[:, 0] = [cell for cell, _ in orders]
        engine = self.engine
        return engine.commands.fromActionArrays(
            engine.array_of(rows), self.state, engine.table, seat, 2 * REACH + 1
        ).m_a

    def play(self, ticks: int, prepared: Sequence[Any]) -> bool:
        """Issue what seats prepared and play so many ticks; return whether the match is over."""
        unit = self.engine.unit
        with LOCK:
            # Bots look units up by number, so a match's numbers must not depend on other matches.
            unit.next_ID = self.next_unit
            for commands in prepared:
                self.state.issue(commands)
            for _ in range(ticks):
                over = bool(self.state.cycle())
            self.next_unit = int(unit.next_ID)
        return over

    def board(self) -> NDArray[np.int32]:
        """Return hit points, resources, owner (0 nobody, 1, 2) and kind, `[4, cells]`."""
        return np.asarray(self.state.getMatrixObservation(0))[:4].reshape(4, -1)

    def stock(self) -> tuple[int, int]:
        """Return what each player has in store."""
        first, second = self._players
        return int(first.getResources()), int(second.getResources())

    def winner(self) -> int:
        """Return the seat that won, or -1."""
        return int(self.state.winner())


def start() -> Engine:
    """Return this process's engine; the first call starts Java."""
    with LOCK:
        return _started()


@cache
def _started() -> Engine:
    folder = find_folder()
    try:
        import jpype
        import jpype.config
    except ModuleNotFoundError as error:
        raise GameError(f"JPype is not installed; run in a checkout: {_first_command()}") from error
    jars = [str(folder / jar) for jar in JARS]
    if jpype.isJVMStarted():
        for jar in jars:
            jpype.addClassPath(jar)
    else:
        _start_java(jpype, jars)
    return Engine(folder)


def _start_java(jpype: Any, jars: list[str]) -> None:
    # Destroying the virtual machine waits for every Java thread, and a bot may have left one.
    jpype.config.destroy_jvm = False
    try:
        jpype.startJVM(*FLAGS, classpath=jars, convertStrings=False)
    except Exception as error:  # JPype raises many kinds: no Java, a wrong one, no memory.
        raise GameError(
            f"MicroRTS needs Java {OLDEST_JAVA} or newer, which could not be started "
            f"({_first_line(error)}); install a Java runtime, on Debian with: "
            "apt-get install openjdk-17-jre-headless"
        ) from error
    system = jpype.JClass("java.lang.System")
    java_version = str(system.getProperty("java.specification.version"))
    if float(java_version) < OLDEST_JAVA:
        raise GameError(
            f"MicroRTS needs Java {OLDEST_JAVA} or newer, and Java {java_version} was found; "
            "install a newer one and set JAVA_HOME to it."
        )
    # Bots chat on the terminal; a command's own output must stay its own.
    nowhere = jpype.JClass("java.io.OutputStream").nullOutputStream()
    silent = jpype.JClass("java.io.PrintStream")(nowhere)
    system.setOut(silent)
    system.setErr(silent)
    atexit.register(_leave, jpype, os.getpid())


def _leave(jpype: Any, started_by: int) -> None:
    """Keep Java from handing objects to a Python that is gone, which would abort the exit."""
    if os.getpid() == started_by:  # A forked process has none of Java's threads to wait for.
        jpype.JClass("org.jpype.ref.JPypeReferenceQueue").getInstance().stop()


def find_folder() -> Path:
    """Return the folder with the engine's jars and maps."""
    for place in _places():
        folder = place / "gym_microrts" / "microrts"
        if (folder / JARS[0]).is_file():
            return folder
    raise GameError(
        f"The MicroRTS engine is not installed; run in a checkout: {_first_command()} && "
        f"{second_command()}"
    )


def playing_files() -> tuple[Path, list[Path]]:
    """Return the engine's folder and its files that decide a match: its jars and maps."""
    folder = find_folder()
    maps = sorted(path for path in (folder / "maps").rglob("*") if path.is_file())
    return folder, [*(folder / jar for jar in JARS if (folder / jar).is_file()), *maps]


def default_place() -> Path:
    """Return where the engine is looked for unless the environment says otherwise."""
    return Path(sys.prefix) / "share" / "lanista" / "microrts"


def second_command() -> str:
    """Return the command that fetches the engine.

    It goes beside the other packages and not among them: its own pins (gym 0.18, and with it a
    Pillow of 2021) cannot be met by any Python we run on, and none of that is needed.
    """
    return f"pip install --no-deps --target {default_place()} gym-microrts=={VERSION}"


def _first_command() -> str:
    return f"pip install '.[{EXTRA}]'"


def _places() -> list[Path]:
    custom_place = os.environ.get(PLACE)
    if custom_place:
        return [Path(custom_place)]
    package = importlib.util.find_spec("gym_microrts")
    beside = [
        Path(place).parent for place in (package and package.submodule_search_locations) or ()
    ]
    return [default_place(), *beside]


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def _read_units(table: Any) -> Units:
    kinds = list(table.getUnitTypes())
    names = tuple(str(kind.name).lower() for kind in kinds)
    if names != KINDS:
        raise GameError(f"The MicroRTS engine has other units than version {VERSION}: {names}.")

    def column(read: Any, dtype: Any) -> NDArray[Any]:
        return np.array([0, *(read(kind) for kind in kinds)], dtype)

    makes = np.zeros((1 + len(kinds), 1 + len(kinds)), np.bool_)
    for kind in kinds:
        # A method has the same name, so the field is found by reflection.
        for product in kind.getClass().getField("produces").get(kind):
            makes[1 + int(kind.ID), 1 + int(product.ID)] = True
    return Units(
        cost=column(lambda kind: int(kind.cost), np.int64),
        hit_points=column(lambda kind: int(kind.hp), np.int64),
        move_time=column(lambda kind: int(kind.moveTime), np.int64),
        attack_time=column(lambda kind: int(kind.attackTime), np.int64),
        harvest_time=column(lambda kind: int(kind.harvestTime), np.int64),
        make_time=column(lambda kind: int(kind.produceTime), np.int64),
        reach=column(lambda kind: int(kind.attackRange) * bool(kind.canAttack), np.int64),
        moves=column(lambda kind: bool(kind.canMove), np.bool_),
        harvests=column(lambda kind: bool(kind.canHarvest), np.bool_),
        stores=column(lambda kind: bool(kind.isStockpile), np.bool_),
        makes=makes,
    )
