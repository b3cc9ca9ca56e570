"""How a policy learns to play as somebody else did. Loads no torch, so that commands stay quick."""

from __future__ import annotations

from dataclasses import dataclass

from lanista.errors import LanistaError


@dataclass(frozen=True)
class Imitation:
    """Behaviour cloning: what is learned from, and for how long."""

    epochs: int = 20
    """How often training goes over all decisions, at most."""
    batch_size: int = 1024
    """Decisions of one step; a recurrent network takes whole trajectories of about as many."""
    lr: float = 1e-3
    """Learning rate at the start; it falls along a cosine to `lr_end` of that."""
    lr_end: float = 0.02
    """Share of the learning rate that is left at the end."""
    weight_decay: float = 0.0
    """Pull of all weights towards 0 (AdamW)."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm; 0: never."""
    value_weight: float = 0.25
    """Weight of the win/draw/loss loss of the critic, a head on the policy's features; 0: none."""
    hold_out: float = 0.1
    """Share of the deals that are kept for judging alone."""
    patience: int = 3
    """Training ends after so many epochs without a better held-out loss; 0: never."""
    mix_sources: bool = False
    """Learn from what players saw and from what spectators saw together."""
    seed: int = 0
    """Names the first weights, the order of decisions, and which deals are held out."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise LanistaError(f"{name} is {getattr(self, name)}; give at least 1.")
        for name in ("lr_end", "weight_decay", "max_grad_norm", "value_weight", "patience", "seed"):
            if not getattr(self, name) >= 0:
                raise LanistaError(f"{name} is {getattr(self, name)}; give at least 0.")
        if not 0 < self.lr < float("inf"):
            raise LanistaError(f"lr is {self.lr}; give a number above 0.")
        if not 0 < self.hold_out < 1:
            raise LanistaError(f"hold_out is {self.hold_out}; give a share between 0 and 1.")
