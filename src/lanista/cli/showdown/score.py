"""What battles on a real server say: scores by opponent and team, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from lanista.cli.common.table import interval
from lanista.evaluation.score import Estimate, mean_score, smallest_difference, unit_means, wilson
from lanista.games.showdown.protocol.battle_state import base_of
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.games.showdown.teams.sets import species_names

if TYPE_CHECKING:
    from lanista.cli.showdown.evaluate import Evaluation
    from lanista.live.showdown.gauntlet import Played

POKEMON_COLUMNS = ("opponent", "Pokémon", "n", "fielded", "wins/n fielded", "wins/n without")
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


@dataclass(frozen=True)
class PokemonScore:
    """How a player did in the battles in which one of its Pokémon took the field."""

    battles: int
    """Battles with a result whose team has it."""
    fielded: int
    """Those in which it took the field."""
    win_rate: Estimate | None
    """Wins/n in those, with Wilson's interval."""
    win_rate_without: Estimate | None
    """Wins/n in the others."""


def pokemon_scores(played: Sequence[Played]) -> dict[str, PokemonScore]:
    """Return a score for every Pokémon that a team has, the lowest first.

    Which Pokémon take the field is the player's own choice and the battle's course: a low score
    says where battles are lost, not why.
    """
    wins: dict[tuple[str, bool], list[bool]] = {}
    for battle in played:
        result = _result(battle)
        if result is None:
            continue
        for name, took_field in _party(battle).items():
            wins.setdefault((name, took_field), []).append(result == 1)
    scores = {
        name: _pokemon(wins.get((name, True), []), wins.get((name, False), []))
        for name in sorted({name for name, _ in wins})
    }
    return dict(sorted(scores.items(), key=lambda item: _value(item[1].win_rate)))


def _party(battle: Played) -> dict[str, bool]:
    """Return the Pokémon of the player's team, and whether each took the field.

    Battles name forms as they are at the moment, a team as they were brought.
    """
    shown = {base_of(to_id(name)): name for name in battle.fielded}
    if battle.bout.team is None:
        return dict.fromkeys(shown.values(), True)
    return {name: base_of(to_id(name)) in shown for name in species_names(battle.bout.team.packed)}


def _pokemon(fielded: list[bool], stayed: list[bool]) -> PokemonScore:
    return PokemonScore(
        battles=len(fielded) + len(stayed),
        fielded=len(fielded),
        win_rate=wilson(sum(fielded), len(fielded)),
        win_rate_without=wilson(sum(stayed), len(stayed)),
    )


def _value(estimate: Estimate | None) -> float:
    return 2.0 if estimate is None else estimate.value


def pokemon_row(opponent: str, name: str, score: PokemonScore) -> tuple[str, ...]:
    """Return a line of the table of Pokémon."""
    rates = (interval(score.win_rate), interval(score.win_rate_without))
    return (opponent, name, f"{score.battles:,}", f"{score.fielded:,}", *rates)


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
        "different_teams": command.different_teams,
        "complete": complete,
        "opponents": {
            name: asdict(evaluation.score(name))
            | {"teams": {team: asdict(evaluation.score(name, team)) for team in teams}}
            | {"pokemon": _by_pokemon(evaluation, name)}
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
        "their_team": bout.their_team.name if bout.their_team is not None else team,
        "fielded": list(battle.fielded),
    }
    return result | bout_values | {"stalled": battle.stalled}


def _by_pokemon(evaluation: Evaluation, opponent: str) -> dict[str, Any]:
    scores = pokemon_scores(evaluation.against(opponent))
    return {name: asdict(score) for name, score in scores.items()}
