"""What a worker of a fleet does: builds a collector, meets opponents, plays chunks, is saved.

The same object in this process, in a thread, or in a process of its own, so that who launched it
changes no number. Knows nothing of where it runs and of learning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from lanista.games.bots import Player
from lanista.rollout.chunks import Build, Line, Make, Order, Played, Sealed, Weights, opened
from lanista.rollout.collector import Collector, Seating
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.client import RemoteActor
from lanista.rollout.timing import TRANSFER


class CollectWorker:
    """A collector with its opponents, as a worker holds them."""

    collector: Collector

    def __init__(self, line: Line = None) -> None:
        self.line = line
        self.players: dict[Make, Player] = {}

    def build(self, build: Build | Sealed[Build]) -> None:
        self.collector = opened(build)(self.line)

    def meet(
        self, company: tuple[Sequence[Make | Sealed[Make]], Seating | Sealed[Seating]]
    ) -> None:
        makes, seating = [opened(make) for make in company[0]], opened(company[1])
        spec = self.collector.game.spec
        # Somebody who sits there already goes on with the matches in flight.
        self.players = {make: self.players.get(make) or make(spec) for make in makes}
        self.collector.meet([self.players[make] for make in makes], seating)

    def collect(self, order: Order, weights: Weights, *, sends: bool = False) -> Played:
        """Play a chunk; `sends`: what was played lies on the actor's device then."""
        collector = self.collector
        collector.phases.taken()  # What passed since the last chunk was nobody's work.
        actor = collector.actor
        if isinstance(actor, RemoteActor):
            actor.version = order.version
        else:
            take_up(actor, weights)
        collector.update, actor.temperature = order.update, order.temperature
        collector.shaping_scale = order.shaping_scale
        collector.tally.clear()
        unrolls = getattr(collector, order.how)(order.count)
        if isinstance(actor, RemoteActor):
            actor.rest()
        elif sends:
            with collector.phases(TRANSFER):
                unrolls = actor.lane.send(unrolls)
        ended = collector.tally.rows()
        played = Played(unrolls, ended, collector.next_match, *collector.phases.taken())
        return replace(played, measured=collector.measured() or None)

    def seated(self, _: None) -> set[int]:
        """Return the numbers of those who sit in matches in flight."""
        collector = self.collector
        return set(collector.seated.ravel().tolist()) if collector.streaming else set()

    def go_on_from(self, number: int) -> None:
        self.collector.next_match = number

    def save(self, _: None) -> dict[str, Any]:
        return self.collector.save()

    def load(self, saved: Mapping[str, Any]) -> bool:
        self.collector.load(saved)
        return self.collector.streaming

    def close(self) -> None:
        if hasattr(self, "collector"):
            self.collector.close()


def carried(make: Make) -> Make:
    """Return what makes the same opponent on a machine that has none of this one's files."""
    pack: Callable[[], Make] | None = getattr(make, "carried", None)
    return make if pack is None else pack()


def modules_of(actor: Actor) -> list[torch.nn.Module]:
    """Return the networks that an actor plays with."""
    return [actor.policy] if actor.critic is None else [actor.policy, actor.critic]


def weights_of(actor: Actor) -> Weights:
    """Return an actor's weights as they are, not a copy."""
    return [module.state_dict() for module in modules_of(actor)]


def take_up(actor: Actor, weights: Weights) -> None:
    """Let an actor play with these weights, in the tensors it has."""
    with actor.taking_weights():
        for module, state in zip(modules_of(actor), weights, strict=True):
            own = module.state_dict()
            torch._foreach_copy_([own[name] for name in state], list(state.values()))
