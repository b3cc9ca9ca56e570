"""Where each of the doctor's findings begins, by the table in docs/guides/doctor.md.

The evidence is written by hand; that it is gathered from folders as it lies there is tested beside.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from toy import header_of

from lanista.live.diagnosis import findings_games as of_games
from lanista.live.diagnosis import findings_learning as of_learning
from lanista.live.diagnosis.evidence import Book, Service, Traffic
from lanista.live.diagnosis.findings_features import (
    Seen,
    against_description,
    against_earlier,
    constant_columns,
    features_empty,
)
from lanista.live.files.policy_folder import Pointer
from lanista.live.files.recorded_games import Games, Recorded
from lanista.live.learner.ledger import BatchRow, Event

SPOOL = Path("a spool")
STABLE, CANDIDATE, STRANGER = "a" * 64, "b" * 64, "c" * 64


def traffic_of(**given: Any) -> Traffic:
    """Return a spool in which nothing lies."""
    empty = {
        "folder": SPOOL, "learner_running": False, "waiting": 0, "in_work": 0, "archived": 0,
        "playing": 0, "dead": (), "refused": 0, "reasons": (), "games": Games((), (), ()),
    }  # fmt: skip
    return Traffic(**(empty | given))


def book_of(**given: Any) -> Book:
    empty = {
        "rows": (), "learned": frozenset(), "batches": (), "events": (), "update_by_policy": {},
        "entropy": (),
    }  # fmt: skip
    return Book(**(empty | given))


def service_of(book: Book | None = None, **given: Any) -> Service:
    """Return a policy folder that a learner worked on."""
    plain = {
        "folder": Path("a policy"), "pointer": Pointer(STABLE, serial=1), "pointed": 0,
        "trouble": "", "header": None, "history": (), "files": frozenset(),
        "learner_running": False, "book": book, "settings": {},
    }  # fmt: skip
    return Service(**(plain | given))


def batch(games: int, waiting: int, repeated: int = 0) -> BatchRow:
    return BatchRow(1, games, games, 10, 1, 0.1, repeated, 1.0, 1.0, waiting, 0.0)


def played(number: int = 0, **given: Any) -> Recorded:
    """Return a game; what is not a field of its own is said of its header."""
    header = {
        "game_id": f"game {number}", "policy": STABLE, "serial": 1, "candidate": False,
        "crashed": False, "opponent": "", "steps": 10,
    }  # fmt: skip
    header |= {name: given.pop(name) for name in list(given) if name in header}
    plain = {
        "file": f"new/{number}.npz", "content": str(number), "written": 1, "outcome": 1.0,
        "rewarded": False, "own": 10, "free": 10, "surprise": 5.0, "freedom": 10.0,
        "observations": np.zeros((1, 2)),
    }  # fmt: skip
    return Recorded(header=SimpleNamespace(**header), **(plain | given))  # type: ignore[arg-type]


def is_found(finding: object) -> bool:
    return finding is not None


# The learner.


@pytest.mark.parametrize(
    ("waiting", "held", "expected"), [(9, False, False), (10, False, True), (99, True, False)]
)
def test_ten_games_that_wait_miss_a_learner(waiting: int, held: bool, expected: bool) -> None:
    traffic = traffic_of(waiting=waiting, learner_running=held)
    assert is_found(of_learning.learner_absent(traffic, None)) == expected


@pytest.mark.parametrize(
    ("kinds", "taken", "archived", "state"),
    [
        ((), 0, 0, "no learner ever took any"),
        ((), 2, 3, "no learner is running; 5 were taken before"),
        (("started", "stopped", "candidate"), 0, 0, "no learner is running; 0 were taken before"),
        (("started", "stopped", "started", "candidate"), 0, 0, "ended without stopping"),
    ],
)
def test_a_missing_learner_is_told_by_what_it_noted_last(
    kinds: tuple[str, ...], taken: int, archived: int, state: str
) -> None:
    events = tuple(Event(1, 0.0, kind, {}) for kind in kinds)
    traffic = traffic_of(waiting=10, in_work=taken, archived=archived)
    finding = of_learning.learner_absent(traffic, service_of(book_of(events=events)))
    assert finding is not None
    assert state in finding.sentence
    ends = [kind for kind in kinds if kind != "candidate"]
    assert finding.evidence == {
        "waiting": 10, "taken": taken, "archived": archived,
        "last_event": ends[-1] if ends else None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("waiting", "games", "repeated", "first", "second", "count", "expected"),
    [
        (40, 3, 1, 5, 10, 20, True),
        (39, 3, 1, 5, 10, 20, False),  # Less than ten times 3 + 1.
        (40, 3, 1, 6, 11, 20, False),  # Less than twice what waited before.
        (40, 3, 1, 5, 10, 19, False),  # Too few updates to say.
        (10, 0, 0, 5, 10, 20, True),  # Nothing taken counts as one game.
        (9, 0, 0, 5, 10, 20, False),
    ],
)
def test_a_learner_is_behind_at_ten_times_what_it_takes_and_twice_what_waited(
    waiting: int, games: int, repeated: int, first: int, second: int, count: int, expected: bool
) -> None:
    half = count // 2
    # The first half takes far more, which must not count.
    batches = [batch(50, first)] * half + [batch(games, second, repeated)] * (count - half)
    service = service_of(book_of(batches=tuple(batches)))
    finding = of_learning.learner_behind(traffic_of(waiting=waiting, learner_running=True), service)
    assert is_found(finding) == expected
    assert of_learning.learner_behind(traffic_of(waiting=waiting), service) is None
    if finding is not None:
        assert finding.evidence == {
            "waiting": waiting, "games_per_update": games + repeated, "waited_before": first,
            "waited_now": second,
        }  # fmt: skip


@pytest.mark.parametrize(
    ("refused", "unreadable", "gravity"),
    [(0, 0, None), (4, 0, None), (5, 0, "spoils"), (3, 2, "spoils"), (49, 0, "spoils"),
     (50, 0, "stops"), (30, 20, "stops"), (100, 0, "stops")],
)  # fmt: skip
def test_one_refused_file_in_twenty_spoils_and_one_in_two_stops(
    refused: int, unreadable: int, gravity: str | None
) -> None:
    names = tuple((f"{i}.npz", f"The game file '{i}' is refused: old.") for i in range(unreadable))
    rest = 100 - refused
    traffic = traffic_of(
        waiting=rest // 2, in_work=rest // 4, archived=rest - rest // 2 - rest // 4,
        refused=refused, reasons=(("new.", refused),) if refused else (),
        games=Games((), (), names),
    )  # fmt: skip
    finding = of_learning.bad_files(traffic)
    assert (finding.gravity if finding is not None else None) == gravity
    if finding is not None:
        reasons = {"new.": refused} | ({"old.": unreadable} if unreadable else {})
        assert finding.evidence["reasons"] == reasons
        assert finding.evidence["total"] == 100
        assert f"{refused} because new." in finding.sentence
        assert len(finding.evidence["unreadable"]) == min(unreadable, 5)


def test_a_spool_without_files_has_no_bad_ones() -> None:
    assert of_learning.bad_files(traffic_of()) is None


@pytest.mark.parametrize(
    ("games", "stale", "expected"), [(10, 5, True), (10, 4, False), (9, 9, False), (11, 5, False)]
)
def test_half_of_ten_games_too_old_are_found(games: int, stale: int, expected: bool) -> None:
    ages = [*range(100, 100 + stale)]
    rows = [SimpleNamespace(use="stale", staleness=age, distance=age / 1000) for age in ages]
    fresh = SimpleNamespace(use="learned", staleness=0, distance=9.0)
    book = book_of(rows=(*reversed(rows), *[fresh] * (games - stale)))
    service = service_of(book, settings={"staleness": 20, "distance": 0.102})
    finding = of_learning.all_stale(service)
    assert is_found(finding) == expected
    if finding is not None:
        # Of 100 to 104 the middle is 102, and two lie beyond a distance of 0.102.
        assert finding.evidence == {
            "games": 10, "stale": 5, "median": 102, "limit": 20, "far": 2,
            "median_distance": 0.102, "limit_distance": 0.102,
        }  # fmt: skip
        assert "weights 102 or more updates old, and 20 are the most." in finding.sentence


def test_a_distance_without_bounds_is_told_as_the_largest_number() -> None:
    rows = [SimpleNamespace(use="stale", staleness=1, distance=math.inf)] * 10
    finding = of_learning.all_stale(service_of(book_of(rows=tuple(rows))))
    assert finding is not None
    assert math.isfinite(finding.evidence["median_distance"])
    assert finding.evidence["median_distance"] > 1e300
    assert finding.evidence["far"] == 0


def judged(kinds: list[str]) -> Service:
    """Return a service whose book holds a candidate and an event of each kind."""
    events = []
    for kind in kinds:
        body = {"digest": "d" * 64, "games": 3, "stable": STABLE}
        events.append(Event(1, 0.0, "candidate", body))
        events.append(Event(1, 0.0, kind, body | {"reason": "worse"}))
    return service_of(book_of(events=tuple(events)))


@pytest.mark.parametrize(
    ("kinds", "gravity"),
    [
        (["rejected"] * 2, None),
        (["rejected", "void", "vetoed"], "stops"),
        (["superseded"] * 9, None),
        (["superseded"] * 10, "stops"),
        (["rejected"] * 2 + ["superseded"] * 9, None),
        (["rejected"] * 9 + ["published"] + ["rejected"] * 9, None),
        (["rejected", "published"] + ["rejected"] * 10, "doubt"),
        (["published"] + ["superseded"] * 29, None),
        (["published"] + ["superseded"] * 30, "doubt"),
        (["published"] * 2, None),
    ],
)
def test_candidates_that_come_to_nothing_are_counted_since_the_last_publication(
    kinds: list[str], gravity: str | None
) -> None:
    finding = of_learning.gate_never_passes(judged(kinds))
    assert (finding.gravity if finding is not None else None) == gravity
    if finding is None:
        return
    count = len(kinds) - (kinds.index("published") + 1 if "published" in kinds else 0)
    assert finding.evidence["offered"] == finding.evidence["judged"] == count
    assert finding.evidence["published_before"] == kinds.count("published")
    assert finding.evidence["last"] == [{"digest": "d" * 12, "reason": "worse", "games": 3}] * 3
    assert ("since the last publication" in finding.sentence) == ("published" in kinds)


@pytest.mark.parametrize(
    ("learned", "settings", "kinds", "expected"),
    [
        (29, {"gate": {"every": 10}}, [], False),
        (30, {"gate": {"every": 10}}, [], True),
        (30, {"gate": {"every": 10}}, ["candidate"], False),
        (30, {"gate": {"every": 10}}, ["published"], False),
        (30, {"gate": {"every": 10}}, ["vetoed"], False),
        (30, {"gate": {"every": 10}}, ["started", "stopped"], True),
        (30, {"gate": {"every": "ten"}}, [], False),
        (30, {"gate": 10}, [], False),
        (30, {}, [], False),
    ],
)
def test_a_candidate_is_missed_after_three_times_the_games_that_it_takes(
    learned: int, settings: Any, kinds: list[str], expected: bool
) -> None:
    book = book_of(
        learned=frozenset(map(str, range(learned))),
        events=tuple(Event(1, 0.0, kind, {}) for kind in kinds),
        batches=(batch(30, 0),) * 2,
    )
    finding = of_learning.no_candidate(service_of(book, settings=settings))
    assert is_found(finding) == expected
    if finding is not None:
        assert finding.evidence == {"learned": 30, "every": 10, "updates": 2}


def test_five_journals_of_dead_processes_are_named_and_all_are_counted() -> None:
    names = tuple(f"{i}.journal" for i in range(7))
    finding = of_learning.dead_journals(traffic_of(dead=names))
    assert finding is not None
    assert finding.evidence == {"journals": 7, "files": list(names[:5])}


# The games.


@pytest.mark.parametrize(
    ("games", "strangers", "expected"),
    [(40, 2, True), (40, 1, False), (59, 2, True), (60, 2, False), (10, 1, True), (9, 9, False)],
)
def test_a_twentieth_of_games_by_a_policy_from_elsewhere_is_found(
    games: int, strangers: int, expected: bool
) -> None:
    rows = [played(i, policy=STRANGER if i < strangers else STABLE) for i in range(games)]
    finding = of_games.other_policy(rows, service_of(pointed=5))
    assert is_found(finding) == expected
    if finding is not None:
        assert finding.evidence["played"] == {STRANGER: strangers}
        assert (finding.evidence["games"], finding.evidence["wrong"]) == (games, strangers)


@pytest.mark.parametrize(
    ("late", "candidate", "written", "expected"),
    [(30, 0, 6, True), (29, 0, 6, False), (30, 1, 6, False), (30, 0, 5, False)],
)
def test_thirty_games_by_a_policy_of_before_are_found_once_the_pointer_changed(
    late: int, candidate: int, written: int, expected: bool
) -> None:
    old = played(policy=STRANGER, written=written)
    new = played(policy=CANDIDATE, written=6)
    service = service_of(
        pointed=5, files=frozenset({STRANGER}), pointer=Pointer(STABLE, CANDIDATE, 0.5, serial=1)
    )
    finding = of_games.other_policy([old] * late + [new] * candidate, service)
    assert is_found(finding) == expected
    if finding is not None:
        assert finding.evidence["games"] == finding.evidence["wrong"] == 30
        assert finding.evidence["candidate"] == CANDIDATE
        assert len(finding.evidence["files"]) == 5


@pytest.mark.parametrize(
    ("share", "games", "serial", "expected"),
    [(0.9, 9, 1, False), (0.9, 10, 1, True), (0.9, 10, 2, False), (1.0, 10, 1, False),
     (0.0, 10, 1, False), (0.5, 13, 1, False), (0.5, 14, 1, True)],
)  # fmt: skip
def test_a_candidate_is_missed_among_ten_games_of_its_pointer(
    share: float, games: int, serial: int, expected: bool
) -> None:
    service = service_of(pointer=Pointer(STABLE, CANDIDATE, share, serial=1))
    rows = [played(i, serial=serial) for i in range(games)]
    finding = of_games.candidate_never_plays(rows, service)
    assert is_found(finding) == expected
    if finding is not None:
        assert finding.evidence["chance"] == pytest.approx((1 - share) ** games)
        assert len(finding.evidence["ids"]) == 5
        once = [*rows[1:], played(0, serial=serial, candidate=True)]
        assert of_games.candidate_never_plays(once, service) is None


@pytest.mark.parametrize("place", ["waiting", "in_work", "archived", "refused"])
def test_one_file_anywhere_in_a_spool_is_a_game(place: str) -> None:
    assert of_games.no_games(traffic_of(**{place: 1})) is None
    finding = of_games.no_games(traffic_of(playing=2))
    assert finding is not None
    assert finding.evidence == {"waiting": 0, "taken": 0, "archived": 0, "playing": 2}


@pytest.mark.parametrize(
    ("games", "cut", "expected"), [(10, 9, True), (10, 8, False), (9, 9, False), (20, 17, False)]
)
def test_nine_of_ten_games_without_a_result_are_found(games: int, cut: int, expected: bool) -> None:
    rows = [played(i, outcome=None if i < cut else 1.0, crashed=i < 2) for i in range(games)]
    finding = of_games.no_results(rows)
    assert is_found(finding) == expected
    if finding is not None:
        assert finding.evidence == {
            "games": 10, "cut_off": 9, "crashed": 2,
            "files": [f"new/{i}.npz" for i in range(4, 9)],
        }  # fmt: skip
        assert "2 whose process was killed, 7 that were ended without one" in finding.sentence


def test_twenty_games_that_all_pay_the_same_are_found() -> None:
    alike = [played(i, outcome=0.5) for i in range(20)]
    finding = of_games.results_all_alike([*alike, played(20, outcome=None)])
    assert finding is not None
    assert finding.evidence == {"games": 20, "outcome": 0.5, "rewarded": 0}
    assert of_games.results_all_alike(alike[1:]) is None
    assert of_games.results_all_alike([*alike, played(20, outcome=0.25)]) is None
    assert of_games.results_all_alike([*alike, played(20, outcome=None, rewarded=True)]) is None


@pytest.mark.parametrize(
    ("games", "own", "expected"), [(10, 5, True), (10, 6, False), (9, 0, False)]
)
def test_one_own_action_in_twenty_is_too_few(games: int, own: int, expected: bool) -> None:
    rows = [played(i, own=own if i == 0 else 0) for i in range(games)]
    finding = of_games.no_decisions(rows)
    assert is_found(finding) == expected
    if finding is not None:
        assert finding.evidence == {"games": 10, "steps": 100, "own": 5}


@pytest.mark.parametrize(
    ("free", "surprise", "logged", "expected"),
    [
        (10, 0.0199, [], True),
        (10, 0.0201, [], False),
        (9, 0.0, [], False),  # 90 free decisions say nothing.
        (9, 5.0, [0.0099], True),  # And so the learner's book is believed,
        (10, 5.0, [0.0099], False),  # which games are held above.
        (0, 0.0, [0.01], False),
        (0, 0.0, [5.0] + [0.0099] * 10, True),  # The last ten updates alone.
        (0, 0.0, [0.0] * 9 + [0.2], False),
    ],
)
def test_entropy_below_a_hundredth_of_that_of_chance_is_gone(
    free: int, surprise: float, logged: list[float], expected: bool
) -> None:
    """Ten games, each with `free` decisions of two nats of freedom in all."""
    rows = [played(i, free=free, surprise=surprise, freedom=2.0) for i in range(10)]
    service = service_of(book_of(entropy=tuple(enumerate(logged))))
    finding = of_games.entropy_gone(rows, service)
    assert is_found(finding) == expected
    if finding is None:
        return
    assert finding.evidence["free_decisions"] == 10 * free
    seen = surprise / free if 10 * free >= 100 else None
    assert finding.evidence["entropy_played"] == pytest.approx(seen)
    assert finding.evidence["entropy_of_chance"] == (pytest.approx(2 / free) if free else None)
    last = logged[-10:]
    mean = sum(last) / len(last) if last else None
    assert finding.evidence["entropy_of_learner"] == pytest.approx(mean)
    assert (" and " in finding.sentence) == (seen is not None and mean is not None)


def test_thirty_games_against_one_opponent_are_found() -> None:
    named = [played(i, opponent="kiter") for i in range(30)]
    finding = of_games.one_opponent([*named, played(30), played(31)])
    assert finding is not None
    assert finding.evidence == {"games": 30, "opponent": "kiter", "unnamed": 2}
    assert of_games.one_opponent([*named[1:], played(30)]) is None
    assert of_games.one_opponent([*named, played(30, opponent="rusher")]) is None


# What they saw.


def seen_of(games: int = 10, decisions: int = 100, columns: int = 10) -> Seen:
    values = np.random.default_rng(3).uniform(0.5, 1.0, (decisions, columns))
    return Seen(values, np.arange(decisions) % games)


@pytest.mark.parametrize(
    ("games", "decisions", "still", "expected"),
    [(10, 100, 9, True), (10, 100, 8, False), (9, 100, 10, False), (10, 99, 10, False)],
)
def test_observations_of_which_nine_of_ten_numbers_never_change_are_empty(
    games: int, decisions: int, still: int, expected: bool
) -> None:
    seen = seen_of(games, decisions)
    seen.values[:, :still] = 0.5
    seen.values[:, :3] = 0.0
    assert constant_columns(seen).tolist() == [i < still for i in range(10)]
    finding = features_empty(seen, [f"n{i}" for i in range(10)])
    assert is_found(finding) == expected
    if finding is not None:
        assert finding.evidence == {
            "numbers": 10, "constant": 9, "zero": 3, "moving": ["n9"], "decisions": 100,
            "games": 10,
        }  # fmt: skip


@pytest.mark.parametrize(
    ("factor", "expected"), [(10.5, True), (9.5, False), (1 / 10.5, True), (1 / 9.5, False)]
)
def test_a_number_ten_times_larger_or_smaller_is_of_another_scale(
    factor: float, expected: bool
) -> None:
    earlier, now = seen_of(20, 400, 2), seen_of(20, 400, 2)
    now.values[:, 1] *= factor
    findings = against_earlier(earlier, now, ("same", "other"), "training")
    assert [finding.name for finding in findings] == ["features_other_scale"] * expected
    if expected:
        (told,) = findings[0].evidence["features"]
        assert told["name"] == "other"
        assert told["size_now"] / told["size_before"] == pytest.approx(factor)
        # The size is what 95 % of a uniform draw from ½ to 1 stay below.
        assert told["size_before"] == pytest.approx(0.975, abs=0.01)


def test_too_few_games_on_either_side_are_held_against_nothing() -> None:
    few, many = seen_of(9, 400, 2), seen_of(20, 400, 2)
    scaled = [Seen(side.values * 100, side.game) for side in (few, many)]
    assert against_earlier(few, scaled[1], ("a", "b"), "training") == []
    assert against_earlier(many, scaled[0], ("a", "b"), "training") == []
    assert len(against_earlier(many, scaled[1], ("a", "b"), "training")) == 1


def test_a_number_that_was_nearly_always_0_has_no_scale() -> None:
    """Fewer than 30 values that are not 0 say nothing of a size."""
    for values, names in ((29, []), (30, ["features_other_scale"])):
        earlier, now = seen_of(20, 400, 1), seen_of(20, 400, 1)
        earlier.values[values:] = 0.0
        now.values[:] *= 100
        findings = against_earlier(earlier, now, ("a",), "training")
        assert [finding.name for finding in findings] == names


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0.0051, False), (0.0049, True), (19.9, False), (20.1, True), (-20.1, True), (-19.9, False)],
)
def test_a_field_far_from_its_scale_is_found(size: float, expected: bool) -> None:
    """The toy's numbers have a scale of 2, and its phase is a category."""
    header = header_of()
    seen = Seen(np.full((100, 6), 2 * size), np.arange(100) % 10)
    seen.values[:, 0] = 1e6
    finding = against_description(seen, header)
    assert is_found(finding) == expected
    if finding is not None:
        (told,) = finding.evidence["fields"]
        assert (told["name"], told["scale"]) == ("numbers", 2.0)
        assert told["size_scaled"] == pytest.approx(abs(size))
        assert (finding.evidence["decisions"], finding.evidence["games"]) == (100, 10)
    few = Seen(seen.values[:99], seen.game[:99])
    assert against_description(few, header) is None
    assert against_description(Seen(seen.values[:, :5], seen.game), header) is None
