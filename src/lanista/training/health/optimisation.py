"""Faults of the update: entropy that is gone, too large a step, a critic that explains nothing.

Pure functions of a learner's numbers. The bounds are in docs/guides/doctor.md with their reasons.
"""

from __future__ import annotations

from statistics import fmean, median

from lanista.findings import Finding
from lanista.training.health.numbers import LEAST_WINDOW, LearnerNumbers

GONE = 0.01
"""Nats, all heads together, below which a policy no longer tries anything."""
MOST_KL = 0.2
"""Nats a head between the policy that acted and the one that an update made of it; PPO's clip of
0.2 alone holds it near 0.02."""
MOST_STALE_KL = 1.0
"""The same where experience is older than the weights that learn from it (replay, lag)."""
NO_BETTER = 0.0
"""Explained variance of a critic that always says the mean."""
WORSE = -0.05
"""Explained variance of a critic that misleads."""
ENOUGH_UPDATES = 50
"""A critic may take so many updates to explain anything."""
TELLING_DECISIONS = 5
"""Own decisions of a match from which on the last ones must tell something of its result."""


def entropy_gone(numbers: LearnerNumbers) -> Finding | None:
    """The learner's policy no longer tries anything."""
    series = numbers.entropy()
    if len(series) < LEAST_WINDOW:
        return None
    first, last = (
        fmean(value for _, value in window)
        for window in (series[:LEAST_WINDOW], series[-LEAST_WINDOW:])
    )
    if last >= GONE:
        return None
    return Finding(
        name="entropy_gone",
        gravity="stops",
        sentence=f"The entropy of {numbers.learner} is {last:.4f} nats in the last {LEAST_WINDOW} "
        f"updates, and was {first:.4f} in the first: it plays the same action nearly every time.",
        meaning="What is never tried is never found to be better.",
        remedy="Begin again with more weight on the entropy term (learning.terms.entropy), or "
        "with a lower learning.lr.",
        evidence={
            "learner": numbers.learner, "first": first, "last": last, "update": series[-1][0],
        },
    )  # fmt: skip


def kl_too_large(numbers: LearnerNumbers) -> Finding | None:
    """An update moves the policy further than its loss allows for."""
    window = numbers.last_tenth("policy/behaviour_kl")
    if not window:
        return None
    age = fmean(numbers.last_tenth("lag/mean") or [0.0])
    bound = (MOST_STALE_KL if age > 0 else MOST_KL) * numbers.heads
    kl = median(window)  # A single update may go far without harm.
    if kl <= bound:
        return None
    stale = ", replay.staleness or rollouts.lag" if age > 0 else ""
    return Finding(
        name="kl_too_large",
        gravity="spoils",
        sentence=f"The KL of {numbers.learner} to the policy that acted is {kl:.3f} nats over the "
        f"last {len(window)} updates, more than {bound:g}.",
        meaning="The policy that learns is not the one that played, so what the games say of its "
        "actions no longer holds for it.",
        remedy=f"Lower learning.lr, learning.epochs{stale}, or set learning.target_kl to 0.03.",
        evidence={"learner": numbers.learner, "kl": kl, "bound": bound, "lag": age},
    )


def critic_untrained(numbers: LearnerNumbers) -> Finding | None:
    """A policy learns from values that nothing trains."""
    policy, value = numbers.last_tenth("policy/weight"), numbers.last_tenth("value/weight")
    if not any(policy) or any(value):
        return None
    return Finding(
        name="critic_untrained",
        gravity="spoils",
        sentence=f"The value term of {numbers.learner} has the weight 0, so its critic stays as it "
        "began.",
        meaning="Advantages are returns less what the critic says; an untrained one adds noise.",
        remedy="Give learning.terms.value a weight, 0.5 for example.",
        evidence={"learner": numbers.learner, "value_weight": 0.0},
    )


def critic_explains_nothing(numbers: LearnerNumbers) -> Finding | None:
    """The critic is no better than always saying the mean, though it could be."""
    name = "value/explained_variance"
    if name not in numbers.series:
        name = "value/q_explained_variance"
    window = numbers.last_tenth(name)
    if len(numbers.of(name)) < ENOUGH_UPDATES or not window:
        return None
    explained = fmean(window)
    # Exactly 0 at every update: the targets did not vary, and there was nothing to explain.
    if explained > NO_BETTER or not any(window):
        return None
    if explained > WORSE and _decisions(numbers) < TELLING_DECISIONS:
        return None
    return Finding(
        name="critic_explains_nothing",
        gravity="spoils" if explained <= WORSE else "doubt",
        sentence=f"The critic of {numbers.learner} explains {explained:.3f} of the returns' "
        f"variance over the last {len(window)} updates; always saying their mean would explain 0.",
        meaning="Advantages carry the whole luck of a match, so that good and bad actions are told "
        "apart slowly or not at all.",
        remedy="Give learning.terms.value more weight, set learning.critic_sees to privileged or "
        "seat, or lower learning.lr.",
        evidence={"learner": numbers.learner, "explained_variance": explained},
    )


def _decisions(numbers: LearnerNumbers) -> float:
    """Return how many decisions a seat that learns has in a match, at the least."""
    decisions, matches = dict(numbers.of("decisions")), numbers.of("matches")
    seats = len(numbers.games[-1].seating) if numbers.games else 0
    if not matches or not seats or matches[-1][0] not in decisions or not matches[-1][1]:
        return 0.0
    return decisions[matches[-1][0]] / matches[-1][1] / seats
