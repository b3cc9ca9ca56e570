"""What a league can be told: matchmaking, roles, exploiters and their rules.

A role's settings have that role's defaults, so a file names only what it changes. Knows nothing of
torch, of games or of how a run is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from lanista.errors import LanistaError, nearest
from lanista.runs.matchmakers import MATCHMAKERS

CATEGORIES = ("self", "imitation", "start", "past", "exploiter", "bot")
"""What an opponent is to a learner; `self` is a learner of the run as it now is."""
ROLES = ("main", "main_exploiter", "league_exploiter")
MAIN = "main"
"""The name of a lone main learner."""
PAIR_GAMES = 400
"""Games of every two frozen players for a payoff matrix, where nobody says."""
SELF_SHARE, FORMER_SELF_SHARE = 0.65, 0.35
"""Self-play where nobody says: the more of it, the better a main ended (measurements.md). Runs of
matchmakers that read no such share keep the former number, and with it their digest."""
AS_ROLE = "role"
"""The kind that stands for what the role usually has."""


def _refuse(
    settings: object,
    names: Iterable[str],
    fits: Callable[[float], bool],
    remedy: str,
    where: str = "",
) -> None:
    for name in names:
        if not fits(value := getattr(settings, name)):
            raise LanistaError(f"{where}{name} is {value}; give {remedy}.")


def _share(value: float) -> bool:
    return 0 <= value <= 1


def _not_negative(value: float) -> bool:
    return 0 <= value < math.inf


@dataclass(frozen=True)
class Matchmaking:
    """A learner's matchmaking: its opponents, and how often each is played."""

    kind: str = AS_ROLE
    """role (what the learner's role usually has), fixed, uniform, pfsp_hard, pfsp_var, pfsp_linear,
    adaptive, adaptive_by_category, curriculum, alphastar, psro, main_exploiter, league_exploiter,
    or the name of an installed matchmaker."""
    p: float = 2.0
    """The exponent of pfsp_hard: higher looks harder at those who are hard to beat."""
    floor: float = 0.05
    """adaptive: the least weight of an opponent, before weights are scaled to the sum 1. psro: the
    smallest share of a frozen player. adaptive_by_category and curriculum: the smallest share of a
    category, and of an opponent in its category. A share is at most 0.5/n with n of them."""
    smoothing: float = 2.0
    """So many games with a score of one half are added to what was played."""
    minimum_games: float = 10.0
    """An opponent or a category with fewer games than this, counted after decay, is unknown and
    taken for an equal."""
    keep_old: float = 0.5
    """curriculum: how much of the last round's category weights is kept."""
    inside: Literal["pfsp_hard", "uniform"] = "pfsp_hard"
    """curriculum: how opponents of one category are weighed."""
    self_share: float | None = None
    """alphastar and psro: the share of self-play. null: 0.65, or less where lost_share leaves less;
    it is written out when settings are read, for the kind and lost_share that stand there."""
    lost_share: float = 0.15
    """alphastar: the share of those it has come to lose to; self-play when there are none."""
    lost_below: float = 0.5
    """alphastar: a past player or an exploiter is lost to when the score against it is known and
    below this."""
    too_strong: float = 0.2
    """main_exploiter: a main against which the score is known and below this is left for past
    mains."""
    matrix_games: int | None = None
    """psro: games that every two frozen players play before the payoff matrix is solved; null: 400;
    0: it goes by what was played anyway, and other pairs count as equals."""
    matrix_unit: Literal["score", "gain"] | None = None
    """psro: what the matrix holds. score, or null: scores; gain: what is won per match, for games
    won by unequal amounts, as poker."""
    half_life: float = 2000.0
    """After so many further games of two players an old result of theirs counts half; 0: results
    are never forgotten."""

    def __post_init__(self) -> None:
        MATCHMAKERS.refuse_unknown(self.kind, AS_ROLE)
        if self.inside not in ("pfsp_hard", "uniform"):
            raise LanistaError(f"matchmaking.inside is {self.inside!r}; give pfsp_hard or uniform.")
        where = "matchmaking."
        _refuse(self, ["p"], lambda value: 0 < value <= 100, "a number above 0, up to 100", where)
        if self.matrix_unit not in (None, "score", "gain"):
            raise LanistaError(
                f"matchmaking.matrix_unit is {self.matrix_unit!r}; give score or gain."
            )
        amounts = ["smoothing", "minimum_games", "half_life"]
        amounts += [] if self.matrix_games is None else ["matrix_games"]
        _refuse(self, amounts, _not_negative, "0 or more", where)
        shares = ["floor", "keep_old", "lost_share", "lost_below", "too_strong"]
        shares += [] if self.self_share is None else ["self_share"]
        _refuse(self, shares, _share, "a number from 0 to 1", where)
        if self.self_share is None and self.kind != AS_ROLE:
            # Written out, so that the settings of a run say what it did.
            object.__setattr__(self, "self_share", self.self_play)
        if self.self_play + self.lost_share > 1:
            raise LanistaError(
                f"matchmaking.self_share is {self.self_play} and lost_share {self.lost_share}, "
                "more than 1 together; lower one of them, or set self_share to null, which is at "
                "most what lost_share leaves."
            )
        if 0 < self.half_life < self.minimum_games:
            raise LanistaError(
                f"matchmaking.minimum_games is {self.minimum_games} and half_life "
                f"{self.half_life}, so that nobody might ever be known; give fewer games than that."
            )

    @property
    def self_play(self) -> float:
        """The share of self-play."""
        if self.self_share is not None:
            return self.self_share
        reads = self.kind in ("alphastar", "psro", AS_ROLE) or self.kind not in MATCHMAKERS.own
        return min(SELF_SHARE if reads else FORMER_SELF_SHARE, 1 - self.lost_share)

    @property
    def pair_games(self) -> int:
        """Games that every two frozen players play for the payoff matrix."""
        return PAIR_GAMES if self.matrix_games is None else self.matrix_games

    @property
    def follows_evaluations(self) -> bool:
        """Whether an evaluation's scores count before training games, and renew the mix."""
        return self.kind == "adaptive"


