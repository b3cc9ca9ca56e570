"""Which programs' settings files can be read, and whose a file is: that which knows its keys."""

from __future__ import annotations

from collections.abc import Mapping

from lanista.importers.beastybar_plan import BEASTYBAR
from lanista.importers.key_mapping import Plan
from lanista.importers.showdown_plan import SHOWDOWN

PLANS = (BEASTYBAR, SHOWDOWN)


def plan_of(values: object) -> Plan:
    """Return the plan that knows most of a file's keys; of equals the first.

    What it does not know it refuses itself, when it is read.
    """
    names = {str(name) for name in values} if isinstance(values, Mapping) else set()
    return max(PLANS, key=lambda plan: len(names & plan.names))
