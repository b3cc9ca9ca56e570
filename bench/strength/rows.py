"""The fixed list of what is measured: game, judge, marks, budget, and what stands for ours.

Knows nothing of learners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NASH_CONV = "nash_conv"
GOOFSPIEL = (
    "openspiel:turn_based_simultaneous_game(game=goofspiel("
    "num_cards=4,imp_info=True,points_order=descending))"
)


@dataclass(frozen=True)
class Mark:
    """A value of a metric that a curve reaches or does not."""

    metric: str
    """`nash_conv`, of which less is better, or a bot's name: the score against it."""
    value: float

    @property
    def falling(self) -> bool:
        return self.metric == NASH_CONV

    def reached_by(self, value: float) -> bool:
        return value <= self.value if self.falling else value >= self.value

    def __str__(self) -> str:
        if self.falling:
            return f"NashConv ≤ {self.value:g}"
        return f"score against `{self.metric}` ≥ {self.value:g}"


@dataclass(frozen=True)
class Row:
    """One game with its judge and its marks."""

    name: str
    title: str
    game: str
    seconds: float
    """CPU seconds of a curve in the standing table."""
    marks: tuple[Mark, ...]
    """Each metric's from easy to hard."""
    recipe: str = ""
    """The recipe that stands for ours; empty: what `lanista rl --game` chooses."""
    game_settings: Mapping[str, Any] = field(default_factory=dict)
    matches: int = 400
    """Matches against each bot at a look; unused where exact."""
    greedy: bool = True
    """Whether the likeliest choice is played against bots, or choices are drawn."""
    per_decision: bool = False
    """Whether times are counted in decisions: where the game is slow, it decides the seconds."""
    looks_a_doubling: int = 3
    """How often a curve is looked at while its time doubles; less where a look is dear."""
    always_legal: bool = False
    """Whether every choice is always legal, so that a learner without masks can take part."""
    told: tuple[str, ...] = ()
    """What ours is told besides the recipe, as words of `--set`."""
    on_gpu: tuple[str, ...] = ()
    """What ours is told on a GPU, as words of `--set`; none: the row is not run there."""

    @property
    def exact(self) -> bool:
        return any(mark.falling for mark in self.marks)

    @property
    def bots(self) -> tuple[str, ...]:
        """Who is played against, each once."""
        return tuple(dict.fromkeys(mark.metric for mark in self.marks if not mark.falling))

    def command(self, words: Sequence[str] = (), *, gpu: bool = False) -> str:
        """Return the command that stands for ours, told `words` besides, without its budget."""
        command = f"rl --config {self.recipe}" if self.recipe else f"rl --game {self.game}"
        told = _each_key_once([*self.told, *(self.on_gpu if gpu else ()), *words])
        return command if not told else f"{command} --set {' '.join(told)}"


def _each_key_once(words: Sequence[str]) -> list[str]:
    """Return words of `--set` without those that a later one of the same key undoes."""
    last = {word.partition("=")[0]: place for place, word in enumerate(words)}
    return [words[place] for place in sorted(last.values())]


def _nash(*values: float) -> tuple[Mark, ...]:
    return tuple(Mark(NASH_CONV, value) for value in values)


def _scores(**values: tuple[float, ...]) -> tuple[Mark, ...]:
    return tuple(Mark(bot, value) for bot, marks in values.items() for value in marks)


_TUNED_KUHN = (
    "learning.lr.start=2.8e-3", "learning.lr.end=3.6e-5", "learning.eta=0.147",
    "learning.terms.behaviour=0.051", "learning.terms.magnet=0.0051",
)  # fmt: skip
"""What `lanista tune` made of the recipe, see docs/results/strength.md."""
_EIGHT_THREADS = ("rollouts.workers=8", "rollouts.launcher=threads")
ROWS = (
    Row(
        "kuhn", "Kuhn poker", "kuhn", 40, _nash(0.1, 0.05, 0.02), "kuhn-ppo",
        always_legal=True, told=_TUNED_KUHN,
    ),
    Row("leduc", "Leduc poker", "leduc", 150, _nash(2.0, 1.0, 0.6)),
    Row("liars_dice", "Liar's dice", "liars_dice", 90, _nash(1.0, 0.5, 0.3), looks_a_doubling=2),
    Row(
        "phantom_ttt", "Phantom tic-tac-toe", "phantom_ttt", 80, _nash(1.0, 0.7, 0.5),
        looks_a_doubling=1,
    ),
    Row(
        "beastybar", "Beasty Bar", "beastybar", 130,
        _scores(random=(0.8, 0.9), heuristic=(0.6, 0.7), distilled=(0.3, 0.5)),
        on_gpu=("rollouts.matches=2048", "learning.minibatches=8", *_EIGHT_THREADS),
    ),
    Row(
        "arena", "Arena", "arena", 160,
        _scores(rusher=(0.5, 0.9), kiter=(0.3, 0.6)), matches=200,
        on_gpu=("rollouts.unrolls=512", *_EIGHT_THREADS, "rollouts.lag=1"),
    ),
    Row(
        "connect_four", "Connect four (OpenSpiel)", "openspiel:connect_four", 150,
        _scores(random=(0.85, 0.9, 0.95)), game_settings={"lookahead": 2}, matches=400,
    ),
    Row("goofspiel", "Goofspiel, 4 cards, hidden bids", GOOFSPIEL, 90, _nash(0.8, 0.4, 0.2)),
    Row(
        "microrts", "MicroRTS 8x8", "microrts", 160,
        _scores(passive=(0.75, 0.9), random_biased=(0.5, 0.9)), "microrts",
        {"side": 8, "longest": 1000}, matches=20, greedy=False, per_decision=True,
        looks_a_doubling=1,
    ),
    Row(
        "purses", "A game in Python (`examples/my_game.py`)", "examples/my_game.py", 50,
        _scores(random=(0.85,), thrifty=(0.5, 0.6, 0.7)), per_decision=True,
    ),
)  # fmt: skip


def row_of(name: str) -> Row:
    """Return the row of this name."""
    for row in ROWS:
        if row.name == name:
            return row
    raise KeyError(f"There is no row {name!r}; choose from {', '.join(row.name for row in ROWS)}.")
