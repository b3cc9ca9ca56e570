"""Everything a run can be told, with YAML in and out. Knows nothing of torch.

A run folder holds the resolved settings, in which files are named by their digests too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml

from lanista.learn.schedules import parse_schedule
from lanista.learn.settings import Learning
from lanista.nets.settings import Network
from lanista.runs.former_keys import spellings
from lanista.runs.league_settings import League
from lanista.runs.marks import parse_mark
from lanista.runs.rollout_settings import SELF as SELF
from lanista.runs.rollout_settings import Opponent as Opponent
from lanista.runs.rollout_settings import Rollouts as Rollouts
from lanista.runs.serialise import SettingsError, flat, load, overridden, plain

if TYPE_CHECKING:
    from lanista.data.replay_buffer import ReplayBuffer


@dataclass(frozen=True)
class Replay:
    """The replay buffer: whether and how unrolls are learnt from again."""

    size: int = 0
    """Most unrolls kept; 0: no replay, each is learnt from once, at once."""
    minimum: int = 1
    """An update waits until so many unrolls are kept."""
    batch: int = 32
    """Unrolls of an update."""
    sampling: Literal["uniform", "prioritised"] = "uniform"
    """prioritised: more often where the critic was more wrong while playing."""
    priority_exponent: float = 0.6
    """How much more often: chances grow with the error to this power."""
    reuse: int = 0
    """An unroll is dropped after so many uses; 0: never."""
    staleness: int = 0
    """An unroll is dropped when it is so many updates old; 0: never."""

    def __post_init__(self) -> None:
        for name in ("size", "reuse", "staleness", "priority_exponent"):
            if getattr(self, name) < 0:
                raise SettingsError(f"replay.{name} is {getattr(self, name)}; give 0 or more.")
        for name in ("minimum", "batch"):
            if getattr(self, name) < 1:
                raise SettingsError(f"replay.{name} is {getattr(self, name)}; give at least 1.")
        if self.size and self.minimum > self.size:
            raise SettingsError(
                f"replay.minimum is {self.minimum} and replay.size {self.size}, so no update would "
                "ever begin; give a minimum of at most the size."
            )

    def buffer(self, gamma: float, seed: int) -> ReplayBuffer:
        """Return an empty buffer of these settings; `gamma` is the learner's."""
        from lanista.data.replay_buffer import ReplayBuffer  # Commands read settings, and no more.

        return ReplayBuffer(
            self.size,
            minimum=self.minimum,
            sampling=self.sampling,
            exponent=self.priority_exponent,
            reuse=self.reuse,
            staleness=self.staleness,
            gamma=gamma,
            seed=seed,
        )


@dataclass(frozen=True)
class Evaluation:
    """How the policy is evaluated during training."""

    every: int = 0
    """Evaluate every so many iterations, and at the end; 0: never."""
    exact: Literal["auto", "always", "never"] = "auto"
    """NashConv: auto measures it where that takes about a second (kuhn, leduc, liars_dice,
    card_rps, small openspiel: games); always also measures larger ones, and refuses games that have
    none."""
    bots: tuple[str, ...] = ()
    """Bots or policy files to play against."""
    matches: int = 400
    """Matches against each, every deal in all seatings."""
    pool: int = 6
    """In a league: how many frozen players of its own to play against too, exploiters first, then
    the newest."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Of those that are policy files, fixed when the run begins."""
    greedy: bool = False
    """Let the policy take its likeliest choice instead of drawing."""
    keep_best: bool = True
    """Without a league: keep the policy that evaluations judged best, and hand it over where the
    last one is significantly weaker. A supervised checkpoint is then evaluated first."""

    def __post_init__(self) -> None:
        if self.every < 0 or self.matches < 1:
            raise SettingsError(
                f"evaluation.every is {self.every} and evaluation.matches {self.matches}; give at "
                "least 0 and 1."
            )


@dataclass(frozen=True)
class Checkpoints:
    """When a run is saved, and what is kept."""

    save_every: int = 50
    """Save every so many iterations, and at the end."""
    keep_last: int = 3
    """Keep so many of the newest checkpoints."""
    keep_every: int = 0
    """Also keep those whose iteration is a multiple of this; 0: none."""
    slim: bool = False
    """Leave out the replay and matches in flight, so that a run is small enough to be moved; a
    resumed run then begins fresh ones."""

    def __post_init__(self) -> None:
        if self.save_every < 1 or self.keep_last < 1 or self.keep_every < 0:
            raise SettingsError(
                f"checkpoints has save_every {self.save_every}, keep_last {self.keep_last} and "
                f"keep_every {self.keep_every}; give at least 1, 1 and 0."
            )


