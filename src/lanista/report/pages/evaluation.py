"""The section on the last evaluation: the promoted policy, on deals of its own.

Reads what `lanista evaluate` writes. Knows nothing of the run that made the policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanista.evaluation.score import Estimate
from lanista.report.pages.charts import count
from lanista.report.pages.html import Section, Table, Words
from lanista.report.pages.results import UNKNOWN, said, said_estimate

Evaluation = Mapping[str, Any]


def headline(evaluation: Evaluation) -> str:
    """Return how strong the policy is, in a sentence."""
    scored = sorted(
        ((bout, score) for bout in evaluation["bouts"] if (score := _estimate(bout, "score"))),
        key=lambda pair: pair[1].value,
    )
    if not scored:
        return "The final policy met nobody in a match that counts."
    sure = sum((score.low or 0.0) > 0.5 for _, score in scored)
    (worst, low), (best, high) = scored[0], scored[-1]
    games = count(float(worst["standing"]["matches"]))
    return (
        f"The final policy scores from {said_estimate(low)} against {worst['opponent']} to "
        f"{said_estimate(high)} against {best['opponent']}, {evaluation['manner']}, {games} games "
        f"each; against {sure} of {len(scored)} the whole 95 % interval is above one half."
    )


def evaluated(evaluation: Evaluation | None) -> Section | None:
    """Return the table of the last evaluation; None where there was none."""
    if not evaluation:
        return None
    many = any(bout["standing"].get("first_place") for bout in evaluation["bouts"])
    rows = []
    for bout in sorted(evaluation["bouts"], key=_by_score):
        standing = bout["standing"]
        rows.append(
            (
                bout["opponent"], said_estimate(_estimate(bout, "score")),
                *[said_estimate(_estimate(bout, "first_place"))] * many,
                said_estimate(_estimate(bout, "win_rate")), count(float(standing["matches"])),
                count(float(standing["wins"])), count(float(standing["draws"])),
                count(float(standing["losses"])), _margin(_estimate(bout, "margin")),
                said(standing["smallest_difference"]),
            )
        )  # fmt: skip
    columns = (
        "against", "score", *["first place"] * many, "wins / games", "games", "wins", "draws",
        "losses", "margin", "smallest seen",
    )  # fmt: skip
    lead = (
        f"The promoted policy, {evaluation['manner']}, on deals that nothing was chosen "
        "by; every deal in all seatings. The last column is the smallest difference of score that "
        "so many games would show." + " A first place that k share counts 1/k." * many
    )
    about = Words(f"Digest {str(evaluation['digest'])[:12]}, seed {evaluation['seed']}.")
    return Section("Final evaluation", [Table(columns, rows), about], lead)


def _estimate(bout: Mapping[str, Any], name: str) -> Estimate | None:
    values = bout["standing"].get(name)
    return None if values is None else Estimate(**values)


def _margin(estimate: Estimate | None) -> str:
    """Return points, hit points or chips: two places are enough, and the table stays narrow."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return UNKNOWN if estimate is None else f"{estimate.value:+.2f}"
    return f"{estimate.value:+.2f} [{estimate.low:+.2f}, {estimate.high:+.2f}]"


def _by_score(bout: Mapping[str, Any]) -> float:
    score = _estimate(bout, "score")
    return 1.0 if score is None else score.value
