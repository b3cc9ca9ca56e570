"""Sets up what a learner plays with: torch, the device, and a game with the learner at it.

Here or in a process of its own, from the same settings. Knows nothing of iterations and updates.
"""

from __future__ import annotations

import io
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from lanista.errors import LanistaError
from lanista.files import write_bytes
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Spec
from lanista.learn.learner import PRECISIONS
from lanista.learn.update.minibatches import cut_there
from lanista.nets.files.policy_file import load_policy
from lanista.nets.policy import Critic, Policy
from lanista.rollout.bot_threads import bot_threads
from lanista.rollout.chunks import Line
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.client import RemoteActor
from lanista.rollout.launchers.plan import Desk
from lanista.rollout.teacher import Teacher
from lanista.rollout.timing import Phases
from lanista.runs.folder import bot_path, policy_path
from lanista.runs.players import make_player, refuse_other
from lanista.runs.settings import RunSettings


@dataclass(frozen=True)
class Elsewhere:
    """Makes an opponent in another process."""

    settings: RunSettings
    folder: Path
    name: str
    digest: str
    """Of a policy or of a bot's file; empty: a bot of the game."""
    file: str = ""
    """Its place in the run's folder, and"""
    data: bytes = b""
    """what lies there, for a machine that has no such folder."""

    def __call__(self, spec: Spec) -> Player:
        if not self.data:
            return self._made(spec, self.folder)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / self.file
            path.parent.mkdir()
            write_bytes(path, self.data)
            return self._made(spec, Path(folder))

    def carried(self) -> Elsewhere:
        """Return the same with its file's content; bots of the game have none."""
        if not self.digest:
            return self
        bot = bot_path(self.folder, self.digest)
        path = bot if bot.is_file() else policy_path(self.folder, self.digest)
        file = path.relative_to(self.folder).as_posix()
        return replace(self, file=file, data=path.read_bytes())

    def _made(self, spec: Spec, folder: Path) -> Player:
        settings, device = self.settings, device_of(self.settings)
        arguments = (settings, self.name, self.digest, spec, folder, settings.seed)
        return make_player(*arguments, device=device)

    def __hash__(self) -> int:
        return hash((self.name, self.digest))


def actor_of(settings: RunSettings, policy: Policy, critic: Critic | None) -> Actor:
    """Return what plays for a learner."""
    refuse_graphs(settings)
    precision = PRECISIONS[settings.learning.precision]
    graphs, log_probs = settings.rollouts.graphs, settings.learning.needs("behaviour_log_probs")
    options: dict[str, Any] = {"precision": precision, "graphs": graphs, "log_probs": log_probs}
    return Actor(policy, settings.seed, critic, **options)


def refuse_graphs(settings: RunSettings) -> None:
    """Refuse to record the work of networks that play on the CPU, where nothing can be."""
    rollouts = settings.rollouts
    if not rollouts.graphs:
        return
    if device_of(settings) == "cpu":
        raise LanistaError(
            f"rollouts.graphs is true, and the networks run on the CPU (device is "
            f"{settings.device}); set rollouts.graphs to false, or device to cuda on a GPU."
        )
    if rollouts.on_cpu and rollouts.inference == "worker":
        shared = "" if rollouts.remote else "rollouts.processes_on_gpu to true, "
        raise LanistaError(
            "rollouts.graphs is true, and processes play on the CPU; set rollouts.graphs to false, "
            f"{shared}or rollouts.launcher to threads."
        )


def collector_of(settings: RunSettings, actor: Actor | RemoteActor, first_match: int) -> Collector:
    """Return a game with a learner at it, as the settings want it."""
    rollouts, learning = settings.rollouts, settings.learning
    game_settings = {"seed": settings.seed, **settings.game_settings}
    spec = registry.spec_of(settings.game, **game_settings)
    if rollouts.lost_again and not spec.abilities.seedable:
        raise LanistaError(
            f"rollouts.lost_again is {rollouts.lost_again}, and {spec.name} cannot deal a match "
            "again; leave it out."
        )
    teacher = None
    if learning.needs("teacher") and rollouts.teacher:
        bot = registry.make_bot(settings.game, rollouts.teacher, spec, settings.seed)
        teacher = Teacher(bot, spec)
    collector = Collector(
        registry.make(settings.game, slots=rollouts.resolved_slots(spec.seats), **game_settings),
        actor,
        unroll_length=rollouts.unroll_length,
        draw=rollouts.draw,
        keep_log_probs=learning.needs("behaviour_log_probs"),
        keep_privileged=learning.critic_sees == "privileged",
        teacher=teacher,
        first_match=first_match,
        stagger=rollouts.stagger or 0,
        keep_opponents=learning.by_matchup,
        keep_frozen=bool(rollouts.learn_from_frozen),
        lost_again=rollouts.lost_again or 0.0,
        bot_threads=bot_threads(rollouts.bot_threads) if rollouts.bot_threads else None,
    )
    here = not (rollouts.alone or rollouts.separate_processes)
    if isinstance(actor, Actor) and sends(settings) and here:
        collector.tape.empty, collector.tape.pick = actor.lane.empty, actor.lane.pick
    return collector


