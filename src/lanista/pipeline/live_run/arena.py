"""The arena: a clone of a weak bot plays one of ours."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from lanista.games import registry
from lanista.learn.imitation.settings import Imitation
from lanista.learn.settings import Learning
from lanista.live.learner.settings import Gate, LiveSettings
from lanista.live.promotion.sequential_test import Rule
from lanista.nets.settings import Network
from lanista.pipeline.live_run.venue import Ground, Say, Setup, nothing_to_start
from lanista.rollout.match_runner import Table, play
from lanista.rollout.replay_recorder import Recorder
from lanista.rollout.schedule import rotations
from lanista.training.imitate import Task, imitate

GAME, TEACHER = "arena", "scavenger"
GAME_SETTINGS = {"ticks_per_decision": 10}
HINTS = 1.0
"""What the game's hints count as rewards."""
_RECORDED = 300
"""Matches of the teacher against each of two bots."""


class Arena:
    """Two seats that act at the same time, in a simulator that runs in the player's process."""

    policy_game = GAME
    module = "lanista.live.players.arena"
    defaults: Mapping[str, str | int | None] = {"opponent": "kiter", "seed": 0}

    def refuse(self, setup: Setup) -> None:
        """Refuse an opponent that is not known."""
        spec = registry.spec_of(GAME, seed=setup.seed, **GAME_SETTINGS)
        registry.make_bot(GAME, setup.opponent, spec, setup.seed)

    def settings(self, seed: int) -> LiveSettings:
        """Return the settings of the demonstration."""
        terms = {"policy": 0.3, "value": 0.5, "upgo": 1.0, "entropy": 0.003}
        learning = Learning(
            policy="vtrace", terms=terms, lr=2e-4, gamma=0.995, epochs=2, minibatches=4,
            critic_sees="seat",
        )  # fmt: skip
        # A candidate that is not ahead makes room for newer weights, so it is never given up.
        gate = Gate(every=100, refresh=100, rule=Rule(futile=0), watch=Rule(limit=100))
        # Some fifty games a second: a report of each hundred would fill the terminal.
        return LiveSettings(
            learning, gate, batch_games=50, least_games=50, warm_up=20, report_every=2000, seed=seed
        )

    def first_policy(self, setup: Setup, say: Say) -> tuple[bytes, str]:
        """Clone a weak bot, from matches against two others."""
        say(f"Making the first policy: a clone of the bot {TEACHER}, some seconds …")
        with tempfile.TemporaryDirectory(dir=setup.folder, prefix="first-") as work:
            clone = Path(work) / "first.safetensors"
            _record(Path(work) / "data", setup.seed)
            imitate(_task(Path(work) / "data", clone))
            return clone.read_bytes(), f"a clone of {TEACHER}"

    def words(self, setup: Setup, number: int) -> list[str]:
        """Return the opponent, and what hints count."""
        return ["--opponent", setup.opponent, "--hints", str(HINTS)]

    def ground(self, setup: Setup, say: Say) -> Iterator[Ground]:
        """Start nothing."""
        return nothing_to_start(setup, say)


def _record(data: Path, seed: int) -> None:
    for first, other in enumerate(("kiter", "rusher")):
        names = (TEACHER, other)
        with closing(registry.make(GAME, slots=_RECORDED, seed=seed, **GAME_SETTINGS)) as game:
            players = tuple(registry.make_bot(GAME, name, game.spec, seed) for name in names)
            schedule = rotations(2, _RECORDED, first_match=first * _RECORDED)
            recorder = Recorder(data / other, game, players)
            recorder.write(play([Table(game, players)], schedule, record=True))


def _task(data: Path, output: Path) -> Task:
    return Task(
        output=output,
        data_dir=data,
        players=(TEACHER,),
        # Where nothing is fired the aim is noise.
        irrelevant=("aim_x:fire=hold", "aim_y:fire=hold"),
        network=Network(width=64, layers=2),
        imitation=Imitation(epochs=8, batch_size=256, lr=2e-3),
        evaluation_matches=0,
        device="cpu",
    )
