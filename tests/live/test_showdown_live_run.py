"""Battles that `live run showdown` plays: each player is given the observation that it reads."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("poke_env")

import torch
from showdown_field import FORMAT, LONG, tiny
from showdown_play import needs_simulator

from lanista.games.showdown.observation.description import describe
from lanista.live.files.game_file import read
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.live.players.showdown import _parser, play_on
from lanista.nets.files.policy_file import policy_bytes
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

SPEC = describe(FORMAT, "mirror", "", "any", 2)


@needs_simulator
@pytest.mark.parametrize("opponent", ["random", "old.safetensors"])
def test_a_policy_of_observation_2_plays_a_bot_and_a_policy_of_observation_1(
    showdown_url: str, tmp_path: Path, opponent: str
) -> None:
    torch.manual_seed(0)
    policies = PolicyFolder(tmp_path / "policies")
    digest = policies.add(policy_bytes(Policy(SPEC, Network("mlp", width=16, layers=1)), SPEC))
    policies.publish(digest, "a test")
    if opponent != "random":
        path = tmp_path / opponent
        path.write_bytes(tiny())
        opponent = str(path)
    spool = tmp_path / "spool"
    words = ["--policy", str(policies.folder), "--spool", str(spool), "--server", showdown_url]
    options = _parser().parse_args([*words, "--opponent", opponent])
    began = time.monotonic()
    play_on(options, lambda: bool(Spool(spool).waiting()) or time.monotonic() > began + LONG)
    game = read(Spool(spool).waiting()[0])
    assert game.header.layout.observation_version == 2
    assert game.header.policy == digest
