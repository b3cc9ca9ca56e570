"""What battles on a real server say: scores by opponent and team, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from lanista.cli.common.table import interval
from lanista.evaluation.score import Estimate, mean_score, smallest_difference, unit_means, wilson

if TYPE_CHECKING:
    from lanista.cli.showdown.evaluate import Evaluation
    from lanista.live.showdown.gauntlet import Played

COLUMNS = ("opponent", "team", "n", "wins", "ties", "losses", "cut off", "score", "wins/n")


@dataclass(frozen=True)
class Score:
    """How a player did in some battles."""

    n: int
    """Battles with a result, those that the player gave up among them: they were lost."""
    wins: int
    ties: int
    losses: int
    cut_off: int
    """Battles without a result that tells of the players."""
    score: Estimate | None
    """(wins + ½ ties)/n with an interval over pairs of battles whose sides were swapped."""
    win_rate: Estimate | None
    """wins/n with Wilson's interval."""
    smallest_difference: float | None
    """The smallest difference of score that so many pairs could show (power 80 %)."""


def score_of(played: Sequence[Played]) -> Score:
    """Return what battles say; pairs of which one has no result count for wins/n alone."""
    known = [each for each in played if _result(each) is not None]
    results = np.array([_result(each) for each in known], np.float64)
    units = np.array([each.bout.unit for each in known], np.int64)
    _, at, members = np.unique(units, return_inverse=True, return_counts=True)
    whole = members[at] == 2
    pairs = unit_means(results[whole] / 2 + 0.5, units[whole])
    wins, ties = int((results == 1).sum()), int((results == 0).sum())
    return Score(
        n=len(known),
        wins=wins,
        ties=ties,
        losses=len(known) - wins - ties,
        cut_off=len(played) - len(known),
        score=mean_score(pairs),
        win_rate=wilson(wins, len(known)),
        smallest_difference=smallest_difference(pairs),
    )


def _result(each: Played) -> float | None:
    """Return 1, 0 or -1; None where an opponent hung or the battle was cut off."""
    return None if each.stalled else each.result.outcome


def row(opponent: str, team: str, score: Score) -> tuple[str, ...]:
    """Return a line of the table."""
    counts = (score.n, score.wins, score.ties, score.losses, score.cut_off)
    shown = (f"{count:,}" for count in counts)
    return (opponent, team, *shown, interval(score.score), interval(score.win_rate))


def first_seat(played: Sequence[Played]) -> str:
    """Return how the player did as p1 and as p2."""
    told = []
    for seat in (0, 1):
        sat = [_result(each) for each in played if each.result.seat == seat]
        results = [result for result in sat if result is not None]
        score = f"{np.mean(results) / 2 + 0.5:.3f}" if results else "—"
        told.append(f"as p{seat + 1} {score} (n {len(results):,})")
    return f"score {', '.join(told)}"


def described(found: Evaluation, complete: bool) -> dict[str, Any]:
    """Return the numbers, and all that is needed to do it again, as plain values."""
    asked = found.asked
    teams = [team.name for team in found.teams.brought]
    return {
        "policy": asked.policy,
        "digest": found.player.digest,
        "manner": found.manner,
        "format": found.who.format.name,
        "seed": asked.seed,
        "battles_each": asked.battles,
        "complete": complete,
        "opponents": {
            name: asdict(found.score(name))
            | {"teams": {team: asdict(found.score(name, team)) for team in teams}}
            for name in found.names
        },
        "teams": {team.name: team.packed for team in found.teams.brought},
        "belief_pool": found.teams.belief_pool,
        "versions": {
            "lanista": version("lanista"),
            "poke-env": version("poke-env"),
            "pokemon-showdown": found.teams.version,
        },
        "concurrency": asked.concurrency,
        "servers": asked.servers,
        "wall_seconds": found.wall_seconds,
        "cpu_seconds": found.cpu_seconds,
        "troubles": found.troubles[:100],
        "rows": [_row(each) for each in sorted(found.played, key=lambda each: each.bout.number)],
    }


def _row(each: Played) -> dict[str, Any]:
    bout, result = each.bout, asdict(each.result)
    del result["log"], result["policy"]
    team = bout.team.name if bout.team is not None else None
    told = {"number": bout.number, "unit": bout.unit, "opponent": bout.opponent, "team": team}
    return result | told | {"stalled": each.stalled}
