"""Actors and learners on a GPU: as on the CPU up to rounding, recorded or not, in threads too."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from lanista.games import registry
from lanista.games.contract import Decisions, Game
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.learn.update.batch import Batch, to_device
from lanista.learn.update.minibatches import cut
from lanista.nets.distribution import Heads
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor, Choice
from lanista.rollout.inference.device_transfer import STEP, Lane
from lanista.rollout.inference.opponent_batch import OpponentBatch
from lanista.rollout.inference.policy_players import PolicyPlayer

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

SLOTS = 300
KINDS = ("mlp", "residual", "lstm", "transformer")


@pytest.fixture(autouse=True)
def _exact() -> Iterator[None]:
    """Multiply in float32 as the CPU does."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


def networks(game: Game, kind: Any = "mlp", device: str = "cuda") -> tuple[Policy, Critic]:
    torch.manual_seed(2)
    policy = Policy(game.spec, Network(kind, width=32, layers=2))
    torch.nn.init.orthogonal_(policy.head.weight, 3.0)
    critic = Critic(game.spec, policy.network, "value", features=policy.torso.width)
    torch.nn.init.orthogonal_(critic.head.weight)
    return policy.to(device), critic.to(device)


def walk(name: str, steps: int) -> Iterator[tuple[Decisions, NDArray[Any]]]:
    """Give decisions of random play, with fewer rows at every second step."""
    game = registry.make(name, slots=SLOTS, seed=5)
    game.start(np.arange(SLOTS), np.arange(SLOTS))
    bot = registry.make_bot(name, "random", game.spec, 1)
    for step in range(steps):
        now = game.decisions()
        rows = np.arange(len(now))
        yield now, rows[:: 1 + step % 2]
        game.act(rows, bot.act(now, rows))


def same(one: Choice, other: Choice, tolerance: float = 1e-4) -> None:
    """Compare choices; a draw on the very border may fall to either side."""
    equal = (one.action == other.action).all(1)
    assert equal.mean() > 0.98
    np.testing.assert_allclose(one.log_probs, other.log_probs, atol=tolerance)
    np.testing.assert_allclose(one.log_prob[equal], other.log_prob[equal], atol=tolerance)
    np.testing.assert_allclose(one.value, other.value, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["beastybar", "arena"])
def test_a_gpu_chooses_as_the_cpu_does(name: str, kind: str) -> None:
    game = registry.make(name, slots=1, seed=5)
    here = Actor(*_with_seed(networks(game, kind, "cpu")))
    there = Actor(*_with_seed(networks(game, kind)))
    for decisions, rows in walk(name, 6):
        same(there.choose(decisions, rows), here.choose(decisions, rows), 2e-3)


def _with_seed(both: tuple[Policy, Critic]) -> tuple[Policy, int, Critic]:
    return both[0], 4, both[1]


@pytest.mark.parametrize("kind", ["mlp", "residual", "transformer", "lstm", "transformer_lstm"])
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["beastybar", "arena"])
def test_recorded_work_chooses_as_what_is_launched_one_by_one(
    name: str, precision: torch.dtype, kind: str
) -> None:
    policy, critic = networks(registry.make(name, slots=1, seed=5), kind)
    plain = Actor(policy, 4, critic, precision=precision)
    recorded = Actor(policy, 4, critic, precision=precision, graphs=True, log_probs=True)
    tolerance = 1e-4 if precision == torch.float32 else 0.1
    for step, (decisions, rows) in enumerate(walk(name, 6)):
        plain.temperature = recorded.temperature = 1.0 + step % 3
        one, other = recorded.choose(decisions, rows), plain.choose(decisions, rows)
        same(one, other, tolerance)
        if policy.state_size:
            np.testing.assert_allclose(one.state, other.state, atol=tolerance)
            assert step < 4 or one.state.any()  # A seat's first turn may be the fourth.


