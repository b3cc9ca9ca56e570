"""The page of one battle: what happened turn by turn, and how likely a policy held each choice.

One HTML file that opens without a network. Knows nothing of games and of how choices are judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanista.report.pages.html import Bars, Element, Facts, Folded, Section, Table, document


@dataclass(frozen=True)
class Choice:
    """A legal choice, as the policy judges it."""

    words: str
    probability: float
    chosen: bool


@dataclass(frozen=True)
class Judged:
    """A decision of one player."""

    player: str
    number: int
    """Counts the player's decisions, from 1."""
    choices: Sequence[Choice]
    """All of them, the likeliest first."""

    @property
    def chosen(self) -> Choice | None:
        """What the player chose; None where that did not show."""
        return next((choice for choice in self.choices if choice.chosen), None)

    @property
    def agrees(self) -> bool:
        """Whether the player chose what the policy holds likeliest."""
        return bool(self.choices) and self.choices[0].chosen


@dataclass(frozen=True)
class Step:
    """A part of a battle: what happened, and what was decided then."""

    title: str
    lines: Sequence[str]
    decisions: Sequence[Judged]


def battle_page(
    title: str, facts: Sequence[tuple[str, str]], steps: Sequence[Step], top: int
) -> str:
    """Return a battle as HTML; of each decision the `top` likeliest choices and the one chosen."""
    headline = (
        "Bars are the policy's probabilities; what was chosen is dark. "
        "The views are a spectator's: stats, exact HP and PP are unknown.",
    )
    sections = [_section(step, top) for step in steps]
    return document(title, headline, [Facts(facts), _agreement(steps)], sections)


def _agreement(steps: Sequence[Step]) -> Table:
    """Return how often players chose as the policy would, by player."""
    decisions = [decision for step in steps for decision in step.decisions]
    rows = []
    for player in dict.fromkeys(decision.player for decision in decisions):
        theirs = [one for one in decisions if one.player == player]
        shown = [one for one in theirs if one.chosen is not None]
        free = [one for one in shown if len(one.choices) > 1]
        chances = [one.chosen.probability for one in free if one.chosen is not None]
        mean = f"{sum(chances) / len(chances):.3f}" if chances else "—"
        agreed = f"{sum(one.agrees for one in free)} of {len(free)}"
        rows.append((player, f"{len(theirs)}", f"{len(shown)}", agreed, mean))
    columns = (
        *("player", "decisions", "choices that showed", "as the policy's likeliest"),
        "mean probability of what was chosen",
    )
    return Table(columns, rows)


def _section(step: Step, top: int) -> Section:
    elements: list[Element] = [Folded(f"What happened ({len(step.lines)})", "\n".join(step.lines))]
    if not step.lines:
        elements = []
    elements += [_bars(decision, top) for decision in step.decisions]
    return Section(step.title, elements)


def _bars(decision: Judged, top: int) -> Bars:
    listed = list(decision.choices[:top])
    chosen = decision.chosen
    if chosen is not None and chosen not in listed:
        listed.append(chosen)
    rest = len(decision.choices) - len(listed)
    share = max(0.0, 1 - sum(choice.probability for choice in listed))
    notes = [f"{rest:,} more choices have {share:.3f} together." if rest else ""]
    notes += ["What was chosen did not show."] if chosen is None else []
    bars = [(choice.words, choice.probability, choice.chosen) for choice in listed]
    return Bars(
        f"{decision.player}, decision {decision.number}", bars, " ".join(filter(None, notes))
    )
