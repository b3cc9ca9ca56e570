"""The way over a device and back, run on the CPU: the same choices, and memory that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from test_actor import KINDS, policy_of, started, walk

from lanista.data.trajectory import ALL
from lanista.nets.policy import Critic
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.device_transfer import (
    FEWEST,
    STEP,
    Found,
    Lane,
    Recorded,
    Records,
    Rows,
    recorded_rows,
)
from lanista.rollout.inference.opponent_batch import OpponentBatch
from lanista.rollout.inference.policy_players import PolicyPlayer
from lanista.rollout.timing import BATCH, INFER, SAMPLE, TRANSFER

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def far(actor: Actor) -> Actor:
    """Let an actor go the way of a device."""
    actor._far = True
    return actor


def same(one: Any, other: Any) -> None:
    assert np.array_equal(one.action, other.action)
    assert one.action.dtype == other.action.dtype == np.int32
    for name in ("log_prob", "value", "state", "log_probs"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert (mine is None) == (theirs is None), name
        if mine is not None:
            assert mine.dtype == theirs.dtype == np.float32
            np.testing.assert_allclose(mine, theirs, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("log_probs", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["beastybar", "arena", "kuhn"])
def test_choices_over_a_device_are_those_of_the_host(kind: str, name: str, log_probs: bool) -> None:
    game = started(name)
    policy = policy_of(game, kind)
    critic = Critic(game.spec, policy.network, "value", features=policy.torso.width)
    torch.nn.init.orthogonal_(critic.head.weight)
    here, there = Actor(policy, 4, critic), far(Actor(policy, 4, critic, log_probs=log_probs))
    here.temperature = there.temperature = 1.5
    for step, (decisions, rows) in enumerate(walk(game, 6)):
        some = rows[:: 1 + step % 2]  # Fewer rows than before, and more again.
        same(here.choose(decisions, some), there.choose(decisions, some))
    for one, other in zip(here.memory().values(), there.memory().values(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize(
    "manner", [{"greedy": True}, {"temperature": 0.5}, {"precision": torch.bfloat16}]
)
def test_the_manner_of_choosing_is_kept_over_a_device(manner: dict[str, Any]) -> None:
    game = started("arena")
    policy = policy_of(game)
    here, there = Actor(policy, 4, **manner), far(Actor(policy, 4, **manner))
    for decisions, rows in walk(game, 3):
        one, other = here.choose(decisions, rows), there.choose(decisions, rows)
        same(one, other)
        assert one.value is other.value is None


@pytest.mark.parametrize("output", ["value", "outcome", "q"])
@pytest.mark.parametrize("sees", ["seat", "privileged"])
def test_a_critic_of_its_own_judges_over_a_device(output: Any, sees: str) -> None:
    game = started("kuhn", slots=50)
    policy = policy_of(game)
    view = game.spec.privileged if sees == "privileged" else None
    critic = Critic(game.spec, policy.network, output, observation=view)
    torch.nn.init.orthogonal_(critic.head.weight)
    decisions, rows = next(walk(game, 1))
    privileged = game.privileged().copy() if view else None
    one = Actor(policy, 4, critic).choose(decisions, rows, privileged)
    same(one, far(Actor(policy, 4, critic)).choose(decisions, rows, privileged))


def test_whole_matches_over_a_device_are_those_of_the_host() -> None:
    played = []
    for change in (lambda actor: actor, far):
        game = started("leduc", slots=32)
        policy = policy_of(game)
        critic = Critic(game.spec, policy.network, "value", features=policy.torso.width)
        actor = change(Actor(policy, 4, critic))
        collector = Collector(game, actor, unroll_length=8, keep_log_probs=True)
        played.append((collector.whole_matches(64), actor.phases.taken()[0]))
    (here, _), (there, times) = played
    for name in ("observation", "action", "reward", "ended", "index"):
        assert np.array_equal(getattr(here, name), getattr(there, name)), name
    for name in ("log_prob", "log_probs", "value"):
        np.testing.assert_allclose(getattr(here, name), getattr(there, name), atol=1e-5)
    assert {BATCH, INFER, SAMPLE, TRANSFER} <= set(times)


def test_no_rows_are_no_trouble_over_a_device() -> None:
    game = started("leduc")
    actor = far(Actor(policy_of(game), 4))
    assert actor.choose(game.decisions(), np.arange(0)).action.shape == (0, 1)


def gathered(lane: Lane, source: Any, rows: Any = None) -> torch.Tensor:
    return lane.gather({"x": source}, rows)["x"]


def test_memory_is_kept_and_grows_with_what_is_gathered() -> None:
    lane = Lane(CPU)
    source = np.arange(40, dtype=np.int16).reshape(20, 2)
    rows = np.array([3, 1, 19])
    first = gathered(lane, source, rows)
    assert first.numpy().tolist() == source[rows].tolist()
    again = gathered(lane, source, rows[:2])
    assert again.data_ptr() == first.data_ptr()
    assert again.numpy().tolist() == source[rows[:2]].tolist()
    assert gathered(lane, source).numpy().tolist() == source.tolist()
    other = gathered(lane, source.astype(np.float32), rows)
    assert other.dtype == torch.float32


def opponents(game: Any, change: Any) -> list[PolicyPlayer]:
    """Return two that answer together, and one with a memory."""
    torch.manual_seed(8)
    actors = [Actor(policy_of(game, kind), 9) for kind in ("mlp", "residual", "lstm")]
    return [PolicyPlayer(f"p{n}", f"d{n}", change(actor)) for n, actor in enumerate(actors)]


def seating(matches: Any) -> Any:
    return np.stack([matches % 4, (matches // 4 + 1) % 4], 1).astype(np.int32)


def test_whoever_a_worker_meets_acts_on_its_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    used, whole = [], Lane.gather

    def gather(lane: Lane, *told: Any) -> Any:
        used.append(lane)
        return whole(lane, *told)

    monkeypatch.setattr(Lane, "gather", gather)
    game = started("leduc", slots=32)
    actor = far(Actor(policy_of(game), 4))
    collector = Collector(game, actor, unroll_length=8)
    for _ in range(3):
        collector.meet(opponents(game, far), seating)
        collector.whole_matches(64)
    assert set(used) == {actor.lane}


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
def test_all_at_a_table_share_a_lane_without_disturbing_each_other(kind: str) -> None:
    played = []
    for change in (lambda actor: actor, far):
        game = started("leduc", slots=32)
        policy = policy_of(game, kind)
        critic = Critic(game.spec, policy.network, "value", features=policy.torso.width)
        actor = change(Actor(policy, 4, critic))
        collector = Collector(game, actor, unroll_length=8, keep_log_probs=True)
        collector.meet(opponents(game, change), seating)
        played.append((collector.whole_matches(128), collector.tally.rows()))
    (here, ended), (there, ended_there) = played
    for name in ("observation", "action", "reward", "ended", "index"):
        assert np.array_equal(getattr(here, name), getattr(there, name)), name
    for name in ("log_prob", "log_probs", "value"):
        np.testing.assert_allclose(getattr(here, name), getattr(there, name), atol=1e-5)
    assert len(ended["match"]) == 128
    assert all(np.array_equal(ended[name], ended_there[name]) for name in ended)


def test_weights_of_others_are_waited_for_by_those_who_play_with_them_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[Lane] = []
    monkeypatch.setattr(Lane, "wait", lambda lane: waits.append(lane))
    game = started("leduc", slots=32)
    actor = far(Actor(policy_of(game), 4))
    collector = Collector(game, actor, unroll_length=8)
    collector.meet(opponents(game, far), seating)
    assert set(waits) == {actor.lane}  # For the weights of those who were met, once.

    def waits_of(who: Any) -> int:
        waits.clear()
        who(game.decisions(), np.arange(8))
        return len(waits)

    for player in collector.opponents:
        assert waits_of(player.act) == 0
    ((_, panel),) = collector._others.panels
    assert waits_of(lambda decisions, rows: panel.act(decisions, rows, [4, 4])) == 0
    assert waits_of(actor.choose) == 1
    with actor.taking_weights():
        pass
    assert waits_of(actor.choose) == 0


def test_memory_of_other_shape_does_not_take_the_place_of_what_is_kept() -> None:
    lane = Lane(CPU)
    first = gathered(lane, np.zeros((5, 2), np.float32))
    gathered(lane, np.zeros((5, 3), np.float32))
    gathered(lane, np.zeros((5, 2), np.int32))
    assert gathered(lane, np.ones((5, 2), np.float32)).data_ptr() == first.data_ptr()


@pytest.mark.parametrize(("device", "pinned"), [("cpu", False), ("cuda", True)])
def test_memory_that_a_gpu_copies_from_is_pinned_and_other_memory_is_not(
    device: str, pinned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From memory that is not pinned a copy blocks whoever asked for it."""
    asked: list[bool] = []
    empty = torch.empty

    def allocated(shape: Any, *, dtype: Any, pin_memory: bool = False) -> torch.Tensor:
        asked.append(pin_memory)
        return empty(shape, dtype=dtype)  # A machine without a GPU cannot pin.

    monkeypatch.setattr("lanista.rollout.inference.device_transfer.torch.empty", allocated)
    gathered(Lane(torch.device(device)), np.zeros((5, 2), np.float32))
    assert asked == [pinned]