def test_recorded_work_follows_weights_that_change_in_place() -> None:
    policy, critic = networks(registry.make("beastybar", slots=1, seed=5))
    optimiser = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=0.1, fused=True)
    plain, recorded = Actor(policy, 4, critic), Actor(policy, 4, critic, graphs=True)
    last = None
    for decisions, rows in walk("beastybar", 6):
        one, other = plain.choose(decisions, rows), recorded.choose(decisions, rows)
        same(other, one)
        if last is not None and len(last) == len(one.log_probs):
            assert not np.allclose(last, one.log_probs)
        last = one.log_probs
        for weight in (*policy.parameters(), *critic.parameters()):
            weight.grad = torch.randn_like(weight)
        optimiser.step()
    assert len(recorded._recorded._by_size) <= 2  # type: ignore[union-attr]


def test_actors_in_threads_have_streams_of_their_own_and_choose_the_same() -> None:
    steps = [(copy.deepcopy(decisions), rows) for decisions, rows in walk("beastybar", 20)]
    game = registry.make("beastybar", slots=1, seed=5)

    # All threads draw first weights from one source, so they are made before.
    made = [networks(game) for _ in range(4)]

    def play(number: int, graphs: bool) -> tuple[list[Choice], Any]:
        policy, critic = made[number]
        actor = Actor(policy, 4, critic, graphs=graphs)
        with actor.taking_weights(), torch.no_grad():
            torch._foreach_mul_(list(policy.parameters()), 1.0)
        return [actor.choose(*step) for step in steps], actor.lane._stream

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(play, range(4), [False, False, True, True]))
    assert len({stream.cuda_stream for _, stream in found}) == 4
    for choices, _ in found[1:]:
        for one, other in zip(choices, found[0][0], strict=True):
            assert (one.action == other.action).mean() > 0.98


@pytest.mark.parametrize("record", [False, True])
def test_opponents_answer_together_as_on_the_cpu(record: bool) -> None:
    game = registry.make("beastybar", slots=1, seed=5)
    for decisions, rows in walk("beastybar", 3):
        parts = np.array_split(rows, 3)
        answers = []
        for device in ("cpu", "cuda"):
            players = []
            for number in range(3):
                torch.manual_seed(number)
                policy = Policy(game.spec, Network(width=32, layers=1)).to(device)
                players.append(PolicyPlayer(f"p{number}", f"d{number}", Actor(policy, 7)))
            lane = Lane(players[0].actor.device)
            panel = OpponentBatch(players, lane, record=record and device == "cuda")
            answers.append(panel.act(decisions, rows, [len(part) for part in parts]))
        assert (answers[0] == answers[1]).all(1).mean() > 0.98


