"""Matches and policies that the tests of insight share."""

from __future__ import annotations

from pathlib import Path

import torch

from lanista.data.records import Header
from lanista.games import registry
from lanista.insight.films import Take
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout import rotations
from lanista.rollout.match_runner import Table, play
from lanista.rollout.replay_recorder import records_of

SMALL = Network("mlp", width=16, layers=1)
RECURRENT = Network("lstm", width=16, layers=1)


def take_of(name: str, seed: int = 3) -> Take:
    game = registry.make(name, seed=seed)
    bot = registry.make_bot(name, "random", game.spec, seed)
    results = play([Table(game, (bot, bot))], rotations(2, 2), record=True)
    return Take(Header.of(game.spec, seed, (bot, bot)), next(iter(records_of(results, {}))))


def policy_of(folder: Path, name: str, network: Network = SMALL) -> Path:
    torch.manual_seed(0)
    policy = Policy(registry.spec_of(name), network)
    for parameter in policy.head.parameters():
        torch.nn.init.normal_(parameter)
    save_policy(folder / "p.safetensors", policy, registry.spec_of(name))
    return folder / "p.safetensors"
