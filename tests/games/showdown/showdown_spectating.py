"""Battles of bots as a spectator's log tells them, beside what was really seen and chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from showdown_matches import player, step

from lanista.games.showdown.formats import Format, format_named
from lanista.games.showdown.game import Showdown
from lanista.games.showdown.observation.description import observation_of
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.sim.battles import Setup
from lanista.games.showdown.sim.process import Worker
from lanista.games.showdown.sim.views import SEATS, Request, lines_for
from lanista.games.showdown.spectating.logs import Log, read_log
from lanista.games.showdown.spectating.spectator import (
    Bring,
    Move,
    Order,
    Pass,
    Revive,
    Switch,
    Told,
)

MARK = "|t:|1700000000"
Said = Sequence[tuple[int, str]]
"""Choices in the order in which they were made: seat and words."""


@dataclass(frozen=True)
class Chosen:
    """One choice that a seat really made, and what it knew."""

    seat: int
    request: Request
    text: str
    empty: tuple[bool, ...]
    """Which of the opponent's places had nobody standing there."""
    observation: NDArray[Any]


@dataclass
class Watched:
    """A battle as a spectator's log, and the truth."""

    format: Format
    lines: list[str] = field(default_factory=list)
    chosen: list[Chosen] = field(default_factory=list)

    def log(self, name: str = "battle") -> Log:
        return read_log("\n".join(self.lines), name)

    def of(self, seat: int) -> list[Chosen]:
        return [each for each in self.chosen if each.seat == seat]


def bot_battles(
    format: str, bots: Sequence[str], count: int, seed: int = 1, **settings: Any
) -> Iterator[tuple[Setup, Said]]:
    """Play battles of two bots; yield each with what was said."""
    game = Showdown(min(count, 16), seed=seed, format=format, **settings)
    try:
        players = [player(game, name, seed + at) for at, name in enumerate(bots)]
        for first in range(0, count, game.slots):
            slots = list(range(min(game.slots, count - first)))
            game.start(slots, [first + slot for slot in slots])
            while len(game.decisions()):
                step(game, players)
            for slot in slots:
                match = game._matches[slot]
                assert match is not None
                yield match.setup, [(seat, text) for _, seat, text in match.choice_texts]
    finally:
        game.close()


def watch(worker: Worker, setup: Setup, said: Said) -> Watched:
    """Play a battle again and keep what a spectator is told, with the marks that a server sets."""
    watched = Watched(format_named(setup.format))
    trackers = [Tracker(watched.format, seat) for seat in range(SEATS)]
    waiting = list(reversed(said))
    update = worker.ask({"do": "start", "battles": [setup.message()]})["updates"][0]
    _hear(watched, trackers, update)
    while not update.get("ended"):
        asked = update["requests"]
        made = []
        for seat in range(SEATS):
            if not asked[seat].get("wait"):
                by, text = waiting.pop()
                assert by == seat
                made.append(_chosen(trackers[seat], asked, seat, text))
        choices = [(setup.slot, each.seat, each.text) for each in made]
        update = worker.ask({"do": "choose", "choices": choices})["updates"][0]
        # A choice that was refused did not stand: what counts is the one that follows.
        refused = update.get("refused", ("", ""))
        watched.chosen += [each for each in made if not refused[each.seat]]
        _hear(watched, trackers, update)
    assert not waiting
    return watched


def _chosen(tracker: Tracker, asked: Sequence[Request], seat: int, text: str) -> Chosen:
    tracker.ask(asked[seat])
    row = np.zeros(observation_of(tracker.format).length, np.int16)
    tracker.encode(row)
    foes = asked[1 - seat]["side"]["pokemon"][: 2 if tracker.format.doubles else 1]
    empty = tuple(mon["condition"].endswith(" fnt") for mon in foes)
    return Chosen(seat, asked[seat], text, empty, row)


def _hear(watched: Watched, trackers: Sequence[Tracker], update: dict[str, Any]) -> None:
    for seat, tracker in enumerate(trackers):
        tracker.hear(lines_for(update["log"], seat))
    marked = False
    for line in lines_for(update["log"], SEATS):
        watched.lines.append(line or "|")
        if line in ("", "|") and not marked:
            watched.lines.append(MARK)
            marked = True


def is_true(order: Order, slot: int, chosen: Chosen, told: Told) -> bool:
    """Return whether an order that is claimed is the one that was chosen."""
    if isinstance(order, Bring):
        team = [int(letter) - 1 for letter in chosen.text.removeprefix("team ")]
        return (set(team[:2]), set(team[2:4])) == (set(order.leaders), set(order.others))
    words = chosen.text.split(", ")[slot].split()
    if isinstance(order, Pass):
        return words == ["pass"]
    if isinstance(order, Switch | Revive):
        who = chosen.request["side"]["pokemon"][int(words[1]) - 1]["ident"].partition(": ")[2]
        return words[0] == "switch" and who == told.battle.sides[chosen.seat].mons[order.mon].name
    assert isinstance(order, Move)
    if words[0] != "move":
        return False
    moves = chosen.request["active"][slot]["moves"]
    move = moves[int(words[1]) - 1]["id"]
    if order.alone:
        return move == order.move and len(moves) == 1
    target = next((int(word) for word in words[2:] if word.lstrip("-").isdigit()), 0)
    if target > 0 and chosen.empty[target - 1]:
        target = 3 - target  # Aimed at nobody, it goes for the one who stands.
    return (move, target, "terastallize" in words) == (order.move, order.target, order.tera)


def hides_a_disguise(setup: Setup, worker: Worker) -> bool:
    """Return whether a team has somebody who can look like another; no log need ever tell."""
    first = worker.ask({"do": "start", "battles": [setup.message()]})["updates"][0]
    worker.ask({"do": "drop", "slots": [setup.slot]})
    return any(
        mon["baseAbility"] == "illusion"
        for request in first["requests"]
        for mon in request["side"]["pokemon"]
    )
