"""How a policy learns to play as somebody else did. Loads no torch, so that commands stay quick."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lanista.errors import LanistaError


@dataclass(frozen=True)
class Dagger:
    """Rounds in which the clone plays and its teacher says what it would have done (DAgger)."""

    rounds: int = 0
    """Rounds of playing, labelling, and learning from all decisions so far; 0: none."""
    matches: int = 256
    """Matches of a round."""
    teacher: str | None = None
    """The bot whose choices are the labels; unless given, the one that was recorded."""
    beta: float = 0.5
    """Chance that the teacher decides in the clone's place: beta in the first round, beta² in the
    second, and so on. What is labelled is the same."""
    opponents: tuple[str, ...] = ()
    """Bots that the clone plays against, `self` for itself; unless given, the teacher."""
    epochs: int = 2
    """How often a round goes over all decisions so far."""

    def __post_init__(self) -> None:
        for name, least in (("rounds", 0), ("matches", 2), ("epochs", 1)):
            if getattr(self, name) < least:
                raise LanistaError(
                    f"dagger.{name} is {getattr(self, name)}; give at least {least}."
                )
        if not 0 <= self.beta <= 1:
            raise LanistaError(f"dagger.beta is {self.beta}; give a chance from 0 to 1.")


@dataclass(frozen=True)
class Imitation:
    """Imitation: what is learned from, and for how long."""

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
    """Weight of the loss of the critic, a head on the policy's features; 0: no critic."""
    heads: Literal["mean"] | None = None
    """mean: a decision's loss is the mean over the heads that have a choice, so that one in which
    many units act counts no more than others. None: their sum."""
    critic: Literal["value", "outcome"] = "value"
    """What the critic learns. value: the discounted return, as the critic of a run of `rl` unless
    told otherwise. outcome: the chances of win, draw and loss (learning.critic_output outcome)."""
    gamma: float = 1.0
    """Discount of the value critic's returns; the learning.gamma of the run that takes it over."""
    forecast: tuple[str, ...] = ()
    """Fields of the seat's next view that are predicted beside the choice, such as foe.turn1_move
    (what an opponent's Pokémon did), numbers by bins; an auxiliary loss. None unless named."""
    forecast_weight: float = 0.25
    """Weight of that loss."""
    hold_out: float = 0.1
    """Share of the deals that are kept for judging alone."""
    patience: int = 3
    """Training ends after so many epochs without a better held-out loss; 0: never."""
    mix_sources: bool = False
    """Learn from what players saw and from what spectators saw together."""
    seed: int = 0
    """Names the first weights, the order of decisions, and which deals are held out."""
    dagger: Dagger = field(default_factory=Dagger)
    """Rounds in which the clone plays and its teacher labels."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise LanistaError(f"{name} is {getattr(self, name)}; give at least 1.")
        weights = ("weight_decay", "value_weight", "forecast_weight")
        for name in ("lr_end", "max_grad_norm", "patience", "seed", *weights):
            if not getattr(self, name) >= 0:
                raise LanistaError(f"{name} is {getattr(self, name)}; give at least 0.")
        if not 0 < self.lr < float("inf"):
            raise LanistaError(f"lr is {self.lr}; give a number above 0.")
        if not 0 < self.hold_out < 1:
            raise LanistaError(f"hold_out is {self.hold_out}; give a share between 0 and 1.")
        if not 0 <= self.gamma <= 1:
            raise LanistaError(f"gamma is {self.gamma}; give a number from 0 to 1.")
        if self.heads not in (None, "mean"):
            raise LanistaError(f"heads is {self.heads!r:.80}; give 'mean', or leave it out.")

    @property
    def all_epochs(self) -> int:
        """Epochs at most, those of all rounds together."""
        return self.epochs_before(self.dagger.rounds + 1)

    def epochs_before(self, round_number: int) -> int:
        """Return how many epochs at most come before a round; round 0 is the recorded matches."""
        return self.epochs + (round_number - 1) * self.dagger.epochs if round_number else 0