@dataclass(frozen=True)
class Role:
    """Matchmaking, snapshots and resets of a main learner."""

    usual: ClassVar[str] = "alphastar"
    usual_decisions: ClassVar[int] = 500_000
    usual_share: ClassVar[float] = 0.1
    """Of a run's iterations, so that a short league has snapshots too."""
    matchmaking: Matchmaking = field(default_factory=Matchmaking)
    """The learner's opponent mix."""
    snapshot_decisions: int | None = None
    """A snapshot joins the league after so many decisions trained; 0: not for that; null: after
    500,000 of them or a tenth of the run's iterations, whichever comes first."""
    snapshot_score: float = 0.0
    """A snapshot joins when the lower bound of the learner's score against everybody it is meant
    to beat reaches this; 0: not for that."""
    snapshot_minimum: int = 0
    """No snapshot joins for its score before so many decisions since the last one."""
    reset_to: Literal["imitation", "main", "scratch"] = "imitation"
    """What a learner is reset to after a snapshot: imitation is the policy that the run began from
    (in a run without one a fresh network), main a past main drawn at random (until there is one, as
    imitation), scratch a fresh network."""
    reset_probability: float = 0.0
    """Probability of a reset after a snapshot."""
    every: int | None = None
    """The learner takes part in every so many-th iteration of the league; null, and a main: in
    each."""

    def __post_init__(self) -> None:
        if self.matchmaking.kind == AS_ROLE:
            # Written out, so that the settings of a run say what it did.
            object.__setattr__(self, "matchmaking", replace(self.matchmaking, kind=self.usual))
        if self.reset_to not in ("imitation", "main", "scratch"):
            raise LanistaError(f"reset_to is {self.reset_to!r}; give imitation, main or scratch.")
        counts = ["snapshot_minimum"]
        counts += [] if self.snapshot_decisions is None else ["snapshot_decisions"]
        _refuse(self, counts, _not_negative, "0 or more")
        if self.every is not None:
            _refuse(self, ["every"], lambda value: value >= 1, "at least 1")
        _refuse(self, ["snapshot_score", "reset_probability"], _share, "a number from 0 to 1")


@dataclass(frozen=True)
class MainExploiter(Role):
    """The same for a learner that looks for what beats the current mains."""

    usual: ClassVar[str] = "main_exploiter"
    usual_decisions: ClassVar[int] = 1_000_000
    usual_share: ClassVar[float] = 0.2
    snapshot_decisions: int | None = None
    """A snapshot joins the league after so many decisions trained; 0: not for that; null: after
    1,000,000 of them or a fifth of the run's iterations, whichever comes first."""
    snapshot_score: float = 0.7
    """A snapshot joins when the lower bound of the learner's score against every current main
    reaches this; 0: not for that."""
    snapshot_minimum: int = 200_000
    """No snapshot joins for its score before so many decisions since the last one."""
    reset_probability: float = 1.0
    """Probability of a reset after a snapshot."""
    every: int | None = None
    """The learner takes part in every so many-th iteration of the league: with 4, a main has four
    times the decisions of its exploiter; null: in each."""


