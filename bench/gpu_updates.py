"""One GPU at updates of 65,536 decisions, the sizes that learn: rows of `python -m bench gpu`.

Arena and Beasty Bar, an MLP 256×3, two epochs of eight minibatches; self-play, and a league of
eight frozen networks and all bots: a third of the matches each for the learner itself, for those
networks and for the bots. A decision counts once: it was made, kept and learned from. The ceilings
are the same networks at the same minibatch with nothing around them.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from lanista.games import registry
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.profile.measure import Lap, Rig
from lanista.profile.subject import Subject
from lanista.runs.settings import RunSettings, load_settings

UPDATE, EPOCHS, MINIBATCHES = 65_536, 2, 8
NETWORK = {"kind": "mlp", "width": 256, "layers": 3}
FROZEN = 8
TARGET, LEAGUE_SHARE, BUSY = 2_000_000, 0.7, 0.7
KINDS = ("self-play", "league")
Ceilings = Callable[..., tuple[float, float]]
"""Gives states a second of inference and of training, as `gpu.ceilings`."""
PLAY: dict[tuple[str, str], dict[str, Any]] = {
    ("beastybar", "self-play"): {"matches": 2_731, "unroll_length": 12},
    ("beastybar", "league"): {"matches": 4_096, "unroll_length": 12},
    ("arena", "self-play"): {"mode": "stream", "unrolls": 2_048, "unroll_length": 32},
    ("arena", "league"): {"mode": "stream", "unrolls": 2_048, "unroll_length": 32},
}  # fmt: skip
"""By game and kind: how an update of about `UPDATE` decisions is played."""
WAYS: dict[str, dict[str, Any]] = {
    "two threads": {"workers": 2},
    "three processes": {"workers": 3, "launcher": "processes", "processes_on_gpu": True},
}
"""Who plays. Processes need NVIDIA's Multi-Process Service to play at once; whether it runs is up
to whoever measures."""


def run_settings(
    game: str, kind: str, precision: str, device: str, folder: Path, **play: Any
) -> RunSettings:
    """Return the settings of a run; a league's networks are written to `folder`."""
    rollouts: dict[str, Any] = {"launcher": "threads", "workers": 2, "lag": 1}
    rollouts["graphs"] = device == "cuda"
    rollouts |= PLAY[game, kind] | play
    learning = rollouts.pop("learning", {})
    if kind == "league":
        rollouts["opponents"] = opponents(game, folder)
    return load_settings(
        {
            "game": game,
            "network": NETWORK,
            "learning": {
                "precision": precision,
                "epochs": EPOCHS,
                "minibatches": MINIBATCHES,
                **learning,
            },
            "rollouts": rollouts,
            "device": device,
        }
    )


def opponents(game: str, folder: Path) -> list[str]:
    """Return the learner, all bots and eight fresh networks; each of the three has a third."""
    spec = registry.spec_of(game)
    bots = registry.bot_names(registry.entry(game))
    names = [f"{bot}={1 / len(bots)}" for bot in bots]
    for number in range(FROZEN):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(100 + number)
            policy = Policy(spec, Network(**NETWORK))  # type: ignore[arg-type]
        path = folder / f"frozen-{number}.safetensors"
        save_policy(path, policy, spec, name=path.stem)
        names.append(f"{path}={1 / FROZEN}")
    return ["self=1.0", *names]


class Busy:
    """Asks, some times a second, for how much of the time the GPU worked."""

    def __init__(self) -> None:
        self.shares: list[float] = []


@contextmanager
def busy() -> Iterator[Busy]:
    """Ask while this lasts; nothing is known where `nvidia-smi` does not answer."""
    asked = Busy()
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    try:
        process = subprocess.Popen([*command, "-lms", "200"], stdout=subprocess.PIPE, text=True)
    except OSError:
        yield asked
        return

    def read() -> None:
        for answer in process.stdout or ():
            if answer.strip().isdigit():
                asked.shares.append(int(answer) / 100)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield asked
    finally:
        process.terminate()
        process.wait()
        reader.join()


def measured(settings: RunSettings, seconds: float, repeats: int) -> tuple[list[Lap], list[float]]:
    """Return laps of a run, and how busy the GPU was in them."""
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Subject(settings.game, settings), settings, Path(folder))
        try:
            rig.warm_up(seconds / 2)
            with busy() as asked:
                laps = [rig.lap(seconds) for _ in range(repeats)]
            return laps, asked.shares
        finally:
            rig.population.close()


def line(label: str, laps: list[Lap], shares: list[float], **more: Any) -> dict[str, Any]:
    """Return the JSON line of one run: the median lap's rate, and where its time went."""
    rates = [lap.rate for lap in laps]
    rate = statistics.median(rates)
    middle = min(laps, key=lambda lap: abs(lap.rate - rate))
    return {
        "bench": label,
        "unit": "decisions per second, played and learned from",
        "median": round(rate),
        "low": round(min(rates)),
        "high": round(max(rates)),
        **more,
        "gpu_busy": round(statistics.median(shares), 2) if shares else None,
        "update_ms": round(1000 * middle.wall / middle.iterations, 1),
        "decisions_an_update": round(middle.decisions / middle.iterations),
        "cores_used": round(middle.use.cpu / middle.wall, 2),
        "learner": _shares(middle.own),
        "workers": _shares(middle.played),
    }


def _shares(seconds: dict[str, float]) -> dict[str, float]:
    total = sum(seconds.values()) or 1.0
    ordered = sorted(seconds.items(), key=lambda entry: -entry[1])
    return {phase: round(spent / total, 3) for phase, spent in ordered[:8]}


def rows(seconds: float, repeats: int, ceilings: Ceilings) -> Iterator[dict[str, Any]]:
    """Measure both games in both precisions, self-play and a league, beside their ceilings."""
    for game in ("beastybar", "arena"):
        for precision in ("bf16", "fp32"):
            alone = alone_of(game, precision, ceilings)
            for way, play in WAYS.items():
                yield from _rows_of(game, precision, way, play, alone, seconds, repeats)


def _rows_of(
    game: str,
    precision: str,
    way: str,
    play: dict[str, Any],
    alone: dict[str, int],
    seconds: float,
    repeats: int,
) -> Iterator[dict[str, Any]]:
    rates: dict[str, float] = {}
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            settings = run_settings(game, kind, precision, "cuda", Path(folder), **play)
            laps, shares = measured(settings, seconds, repeats)
        rates[kind] = statistics.median(lap.rate for lap in laps)
        aimed = TARGET if kind == "self-play" else LEAGUE_SHARE * rates["self-play"]
        label = f"{game}, updates of {UPDATE}, {kind}, {precision}, {way}"
        met = {"target": round(aimed), "met": rates[kind] >= aimed}
        yield line(label, laps, shares, **met, **alone)


def alone_of(game: str, precision: str, ceilings: Ceilings, device: str = "cuda") -> dict[str, int]:
    """Return what the networks alone allow at this minibatch: a decision is inferred once and
    trained on in every epoch."""
    inference, training = ceilings(NETWORK, precision, UPDATE // MINIBATCHES, device, game)
    return {
        "inference_alone": round(inference),
        "training_alone": round(training / EPOCHS),
        "both_in_turn": round(1 / (1 / inference + EPOCHS / training)),
    }
