"""Which programs' settings files can be read, and whose a file is: that which knows its keys."""

from __future__ import annotations

from collections.abc import Mapping

from lanista.pipeline.beastybar_plan import BEASTYBAR
from lanista.pipeline.plan_keys import Plan
from lanista.pipeline.showdown_plan import SHOWDOWN

PLANS = (BEASTYBAR, SHOWDOWN)


def plan_of(values: object) -> Plan:
    """Return the plan that knows most of a file's keys; of equals the first.

    What it does not know it refuses itself, when it is read.
    """
    names = {str(name) for name in values} if isinstance(values, Mapping) else set()
    return max(PLANS, key=lambda plan: len(names & plan.names))
