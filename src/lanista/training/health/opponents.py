"""Faults of the opponent mix: results that are all alike, opponents that teach nothing.

Pure functions of a learner's training games.
"""

from __future__ import annotations

from lanista.findings import Finding
from lanista.training.health.numbers import PAID_ALIKE, LearnerNumbers, Tally, tallies

ENOUGH = 100
"""Matches without which "all of them" is no news."""
SHARE = 0.05
"""An opponent of a smaller share of the matches costs too little to be spoken of."""


def results_all_alike(numbers: LearnerNumbers) -> Finding | None:
    """Every training match of the second half ended alike."""
    counts = _results(numbers)
    if counts is None:
        return None
    kinds = [kind for kind, n in counts.items() if n]
    if len(kinds) != 1 or counts[kinds[0]] < ENOUGH:
        return None
    paid_otherwise = any(not tally.paid_alike for tally in tallies(numbers).values())
    if paid_otherwise or _own_pay_varies(numbers):
        return None  # The game pays more than winning and losing.
    return Finding(
        name="results_all_alike",
        gravity="stops",
        sentence=f"All {counts[kinds[0]]:,} training matches of {numbers.learner} in the second "
        f"half of the run were {kinds[0]}.",
        meaning="No action leads to more than any other, so there is nothing to prefer, unless the "
        "game pays more than winning and losing.",
        remedy="Give it opponents (rollouts.opponents) that it neither always beats nor always "
        "loses to; where all is drawn, see that the game ends with a result.",
        evidence={"learner": numbers.learner, **counts},
    )


def _own_pay_varies(numbers: LearnerNumbers) -> bool:
    """Whether matches against itself paid now more, now less: seats that win together."""
    paid = [
        row.returns[0] / row.matches
        for row in numbers.games[len(numbers.games) // 2 :]
        if row.matches and {*row.seating} == {numbers.learner}
    ]
    return bool(paid) and max(paid) - min(paid) > PAID_ALIKE


def _results(numbers: LearnerNumbers) -> dict[str, int] | None:
    """Count the results of the second half; None for games of more seats than two."""
    won = drawn = lost = 0
    for row in numbers.games[len(numbers.games) // 2 :]:
        if len(row.seating) != 2:
            return None
        w, d, x = row.pairs[0]
        mirrored = row.seating[0] == row.seating[1]
        seat = row.seating.index(numbers.learner) if numbers.learner in row.seating else 0
        # Against itself one of both wins, which is a result like any other.
        won += w + x if mirrored else (w, x)[seat]
        lost += w + x if mirrored else (x, w)[seat]
        drawn += d
    return {"won": won, "drawn": drawn, "lost": lost}


def one_sided(numbers: LearnerNumbers) -> list[Finding]:
    """Opponents that were never or always beaten in the second half of training."""
    counts = tallies(numbers)
    total = sum(row.matches for row in numbers.games[len(numbers.games) // 2 :])
    return [
        _never(numbers.learner, name, tally)
        if tally.lost
        else _always(numbers.learner, name, tally)
        for name, tally in counts.items()
        if tally.matches >= max(ENOUGH, SHARE * total)
        and tally.paid_alike
        and tally.matches in (tally.won, tally.lost)
    ]


def _never(learner: str, opponent: str, tally: Tally) -> Finding:
    return Finding(
        name="never_beaten",
        gravity="spoils",
        sentence=f"{learner} lost all {tally.lost:,} training matches against {opponent!r} in the "
        "second half of the run.",
        meaning="Where every action loses, none is better than another: these matches have no "
        "reward to learn from.",
        remedy=f"Leave {opponent!r} out of rollouts.opponents until it can be beaten, begin from "
        "imitation (supervised_checkpoint), or give rollouts.shaping_scale a weight.",
        evidence={"learner": learner, "opponent": opponent, "lost": tally.lost},
    )


def _always(learner: str, opponent: str, tally: Tally) -> Finding:
    return Finding(
        name="always_beaten",
        gravity="doubt",
        sentence=f"{learner} won all {tally.won:,} training matches against {opponent!r} in the "
        "second half of the run.",
        meaning="There is nothing left to learn from these matches.",
        remedy=f"Leave {opponent!r} out of rollouts.opponents or lower its weight, and give the "
        "matches to stronger ones.",
        evidence={"learner": learner, "opponent": opponent, "won": tally.won},
    )
