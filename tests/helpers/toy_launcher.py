"""A launcher of its own: workers of this process that play one after another, and are counted."""

from __future__ import annotations

from lanista.rollout.launchers.in_process import Inline, launch_here
from lanista.rollout.launchers.plan import Launched, Plan

chunks: list[object] = []


class Counted(Inline):
    """A worker that notes every order."""

    def ask(self, what, told):
        if what == "collect":
            chunks.append(told)
        super().ask(what, told)


def launch(plan: Plan) -> Launched:
    return launch_here(plan, Counted)
