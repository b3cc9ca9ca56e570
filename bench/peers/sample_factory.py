"""Sample Factory's PPO on the Gymnasium view of Beasty Bar, with the network that ours has.

It runs until it is told to stop, so that the bench's questions are answered from its own loop,
between two updates. Beside `serial` there are processes that go on meanwhile: the bench halts them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import deque
from typing import Any, TextIO

import torch
from sample_factory.algo.runners.runner import AlgoObserver, Runner
from sample_factory.algo.utils.context import global_model_factory
from sample_factory.algo.utils.misc import ExperimentStatus
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.model.encoder import Encoder
from sample_factory.train import make_runner
from torch import Tensor

from bench.peers import subject


class SharedTorso(Encoder):  # type: ignore[misc]
    """Our encoder and our two layers; its policy and value are then linear heads, as ours are."""

    def __init__(self, cfg: Any, space: Any) -> None:
        super().__init__(cfg)
        self.torso = subject.torso()

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        features: Tensor = self.torso(observations["obs"])
        return features

    def get_out_size(self) -> int:
        return subject.WIDTH


class Answers(AlgoObserver):  # type: ignore[misc]
    """Reads how many decisions to learn from, and says when they are done."""

    def __init__(self, out: TextIO, batch: int) -> None:
        self.out, self.batch = out, batch
        self.since = self.until = 0

    def on_training_step(self, runner: Runner, updates: int) -> None:
        learned = updates * self.batch
        if learned < self.until:
            return
        if self.until:
            returns = runner.policy_avg_stats.get("reward", [deque()])[0]
            subject.reply(self.out, learned - self.since, returns)
        else:
            print(json.dumps(subject.about("sample-factory")), file=self.out, flush=True)
        line = sys.stdin.readline()
        if line:
            self.since, self.until = learned, learned + int(line)
        else:
            runner.cfg.train_for_env_steps = 0  # It looks there, after every update.


def seat(name: str, cfg: Any, place: Any = None, render_mode: str | None = None) -> Any:
    """Make one environment; `place` says which of all."""
    return subject.WatchedSeat(place.env_id if place else 0)


def arguments(folder: str, sizes: dict[str, Any]) -> list[str]:
    """Return Sample Factory's settings: what makes it the same network, and the sizes asked for."""
    fixed = {
        "env": "seat",
        "train_dir": folder,
        "device": "cpu",
        "seed": 0,
        "use_rnn": False,
        # The layers begin as ours do.
        "policy_initialization": "torch_default",
        # Our encoder takes the observation as it is.
        "normalize_input": False,
        "num_epochs": 1,
        "learning_rate": subject.LEARNING_RATE,
        "stats_avg": subject.LATEST,
        "save_every_sec": 10**6,
        "save_best_every_sec": 10**6,
    }
    return [f"--{name}={value}" for name, value in (fixed | sizes).items()]


def main() -> None:
    out = subject.voice()
    torch.set_num_threads(1)
    sizes = subject.sizes()
    register_env("seat", seat)
    global_model_factory().register_encoder_factory(SharedTorso)
    with tempfile.TemporaryDirectory() as folder:
        settings = arguments(folder, sizes)
        parser, _ = parse_sf_args(settings)
        cfg, runner = make_runner(parse_full_cfg(parser, settings))
        decisions_an_update = cfg.batch_size * cfg.num_batches_per_epoch
        runner.register_observer(Answers(out, decisions_an_update))
        status = runner.init()
        if status == ExperimentStatus.SUCCESS:
            status = runner.run()
        if status != ExperimentStatus.SUCCESS:
            sys.exit(f"Sample Factory refused or broke off at {sizes}")


if __name__ == "__main__":
    main()
