"""Checks what comes out of matches: rewards, returns, places, ends, length, symmetry."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.trial import Play, Trial
from lanista.games.contract import Spec

ROUNDING = 1e-4
"""Returns are float32 and may be sums of many rewards."""
STANDARD_ERRORS = 4.5


def zero_sum(trial: Trial) -> str:
    """Returns of a match add up to 0 where the facts say so."""
    if not trial.spec.facts.zero_sum:
        raise NotApplicable("facts do not say zero-sum")
    ends = trial.results.ends
    returns = ends["returns"].astype(np.float64)
    off = np.abs(returns.sum(1)) > ROUNDING * np.maximum(1, np.abs(returns).max(1))
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise Fault(
            f"match {ends['match'][row]} has returns {_list(returns[row])}, which do not add up "
            "to 0"
        )
    return f"the returns of {len(returns)} matches add up to 0"


def paid_alike(trial: Trial) -> str:
    """All seats of a match get the same where the facts say so."""
    returns = trial.results.ends["returns"].astype(np.float64)
    spread = returns.max(1) - returns.min(1)
    off = spread > ROUNDING * np.maximum(1, np.abs(returns).max(1))
    if trial.spec.seats == 1:
        raise NotApplicable("it has one seat")
    if not trial.spec.facts.paid_alike:
        hint = "" if off.any() or not returns.any() else "; all seats got the same: say paid_alike"
        raise NotApplicable(f"facts do not say paid alike{hint}")
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise Fault(
            f"match {trial.results.ends['match'][row]} has returns {_list(returns[row])}, which "
            "are not the same"
        )
    return f"the seats of each of {len(returns)} matches got the same"


def rewards(trial: Trial) -> str:
    """A seat's rewards, over its decisions and the end, add up to its return."""
    observed = trial.ended
    total = observed.ends["reward"].astype(np.float64)
    where = np.searchsorted(observed.ends["match"], observed.rows["match"])
    np.add.at(total, (where, observed.rows["seat"]), observed.rows["reward"].astype(np.float64))
    returns = observed.ends["returns"].astype(np.float64)
    off = np.abs(total - returns) > ROUNDING * np.maximum(1, np.abs(returns))
    if off.any():
        row, seat = (int(i) for i in np.argwhere(off)[0])
        raise Fault(
            f"the rewards of seat {seat} in match {observed.ends['match'][row]} add up to "
            f"{total[row, seat]:g}, its return is {returns[row, seat]:g}"
        )
    early = int((observed.rows["reward"] != 0).sum())
    return f"rewards add up to returns in {len(returns)} matches; {early} came before an end"


def places(trial: Trial) -> str:
    """Places follow the order of returns, equals share, the best is 1."""
    ends = trial.results.ends
    for row in range(len(ends["match"])):
        returns, place = ends["returns"][row], ends["place"][row]
        ahead = np.sign(returns[:, None] - returns[None, :])
        placed = np.sign(place[None, :] - place[:, None])
        if (ahead != placed).any() or place.min() != 1 or place.max() > len(place):
            raise Fault(
                f"match {ends['match'][row]} has returns {_list(returns)} but places {_list(place)}"
            )
    return f"places agree with returns in {len(ends['match'])} matches"


def ends(trial: Trial) -> str:
    """`done` and `cut_off` say when a seat and a match are over, and take nothing back."""
    observed = trial.ended
    if not observed.ends["done"].all():
        raise Fault(f"a match ended while a seat was not done: {_where_not(observed.ends)}")
    if (observed.ends["cut_off"].any(1) != observed.ends["cut_off"].all(1)).any():
        raise Fault("a match was cut off for one seat and not for another")
    rows = trial.base.rows
    if rows["cut_off"].any():
        raise Fault("cut_off was set while a match was being played")
    asked_done = rows["done"][np.arange(len(rows["seat"])), rows["seat"]]
    if asked_done.any():
        row = int(np.flatnonzero(asked_done)[0])
        raise Fault(
            f"seat {rows['seat'][row]} was done and had to decide at turn {rows['turn'][row]} "
            f"of match {rows['match'][row]}"
        )
    taken_back = (rows["match"][1:] == rows["match"][:-1])[:, None] & (
        rows["done"][:-1] & ~rows["done"][1:]
    )
    if taken_back.any():
        match = rows["match"][np.argwhere(taken_back)[0][0]]
        raise Fault(f"a seat was done and later not, in match {match}")
    early = int(rows["done"].any(1).sum())
    matches = len(observed.ends["match"])
    return f"{matches} matches ended for every seat; {early} decisions came after one was out"


def length(trial: Trial) -> str:
    """Turns count up by one, and a match ends with a result within `longest` of them."""
    base, longest = trial.base, trial.spec.facts.longest
    if base.too_long:
        raise Fault(
            f"match {base.too_long[0]} went on after turn {longest}, the longest it may take"
        )
    if not trial.cut_off_allowed and len(base.ends["match"]):
        late = base.ends["cut_off"].any(1) & (base.ends["turn"] >= longest)
        if late.any():
            raise Fault(
                f"match {base.ends['match'][late][0]} was still undecided at turn {longest}, the "
                "longest it may take, and was cut off"
            )
    wrong = base.rows["turn"] != base.rows["steps"] if len(base.rows["match"]) else np.zeros(0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise Fault(
            f"the turn of match {base.rows['match'][row]} is {base.rows['turn'][row]} after "
            f"{base.rows['steps'][row]} advances"
        )
    last = int(trial.ended.ends["turn"].max())
    return f"the longest of {trial.matches} matches took {last} turns of at most {longest}"


def symmetry(trial: Trial) -> str:
    """No seat has an advantage under random answers, where the facts say symmetric."""
    spec = trial.spec
    if not spec.facts.symmetric or spec.seats < 2:
        raise NotApplicable("facts do not say symmetric")
    trial.sound()
    decisions = len(trial.base.rows["match"]) / max(trial.matches, 1)
    matches = int(min(4000, max(400, trial.replayed / decisions)))
    # Even keys are started without options: an option may favour a seat on purpose.
    keys = [2 * i for i in range(matches)]
    with trial.game(min(256, matches)) as game:
        play = Play(game, keys).run()
    if play.trouble:
        raise Fault(play.trouble)
    returns = play.ends["returns"].astype(np.float64)
    return _level(spec, returns - returns.mean(1, keepdims=True))


def _level(spec: Spec, advantage: NDArray[np.float64]) -> str:
    mean = advantage.mean(0)
    error = advantage.std(0, ddof=1) / np.sqrt(len(advantage))
    off = np.abs(mean) > STANDARD_ERRORS * error + 1e-9
    seat = int(np.argmax(np.abs(mean)))
    if off.any():
        seat = int(np.flatnonzero(off)[0])
        raise Fault(
            f"seat {seat} gains {mean[seat]:+.4f} (standard error {error[seat]:.4f}) over the "
            f"others' mean in {len(advantage)} matches"
        )
    return (
        f"the largest mean advantage of {spec.seats} seats over {len(advantage)} matches is "
        f"{mean[seat]:+.4f}, standard error {error[seat]:.4f}"
    )


def _list(array: NDArray[Any]) -> str:
    return str([round(float(value), 4) for value in array])


def _where_not(ends: dict[str, NDArray[Any]]) -> str:
    row, seat = np.argwhere(~ends["done"])[0]
    return f"seat {seat} of match {ends['match'][row]}"
