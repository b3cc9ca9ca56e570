"""Weights that are published for workers of this process."""

import pytest
import torch

from lanista.games import make
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.inference.actor import Actor
from lanista.rollout.launchers.in_process import Published


class Watched(Published):
    """Looks the last version up whenever something changes, as another thread may."""

    last = 0

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if self.last:
            assert numbers(self.weights(self.last)) == {self.last}


def published(kind, lag):
    """Return somebody whose weights can be published, and what sets them all to a number."""
    policy = Policy(make("kuhn", slots=1, seed=0).spec, Network(width=4, layers=1))

    def put(number):
        with torch.no_grad():
            policy.head.bias.fill_(number)

    return kind(Actor(policy, 0), lag), put


def numbers(weights):
    return set(weights[0]["head.bias"].tolist())


@pytest.mark.parametrize("lag", [1, 3])
def test_the_last_versions_are_kept_as_they_were(lag):
    store, put = published(Published, lag)
    for version in range(1, 8):
        put(version)
        store.publish(version)
        put(-1)
        for old in range(max(1, version - lag), version + 1):
            assert numbers(store.weights(old)) == {old}


def test_an_older_version_is_found_while_another_is_published():
    store, put = published(Watched, 1)
    for version in range(1, 5):
        put(version)
        store.publish(version)
        store.last = version
