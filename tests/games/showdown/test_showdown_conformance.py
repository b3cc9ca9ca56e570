"""A battle on a real server and the same battle in our worker are one battle.

The server writes what was chosen; our worker, with its speed-ups, plays that again. Left out of
the comparison are the time of day, who comes and goes, and the players' pictures: the worker has
none of them. The dice are the server's own, so every run plays other battles; an assertion names
the file that the server wrote of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from showdown_lines import encoded
from showdown_play import MAIN_FORMATS, needs_simulator
from showdown_rare_teams import FORMAT as RARE_FORMAT
from showdown_rare_teams import TEAMS as RARE_TEAMS

from lanista.games.showdown.actions.orders import orders_of
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.local_servers.server import Server
from lanista.games.showdown.observation.description import previews_of, write_mask
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.sim.process import Worker
from lanista.games.showdown.sim.views import SEATS, Request, Update
from lanista.games.showdown.teams.pool import EXAMPLES, load_pool
from lanista.games.streams import Stream

pytest.importorskip("websockets", reason="websockets is missing; it comes with poke-env")
from showdown_clients import Recorded, play_on

pytestmark = needs_simulator

FEW = 3
MANY = 100
NOT_OF_THE_BATTLE = ("|t:|", "|j|", "|l|", "|init|", "|title|")
"""The time of day; who comes and goes; what opens a room's window."""


class Ground:
    """A server with our worker beside it, and the battles played there."""

    def __init__(self, server: Server, battles: Battles) -> None:
        self.server, self.battles = server, battles
        self._played: dict[tuple[str, int], list[Recorded]] = {}

    def played(self, format: str, count: int) -> list[Recorded]:
        """Return battles of a format; the same ones whoever asks."""
        key = format, count
        if key not in self._played:
            self._played[key] = play_on(self.server, format, self.teams(format, count), seed=1)
        return self._played[key]

    def teams(self, format: str, count: int) -> list[tuple[str, str]]:
        if not format_named(format).brings_team:
            return [("", "")] * count
        pool, stream = load_pool(EXAMPLES, format, self.battles), Stream.keyed(1, 0, 0, "chance")
        drawn = [pool.draw(stream) for _ in range(count)]
        return [(first.packed, second.packed) for first, second in drawn]

    def rare(self, count: int) -> list[Recorded]:
        """Return battles in which rare things happen."""
        key = "rare", count
        if key not in self._played:
            told = self.battles.validate(RARE_FORMAT, RARE_TEAMS)
            assert [problems for _, problems in told] == [[] for _ in RARE_TEAMS]
            packed, stream = [each for each, _ in told], Stream.keyed(2, 0, 0, "chance")
            teams = [(stream.choice(packed), stream.choice(packed)) for _ in range(count)]
            self._played[key] = play_on(self.server, RARE_FORMAT, teams, seed=2)
        return self._played[key]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("server")
    with Server(folder, keep_battles=True) as server, Battles() as battles:
        yield Ground(server, battles)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


def of_the_battle(lines: Sequence[str]) -> list[str]:
    """Return what the simulator said, without the players' pictures."""
    kept = [line for line in lines if line and not line.startswith(NOT_OF_THE_BATTLE)]
    return ["|".join(_bare(line.split("|"))) for line in kept]


def _bare(parts: list[str]) -> list[str]:
    return [*parts[:4], ""] if parts[1] == "player" else parts


def seen_by_all(log: Sequence[str]) -> list[str]:
    """Return a log with every secret told: the line after `|split|`, not the one after that."""
    seen, at = [], 0
    while at < len(log):
        secret = log[at].startswith("|split|")
        seen.append(log[at + secret])
        at += 3 if secret else 1
    return seen


def check_the_log(worker: Worker, recorded: Recorded) -> None:
    (update,) = worker.ask({"do": "start", "battles": [recorded.setup().message()]})["updates"]
    assert update.get("ended"), (recorded.file, update.get("error"))
    ours, servers = seen_by_all(update["log"]), recorded.kept["log"]
    assert of_the_battle(ours) == of_the_battle(servers), recorded.file
    names = [recorded.kept["p1"], recorded.kept["p2"]]
    won = names.index(recorded.kept["winner"]) if recorded.kept["winner"] else -1
    assert update["winner"] == won, recorded.file


