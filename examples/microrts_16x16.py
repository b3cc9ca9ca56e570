"""Puts the champion of the small MicroRTS map onto the large one; nothing is trained here.

It reads each unit's order from the unit's cell, so its weights fit a map of any size, but for those
that join the whole map into one vector. No choice is read from that vector, and they become zeros:

    python microrts_16x16.py large.safetensors
    lanista evaluate large.safetensors --opponents worker_rush --games 100

See docs/guides/microrts.md for what came of it.
"""

import sys

import torch

from lanista.games import make
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_file import load_policy, save_policy
from lanista.nets.policy import Policy

WHOLE_MAP = "torso.out.weight"


def on_large_map(small, longest=2000):
    """Return a policy of the 8x8 map as one of the 16x16 map, and that game's description."""
    spec = make("microrts", slots=1, side=16, longest=longest).spec
    large = Policy(spec, small.network)
    weights = small.state_dict()
    weights[WHOLE_MAP] = torch.zeros_like(large.state_dict()[WHOLE_MAP])
    large.load_state_dict(weights)
    return large, spec


def main():
    small = load_policy(policy_file("champion:microrts")).policy
    save_policy(sys.argv[1], *on_large_map(small))


if __name__ == "__main__":
    main()
