"""One battle in a slot: what each seat has been told, is asked and has answered.

Turns answers into the simulator's words and reads the two sides' state off their requests. Knows
nothing of workers and of other matches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lanista.games.showdown.actions.orders import Orders, fainted, preview_text
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.sim.battles import Setup
from lanista.games.showdown.sim.views import SEATS, Request, Update, View


@dataclass(eq=False)
class Told:
    """Everything one seat of a match was told. No two are equal, so it may stand for its match."""

    views: list[View] = field(default_factory=list)
    """Oldest first; the last ends with what the seat is asked now."""


@dataclass(eq=False)
class Match:
    """One match in a slot."""

    id: int
    deal: int
    setup: Setup
    """Its `slot` is the battle's number at the workers, which no other battle ever has."""
    knowing: tuple[Tracker, Tracker]
    """What each seat knows, as far as anybody has asked; see `tracker`."""
    turn: int = 0
    playing: bool = True
    requests: list[Request] = field(default_factory=lambda: [{"wait": True}] * SEATS)
    """What each seat was asked last."""
    answers: dict[int, int] = field(default_factory=dict)
    """What seats have answered while others are waited for: the choice of the head asked."""
    history: list[tuple[int, int, int]] = field(default_factory=list)
    """Every answer so far: turn, seat, choice."""
    choice_texts: list[tuple[int, int, str]] = field(default_factory=list)
    """The same in the simulator's words."""
    transcripts: tuple[Told, Told] = field(default_factory=lambda: (Told(), Told()))
    """What each seat was told, for bots that keep track in their own way."""
    taken_in: list[int] = field(default_factory=lambda: [0] * SEATS)
    """How much of that each seat's tracker has heard."""
    redrawn: bool = False
    """What was hidden has been redrawn, so that the deal no longer tells the battle."""

    def asks(self, seat: int) -> bool:
        """Return whether a seat has something to choose and has not answered."""
        return self.playing and seat not in self.answers and not self.waits(seat)

    def waits(self, seat: int) -> bool:
        """Return whether a seat has nothing to choose."""
        return bool(self.requests[seat].get("wait"))

    @property
    def is_ready(self) -> bool:
        """Whether everybody that is asked has answered."""
        return all(self.waits(seat) or seat in self.answers for seat in range(SEATS))

    def take(self, update: Update) -> None:
        """Hand each seat what it was told."""
        for seat, view in enumerate(update.views):
            self.transcripts[seat].views.append(view)
            if view.request is not None:
                self.requests[seat] = view.request

    def tracker(self, seat: int) -> Tracker:
        """Return what a seat knows now; lines are read when somebody asks, as many bots do not."""
        tracker, views = self.knowing[seat], self.transcripts[seat].views
        for view in views[self.taken_in[seat] :]:
            if view.lines:
                tracker.hear(view.lines)
            if view.request is not None:
                tracker.ask(view.request)
        self.taken_in[seat] = len(views)
        return tracker

    @property
    def trackers(self) -> tuple[Tracker, Tracker]:
        """What each seat knows now."""
        return self.tracker(0), self.tracker(1)

    def forget(self, knowing: tuple[Tracker, Tracker]) -> None:
        """Begin again with what the seats were told and know."""
        self.knowing, self.transcripts, self.taken_in = knowing, (Told(), Told()), [0] * SEATS

    def words(self, orders: Orders) -> list[tuple[int, str]]:
        """Return the answers as the simulator reads them, and put them down in the history."""
        choice_texts = []
        for seat, choice in sorted(self.answers.items()):
            request = self.requests[seat]
            preview = request.get("teamPreview")
            text = preview_text(choice) if preview else orders.text(request, choice)
            choice_texts.append((seat, text))
            self.history.append((self.turn, seat, choice))
            self.choice_texts.append((self.turn, seat, text))
        self.answers = {}
        return choice_texts

    def material(self) -> list[float]:
        """Return for each seat the share of its HP and of its Pokémon that is left, halved."""
        return [_left(request["side"]["pokemon"]) for request in self.requests]

    def standing(self, end: Update) -> list[int]:
        """Return how many Pokémon each seat has left once the battle has ended."""
        counts = []
        for seat, request in enumerate(self.requests):
            alive = sum(not fainted(mon) for mon in request["side"]["pokemon"])
            fell = f"|faint|p{seat + 1}"
            # Whoever is revived is so before a request, and none has come since.
            counts.append(alive - sum(line.startswith(fell) for line in end.views[seat].lines))
        return counts


def _left(party: list[dict[str, Any]]) -> float:
    total = 0.0
    for mon in party:
        health = mon["condition"].partition(" ")[0]
        now, _, most = health.partition("/")
        if most and int(now):
            total += 0.5 + 0.5 * int(now) / int(most)
    return total / max(len(party), 1)
