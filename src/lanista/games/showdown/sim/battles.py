"""Many battles over several workers, stepped together.

Deals slots out to workers, asks all of them at once, and replaces a worker that dies: its battles
are cut off and the others go on. Knows nothing of observations, policies or scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lanista.games.closing import Closing
from lanista.games.contract import GameError
from lanista.games.showdown.sim.process import Worker, WorkerGoneError
from lanista.games.showdown.sim.views import SEATS, Update, View, lines_for
from lanista.games.streams import Stream

Changes = Sequence[tuple[int, Mapping[str, str]]]
"""For places in a team, counted from 0: words of the simulator's sets and what they become."""

NOTHING = View((), None)
_SEED_PARTS = 4


@dataclass(frozen=True)
class Setup:
    """How a battle begins; the same setup and the same choices give the same battle."""

    slot: int
    format: str
    seed: str
    """The simulator's own seed, such as `simulator_seed` makes."""
    teams: tuple[str, str] | None = None
    """Each seat's packed team; None where the format makes the teams itself."""
    team_seeds: tuple[str, str] | None = None
    """Where the format makes the teams: the seed of each; equal seeds give equal teams."""
    choices: tuple[tuple[int, str], ...] = ()
    """Choices (seat, text) to be made at once: how a saved battle is loaded."""
    changes: Mapping[int, Changes] = field(default_factory=dict)
    """By seat: what is to be put otherwise in its team, such as another Tera type."""

    def message(self) -> dict[str, Any]:
        """Return the setup as the worker reads it."""
        key, teams_or_seeds = ("team", self.teams) if self.teams else ("seed", self.team_seeds)
        if teams_or_seeds is None:
            raise GameError(f"A battle of {self.format} needs teams or seeds for them.")
        players: list[dict[str, Any]] = [{key: value} for value in teams_or_seeds]
        for seat, changes in self.changes.items():
            players[seat]["changes"] = changes
        head = {"slot": self.slot, "format": self.format, "seed": self.seed}
        return {**head, "players": players, "choices": self.choices}


def simulator_seed(stream: Stream) -> str:
    """Draw a seed for the simulator: 64 bits, for the generator that it calls Gen 5."""
    word = stream.next_word()
    return ",".join(str(word >> 16 * at & 0xFFFF) for at in reversed(range(_SEED_PARTS)))


class Battles(Closing):
    """Battles in numbered slots, any number at a time."""

    def __init__(self, workers: int = 1, *, plain: bool = False) -> None:
        """Start the workers; `plain` leaves the simulator's speed-ups out."""
        if workers < 1:
            raise GameError(f"{workers} Showdown workers cannot run a battle; give 1 or more.")
        self._plain = plain
        self._workers: list[Worker] = []
        self._running: set[int] = set()
        self._lost: list[Update] = []
        """Battles found cut off when nobody could be told; the next answer tells."""
        self.restarts = 0
        try:
            for _ in range(workers):
                self._workers.append(Worker(plain=plain))
        except BaseException:
            self.close()
            raise

    @property
    def simulator_version(self) -> str:
        """The version of the npm package that the workers run."""
        return str(self._workers[0].about["simulator"])

    def start(self, setups: Sequence[Setup]) -> list[Update]:
        """Begin battles, leaving what was played in their slots."""
        shares: list[list[Any]] = [[] for _ in self._workers]
        for setup in setups:
            shares[self._home(setup.slot)].append(setup.message())
            self._running.add(setup.slot)
        fresh = {setup.slot for setup in setups}
        self._lost = [update for update in self._lost if update.slot not in fresh]
        return self._ask("start", "battles", shares)

    def choose(self, choices: Iterable[tuple[int, int, str]]) -> list[Update]:
        """Make choices (slot, seat, text); a battle moves on once nobody is waited for."""
        shares: list[list[Any]] = [[] for _ in self._workers]
        for slot, seat, text in choices:
            if any(update.slot == slot for update in self._lost):
                continue
            if slot not in self._running:
                raise GameError(f"No battle is running in slot {slot}; start one first.")
            if seat not in range(SEATS):
                raise GameError(f"A battle has seats 0 and 1, not {seat}.")
            shares[self._home(slot)].append((slot, seat, text))
        return self._ask("choose", "choices", shares)

    def drop(self, slots: Iterable[int]) -> None:
        """Leave battles unfinished."""
        shares: list[list[Any]] = [[] for _ in self._workers]
        for slot in slots:
            shares[self._home(slot)].append(slot)
            self._running.discard(slot)
        self._lost = self._ask("drop", "slots", shares)

    def reseed(self, slot: int, seed: str) -> None:
        """Throw other dice in a battle from now on."""
        shares: list[list[Any]] = [[] for _ in self._workers]
        shares[self._home(slot)].append((slot, seed))
        self._lost = self._ask("reseed", "seeds", shares)

    def validate(self, format: str, teams: Sequence[str]) -> list[tuple[str, list[str]]]:
        """Return each team text packed, and what the simulator has against it."""
        message = {"do": "validate", "format": format, "teams": teams}
        try:
            answer = self._workers[0].ask(message)
        except WorkerGoneError as error:
            raise GameError(
                f"The Showdown worker ended while it looked at teams: {error}"
            ) from error
        return [(team["packed"], team["problems"]) for team in answer["teams"]]

    def usage(self) -> tuple[float, int]:
        """Return the CPU seconds the workers have used and their memory in bytes, all together."""
        answers = [worker.ask({"do": "usage"}) for worker in self._workers]
        return sum(answer["cpu_seconds"] for answer in answers), sum(
            answer["rss"] for answer in answers
        )

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.close()
        self._workers.clear()
        self._running.clear()

    def _home(self, slot: int) -> int:
        return slot % len(self._workers)

    def _ask(self, command: str, key: str, shares: list[list[Any]]) -> list[Update]:
        """Send every worker its share before waiting for any; return updates by slot."""
        waiting, updates, self._lost = [], self._lost, []
        for at, share in enumerate(shares):
            if share:
                try:
                    self._workers[at].send({"do": command, key: share})
                    waiting.append(at)
                except WorkerGoneError as error:
                    updates += self._replace(at, error)
        for at in waiting:
            try:
                answer = self._workers[at].receive()
                updates += [_read_update(entry) for entry in answer.get("updates", ())]
            except WorkerGoneError as error:
                updates += self._replace(at, error)
        self._running -= {update.slot for update in updates if update.ended or update.cut_off}
        return sorted(updates, key=lambda update: update.slot)

    def _replace(self, at: int, error: WorkerGoneError) -> list[Update]:
        self._workers[at].close()
        self._workers[at] = Worker(plain=self._plain)
        self.restarts += 1
        lost = [slot for slot in self._running if self._home(slot) == at]
        return [_cut_off(slot, f"the Showdown worker is gone: {error}") for slot in lost]


def _cut_off(slot: int, reason: str) -> Update:
    return Update(slot, (NOTHING, NOTHING), cut_off=True, reason=reason)


def _read_update(entry: dict[str, Any]) -> Update:
    if "error" in entry:
        return _cut_off(entry["slot"], entry["error"])
    requests = entry.get("requests", (None,) * SEATS)
    refused = entry.get("refused", ("",) * SEATS)
    first, second = (
        View(lines_for(entry["log"], seat), requests[seat], refused[seat]) for seat in range(SEATS)
    )
    ended = entry.get("ended", False)
    return Update(entry["slot"], (first, second), ended, entry.get("winner", -1))