def seating(matches: NDArray[Any]) -> NDArray[np.int32]:
    return np.stack([matches % 4, (matches // 4 + 1) % 4], 1).astype(np.int32)


def met(game: Game, number: int) -> list[PolicyPlayer]:
    torch.manual_seed(number)
    policies = [Policy(game.spec, Network(kind, width=32)) for kind in ("mlp", "mlp", "lstm")]  # type: ignore[arg-type]
    actors = [Actor(policy.cuda(), 7) for policy in policies]
    return [PolicyPlayer(f"p{n}", f"{number}.{n}", actor) for n, actor in enumerate(actors)]


def test_workers_that_meet_others_again_and_again_never_share_a_stream() -> None:
    def play(number: int) -> tuple[set[int], int]:
        game = registry.make("beastybar", slots=64, seed=number)
        policy, critic = networks(game)
        actor = Actor(policy, 4, critic, graphs=True)
        with actor.taking_weights():
            pass
        collector, used, decisions = Collector(game, actor, unroll_length=32), set(), 0
        for each in range(20):  # With two others that have a stream each, 40 for a worker.
            collector.meet(met(game, each), seating)
            decisions += collector.whole_matches(64).decisions
            ((_, panel),) = collector._others.panels
            lanes = [actor.lane, panel._lane, collector._actors()[-1].lane]  # type: ignore[union-attr]
            used |= {lane._stream.cuda_stream for lane in lanes}  # type: ignore[union-attr]
        return used, decisions

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(play, range(3)))
    assert all(len(used) == 1 for used, _ in found)
    assert len(set.union(*(used for used, _ in found))) == 3


def test_graphs_of_several_sizes_share_memory_and_stay_right_in_any_order() -> None:
    game = registry.make("beastybar", slots=3 * STEP, seed=5)
    game.start(np.arange(3 * STEP), np.arange(3 * STEP))
    decisions = game.decisions()
    policy, critic = networks(game)
    plain, recorded = Actor(policy, 4, critic), Actor(policy, 4, critic, graphs=True)
    for size in (3 * STEP, 100, STEP + 1, 3 * STEP - 5, 100, STEP, 2 * STEP):
        rows = np.arange(size)
        same(recorded.choose(decisions, rows), plain.choose(decisions, rows))
    made = list(recorded._recorded._by_size.values())  # type: ignore[union-attr]
    assert len(made) == 4
    assert {each.graph.pool() for each in made} == {recorded.lane.graph_memory}


@pytest.mark.parametrize("sizes", [(5,), (3, 2, 2)])
def test_what_heads_compute_never_waits_for_the_gpu(sizes: tuple[int, ...]) -> None:
    heads = Heads(sizes)
    mask = torch.ones(9, heads.choices, dtype=torch.bool, device="cuda")
    logits = torch.randn(9, heads.choices, device="cuda", requires_grad=True)
    uniforms = torch.rand(9, len(heads), device="cuda")

    def use() -> None:
        actions, _ = heads.choose(logits, mask, uniforms)
        heads.choose(logits, mask, None)
        judged = heads.judge(logits, mask, actions)
        gap = heads.kl(judged.log_probs, heads.uniform_log_probs(mask), mask)
        (judged.log_probs - heads.spread(gap)).sum().backward()

    use()
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        use()
    finally:
        torch.cuda.set_sync_debug_mode(before)


@pytest.mark.parametrize("settings", [{"minibatches": 4}, {"policy": "vtrace"}, {"eta": 0.2}])
def test_a_gpu_learns_as_the_cpu_does(settings: dict[str, Any]) -> None:
    logs, policies = [], []
    for device in ("cpu", "cuda"):
        game = registry.make("leduc", slots=64, seed=1)
        learning = Learning(**{"policy": "ppo", **settings})
        network = Network(width=32, layers=1)
        learner = Learner(game.spec, network, learning, updates=9, device=device)
        actor = Actor(copy.deepcopy(learner.policy).cpu(), 3, copy.deepcopy(learner.critic).cpu())
        unrolls = Collector(game, actor, unroll_length=8).whole_matches(256)
        logs.append(learner.update(to_device(unrolls, learner.device)))
        policies.append([weight.detach().cpu() for weight in learner.policy.parameters()])
    assert logs[0] == pytest.approx(logs[1], rel=1e-2, abs=1e-3)
    for one, other in zip(*policies, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("whole", [False, True])
def test_cutting_minibatches_never_waits_for_the_gpu(whole: bool) -> None:
    game = registry.make("leduc", slots=64, seed=1)
    policy, critic = networks(game, device="cpu")
    unrolls = Collector(game, Actor(policy, 3, critic), unroll_length=8).whole_matches(256)
    device = torch.device("cuda")
    moved = to_device(unrolls, device, whole=whole)
    lanes = np.arange(len(moved))[::2]
    cuts = cut(moved, [lanes, lanes])
    next(cuts)  # How long unrolls are is asked once, at first.
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        batch = Batch(next(cuts), device)
        batch.rows(batch.steps(batch.tensor("reward")))
        ended = batch.to_the_end.steps(batch.tensor("ended"))
    finally:
        torch.cuda.set_sync_debug_mode(before)
    assert ended.is_cuda
