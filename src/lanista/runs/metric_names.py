"""Names of metrics: whose one is, and what it was called in older runs.

Databases keep the rows they were written with; whoever reads them sees one name for one number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Series = tuple[tuple[int, float], ...]
"""(update, value), by update; unknown values are left out."""

FORMER = {"staleness": "lag/mean"}
"""Today's name by the former one. A learner's metrics may have its name before them."""


def current_name(name: str) -> str:
    """Return the name a metric has now, with its learner before it if it has one."""
    learner, slash, own = name.rpartition("/")
    return f"{learner}{slash}{FORMER.get(own, own)}"


def former_names(name: str) -> tuple[str, ...]:
    """Return the names that a metric, with no learner before it, had earlier."""
    return tuple(old for old, new in FORMER.items() if new == name)


def with_current_names(series_by_name: Mapping[str, Series]) -> dict[str, Series]:
    """Return all series under today's names.

    Where an update has a number under both names, the one under today's stays.
    """
    renamed: dict[str, Series] = {}
    for name, series in series_by_name.items():
        if current_name(name) != name:
            today = series_by_name.get(current_name(name), ())
            logged = {update for update, _ in today}
            earlier = [point for point in series if point[0] not in logged]
            renamed[current_name(name)] = tuple(sorted([*earlier, *today]))
        else:
            renamed.setdefault(name, series)
    return renamed


def owner(learners: Sequence[str], metric: str) -> tuple[str, str]:
    """Return whose a metric is and its name without the learner's; the first one's have none."""
    for learner in sorted(learners, key=len, reverse=True):
        if metric.startswith(f"{learner}/"):
            return learner, metric[len(learner) + 1 :]
    return (learners[0] if learners else ""), metric
