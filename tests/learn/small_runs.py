"""Small games, and learners on them, for the learner's tests."""

from __future__ import annotations

from typing import Any

from lanista.data.trajectory import Unrolls
from lanista.games import Facts, Field, PythonGame, View, make
from lanista.games.random_bot import RandomBot
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.teacher import Teacher

SMALL = Network(width=16, layers=1)
RECURRENT = Network(kind="lstm", width=12, layers=1)
VALUE = {"policy": 1.0, "value": 0.5}


class TwoArms(PythonGame):
    """Seat 0 pulls one of two arms, then seat 1: whoever finds the good one gains by it."""

    name = "two-arms"
    facts = Facts(seats=2, longest=2, zero_sum=True)
    observation = 2
    moves = 2
    privileged_fields = (Field("all", 3),)
    good = 1

    def deal(self, rng: Any) -> list[int]:
        return []

    def view(self, state: list[int], seat: int) -> View | None:
        return View([seat == 0, seat == 1], (0, 1)) if len(state) == seat else None

    def view_all(self, state: list[int], seat: int) -> list[float]:
        return [seat == 0, seat == 1, float(sum(state))]

    def apply(self, state: list[int], moves: dict[int, Any], rng: Any) -> list[float] | None:
        state.extend(moves.values())
        if len(state) < 2:
            return None
        gain = (state[0] == self.good) - (state[1] == self.good)
        return [float(gain), float(-gain)]


class FirstArm(TwoArms):
    """The same, and the other arm is the good one."""

    good = 0


class Run:
    """A learner, and the collector that plays for it."""

    def __init__(
        self,
        game: Any,
        settings: Learning,
        network: Network = SMALL,
        *,
        seed: int = 3,
        updates: int = 100,
        unroll_length: int = 8,
        start: Any = None,
    ) -> None:
        self.game = game
        self.learner = Learner(
            game.spec, network, settings, updates=updates, seed=seed, start=start
        )
        self.collector = Collector(
            game,
            Actor(self.learner.policy, seed, self.learner.critic),
            unroll_length=unroll_length,
            keep_log_probs=True,
            keep_privileged=settings.critic_sees == "privileged",
            teacher=Teacher(RandomBot(game.spec, seed), game.spec)
            if settings.needs("teacher")
            else None,
        )

    def play(self, matches: int = 64) -> Unrolls:
        """Play fresh matches under the weights as they are."""
        self.collector.update = self.learner.update_count
        return self.collector.whole_matches(matches)

    def train(self, updates: int, matches: int = 64) -> list[dict[str, float]]:
        """Play and learn in turn; return every update's log."""
        return [self.learner.update(self.play(matches)) for _ in range(updates)]


def kuhn_run(settings: Learning, network: Network = SMALL, **others: Any) -> Run:
    """Return a run on Kuhn poker."""
    return Run(make("kuhn", slots=64, seed=1), settings, network, **others)


def leduc_run(settings: Learning, network: Network = SMALL, **others: Any) -> Run:
    """Return a run on Leduc poker, whose matches have several own decisions."""
    return Run(make("leduc", slots=64, seed=1), settings, network, **others)
