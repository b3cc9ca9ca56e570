"""Takes steps down a gradient, and none where a loss or a gradient is not finite.

On a GPU no step waits for its numbers: the optimiser skips a broken one by itself, and whoever
reads the numbers after the last step says so. Knows nothing of data and of what a loss is made of.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from lanista.errors import LanistaError
from lanista.learn.update.shards import Gradients
from lanista.learn.update.step_metrics import Readings

NORM, CLIPPED = "gradient_norm", "gradient_norm_clipped"


class BrokenLossError(LanistaError):
    """A loss or a gradient is not a number; the weights were not touched."""

    exit_code = 1


class Descent:
    """The optimiser of several networks."""

    def __init__(
        self,
        networks: Mapping[str, nn.Module],
        betas: tuple[float, float],
        device: torch.device,
        *,
        scaled: bool,
        apart: bool = False,
    ) -> None:
        """`scaled`: losses are scaled up for the gradients of fp16, and overflows skipped.

        `apart`: each network has a learning rate of its own.
        """
        self.networks = networks
        self.parameters = [p for network in networks.values() for p in network.parameters()]
        self.late = device.type == "cuda"
        """Whether numbers are judged after an update's last step, not at once."""
        parted = [list(network.parameters()) for network in networks.values()]
        groups: list[dict[str, Any]] = [
            {"params": part} for part in (parted if apart else [self.parameters])
        ]
        for group in groups if self.late else ():
            group["lr"] = torch.ones((), device=device)  # Where recorded steps find it.
        self.optimiser = torch.optim.Adam(
            groups, lr=1.0, betas=betas, fused=True, capturable=self.late
        )
        # It need not say that steps are taken without being recorded: some are.
        self.optimiser._warned_capturable_if_run_uncaptured = True
        self.scaler = torch.amp.GradScaler(device.type, enabled=scaled)
        self._broken = torch.zeros((), device=device)
        """1 once a step of this update was broken: neither it nor any later one is taken. It stays
        where it is, since recorded steps read it there."""

    def begin(self, *lr: float) -> None:
        """Begin an update with this learning rate, or with one for each network."""
        for group, rate in zip(self.optimiser.param_groups, lr, strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        self._broken.zero_()

    @contextmanager
    def skipping(self) -> Iterator[None]:
        """Take no step within this, whatever is asked for: for work that is tried out."""
        before = self._broken.clone()
        self._broken.fill_(1.0)
        yield
        self._broken.copy_(before)

    def state(self) -> dict[str, Any]:
        """Return the optimiser's state, as it is written down."""
        state = self.optimiser.state_dict()
        groups = [{**group, "lr": float(group["lr"])} for group in state["param_groups"]]
        return {**state, "param_groups": groups}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore what `state` gave, here or on another device."""
        options = [dict(group) for group in self.optimiser.param_groups]
        self.optimiser.load_state_dict(state)
        for group, own in zip(self.optimiser.param_groups, options, strict=True):
            group |= {name: own[name] for name in ("lr", "capturable", "fused")}

    def refuse_broken(self, log: Mapping[str, float], terms: Collection[str], update: int) -> None:
        """Raise if the numbers of a step, or of a part of one, are not finite."""
        losses = {name: log.get(f"{name}/loss", 0.0) for name in terms}
        for name, loss in losses.items():
            if not math.isfinite(loss):
                raise BrokenLossError(
                    f"The loss term {name} is {loss} at update {update}; the weights were left as "
                    "they are."
                )
        if not math.isfinite(log["loss"]):
            raise BrokenLossError(
                f"The loss of update {update} is {log['loss']} though each of its terms is finite, "
                "so the weights were left as they are; lower the terms' weights."
            )
        for name in self.networks:
            self._refuse_gradient(name, log.get(f"{NORM}/{name}", 0.0), update)

    def _refuse_gradient(self, name: str, norm: float, update: int) -> None:
        if not math.isfinite(norm) and not self.scaler.is_enabled():
            raise BrokenLossError(
                f"The {name}'s gradient of update {update} is {norm}, so the weights were left as "
                "they are; lower the learning rate or use fp32."
            )

    def step(
        self, gradients: Gradients, loss: Tensor, limit: float, update: int, *, measured: bool
    ) -> Readings:
        """Clip each network's gradient to norm `limit` for itself, take the step; return norms.

        Together, a critic that is far off would shorten the policy's steps. What the norms are
        after clipping is `measured` where it is asked for.
        """
        self._gradients(gradients)
        if self.late and self.scaler.is_enabled():
            self._spoil(gradients, loss)
        self.scaler.unscale_(self.optimiser)
        readings, norms = Readings(), [loss]
        for name, network in self.networks.items():
            parameters = list(network.parameters())
            before = torch.zeros_like(loss)
            if any(parameter.grad is not None for parameter in parameters):
                before = nn.utils.clip_grad_norm_(parameters, limit or math.inf)
            if not self.late:
                self._refuse_gradient(name, float(before), update)
            norms.append(before)
            readings.add("", {f"{NORM}/{name}": before})
            if measured:
                after = norm_of([p.grad for p in parameters], loss.device)
                readings.add("", {f"{CLIPPED}/{name}": after})
        if self.late and not self.scaler.is_enabled():
            self._note(norms)
            # The fused kernel then leaves all as it is, as it does for a gradient scaler.
            self.optimiser.found_inf = self._broken  # type: ignore[attr-defined]
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return readings

    def _gradients(self, gradients: Gradients) -> None:
        """Give every parameter the gradient that the step is taken with."""
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient

    def _note(self, numbers: list[Tensor]) -> None:
        broken = ~torch.isfinite(torch.stack(numbers)).all()
        torch.maximum(self._broken, broken.to(self._broken), out=self._broken)

    def _spoil(self, gradients: Gradients, loss: Tensor) -> None:
        """After a broken loss, make the gradients such that the scaler skips them."""
        self._note([loss])
        factor = torch.where(self._broken > 0, math.nan, 1.0)
        torch._foreach_mul_([gradient for gradient in gradients if gradient is not None], factor)


def norm_of(gradients: Iterable[Tensor | None], device: torch.device) -> Tensor:
    """Return the norm of all gradients together, `[]`."""
    present = [gradient for gradient in gradients if gradient is not None]
    if not present:
        return torch.zeros((), device=device)
    norm: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(present)))
    return norm


def shares_of(own: Mapping[str, Gradients], device: torch.device) -> dict[str, Tensor]:
    """Return the norm of each term's own gradient, as a share of their sum."""
    norms = {name: norm_of(gradients, device) for name, gradients in own.items()}
    total = torch.stack(list(norms.values())).sum()
    total = torch.where(total > 0, total, 1.0)
    return {f"{name}/gradient_share": norm / total for name, norm in norms.items()}