@dataclass(frozen=True)
class LeagueExploiter(MainExploiter):
    """The same for a learner that looks for what beats the whole league."""

    usual: ClassVar[str] = "league_exploiter"
    snapshot_score: float = 0.7
    """A snapshot joins when the lower bound of the learner's score against every frozen player
    reaches this; 0: not for that."""
    reset_probability: float = 0.25
    """Probability of a reset after a snapshot."""


@dataclass(frozen=True)
class League:
    """A pool of players that learners meet, and how it grows."""

    round: int = 10
    """Iterations between two looks at matchmaking, snapshot and reset rules."""
    mains: int = 1
    """How many learners are meant to become the agent."""
    main_exploiters: int = 0
    """How many learners look for what beats the mains."""
    league_exploiters: int = 0
    """How many learners look for what beats the whole league."""
    main: Role = field(default_factory=Role)
    """The rules of mains."""
    main_exploiter: MainExploiter = field(default_factory=MainExploiter)
    """The rules of main exploiters."""
    league_exploiter: LeagueExploiter = field(default_factory=LeagueExploiter)
    """The rules of league exploiters."""
    past_members: int = 0
    """Most snapshots in the opponent mix: the newest, and older ones evenly spread; 0: all."""
    exploiter_check_interval: int = 0
    """Train an exploiter against the frozen main every so many iterations, whatever evaluation
    says; 0: never."""
    exploiter_train_steps: int = 500_000
    """Decisions that an exploiter is trained on."""
    exploiter_win_threshold: float = 0.55
    """An exploiter is admitted when the lower bound of its score against its victim passes this."""
    exploiter_unit: Literal["score", "gain"] = "score"
    """What an exploiter is chosen and admitted by: its score, or, where matches are won by unequal
    amounts, as in poker, what it gains per match, whose lower bound must then be above 0."""
    exploiter_from: Literal["scratch", "imitation", "victim"] = "victim"
    """What an exploiter begins from: a fresh network, the imitation policy, or its victim."""
    exploiter_games: int = 1000
    """Games of an exploiter's admission test."""
    exploiter_beside: int | None = None
    """So many iterations the main goes on while an exploiter is trained beside it, in a process of
    its own or on a cluster; then it is tested and may join. None: the league waits for it."""
    exploiter_weight: float = 1.0
    """The weight of an admitted exploiter in the pool, where others have 1."""
    stall_evaluations: int = 0
    """Exploit and patch: train an exploiter when so many evaluations brought no progress; 0:
    never."""

    def __post_init__(self) -> None:
        counts = ("round", "mains", "exploiter_train_steps", "exploiter_games")
        _refuse(self, counts, lambda value: value >= 1, "at least 1", "league.")
        numbers = (
            "main_exploiters", "league_exploiters", "past_members", "exploiter_check_interval",
            "stall_evaluations",
        )  # fmt: skip
        _refuse(self, numbers, _not_negative, "0 or more", "league.")
        if self.main.every is not None:
            raise LanistaError(
                f"league.main.every is {self.main.every}, and a main takes part in each iteration; "
                "give it to exploiters, or leave it out."
            )
        _refuse(
            self,
            ["exploiter_win_threshold"],
            lambda value: 0 <= value < 1,
            "a score from 0 to below 1",
            "league.",
        )
        _refuse(
            self, ["exploiter_weight"], lambda value: 0 < value < math.inf, "one above 0", "league."
        )
        if self.exploiter_beside is not None and self.exploiter_beside < 1:
            raise LanistaError(
                f"league.exploiter_beside is {self.exploiter_beside}; give 1 or more, or null."
            )
        if self.exploiter_unit not in ("score", "gain"):
            raise LanistaError(
                f"league.exploiter_unit is {self.exploiter_unit!r}; give score or gain."
            )
        if self.exploiter_from not in ("scratch", "imitation", "victim"):
            raise LanistaError(
                f"league.exploiter_from is {self.exploiter_from!r}; give scratch, imitation or "
                "victim."
            )

    @property
    def learners(self) -> dict[str, str]:
        """The role of each learner, by its name; mains first."""
        mains = ["main"] if self.mains == 1 else [f"main_{i + 1}" for i in range(self.mains)]
        counts = {
            "main_exploiter": self.main_exploiters,
            "league_exploiter": self.league_exploiters,
        }
        others = {f"{role}_{i + 1}": role for role, count in counts.items() for i in range(count)}
        return {**dict.fromkeys(mains, "main"), **others}

    def rules(self, role: str) -> Role:
        """Return the rules of a role."""
        if role not in ROLES:
            raise LanistaError(f"There is no role {role!r}; {nearest(role, ROLES)}")
        rules: Role = getattr(self, role)
        return rules