@dataclass(frozen=True)
class RunSettings:
    """A whole run."""

    game: str = "arena"
    """A game's name, family:NAME, or a Python file."""
    game_digest: str | None = None
    """SHA-256 of a game's Python file, fixed when the run begins."""
    game_settings: Mapping[str, Any] = field(default_factory=dict)
    """What the game is made with; see `lanista games GAME`."""
    seed: int = 0
    """Random seed of everything in the run."""
    iterations: int = 100
    """Rounds of collecting experience and learning from it."""
    learner_updates: int = 1
    """Updates of an iteration; more than one needs a replay."""
    supervised_checkpoint: str | None = None
    """A policy file to begin from; the anchor terms pull to it for the whole run."""
    supervised_digest: str = ""
    """Its digest, fixed when the run begins."""
    network: Network = field(default_factory=Network)
    """The policy's network; with a supervised checkpoint it is that file's, of which only dropout
    and id_dropout may be changed."""
    learning: Learning = field(default_factory=Learning)
    """How the policy is improved."""
    rollouts: Rollouts = field(default_factory=Rollouts)
    """How experience is collected."""
    replay: Replay = field(default_factory=Replay)
    """Whether and how unrolls are learnt from again."""
    evaluation: Evaluation = field(default_factory=Evaluation)
    """How the policy is evaluated during training."""
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    """When the run is saved, and what is kept."""
    league: League | None = None
    """A pool of players that grows, and its matchmaking; none: the opponent mix stays."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the networks run; auto: on the GPU if there is one."""
    threads: int = 1
    """Threads of torch on the CPU; only one promises the same numbers on every machine."""
    mark: str | None = None
    """The strength that the run is for, such as nash_conv<=0.05, score:BOT>=0.6 or score>=0.6:
    `lanista tune` and `lanista profile --sweep` judge settings by the time to it. Changes no
    run."""

    def __post_init__(self) -> None:
        for name in ("iterations", "learner_updates", "threads"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; give at least 1.")
        if not 0 <= self.seed < 2**63:
            raise SettingsError(f"seed is {self.seed}; give a number from 0 to 2**63 - 1.")
        if self.learner_updates > 1 and not self.replay.size:
            raise SettingsError(
                f"learner_updates is {self.learner_updates} without a replay; set replay.size, or "
                "learning.epochs to go over the same data again."
            )
        self._refuse_joint()
        if self.learning.critic_output == "outcome" and self.rollouts.draw:
            raise SettingsError(
                "learning.critic_output outcome takes a draw for 0, between a win and a loss, and "
                f"rollouts.draw is {self.rollouts.draw:g}; set it to null, or critic_output to "
                "value."
            )
        if self.learning.critic_output == "outcome" and self.rollouts.shaping_scale:
            raise SettingsError(
                "learning.critic_output outcome reads who won off the rewards, which "
                "rollouts.shaping_scale would blur; set that to 0, or critic_output to value."
            )
        self._refuse_frozen()
        self._refuse_around_regret()
        self._refuse_mark()
        learners = 1 if self.league is None else len(self.league.learners)
        if learners > 1 and not self.rollouts.alone:
            raise SettingsError(
                f"The league has {learners} learners who meet each other as they learn, so they "
                "need one thread; set rollouts.workers to 1, launcher to serial and lag to 0."
            )
        if self.learning.needs("teacher") and not self.rollouts.teacher:
            raise SettingsError(
                "learning.terms has a weight for teacher, and rollouts.teacher names nobody; name "
                "a bot of the game there."
            )
        if self.rollouts.teacher and not self.learning.needs("teacher"):
            raise SettingsError(
                f"rollouts.teacher is {self.rollouts.teacher}, and learning.terms has no weight "
                "for teacher, so nobody would follow it; give that term a weight, or set "
                "rollouts.teacher to null."
            )
        follows = [parse_schedule(value).follows_kl() for value in self.learning.scheduled]
        if any(follows) and self.learning.epochs * self.learning.minibatches == 1:
            raise SettingsError(
                "A follow-kl schedule needs updates of several steps: before the only one KL is 0; "
                "set learning.epochs or learning.minibatches to 2 or more."
            )
        _refuse_bounds("lr", self.learning.lr, lambda number: number >= 0, "0 or more")
        _refuse_bounds("temperature", self.learning.temperature, lambda n: n > 0, "numbers above 0")

    def _refuse_joint(self) -> None:
        """Refuse what does not go with targets that are made from both seats' decisions."""
        if not self.learning.joint:
            return
        name, off = (
            ("learning.eta", "set eta to 0")
            if self.learning.rnad
            else ("learning.q_trace joint", "leave q_trace out")
        )
        if self.rollouts.streaming or self.replay.size:
            raise SettingsError(
                f"{name} needs whole matches; set rollouts.mode to matches, replay.size to 0."
            )
        if self.league is not None:
            raise SettingsError(f"{name} needs self-play alone; leave out the league.")
        if self.opponents != (SELF,):
            raise SettingsError(
                f"{name} needs both seats' play: set rollouts.opponents to self alone."
            )
        if self.rollouts.draw:
            raise SettingsError(
                f"{name} needs a game in which one wins what the other loses, and with "
                f"rollouts.draw {self.rollouts.draw:g} both can lose; set it to null, or {off}."
            )

    def _refuse_frozen(self) -> None:
        """Refuse to learn from others' decisions where nothing corrects for them."""
        if not self.rollouts.learn_from_frozen:
            return
        if self.learning.policy != "vtrace":
            raise SettingsError(
                "rollouts.learn_from_frozen needs a loss that corrects for what others decided, "
                f"which learning.policy {self.learning.policy} does not; set it to vtrace, or "
                "leave learn_from_frozen out."
            )
        # Each of these reads what only the learner's own networks say while playing.
        unfit = {
            "network.kind": self.network.kind if self.network.recurrent else None,
            "replay.sampling": "prioritised" if self.replay.sampling == "prioritised" else None,
            "learning.terms.behaviour": self.learning.terms.get("behaviour"),
            "learning.critic_output": (
                "outcome" if self.learning.critic_output == "outcome" else None
            ),
        }
        for name, value in unfit.items():
            if value:
                raise SettingsError(
                    f"{name} is {value}, for which an opponent's decisions lack what the learner's "
                    "own have; change it, or leave rollouts.learn_from_frozen out."
                )

    def _refuse_around_regret(self) -> None:
        """Refuse what regret learning has no use for."""
        if self.learning.policy != "regret":
            return
        rollouts = self.rollouts
        unfit = {
            "league": None if self.league is None else "given",
            "supervised_checkpoint": self.supervised_checkpoint,
            "replay.size": self.replay.size,
            "rollouts.mode": rollouts.mode if rollouts.streaming else None,
            "rollouts.workers": rollouts.workers if rollouts.workers > 1 else None,
            "rollouts.lag": rollouts.lag,
            "rollouts.draw": rollouts.draw,
            "rollouts.shaping_scale": rollouts.shaping_scale,
            "rollouts.opponents": None if self.opponents == (SELF,) else ", ".join(self.opponents),
        }
        for name, value in unfit.items():
            if value:
                raise SettingsError(
                    f"{name} is {value}, and learning.policy regret plays whole matches of itself "
                    "from the start on; leave it out, or choose another policy loss."
                )

    def _refuse_mark(self) -> None:
        """Refuse a mark that nobody reaches, or that a league has no use for."""
        if self.mark is None:
            return
        parse_mark(self.mark, "mark")
        if self.league is not None:
            raise SettingsError(
                f"mark is {self.mark!r}, and a league's strength grows with its pool; leave it out."
            )

    @property
    def opponents(self) -> tuple[str, ...]:
        return tuple(opponent.player for opponent in self.rollouts.opponents)

    @property
    def updates(self) -> int:
        """Updates of the whole run."""
        return self.iterations * self.learner_updates


def _refuse_bounds(name: str, value: Any, fits: Callable[[float], bool], remedy: str) -> None:
    """Refuse a schedule that begins or ends where it must not."""
    schedule = parse_schedule(value)
    for bound in ("value", "start", "end"):
        number = getattr(schedule, bound, None)
        if number is not None and not fits(number):
            raise SettingsError(f"learning.{name} has the {bound} {number}; give {remedy}.")


def load_settings(source: str | Path | Mapping[str, Any]) -> RunSettings:
    """Return the settings of a run in a YAML file or a mapping."""
    return load(RunSettings, source)


def to_yaml(settings: RunSettings) -> str:
    """Return settings as YAML that `load_settings` reads back to equal ones."""
    return yaml.safe_dump(plain(settings), sort_keys=False, allow_unicode=True)


def apply_overrides(settings: RunSettings, overrides: Iterable[str]) -> RunSettings:
    """Return settings of a run with `key=value` put in, such as `learning.lr=1e-3`."""
    return overridden(settings, overrides)


def on_cluster(settings: RunSettings) -> tuple[RunSettings, str]:
    """Return settings of a run whose workers play on a cluster, and what its user should know.

    No number of the run changes. Learners who meet each other as they learn stay in one thread.
    """
    rollouts = settings.rollouts
    if settings.league is not None and len(settings.league.learners) > 1:
        return settings, "The league's learners meet each other as they learn, on this machine."
    notice = ""
    if rollouts.workers == 1:
        notice = (
            "rollouts.workers is 1, so one machine plays at a time; the numbers of a run depend on "
            "it, so it stays: set rollouts.workers to the number of cores in a new run."
        )
    if rollouts.remote:
        return settings, notice
    launcher = "ray-threads" if rollouts.launcher == "threads" else "ray"
    return replace(settings, rollouts=replace(rollouts, launcher=launcher)), notice


MAY_CHANGE = (
    "iterations", "evaluation", "checkpoints", "device", "threads", "mark", "rollouts.launcher",
    "rollouts.graphs", "rollouts.processes_on_gpu", "rollouts.bot_threads", "rollouts.hang_seconds",
    "learning.graphs",
)  # fmt: skip
"""Settings, by their key or its first part, that do not make it another run."""
NEWER = dict.fromkeys(
    ("rollouts.draw", "game_digest", "rollouts.teacher", "rollouts.stagger", "rollouts.lost_again",
     "learning.value_scale", "learning.entropy_heads", "learning.critic_warm_up",
     "learning.minibatches_by_noise", "learning.matchup_floor", "learning.matchup_advantages",
     "rollouts.learn_from_frozen", "league.exploiter_beside", "learning.least_deviation",
     "learning.regret", "learning.regret.importance_clip",
     "learning.q_trace", "learning.forecast", "learning.importance_clip", "learning.critic_lr",
     "learning.reference_average", "learning.neurd_step", "learning.fit_steps",
     "learning.critic_steps", "rollouts.opponents.greedy",
     *(f"{network}.{name}" for network in ("network", "learning.critic_network")
       for name in ("symmetry", "embedding", "dropout", "id_dropout", "readout",
                    "normalise_observations", "rows", "drop_below", "parts")),
     *(f"league.{role}.{name}" for role in ("main", "main_exploiter", "league_exploiter")
       for name in ("every", "matchmaking.matrix_games", "matchmaking.matrix_unit")))
)  # fmt: skip
"""Settings that came later, with the value that says what was done before there were any. With it
they are left out of a run's digest, so that runs begun by an earlier version can go on. It is None:
that is also what the record of a pipeline's stage has for a key that it lacks."""


def may_change(key: str) -> bool:
    """Whether a run stays the run it is when the setting `key` is changed."""
    return key in MAY_CHANGE or key.partition(".")[0] in MAY_CHANGE


def fingerprint(settings: RunSettings) -> str:
    """Return a digest of all settings that make a run the run it is."""
    return fingerprints(settings)[0]


def fingerprints(settings: RunSettings) -> list[str]:
    """Return that digest, and those which earlier versions gave to the same settings."""
    values = _as_before("", dict(flat(settings)))
    identity = {key: value for key, value in values.items() if not may_change(key)}
    return [_digest(spelt) for spelt in spellings(identity)]


def _as_before(where: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values without those keys, entries of lists included, that say "as before"."""
    kept = {}
    for name, value in values.items():
        key = f"{where}{name}"
        if key in NEWER and value == NEWER[key]:
            continue
        entries = isinstance(value, list) and all(isinstance(item, dict) for item in value)
        kept[name] = [_as_before(f"{key}.", item) for item in value] if entries else value
    return kept


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def differences(one: RunSettings, other: RunSettings) -> list[tuple[str, Any, Any]]:
    """Return every dotted key whose values differ, with both; None where one lacks it."""
    first, second = dict(flat(one)), dict(flat(other))
    keys = [*first, *(key for key in second if key not in first)]
    return [
        (key, first.get(key), second.get(key)) for key in keys if first.get(key) != second.get(key)
    ]
