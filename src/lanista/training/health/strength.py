"""Faults of the outcome: a policy that is weaker than it began, than random or uniform play.

Pure functions of a learner's evaluations. Scores count draws half, and their intervals are made
wider by how often they were looked at (Bonferroni), since a run is evaluated many times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import NormalDist, fmean, variance

from lanista.evaluation.score import Estimate, Z
from lanista.findings import Finding
from lanista.training.health.numbers import LearnerNumbers

MATTERS = 0.05
"""A score that fell by less is no reason to change settings, however sure it is."""
MATTERS_ALONE = 0.1
"""The same against one bot: whoever gains against all may lose a little against one."""
FAR = 0.1
"""How far below its best a score must be: self-play goes up and down by less."""
RANDOM = "random"
"""The bot that plays anything legal, against which random play scores ½."""
FEWEST_LOOKS = 6
"""Evaluations from which on a run is held against random play."""
SURE = 3.0
"""Standard errors by which pay must rise to be no luck."""
RISEN = 2.0
"""How many times its lowest NashConv must be exceeded."""
RISEN_SHARE = 0.1
"""And by how much, as a share of uniform play's: near 0 a factor says little."""
ABOVE_UNIFORM = 1.25
"""Times uniform play's NashConv; early self-play may exceed it, by less."""
_LOWER = (
    "Lower learning.lr, or hold it near the policy that it began from or that acted "
    "(learning.terms.anchor_forward, learning.terms.behaviour)"
)


def score_fell(numbers: LearnerNumbers) -> Finding | None:
    """The newest evaluation is significantly below the first."""
    evaluations = numbers.evaluations()
    if len(evaluations) < 2 or numbers.of("exact/nash_conv"):
        return None  # Where NashConv is known, a lower score may be better play.
    (began, first), *_, (update, last) = evaluations.items()
    both = [word for word in first if word in last]
    if not both:
        return None
    stretch = _stretch((len(evaluations) - 1) * (1 + len(both)))
    fallen = [
        word
        for word in both
        if _significantly_below(last[word], first[word], stretch)
        and _paid_less(numbers, word, began)
    ]
    whole = [_mean(scores[word] for word in both) for scores in (first, last)]
    if _significantly_below(whole[1], whole[0], stretch) and fallen:
        many = "s" if len(both) > 1 else ""
        return _fell(numbers, f"the {len(both)} bot{many}", (began, whole[0]), (update, whole[1]))
    fallen = [word for word in fallen if first[word].value - last[word].value >= MATTERS_ALONE]
    if not fallen:
        return None
    word = max(fallen, key=lambda word: first[word].value - last[word].value)
    before, now = (began, first[word]), (update, last[word])
    return _fell(numbers, repr(word), before, now, opponent=word)