class Stream:
    """Stands in for a stream of a GPU."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.waited = 0

    def wait_stream(self, _: Any) -> None:
        self.waited += 1


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[Stream]:
    """Let lanes believe that there is a GPU; return the streams that they are on, in order."""
    on: list[Stream] = []
    monkeypatch.setattr("lanista.rollout.inference.device_transfer._idle", {})
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "default_stream", lambda device: None)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: on.append(stream) or nullcontext())
    return on


def test_lanes_that_live_have_streams_of_their_own_and_later_ones_those_of_the_dead(
    streams: list[Stream],
) -> None:
    def act(lane: Lane) -> Lane:
        with lane.here(wait=False):
            return lane

    gpu = torch.device("cuda", 0)
    long = act(Lane(gpu))
    for _ in range(40):
        act(Lane(gpu))
        act(long)
    assert len(set(streams)) == 2
    assert {streams[i] for i in range(0, 81, 2)} == {streams[0]}
    assert len({streams[i] for i in range(1, 81, 2)}) == 1
    assert streams[1].waited == 40  # Each lane once, for what lay on the device before it.


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let work be recorded without a GPU; return the memory that each was recorded with."""
    pools: list[Any] = []

    def graph(_: Any, *, pool: Any = None, **__: Any) -> Any:
        pools.append(pool)
        return nullcontext()

    monkeypatch.setattr(torch.cuda, "graph", graph)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", object)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: None)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: SimpleNamespace(replay=lambda: None))
    return pools


