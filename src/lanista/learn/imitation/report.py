"""How well a clone chooses as its teacher did, and how honest its critic is, on held-out matches.

Reads what the networks say about decisions whose answers are known. Numbers only: how strong the
clone plays is measured elsewhere, by playing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.data.demonstrations import UNKNOWN, Demonstrations, Indices
from lanista.data.tallies import label
from lanista.games.contract import Head
from lanista.learn.imitation.cloner import Shown
from lanista.nets.distribution import Heads

BINS = 10

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ChoiceReport:
    """One choice of a head: how often the teacher took it, and what the clone made of that."""

    choice: str
    chosen: int
    predicted: int
    """How often it is the clone's likeliest choice."""
    recall: float | None
    """Where the teacher chose it: the share in which the clone would."""
    precision: float | None
    """Where the clone would choose it: the share in which the teacher did."""
    probability: float | None
    """The clone's mean probability of it, where the teacher chose it."""


@dataclass(frozen=True)
class HeadReport:
    """One head, over the decisions in which it had more than one legal choice."""

    head: str
    decisions: int
    nll: float | None
    """Mean negative log-likelihood of the teacher's choices, in nats."""
    entropy: float | None
    """The clone's own mean entropy; near `nll` when it is as sure as it should be."""
    accuracy: float | None
    """Share in which the clone's likeliest choice is the teacher's."""
    sampled_accuracy: float | None
    """The same for a choice drawn from the clone's distribution."""
    balanced_accuracy: float | None
    """Mean recall over the choices that the teacher took at all."""
    majority_accuracy: float | None
    """Accuracy of always taking the legal choice that is most frequent in the learned matches."""
    majority_balanced_accuracy: float | None
    choices: tuple[ChoiceReport, ...]

    @property
    def gain(self) -> float | None:
        """Accuracy above that of the majority's choice."""
        if self.accuracy is None or self.majority_accuracy is None:
            return None
        return self.accuracy - self.majority_accuracy


@dataclass(frozen=True)
class Bin:
    """Decisions whose predicted chance of winning lies in one tenth of 0 to 1."""

    low: float
    high: float
    decisions: int
    predicted: float | None
    won: float | None


@dataclass(frozen=True)
class ValueReport:
    """The critic's win/draw/loss forecast, over decisions of matches whose outcome is known."""

    decisions: int
    matches: int
    nll: float | None
    base_nll: float | None
    """That of the same forecast for every decision: the shares in the learned matches."""
    brier: float | None
    """Mean squared distance from what came, summed over win, draw and loss."""
    base_brier: float | None
    calibration_error: float | None
    """Mean distance between the predicted and the observed share of wins, over the bins."""
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class ReturnReport:
    """The value critic's forecast, over decisions of matches whose outcome is known."""

    decisions: int
    matches: int
    error: float | None
    """Mean squared distance from the discounted return that came."""
    base_error: float | None
    """That of the same forecast for every decision: the mean return of the learned matches."""
    explained_variance: float | None
    """Share of the returns' variance that the forecasts account for; 0: as good as none."""


@dataclass(frozen=True)
class ImitationReport:
    """All that is said of a clone without playing."""

    decisions: int
    matches: int
    nll: float
    """Per decision, all heads together."""
    whole_action_accuracy: float | None
    """Share of decisions with a choice in which every head agrees with the teacher."""
    heads: tuple[HeadReport, ...]
    value: ValueReport | ReturnReport | None
    """Of the critic, by what it learned; None: there is none."""


