"""What the doctor says it looked at, sentence by sentence, from evidence written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_finding_limits import (
    CANDIDATE,
    STABLE,
    batch,
    book_of,
    played,
    seen_of,
    service_of,
    traffic_of,
)
from toy import header_of

from lanista.live.diagnosis import doctor
from lanista.live.diagnosis.doctor import seen_in
from lanista.live.files.policy_folder import Pointer
from lanista.live.files.recorded_games import Games, Recorded, column_names, stacked
from lanista.live.learner.ledger import Event

EIGHT = ", ".join(f"number {i}" for i in range(8))


def facts(traffic: Any, service: Any, training: Any = None) -> list[str]:
    return list(doctor._facts(traffic, service, training))


def games_of(*games: Recorded, oldest: tuple[Recorded, ...] = ()) -> Any:
    return traffic_of(games=Games(games, oldest, ()))


def test_a_spool_is_told_by_its_counts_and_its_absence_is_told_too() -> None:
    traffic = traffic_of(waiting=1, in_work=2, archived=3, refused=4, playing=5)
    said = facts(traffic, None)
    assert said[0] == (
        "Spool a spool: 1 games wait, 2 are being learned from, 3 are archived, 4 refused; 5 are "
        "being played."
    )
    assert [line.split(",")[0].split(" it ")[0] for line in said[1:]] == [
        "Games that a bot dropped leave no trace here; agent.report().games counts them there.",
        "Without --policy",
        "Without --training",
    ]
    nothing = facts(None, service_of(), seen_of())
    assert "Without --spool nothing can be said of recorded games." in nothing
    assert not any("--training" in line for line in nothing)


def test_players_and_opponents_are_counted_the_five_commonest_first() -> None:
    counts = {letter: 7 - number for number, letter in enumerate("abcdef")}
    rows = [
        played(policy=letter * 64, opponent=letter if letter != "b" else "", own=1000)
        for letter in reversed(counts)
        for _ in range(counts[letter])
    ]
    said = facts(games_of(*rows), None)
    assert said[1] == "Looked at the newest 27 games with 27,000 decisions."
    shown = [f"{letter * 12} {counts[letter]}" for letter in "abcde"]
    assert said[2] == f"Played by: {', '.join(shown)}."
    assert said[3] == "Opponents: a 7, unnamed 6, c 5, d 4, e 3."


@pytest.mark.parametrize(
    ("dead", "said"),
    [
        ((), "0 of 20 numbers never change."),
        ((3, 5), "2 of 20 numbers never change: number 3, number 5."),
        (range(8), f"8 of 20 numbers never change: {EIGHT}."),
        (range(9), f"9 of 20 numbers never change: {EIGHT} …."),
    ],
)
def test_eight_numbers_that_never_change_are_named(dead: Any, said: str) -> None:
    values = seen_of(1, 200, 20).values
    values[:, list(dead)] = 1.0
    rows = [played(i, observations=values[20 * i : 20 * i + 20]) for i in range(10)]
    assert facts(games_of(*rows), None)[4] == said
    few = facts(games_of(*rows[1:]), None)
    assert not any("never change" in line for line in few)


def test_a_policy_folder_is_told_by_its_pointer_and_by_what_became_of_candidates() -> None:
    kinds = ["started", "candidate", "rejected", "candidate", "rolled_back", "lost"]
    book = book_of(
        batches=(batch(1, 0),) * 3,
        learned=frozenset("abcd"),
        events=tuple(Event(1, 0.0, kind, {}) for kind in kinds),
    )
    both = service_of(
        book, pointer=Pointer(STABLE, CANDIDATE, 0.25, serial=1), learner_running=True
    )
    assert facts(None, both)[:2] == [
        f"Policy folder a policy: {'a' * 12} is stable, {'b' * 12} plays 25%; its learner is "
        "running.",
        "The learner made 3 updates from 4 games; policies: 2 candidate, 1 rejected, "
        "1 rolled back.",
    ]
    assert facts(None, service_of())[:2] == [
        f"Policy folder a policy: {'a' * 12} is stable; its learner is not running.",
        "No learner ever worked on this policy folder.",
    ]
    quiet = facts(None, service_of(book_of(), pointer=None))
    assert quiet[0] == "The learner made 0 updates from 0 games; policies: none judged."


def test_what_was_seen_is_that_of_the_newest_games_layout() -> None:
    wide, narrow, empty = np.ones((3, 4)), np.ones((2, 2)), np.ones((0, 2))
    rows = tuple(played(observations=seen) for seen in (narrow, wide, empty, narrow * 2))
    seen = seen_in(rows)
    assert seen is not None
    assert seen.values.tolist() == [[1, 1], [1, 1], [2, 2], [2, 2]]
    assert seen.game.tolist() == [0, 0, 1, 1]
    assert seen_in(()) is None
    assert seen_in((played(observations=empty),)) is None


def test_games_are_stacked_with_the_number_of_each() -> None:
    values, game = stacked([played(observations=np.full((n, 2), n)) for n in (1, 3)])
    assert (values[:, 0].tolist(), game.tolist()) == ([1, 3, 3, 3], [0, 1, 1, 1])


def test_columns_are_named_by_the_policys_fields_where_they_fit() -> None:
    names = ["phase", *(f"numbers[{i}]" for i in range(5))]
    assert column_names(header_of(), 6) == names
    assert column_names(header_of(), 2) == column_names(None, 2) == ["number 0", "number 1"]


@pytest.mark.parametrize(
    ("newest", "oldest", "sides"),
    [
        (40, 10, (range(100, 110), range(40), "the games learned from first")),
        (40, 9, (range(13), range(27, 40), "the first of them")),
        (30, 0, (range(10), range(20, 30), "the first of them")),
        (29, 0, (None, range(29), "")),
    ],
)
def test_the_oldest_games_are_the_measure_or_the_first_third(
    newest: int, oldest: int, sides: tuple[Any, Any, str]
) -> None:
    def games(numbers: Any) -> tuple[Recorded, ...]:
        return tuple(replace(played(i), observations=np.full((1, 2), float(i))) for i in numbers)

    traffic = games_of(*games(range(newest)), oldest=games(range(100, 100 + oldest)))
    seen = seen_in(traffic.games.newest)
    assert seen is not None
    earlier, now, what = doctor._sides(traffic, seen)
    shown = [None if side is None else side.values[:, 0].tolist() for side in (earlier, now)]
    assert shown == [None if side is None else list(side) for side in sides[:2]]
    assert what == sides[2]