def test_recorded_work_shares_memory_and_its_sizes_are_bounded_by_the_rows(
    pools: list[Any],
) -> None:
    def work(given: Rows, _: Any) -> Found:
        return Found(given["observation"], given["observation"], given["observation"])

    lane, most = Lane(CPU), 3 * STEP
    records = [Records(work, lane), Records(work, lane), Records(work, Lane(CPU))]
    for made in records:
        for rows in range(most, -1, -500):
            recorded = made.fit({"observation": ((1,), np.dtype(np.uint8))}, rows)
            assert len(recorded.inputs["observation"]) >= rows
    sizes = {recorded_rows(rows) for rows in range(most, -1, -500)}
    assert {STEP, 2 * STEP, 3 * STEP} < sizes
    assert len(sizes) <= 3 + (STEP // FEWEST).bit_length()
    assert len(pools) == 3 * len(sizes)
    assert None not in pools
    assert len(set(pools[: 2 * len(sizes)])) == 1
    assert len(set(pools)) == 2


def test_rows_that_are_picked_on_a_device_are_those_that_are_picked_here() -> None:
    """In a stream: some unrolls are complete, and others are kept."""
    harvests = []
    for there in (False, True):
        game = started("arena")
        collector = Collector(game, far(Actor(policy_of(game), 3)), unroll_length=5)
        lane = collector.actor.lane  # type: ignore[union-attr]
        if there:
            collector.tape.empty, collector.tape.pick = lane.empty, lane.pick
        harvests.append([lane.send(collector.unrolls(count)) for count in (3, 7, 2)])
    for here, picked in zip(*harvests, strict=True):
        assert here.decisions == picked.decisions > 0
        for name in ALL:
            mine, theirs = getattr(here, name), getattr(picked, name)
            assert (mine is None) == (theirs is None), name
            assert mine is None or torch.equal(mine, theirs), name


def test_recorded_rows_are_few_sizes_and_never_fewer_than_there_are() -> None:
    for rows in (0, 1, 255, 256, 257, 1024, 1025, STEP - 1, STEP):
        assert max(rows, FEWEST) <= recorded_rows(rows) <= max(FEWEST, 2 * rows)
    for rows in (STEP + 1, 2 * STEP, 10 * STEP - 3):
        assert rows <= recorded_rows(rows) < rows + STEP


def test_what_fills_recorded_rows_up_was_a_decision_or_is_zero(pools: list[Any]) -> None:
    def work(given: Rows, _: Any) -> Found:
        return Found(given["a"].int(), given["a"], given["a"])

    kinds = {"a": ((3,), np.dtype(np.uint8)), "b": ((2,), np.dtype(np.float32))}
    made = Records(work, Lane(CPU))
    for rows in (STEP, 2 * STEP):
        work_of = made.fit(kinds, rows)
        work_of.run(1.0)
        assert not any(given.any() for given in work_of.inputs.values())
        for array in work_of.arrays.values():
            array[:rows] = 255
        work_of.run(1.0)
        assert all((given == 255).all() for given in work_of.inputs.values())


class Redone(Records):
    """What is recorded is done again where a graph would be replayed."""

    def fit(self, *told: Any) -> Any:
        made = super().fit(*told)

        def replay() -> None:
            found = self._work(made.inputs, made.temperature)
            made.outputs.numbers.copy_(found.numbers)
            made.outputs.logits.copy_(found.logits)

        made.graph.replay = replay  # type: ignore[method-assign]
        return made


def recorded(actor: Actor) -> Actor:
    actor._recorded = Redone(actor._work, actor.lane)
    return far(actor)


@pytest.mark.parametrize("log_probs", [False, True])
@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("name", ["beastybar", "arena", "kuhn"])
def test_recorded_choices_are_those_that_are_launched_one_by_one(
    name: str, greedy: bool, log_probs: bool, pools: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lanista.rollout.inference.device_transfer.STEP", 4)
    game = started(name)
    policy = policy_of(game)
    view = game.spec.privileged if name == "kuhn" else None
    critic = Critic(game.spec, policy.network, "value", observation=view)
    torch.nn.init.orthogonal_(critic.head.weight)
    told: dict[str, Any] = {"greedy": greedy, "log_probs": log_probs}
    one = far(Actor(policy, 4, critic, **told))
    other = recorded(Actor(policy, 4, critic, **told))
    one.temperature = other.temperature = 1.5
    for step, (decisions, rows) in enumerate(walk(game, 6)):
        some = rows[:: 1 + step % 3]
        privileged = game.privileged().take(some, 0) if view else None
        same(one.choose(decisions, some, privileged), other.choose(decisions, some, privileged))
    assert len(pools) > 1


@pytest.mark.parametrize("sizes", [(12,), (3, 9), (1, 0, 4), (0, 2, 0, 1, 0), (7, 0, 0, 0, 0, 0)])
@pytest.mark.parametrize("greedy", [False, True])
def test_recorded_panels_answer_as_others_do(
    sizes: tuple[int, ...], greedy: bool, pools: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lanista.rollout.inference.device_transfer.STEP", 4)
    monkeypatch.setattr("lanista.rollout.inference.opponent_batch.STEP", 4)
    monkeypatch.setattr("lanista.rollout.inference.opponent_batch.Records", Redone)
    game = started("beastybar", slots=12)
    players = []
    for number in range(len(sizes)):
        torch.manual_seed(number)
        policy = policy_of(game)
        torch.nn.init.normal_(policy.head.weight)  # Sure of itself, not near uniform.
        players.append(PolicyPlayer(f"p{number}", "d", Actor(policy, 9, greedy=greedy)))
    plain, again = (
        OpponentBatch(players, Lane(CPU), stack=True, record=do) for do in (False, True)
    )
    for decisions, rows in walk(game, 4):
        some = rows[::-1][: sum(sizes)].copy()
        cut = [*sizes[:-1], len(some) - sum(sizes[:-1])]
        answers = again.act(decisions, some, cut)
        assert answers.dtype == np.int32
        assert np.array_equal(answers, plain.act(decisions, some, cut))
    wide = len(sizes) == 6
    assert len(pools) == (0 if wide else 1)


@pytest.fixture
def late(pools: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let recorded work be done when its lane is waited for, as on a device; return what is due."""
    due: list[Any] = []
    run, settle = Recorded.run, Lane.settle
    monkeypatch.setattr(Recorded, "run", lambda *told: due.append(told))

    def settled(lane: Lane) -> None:
        while due:
            run(*due.pop(0))
        settle(lane)

    monkeypatch.setattr(Lane, "settle", settled)
    return due


@pytest.mark.parametrize("greedy", [False, True])
def test_recorded_choices_are_read_when_the_device_has_made_them(
    greedy: bool, late: list[Any]
) -> None:
    game = started("beastybar")
    policy = policy_of(game)
    one, other = far(Actor(policy, 4, greedy=greedy)), recorded(Actor(policy, 4, greedy=greedy))
    for decisions, rows in walk(game, 4):
        wanted = one.choose(decisions, rows)
        same(wanted, other.choose(decisions, rows))
        assert not late


def test_answers_of_recorded_panels_are_read_when_the_device_has_made_them(
    late: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lanista.rollout.inference.opponent_batch.Records", Redone)
    game = started("beastybar", slots=12)
    policy = policy_of(game)
    torch.nn.init.normal_(policy.head.weight)
    player = PolicyPlayer("p", "d", Actor(policy, 9, greedy=True))
    plain, again = (
        OpponentBatch([player], Lane(CPU), stack=True, record=do) for do in (False, True)
    )
    for decisions, rows in walk(game, 4):
        wanted = plain.act(decisions, rows, [len(rows)])
        assert np.array_equal(again.act(decisions, rows, [len(rows)]), wanted)
        assert not late