class _HeadTally:
    """Sums over the decisions of one head."""

    def __init__(self, head: Head, frequency: Counts) -> None:
        self.head, self.frequency = head, frequency
        self.confusion: Counts = np.zeros((head.size, head.size), np.int64)
        self.majority: Counts = np.zeros((head.size, head.size), np.int64)
        self.probability = np.zeros(head.size)
        self.nll = self.entropy = 0.0

    def add(self, log_probs: NDArray[Any], mask: NDArray[np.bool_], action: Counts) -> None:
        """Count decisions; those in which the head has one choice only say nothing."""
        free = mask.sum(axis=1) > 1
        log_probs, mask, action = log_probs[free], mask[free], action[free]
        chosen = log_probs[np.arange(len(action)), action]
        best = np.where(mask, log_probs, -np.inf).argmax(axis=1)
        usual = np.where(mask, self.frequency, -1).argmax(axis=1)
        np.add.at(self.confusion, (action, best), 1)
        np.add.at(self.majority, (action, usual), 1)
        np.add.at(self.probability, action, np.exp(chosen))
        self.nll -= float(chosen.sum())
        self.entropy -= float((np.exp(log_probs) * np.where(mask, log_probs, 0)).sum())

    def report(self) -> HeadReport:
        total = int(self.confusion.sum())
        return HeadReport(
            head=self.head.name,
            decisions=total,
            nll=_share(self.nll, total),
            entropy=_share(self.entropy, total),
            accuracy=_share(np.trace(self.confusion), total),
            sampled_accuracy=_share(self.probability.sum(), total),
            balanced_accuracy=_balanced(self.confusion),
            majority_accuracy=_share(np.trace(self.majority), total),
            majority_balanced_accuracy=_balanced(self.majority),
            choices=tuple(self._choice(choice) for choice in range(self.head.size)),
        )

    def _choice(self, choice: int) -> ChoiceReport:
        chosen, predicted = self.confusion[choice].sum(), self.confusion[:, choice].sum()
        right = self.confusion[choice, choice]
        return ChoiceReport(
            choice=label(self.head, choice),
            chosen=int(chosen),
            predicted=int(predicted),
            recall=_share(right, chosen),
            precision=_share(right, predicted),
            probability=_share(self.probability[choice], chosen),
        )


class _ValueTally:
    """Sums over forecasts of how matches end."""

    def __init__(self, base: NDArray[np.float64]) -> None:
        self.base = base
        self.count: Counts = np.zeros(BINS, np.int64)
        self.predicted, self.won = np.zeros(BINS), np.zeros(BINS)
        self.nll = self.base_nll = self.brier = self.base_brier = 0.0
        self.matches: set[int] = set()

    def add(self, shown: Shown) -> None:
        assert shown.critic_output is not None
        forecast = shown.critic_output.double().softmax(-1).cpu().numpy()
        outcome, match = shown.outcome.cpu().numpy(), shown.match
        has_outcome = outcome != UNKNOWN
        forecast, outcome = forecast[has_outcome], outcome[has_outcome]
        one_hot = np.eye(3)[outcome]
        self.nll -= float(np.log(np.maximum((forecast * one_hot).sum(axis=1), 1e-30)).sum())
        self.base_nll -= float(np.log(np.maximum(one_hot @ self.base, 1e-30)).sum())
        self.brier += float(((forecast - one_hot) ** 2).sum())
        self.base_brier += float(((self.base - one_hot) ** 2).sum())
        at = np.minimum((forecast[:, 0] * BINS).astype(np.int64), BINS - 1)
        self.count += np.bincount(at, minlength=BINS)
        self.predicted += np.bincount(at, forecast[:, 0], BINS)
        self.won += np.bincount(at, one_hot[:, 0], BINS)
        self.matches.update(match[has_outcome].tolist())

    def report(self) -> ValueReport:
        total = int(self.count.sum())
        bins = tuple(
            Bin(
                low=i / BINS,
                high=(i + 1) / BINS,
                decisions=int(count),
                predicted=_share(self.predicted[i], count),
                won=_share(self.won[i], count),
            )
            for i, count in enumerate(self.count)
        )
        return ValueReport(
            decisions=total,
            matches=len(self.matches),
            nll=_share(self.nll, total),
            base_nll=_share(self.base_nll, total),
            brier=_share(self.brier, total),
            base_brier=_share(self.base_brier, total),
            calibration_error=_share(np.abs(self.predicted - self.won).sum(), total),
            bins=bins,
        )


class _ReturnTally:
    """What came of decisions, and what was forecast."""

    def __init__(self, base: float) -> None:
        self.base = base
        self.came: list[NDArray[np.float64]] = []
        self.forecast: list[NDArray[np.float64]] = []
        self.matches: set[int] = set()

    def add(self, shown: Shown) -> None:
        assert shown.critic_output is not None
        has_outcome = shown.outcome.cpu().numpy() != UNKNOWN
        self.came.append(shown.returns.double().cpu().numpy()[has_outcome])
        self.forecast.append(shown.critic_output.double().cpu().numpy()[has_outcome])
        self.matches.update(shown.match[has_outcome].tolist())

    def report(self) -> ReturnReport:
        came, forecast = np.concatenate(self.came), np.concatenate(self.forecast)
        total, variance = len(came), float(came.var()) if len(came) else 0.0
        return ReturnReport(
            decisions=total,
            matches=len(self.matches),
            error=_share(((forecast - came) ** 2).sum(), total),
            base_error=_share(((self.base - came) ** 2).sum(), total),
            explained_variance=1 - float((came - forecast).var()) / variance if variance else None,
        )


