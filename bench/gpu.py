"""Beasty Bar end to end on one GPU, beside what its networks alone allow: `python -m bench gpu`.

Then updates of the sizes that learn, of Beasty Bar and the arena (`gpu_updates`).
A decision counts once: it was made, kept and learned from in one pass. The ceilings are the same
networks' inference and one training pass at a batch of 65,536, with nothing around them, measured
in the same run. Where there is no GPU, the one line says so.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench import gpu_updates
from lanista.games import registry
from lanista.learn.learner import PRECISIONS
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network
from lanista.profile.measure import Lap, Rig
from lanista.profile.subject import Subject
from lanista.runs.settings import load_settings

GAME = "beastybar"
BATCH = 65_536
SECONDS, REPEATS = 3.0, 3
NETWORKS = {
    "mlp 512x2": ({"kind": "mlp", "width": 512, "layers": 2}, 5_000_000),
    "transformer 256x4": ({"kind": "transformer", "width": 256, "layers": 4}, 200_000),
}
"""By name: the network, and the decisions per second aimed at."""
PLAY: dict[str, dict[str, Any]] = {
    "mlp 512x2": {"matches": 4 * BATCH, "workers": 10},
    "transformer 256x4": {"matches": BATCH // 8, "workers": 2},
}
MINIBATCH = {"mlp 512x2": 4 * BATCH, "transformer 256x4": BATCH // 4}
"""Decisions of an optimiser step, about."""
DECISIONS_A_MATCH = 24


def gpu() -> Iterator[dict[str, Any]]:
    """Measure both networks in bf16 and fp32 against their ceilings."""
    if not torch.cuda.is_available():
        yield {"bench": f"{GAME} on a GPU", "why": "not measured: torch sees no GPU"}
        return
    for name, (network, target) in NETWORKS.items():
        rates = {}
        for precision in ("bf16", "fp32"):
            inference, training = ceilings(network, precision, BATCH, "cuda")
            laps = end_to_end(name, precision, "cuda", SECONDS, REPEATS)
            rates[precision] = statistics.median(lap.rate for lap in laps)
            goal = target if precision == "bf16" else None
            yield line(f"{GAME}, {name}, {precision}", laps, inference, training, goal)
        ratio = round(rates["bf16"] / rates["fp32"], 2)
        yield {"bench": f"{GAME}, {name}, bf16 over fp32 end to end", "ratio": ratio}
    yield from gpu_updates.rows(SECONDS, REPEATS, ceilings)


def line(
    label: str, laps: list[Lap], inference: float, training: float, target: int | None
) -> dict[str, Any]:
    """Return the JSON line of one network in one precision."""
    rates = [lap.rate for lap in laps]
    rate, both = statistics.median(rates), 1 / (1 / inference + 1 / training)
    middle = min(laps, key=lambda lap: abs(lap.rate - rate))
    goal = {} if target is None else {"target": target, "met": rate >= target}
    return {
        "bench": label,
        "unit": "decisions per second, played and learned from",
        "median": round(rate),
        "low": round(min(rates)),
        "high": round(max(rates)),
        **goal,
        "inference_alone": round(inference),
        "training_alone": round(training),
        "both_in_turn": round(both),
        "share_of_ceiling": round(rate / both, 3),
        "cores_used": round(middle.use.cpu / middle.wall, 2),
        "learner": _shares(middle.own),
        "workers": _shares(middle.played),
    }


def _shares(seconds: dict[str, float]) -> dict[str, float]:
    total = sum(seconds.values()) or 1.0
    ordered = sorted(seconds.items(), key=lambda entry: -entry[1])
    return {phase: round(spent / total, 3) for phase, spent in ordered}


def end_to_end(
    name: str, precision: str, device: str, seconds: float, repeats: int, **play: Any
) -> list[Lap]:
    """Play and learn as a run does, a lap of so many seconds each time."""
    rollouts: dict[str, Any] = {"launcher": "threads", "lag": 1, "graphs": device == "cuda"}
    rollouts |= PLAY[name] | play
    minibatches = max(1, rollouts["matches"] * DECISIONS_A_MATCH // MINIBATCH[name])
    settings = load_settings(
        {
            "game": GAME,
            "network": NETWORKS[name][0],
            "learning": {"precision": precision, "minibatches": minibatches},
            "rollouts": rollouts,
            "device": device,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Subject(name, settings), settings, Path(folder))
        try:
            rig.warm_up(seconds / 2)
            return [rig.lap(seconds) for _ in range(repeats)]
        finally:
            rig.population.close()


def ceilings(
    network: dict[str, Any], precision: str, batch: int, device: str, game: str = GAME
) -> tuple[float, float]:
    """Return states per second of inference, and samples per second of a training pass."""
    spec, shape = registry.spec_of(game), Network(**network)
    policy = Policy(spec, shape).to(device)
    critic = Critic(spec, shape, features=policy.torso.width).to(device)
    # The encoder compares codes, so any numbers take as long as true ones.
    kind = torch.from_numpy(np.empty(0, spec.observation.dtype)).dtype
    observation = torch.randint(0, 2, (batch, spec.observation.length), device=device).to(kind)
    grads = torch.randn(batch, spec.choices, device=device), torch.randn(batch, device=device)
    parameters = [*policy.parameters(), *critic.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=1e-4, fused=True)

    def forward() -> tuple[Tensor, Tensor]:
        kind = PRECISIONS[precision]
        with torch.autocast(device, kind, enabled=kind != torch.float32):
            features = policy.torso(observation)
            return policy.head(features), critic(features)

    def infer() -> None:
        with torch.no_grad():
            forward()

    def train() -> None:
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward([out.float() for out in forward()], grads)
        optimiser.step()

    return batch / _seconds(infer, device), batch / _seconds(train, device)


def _seconds(work: Callable[[], None], device: str, times: int = 5) -> float:
    """Return how long one call takes on the device, the median of five rounds."""
    seconds = []
    for _ in range(6):
        _settle(device)
        began = time.perf_counter()
        for _ in range(times):
            work()
        _settle(device)
        seconds.append((time.perf_counter() - began) / times)
    return statistics.median(seconds[1:])  # The first round warms up.


def _settle(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
