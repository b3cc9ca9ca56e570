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
    with_result = [battle for battle in played if _result(battle) is not None]
    results = np.array([_result(battle) for battle in with_result], np.float64)
    units = np.array([battle.bout.unit for battle in with_result], np.int64)
    _, at, members = np.unique(units, return_inverse=True, return_counts=True)
    whole = members[at] == 2
    pairs = unit_means(results[whole] / 2 + 0.5, units[whole])
    wins, ties = int((results == 1).sum()), int((results == 0).sum())
    return Score(
        n=len(with_result),
        wins=wins,
        ties=ties,
        losses=len(with_result) - wins - ties,
        cut_off=len(played) - len(with_result),
        score=mean_score(pairs),
        win_rate=wilson(wins, len(with_result)),
        smallest_difference=smallest_difference(pairs),
    )


def _result(battle: Played) -> float | None:
    """Return 1, 0 or -1; None where an opponent hung or the battle was cut off."""
    return None if battle.stalled else battle.result.outcome


def row(opponent: str, team: str, score: Score) -> tuple[str, ...]:
    """Return a line of the table."""
    counts = (score.n, score.wins, score.ties, score.losses, score.cut_off)
    shown = (f"{count:,}" for count in counts)
    return (opponent, team, *shown, interval(score.score), interval(score.win_rate))


def first_seat(played: Sequence[Played]) -> str:
    """Return how the player did as p1 and as p2."""
    scores = []
    for seat in (0, 1):
        sat = [_result(battle) for battle in played if battle.result.seat == seat]
        results = [result for result in sat if result is not None]
        score = f"{np.mean(results) / 2 + 0.5:.3f}" if results else "—"
        scores.append(f"as p{seat + 1} {score} (n {len(results):,})")
    return f"score {', '.join(scores)}"


def described(evaluation: Evaluation, complete: bool) -> dict[str, Any]:
    """Return the numbers, and all that is needed to do it again, as plain values."""
    command = evaluation.command
    teams = [team.name for team in evaluation.teams.brought]
    return {
        "policy": command.policy,
        "digest": evaluation.player.digest,
        "manner": evaluation.manner,
        "format": evaluation.who.format.name,
        "seed": command.seed,
        "battles_each": command.battles,
        "complete": complete,
        "opponents": {
            name: asdict(evaluation.score(name))
            | {"teams": {team: asdict(evaluation.score(name, team)) for team in teams}}
            for name in evaluation.names
        },
        "teams": {team.name: team.packed for team in evaluation.teams.brought},
        "belief_pool": evaluation.teams.belief_pool,
        "versions": {
            "lanista": version("lanista"),
            "poke-env": version("poke-env"),
            "pokemon-showdown": evaluation.teams.version,
        },
        "concurrency": command.concurrency,
        "servers": command.servers,
        "wall_seconds": evaluation.wall_seconds,
        "cpu_seconds": evaluation.cpu_seconds,
        "troubles": evaluation.troubles[:100],
        "rows": [
            _row(battle)
            for battle in sorted(evaluation.played, key=lambda battle: battle.bout.number)
        ],
    }


def _row(battle: Played) -> dict[str, Any]:
    bout, result = battle.bout, asdict(battle.result)
    del result["log"], result["policy"]
    team = bout.team.name if bout.team is not None else None
    bout_values = {
        "number": bout.number,
        "unit": bout.unit,
        "opponent": bout.opponent,
        "team": team,
    }
    return result | bout_values | {"stalled": battle.stalled}
