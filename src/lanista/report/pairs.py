"""Who played in a record's matches, and what every two of them came to.

An entrant is a digest, so two policies under one learner's name are two entrants. Matches that
were broken off have no result: their whole unit is left out and counted. Knows nothing of ratings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lanista.report.run_record import Lineup, Match, Member, RunRecord


@dataclass(frozen=True)
class Entrant:
    """Somebody who played matches of fixed digests."""

    label: str
    """A player's name, or `main@120` for a learner's weights that joined no pool."""
    name: str
    """In the line-up it was first met in."""
    digest: str
    member: Member
    """The player it is, or the learner it was a state of."""
    update: int
    """When it first played."""
    learner: str
    """The learner whose weights these are or were; empty for all others."""


@dataclass(frozen=True, eq=False)
class Pair:
    """What two met in, seen from the first."""

    first: str
    second: str
    wins: int
    draws: int
    losses: int
    units: NDArray[np.float64] = field(repr=False)
    """The first one's mean result on each deal, over the seats it was played in."""

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses


def entrants(record: RunRecord) -> dict[str, Entrant]:
    """Return who played, by digest, in the order of their first matches."""
    members = {member.name: member for member in record.players}
    by_digest: dict[str, Member] = {}
    for member in record.players:
        if member.digest and member.kind != "learner":
            by_digest.setdefault(member.digest, member)
    first_match: dict[str, tuple[str, int]] = {}
    for match in record.matches:
        for name, digest in zip(match.lineup.names, match.lineup.digests, strict=True):
            first_match.setdefault(digest, (name, match.update))
    learners, labels = set(record.learners), set[str]()
    entrant_by_digest = {}
    for digest, (name, update) in first_match.items():
        file, _, manner = digest.partition(":")
        member = by_digest.get(digest) or by_digest.get(file) or members[name]
        label = f"{name}@{update}" if member.kind == "learner" else member.name
        label = f"{label} ({manner})" if manner else label
        if label in labels:
            label = f"{label} {digest[:8]}"
        labels.add(label)
        learner = name if name in learners else _learner_of(member, learners)
        entrant_by_digest[digest] = Entrant(label, name, digest, member, update, learner)
    return entrant_by_digest


def _learner_of(member: Member, learners: Iterable[str]) -> str:
    """Return the learner that a snapshot is of, by its name: `main` for `main/000120`."""
    return next((learner for learner in learners if member.name.startswith(f"{learner}/")), "")


def counted(matches: Sequence[Match]) -> list[Match]:
    """Return the matches that count: none of their unit was broken off."""
    broken = {_unit(match) for match in matches if match.cut_off}
    if not broken:
        return list(matches)
    return [match for match in matches if _unit(match) not in broken]


def _unit(match: Match) -> tuple[tuple[str, ...], int, int]:
    return tuple(sorted(match.lineup.digests)), match.lineup.seed, match.deal


def fold_pairs(matches: Iterable[Match], keys: Callable[[Lineup], tuple[str, ...]]) -> list[Pair]:
    """Return what every two came to that met; `keys` says whom to count a line-up's seats as.

    All results of two players on one deal and seed are one unit, whenever they were played.
    """
    counts: dict[tuple[str, str], list[int]] = {}
    units: dict[tuple[str, str], dict[tuple[int, int], list[float]]] = {}
    names: dict[Lineup, tuple[str, ...]] = {}
    for match in matches:
        lineup = match.lineup
        who = names.get(lineup) or names.setdefault(lineup, keys(lineup))
        for a, b in combinations(range(len(who)), 2):
            if who[a] == who[b]:
                continue
            pair, ahead, behind = (who[a], who[b]), match.places[a], match.places[b]
            if (who[b], who[a]) in counts:
                pair, ahead, behind = (who[b], who[a]), behind, ahead
            result = 0 if ahead < behind else 1 if ahead == behind else 2
            counts.setdefault(pair, [0, 0, 0])[result] += 1
            unit = units.setdefault(pair, {}).setdefault((lineup.seed, match.deal), [0.0, 0.0])
            unit[0] += 1 - result / 2
            unit[1] += 1
    pairs = []
    for (first, second), (wins, draws, losses) in counts.items():
        means = [total / n for total, n in units[first, second].values()]
        pairs.append(Pair(first, second, wins, draws, losses, np.array(means)))
    return pairs


def linked(pairs: Iterable[Pair], anchor: str | None = None) -> set[str]:
    """Return those whom matches link with `anchor`, or with most of the games, over whatever steps.

    A rating says nothing about two players that no chain of matches links.
    """
    groups: list[tuple[set[str], int]] = []
    for pair in pairs:
        names, games = {pair.first, pair.second}, pair.games
        apart = []
        for group in groups:
            if names.isdisjoint(group[0]):
                apart.append(group)
            else:
                names, games = names | group[0], games + group[1]
        groups = [*apart, (names, games)]
    if anchor is not None:
        return next((names for names, _ in groups if anchor in names), set())
    return max(groups, key=lambda group: group[1], default=(set[str](), 0))[0]


def by_label(labels: Mapping[str, str]) -> Callable[[Lineup], tuple[str, ...]]:
    """Return what counts every digest as its label."""
    return lambda lineup: tuple(labels[digest] for digest in lineup.digests)


def first_seat_units(matches: Iterable[Match]) -> NDArray[np.float64]:
    """Return, for each unit, the mean result of whoever sat first against the others.

    Only units in which everybody sat first as often as the others count: elsewhere the seat
    cannot be told from who sat in it.
    """
    units: dict[tuple[tuple[str, ...], int, int], tuple[Counter[str], list[float]]] = {}
    for match in matches:
        if len(match.places) > 1:
            firsts, results = units.setdefault(_unit(match), (Counter(), []))
            firsts[match.lineup.digests[0]] += 1
            others = match.places[1:]
            ahead = sum(match.places[0] < place for place in others)
            level = sum(match.places[0] == place for place in others)
            results.append((ahead + level / 2) / len(others))
    return np.array(
        [
            sum(results) / len(results)
            for (seats, _, _), (firsts, results) in units.items()
            if all(
                firsts[who] * len(seats) == count * len(results)
                for who, count in Counter(seats).items()
            )
        ]
    )