def fell_from_peak(numbers: LearnerNumbers) -> Finding | None:
    """The last two evaluations are significantly and far below the best, which was not the first.

    The best of many is a lucky one, so the intervals hold for every two evaluations at once.
    """
    evaluations = numbers.evaluations()
    if len(evaluations) < 4 or numbers.of("exact/nash_conv"):
        return None
    both = sorted(set.intersection(*({*scores} for scores in evaluations.values())))
    if not both:
        return None
    means = {at: _mean(scores[word] for word in both) for at, scores in evaluations.items()}
    first, *later, _, _ = means
    peak = max(means, key=lambda at: means[at].value)
    *_, before, update = means
    stretch = _stretch(len(means) * (len(means) - 1) // 2)
    fell = all(
        means[peak].value - means[at].value >= FAR
        and _significantly_below(means[at], means[peak], stretch)
        for at in (before, update)
    )
    if peak not in later or not fell or not any(_paid_less(numbers, word, peak) for word in both):
        return None
    many = "s" if len(both) > 1 else ""
    return Finding(
        name="fell_from_peak",
        gravity="spoils",
        sentence=f"The score of {numbers.learner} against the {len(both)} bot{many} rose to "
        f"{_with_bounds(means[peak])} at update {peak}, and fell to {_with_bounds(means[update])} "
        f"at update {update}.",
        meaning="What was learned was lost again.",
        remedy=f"{_LOWER}; the best policy is what the run hands over while evaluation.keep_best "
        "is on.",
        evidence={
            "learner": numbers.learner, "peak": means[peak].value, "peak_update": peak,
            "first": means[first].value, "last": means[update].value, "update": update,
        },
    )  # fmt: skip


def _fell(
    numbers: LearnerNumbers,
    whom: str,
    before: tuple[int, Estimate],
    now: tuple[int, Estimate],
    opponent: str = "",
) -> Finding:
    (began, first), (update, last) = before, now
    start = "the policy it began from" if began == 0 else f"update {began}, the first evaluation"
    return Finding(
        name="score_fell",
        gravity="doubt" if opponent else "spoils",
        sentence=f"The score of {numbers.learner} against {whom} fell from {_with_bounds(first)} "
        f"at {start}, to {_with_bounds(last)} at update {update}.",
        meaning="Training made the policy weaker.",
        remedy=f"{_LOWER}; the best policy is what the run hands over while evaluation.keep_best "
        "is on.",
        evidence={
            "learner": numbers.learner, "opponent": opponent, "first": first.value,
            "last": last.value, "update": update,
        },
    )  # fmt: skip


def below_random(numbers: LearnerNumbers) -> Finding | None:
    """The newest evaluation is significantly weaker than random play."""
    evaluations = numbers.evaluations()
    if not evaluations or numbers.of("exact/nash_conv"):
        return None
    update, scores = list(evaluations.items())[-1]
    score = scores.get(RANDOM)
    if score is None or score.value > 0.5 - MATTERS:
        return None
    if dict(numbers.of(f"evaluation_return/{RANDOM}")).get(update, -1.0) >= 0:
        return None  # It wins fewer matches and more in each.
    if score.value + (score.half or 0.0) * _stretch(len(evaluations)) >= 0.5:
        return None
    return Finding(
        name="below_random",
        gravity="stops",
        sentence=f"{numbers.learner} scores {_with_bounds(score)} against random play at update "
        f"{update}, and random play itself would score 0.5.",
        meaning="The policy plays worse than one that has learnt nothing.",
        remedy="Lower learning.lr, see that rewards have the right sign (lanista check GAME), and "
        "that no weight of learning.terms is negative.",
        evidence={"learner": numbers.learner, "score": score.value, "update": update},
    )


def not_above_random(numbers: LearnerNumbers) -> Finding | None:
    """Half of the evaluations are over, and the others together are no better than random play.

    Who is paid more and more may be learning all the same: winning is not everything everywhere.
    """
    scores = [
        (update, words[RANDOM])
        for update, words in numbers.evaluations().items()
        if RANDOM in words
    ]
    if len(scores) < FEWEST_LOOKS or numbers.of("exact/nash_conv"):
        return None
    late = [score for _, score in scores[len(scores) // 2 :]]
    value = fmean(score.value for score in late)
    # All looks have the same deals, so that their mean is not much surer than one of them.
    half = fmean(score.half or 0.0 for score in late) / math.sqrt(2)
    if value - half > 0.5 or value <= 0.5 - MATTERS or _pay_rose(numbers):
        return None
    return Finding(
        name="not_above_random",
        gravity="doubt",
        sentence=f"{numbers.learner} scores {value:.3f} against random play in its last "
        f"{len(late)} evaluations, up to update {scores[-1][0]}; random play itself scores 0.5.",
        meaning="Nothing was learned yet that shows in results.",
        remedy="Give it more time, or more from each decision (learning.epochs, "
        "learning.minibatches, a higher learning.lr); where all moves stay about as likely, "
        "weaken learning.terms.magnet and learning.terms.reference.",
        evidence={"learner": numbers.learner, "score": value, "update": scores[-1][0]},
    )


def _pay_rose(numbers: LearnerNumbers) -> bool:
    """Whether the later half of the evaluations paid significantly more than the earlier half."""
    paid = [value for _, value in numbers.of(f"evaluation_return/{RANDOM}") if value == value]
    early, late = paid[: len(paid) // 2], paid[len(paid) // 2 :]
    if len(early) < 2:
        return False
    width = math.sqrt(variance(early) / len(early) + variance(late) / len(late))
    return fmean(late) - fmean(early) > SURE * width


def nash_conv_rose(numbers: LearnerNumbers) -> Finding | None:
    """NashConv is well above its lowest value, or above that of uniform play."""
    series = numbers.of("exact/nash_conv")
    if not series:
        return None
    update, last = series[-1]
    uniform = dict(numbers.of("uniform/nash_conv")).get(update)
    if uniform and last > ABOVE_UNIFORM * uniform:
        return _rose(numbers, update, last, "that of uniform play", uniform)
    at, lowest = min(series, key=lambda point: (point[1], -point[0]))
    bound = max(RISEN * lowest, lowest + RISEN_SHARE * (uniform or 0.0))
    # One evaluation may be high by the phase of a cycle; two in a row have left the minimum.
    if len(series) < 3 or min(value for _, value in series[-2:]) <= bound:
        return None
    return _rose(numbers, update, last, f"its lowest, at update {at}", lowest)


def _rose(
    numbers: LearnerNumbers, update: int, last: float, what: str, reference: float
) -> Finding:
    return Finding(
        name="nash_conv_rose",
        gravity="spoils",
        sentence=f"NashConv of {numbers.learner} is {last:.4g} at update {update}, and "
        f"{reference:.4g} is {what}.",
        meaning="The policy became easier to exploit: self-play turns in circles, or the policy "
        "stopped mixing its actions.",
        remedy="Give learning.terms.magnet or learning.eta more weight, lower learning.lr over the "
        "run (a schedule), or average the weights (learning.average_share).",
        evidence={
            "learner": numbers.learner, "nash_conv": last, "reference": reference,
            "update": update,
        },
    )  # fmt: skip


def _stretch(looks: int) -> float:
    return NormalDist().inv_cdf(1 - 0.025 / looks) / Z


def _mean(scores: Iterable[Estimate]) -> Estimate:
    """Return the mean score; opponents share their deals, so that the widths are averaged too."""
    scores = list(scores)
    value = fmean(score.value for score in scores)
    half = fmean(score.half or 0.0 for score in scores)
    return Estimate(value, max(0.0, value - half), min(1.0, value + half), 0)


def _significantly_below(last: Estimate, first: Estimate, stretch: float) -> bool:
    fall = first.value - last.value
    width = stretch * math.hypot(first.half or 0.0, last.half or 0.0)
    return fall >= MATTERS and fall > width


def _paid_less(numbers: LearnerNumbers, word: str, began: int) -> bool:
    """Return whether returns fell with the score, where the run knows of them."""
    returns: Mapping[int, float] = dict(numbers.of(f"evaluation_return/{word}"))
    if began not in returns:
        return True
    return returns[max(returns)] < returns[began]


def _with_bounds(score: Estimate) -> str:
    return f"{score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"
