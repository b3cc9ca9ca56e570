"""The launchers: their names, where they lie, and what settings must know of them.

A further launcher is a module with a function `launch(plan) -> Launched` and a line here, or an
entry point of `lanista.launchers` that is a `Launcher`. Knows nothing of torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanista.extensions import Entry, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanista.rollout.launchers.plan import Launched, Plan


@dataclass(frozen=True)
class Launcher(Entry):
    """Where workers play; its implementation is a function of a `Plan`."""

    at_once: bool = True
    """Workers play at the same time, beside the learner; otherwise in turn, in its thread."""
    separate_processes: bool = False
    """Workers are processes of their own: with networks on the CPU, those of this machine also on
    the learner's GPU, or with central inference."""
    remote: bool = False
    """Workers may be on other machines; then there is no central inference."""

    def load(self) -> Callable[[Plan], Launched]:
        launch: Callable[[Plan], Launched] = super().load()
        return launch


_HERE = "lanista.rollout.launchers"
LAUNCHERS: Table[Launcher] = Table(
    "launcher",
    "lanista.launchers",
    {
        "serial": Launcher("one after another", f"{_HERE}.in_process:launch_serial", at_once=False),
        "threads": Launcher("at once, in threads", f"{_HERE}.in_process:launch_threads"),
        "processes": Launcher(
            "at once, in processes", f"{_HERE}.processes:launch", separate_processes=True
        ),
        "ray": Launcher(
            "on the machines of a cluster, in processes",
            f"{_HERE}.ray_cluster:launch",
            separate_processes=True,
            remote=True,
        ),
        "ray-threads": Launcher(
            "on the machines of a cluster, in threads",
            f"{_HERE}.ray_cluster:launch_threads",
            separate_processes=True,
            remote=True,
        ),
    },
)