def report(
    data: Demonstrations,
    learned: Indices,
    shown_parts: Iterable[Shown],
    *,
    critic: str | None,
    gamma: float = 1.0,
) -> ImitationReport:
    """Return what held-out decisions, as `judged` gives them, say about a clone.

    `learned` are the trajectories it was made from: what is usual is counted there. `critic` says
    what its critic learned, value or outcome; None: it has none.
    """
    spec = data.spec
    heads = Heads(tuple(head.size for head in spec.heads))
    tallies = [
        _HeadTally(head, count)
        for head, count in zip(spec.heads, choice_counts(data, learned), strict=True)
    ]
    values: _ValueTally | _ReturnTally | None = None
    if critic == "value":
        values = _ReturnTally(_mean_return(data, learned, gamma))
    elif critic == "outcome":
        values = _ValueTally(_outcome_shares(data, learned))
    total, nll, open_ones, all_right = 0, 0.0, 0, 0
    matches: set[int] = set()
    for shown in shown_parts:
        log_probs = shown.log_probs.double().cpu().numpy()
        mask, action = shown.mask.cpu().numpy(), shown.action.cpu().numpy()
        nll -= float(heads.joint(shown.log_probs.double(), shown.action).sum())
        total += len(action)
        matches.update(shown.match.tolist())
        best = heads.mode(shown.log_probs, shown.mask).cpu().numpy()
        free = (heads.legal(shown.mask) > 1).any(-1).cpu().numpy()
        open_ones += int(free.sum())
        all_right += int((best == action).all(axis=1)[free].sum())
        for number, (tally, start) in enumerate(zip(tallies, heads.offsets, strict=True)):
            columns = slice(start, start + heads.sizes[number])
            tally.add(log_probs[:, columns], mask[:, columns], action[:, number])
        if values is not None:
            values.add(shown)
    return ImitationReport(
        decisions=total,
        matches=len(matches),
        nll=nll / max(total, 1),
        whole_action_accuracy=_share(all_right, open_ones),
        heads=tuple(tally.report() for tally in tallies),
        value=None if values is None else values.report(),
    )


def choice_counts(data: Demonstrations, trajectories: Indices) -> list[Counts]:
    """Return, for each head, how often each choice was taken where there was more than one."""
    counts = [np.zeros(head.size, np.int64) for head in data.spec.heads]
    rows = data.rows(trajectories)
    for start in range(0, len(rows), 1 << 16):
        block = rows[start : start + (1 << 16)]
        mask, offset = data.mask(block), 0
        for number, head in enumerate(data.spec.heads):
            free = mask[:, offset : offset + head.size].sum(axis=1) > 1
            counts[number] += np.bincount(data.action[block[free], number], minlength=head.size)
            offset += head.size
    return counts


def _outcome_shares(data: Demonstrations, trajectories: Indices) -> NDArray[np.float64]:
    lengths = np.diff(data.first)[trajectories]
    outcome = data.outcome[trajectories]
    has_outcome = outcome != UNKNOWN
    counts = np.bincount(outcome[has_outcome], lengths[has_outcome].astype(np.float64), 3)
    total = counts.sum()
    return counts / total if total else np.full(3, 1 / 3)


def _mean_return(data: Demonstrations, trajectories: Indices, gamma: float) -> float:
    came = data.returns(gamma)[data.rows(trajectories)].astype(np.float64)
    came = came[np.isfinite(came)]
    return float(came.mean()) if len(came) else 0.0


def _share(count: Any, whole: Any) -> float | None:
    return float(count) / float(whole) if whole else None


def _balanced(confusion: Counts) -> float | None:
    chosen = confusion.sum(axis=1)
    occurs = chosen > 0
    if not occurs.any():
        return None
    return float((np.diagonal(confusion)[occurs] / chosen[occurs]).mean())
