"""What is handed on sealed is opened by workers, and is what it was."""

import pickle
from functools import partial

from ray_collectors import kuhn, seating, uniform

from lanista.rollout.chunks import Sealed, opened
from lanista.rollout.collect_worker import CollectWorker


def sealed(value):
    return Sealed(pickle.dumps(value))


def test_what_was_never_sealed_is_itself():
    assert opened(seating) is seating
    assert opened(sealed(seating)) is seating


def test_an_opponent_that_comes_sealed_a_second_time_goes_on():
    worker = CollectWorker()
    worker.build(sealed(partial(kuhn, 0, 4)))
    worker.meet(([sealed(uniform)], sealed(seating)))
    (player,) = worker.players.values()
    worker.meet(([sealed(uniform)], sealed(seating)))
    assert list(worker.players.items()) == [(uniform, player)]
    assert worker.players[uniform] is player
