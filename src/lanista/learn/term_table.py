"""The terms that a loss is made of: name, what it does, where it lies, what it reads.

Losses and regularisers are both named in `learning.terms`. A regulariser keeps a policy near
another one; it differs in two facts that others go by. A further term is a function from
`LossInputs` to a `Term` and a line here, or an entry point of `lanista.losses` or
`lanista.regularisers`. Knows nothing of torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanista.errors import LanistaError, nearest
from lanista.extensions import Entry, Table


@dataclass(frozen=True)
class LossTerm(Entry):
    """A term; its implementation is a function from `LossInputs` to a `Term`."""

    reads: tuple[str, ...] = ()
    """What it looks at that is not there otherwise: `anchor`, `reference`, `portfolio` among
    `LossInputs.references`, or `behaviour_log_probs`, `upgo`, `teacher` and `forecast`."""
    filtered: bool = False
    """Learns from valid rows only; the others learn from all."""


@dataclass(frozen=True)
class Regulariser(LossTerm):
    """A term that keeps the policy near another one."""

    in_advantage: bool = False
    """neurd takes it into its advantage instead; ours only, for neurd must know its reference."""
    restrains: bool = True
    """Holds a learner back from whatever beats its opponent, so exploiters learn without it."""


_TERMS = "lanista.learn.loss_terms"
LOSSES: Table[LossTerm] = Table(
    "loss term",
    "lanista.losses",
    {
        "policy": LossTerm(
            "makes what turned out well more likely (the setting `policy` says how)",
            f"{_TERMS}:policy",
            filtered=True,
        ),
        "value": LossTerm("trains the critic", f"{_TERMS}:value"),
        "upgo": LossTerm(
            "imitates own play where it turned out better than expected",
            f"{_TERMS}:upgo",
            reads=("upgo",),
            filtered=True,
        ),
        "entropy": LossTerm(
            "entropy bonus: keeps the policy exploring", f"{_TERMS}:entropy", filtered=True
        ),
        "forecast": LossTerm(
            "predicts fields of the seat's next view, which `learning.forecast` names",
            f"{_TERMS}:forecast",
            reads=("forecast",),
        ),
    },
    wrap=LossTerm,
)
# The order of those in the advantage is that in which neurd sums them.
REGULARISERS: Table[Regulariser] = Table(
    "regulariser",
    "lanista.regularisers",
    {
        "magnet": Regulariser(
            "KL(policy ‖ uniform over the legal)", f"{_TERMS}:magnet", in_advantage=True
        ),
        "reference": Regulariser(
            "KL(policy ‖ a snapshot of itself, renewed every `reference_every` updates)",
            f"{_TERMS}:reference",
            reads=("reference",),
            in_advantage=True,
        ),
        "anchor_reverse": Regulariser(
            "KL(policy ‖ the fixed policy the run began from)",
            f"{_TERMS}:anchor_reverse",
            reads=("anchor",),
            in_advantage=True,
        ),
        "anchor_forward": Regulariser(
            "KL(the fixed policy the run began from ‖ policy)",
            f"{_TERMS}:anchor_forward",
            reads=("anchor",),
        ),
        "teacher": Regulariser(
            "cross-entropy to what the bot `rollouts.teacher` would do in the same position",
            f"{_TERMS}:teacher",
            reads=("teacher",),
            restrains=False,
        ),
        "portfolio": Regulariser(
            "KL(policy ‖ several snapshots of itself)", f"{_TERMS}:portfolio", reads=("portfolio",)
        ),
        "behaviour": Regulariser(
            "KL(policy that acted ‖ policy)",
            f"{_TERMS}:behaviour",
            reads=("behaviour_log_probs",),
            restrains=False,
        ),
    },
    wrap=Regulariser,
)
PULLS = tuple(name for name, entry in REGULARISERS.own.items() if entry.in_advantage)
"""Terms that neurd takes into its advantage."""


def term_names() -> list[str]:
    """Return all names that `learning.terms` may have."""
    return [*LOSSES, *REGULARISERS]


def term_entry(name: str) -> LossTerm:
    """Return the line of a term; a name that nobody has is refused with the nearest."""
    for table in (LOSSES, REGULARISERS):
        if name in table.own:
            return table.own[name]
    for table in (LOSSES, REGULARISERS):
        if name in table:
            return table[name]
    raise LanistaError(f"There is no loss term {name!r}; {nearest(name, term_names())}")


def refuse_unknown_term(name: str) -> None:
    """Refuse a name that no table has; nothing of an installed package is loaded."""
    if name not in LOSSES.own and name not in REGULARISERS.own and name not in term_names():
        raise LanistaError(f"There is no loss term {name!r}; {nearest(name, term_names())}")


def restrains(name: str) -> bool:
    """Whether a term holds a learner back, so that exploiters learn without it."""
    entry = term_entry(name)
    return isinstance(entry, Regulariser) and entry.restrains
