"""Whole updates of the real learner against a slow twin: every term, the loss and the gradient."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from made_up_unrolls import OneHead, TwoHeads, unrolls_for
from slow_terms import SlowTerms
from small_runs import RECURRENT, SMALL
from torch import Tensor, nn

from lanista.data.trajectory import Unrolls
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

FOLLOWS = 0.3
LATER = 5
"""The update that is looked at: by then every reference has moved, and none as another has."""
WEIGHTS = {
    "policy": 1.0,
    "value": 0.7,
    "upgo": 0.4,
    "entropy": 0.2,
    "anchor_reverse": 0.3,
    "anchor_forward": 0.25,
    "reference": 0.35,
    "portfolio": 0.15,
    "magnet": 0.45,
    "behaviour": 0.6,
    "forecast": 0.55,
}
"""Of every term in that update."""
TERMS = {**WEIGHTS, "entropy": {"kind": "linear", "start": 0.4, "end": 0.0, "steps": 10}}
TEMPERATURE, RATE = 0.7, 0.01
SHARED: dict[str, Any] = {
    "gamma": 0.9,
    "lam": 0.8,
    "clip": 0.15,
    "rho_clip": 1.4,
    "pg_rho_clip": 1.1,
    "c_clip": 0.7,
    "neurd_threshold": 0.4,
    "neurd_clip": 0.9,
    "temperature": {"kind": "linear", "start": 1.2, "end": 0.2, "steps": 10},
    "max_grad_norm": 0.0,
    "lr": {"kind": "linear", "start": 0.02, "end": 0.0, "steps": 10},
    "reference_every": 2,
    "portfolio_every": 2,
    "portfolio_size": 2,
    "fixed_point": (3, 6),
    "forecast": ("observation",),
    "target_average": FOLLOWS,
}
Q = {"critic_output": "q"}
ETA = {"eta": 0.3}
JOINT = {"q_trace": "joint", "critic_sees": "privileged", "gamma": 1.0, "importance_clip": 3.0, **Q}
CASES: dict[str, dict[str, Any]] = {
    "ppo": {"policy": "ppo"},
    "ppo with a critic of its own": {"policy": "ppo", "critic_sees": "seat", "value_clip": 0.3},
    "ppo, privileged": {"policy": "ppo", "critic_sees": "privileged", "portfolio_pull": "mean"},
    "ppo on the largest": {"policy": "ppo", "keep_advantages": 0.45, "portfolio_pull": "softmin"},
    "ppo, not normalised": {"policy": "ppo", "normalise_advantages": False, "temperature": 1.0},
    "ppo, in pieces": {
        "policy": "ppo", "accumulate": 3, "shards": 2, "keep_advantages": 0.6,
        "portfolio_pull": "mean",
    },
    "ppo on outcomes": {"policy": "ppo", "critic_output": "outcome"},
    "vtrace": {"policy": "vtrace", "normalise_advantages": False},
    "vtrace, normalised": {"policy": "vtrace", "critic_sees": "seat", "keep_advantages": 0.45},
    "vtrace on outcomes": {
        "policy": "vtrace", "critic_output": "outcome", "critic_sees": "privileged"
    },
    "all_action": {"policy": "all_action", **Q},
    "all_action, privileged": {"policy": "all_action", "critic_sees": "privileged", **Q},
    "neurd": {"policy": "neurd", **Q},
    "neurd with a critic of its own": {"policy": "neurd", "critic_sees": "seat", **Q},
    "rnad": {"policy": "neurd", **ETA},
    "rnad, privileged": {"policy": "neurd", "critic_sees": "privileged", **ETA},
    "joint neurd": {"policy": "neurd", **JOINT},
    "joint rnad": {"policy": "neurd", "temperature": 1.0, **JOINT, **ETA},
    "joint ppo": {"policy": "ppo", **JOINT},
    "joint ppo, regularised": {"policy": "ppo", **JOINT, **ETA, "importance_clip": 0.0},
    "regularised ppo": {"policy": "ppo", **ETA},
    "regularised ppo on outcomes": {"policy": "ppo", "critic_output": "outcome", **ETA},
}  # fmt: skip


class Watched:
    """A learner that goes from update to update, and its books kept a second time."""

    def __init__(
        self, settings: Learning, network: Network, game: type[OneHead], seed: int
    ) -> None:
        self.spec, self.settings, self.seed = game().spec, settings, seed
        torch.manual_seed(seed)
        self.anchor = moved(Policy(self.spec, network), seed + 50)
        start = moved(copy.deepcopy(self.anchor), seed + 60)
        self.learner = Learner(
            self.spec, network, settings, updates=9, seed=seed, start=start, anchor=self.anchor
        )
        self.began = copy.deepcopy(self.learner.policy)
        self.before: list[Policy] = []
        self.target, self.current, self.previous = (copy.deepcopy(self.began) for _ in range(3))
        self.slow_critic = copy.deepcopy(self.learner.critic)

    def data(self, update: int) -> Unrolls:
        return unrolls_for(
            self.spec,
            self.seed + 1000 * update,
            matches=9,
            whole=self.settings.joint,
            privileged=self.settings.critic_sees == "privileged",
            state=self.learner.policy.state_size,
            update=update,
        )

    def go_on(self, update: int) -> None:
        """Move the weights as nobody could foresee, and note what the references become."""
        moved(self.learner.policy, self.seed + 10 * update)
        moved(self.learner.critic, self.seed + 10 * update + 5)
        self.before.append(copy.deepcopy(self.learner.policy))
        if update == 3:
            self.previous, self.current = self.current, copy.deepcopy(self.target)

    def follow(self) -> None:
        for slow, fast in (
            (self.target, self.learner.policy),
            (self.slow_critic, self.learner.critic),
        ):
            with torch.no_grad():
                for a, b in zip(slow.parameters(), fast.parameters(), strict=True):
                    a.copy_((1 - FOLLOWS) * a + FOLLOWS * b)

    def twin(self, unrolls: Unrolls, weights: dict[str, float]) -> SlowTerms:
        others = {
            "anchor": [self.anchor],
            "reference": [self.before[4]],
            "portfolio": [self.before[2], self.before[4]],
            "rnad": [self.current, self.previous],
        }
        return SlowTerms(
            unrolls,
            self.settings,
            tuple(head.size for head in self.spec.heads),
            copy.deepcopy(self.learner.policy),
            copy.deepcopy(self.learner.critic),
            weights,
            temperature=1.0 if self.settings.temperature == 1.0 else TEMPERATURE,
            slow_critic=self.slow_critic if self.learner.slow_critic is not None else None,
            others=others,
            forecast=copy.deepcopy(self.learner.forecast),
            alpha=2 * 2 / 6,  # Two updates into the second iteration, which is six long.
        )


def moved(network: Any, seed: int) -> Any:
    """Change all weights of a network at random."""
    source = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.25 * torch.randn(parameter.shape, generator=source))
    return network


def watched(
    case: dict[str, Any], network: Network = SMALL, game: type[OneHead] = OneHead, seed: int = 7
) -> Watched:
    """Return a learner just before the update that is looked at."""
    found = Watched(Learning(terms=TERMS, **SHARED | case), network, game, seed)
    for update in range(LATER):
        found.go_on(update)
        found.learner.update(found.data(update))
        found.follow()
    found.go_on(LATER)
    return found


def gradient(network: nn.Module) -> list[Tensor]:
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in network.parameters()]


def assert_twins(found: Watched, weights: dict[str, float], only: list[str] | None = None) -> None:
    unrolls = found.data(LATER)
    twin = found.twin(unrolls, weights)
    log = found.learner.update(unrolls, only)
    losses = twin.losses()
    assert {name for name in WEIGHTS if f"{name}/loss" in log} == set(losses)
    for name, loss in losses.items():
        # Σ π (Q − Σ π Q) is 0 whatever Q is; its gradient is not.
        if not (name == "policy" and found.settings.policy == "all_action"):
            assert abs(float(loss.detach())) > 1e-3, name
        assert log[f"{name}/loss"] == pytest.approx(float(loss.detach()), rel=1e-4, abs=1e-6), name
    total = torch.stack([weights[name] * loss for name, loss in losses.items()]).sum()
    assert log["loss"] == pytest.approx(float(total.detach()), rel=1e-4)
    total.backward()  # type: ignore[no-untyped-call]
    for name in ("policy", "critic", "forecast"):
        expected = gradient(getattr(twin, name))
        for mine, slow in zip(gradient(getattr(found.learner, name)), expected, strict=True):
            scale = max(float(slow.abs().max()), 1e-3)
            torch.testing.assert_close(mine, slow, rtol=1e-3, atol=1e-4 * scale)
    assert_logged(found, twin, log)
    # Nothing here is right because nothing happens.
    assert max(float(part.abs().max()) for part in gradient(twin.policy)) > 1e-2
    assert {int(n) for n in twin.unrolls.index.argmin(0)} != {0}


def assert_logged(found: Watched, twin: SlowTerms, log: dict[str, float]) -> None:
    """Check the numbers that are logged beside the losses."""
    settings = found.settings
    expected = twin.logged()
    for name in ("policy", "critic", "forecast"):
        parts = [part.square().sum() for part in gradient(getattr(twin, name))]
        expected[f"gradient_norm/{name}"] = float(torch.stack(parts).sum().sqrt())
    acted_at = twin.unrolls.update
    expected |= {"lr": RATE, "lag/mean": LATER - float(acted_at.mean())}
    expected["lag/max"] = LATER - float(acted_at.min())
    if settings.accumulate > 1:  # What is no mean over rows is the mean of the pieces' own.
        expected.pop("value/explained_variance", None)
    for name, number in expected.items():
        if name in log or name.startswith(("gradient", "lr", "lag", "policy/behaviour_kl")):
            assert log[name] == pytest.approx(number, rel=1e-3, abs=1e-5), name
    assert {f"policy/entropy/{head}" for head in range(len(found.spec.heads))} <= log.keys()


@pytest.mark.parametrize("case", CASES)
def test_an_update_is_what_the_equations_say(case: str) -> None:
    assert_twins(watched(CASES[case]), WEIGHTS)


@pytest.mark.parametrize("case", ["ppo", "vtrace", "all_action", "neurd with a critic of its own"])
def test_an_update_of_actions_with_two_parts_is_what_the_equations_say(case: str) -> None:
    assert_twins(watched(CASES[case], game=TwoHeads), WEIGHTS)


@pytest.mark.parametrize("case", ["ppo", "vtrace", "rnad", "regularised ppo", "neurd"])
def test_an_update_of_a_recurrent_policy_is_what_the_equations_say(case: str) -> None:
    assert_twins(watched(CASES[case], RECURRENT), WEIGHTS)


@pytest.mark.parametrize("case", ["ppo", "all_action"])
def test_an_update_of_some_terms_only_is_what_the_equations_say(case: str) -> None:
    only = ["value", "magnet"]
    weights = {name: weight if name in only else 0.0 for name, weight in WEIGHTS.items()}
    found = watched(CASES[case])
    for parameter in found.learner.policy.parameters():
        parameter.grad = None
    assert_twins(found, weights, only)


@pytest.mark.parametrize("case", ["ppo with a critic of its own", "ppo, in pieces"])
def test_a_terms_share_of_the_gradient_is_that_of_its_weighted_loss(case: str) -> None:
    found = watched({**CASES[case], "term_gradients_every": 1})
    unrolls = found.data(LATER)
    twin = found.twin(unrolls, WEIGHTS)
    log = found.learner.update(unrolls)
    networks = twin.policy, twin.critic, twin.forecast
    parameters = [parameter for network in networks for parameter in network.parameters()]
    norms = {}
    for name, loss in twin.losses().items():
        parts = torch.autograd.grad(
            WEIGHTS[name] * loss, parameters, retain_graph=True, allow_unused=True
        )
        norms[name] = sum(float(part.square().sum()) for part in parts if part is not None) ** 0.5
    for name, norm in norms.items():
        share = norm / sum(norms.values())
        assert log[f"{name}/gradient_share"] == pytest.approx(share, rel=1e-3), name


def test_steps_are_adams_with_the_settings_own_numbers() -> None:
    betas, lr = (0.6, 0.9), {"kind": "linear", "start": 0.02, "end": 0.01, "steps": 4}
    settings = Learning(policy="ppo", lr=lr, adam_betas=betas, max_grad_norm=0.05)
    learner = Learner(OneHead().spec, SMALL, settings, updates=9, seed=3)
    parameters = [*learner.policy.parameters(), *learner.critic.parameters()]
    first, second = ([torch.zeros_like(p).double() for p in parameters] for _ in range(2))
    for number in range(1, 5):
        before = [p.detach().clone().double() for p in parameters]
        rate = 0.02 - 0.01 * (number - 1) / 4
        log = learner.update(unrolls_for(learner.spec, number, matches=6))
        assert log["lr"] == pytest.approx(rate)
        for n, parameter in enumerate(parameters):
            assert parameter.grad is not None
            slope = parameter.grad.double()
            first[n] = betas[0] * first[n] + (1 - betas[0]) * slope
            second[n] = betas[1] * second[n] + (1 - betas[1]) * slope**2
            mean = first[n] / (1 - betas[0] ** number)
            spread = (second[n] / (1 - betas[1] ** number)).sqrt()
            expected = before[n] - rate * mean / (spread + 1e-8)
            torch.testing.assert_close(parameter.detach().double(), expected, rtol=1e-4, atol=1e-6)
        for network in (learner.policy, learner.critic):
            size = torch.stack([part.square().sum() for part in gradient(network)]).sum().sqrt()
            assert float(size) == pytest.approx(0.05, rel=1e-3)
