"""All findings of a learner's numbers, in one place for the log, the doctor and the report."""

from __future__ import annotations

from lanista.findings import Finding
from lanista.training.health.numbers import LearnerNumbers
from lanista.training.health.opponents import one_sided, results_all_alike
from lanista.training.health.optimisation import (
    critic_explains_nothing,
    critic_untrained,
    entropy_gone,
    kl_too_large,
)
from lanista.training.health.strength import (
    below_random,
    fell_from_peak,
    nash_conv_rose,
    not_above_random,
    score_fell,
)


def faults_of(numbers: LearnerNumbers) -> list[Finding]:
    """Return everything that is wrong with a learner's training so far."""
    alike = results_all_alike(numbers)
    findings = [
        score_fell(numbers),
        fell_from_peak(numbers),
        below_random(numbers),
        not_above_random(numbers),
        nash_conv_rose(numbers),
        entropy_gone(numbers),
        kl_too_large(numbers),
        critic_untrained(numbers),
        critic_explains_nothing(numbers),
        alike,
        *(one_sided(numbers) if alike is None else ()),
    ]
    return [finding for finding in findings if finding is not None]
