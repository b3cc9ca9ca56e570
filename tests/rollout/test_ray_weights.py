"""How weights are sent to machines; none of it needs Ray."""

import numpy as np
import pytest
from ray_collectors import actor, change

from lanista.rollout.launchers import ray_weights
from lanista.rollout.launchers.ray_weights import RayWeights
from lanista.rollout.launchers.weight_arrays import arrays_of


class Store:
    """Keeps what is put, as Ray's object store does."""

    def __init__(self):
        self.objects = []

    def put(self, arrays):
        self.objects.append({name: np.array(array) for name, array in arrays.items()})
        return len(self.objects) - 1


def same(ours, theirs):
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[k], theirs[k]) for k in ours)


@pytest.fixture
def learner():
    class Learner:
        actor = actor()

    return Learner


def test_small_weights_are_a_copy_that_travels_with_the_call(learner):
    store = Store()
    weights = RayWeights(store, learner.actor, 1, lambda: None)
    before = {name: np.array(array) for name, array in arrays_of(learner.actor).items()}
    change(learner, 1)
    weights.publish(1)
    assert same(weights.sendable[0], before)
    assert same(weights.sendable[1], arrays_of(learner.actor))
    assert not same(weights.sendable[0], weights.sendable[1])
    assert store.objects == []


def test_large_weights_are_put_once_for_each_version_and_old_ones_let_go(learner, monkeypatch):
    monkeypatch.setattr(ray_weights, "SMALL", 0)
    store, borders = Store(), []
    weights = RayWeights(store, learner.actor, 1, lambda: borders.append(None))
    for version in (1, 2, 3):
        change(learner, version)
        weights.publish(version)
    assert len(store.objects) == 4
    assert len(borders) == 3
    assert weights.sendable == {2: [2], 3: [3]}
    assert same(store.objects[3], arrays_of(learner.actor))
