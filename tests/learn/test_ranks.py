"""Ranks of real processes learn to the last bit what one rank learns with all of their shards."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import warm_python
from test_shards import CASES

from lanista.errors import LanistaError
from lanista.games import make
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.learn.update.packing import packed, unpacked
from lanista.learn.update.ranks import LostRankError, Ranks, checksum
from lanista.nets.settings import Network

PROGRAM = Path(__file__).with_name("two_ranks.py")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="gloo needs a Unix")


def free_port() -> int:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port: int = line.getsockname()[1]
        return port


def started(rank: int, size: int, shards: int, port: int) -> subprocess.Popen[str]:
    loopback = "lo" if sys.platform == "linux" else "lo0"
    return warm_python.Popen(
        [sys.executable, PROGRAM, *map(str, (rank, size, shards, port))],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"GLOO_SOCKET_IFNAME": loopback},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("size", "shards"),
    [
        (2, 2),
        pytest.param(2, 3, marks=pytest.mark.slow),
        pytest.param(3, 4, marks=pytest.mark.slow),
    ],
)
def test_ranks_learn_to_the_last_bit_what_one_learns_with_their_shards(
    size: int, shards: int
) -> None:
    port = free_port()
    processes = [started(rank, size, shards, port) for rank in range(size)]
    outcomes = []
    for process in processes:
        printed, errors = process.communicate()
        assert process.returncode == 0, errors
        outcomes.append(json.loads(printed.splitlines()[-1]))
    first, *others = outcomes
    assert first["equal"] == dict.fromkeys(CASES, True)
    # What cannot be learned from on one rank is said by all of them, and no weight moves.
    assert first["broken"].startswith("The loss term policy is nan at update 0")
    assert {one["broken"] for one in others} == {first["broken"]}


def test_a_message_gives_back_every_bit_and_how_it_lies_in_memory() -> None:
    value = {
        3: [torch.tensor([1.5, float("nan"), -0.0]), None, True, 2**100, float("inf"), "text"],
        "t": (torch.arange(6).reshape(2, 3).t(), torch.tensor(2.5), torch.zeros(0, 4)),
        "flags": np.array([True, False]),
        "rows": np.arange(5, dtype=np.int32),
        "half": torch.tensor([1.5, 2.5], dtype=torch.bfloat16),
    }
    back = unpacked(*packed(value, torch.device("cpu")))
    assert [*back] == [*value]
    assert str(back[3]) == str(value[3])
    for one, other in zip(value["t"], back["t"], strict=True):
        assert torch.equal(one, other)
        assert (one.dtype, one.stride()) == (other.dtype, other.stride())
    for name in ("flags", "rows"):
        assert back[name].dtype == value[name].dtype
        assert np.array_equal(back[name], value[name])
    assert torch.equal(back["half"], value["half"])
    assert back["half"].dtype == torch.bfloat16
    with pytest.raises(TypeError, match="object cannot be sent"):
        packed(object(), torch.device("cpu"))


def test_a_checksum_tells_other_bits_and_other_places() -> None:
    weights = [torch.randn(5, 3), torch.randn(7)]
    same = checksum([one.clone() for one in weights])
    assert checksum(weights) == same
    changed = [one.clone() for one in weights]
    changed[1][3] = torch.nextafter(changed[1][3], torch.tensor(9.0))
    assert checksum(changed) != same
    assert checksum([weights[0].flip(0), weights[1]]) != same


def test_every_shard_is_the_work_of_one_rank() -> None:
    for size, count in ((1, 4), (2, 2), (2, 5), (3, 2)):
        owners = []
        for rank in range(size):
            ranks = Ranks()
            ranks.rank, ranks.size = rank, size
            owners += list(ranks.own(count))
        assert sorted(owners) == list(range(count))


def test_more_ranks_than_shards_are_refused() -> None:
    ranks = Ranks()
    ranks.size = 2
    with pytest.raises(LanistaError, match=r"learning.shards is 1, and 2 ranks learn"):
        Learner(make("kuhn", slots=1).spec, Network(), Learning(), updates=1, ranks=ranks)


def test_a_process_alone_hears_nothing() -> None:
    with pytest.raises(LostRankError):
        Ranks().heard()
