"""A learner's update once more, slowly: row by row from the equations, its gradient by autograd.

Takes the networks' outputs and nothing else from the package. Sums over heads and choices are
loops, returns walk through one unroll or one match at a time, in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from lanista.data.trajectory import Unrolls
from lanista.learn.settings import Learning
from lanista.nets.policy import Critic, Policy

NO_CHANCE = -1e9


@dataclass
class Slow:
    """One update's data, the networks before it, and the policies it is held to."""

    unrolls: Unrolls
    settings: Learning
    sizes: tuple[int, ...]
    policy: Policy
    critic: Critic
    weights: dict[str, float]
    temperature: float = 1.0
    slow_critic: Critic | None = None
    others: dict[str, list[Policy]] = field(default_factory=dict)
    """By name; the portfolio's are several, R-NaD's are the current and the previous one."""
    alpha: float = 1.0
    forecast: Any = None
    """Predicts next views from features."""

    def __post_init__(self) -> None:
        u = self.unrolls
        self.count = len(u.action)
        self.lanes = [[int(r) for r in lane if r >= 0] for lane in u.index.T]
        self.legal = [
            [[c for c in range(size) if u.mask[row, start + c]] for start, size in self.parts]
            for row in range(self.count)
        ]
        self.played = [[int(a) for a in row] for row in u.action]
        features = self._features(self.policy, stored=True)
        self.features = list(features.unbind())
        self.logits = self._rows(self.policy.head(features))
        self.out = self._judged(self.critic, features)
        self.pi = [self.chances(row, self.logits[row]) for row in range(self.count)]
        self.acting = [
            self.chances(row, self.logits[row] / self.temperature) for row in range(self.count)
        ]
        with torch.no_grad():
            slow = self.out
            if self.slow_critic is not None:
                slow = self._judged(self.slow_critic, features.detach())
            self.judged = slow
            self.v = [self.worth(row, slow[row]) for row in range(self.count)]
            self.next_v = [self._next(lane) for lane in range(len(self.lanes))]
        self.mu = [float(x) for x in u.log_prob]
        self.log_pi = [self.chance_of(row, self.acting[row]) for row in range(self.count)]

    @property
    def parts(self) -> list[tuple[int, int]]:
        return [(sum(self.sizes[:n]), size) for n, size in enumerate(self.sizes)]

    # What networks say.

    def _rows(self, values: Tensor) -> list[Tensor]:
        return list(values.double().unbind())

    def _features(self, policy: Policy, *, stored: bool) -> Tensor:
        """Return every row's features; a recurrent policy's state is the stored one or its own."""
        seen = torch.from_numpy(self.unrolls.observation)
        if not policy.state_size:
            return policy.torso(seen)
        found: dict[int, Tensor] = {}
        for lane, rows in enumerate(self.lanes if stored else self._by_seat()):
            state = torch.zeros(1, policy.state_size)
            if stored and self.unrolls.state is not None:
                state = torch.from_numpy(self.unrolls.state[[lane]])
            for row in rows:
                found[row], state = policy.torso.step(seen[[row]], state)
        return torch.cat([found[row] for row in range(self.count)])

    def _by_seat(self) -> list[list[int]]:
        u = self.unrolls
        groups: dict[tuple[int, int], list[int]] = {}
        for row in sorted(range(self.count), key=lambda row: int(u.turn[row])):
            groups.setdefault((int(u.match[row]), int(u.seat[row])), []).append(row)
        return list(groups.values())

    def _judged(self, critic: Critic, features: Tensor) -> list[Tensor]:
        if self.settings.critic_sees == "features":
            return self._rows(critic(features))
        name = "privileged" if self.settings.critic_sees == "privileged" else "observation"
        return self._rows(critic(torch.from_numpy(getattr(self.unrolls, name))))

    def chances(self, row: int, logits: Tensor, legal: Any = None) -> list[list[Tensor | None]]:
        """Return each head's probabilities, None where a choice is illegal."""
        out: list[list[Tensor | None]] = []
        for (start, size), allowed in zip(self.parts, legal or self.legal[row], strict=True):
            total = torch.logsumexp(torch.stack([logits[start + c] for c in allowed]), 0)
            out.append(
                [(logits[start + c] - total).exp() if c in allowed else None for c in range(size)]
            )
        return out

    def chance_of(self, row: int, heads: list[list[Tensor | None]]) -> Tensor:
        """Return the log-probability of what was played."""
        total = torch.zeros((), dtype=torch.float64)
        for head, action in zip(heads, self.played[row], strict=True):
            chance = head[action]
            assert chance is not None
            total = total + chance.log()
        return total

    def worth(self, row: int, out: Tensor, heads: Any = None) -> float:
        kind = self.settings.critic_output
        if kind == "value":
            return float(out)
        if kind == "outcome":
            win, _, loss = out.softmax(-1).tolist()
            return float(win - loss)
        heads, total = heads or self.pi[row], 0.0
        for (start, _), head in zip(self.parts, heads, strict=True):
            total += sum(
                float(p) * float(out[start + c]) for c, p in enumerate(head) if p is not None
            )
        return total / len(self.sizes)

    def _next(self, lane: int) -> float:
        """Return the value of what follows an unroll."""
        u, settings = self.unrolls, self.settings
        assert u.next_value is not None
        assert u.next_observation is not None
        if not u.goes_on[lane]:
            return 0.0
        if self.policy.state_size:
            return float(u.next_value[lane])
        seen = torch.from_numpy(u.next_observation[[lane]])
        view: Any = self.policy.torso(seen) if settings.critic_sees == "features" else seen
        if settings.critic_sees == "privileged":
            assert u.next_privileged is not None
            view = torch.from_numpy(u.next_privileged[[lane]])
        out = self.critic(view)[0].double()
        assert u.next_mask is not None
        legal = [[c for c in range(n) if u.next_mask[lane, s + c]] for s, n in self.parts]
        return self.worth(-1, out, self.chances(-1, self.policy(seen)[0].double(), legal))

    def reference(self, name: str, number: int = 0) -> list[list[list[Tensor | None]]]:
        """Return another policy's probabilities at every row."""
        policy = self.others[name][number]
        with torch.no_grad():
            logits = self._rows(policy.head(self._features(policy, stored=False)))
            return [self.chances(row, logits[row]) for row in range(self.count)]

    # Returns.

    def walk(
        self, values: list[float], last: list[float], step: Callable[..., Any]
    ) -> dict[int, Any]:
        """Go backwards through each unroll: `step(row, γ, next value, what it gave later)`."""
        out: dict[int, Any] = {}
        for lane, rows in enumerate(self.lanes):
            later, after = None, last[lane]
            for row in reversed(rows):
                gamma = 0.0 if self.unrolls.ended[row] else self.settings.gamma
                later = step(row, gamma, after, later)
                out[row], after = later, values[row]
        return out

    def gae(self, values: list[float], last: list[float], reward: list[float]) -> dict[int, float]:
        def step(row: int, gamma: float, after: float, later: float | None) -> float:
            delta = reward[row] + gamma * after - values[row]
            return delta + gamma * self.settings.lam * (later or 0.0)

        return self.walk(values, last, step)

    def td(self) -> dict[int, float]:
        lam, reward = self.settings.lam, self.unrolls.reward

        def step(row: int, gamma: float, after: float, later: float | None) -> float:
            mixed = after if later is None else (1 - lam) * after + lam * later
            return float(reward[row]) + gamma * mixed

        return self.walk(self.v, self.next_v, step)

    def vtrace(self) -> dict[int, float]:
        """Return advantages: v_s needs v_{s+1}, and the gradient's weight has a clip of its own."""
        s, reward = self.settings, self.unrolls.reward

        def step(
            row: int, gamma: float, after: float, later: tuple[float, float] | None
        ) -> tuple[float, float]:
            ratio = math.exp(float(self.log_pi[row].detach()) - self.mu[row])
            target_after = after if later is None else later[0]
            delta = min(s.rho_clip, ratio) * (float(reward[row]) + gamma * after - self.v[row])
            trace = s.lam * min(s.c_clip, ratio) * gamma * (target_after - after)
            gain = float(reward[row]) + gamma * target_after - self.v[row]
            return self.v[row] + delta + trace, min(s.pg_rho_clip, ratio) * gain

        return {row: pair[1] for row, pair in self.walk(self.v, self.next_v, step).items()}

    def upgoing(self) -> dict[int, float]:
        reward, better = self.unrolls.reward, {}

        def judged(row: int, gamma: float, after: float, later: None) -> bool:
            return float(reward[row]) + gamma * after >= self.v[row]

        better = self.walk(self.v, self.next_v, judged)
        out: dict[int, float] = {}
        for lane, rows in enumerate(self.lanes):
            after = self.next_v[lane]
            for n in reversed(range(len(rows))):
                row = rows[n]
                gamma = 0.0 if self.unrolls.ended[row] else self.settings.gamma
                out[row] = float(reward[row]) + gamma * after
                after = out[row] if better[row] else self.v[row]
        return out

    # Divergences.

    def divergence(self, p: list[Any], q: list[Any]) -> Tensor:
        """Return Σ_a p log(p/q), summed over heads."""
        total = torch.zeros((), dtype=torch.float64)
        for one, other in zip(p, q, strict=True):
            for a, b in zip(one, other, strict=True):
                if a is not None:
                    total = total + a * (a.log() - b.log())
        return total

    def mean_divergence(self, p: list[Any], q: list[Any]) -> Tensor:
        return self.mean([self.divergence(p[row], q[row]) for row in range(self.count)])

    def mean(self, values: list[Tensor], rows: set[int] | None = None) -> Tensor:
        chosen = [v for row, v in enumerate(values) if rows is None or row in rows]
        return torch.stack(chosen).sum() / len(chosen)
