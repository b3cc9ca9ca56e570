"""Checks that a match is a function of seed, match id, options and actions, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lanista.games.check.report import Fault
from lanista.games.check.seen import Seen, first_difference
from lanista.games.check.trial import Play, Rows, Trial
from lanista.games.streams import Stream

ELSEWHERE = 1_000_000
"""Ids of matches that play beside those on trial, or in their place."""


def determinism(trial: Trial) -> str:
    """A match is the same in 1, 7 or 64 slots, whoever plays beside it."""
    base = trial.sound()
    with trial.game(1) as game:
        trial.hold_against_base(Play(game, trial.keys).run(), "played a second time")
    with trial.game(7) as game:
        trial.hold_against_base(Play(game, trial.keys[::-1]).run(), "with 7 slots")
    beside = [ELSEWHERE + i for i in range(64)]
    mixed = [key for pair in zip(beside, trial.keys, strict=False) for key in pair]
    mixed += trial.keys[64:]
    with trial.game(64) as game:
        play = Play(game, mixed).run()
    own_matches = play.only(trial.keys)
    own_matches.trouble = play.trouble
    trial.hold_against_base(own_matches, "with 64 slots and other matches beside")
    return f"{trial.matches} matches, {len(base.rows['match'])} decisions, the same in each"


def chance(trial: Trial) -> str:
    """Another seed or deal gives another match exactly where the game has chance."""
    trial.sound()
    base = _bare(trial, trial.seed, 0)
    reseeded = _bare(trial, trial.seed + 1, 0)
    redealt = _bare(trial, trial.seed, ELSEWHERE)
    claims = trial.spec.facts.chance
    for other, changed in ((reseeded, "seed"), (redealt, "match id")):
        difference = first_difference(base, other)
        if claims and not difference:
            raise Fault(
                f"facts say chance, but {trial.matches} matches came out the same with "
                f"another {changed}"
            )
        if difference and not claims:
            raise Fault(f"facts say no chance, but with another {changed}, {difference}")
    if claims:
        return "another seed and other match ids gave other matches under the same answers"
    return "another seed and other match ids gave the same matches under the same answers"


def _bare(trial: Trial, seed: int, offset: int) -> Seen:
    with trial.game(7, seed) as game:
        play = Play(game, trial.keys, id_of=lambda key: key + offset).run()
    if play.trouble:
        raise Fault(f"with seed {seed} and match ids from {offset}: {play.trouble}")
    return play


def deals(trial: Trial) -> str:
    """Matches of one deal share the game's chance, whatever their ids."""
    trial.sound()
    with trial.game(7) as game:
        play = Play(
            game, trial.keys, id_of=lambda key: key + ELSEWHERE, deal_of=lambda key: key
        ).run()
    trial.hold_against_base(play, "with other match ids on the same deals")
    return f"{trial.matches} deals came out the same under other match ids"


def order(trial: Trial) -> str:
    """Answering in any order and in parts gives the same match."""
    trial.sound()
    for attempt in range(2):
        with trial.game(5) as game:
            play = Play(game, trial.keys, batches=in_parts(trial.seed, attempt)).run()
        trial.hold_against_base(play, "answered in parts and in another order")
    return "two other orders of answering, in parts, gave the same matches"


def in_parts(seed: int, attempt: int) -> Callable[[Rows], list[Rows]]:
    """Return batches that answer a part of the rows, shuffled, in one to three calls."""
    stream = Stream.keyed(seed, attempt, 0, "think")

    def batches(rows: Rows) -> list[Rows]:
        shuffled = rows.tolist()
        stream.shuffle(shuffled)
        chosen = np.array(shuffled[: 1 + stream.below(len(shuffled))], np.int64)
        return [batch for batch in np.array_split(chosen, 1 + stream.below(3)) if len(batch)]

    return batches
