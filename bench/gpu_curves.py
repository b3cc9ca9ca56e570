"""Learning curves on one GPU at updates of 65,536 decisions: recorded and not, bf16 and fp32.

`python -m bench.gpu_curves --game arena --precision bf16 --graphs false --seeds 0 1 2` prints a
JSON line for each look at a policy: decisions so far, seconds of the clock without the looks, and
the score against bots, greedy. Recording is to change nothing but the seconds, and bf16 not the
strength.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from bench.gpu_updates import run_settings
from lanista.evaluation.evaluator import Evaluator
from lanista.profile.measure import Rig
from lanista.profile.subject import Subject
from lanista.runs.settings import Evaluation, RunSettings, apply_overrides

BOTS = {
    "beastybar": ("random", "heuristic", "distilled"),
    "arena": ("random", "rusher", "kiter"),
}
CHANGES: dict[str, tuple[str, ...]] = {
    "beastybar": ("learning.lr=5e-4", "learning.terms.entropy=0.01"),
    "arena": (
        "learning.lr=6e-4", "learning.gamma=0.995", "learning.max_grad_norm=0.5",
        "learning.terms.entropy=0.001", "rollouts.shaping_scale=1.0",
        "rollouts.opponents=[self, rusher, scavenger, zoner, kiter]",
    ),
}  # fmt: skip
MATCHES, LOOKS = 1_000, 4


def curve(
    settings: RunSettings, decisions: int, looks: int = LOOKS, matches: int = MATCHES
) -> Iterator[dict[str, Any]]:
    """Train for so many decisions, and say at some points how strong the policy is."""
    bots = BOTS[settings.game]
    evaluation = Evaluation(every=1, bots=bots, matches=matches, greedy=True)
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Subject(settings.game, settings), settings, Path(folder))
        try:
            spec, learner = rig.population.spec, rig.trainings[0].learner
            judge = Evaluator(replace(settings, evaluation=evaluation), spec, Path(folder))
            due = [decisions * (look + 1) // looks for look in range(looks)]
            spent = 0.0
            while due:
                began = time.perf_counter()
                rig.iterate()
                spent += time.perf_counter() - began
                if rig.trainings[0].decisions < due[0]:
                    continue
                del due[0]
                scores = judge.measure(learner.best, learner.update_count).scores
                yield {
                    "decisions": rig.trainings[0].decisions,
                    "seconds": round(spent, 2),
                    **{bot: round(scores[bot].value, 4) for bot in bots},
                }
        finally:
            rig.population.close()


def settings_of(
    game: str, precision: str, graphs: bool, seed: int, device: str, *changes: str
) -> RunSettings:
    """Return the settings of one curve."""
    settings = run_settings(game, "self-play", precision, device, Path())
    recorded = [f"learning.graphs={str(graphs).lower()}"] if device == "cuda" else []
    return apply_overrides(settings, [*CHANGES[game], *recorded, f"seed={seed}", *changes])


def main(words: Sequence[str] | None = None) -> None:
    """Print the curves that the words ask for."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu_curves")
    parser.add_argument("--game", choices=BOTS, required=True)
    parser.add_argument("--precision", choices=("bf16", "fp32"), required=True)
    parser.add_argument("--graphs", choices=("true", "false"), required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--decisions", type=int, default=8_000_000)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--matches", type=int, default=MATCHES)
    parser.add_argument("--set", nargs="*", default=[])
    options = parser.parse_args(words)
    label = {"game": options.game, "precision": options.precision, "graphs": options.graphs}
    for seed in options.seeds:
        settings = settings_of(
            options.game,
            options.precision,
            options.graphs == "true",
            seed,
            options.device,
            *options.set,
        )
        for look in curve(settings, options.decisions, matches=options.matches):
            print(json.dumps({**label, "seed": seed, **look}), flush=True)


if __name__ == "__main__":
    main()
