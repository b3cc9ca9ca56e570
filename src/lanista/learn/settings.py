"""What a learner can be told: losses and their weights, returns, optimiser, references.

A loss is a weighted sum of named terms; a weight is a number or a schedule. Knows nothing of torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lanista.errors import LanistaError
from lanista.learn.regret.settings import Regret
from lanista.learn.term_table import refuse_unknown_term, term_entry
from lanista.nets.settings import Network

FIT_STEPS = 10
"""Of `fit_steps`, unless it is given."""
PolicyLoss = Literal["ppo", "vtrace", "all_action", "neurd", "regret"]
_AT_LEAST_1 = (
    "epochs", "minibatches", "accumulate", "shards", "portfolio_size", "portfolio_every",
    "reference_every", "fit_steps", "critic_steps",
)  # fmt: skip
_SHARES = (
    "gamma", "lam", "keep_advantages", "target_average", "average", "average_share",
    "reference_average",
)  # fmt: skip
_CLIPS = ("clip", "rho_clip", "pg_rho_clip", "c_clip", "neurd_threshold", "neurd_clip")
_NOT_NEGATIVE = (
    "max_grad_norm", "value_clip", "target_kl", "eta", "term_gradients_every",
    "importance_clip",
)  # fmt: skip


def _weights() -> dict[str, Any]:
    return {"policy": 1.0, "value": 0.5, "entropy": 0.01}


@dataclass(frozen=True)
class Learning:
    """How a policy is improved."""

    policy: PolicyLoss = "ppo"
    """The policy loss: ppo; vtrace; all_action (policy gradient over all choices, with a q critic);
    neurd (the same on the logits). With eta, neurd is R-NaD, and ppo learns the same regularised
    game by its own means. With neurd, and with ppo and a q critic, the terms `magnet`, `reference`
    and `anchor_reverse` act on the advantage instead of being losses of their own. regret: no loss
    of decisions that were made, but regret matching (Single Deep CFR); of the settings here it
    reads `regret`, `lr`, `adam_betas` and `max_grad_norm`."""
    regret: Regret | None = None
    """How regrets are sampled and learned, with policy regret; none: as `Regret` has it."""
    terms: Mapping[str, Any] = field(default_factory=_weights)
    """The weight of each term of the loss: a number or a schedule."""
    forecast: tuple[str, ...] | None = None
    """What the term forecast predicts: fields of the seat's next view, such as those that show what
    an opponent did. Of numbers it is the bin."""
    lr: Any = 3e-4
    """Learning rate: a number or a schedule over updates."""
    temperature: Any = 1.0
    """Temperature of the acting policy: a number or a schedule over updates. It is the policy at
    this temperature that ppo, vtrace and upgo improve."""
    adam_betas: tuple[float, float] = (0.9, 0.999)
    """Decay of Adam's two averages."""
    epochs: int = 1
    """Passes of an update over its decisions."""
    minibatches: int = 1
    """Minibatches of an epoch, each an optimiser step."""
    minibatches_by_noise: int | None = None
    """Cut an epoch into as many minibatches as make one about as large as the measured noise scale
    of gradients, and this many at most. The first update has `minibatches`. None: always
    `minibatches`."""
    accumulate: int = 1
    """Into how many pieces an optimiser step is cut to save memory."""
    shards: int = 1
    """Into how many shares each piece is cut, by whole matches, for threads to work on at once. The
    numbers depend on it, and not on the threads."""
    max_grad_norm: float = 1.0
    """Gradient clipping: scaled down to this norm; 0: never."""
    gamma: float = 1.0
    """Discount from one own decision to the next."""
    lam: float = 0.95
    """λ of GAE, TD(λ) and V-trace."""
    clip: float = 0.2
    """PPO: largest change of an action's probability in one update, as a ratio."""
    value_clip: float = 0.0
    """PPO: largest change of a value in one update; 0: none."""
    target_kl: float = 0.0
    """PPO: an update stops early at this KL to the policy that acted; 0: never."""
    rho_clip: float = 1.0
    """V-trace: clip of the ratio in the value target."""
    pg_rho_clip: float = 1.0
    """V-trace: clip of the ratio in the policy gradient."""
    c_clip: float = 1.0
    """V-trace: clip of the ratio that lets later differences through."""
    normalise_advantages: bool = True
    """Bring the advantages of ppo and vtrace to mean 0 and deviation 1."""
    least_deviation: float | None = None
    """Advantages whose deviation is smaller are divided by this: where hardly a match pays, small
    costs and noise do not become large. None: by their deviation, however small."""
    matchup_advantages: int | None = None
    """Normalise advantages within each matchup, where a step has at least so many decisions against
    the same opponents; the others share the step's common scale. None: all together."""
    matchup_floor: float | None = None
    """Decisions count in the policy loss by how even their matchup is: fully at a score of one
    half, so much (such as 0.5) where every match is won or lost. None: all alike."""
    keep_advantages: float = 1.0
    """Learn only from this share of decisions, those with the largest advantages."""
    critic_sees: Literal["features", "seat", "privileged"] = "features"
    """features: a head on the policy's torso; seat: a network of its own on the seat's view;
    privileged: the same on the view with the hidden part, in training only."""
    critic_output: Literal["value", "outcome", "q"] = "value"
    """value, outcome (win/draw/loss), or q (a value for every choice)."""
    q_trace: Literal["joint"] | None = None
    """How a q critic learns. None: TD(λ) over a seat's own decisions. joint: Retrace(λ) over the
    decisions of both seats, for games of two seats in which one wins what the other loses; it needs
    critic_sees privileged, whole matches and self-play alone."""
    importance_clip: float | None = None
    """q_trace joint: largest weight 1/μ of the played choice, whose Q is corrected by the return
    that followed; 0: no correction, Q alone. None: 10."""
    critic_lr: Any = None
    """Learning rate of the critic where it has its own: a number or a schedule over updates; null:
    `lr`."""
    critic_network: Network | None = None
    """The critic's network where it has its own; the policy's unless given."""
    critic_warm_up: int | None = None
    """Updates at the start in which the critic learns and the policy stays as it is. Unless given:
    20, and at most a tenth of the run, where a run begins from a policy file without a critic that
    fits; otherwise none."""
    value_scale: Literal["running"] | None = None
    """running: the critic learns values divided by the running size of its targets, so that its
    loss has one size whatever a game pays. None: values as they are."""
    entropy_heads: Literal["mean"] | None = None
    """mean: the term `entropy` is the mean over the heads that have a choice. None: their sum."""
    portfolio_size: int = 4
    """How many snapshots the portfolio keeps."""
    portfolio_every: int = 100
    """A snapshot is offered to the portfolio every so many updates."""
    portfolio_keeps: Literal["recent", "best", "diverse"] = "recent"
    """Which snapshots stay when the portfolio is full."""
    portfolio_pull: Literal["min", "mean", "softmin"] = "min"
    """Which snapshot pulls: the nearest, all alike, or softly the nearest."""
    reference_every: int = 100
    """Updates between two references (reference KL)."""
    reference_average: float | None = None
    """Instead: the reference follows the weights after every update, by this share of the way (a
    moving magnet). None: snapshots, every `reference_every` updates."""
    eta: float = 0.0
    """Weight η of R-NaD's reward regularisation towards the reference; 0: no R-NaD."""
    fixed_point: tuple[int, ...] = (200,)
    """R-NaD: updates of each fixed-point iteration; the last one repeats."""
    target_average: float = 0.001
    """R-NaD: how fast the target network follows the weights."""
    neurd_threshold: float = 2.0
    """NeuRD: logits are not pushed further from their mean than this."""
    neurd_clip: float = 1e4
    """NeuRD: largest advantage taken. The recipe has 10; the default is that of earlier runs."""
    neurd_step: Any = None
    """NeuRD with q_trace joint, on the CPU: how far logits move for an advantage of 1, a number or
    a schedule over updates. An update sets every view's logits a goal, this times the advantage of
    every choice further on and within neurd_threshold, and takes `fit_steps` towards it. Seats that
    follow each other with a step that is large beside the pulls go in circles, so keep it well
    below their weights. None: one gradient step of the loss, as far as lr takes it."""
    fit_steps: int | None = None
    """With neurd_step: optimiser steps of the policy towards its goals, each view once a step.
    None: 10."""
    critic_steps: int | None = None
    """q_trace joint: optimiser steps of the critic on an update's targets. None: 1."""
    average: float = 0.0
    """Decay of the weights' moving average (EMA), which is evaluated and saved; 0: none. The first
    1 / (1 - average) updates count alike, so that a short run is not held at its start."""
    average_share: float = 0.0
    """Instead: average over this share of the updates so far; 0: use `average`."""
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    """Number format of the networks' matrix products; fp16 needs a GPU."""
    graphs: bool | None = None
    """On a GPU: record an update's work and repeat it without Python's delay, epoch by epoch. None:
    wherever that can be; true: refuse where it cannot; false: never. The numbers stay what they
    are, but for rounding."""
    compile: bool = False
    """Let torch.compile translate the networks: slower to start, faster to run."""
    term_gradients_every: int = 0
    """Log each term's share of the gradient every so many updates; 0: never."""

    def __post_init__(self) -> None:
        for name in self.terms:
            refuse_unknown_term(name)
        self._refuse_regret()
        self._refuse_forecast()
        if self.policy == "all_action" and self.critic_output != "q":
            raise LanistaError("policy all_action needs critic_output q.")
        self._refuse_critic()
        self._refuse_fitting()
        if self.rnad and self.policy not in ("ppo", "neurd"):
            raise LanistaError(f"eta regularises the reward for ppo or neurd, not {self.policy}.")
        if self.value_scale and (self.critic_output != "value" or self.rnad):
            raise LanistaError(
                "value_scale needs critic_output value and an eta of 0; leave it out otherwise."
            )
        self._refuse(_AT_LEAST_1, lambda value: value >= 1, "at least 1")
        self._refuse(_SHARES, lambda value: 0 <= value <= 1, "a number from 0 to 1")
        self._refuse(_CLIPS, lambda value: value > 0, "a number above 0")
        self._refuse(_NOT_NEGATIVE, lambda value: value >= 0, "0 or more")
        self._refuse_matchups()
        most = self.minibatches_by_noise
        if most is not None and most < self.minibatches:
            raise LanistaError(
                f"minibatches_by_noise is {most} and minibatches, which the first update has, "
                f"{self.minibatches}; give no fewer at most than at first."
            )
        if most is not None and self.precision == "fp16":
            raise LanistaError(
                "minibatches_by_noise needs gradients as they are, and precision fp16 scales them; "
                "choose bf16 or fp32, or leave it out."
            )
        if self.critic_warm_up is not None and self.critic_warm_up < 0:
            raise LanistaError(f"critic_warm_up is {self.critic_warm_up}; give 0 or more.")

    def _refuse_regret(self) -> None:
        if self.policy != "regret":
            if self.regret is not None:
                raise LanistaError(
                    f"learning.regret goes with policy regret, not {self.policy}; leave it out."
                )
            return
        if self.precision != "fp32" or self.compile or self.eta:
            raise LanistaError(
                f"policy regret needs precision fp32, compile off and an eta of 0, and they are "
                f"{self.precision}, {self.compile} and {self.eta:g}; leave them out."
            )
        if self.forecast:
            raise LanistaError(
                f"learning.forecast names {', '.join(self.forecast)}, and policy regret predicts "
                "no views; leave it and its term out, or learn by another policy."
            )

    def _refuse_forecast(self) -> None:
        if self.needs("forecast") == bool(self.forecast):
            return
        if self.forecast:
            raise LanistaError(
                f"learning.forecast names {', '.join(self.forecast)}, and learning.terms has no "
                "weight for forecast; give that term a weight such as 0.1, or leave it out."
            )
        raise LanistaError(
            "learning.terms has a weight for forecast, and learning.forecast names no field; name "
            "fields of the game's views there (its spec.observation.fields)."
        )

    def _refuse_critic(self) -> None:
        if self.q_trace == "joint":
            if self.critic_output != "q" or self.critic_sees != "privileged":
                raise LanistaError(
                    f"q_trace joint needs critic_output q and critic_sees privileged, not "
                    f"{self.critic_output} and {self.critic_sees}."
                )
            if self.policy not in ("ppo", "neurd"):
                raise LanistaError(f"q_trace joint goes with ppo or neurd, not {self.policy}.")
            if self.gamma != 1:
                raise LanistaError(
                    f"q_trace joint counts rewards alike whenever they come, and gamma is "
                    f"{self.gamma}; set it to 1."
                )
            return
        if self.policy in ("ppo", "vtrace") and self.critic_output == "q":
            raise LanistaError(
                f"critic_output q goes with all_action or neurd, not {self.policy}; ppo can have "
                "it with q_trace joint."
            )
        if self.rnad and self.critic_output == "q":
            raise LanistaError("eta with critic_output q needs q_trace joint.")

    def _refuse_fitting(self) -> None:
        if isinstance(self.neurd_step, int | float) and not 0 < self.neurd_step < math.inf:
            raise LanistaError(f"neurd_step is {self.neurd_step}; give a number above 0.")
        if self.fit_steps is not None and self.neurd_step is None:
            raise LanistaError(
                f"fit_steps is {self.fit_steps} and goes with neurd_step; leave it out."
            )
        if self.critic_steps is not None and "value" not in self.terms:
            raise LanistaError(
                f"critic_steps is {self.critic_steps}, and no critic is learned; give the term "
                "value, or leave it out."
            )
        if self.neurd_step is not None and (self.policy != "neurd" or self.q_trace != "joint"):
            raise LanistaError(
                f"neurd_step goes with policy neurd and q_trace joint, not {self.policy} and "
                f"{self.q_trace}; leave it out."
            )
        if self.critic_steps is not None and self.q_trace != "joint":
            raise LanistaError(
                f"critic_steps is {self.critic_steps} and goes with q_trace joint; leave it out."
            )
        cut = self.epochs * self.minibatches * self.accumulate * self.shards
        if self.fits and (cut > 1 or self.minibatches_by_noise or self.precision != "fp32"):
            raise LanistaError(
                "neurd_step and critic_steps fit networks to a whole update at once, in fp32: "
                "leave out epochs, minibatches, accumulate, shards, minibatches_by_noise and "
                "precision."
            )

    def _refuse_matchups(self) -> None:
        for name in ("matchup_floor", "matchup_advantages"):
            sampled = self.policy in ("ppo", "vtrace") and self.q_trace is None
            if getattr(self, name) is not None and not sampled:
                raise LanistaError(
                    f"{name} goes with ppo or vtrace, which have one advantage a decision, not "
                    f"{self.policy if self.q_trace is None else 'q_trace joint'}; leave it out."
                )
        if self.matchup_floor is not None and not 0 <= self.matchup_floor <= 1:
            raise LanistaError(
                f"matchup_floor is {self.matchup_floor}; give a number from 0 to 1, or leave it "
                "out."
            )
        least = self.least_deviation
        if least is not None and not (0 < least < math.inf and self.normalise_advantages):
            raise LanistaError(
                f"least_deviation is {least} and normalise_advantages "
                f"{str(self.normalise_advantages).lower()}; give a number above 0 with "
                "normalise_advantages on, or leave it out."
            )
        fewest = self.matchup_advantages
        if fewest is not None and not (fewest >= 2 and self.normalise_advantages):
            raise LanistaError(
                f"matchup_advantages is {fewest} and normalise_advantages "
                f"{str(self.normalise_advantages).lower()}; give at least 2 decisions with "
                "normalise_advantages on, or leave it out."
            )

    def _refuse(self, names: Iterable[str], fits: Callable[[float], bool], remedy: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and not fits(value):
                raise LanistaError(f"{name} is {getattr(self, name)}; give {remedy}.")

    @property
    def rnad(self) -> bool:
        """Whether R-NaD regularises the reward towards moving references."""
        return self.eta > 0

    @property
    def joint(self) -> bool:
        """Whether targets are made from whole matches, all seats together."""
        return self.rnad or self.q_trace == "joint"

    @property
    def fits(self) -> bool:
        """Whether an update takes further steps towards its goals and targets."""
        return self.neurd_step is not None or (self.critic_steps or 1) > 1

    @property
    def pulls_in_advantage(self) -> bool:
        """Whether `PULLS` act on the advantage of every choice, not as losses of their own."""
        return self.policy == "neurd" or self.q_trace == "joint"

    @property
    def by_matchup(self) -> bool:
        """Whether it matters against whom a decision was made."""
        return self.matchup_floor is not None or self.matchup_advantages is not None

    @property
    def scheduled(self) -> list[Any]:
        """Every number that may be a schedule."""
        own = [value for value in (self.critic_lr, self.neurd_step) if value is not None]
        return [self.lr, *own, self.temperature, *self.terms.values()]

    def average_decay(self, update: int) -> float:
        """Return the decay of the averaged weights after `update` updates, 1 and more.

        The first 1 / (1 − `average`) updates are averaged alike, so that nothing of the initial
        weights is left after the first one. Without that, a short run would hand over little else.
        """
        if self.average_share:
            return 1 - 1 / max(1.0, self.average_share * update)
        return min(self.average, 1 - 1 / update)

    def uses(self, term: str) -> bool:
        """Whether a term has a weight at all."""
        return term in self.terms and self.terms[term] != 0

    def needs(self, input_name: str) -> bool:
        """Whether a term that has a weight, or the policy loss, reads `input_name`."""
        if input_name == "behaviour_log_probs" and self.q_trace == "joint" and self.policy == "ppo":
            return True
        return any(input_name in term_entry(name).reads for name in self.terms if self.uses(name))
