"""Rollouts at their borders: ids in disorder, memory that just fits, answers of other types."""

import os
import threading
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from central_tables import NEVER, actor_of, in_thread, remotes, started
from race_game import First

from lanista.errors import LanistaError
from lanista.games import make
from lanista.rollout import RolloutError, Schedule, Table, play, rotations
from lanista.rollout.inference import device_transfer
from lanista.rollout.inference.client import RemoteActor
from lanista.rollout.inference.device_transfer import Lane, Records
from lanista.rollout.inference.server import InferenceServer, part_of
from lanista.rollout.launchers.processes import SharedWeights
from lanista.rollout.launchers.shared_memory import Outbox, Segment
from lanista.rollout.launchers.weight_arrays import arrays_of
from lanista.rollout.match_runner import _Tape


def schedule_of(*ids):
    return Schedule(np.array(ids), np.zeros(len(ids), np.int64), np.zeros((len(ids), 2), np.int32))


def test_ids_may_be_in_any_order_but_not_twice():
    for ids in ((1, 0), (0, 1), (2, 0, 1), (0, 2), (5,)):
        assert schedule_of(*ids).match.tolist() == list(ids)
    for ids in ((0, 0), (1, 0, 1), (0, 1, 1)):
        with pytest.raises(LanistaError, match="names a match id twice"):
            schedule_of(*ids)


def test_one_match_of_one_player_is_a_schedule_and_none_is_not():
    assert len(rotations(1, 1)) == 1
    assert len(rotations(2, 1)) == 2
    assert [len(block) for block in rotations(3, 3).blocks(1)] == [3]
    for players, matches in ((0, 1), (1, 0)):
        with pytest.raises(LanistaError, match="cannot be scheduled"):
            rotations(players, matches)


class Typed(First):
    """Answers with its first choice, as the type that it was given."""

    name = "typed"

    def __init__(self, spec, seed, change):
        super().__init__(spec, seed)
        self.change = change

    def act(self, decisions, rows):
        return self.change(super().act(decisions, rows))


def answered(change):
    game = make("kuhn", slots=4, seed=0)
    return play([Table(game, (Typed(game.spec, 0, change), First(game.spec, 0)))], rotations(2, 8))


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int32])
def test_whole_numbers_of_any_type_are_answers(kind):
    expected = answered(lambda actions: actions)
    assert answered(lambda actions: actions.astype(kind)).returns.tolist() == (
        expected.returns.tolist()
    )


def test_one_answer_that_is_no_choice_is_enough_to_refuse():
    def change(actions):
        wide = actions.astype(np.int64)
        wide[-1] += 2**32
        return wide

    with pytest.raises(RolloutError, match=f"typed answered {2**32}, which is no choice"):
        answered(change)


@pytest.mark.parametrize(
    ("sizes", "kind"), [((256,), np.uint8), ((257,), np.uint16), ((2, 257), np.uint16)]
)
def test_actions_are_recorded_in_the_smallest_type_that_holds_the_last_choice(sizes, kind):
    heads = [SimpleNamespace(size=size) for size in sizes]
    tape = _Tape(SimpleNamespace(spec=SimpleNamespace(heads=heads)))
    last = np.array([[size - 1 for size in sizes]], np.int32)
    tape.keep(np.zeros(1, np.int32), last)
    assert tape.actions().dtype == kind
    assert tape.actions().tolist() == last.tolist()


def test_a_segment_is_made_anew_only_when_it_is_too_small_and_as_a_power_of_two():
    outbox = Outbox(SimpleNamespace())
    asked = (0, 1, 65536, 65537, 131072, 131073, 10)
    found = [(segment.size, fresh) for segment, fresh in (outbox._with_room(0, n) for n in asked)]
    assert found == [
        (65536, True), (65536, False), (65536, False), (131072, True), (131072, False),
        (262144, True), (262144, False),
    ]  # fmt: skip
    outbox.close()


def test_a_segment_has_a_byte_at_least_is_not_inherited_and_none_when_closed():
    segment = Segment.create(0)
    assert segment.size == 1
    assert not os.get_inheritable(segment._descriptor)
    segment.close()
    segment.close()
    assert len(segment.buffer) == 0


def test_weights_are_kept_for_every_version_that_may_play():
    for lag in (0, 2):
        weights = SharedWeights(partial(arrays_of, actor_of()), lag)
        assert len(weights.segments) == lag + 1
        weights.close()


def test_a_lane_gives_the_same_memory_again_where_it_is_large_enough():
    lane = Lane(torch.device("cpu"))
    first, _ = lane.room("rows", 8, (2,), torch.float32)
    for rows in (8, 3, 8):
        tensor, array = lane.room("rows", rows, (2,), torch.float32)
        assert tensor.data_ptr() == first.data_ptr() == array.ctypes.data
        assert tensor.shape == array.shape == (rows, 2)
    tensor, _ = lane.room("rows", 9, (2,), torch.float32)
    assert tensor.shape == (9, 2)


def test_work_is_recorded_for_whole_steps_and_once(monkeypatch):
    made = []

    def recorded(work, kinds, rows, lane):
        made.append(rows)
        return rows

    monkeypatch.setattr(device_transfer, "Recorded", recorded)
    records = Records(None, None)
    assert [records.fit({}, rows) for rows in (0, 1, 4096, 4097, 8192, 8193, 5)] == [
        256, 256, 4096, 8192, 8192, 12288, 256,
    ]  # fmt: skip
    assert made == [256, 4096, 8192, 12288]


def test_the_first_match_of_all_is_remembered_like_any_other():
    match = np.array([[-1], [-1], [0], [-1]])
    memory = {"match": match, "turn": match + 2, "state": np.ones((4, 1, 3), np.float32)}
    assert part_of(memory, 1, 2) == {}
    found = part_of(memory, 0, 2)
    assert found["match"].tolist() == [[-1], [0]]
    assert found["state"].shape == (2, 1, 3)


def test_workers_that_come_at_the_same_moment_are_all_heard():
    actor, busy = actor_of(), threading.Event()
    central = InferenceServer(actor, 3, batch=1, deadline=NEVER)
    try:
        (first,) = remotes(central, 1)
        hook = actor.policy.torso.register_forward_pre_hook(lambda *_: busy.wait())
        waits = in_thread(first.choose, started(1), np.arange(1))
        others = [RemoteActor(central.attach(number)) for number in (1, 2)]
        busy.set()
        waits()
        hook.remove()
        for _ in range(4):  # The thread looks at everybody once in each.
            first.memory()
        assert sorted(central._lines) == [0, 1, 2]
        assert len(others) == 2
    finally:
        busy.set()
        central.close()
