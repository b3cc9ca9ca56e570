"""Matches from a script: make a game, play, evaluate, let all meet all, rate. Trains nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lanista.api.players import PlayerLike, words_of
from lanista.api.results import EvaluationResult, PlayResult, RoundRobinResult
from lanista.errors import LanistaError
from lanista.evaluation.gauntlet import gauntlet_of, matches_of_deal
from lanista.evaluation.lineup import (
    ALL,
    deals_of,
    every_bot,
    gauntlet_lineups,
    lineup,
    manner_of,
    refuse_count,
)
from lanista.evaluation.lineup_matches import play_against, play_pairs, play_schedule
from lanista.evaluation.ratings import PairCount, Rating, bradley_terry
from lanista.evaluation.roundrobin import Pair, cross_table
from lanista.evaluation.score import against_all
from lanista.evaluation.standings import decided, summarise
from lanista.rollout.match_runner import Results, join
from lanista.rollout.schedule import rotations

Progress = Callable[[int], None]
"""Is told how many more matches have ended."""


def play(
    game: str,
    players: Sequence[PlayerLike],
    *,
    matches: int = 1000,
    seed: int = 0,
    record: str | Path | None = None,
    greedy: bool = False,
    temperature: float | None = None,
    search: int | None = None,
    settings: Mapping[str, Any] | None = None,
    slots: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> PlayResult:
    """Let `players` meet, one for each seat of `game`; return how each did, with intervals.

    A player is a bot's name, a policy file or `Policy`, `champion:GAME`, `file.py:Bot`, or a class
    of `PythonBot`. Every deal is played in all seatings, so `matches` is rounded up to whole deals;
    `seed` names the deals and all that is random in players. With `record` replays are written into
    that folder. `greedy`, `temperature` and `search` (simulations before each move) are for
    policies. `settings` are the game's and its matches' options. `slots` (matches side by side)
    and `threads` change no number. `progress(more)` hears of matches that ended.
    """
    refuse_count(matches)
    words, bot_makers = words_of(players)
    seated = lineup(
        game, words, settings or {}, seats=len(words), seed=seed, greedy=greedy,
        temperature=temperature, search=search, bot_makers=bot_makers,
    )  # fmt: skip
    schedule = rotations(len(words), matches)
    folder = None if record is None else Path(record)
    blocks = play_schedule(
        seated, schedule, slots=slots, threads=threads, folder=folder, progress=progress
    )
    _refuse_incomplete(blocks, len(schedule))
    return PlayResult(game, seed, summarise(join(blocks), seated.labels), folder)


def evaluate(
    player: PlayerLike,
    opponents: PlayerLike | Sequence[PlayerLike] = ALL,
    *,
    games: int = 1000,
    game: str | None = None,
    greedy: bool = False,
    temperature: float | None = None,
    search: int | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    slots: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> EvaluationResult:
    """Let one `player` meet others in every seat on the same deals; return how strong it is.

    `opponents` is one or several, or `all`: every bot of the game. `games` are those against each,
    rounded up to whole deals, which `seed` names. A policy's file says which game it plays and with
    which settings; a bot needs `game`. `settings` are put in place of the file's. `greedy`,
    `temperature` and `search` are the player's alone; opponents sample. `slots`, `threads` and
    `progress` are those of `play`. The result has the score against each opponent, the mean and the
    lowest, with 95 % intervals.
    """
    several = isinstance(opponents, Sequence) and not isinstance(opponents, str)
    listed = list(opponents) if several else [opponents]  # type: ignore[arg-type]
    (word, *others), bot_makers = words_of([player, *listed])
    mine, pool = gauntlet_lineups(
        word, others, settings or {}, game=game, seed=seed, greedy=greedy,
        temperature=temperature, search=search, bot_makers=bot_makers, say=lambda sentence: None,
    )  # fmt: skip
    seatings = matches_of_deal(mine.spec)
    deals = deals_of(games, seatings, len(pool.players))
    blocks = play_against(mine, pool, deals, slots=slots, threads=threads, progress=progress)
    _refuse_incomplete(blocks, deals * seatings * len(pool.players))
    outcome = gauntlet_of(join(blocks), (word, *pool.players))
    return EvaluationResult(mine.spec, seed, manner_of(mine), outcome)


def round_robin(
    game: str,
    players: Sequence[PlayerLike] | None = None,
    *,
    matches: int = 1000,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    slots: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> RoundRobinResult:
    """Let every two players meet, half of `matches` in either seat; return the cross table.

    All bots of `game`, which has two seats, play unless `players` are given. `seed`, `settings`,
    `slots`, `threads` and `progress` are those of `play`. The result's `ratings()` puts everybody
    on one scale.
    """
    refuse_count(matches)
    words, bot_makers = words_of(
        every_bot(game, lambda sentence: None) if players is None else players
    )
    if len(words) < 2:
        raise LanistaError(f"A round robin needs two players; {', '.join(words)} is one.")
    seated = lineup(game, words, settings or {}, seats=2, seed=seed, bot_makers=bot_makers)
    matches_a_pair = matches + matches % 2
    played = play_pairs(seated, matches_a_pair, slots=slots, threads=threads, progress=progress)
    if len(played) < len(words) * (len(words) - 1) // 2:
        raise KeyboardInterrupt
    counts = tuple(_counted(pair, results, seated.labels) for pair, results in played.items())
    return RoundRobinResult(game, seed, cross_table(played, seated.labels), counts)


def rate(
    *results: PlayResult | EvaluationResult | RoundRobinResult, anchor: str | None = None
) -> tuple[Rating, ...]:
    """Return Bradley–Terry ratings on the Elo scale of all who met in `results`, best first.

    Each has a 95 % interval. `anchor` is the player whose rating is 0; without it the mean of all
    is 0. Players are told apart by their names, so name one policy in one way.
    """
    pairs = [pair for result in results for pair in result.pairs()]
    return bradley_terry(pairs, anchor=anchor).ratings


def _counted(pair: Pair, results: Results, names: Sequence[str]) -> PairCount:
    first, second = pair
    counts = decided(results)
    scores = against_all(results.place[counts])[results.schedule.seating[counts] == first]
    wins, draws = int((scores == 1).sum()), int((scores == 0.5).sum())
    return PairCount(names[first], names[second], wins, draws, len(scores) - wins - draws)


def _refuse_incomplete(blocks: Sequence[Results], matches: int) -> None:
    """Let an interrupt go on once play has ended in good order; what was recorded stays."""
    if sum(len(block) for block in blocks) < matches:
        raise KeyboardInterrupt
