"""How strong a clone plays: against those it imitates, and beside its teacher against others.

All of it on deals that no demonstration came from, each in all seatings. Knows nothing of how the
clone was made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lanista.data.demonstrations import Demonstrations
from lanista.evaluation.score import Estimate, Values, against_all, mean_value, unit_means
from lanista.evaluation.standings import Standing, decided, summarise
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Game, Spec
from lanista.rollout.inference.policy_players import policy_player
from lanista.rollout.match_runner import Results, Table, play
from lanista.rollout.schedule import rotations

_SLOTS = 2048
SAMPLED, GREEDY = "sampled", "greedy"


@dataclass(frozen=True)
class Meeting:
    """A clone against one opponent, playing in one manner."""

    opponent: str
    manner: str
    """sampled (from the policy as it is), greedy (always the likeliest choice), or a temperature
    that its logits are divided by."""
    clone: Standing
    teacher: Standing | None
    """The teacher against the same opponent on the same deals; None for the teacher itself."""
    difference: Estimate | None
    """Score of the clone less that of the teacher, deal by deal."""


@dataclass(frozen=True)
class Strength:
    """What playing says about a clone."""

    seed: int
    """Names the deals, none of which was learned from."""
    matches: int
    """Of each meeting."""
    teacher: str | None
    """The bot that was imitated, where it was one only."""
    meetings: tuple[Meeting, ...]
    left_out: tuple[str, ...]
    """A sentence on each player that was imitated and cannot be played against."""


class Ring:
    """A game set up for meetings, with its bots at hand."""

    def __init__(self, game: str, spec: Spec, seed: int, matches: int) -> None:
        self.name, self.seed, self.matches = game, seed, matches
        self.game: Game = registry.make(
            game,
            slots=min(matches, registry.slots_for(game, _SLOTS)),
            seed=seed,
            **spec.settings,
        )
        self.spec = self.game.spec

    def bot(self, name: str) -> Player:
        return registry.make_bot(self.name, name, self.spec, self.seed)

    def meet(self, one: Player, other: Player, progress: Callable[[int], None] | None) -> Results:
        """Play `one` against `other`, who sits in all the other seats."""
        seating = [0, *[1] * (self.spec.seats - 1)]
        schedule = rotations(seating, self.matches)
        return play([Table(self.game, (one, other))], schedule, progress=progress)


def measure(
    policy: Path,
    data: Demonstrations,
    *,
    game: str,
    matches: int,
    opponents: Sequence[str] = (),
    temperature: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Strength:
    """Play the policy file against the bots that `data` imitates, and against `opponents`."""
    seed = max(data.seeds, default=-1) + 1
    ring = Ring(game, data.spec, seed, matches)
    try:
        teachers, left_out = imitated(data, game, seed)
        teacher = teachers[0] if len(teachers) == 1 else None
        names = list(dict.fromkeys([*teachers, *opponents]))
        beside = {
            name: ring.meet(ring.bot(teacher), ring.bot(name), progress)
            for name in names
            if teacher is not None and name != teacher
        }
        meetings = []
        for manner, how in manners(temperature).items():
            clone = policy_player(policy, ring.spec, seed, name="clone", **how)
            for name in names:
                results = ring.meet(clone, ring.bot(name), progress)
                meetings.append(_meeting(name, manner, results, beside.get(name), teacher))
    finally:
        ring.game.close()
    return Strength(seed, ring.matches, teacher, tuple(meetings), tuple(left_out))


def imitated(data: Demonstrations, game: str, seed: int) -> tuple[list[str], list[str]]:
    """Return the bots that were imitated, and a sentence on each other player."""
    bots = registry.bot_names(registry.entry(game))
    imitated_bots: list[str] = []
    left_out: list[str] = []
    for who in data.teachers:
        if who.name not in bots:
            left_out.append(f"{who.name} is no bot of {game}, so it was not played against.")
        elif registry.make_bot(game, who.name, data.spec, seed).digest != who.digest:
            left_out.append(
                f"{who.name} of these matches ({who.digest[:12]}) is not the bot of that name here."
            )
        elif who.name not in imitated_bots:
            imitated_bots.append(who.name)
    return imitated_bots, left_out


def manners(temperature: float | None) -> dict[str, dict[str, Any]]:
    """Return the ways in which a clone is played, by name."""
    options_by_manner: dict[str, dict[str, Any]] = {SAMPLED: {}, GREEDY: {"greedy": True}}
    if temperature is not None:
        options_by_manner[f"temperature {temperature:g}"] = {"temperature": temperature}
    return options_by_manner


def meetings_of(
    data: Demonstrations, game: str, opponents: Sequence[str], temperature: float | None
) -> int:
    """Return how many meetings `measure` plays."""
    teachers, _ = imitated(data, game, 0)
    names = {*teachers, *opponents}
    return len(manners(temperature)) * len(names) + (len(names) - 1 if len(teachers) == 1 else 0)


def _meeting(
    name: str, manner: str, results: Results, beside: Results | None, teacher: str | None
) -> Meeting:
    standing = None
    difference = None
    if beside is not None and teacher is not None:
        standing = summarise(beside, (teacher, name)).standings[0]
        difference = _difference(results, beside)
    return Meeting(
        name, manner, summarise(results, ("clone", name)).standings[0], standing, difference
    )


def _difference(clone: Results, teacher: Results) -> Estimate | None:
    """Return the mean difference of two players' unit scores over the deals both completed."""
    mine, theirs = _units(clone), _units(teacher)
    common, at, other = np.intersect1d(mine[0], theirs[0], return_indices=True)
    del common
    return mean_value(mine[1][at] - theirs[1][other])


def _units(results: Results) -> tuple[Values, Values]:
    """Return the deals that count and player 0's score on each."""
    counts = decided(results)
    deal = results.schedule.deal[counts]
    mine = results.schedule.seating[counts] == 0
    scores = against_all(results.place[counts])[mine]
    unit = deal[np.nonzero(mine)[0]]
    return np.unique(unit), unit_means(scores, unit)