def collector_elsewhere(
    settings: RunSettings, networks: bytes, first_match: int, line: Line = None
) -> Collector:
    """Return a worker's collector, with networks of its own, or one that asks over `line`."""
    prepare_torch(settings)
    if line is not None:
        log_probs = settings.learning.needs("behaviour_log_probs")
        return collector_of(settings, RemoteActor(line, log_probs=log_probs), first_match)
    return collector_of(settings, own_actor(settings, networks), first_match)


def own_actor(settings: RunSettings, networks: bytes) -> Actor:
    """Return an actor with networks of its own, where the settings say."""
    device = device_of(settings)
    policy, critic = unpacked(networks)
    actor = actor_of(settings, policy.to(device), None if critic is None else critic.to(device))
    actor.lane.quiet = crowded(settings)
    return actor


def crowded(settings: RunSettings) -> bool:
    """Return whether workers that wait for a device had better leave their cores to others."""
    return settings.rollouts.workers_at_once >= cores()


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def desk_of(settings: RunSettings, networks: bytes, seats: int) -> Desk | None:
    """Return where processes ask for choices; None: they choose themselves."""
    rollouts = settings.rollouts
    if rollouts.inference == "worker":
        return None
    batch = rollouts.inference_batch or rollouts.resolved_slots(seats) * seats
    return Desk(own_actor(settings, networks), batch, rollouts.inference_deadline)


def worker_settings(settings: RunSettings, seats: int) -> RunSettings:
    """Return the settings of one worker: its share of the slots, and the device it may use."""
    rollouts = settings.rollouts
    slots = -(-rollouts.resolved_slots(seats) // rollouts.workers)
    device = "cpu" if rollouts.on_cpu else settings.device
    threads = 1 if rollouts.at_once else settings.threads
    return replace(
        settings, rollouts=replace(rollouts, slots=slots), device=device, threads=threads
    )


def sends(settings: RunSettings) -> bool:
    """Return whether what workers played is put on the learner's device before it is joined; a
    replay is kept by the host."""
    on_gpu = device_of(settings) == "cuda" and not settings.rollouts.on_cpu
    return on_gpu and not settings.replay.size and cut_there(settings.learning, settings.network)


def packed(value: Any) -> bytes:
    """Return networks as a message; what lies on a device can be read without it."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def unpacked(message: bytes) -> Any:
    """Return fresh networks on the CPU."""
    # From a process of our own, never from a file.
    return torch.load(io.BytesIO(message), map_location="cpu", weights_only=False)


def prepare_torch(settings: RunSettings) -> None:
    """Set torch up so that the same run gives the same numbers."""
    torch.set_num_threads(settings.threads)
    Phases.counts_cpu = device_of(settings) == "cpu" or Phases.usual is not None
    # The same as use_deterministic_algorithms, which would load a compiler for two seconds first.
    torch.set_deterministic_debug_mode("error" if device_of(settings) == "cpu" else "default")
    # We never read memory that was not written; filling it costs time.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def device_of(settings: RunSettings) -> str:
    """Return where the networks run."""
    if settings.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if settings.device == "cuda":
        refuse_without_gpu()
    return settings.device


def refuse_without_gpu() -> None:
    """Refuse where a GPU was asked for and there is none."""
    if not torch.cuda.is_available():
        raise LanistaError("device is cuda, and torch sees no GPU here; set device to auto or cpu.")


def anchor_of(settings: RunSettings, folder: Path) -> Policy | None:
    """Return the policy the run begins from, which never changes; None where there is none."""
    if not settings.supervised_digest:
        return None
    path = policy_path(folder, settings.supervised_digest)
    loaded = load_policy(path)
    refuse_other(path, loaded.digest, settings.supervised_digest)
    return loaded.policy.to(device_of(settings))
