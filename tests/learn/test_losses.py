"""Losses against sums over valid steps in plain floats, their signs, gradients and padding."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor
from unroll_cases import SEEDS, Choices, choices, choices_for

from lanista.learn import losses, regularisers
from lanista.learn.losses import Term
from lanista.nets.distribution import Heads

Loss = Callable[[Choices, Tensor], Term]
"""A loss of logits `[T, B, choices]`, everything else taken from the case."""


def numbers(case: Choices, shift: int = 0) -> Tensor:
    """Any number for each step, `[T, B]`."""
    return (case.numbers * (1 + shift)).sum(-1)


def chosen(case: Choices, logits: Tensor) -> Tensor:
    return case.heads.joint(case.heads.log_probs(logits, case.mask), case.action)


def behaviour(case: Choices) -> Tensor:
    return case.heads.joint(case.other_log_probs, case.action)


def log_probs(case: Choices, logits: Tensor) -> Tensor:
    return case.heads.log_probs(logits, case.mask)


POLICY_LOSSES: dict[str, Loss] = {
    "policy_gradient": lambda c, x: losses.policy_gradient(chosen(c, x), numbers(c), c.valid),
    "ppo_clip": lambda c, x: losses.ppo_clip(
        chosen(c, x), behaviour(c), numbers(c), c.valid, clip=0.3
    ),
    "upgo_loss": lambda c, x: losses.upgo_loss(
        chosen(c, x), behaviour(c), 0 * numbers(c), numbers(c), c.valid
    ),
    "all_action": lambda c, x: losses.all_action(
        c.heads, log_probs(c, x), c.numbers, c.mask, c.valid
    ),
    "neurd": lambda c, x: losses.neurd(c.heads, x, c.numbers, c.mask, c.valid, threshold=1.5),
}
OTHER_LOSSES: dict[str, Loss] = {
    "imitation": lambda c, x: losses.imitation(c.heads, log_probs(c, x), c.action, c.mask, c.valid),
    "entropy_bonus": lambda c, x: losses.entropy_bonus(
        c.heads.entropy(log_probs(c, x), c.mask), c.valid
    ),
    "q_loss": lambda c, x: losses.q_loss(c.heads, x, c.action, numbers(c), c.valid),
    "value_loss": lambda c, x: losses.value_loss(x[..., 0], numbers(c), c.valid),
    "clipped_value_loss": lambda c, x: losses.value_loss(
        x[..., 0], numbers(c), c.valid, old_value_t=numbers(c, 1), clip=0.2
    ),
    "outcome_loss": lambda c, x: losses.outcome_loss(
        x[..., :1] * x.new_tensor([1.0, 0.5, -1.0]), losses.outcome_classes(numbers(c)), c.valid
    ),
    "forward_kl": lambda c, x: regularisers.forward_kl(
        c.heads, log_probs(c, x), c.other_log_probs, c.mask, c.valid
    ),
    "reverse_kl": lambda c, x: regularisers.reverse_kl(
        c.heads, log_probs(c, x), c.other_log_probs, c.mask, c.valid
    ),
    "reference_kl": lambda c, x: regularisers.reference_kl(
        c.heads, log_probs(c, x), c.other_log_probs, c.mask, c.valid
    ),
    "portfolio_kl": lambda c, x: regularisers.portfolio_kl(
        c.heads,
        log_probs(c, x),
        torch.stack([c.other_log_probs, log_probs(c, c.numbers)]),
        c.mask,
        c.valid,
        pull="softmin",
    ),
    "magnet": lambda c, x: regularisers.magnet(c.heads, log_probs(c, x), c.mask, c.valid),
    "behaviour_kl": lambda c, x: regularisers.behaviour_kl(
        c.heads, log_probs(c, x), c.other_log_probs, c.mask, c.valid
    ),
    "behaviour_kl_sampled": lambda c, x: regularisers.behaviour_kl_sampled(
        chosen(c, x), behaviour(c), c.valid
    ),
}
LOSSES = POLICY_LOSSES | OTHER_LOSSES
each_loss = pytest.mark.parametrize("name", LOSSES)


def bandit(sizes: tuple[int, ...]) -> Choices:
    """One state in which choice 1 of the first head pays 1 and every action is tried once."""
    heads = Heads(sizes)
    grid = torch.cartesian_prod(*(torch.arange(size) for size in sizes)).reshape(-1, len(sizes))
    count = len(grid)
    action = grid[None]
    mask = torch.ones(1, count, heads.choices, dtype=torch.bool)
    zeros = torch.zeros(1, count, heads.choices, dtype=torch.float64)
    pays = zeros.clone()
    pays[..., 1] = 1.0
    return Choices(heads, mask, zeros, zeros, pays, action, torch.ones(1, count, dtype=torch.bool))


def bandit_loss(name: str, case: Choices, logits: Tensor) -> Tensor:
    paid = (case.action[..., 0] == 1).double()
    everything = logits.expand(case.mask.shape)
    lp = chosen(case, everything)
    if name == "policy_gradient":
        return losses.policy_gradient(lp, paid - 0.3, case.valid).loss
    if name == "ppo_clip":
        return losses.ppo_clip(lp, behaviour(case), paid - 0.3, case.valid).loss
    if name == "upgo_loss":
        return losses.upgo_loss(lp, behaviour(case), 0 * paid + 0.3, paid, case.valid).loss
    return POLICY_LOSSES[name](case, everything).loss


@pytest.mark.parametrize("sizes", [(3,), (3, 2)])
@pytest.mark.parametrize("name", POLICY_LOSSES)
def test_a_rewarded_action_becomes_more_likely(name: str, sizes: tuple[int, ...]) -> None:
    case = bandit(sizes)
    logits = torch.zeros(case.heads.choices, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.SGD([logits], lr=1.0)
    seen = []
    for _ in range(20):
        probs = case.heads.log_probs(logits, case.mask[0, 0]).exp()
        seen.append(probs[1].item())
        optimiser.zero_grad()
        bandit_loss(name, case, logits).backward()
        optimiser.step()
    assert seen[1] > seen[0]
    assert seen[-1] > 0.38
    assert seen[-1] >= max(seen) - 1e-9


def test_an_action_imitated_becomes_more_likely() -> None:
    case = bandit((3,))
    logits = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    action = torch.full_like(case.action, 2)
    term = losses.imitation(
        case.heads, log_probs(case, logits.expand(case.mask.shape)), action, case.mask, case.valid
    )
    term.loss.backward()
    assert logits.grad is not None
    assert logits.grad[2] < 0 < logits.grad[0]


@each_loss
def test_every_loss_alone_has_a_gradient(name: str) -> None:
    case = choices_for(torch.ones(4, 3, dtype=torch.bool), (4, 3), 5)
    logits = (0.3 * case.logits).requires_grad_(True)
    term = LOSSES[name](case, logits)
    assert term.loss.shape == ()
    assert term.loss.dtype is torch.float64
    term.loss.backward()
    assert logits.grad is not None
    assert logits.grad.abs().sum() > 0
    assert not any(number.requires_grad for number in term.statistics.values())


@each_loss
@given(case=choices())
def test_padding_changes_no_loss_and_gets_no_gradient(name: str, case: Choices) -> None:
    assume(not case.valid.all())
    pad = ~case.valid[..., None]

    def other(values: Tensor) -> Tensor:
        return torch.where(pad, -1e3 * values.flip(-1) - 700.0, values)

    changed = Choices(
        case.heads,
        case.mask & ~pad,
        other(case.logits),
        other(case.others),
        other(case.numbers),
        torch.where(pad, 0, case.action),
        case.valid.double(),
    )
    found = []
    for each in (case, changed):
        logits = each.logits.clone().requires_grad_(True)
        term = LOSSES[name](each, logits)
        term.loss.backward()
        assert logits.grad is not None
        assert (logits.grad[~case.valid] == 0).all()
        found.append((term.loss, logits.grad, *term.statistics.values()))
    for one, two in zip(*found, strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_even_infinite_padding_changes_nothing(bad: float) -> None:
    valid = torch.tensor([[1.0], [0.0]])
    one = torch.tensor([[0.5], [bad]], dtype=torch.float64)
    for loss in (
        lambda x: losses.policy_gradient(x, one, valid),
        lambda x: losses.ppo_clip(x, one, one, valid),
        lambda x: losses.upgo_loss(x, one, one, one, valid),
        lambda x: losses.value_loss(x, one, valid, old_value_t=one, clip=0.1),
        lambda x: regularisers.behaviour_kl_sampled(x, one, valid),
    ):
        x = torch.tensor([[0.1], [bad]], dtype=torch.float64, requires_grad=True)
        term = loss(x)
        term.loss.backward()
        assert x.grad is not None
        assert x.grad.isfinite().all()
        assert x.grad[1] == 0
        assert all(found.isfinite() for found in (term.loss, *term.statistics.values()))


@each_loss
@given(case=choices())
def test_no_mask_gives_nan_in_float32(name: str, case: Choices) -> None:
    case.mask[0] = False
    case.mask[0, ..., 0] = True
    single = Choices(
        case.heads,
        case.mask,
        case.logits.float() * 100,
        case.others.float() * 100,
        case.numbers.float(),
        case.heads.mode(case.log_probs, case.mask),
        case.valid,
    )
    logits = single.logits.clone().requires_grad_(True)
    term = LOSSES[name](single, logits)
    assert term.loss.dtype is torch.float32
    term.loss.backward()
    assert logits.grad is not None
    for found in (term.loss, logits.grad, *term.statistics.values()):
        assert found.isfinite().all()


@each_loss
def test_the_terminal_step_has_a_gradient(name: str) -> None:
    valid = torch.tensor([[True], [True], [False]])
    found = 0.0
    for seed in range(8):
        case = choices_for(valid, (4,), seed, open_share=1.0)
        logits = (0.3 * case.logits).requires_grad_(True)
        LOSSES[name](case, logits).loss.backward()
        assert logits.grad is not None
        found += logits.grad[1].abs().sum().item()
    assert found > 0


@each_loss
def test_no_valid_step_gives_zero(name: str) -> None:
    case = choices_for(torch.zeros(2, 2, dtype=torch.bool), (3,), 1)
    logits = case.logits.clone().requires_grad_(True)
    loss = LOSSES[name](case, logits).loss
    assert loss.item() == 0.0


@each_loss
def test_every_tensor_is_made_where_the_inputs_are(name: str) -> None:
    # Meta tensors refuse to mix with those of another device, as a GPU's do.
    case = choices_for(torch.ones(4, 3, dtype=torch.bool), (4, 3, 3), 5)
    tensors = (case.mask, case.logits, case.others, case.numbers, case.action, case.valid)
    moved = Choices(case.heads, *(each.to("meta") for each in tensors))
    term = LOSSES[name](moved, moved.logits.clone().requires_grad_(True))
    assert term.loss.device.type == "meta"
    assert all(number.device.type == "meta" for number in term.statistics.values())


def steps(case: Choices) -> list[tuple[int, int]]:
    return [(t, b) for t, b in case.valid.nonzero().tolist()]


def mean(values: list[float]) -> float:
    return sum(values) / max(1, len(values))


@given(choices())
def test_policy_gradient_and_upgo_are_their_sums(case: Choices) -> None:
    lp, mu, adv = chosen(case, case.logits), behaviour(case), numbers(case)
    slow = -mean([adv[i].item() * lp[i].item() for i in steps(case)])
    found = losses.policy_gradient(lp, adv, case.valid).loss
    assert found.item() == pytest.approx(slow, abs=1e-9)
    value = numbers(case, 1)
    rho = {i: min(0.7, math.exp((lp[i] - mu[i]).item())) for i in steps(case)}
    slow = -mean([rho[i] * (adv[i] - value[i]).item() * lp[i].item() for i in steps(case)])
    found = losses.upgo_loss(lp, mu, value, adv, case.valid, rho_clip=0.7).loss
    assert found.item() == pytest.approx(slow, abs=1e-9)


@given(choices())
def test_ppo_clip_is_its_sum(case: Choices) -> None:
    lp, mu, adv = chosen(case, case.logits), behaviour(case), numbers(case)
    ratio = [math.exp((lp[i] - mu[i]).item()) for i in steps(case)]
    gain = [adv[i].item() for i in steps(case)]
    pairs = list(zip(ratio, gain, strict=True))
    slow = -mean([min(r * a, min(max(r, 0.8), 1.2) * a) for r, a in pairs])
    term = losses.ppo_clip(lp, mu, adv, case.valid, clip=0.2)
    assert term.loss.item() == pytest.approx(slow, rel=1e-9, abs=1e-9)
    outside = mean([float(abs(r - 1) > 0.2) for r in ratio])
    assert term.statistics["clip_fraction"].item() == pytest.approx(outside)
    kl = mean([r - 1 - math.log(r) for r in ratio])
    assert term.statistics["approx_kl"].item() == pytest.approx(kl, rel=1e-9, abs=1e-9)


def test_ppo_clip_stops_pushing_beyond_the_clip_but_always_pulls_back() -> None:
    lp = torch.tensor([[0.5, -0.5, 0.5, -0.5]], dtype=torch.float64, requires_grad=True)
    advantage = torch.tensor([[1.0, -1.0, -1.0, 1.0]])
    valid = torch.ones(1, 4)
    losses.ppo_clip(lp, torch.zeros(1, 4), advantage, valid, clip=0.2).loss.backward()
    assert lp.grad is not None
    assert lp.grad[0, :2].tolist() == [0.0, 0.0]
    assert lp.grad[0, 2] > 0 > lp.grad[0, 3]


@given(choices())
def test_ppo_over_all_choices_is_the_mean_of_ppo_clip_over_the_choice_that_is_played(
    case: Choices,
) -> None:
    if len(case.heads) > 1:
        return
    source = torch.Generator().manual_seed(5)
    shape = case.logits.shape
    log_mu = case.heads.log_probs(torch.randn(shape, generator=source).double(), case.mask)
    advantage = torch.randn(shape, generator=source).double() * case.mask
    log_pi = case.heads.log_probs(case.logits, case.mask)
    term = losses.ppo_clip_all(case.heads, log_pi, log_mu, advantage, case.mask, case.valid)
    slow = []
    for at in steps(case):
        total = 0.0
        for a in legal(case, 0, at):
            ratio, gain = (log_pi[at][a] - log_mu[at][a]).exp().item(), advantage[at][a].item()
            bounded = min(max(ratio, 0.8), 1.2) * gain
            total += log_mu[at][a].exp().item() * min(ratio * gain, bounded)
        slow.append(total)
    assert term.loss.item() == pytest.approx(-mean(slow), rel=1e-6, abs=1e-9)
    assert all(bool(x.isfinite().all()) for x in term.statistics.values())


def test_neurd_gates_and_clips_as_the_paper_does() -> None:
    # Their mean is 0: beyond a threshold of 2 only the way back counts.
    logits = torch.tensor([[[3.0, 0.0, -3.0]]] * 2, dtype=torch.float64).transpose(0, 1)
    logits = logits.clone().requires_grad_(True)
    force = torch.tensor([[[5.0, 50.0, -5.0], [-5.0, -50.0, 5.0]]], dtype=torch.float64)
    everything = torch.ones(1, 2, 3, dtype=torch.bool)
    term = losses.neurd(
        Heads((3,)), logits, force, everything, torch.ones(1, 2), threshold=2.0, clip=10.0
    )
    term.loss.backward()
    assert logits.grad is not None
    # Row by row: −(f − mean f) / 2 rows, f within ±10.
    first = torch.tensor([0.0, 10.0, 0.0])
    second = torch.tensor([-5.0, -10.0, 5.0])
    expected = torch.stack([-(f - f.mean()) / 2 for f in (first, second)])[None].double()
    torch.testing.assert_close(logits.grad, expected)


def legal(case: Choices, head: int, at: tuple[int, int]) -> list[int]:
    start, size = case.heads.offsets[head], case.heads.sizes[head]
    return [a for a in range(start, start + size) if case.mask[at][a]]


@given(choices())
def test_all_action_follows_the_gradient_of_expected_q(case: Choices) -> None:
    logits = case.logits.clone().requires_grad_(True)
    POLICY_LOSSES["all_action"](case, logits).loss.backward()
    twin = case.logits.clone().requires_grad_(True)
    total = torch.zeros((), dtype=torch.float64)
    for at in steps(case):
        for head in range(len(case.heads)):
            among = legal(case, head, at)
            total = total + (twin[at][among].softmax(-1) * case.numbers[at][among]).sum()
    (-total / max(1, len(steps(case)))).backward()
    torch.testing.assert_close(logits.grad, twin.grad)


@given(choices(), st.sampled_from([0.5, 1.5, 100.0]))
def test_neurd_pushes_each_centred_logit_by_its_advantage_up_to_the_threshold(
    case: Choices, threshold: float
) -> None:
    logits = case.logits.clone().requires_grad_(True)
    losses.neurd(
        case.heads, logits, case.numbers, case.mask, case.valid, threshold=threshold, clip=0.8
    ).loss.backward()
    expected = torch.zeros_like(case.logits)
    for at in steps(case):
        for head in range(len(case.heads)):
            among = legal(case, head, at)
            mean_logit = mean([case.logits[at][a].item() for a in among])
            force = {}
            for a in among:
                centred = case.logits[at][a].item() - mean_logit
                push = min(0.8, max(-0.8, case.numbers[at][a].item()))
                beyond = (centred >= threshold and push > 0) or (centred <= -threshold and push < 0)
                force[a] = 0.0 if beyond else push
            for a in among:
                expected[at][a] = -(force[a] - mean(list(force.values()))) / len(steps(case))
    torch.testing.assert_close(logits.grad, expected)


@given(choices())
def test_value_losses_are_their_sums(case: Choices) -> None:
    value, target, old = case.logits[..., 0], numbers(case), numbers(case, 1)
    slow = mean([0.5 * (value[i] - target[i]).item() ** 2 for i in steps(case)])
    found = losses.value_loss(value, target, case.valid).loss.item()
    assert found == pytest.approx(slow, abs=1e-9)
    clipped = []
    for i in steps(case):
        bounded = old[i].item() + min(0.2, max(-0.2, (value[i] - old[i]).item()))
        worse = max((value[i] - target[i]).item() ** 2, (bounded - target[i].item()) ** 2)
        clipped.append(0.5 * worse)
    found = losses.value_loss(value, target, case.valid, old_value_t=old, clip=0.2).loss.item()
    assert found == pytest.approx(mean(clipped), abs=1e-9)


def test_a_clipped_value_loss_teaches_the_value_and_not_what_it_was() -> None:
    value = torch.tensor([[1.0]], requires_grad=True)
    old, target = torch.zeros(1, 1, requires_grad=True), torch.full((1, 1), 3.0)
    valid = torch.ones(1, 1, dtype=torch.bool)
    # The bounded value is 0.2, whose error is the larger one: there V itself changes nothing.
    loss = losses.value_loss(value, target, valid, old_value_t=old, clip=0.2).loss
    assert loss.item() == pytest.approx(0.5 * 2.8**2)
    loss.backward()
    assert value.grad is not None
    assert value.grad.item() == 0.0
    assert old.grad is None


@given(choices())
def test_q_loss_reads_the_played_choice_of_each_head(case: Choices) -> None:
    target, slow = numbers(case), []
    for i in steps(case):
        starts = zip(case.heads.offsets, case.action[i].tolist(), strict=True)
        errors = [0.5 * (case.logits[i][s + a] - target[i]).item() ** 2 for s, a in starts]
        slow.append(mean(errors))
    found = losses.q_loss(case.heads, case.logits, case.action, target, case.valid).loss.item()
    assert found == pytest.approx(mean(slow), abs=1e-9)


def test_outcomes_are_win_draw_loss_in_that_order() -> None:
    returns = torch.tensor([[1.0, 0.0, -3.0]])
    classes = losses.outcome_classes(returns)
    assert classes.tolist() == [[0, 1, 2]]
    sure = 50.0 * torch.nn.functional.one_hot(classes, 3).float()
    assert losses.outcome_value(sure)[0].tolist() == pytest.approx([1.0, 0.0, -1.0])
    term = losses.outcome_loss(sure, classes, torch.ones(1, 3))
    assert term.loss.item() == pytest.approx(0.0, abs=1e-6)
    assert term.statistics["outcome_accuracy"].item() == 1.0
    even = losses.outcome_loss(torch.zeros(1, 3, 3), classes, torch.ones(1, 3))
    assert even.loss.item() == pytest.approx(math.log(3))


@given(choices(), SEEDS)
def test_outcome_loss_is_the_cross_entropy_of_classes_and_of_probabilities(
    case: Choices, seed: int
) -> None:
    source = torch.Generator().manual_seed(seed)
    shape = (*case.valid.shape, 3)
    logits, wanted = (torch.randn(shape, generator=source, dtype=torch.float64) for _ in "ab")
    classes, soft = wanted.argmax(-1), wanted.softmax(-1)
    log_p = logits.log_softmax(-1)
    slow = -mean([log_p[i][classes[i]].item() for i in steps(case)])
    assert losses.outcome_loss(logits, classes, case.valid).loss.item() == pytest.approx(slow)
    slow = -mean([(log_p[i] * soft[i]).sum().item() for i in steps(case)])
    assert losses.outcome_loss(logits, soft, case.valid).loss.item() == pytest.approx(slow)


@given(choices())
def test_imitation_weighs_heads_and_counts_only_real_choices(case: Choices) -> None:
    weights = [0.5 + head for head in range(len(case.heads))]
    lp = case.log_probs
    term = losses.imitation(case.heads, lp, case.action, case.mask, case.valid, weights=weights)
    slow, plain = [], []
    counts = [[0, 0] for _ in weights]
    for i in steps(case):
        parts = []
        for head, start in enumerate(case.heads.offsets):
            among, played = legal(case, head, i), start + case.action[i][head].item()
            parts.append(-lp[i][played].item())
            if len(among) > 1:
                best = max(among, key=lambda a: lp[i][a].item())
                counts[head][0] += int(best == played)
                counts[head][1] += 1
        slow.append(sum(w * p for w, p in zip(weights, parts, strict=True)))
        plain.append(sum(parts))
    assert term.loss.item() == pytest.approx(mean(slow), abs=1e-9)
    assert term.statistics["nll"].item() == pytest.approx(mean(plain), abs=1e-9)
    assert term.statistics["decisions"].tolist() == [n for _, n in counts]
    assert term.statistics["accuracy"].tolist() == pytest.approx(
        [right / max(1, n) for right, n in counts]
    )


@given(choices())
def test_an_imitation_loss_can_be_shared_by_the_heads_that_choose(case: Choices) -> None:
    lp = case.log_probs
    term = losses.imitation(case.heads, lp, case.action, case.mask, case.valid, shared=True)
    shared, plain = [], []
    for i in steps(case):
        chosen = [
            -lp[i][start + case.action[i][head].item()].item()
            for head, start in enumerate(case.heads.offsets)
        ]
        choosing = sum(len(legal(case, head, i)) > 1 for head in range(len(case.heads)))
        shared.append(sum(chosen) / max(1, choosing))
        plain.append(sum(chosen))
    assert term.loss.item() == pytest.approx(mean(shared), abs=1e-9)
    assert term.statistics["nll"].item() == pytest.approx(mean(plain), abs=1e-9)


def test_an_entropy_bonus_can_be_shared_by_the_heads_that_choose() -> None:
    entropy = torch.tensor([[0.5, 0.25, 0.0], [1.0, 0.0, 0.0]])
    bonus = losses.entropy_bonus(entropy, torch.ones(2), shared_by=torch.tensor([2, 1]))
    assert bonus.loss.item() == pytest.approx(-(0.75 / 2 + 1.0) / 2)
    assert bonus.statistics["entropy"].tolist() == [0.75, 0.125, 0.0]


@given(choices())
def test_entropy_bonus_is_smaller_where_play_is_more_random(case: Choices) -> None:
    uniform = case.heads.uniform_log_probs(case.mask, torch.float64)
    bonus = losses.entropy_bonus(case.heads.entropy(case.log_probs, case.mask), case.valid)
    most = losses.entropy_bonus(case.heads.entropy(uniform, case.mask), case.valid)
    assert most.loss <= bonus.loss + 1e-12
    slow = [
        math.log(len(legal(case, head, i))) for i in steps(case) for head in range(len(case.heads))
    ]
    assert most.loss.item() == pytest.approx(-sum(slow) / len(steps(case)), abs=1e-9)
    assert bonus.statistics["entropy"].sum().item() == pytest.approx(-bonus.loss.item(), abs=1e-9)


def test_a_loss_refuses_shapes_that_would_broadcast() -> None:
    flat, wide = torch.zeros(3, 2), torch.zeros(3, 2, 1)
    with pytest.raises(ValueError, match="share its steps"):
        losses.value_loss(wide, flat, flat)
    with pytest.raises(ValueError, match="share its steps"):
        losses.policy_gradient(flat, flat[:1], flat)
    with pytest.raises(ValueError, match="both"):
        losses.value_loss(flat, flat, flat, clip=0.2)


def test_losses_that_are_told_nothing_clip_where_the_papers_do() -> None:
    generator = torch.Generator().manual_seed(4)
    one, other, gain, value = torch.randn(4, 40, 1, generator=generator).unbind()
    valid = torch.ones(40, 1, dtype=torch.bool)
    ppo = [losses.ppo_clip(one, other, gain, valid, **how).loss for how in ({}, {"clip": 0.2})]
    assert torch.equal(*ppo)
    assert not torch.equal(ppo[0], losses.ppo_clip(one, other, gain, valid, clip=0.4).loss)
    told = (one, other, value, gain, valid)
    upgo = [losses.upgo_loss(*told, **how).loss for how in ({}, {"rho_clip": 1.0})]
    assert torch.equal(*upgo)
    assert not torch.equal(upgo[0], losses.upgo_loss(*told, rho_clip=2.0).loss)
    heads, mask = Heads((2,)), torch.ones(1, 1, 2, dtype=torch.bool)
    for size, pushed in ((1.99, True), (2.01, False)):
        logits = torch.tensor([[[size, -size]]], requires_grad=True)
        force = torch.tensor([[[1.0, 0.0]]])
        losses.neurd(heads, logits, force, mask, valid[:1]).loss.backward()
        assert bool(logits.grad.any()) is pushed
    logits = torch.tensor([[[1.0, -1.0]]])
    huge = losses.neurd(heads, logits, torch.tensor([[[1e9, 0.0]]]), mask, valid[:1]).loss
    assert float(huge) == -1e4


def test_a_ratio_says_no_more_than_far_away_beyond_e_to_the_40() -> None:
    gap = torch.tensor([[-100.0, -39.0, 39.0, 100.0]])
    found = losses.log_ratio(gap, torch.zeros(1, 4), torch.ones(1, 4, dtype=torch.bool))
    assert found.tolist() == [[-40.0, -39.0, 39.0, 40.0]]


@pytest.mark.parametrize("name", ["all_action", "neurd", "imitation", "q_loss"])
@pytest.mark.parametrize("at", range(3))
def test_a_tensor_of_other_steps_is_refused_by_its_shape(name: str, at: int) -> None:
    heads, valid = Heads((3, 2)), torch.ones(4, 2)
    wide, legal = torch.zeros(4, 2, 5), torch.ones(4, 2, 5, dtype=torch.bool)
    action, number = torch.zeros(4, 2, 2, dtype=torch.long), torch.zeros(4, 2)
    given = {
        "all_action": [wide, wide, legal],
        "neurd": [wide, wide, legal],
        "imitation": [wide, action, legal],
        "q_loss": [wide, action, number],
    }[name]
    loss = getattr(losses, name)
    loss(heads, *given, valid)
    for other in (given[at][:1], given[at][:, :1]):
        tensors = [*given[:at], other, *given[at + 1 :]]
        with pytest.raises(ValueError, match="must share its steps") as refused:
            loss(heads, *tensors, valid)
        assert str(list(other.shape)) in str(refused.value)


@given(choices())
def test_all_action_logs_the_expected_size_of_an_advantage(case: Choices) -> None:
    """E[Σ_a π(a) |Q(a) − Σ_b π(b) Q(b)|], summed over heads."""
    assume(bool(case.valid.any()))
    log_prob = log_probs(case, case.logits)
    logged = losses.all_action(case.heads, log_prob, case.numbers, case.mask, case.valid)
    total, count = 0.0, 0
    for t, b in case.valid.nonzero().tolist():
        first, count = 0, count + 1
        for size in case.heads.sizes:
            here = slice(first, first + size)
            first += size
            prob = [
                p * m
                for p, m in zip(
                    log_prob[t, b, here].exp().tolist(), case.mask[t, b, here].tolist(), strict=True
                )
            ]
            q = case.numbers[t, b, here].tolist()
            mean = sum(p * x for p, x in zip(prob, q, strict=True))
            total += sum(p * abs(x - mean) for p, x in zip(prob, q, strict=True))
    size = float(logged.statistics["advantage_size"])
    assert size == pytest.approx(total / count, rel=1e-4, abs=1e-5)
