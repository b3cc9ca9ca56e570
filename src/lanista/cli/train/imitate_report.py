"""How a clone's report looks in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanista.cli.common.table import UNKNOWN, console, interval, number, table
from lanista.learn.imitation.report import ReturnReport, ValueReport

if TYPE_CHECKING:
    from rich.console import Console

    from lanista.evaluation.clone_strength import Strength
    from lanista.learn.imitation.report import HeadReport, ImitationReport
    from lanista.training.imitate import Imitated

_MOST_CHOICES = 12


def say(done: Imitated) -> None:
    """Print how near the clone comes to its teachers, and how strong it plays."""
    out = console()
    assert done.report is not None
    _say_choices(out, done.report)
    value = done.report.value
    if isinstance(value, ReturnReport) and value.decisions:
        _say_returns(out, value)
    if isinstance(value, ValueReport) and value.decisions:
        _say_outcome(out, value)
    if done.strength is not None:
        _say_strength(out, done.strength)


def _say_choices(out: Console, report: ImitationReport) -> None:
    out.print(
        f"\nheld out: {report.decisions:,} decisions of {report.matches:,} matches; negative "
        f"log-likelihood {report.nll:.4f} a decision; the whole action is the teacher's in "
        f"{_percent(report.whole_action_accuracy)} of decisions with a choice"
    )
    columns = ("head", "decisions", "nll", "entropy", "accuracy", "sampled", "majority", "gain",
               "balanced", "majority balanced")  # fmt: skip
    rows = [
        (
            head.head,
            f"{head.decisions:,}",
            number(head.nll),
            number(head.entropy),
            number(head.accuracy),
            number(head.sampled_accuracy),
            number(head.majority_accuracy),
            UNKNOWN if head.gain is None else f"{head.gain:+.3f}",
            number(head.balanced_accuracy),
            number(head.majority_balanced_accuracy),
        )
        for head in report.heads
    ]
    out.print(table(columns, rows))
    for head in report.heads:
        if head.decisions:
            _say_head(out, head)


def _say_head(out: Console, head: HeadReport) -> None:
    ranked = sorted(head.choices, key=lambda one: -one.chosen)
    shown = [one for one in ranked[:_MOST_CHOICES] if one.chosen or one.predicted]
    columns = (f"head {head.head}", "chosen", "predicted", "recall", "precision", "probability")
    rows = [
        (
            one.choice,
            f"{one.chosen:,}",
            f"{one.predicted:,}",
            number(one.recall),
            number(one.precision),
            number(one.probability),
        )
        for one in shown
    ]
    out.print(table(columns, rows))
    if len(ranked) > len(shown):
        out.print(f"  and {len(ranked) - len(shown)} choices more; the JSON has them all")


def _say_returns(out: Console, value: ReturnReport) -> None:
    out.print(
        f"value forecast over {value.decisions:,} decisions of {value.matches:,} matches: squared "
        f"error {number(value.error)} (always the same forecast: {number(value.base_error)}), "
        f"explained variance {number(value.explained_variance)}"
    )


def _say_outcome(out: Console, value: ValueReport) -> None:
    out.print(
        f"outcome forecast over {value.decisions:,} decisions of {value.matches:,} matches: nll "
        f"{number(value.nll)} (always the same forecast: {number(value.base_nll)}), Brier "
        f"{number(value.brier)} ({number(value.base_brier)}), calibration error "
        f"{number(value.calibration_error)}"
    )
    rows = [
        (f"{one.low:.1f} to {one.high:.1f}", f"{one.decisions:,}", number(one.predicted),
         number(one.won))
        for one in value.bins
        if one.decisions
    ]  # fmt: skip
    out.print(table(("chance of a win", "decisions", "predicted", "won"), rows))


def _say_strength(out: Console, strength: Strength) -> None:
    out.print(
        f"play: {strength.matches:,} matches a meeting, seats swapped on the same deals of seed "
        f"{strength.seed}, none learned from; score [95 % interval over deals]"
    )
    teacher = strength.teacher or "teacher"
    columns = ("against", "manner", "wins", "draws", "losses", "score", teacher, "difference")
    rows = [
        (
            one.opponent,
            one.manner,
            f"{one.clone.wins:,}",
            f"{one.clone.draws:,}",
            f"{one.clone.losses:,}",
            interval(one.clone.score),
            interval(one.teacher.score) if one.teacher else "",
            interval(one.difference, signed=True) if one.teacher else "",
        )
        for one in strength.meetings
    ]
    if rows:
        out.print(table(columns, rows, left=2))
    for sentence in strength.left_out:
        out.print(sentence)


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{share:.1%}"
