"""Machines that do not do what tasks and commands need: they are refused, and others do the work.

A machine finds out by itself when it is given something to do, and says so in place of a result.
Who gave it the work remembers, and asks Ray for other machines from then on. Knows nothing of what
the work is.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lanista.cluster import session
from lanista.cluster.identity import Identity, identity
from lanista.errors import LanistaError
from lanista.games import driver_files

Checked = tuple[str, str]
"""A machine's id at Ray, and why it may not work; nothing: it may."""


class Refusals:
    """The machines of a cluster that were refused."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._reasons: dict[str, str] = {}
        """By machine."""

    def add(self, machine: str, sentence: str) -> None:
        """Refuse a machine and say why, once; the last one's refusal is an error."""
        new = machine not in self._reasons
        self._reasons[machine] = sentence
        self.require_others()
        if new:
            print(f"lanista: {sentence}", file=sys.stderr, flush=True)

    def require_others(self) -> None:
        """Raise the last refusal if no machine but refused ones is there."""
        if self._reasons and not session.machines(self._ray).keys() - self._reasons.keys():
            raise LanistaError(f"{list(self._reasons.values())[-1]} No machine is left.")

    @property
    def options(self) -> dict[str, Any]:
        """Return what tells Ray to choose among the others."""
        if not self._reasons:
            return {}
        return {"label_selector": {"ray.io/node-id": f"!in({','.join(sorted(self._reasons))})"}}


def conditions(environment: Mapping[str, str]) -> bytes:
    """Return what a machine must meet: to run what runs here, with this folder and these files.

    `environment` names the Python files. All of it is sealed: another version may not read it.
    """
    return pickle.dumps((identity(), str(Path.cwd()), dict(environment)))


def unmet(sealed: bytes) -> str:
    """Return which of its conditions this machine does not meet; nothing: it meets all."""
    driver, folder, environment = pickle.loads(sealed)
    assert isinstance(driver, Identity)
    if refusal := driver.refusal(identity(), machine_name()):
        return refusal
    if not Path(folder).is_dir():
        return (
            f"Machine {machine_name()} is refused: it has no folder {folder}; run the command in "
            "one that all machines share."
        )
    return driver_files.first_unlike(Path(folder), environment)


def machine_name() -> str:
    """Return what this machine is called in sentences."""
    return os.uname().nodename if hasattr(os, "uname") else "elsewhere"


def checker() -> Callable[[bytes], Checked]:
    """Return what a process of Ray checks a machine's conditions with.

    Ray carries a function that was made in another one by value, and this one imports all it needs
    when it runs: so it also runs where lanista is missing or another version.
    """

    def check(sealed: bytes) -> Checked:
        import os

        import ray

        machine = ray.get_runtime_context().get_node_id()
        try:
            from lanista.cluster.refusals import unmet

            return machine, unmet(sealed)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            return machine, (
                f"Machine {os.uname().nodename} is refused: lanista does not start there ({why}); "
                "install the same version of the package there."
            )

    return check
