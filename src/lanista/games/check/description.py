"""Checks that a game's description is whole and that its arrays are what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.seen import Columns
from lanista.games.check.trial import Answers, Trial, begin, copied
from lanista.games.contract import Decisions, Game, Observation, Spec


def plays(trial: Trial) -> str:
    """Matches under random answers go from their start to their end."""
    base = trial.base
    if base.trouble:
        raise Fault(base.trouble)
    return f"{len(base.ends['match'])} matches ended after {len(base.rows['match'])} decisions"


def description(trial: Trial) -> str:
    """The spec is whole, and the arrays have its shapes, dtypes and ranges."""
    spec = trial.spec
    _check_spec(spec)
    with trial.game(3) as game:
        _check_results(game)
        begin(game, [0, 1, 2], [0, 1, 2])
        _check_rows(game)
        _check_own_memory(game)
    rows = trial.base.rows
    if len(rows["match"]):
        _check_layout(spec.observation, rows["observation"], "observation")
        _check_turns(spec, rows)
    if spec.privileged is not None and "privileged" in rows:
        _check_layout(spec.privileged, rows["privileged"], "privileged view")
    for table, name in ((rows, "reward"), (rows, "shaping"), (trial.base.ends, "returns")):
        if name in table and not np.isfinite(table[name]).all():
            raise Fault(f"{name} holds a number that is not finite")
    heads = " x ".join(str(head.size) for head in spec.heads)
    return f"{spec.observation.length} {spec.observation.dtype} in, heads of {heads} out"


def heads(trial: Trial) -> str:
    """No head is ever without a legal choice; one that does not apply has exactly one."""
    rows = trial.base.rows
    if not len(rows["match"]):
        raise NotApplicable("there was no decision; see `plays` and `length`")
    first = forced = 0
    for head in trial.spec.heads:
        count = rows["mask"][:, first : first + head.size].sum(1)
        first += head.size
        forced += int((count == 1).sum())
        if not count.all():
            row = int(np.flatnonzero(count == 0)[0])
            raise Fault(
                f"head {head.name} has no legal choice at match {rows['match'][row]}, turn "
                f"{rows['turn'][row]}, seat {rows['seat'][row]}; give one that does not apply "
                "exactly one"
            )
    total = len(rows["match"]) * len(trial.spec.heads)
    return f"of {total} choices {forced} were forced and none was empty"


def _check_spec(spec: Spec) -> None:
    facts = spec.facts
    if not spec.name:
        raise Fault("the spec has no name")
    if facts.seats < 1 or facts.longest < 1:
        raise Fault(f"facts say {facts.seats} seats and longest {facts.longest}; give at least 1")
    if facts.rules_version < 1 or facts.observation_version < 1:
        raise Fault("rules_version and observation_version count from 1")
    if not spec.heads:
        raise Fault("the spec has no action head")
    for head in spec.heads:
        if head.size < 1 or (head.labels and len(head.labels) != head.size):
            raise Fault(f"head {head.name} has size {head.size} and {len(head.labels)} labels")
    for layout in filter(None, (spec.observation, spec.privileged)):
        if layout.length < 1 or any(f.size < 0 or f.classes < 0 for f in layout.fields):
            raise Fault("an observation must hold at least one number, in fields of positive size")
    for kind, names in (
        ("head", [head.name for head in spec.heads]),
        ("observation field", [field.name for field in spec.observation.fields]),
        ("match option", [option.name for option in spec.options]),
    ):
        for name in names:
            if names.count(name) > 1:
                raise Fault(f"two things of the kind {kind} are called {name!r}")


def _check_turns(spec: Spec, rows: Columns) -> None:
    """Only a game that says simultaneous may ask several seats at once."""
    together = (rows["match"][1:] == rows["match"][:-1]) & (rows["turn"][1:] == rows["turn"][:-1])
    if together.any() and not spec.facts.simultaneous:
        row = int(np.flatnonzero(together)[0])
        raise Fault(
            f"facts do not say simultaneous, but several seats choose at turn "
            f"{rows['turn'][row]} of match {rows['match'][row]}"
        )


def _check_results(game: Game) -> None:
    shape = (game.slots, game.spec.seats)
    expected = {"reward": "f", "shaping": "f", "returns": "f", "score": "f", "done": "b"}
    expected |= {"cut_off": "b", "place": "i"}
    for name, kind in expected.items():
        array = getattr(game, name)
        if array.shape != shape or array.dtype.kind != kind:
            raise Fault(f"{name} is {array.dtype} {list(array.shape)}, not {list(shape)}")


def _check_rows(game: Game) -> None:
    spec, decisions = game.spec, game.decisions()
    n = len(decisions.slot)
    expected = {
        "slot": ((n,), "int32"),
        "seat": ((n,), "int32"),
        "match": ((n,), "int64"),
        "turn": ((n,), "int32"),
        "observation": ((n, spec.observation.length), spec.observation.dtype),
        "mask": ((n, spec.choices), "bool"),
    }
    for name, (shape, dtype) in expected.items():
        _check_array(getattr(decisions, name), shape, dtype, f"decisions().{name}")
    rows = list(zip(decisions.slot.tolist(), decisions.seat.tolist(), strict=True))
    if rows != sorted(set(rows)) or {slot for slot, _ in rows} != {0, 1, 2}:
        raise Fault("decisions() must show every open decision once, by slot and then seat")
    if any(not 0 <= seat < spec.seats for _, seat in rows):
        raise Fault(f"decisions() shows a seat that is not in 0 to {spec.seats - 1}")
    if decisions.turn.any():
        raise Fault("turn is not 0 before a match's first advance")
    if spec.privileged is not None:
        shape = (n, spec.privileged.length)
        _check_array(game.privileged(), shape, spec.privileged.dtype, "privileged()")


def _check_array(array: NDArray[Any], shape: tuple[int, ...], dtype: str, name: str) -> None:
    if array.shape != shape or array.dtype != np.dtype(dtype):
        raise Fault(f"{name} is {array.dtype} {list(array.shape)}, not {dtype} {list(shape)}")


def _check_own_memory(game: Game) -> None:
    """Nobody who writes into decisions, or asks for them twice, may change the match."""
    decisions = game.decisions()
    before = copied(decisions)
    for array in (decisions.observation, decisions.mask, decisions.seat):
        if array.flags.writeable:
            array[...] = 0
    again = copied(game.decisions())
    if not _equal(before, again):
        raise Fault("decisions() changed after a second call or after its arrays were written to")
    rows = np.arange(len(again), dtype=np.int64)
    game.act(rows, Answers(game.spec)(before, rows, before.match))


def _equal(one: Decisions, other: Decisions) -> bool:
    names = ("slot", "seat", "match", "turn", "observation", "mask")
    return all(getattr(one, n).tobytes() == getattr(other, n).tobytes() for n in names)


def _check_layout(layout: Observation, array: NDArray[Any], label: str) -> None:
    if array.ndim != 2 or array.shape[1] != layout.length:
        raise Fault(f"the {label} has {list(array.shape[1:])} numbers, not {layout.length}")
    if not np.isfinite(array).all():
        raise Fault(f"the {label} holds a number that is not finite")
    start = 0
    for field in layout.fields:
        values = array[:, start : start + field.size]
        start += field.size
        if (
            field.classes
            and ((values < 0) | (values >= field.classes) | (values != values.astype(int))).any()
        ):
            raise Fault(
                f"field {field.name} of the {label} runs from {values.min()} to {values.max()}, "
                f"which is not within its {field.classes} classes"
            )
