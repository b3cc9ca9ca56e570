"""Steps whose numbers are read after the last of them, as on a GPU; here forced on the CPU."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from small_runs import VALUE, Run, kuhn_run, leduc_run
from torch.utils._python_dispatch import TorchDispatchMode

from lanista.learn import loss_terms
from lanista.learn.learner import BrokenLossError, Learner
from lanista.learn.losses import Term
from lanista.learn.settings import Learning
from lanista.learn.term_table import LOSSES, LossTerm
from lanista.learn.update.optimiser_step import BrokenLossError as Broken
from lanista.learn.update.optimiser_step import norm_of, shares_of

STEPS = Learning(terms={**VALUE, "entropy": 0.1}, epochs=2, minibatches=3, lr=0.01)


def twins(settings: Learning) -> tuple[Run, Learner, Learner]:
    """Return a run, and two equal learners: one judges at once, one late."""
    run, now, late = (leduc_run(settings) for _ in range(3))
    late.learner.descent.late = True
    return run, now.learner, late.learner


def everything(learner: Learner) -> list[torch.Tensor]:
    """Return the weights and what the optimiser keeps of them."""
    states = learner.optimiser.state_dict()["state"]
    return [
        *(parameter.detach().clone() for parameter in learner.parameters),
        *(value.clone() for number in sorted(states) for value in states[number].values()),
    ]


def assert_same(one: Learner, other: Learner) -> None:
    left, right = everything(one), everything(other)
    assert len(left) == len(right)
    assert all(map(torch.equal, left, right))


@pytest.mark.parametrize(
    "settings",
    [
        STEPS,
        replace(STEPS, accumulate=2, shards=2, keep_advantages=0.5),
        replace(STEPS, target_kl=0.001, epochs=9),
        replace(STEPS, policy="neurd", critic_output="q", term_gradients_every=1),
        replace(STEPS, terms={"policy": 1.0}),
    ],
)
def test_late_numbers_are_those_that_come_at_once(settings: Learning) -> None:
    run, now, late = twins(settings)
    for _ in range(3):
        unrolls = run.play()
        assert now.update(unrolls) == late.update(unrolls)
    assert_same(now, late)


def broken_at(run: Run, row: int, value: float = math.nan) -> Any:
    unrolls = run.play()
    reward = unrolls.reward.copy()
    reward[row] = value
    return replace(unrolls, reward=reward)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_no_step_after_a_broken_loss_is_taken(value: float) -> None:
    run, now, late = twins(STEPS)
    first, broken = run.play(), broken_at(run, 7, value)
    sentences = []
    for learner in (now, late):
        learner.update(first)
        learner.order.bit_generator.state = np.random.PCG64(5).state
        with pytest.raises(BrokenLossError, match="is nan at update 1; the weights were") as caught:
            learner.update(broken)
        sentences.append(str(caught.value))
        assert learner.update_count == 1
    assert sentences[0] == sentences[1]
    steps = {int(state["step"]) for state in now.optimiser.state.values()}
    assert steps <= {6, 7, 8}  # Six of the first update, and what came before the broken one.
    assert_same(now, late)


def test_a_learner_goes_on_after_a_broken_update() -> None:
    run, now, late = twins(STEPS)
    broken, good = broken_at(run, 0), run.play()
    for learner in (now, late):
        with pytest.raises(BrokenLossError):
            learner.update(broken)
        learner.order.bit_generator.state = np.random.PCG64(5).state
    assert now.update(good) == late.update(good)
    assert_same(now, late)


@pytest.mark.parametrize("late", [False, True])
def test_a_gradient_that_is_not_finite_is_not_followed(late: bool) -> None:
    run = kuhn_run(replace(STEPS, minibatches=1))
    run.train(1)
    run.learner.descent.late = late
    hook = run.learner.critic.head.bias.register_hook(lambda gradient: gradient * math.inf)
    before = everything(run.learner)
    with pytest.raises(BrokenLossError, match=r"critic's gradient of update 1 is (inf|nan), so"):
        run.train(1)
    assert all(map(torch.equal, before, everything(run.learner)))
    hook.remove()
    run.train(1)
    assert not torch.equal(before[0], everything(run.learner)[0])


def test_terms_that_only_together_are_infinite_are_named_as_such() -> None:
    run = kuhn_run(Learning(terms={"value": 1e39, "entropy": 1e39}))
    run.learner.descent.late = True
    before = [parameter.detach().clone() for parameter in run.learner.parameters]
    with pytest.raises(BrokenLossError, match=r"update 0 is .* though each of its terms is finite"):
        run.train(1)
    assert all(map(torch.equal, before, run.learner.parameters))


def scaled(late: bool, scale: float) -> Run:
    """Return a run whose losses are scaled as for fp16, which the CPU has not."""
    run = kuhn_run(Learning(terms={"policy": 1.0, "value": 100.0}))
    run.learner.descent.scaler = torch.amp.GradScaler("cpu", init_scale=scale, enabled=True)
    run.learner.descent.late = late
    return run


@pytest.mark.parametrize("late", [False, True])
def test_a_first_step_that_the_scaler_skips_is_no_error(late: bool) -> None:
    run = scaled(late, 2.0**127)
    before = [parameter.detach().clone() for parameter in run.learner.parameters]
    log = run.train(1)[0]
    assert not math.isfinite(log["gradient_norm/critic"])
    assert all(map(torch.equal, before, run.learner.parameters))
    assert run.learner.descent.scaler.get_scale() == 2.0**126
    assert run.learner.update_count == 1


@pytest.mark.parametrize("late", [False, True])
def test_a_broken_loss_with_a_fine_gradient_is_not_followed_under_a_scaler(
    late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = scaled(late, 2.0)
    run.train(2)
    value = LOSSES.load("value")

    def infinite(known: loss_terms.LossInputs) -> Term:
        return Term(value(known).loss + math.inf, {})

    monkeypatch.setitem(LOSSES, "value", LossTerm("infinite", infinite))
    before = everything(run.learner)
    with pytest.raises(BrokenLossError, match="term value is inf at update 2"):
        run.train(1)
    assert all(map(torch.equal, before, everything(run.learner)))


class Asked(TorchDispatchMode):
    """Counts how often a number was asked of a tensor, which on a GPU waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.is_nonzero.default):
            self.counts[str(func)] += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "settings",
    [
        STEPS,
        replace(STEPS, keep_advantages=0.5),
        replace(STEPS, policy="vtrace", terms={**VALUE, "upgo": 0.1, "magnet": 0.1}),
        replace(STEPS, policy="neurd", critic_output="q", term_gradients_every=1),
    ],
)
def test_no_number_is_asked_for_before_the_last_step(settings: Learning) -> None:
    run = leduc_run(settings)
    unrolls = run.play()
    with Asked() as asked:
        run.learner.update(unrolls)
    assert asked.counts  # At once, so that the test can see it.
    run.learner.descent.late = True
    with Asked() as asked:
        run.learner.update(unrolls)
    assert not asked.counts


def test_a_norm_is_that_of_all_gradients_together_and_0_where_there_is_none() -> None:
    cpu = torch.device("cpu")
    three, four = torch.full((1, 1), -3.0), torch.tensor([4.0])
    assert norm_of([three, None, four], cpu) == 5.0
    assert norm_of([None], cpu) == 0.0
    assert norm_of([], cpu) == 0.0


def test_a_term_without_a_gradient_has_no_share_and_shares_of_nothing_are_0() -> None:
    cpu = torch.device("cpu")
    own = {"a": [torch.tensor([3.0])], "b": [None], "c": [torch.tensor([-1.0])]}
    shares = {name: float(share) for name, share in shares_of(own, cpu).items()}
    assert shares == {"a/gradient_share": 0.75, "b/gradient_share": 0.0, "c/gradient_share": 0.25}
    assert [float(share) for share in shares_of({"a": [None]}, cpu).values()] == [0.0]


def test_a_broken_loss_is_a_failure_and_not_a_misuse() -> None:
    run = kuhn_run(STEPS)
    with pytest.raises(Broken) as caught:
        run.learner.descent.refuse_broken({"loss": math.inf}, [], 3)
    assert caught.value.exit_code == 1
    assert "The loss of update 3 is inf" in str(caught.value)
