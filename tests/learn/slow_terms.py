"""The terms of a slow update: see `slow_learner`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from slow_learner import Slow
from torch import Tensor

PULLED_IN = ("magnet", "reference", "anchor_reverse")


class SlowTerms(Slow):
    """Every term's value with its gradient."""

    def __post_init__(self) -> None:
        super().__post_init__()
        s, reward = self.settings, [float(r) for r in self.unrolls.reward]
        self.target: dict[int, float] = {}
        self.advantage: list[float] = []
        self.force: list[list[list[float | None]]] = []
        self.kept: set[int] | None = None
        if s.q_trace == "joint":
            self._joint(reward)
        elif s.policy == "ppo":
            self._ppo(self._bent(reward) if s.eta else reward)
        elif s.policy == "vtrace":
            found, self.target = self.vtrace(), self.td()
            self.advantage = [found[row] for row in range(self.count)]
        elif s.eta:
            self._rnad(reward)
        else:
            self.target = self.td()
        if self.advantage:
            self._scale()

    def _ppo(self, reward: list[float]) -> None:
        assert self.unrolls.value is not None
        assert self.unrolls.next_value is not None
        self.old = [float(v) for v in self.unrolls.value]
        goes_on = self.unrolls.goes_on
        last = [
            float(v) if on else 0.0 for v, on in zip(self.unrolls.next_value, goes_on, strict=True)
        ]
        found = self.gae(self.old, last, reward)
        self.advantage = [found[row] for row in range(self.count)]
        self.target = {row: found[row] + self.old[row] for row in range(self.count)}

    def _scale(self) -> None:
        s, raw = self.settings, self.advantage
        if s.keep_advantages < 1:
            number = max(1, round(self.count * s.keep_advantages))
            self.kept = set(sorted(range(self.count), key=lambda row: -abs(raw[row]))[:number])
        if s.normalise_advantages:
            # Those of V-trace carry their ratios, and are centred by them.
            carried = [1.0] * self.count
            if s.policy == "vtrace":
                logs = [
                    float(log.detach()) - mu for log, mu in zip(self.log_pi, self.mu, strict=True)
                ]
                carried = [min(s.pg_rho_clip, math.exp(log)) for log in logs]
            centre = sum(raw) / sum(carried)
            centred = [a - ratio * centre for a, ratio in zip(raw, carried, strict=True)]
            size = math.sqrt(sum(a**2 for a in centred) / self.count)
            self.advantage = [a / size for a in centred]

    # R-NaD: every match in the order of its turns.

    def _matches(self) -> list[list[int]]:
        u = self.unrolls
        return [
            sorted((r for r in range(self.count) if u.match[r] == m), key=lambda r: int(u.turn[r]))
            for m in np.unique(u.match)
        ]

    def _regularised(self) -> list[list[list[float | None]]]:
        """Return α log current + (1 − α) log previous of every legal choice."""
        current, previous = self.reference("rnad", 0), self.reference("rnad", 1)
        return [
            [
                [
                    None
                    if a is None
                    else self.alpha * float(a.log()) + (1 - self.alpha) * float(b.log())
                    for a, b in zip(now, then, strict=True)
                ]
                for now, then in zip(current[row], previous[row], strict=True)
            ]
            for row in range(self.count)
        ]

    def _bent(self, reward: list[float]) -> list[float]:
        """Return rewards less η log(μ/ref) of own actions, plus that of the other's that follow."""
        reference, u = self._regularised(), self.unrolls
        paid = []
        for row in range(self.count):
            chosen = [h[a] for h, a in zip(reference[row], self.played[row], strict=True)]
            paid.append(self.mu[row] - sum(c for c in chosen if c is not None))
        out = list(reward)
        for rows in self._matches():
            for n, row in enumerate(rows):
                out[row] -= self.settings.eta * paid[row]
                for later in rows[n + 1 :]:
                    if u.seat[later] == u.seat[row]:
                        break
                    out[row] += self.settings.eta * paid[later]
        return out

    def _rnad(self, reward: list[float]) -> None:
        s, u, reference = self.settings, self.unrolls, self._regularised()
        self.force = [[] for _ in range(self.count)]
        for rows in self._matches():
            for seat in (0, 1):
                r = plain = next_v = next_target = 0.0
                product = 1.0
                for row in reversed(rows):
                    ((pi, ref),) = zip(self.pi[row], reference[row], strict=True)
                    gap = [
                        None if p is None else math.log(p.detach()) - q
                        for p, q in zip(pi, ref, strict=True)
                    ]
                    spent = s.eta * sum(
                        float(p.detach()) * g
                        for p, g in zip(pi, gap, strict=True)
                        if p is not None and g is not None
                    )
                    action = self.played[row][0]
                    rho = float(pi[action].detach()) / math.exp(self.mu[row])  # type: ignore[arg-type]
                    if u.seat[row] != seat:
                        r, plain, product = spent + rho * r, plain + spent, product * rho
                        continue
                    v, ratio = self.v[row], rho * product
                    target = v + min(s.rho_clip, ratio) * (reward[row] - spent + plain + next_v - v)
                    target += s.lam * min(s.c_clip, ratio) * (next_target - next_v)
                    q = [None if g is None else v - s.eta * g for g in gap]
                    q[action] += (reward[row] + r + product * next_target - v) / math.exp(
                        self.mu[row]
                    )  # type: ignore[operator]
                    self.target[row], self.force[row] = target, [q]
                    r, plain, product, next_v, next_target = 0.0, 0.0, 1.0, v, target

    def _joint(self, reward: list[float]) -> None:
        """Retrace over both seats in the view of seat 0, and the values of rows that look alike."""
        s, u = self.settings, self.unrolls
        reference = self._regularised() if s.eta else None
        cost: list[list[float]] = []
        for row in range(self.count):
            chances = self.acting[row][0]
            gaps = [
                0.0 if p is None or reference is None
                else math.log(self.pi[row][0][c].detach()) - reference[row][0][c]  # type: ignore[operator,union-attr]
                for c, p in enumerate(chances)
            ]  # fmt: skip
            cost.append([s.eta * gap for gap in gaps])
        for rows in self._matches():
            later_value = later_excess = 0.0
            to_come, signs = {0: 0.0, 1: 0.0}, {0: 1.0, 1: -1.0}
            after = 0.0
            for row in reversed(rows):
                seat = int(u.seat[row])
                to_come[seat] += reward[row]
                now = signs[seat] * to_come[seat]
                first = now - after + later_value + later_excess
                after = now
                self.target[row] = signs[seat] * first
                q = self.judged[row]
                later_value = signs[seat] * sum(
                    float(p.detach()) * (float(q[c].detach()) - cost[row][c])
                    for c, p in enumerate(self.acting[row][0])
                    if p is not None
                )
                rho = math.exp(float(self.log_pi[row].detach()) - self.mu[row])
                played = float(q[self.played[row][0]].detach())
                later_excess = s.lam * min(s.c_clip, rho) * (first - signs[seat] * played)
        self.force = self._means_of_alike(cost)

    def _means_of_alike(self, cost: list[list[float]]) -> list[list[list[float | None]]]:
        s, u = self.settings, self.unrolls
        corrected, groups = [], {}
        for row in range(self.count):
            q = self.judged[row].tolist()
            played = self.played[row][0]
            if s.importance_clip:
                weight = min(s.importance_clip, max(1.0, math.exp(-self.mu[row])))
                q[played] += weight * (self.target[row] - q[played])
            corrected.append(q)
            key = (u.observation[row].tobytes(), u.mask[row].tobytes())
            groups.setdefault(key, []).append(row)
        out: list[list[list[float | None]]] = [[] for _ in range(self.count)]
        for rows in groups.values():
            mean = [sum(corrected[r][c] for r in rows) / len(rows) for c in range(self.sizes[0])]
            for row in rows:
                legal = self.legal[row][0]
                values = [mean[c] - cost[row][c] if c in legal else None for c in range(len(mean))]
                out[row] = self._pulled([values], row)
        return out

    # Terms.

    def term(self, name: str) -> Tensor:
        found: Tensor = getattr(self, f"term_{name}")()
        return found

    def term_policy(self) -> Tensor:
        losses = {
            "ppo": self._clipped,
            "vtrace": self._gradient,
            "all_action": self._every_action,
            "neurd": self._on_logits,
            "ppo of all": self._clipped_of_all,
        }
        joint_ppo = self.settings.policy == "ppo" and self.settings.q_trace == "joint"
        loss = losses["ppo of all" if joint_ppo else self.settings.policy]
        return self.mean([loss(row) for row in range(self.count)], self.kept)

    def _clipped(self, row: int) -> Tensor:
        ratio, clip = (self.log_pi[row] - self.mu[row]).exp(), self.settings.clip
        gain = self.advantage[row]
        return -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)

    def _clipped_of_all(self, row: int) -> Tensor:
        clip, total = self.settings.clip, torch.zeros((), dtype=torch.float64)
        assert self.unrolls.log_probs is not None
        ((_, gains),) = enumerate(self._gains(row))
        for c, gain in gains.items():
            mu = math.exp(float(self.unrolls.log_probs[row][c]))
            ratio = self.acting[row][0][c] / mu  # type: ignore[operator]
            total = total - mu * torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
        return total

    def _gradient(self, row: int) -> Tensor:
        return -self.advantage[row] * self.log_pi[row]

    def _q(self, row: int) -> list[list[float | None]]:
        if self.force:
            return self.force[row]
        out = self.out[row].detach()
        q: list[list[float | None]] = [
            [float(out[start + c]) if c in legal else None for c in range(size)]
            for (start, size), legal in zip(self.parts, self.legal[row], strict=True)
        ]
        return self._pulled(q, row) if self.settings.policy == "neurd" else q

    def _pulled(self, q: list[list[float | None]], row: int) -> list[list[float | None]]:
        for name in PULLED_IN:
            if weight := self.weights.get(name, 0.0):
                log_reference = self._log_reference(name, row)
                for h, head in enumerate(q):
                    for c in self.legal[row][h]:
                        gap = float(self.pi[row][h][c].detach().log()) - log_reference[h][c]  # type: ignore[union-attr]
                        head[c] -= weight * gap  # type: ignore[operator]
        return q

    def _log_reference(self, name: str, row: int) -> list[dict[int, float]]:
        if name == "magnet":
            return [dict.fromkeys(legal, -math.log(len(legal))) for legal in self.legal[row]]
        policy = self._at(name.removesuffix("_reverse"))[row]
        return [{c: float(p.log()) for c, p in enumerate(h) if p is not None} for h in policy]

    def _at(self, name: str) -> list[Any]:
        if not hasattr(self, "_kept_references"):
            self._kept_references: dict[str, list[Any]] = {}
        if name not in self._kept_references:
            self._kept_references[name] = self.reference(name)
        return self._kept_references[name]

    def _gains(self, row: int) -> list[dict[int, float]]:
        """Return Q(a) − Σ_b π(b) Q(b) of each head's legal choices."""
        out = []
        chances = self.acting if self.settings.q_trace == "joint" else self.pi
        for q, pi, legal in zip(self._q(row), chances[row], self.legal[row], strict=True):
            mean = sum(float(pi[c].detach()) * q[c] for c in legal)  # type: ignore[arg-type,operator,misc]
            out.append({c: q[c] - mean for c in legal})  # type: ignore[operator]
        return out

    def _every_action(self, row: int) -> Tensor:
        gains = self._gains(row)
        return -sum(  # type: ignore[return-value]
            pi[c] * gain
            for pi, head in zip(self.pi[row], gains, strict=True)
            for c, gain in head.items()
        )

    def _on_logits(self, row: int) -> Tensor:
        s, total = self.settings, torch.zeros((), dtype=torch.float64)
        for (start, _), head in zip(self.parts, self._gains(row), strict=True):
            logits = {c: self.logits[row][start + c] for c in head}
            mean = torch.stack(list(logits.values())).mean()
            for c, gain in head.items():
                y, push = logits[c] - mean, min(s.neurd_clip, max(-s.neurd_clip, gain))
                beyond = (y >= s.neurd_threshold and push > 0) or (
                    y <= -s.neurd_threshold and push < 0
                )
                total = total - y * (0.0 if beyond else push)
        return total

    def term_forecast(self) -> Tensor:
        """Cross-entropy of the bin that each number of the next view is in; 0 without a next."""
        u = self.unrolls
        assert u.next_observation is not None
        (layer,) = self.forecast.layers
        losses = [torch.zeros((), dtype=torch.float64)] * self.count
        for lane, rows in enumerate(self.lanes):
            views = [u.observation[row] for row in rows[1:]]
            if u.goes_on[lane]:
                views.append(u.next_observation[lane])
            for row, view in zip(rows, views, strict=False):
                entries = layer(self.features[row]).double().view(len(view), 16)
                # Sixteen bins from -1 to 1, an eighth wide; the outer ones have no end.
                bins = [min(15, max(0, math.floor((number + 1) * 8))) for number in view.tolist()]
                logs = [entry.log_softmax(-1)[at] for entry, at in zip(entries, bins, strict=True)]
                losses[row] = -torch.stack(logs).mean()
        return self.mean(losses)

    def term_value(self) -> Tensor:
        s = self.settings
        if s.critic_output == "outcome":
            return self.mean(
                [self._outcome(lane, row) for row, lane in sorted(self._lane_of().items())]
            )
        errors = []
        for row in range(self.count):
            goal = self.target[row]
            if s.critic_output == "q":
                chosen = [
                    self.out[row][start + a]
                    for (start, _), a in zip(self.parts, self.played[row], strict=True)
                ]
                error = torch.stack([(q - goal) ** 2 for q in chosen]).mean()
            else:
                error = (self.out[row] - goal) ** 2
                if s.value_clip and s.policy == "ppo":
                    old = self.old[row]
                    near = old + (self.out[row] - old).clamp(-s.value_clip, s.value_clip)
                    error = torch.maximum(error, (near - goal) ** 2)
            errors.append(error / 2)
        return self.mean(errors)

    def _lane_of(self) -> dict[int, int]:
        return {row: lane for lane, rows in enumerate(self.lanes) for row in rows}

    def _outcome(self, lane: int, row: int) -> Tensor:
        if self.unrolls.goes_on[lane]:
            value = max(-1.0, min(1.0, self.next_v[lane]))
            wanted = [max(value, 0.0), 1 - abs(value), max(-value, 0.0)]
        else:
            total = sum(float(self.unrolls.reward[r]) for r in self.lanes[lane])
            wanted = [float(total > 0), float(total == 0), float(total < 0)]
        return -(torch.tensor(wanted, dtype=torch.float64) * self.out[row].log_softmax(-1)).sum()

    def term_upgo(self) -> Tensor:
        returns, limit = self.upgoing(), self.settings.pg_rho_clip
        losses = []
        for row in range(self.count):
            ratio = min(limit, math.exp(float(self.log_pi[row].detach()) - self.mu[row]))
            losses.append(-ratio * (returns[row] - self.v[row]) * self.log_pi[row])
        return self.mean(losses, self.kept)

    def entropies(self) -> list[Tensor]:
        return [
            -sum(p * p.log() for head in self.pi[row] for p in head if p is not None)  # type: ignore[misc]
            for row in range(self.count)
        ]

    def term_entropy(self) -> Tensor:
        return -self.mean(self.entropies(), self.kept)

    def term_anchor_reverse(self) -> Tensor:
        return self.mean_divergence(self.pi, self._at("anchor"))

    def term_anchor_forward(self) -> Tensor:
        return self.mean_divergence(self._at("anchor"), self.pi)

    def term_reference(self) -> Tensor:
        return self.mean_divergence(self.pi, self._at("reference"))

    def term_portfolio(self) -> Tensor:
        members = range(len(self.others["portfolio"]))
        kls = torch.stack(
            [self.mean_divergence(self.pi, self.reference("portfolio", n)) for n in members]
        )
        if self.settings.portfolio_pull == "min":
            return kls.min()
        if self.settings.portfolio_pull == "mean":
            return kls.mean()
        return (kls * (-kls.detach()).softmax(0)).sum()

    def term_magnet(self) -> Tensor:
        even = [
            [
                [torch.tensor(1 / len(legal)).double() if c in legal else None for c in range(size)]
                for legal, (_, size) in zip(self.legal[row], self.parts, strict=True)
            ]
            for row in range(self.count)
        ]
        return self.mean_divergence(self.pi, even)

    def term_behaviour(self) -> Tensor:
        assert self.unrolls.log_probs is not None
        stored = torch.from_numpy(self.unrolls.log_probs).double()
        acted = [
            [
                [stored[row, start + c].exp() if c in legal else None for c in range(size)]
                for legal, (start, size) in zip(self.legal[row], self.parts, strict=True)
            ]
            for row in range(self.count)
        ]
        return self.mean_divergence(acted, self.acting)

    def losses(self) -> dict[str, Tensor]:
        """Return every term that is a loss of its own."""
        inside = PULLED_IN if self.settings.pulls_in_advantage else ()
        return {
            name: self.term(name)
            for name, weight in self.weights.items()
            if weight and name not in inside
        }

    def _blocked(self) -> dict[str, float]:
        """Return the share of legal choices whose push is dropped, and the largest logit."""
        limit, blocked, sizes = self.settings.neurd_threshold, [], []
        for row in range(self.count):
            for (start, _), head in zip(self.parts, self._gains(row), strict=True):
                logits = {c: float(self.logits[row][start + c].detach()) for c in head}
                mean = sum(logits.values()) / len(logits)
                for c, gain in head.items():
                    y = logits[c] - mean
                    blocked.append((y >= limit and gain > 0) or (y <= -limit and gain < 0))
                    sizes.append(abs(y))
        return {"policy/blocked": float(np.mean(blocked)), "policy/largest_logit": max(sizes)}

    def logged(self) -> dict[str, float]:
        """Return numbers without a gradient that say how an update went, by their names."""
        gaps = [
            float(log_pi.detach()) - mu for log_pi, mu in zip(self.log_pi, self.mu, strict=True)
        ]
        apart = [math.exp(gap) - 1 - gap for gap in gaps]
        kept = sorted(self.kept or range(self.count))
        found = {"policy/behaviour_kl": float(np.mean(apart))}
        for head in range(len(self.sizes)):
            own = [[float(p.detach()) for p in pi[head] if p is not None] for pi in self.pi]
            mean = np.mean([-sum(p * math.log(p) for p in chances) for chances in own])
            found[f"policy/entropy/{head}"] = float(mean)
        if self.settings.policy == "ppo" and self.settings.q_trace is None:
            beyond = [abs(math.exp(gap) - 1) > self.settings.clip for gap in gaps]
            found["policy/approx_kl"] = float(np.mean([apart[row] for row in kept]))
            found["policy/clip_fraction"] = float(np.mean([beyond[row] for row in kept]))
        if self.settings.policy == "neurd":
            found |= self._blocked()
        if self.advantage:
            found["policy/advantage"] = float(np.mean([self.advantage[row] for row in kept]))
        if self.settings.critic_output == "value":
            goal = np.array([self.target[row] for row in range(self.count)])
            value = np.array([float(out.detach()) for out in self.out])
            found["value/explained_variance"] = 1 - float((goal - value).var() / goal.var())
            found["value/value"] = float(value.mean())
        return found
