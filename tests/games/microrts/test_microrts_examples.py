"""The examples that play MicroRTS: a live bot, and the champion on a map it was not trained on."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from microrts_matches import needs_engine

from lanista.games import make, make_bot
from lanista.live.files.game_file import read
from lanista.live.files.policy_folder import PolicyFolder
from lanista.nets.files.policy_file import load_policy, policy_bytes
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

pytestmark = needs_engine

EXAMPLES = Path(__file__).parents[3] / "examples"


def example(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


class Drawing:
    """Stands for a live game: draws what is legal, and keeps what it is told."""

    def __init__(self, heads: int) -> None:
        self.heads, self.random = heads, np.random.default_rng(0)
        self.rewards: list[float] = []
        self.outcomes: list[float] = []

    def act(self, observation: Any, mask: Any) -> Any:
        legal = mask.reshape(self.heads, -1)
        return (legal * self.random.random(legal.shape)).argmax(1)

    def reward(self, reward: float) -> None:
        self.rewards.append(reward)

    def end(self, outcome: float) -> None:
        self.outcomes.append(outcome)


@pytest.mark.parametrize("seat", [0, 1])
def test_what_the_live_bot_is_paid_sums_to_the_material_lead_and_the_result_is_beside_it(seat):
    game = make("microrts", slots=1)
    live = Drawing(len(game.spec.heads))
    bot = make_bot("microrts", "worker_rush", game.spec, 0)
    example("my_microrts_bot").play(game, bot, seat, 0, live)
    lead = game.score[0, seat] - game.score[0, 1 - seat]
    assert lead < -1
    assert sum(live.rewards) == pytest.approx(lead / 20, abs=1e-4)
    assert live.outcomes == [-1.0]


def test_the_live_bot_leaves_its_match_in_the_spool(tmp_path):
    spec = make("microrts", slots=1, longest=30).spec
    policy = Policy(spec, Network("mlp", width=16, layers=1))
    folder = PolicyFolder(tmp_path / "policy")
    folder.publish(folder.add(policy_bytes(policy, spec)), "the first policy")
    command = [sys.executable, str(EXAMPLES / "my_microrts_bot.py"), "--folder", str(tmp_path)]
    words = ["--seconds", "0", "--longest", "30", "--session", "one"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert "1 games written; no problem" in done.stdout
    (game,) = [read(path) for path in (tmp_path / "spool" / "new").iterdir()]
    assert game.header.game_id == "one-0"
    assert game.outcome.tolist() == [0.0]  # Thirty ticks are too few to win.


def test_the_champion_on_the_large_map_has_the_weights_of_the_small_one_where_choices_are_read():
    module = example("microrts_16x16")
    small = load_policy(module.policy_file("champion:microrts")).policy
    large, spec = module.on_large_map(small)
    same = {name for name in small.state_dict() if name != module.WHOLE_MAP}
    for name in same:
        assert torch.equal(large.state_dict()[name], small.state_dict()[name])
    game = make("microrts", slots=1, side=16)
    game.start([0], [0])
    seen = torch.from_numpy(game.decisions().observation)
    with torch.no_grad():
        before = large(seen)
        torch.nn.init.normal_(large.get_parameter(module.WHOLE_MAP))
        after = large(seen)
    assert before.shape == (2, spec.choices)
    assert torch.equal(after, before)
