"""What went wrong in a run, from the numbers of its line. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bench.untuned.rows import Row, row_of

Line = dict[str, Any]
FELL = 0.1
"""How far below its best look a run must end to have fallen: looks have a few hundred matches."""
RISEN = 2.0
"""How many times its lowest NashConv a run must end at to have fallen."""
RISEN_SHARE = 0.1
"""And by how much, as a share of uniform play's."""
NEARLY = 0.02
"""NashConv that is higher by less is none, where uniform play is an equilibrium."""
_NOTHING = {"value": 0.0, "low": 0.0, "high": 0.0}
CRASHED, REFUSED, RANDOM = "crashed", "refused", "not above random"
BELOW_START, BELOW_BEST = "below its start", "below its best"
ABOVE_UNIFORM, SILENT = "NashConv above uniform's", "doctor silent"


def flags_of(line: Line) -> list[str]:
    """Return what went wrong with a run; nothing where it learned."""
    row = row_of(line["row"])
    if line["exit"]:
        refused = not line.get("crashed", False)
        return [] if row.refused and refused else [REFUSED if refused else CRASHED]
    faults = [*_outcome(row, line["measured"]), *_course(line)]
    if faults and not line["findings"]:
        faults.append(SILENT)
    return faults


def _outcome(row: Row, measured: Mapping[str, Any]) -> list[str]:
    """Return what the policy that came out is not."""
    if "nash_conv" in measured:
        above = measured["nash_conv"] > measured["uniform_nash_conv"] + NEARLY
        return [ABOVE_UNIFORM] if above else []
    if row.measure == "together":
        better = _low(measured["together"]) > _high(measured["random_together"])
    elif row.measure == "gain":
        better = _low(measured["gain"]) > 0
    else:  # Who wins fewer matches may win more in each.
        better = _low(measured["random"]) > 0.5 or _low(measured.get("gain", _NOTHING)) > 0
    return [] if better else [RANDOM]


def _course(line: Line) -> list[str]:
    """Return whether the run ended below where it has been, by its own evaluations."""
    if exact := [value for _, value in line["curve"].get("nash_conv", [])]:
        uniform = line["measured"].get("uniform_nash_conv", 0.0)
        bound = max(RISEN * min(exact), min(exact) + RISEN_SHARE * uniform)
        return [BELOW_BEST] if exact[-1] > bound else []
    scores = [value for _, value in line["curve"].get("random", []) if not math.isnan(value)]
    if len(scores) < 2 or row_of(line["row"]).measure != "score":
        return []
    if scores[-1] < scores[0] - FELL / 2:
        return [BELOW_START]
    return [BELOW_BEST] if scores[-1] < max(scores) - FELL else []


def _low(estimate: Mapping[str, float | None]) -> float:
    """Return the lower bound; a mean without an interval is its own."""
    low, value = estimate["low"], estimate["value"]
    return float(low if low is not None else value or 0.0)


def _high(estimate: Mapping[str, float | None]) -> float:
    high, value = estimate["high"], estimate["value"]
    return float(high if high is not None else value or 0.0)


def failed(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of runs in which something went wrong."""
    return [line for line in lines if flags_of(line)]