class Retold:
    """A battle of the server played again in the worker, each step beside the server's."""

    def __init__(self, ground: Ground, recorded: Recorded) -> None:
        self.battles, self.recorded = ground.battles, recorded
        setup = recorded.setup()
        self.format = format_named(setup.format)
        belief = Belief.of_teams(setup.teams) if setup.teams else None
        self.ours, self.servers = (
            [Tracker(self.format, seat, belief) for seat in range(SEATS)] for _ in range(2)
        )
        self.lines: list[list[str]] = [[], []]
        """By seat: what the worker said since the seat was last asked."""
        self.events = [iter(events) for events in recorded.events]
        self.choices = [iter(choices) for choices in recorded.choices]
        self.decisions = 0

    def play(self) -> None:
        """Play it to its end; every decision, line and request must agree."""
        (update,) = self.battles.start([replace(self.recorded.setup(), choices=())])
        while not update.ended:
            assert not update.cut_off, (self.recorded.file, update.reason)
            (update,) = self.battles.choose(self.answers(update))
        for seat, view in enumerate(update.views):
            self.lines[seat] += view.lines
            self.meet(seat, None)
        assert [list(rest) for rest in (*self.events, *self.choices)] == [[]] * 2 * SEATS

    def answers(self, update: Update) -> list[tuple[int, int, str]]:
        """Return what the players on the server chose here."""
        found = []
        for seat, view in enumerate(update.views):
            self.lines[seat] += view.lines
            self.ours[seat].hear(view.lines)
            assert view.request is not None
            self.ours[seat].ask(view.request)
            if not view.waits:
                self.meet(seat, view.request)
                found.append((update.slot, seat, next(self.choices[seat])))
        return found

    def meet(self, seat: int, request: Request | None) -> None:
        """Let the server's player come to where the worker's is, and compare all they have."""
        heard: list[str] = []
        for lines, asked in self.events[seat]:
            heard += lines
            self.servers[seat].hear(lines)
            if asked is not None:
                self.servers[seat].ask(asked)
            if asked is None or not asked.get("wait"):
                break
        file = self.recorded.file
        assert of_the_battle(heard) == of_the_battle(self.lines[seat]), file
        self.lines[seat] = []
        assert (asked is None) == (request is None), file
        if asked is not None and request is not None:
            told = {key: value for key, value in asked.items() if key != "rqid"}
            assert told == request, file
            self.compare(seat, told, request)

    def compare(self, seat: int, *requests: Request) -> None:
        """Compare observation and mask, entry by entry."""
        assert not self.servers[seat].strange
        rows = [encoded(each[seat]) for each in (self.servers, self.ours)]
        np.testing.assert_array_equal(*rows, err_msg=str(self.recorded.file))
        orders, previews = orders_of(self.format), previews_of(self.format)
        masks = np.zeros((2, previews + orders.size), np.bool_)
        for request, mask in zip(requests, masks, strict=True):
            write_mask(request, orders, previews, mask)
        np.testing.assert_array_equal(*masks, err_msg=str(self.recorded.file))
        self.decisions += 1


@pytest.mark.parametrize("format", MAIN_FORMATS)
def test_the_workers_log_is_the_servers_line_by_line(
    ground: Ground, worker: Worker, format: str
) -> None:
    for recorded in ground.played(format, FEW):
        check_the_log(worker, recorded)


HELPLESS = {
    "Bellossom": "Chlorophyll", "Incineroar": "Intimidate", "Amoonguss": "Regenerator",
    "Flutter Mane": "Protosynthesis",
}  # fmt: skip
"""Species and ability; who knows one move alone has none left when that is imprisoned."""
JAILERS = {
    "Gardevoir": "Trace", "Gothitelle": "Shadow Tag", "Hatterene": "Magic Bounce",
    "Delphox": "Blaze",
}  # fmt: skip


def of_all(team: Mapping[str, str], moves: Sequence[str]) -> str:
    """Return a team in which everybody knows the same moves."""
    known = "".join(f"- {move}\n" for move in moves)
    each = (f"{name}\nAbility: {ability}\nLevel: 50\nEVs: 4 HP\n" for name, ability in team.items())
    return "\n".join(words + known for words in each)


def test_a_struggle_that_imprison_forces_is_played_again_by_what_was_sent(
    ground: Ground, worker: Worker
) -> None:
    teams = [of_all(HELPLESS, ("Protect",)), of_all(JAILERS, ("Imprison", "Protect"))]
    told = ground.battles.validate(RARE_FORMAT, teams)
    assert [problems for _, problems in told] == [[], []]
    pair = [packed for packed, _ in told]
    (recorded,) = play_on(ground.server, RARE_FORMAT, [pair], seed=3)
    assert any("move struggle" in line for line in recorded.kept["inputLog"])
    check_the_log(worker, recorded)


@pytest.mark.parametrize("format", MAIN_FORMATS)
def test_both_seats_see_and_may_do_the_same_on_the_server_and_in_the_worker(
    ground: Ground, format: str
) -> None:
    for recorded in ground.played(format, FEW):
        retold = Retold(ground, recorded)
        retold.play()
        assert retold.decisions == sum(map(len, recorded.choices)) > 10


def test_refused_choices_revivals_and_commanders_are_the_same_too(
    ground: Ground, worker: Worker
) -> None:
    for recorded in ground.rare(2 * FEW):
        check_the_log(worker, recorded)
        Retold(ground, recorded).play()


@pytest.mark.slow
@pytest.mark.parametrize("format", MAIN_FORMATS)
def test_a_hundred_battles_of_a_format_are_the_same(
    ground: Ground, worker: Worker, format: str
) -> None:
    for recorded in ground.played(format, MANY):
        check_the_log(worker, recorded)
        Retold(ground, recorded).play()


@pytest.mark.slow
def test_a_hundred_rare_battles_are_the_same(ground: Ground, worker: Worker) -> None:
    battles = ground.rare(MANY)
    for recorded in battles:
        check_the_log(worker, recorded)
        Retold(ground, recorded).play()
    assert sum(recorded.refused for recorded in battles)
