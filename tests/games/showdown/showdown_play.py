"""Plays battles at random through the workers and keeps everything that was said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from showdown_teams import ODD_TEAMS

from lanista.games.contract import GameError
from lanista.games.showdown.actions.orders import legal_previews, orders_of, preview_text
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.install import find, find_node
from lanista.games.showdown.sim.battles import Battles, Setup, simulator_seed
from lanista.games.showdown.sim.views import Request, Update
from lanista.games.showdown.teams.pool import EXAMPLES, load_pool
from lanista.games.streams import Stream

MAIN_FORMATS = (
    *("gen9vgc2025regi", "gen9vgc2024regg", "gen9randombattle", "gen9randomdoublesbattle"),
)

ODD_FORMAT = "gen9vgc2025regi"


def missing() -> str:
    """Return what is missing to run a worker, or nothing."""
    try:
        find_node()
        find()
    except GameError as error:
        return str(error)
    return ""


needs_simulator = pytest.mark.skipif(bool(missing()), reason=missing() or "it is there")


@dataclass
class Told:
    """All that one battle told and was told."""

    setup: Setup
    updates: list[Update] = field(default_factory=list)
    choices: list[tuple[int, str]] = field(default_factory=list)
    asked: list[tuple[int, Request, int]] = field(default_factory=list)
    """For each decision: the seat, its request, and how many choices had been made before."""

    @property
    def end(self) -> Update:
        return self.updates[-1]


def setups(battles: Battles, format: str, count: int, seed: int = 1) -> list[Setup]:
    """Return battles of a format, with example teams where teams are brought."""
    pool = load_pool(EXAMPLES, format, battles) if format_named(format).brings_team else None
    found = []
    for slot in range(count):
        stream = Stream.keyed(seed, slot, 0, "chance")
        own = simulator_seed(stream)
        if pool:
            first, second = pool.draw(stream)
            found.append(Setup(slot, format, own, teams=(first.packed, second.packed)))
        else:
            made = (simulator_seed(stream), simulator_seed(stream))
            found.append(Setup(slot, format, own, team_seeds=made))
    return found


def odd_setups(battles: Battles, count: int) -> list[Setup]:
    """Return battles between teams that bring about what rarely happens."""
    packed = [team for team, _ in battles.validate(ODD_FORMAT, list(ODD_TEAMS.values()))]
    found = []
    for slot in range(count):
        stream = Stream.keyed(3, slot, 0, "chance")
        teams = (stream.choice(packed), stream.choice(packed))
        found.append(Setup(slot, ODD_FORMAT, simulator_seed(stream), teams=teams))
    return found


def pick(format: str, request: Request, stream: Stream) -> str:
    """Return a random legal choice."""
    if request.get("teamPreview"):
        legal = legal_previews(request).nonzero()[0]
        return preview_text(int(legal[stream.below(len(legal))]))
    orders = orders_of(format_named(format))
    legal = orders.legal(request).nonzero()[0]
    return orders.text(request, int(legal[stream.below(len(legal))]))


def play(battles: Battles, wanted: Sequence[Setup], at_once: int = 16) -> Iterator[Told]:
    """Play battles at random, `at_once` side by side; yield each as it ends."""
    waiting = list(reversed(wanted))
    running: dict[int, tuple[Told, Stream]] = {}

    def begin() -> list[Update]:
        fresh = [waiting.pop() for _ in range(min(at_once - len(running), len(waiting)))]
        for setup in fresh:
            running[setup.slot] = Told(setup), Stream.keyed(7, setup.slot, 0, "act")
        return battles.start(fresh)

    updates = begin()
    while updates:
        choices: list[tuple[int, int, str]] = []
        for update in updates:
            told, stream = running[update.slot]
            told.updates.append(update)
            if update.ended or update.cut_off:
                del running[update.slot]
                yield told
                continue
            choices += _answers(told, update, stream)
        updates = battles.choose(choices) + begin()


def _answers(told: Told, update: Update, stream: Stream) -> list[tuple[int, int, str]]:
    before, answers = len(told.choices), []
    for seat, view in enumerate(update.views):
        if not view.waits:
            assert view.request is not None
            text = pick(told.setup.format, view.request, stream)
            told.asked.append((seat, view.request, before))
            told.choices.append((seat, text))
            answers.append((update.slot, seat, text))
    return answers


def said(told: Told) -> list[Any]:
    """Return everything both players were told, comparable."""
    return [(update.views, update.ended, update.winner) for update in told.updates]
