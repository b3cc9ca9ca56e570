"""The background learner: takes games from a spool and makes the policy of a folder better.

A game takes effect exactly once. Its row is written first, then the checkpoint that holds what was
learned from it, then its file is archived; a kill between any two is undone or finished at the
next start. Owns this order; what is published is the gatekeeper's matter.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lanista.errors import RefusedError
from lanista.files import remove_leftovers
from lanista.learn.learner import BrokenLossError
from lanista.live.files.game_file import GameFile
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool, refuse_one_folder
from lanista.live.learner.experience import TrainingGame, distances, predictions, unrolls_of
from lanista.live.learner.full_disk import is_full
from lanista.live.learner.intake import Intake, Taken
from lanista.live.learner.ledger import NAME, BatchRow, GameRow, Ledger
from lanista.live.learner.settings import LiveSettings
from lanista.live.learner.weights import Weights
from lanista.live.promotion.candidates import Gatekeeper
from lanista.live.promotion.deployment import Deployment, Verdict, score_of
from lanista.live.promotion.simulator_trial import refuse_unknown_game
from lanista.lock import holding
from lanista.nets.files.policy_format import read_header
from lanista.runs.checkpoints import Checkpoints

FOLDER = "learner"
"""Of the policy folder: what the learner alone needs."""
SETTINGS = "settings.yaml"
"""Of that folder: what the last learner was started with."""


@dataclass(frozen=True)
class Batch:
    """What one step did."""

    games: int = 0
    """That took effect."""
    learned: int = 0
    repeated: int = 0
    refused: int = 0
    waiting: int = 0
    verdicts: tuple[Verdict, ...] = ()


class BackgroundLearner:
    """The one learner of a policy folder, from its start to its close."""

    def __init__(
        self,
        spool: str | Path,
        policy: str | Path,
        settings: LiveSettings | None = None,
        *,
        say: Callable[[str], None] = print,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Hold the folders, and go on where the last learner left off.

        `stop` is asked in the middle of what takes long.
        """
        self.spool, self.folder = Spool(spool), PolicyFolder(policy)
        self.settings = settings or LiveSettings()
        self.say = say
        self.number = 0
        """Updates that took effect."""
        self.home = self.folder.folder / FOLDER
        refuse_one_folder(self.spool.folder, self.folder.folder)
        stable = self.folder.pointer().stable
        if self.settings.gate.kind == "simulator":
            refuse_unknown_game(read_header(self.folder.path_of(stable)))
        self.home.mkdir(exist_ok=True)
        self._stack = ExitStack()
        try:
            self._stack.enter_context(holding(self.home, "learner of the policy folder"))
            # Only now: a learner that is refused makes no spool for the other to find.
            self.made_spool = not self.spool.folder.exists()
            self.spool.create()
            self._stack.enter_context(holding(self.spool.work, "learner of the spool"))
            self.checkpoints = Checkpoints(self.home / "checkpoints")
            self.ledger = self._open_ledger()
            self._stack.callback(self.ledger.close)
            # Asked again: a learner that ended just now may have changed it.
            stable = self.folder.pointer().stable
            self.weights = Weights(self.folder, self.settings, stable)
            self.gatekeeper = Gatekeeper(
                self.folder, self.spool, self.ledger, self.weights, self.settings, say, stop
            )
            self.intake = Intake(self.spool, self.ledger, say)
            self.go_back()
            self.ledger.add_event(self.number, "started", spool=str(self.spool.folder.absolute()))
            self._stack.callback(self._note_end)
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> BackgroundLearner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folders."""
        self._stack.close()

    def _note_end(self) -> None:
        try:
            self.ledger.add_event(self.number, "stopped")
        except OSError as error:
            if not is_full(error):
                raise
            self.say("There is no room to note that the learner was stopped.")

    def step(self, least: int = 1) -> Batch | None:
        """Take a batch of games and make it take effect; None if fewer than `least` wait."""
        self.gatekeeper.look(self.number + 1)
        intake_batch = self.intake.take(self.settings.batch_games, self.weights.header, least)
        if not intake_batch.games and not intake_batch.repeated:
            return Batch(refused=intake_batch.refused) if intake_batch.refused else None
        try:
            return self._apply(intake_batch)
        except BrokenLossError as error:
            return self._one_by_one(intake_batch, str(error))

    def _apply(self, intake_batch: Taken) -> Batch:
        began, cpu = time.monotonic(), time.process_time()
        number = self.number + 1
        rows, samples, log = self._learn([game for _, game in intake_batch.games], number)
        self.weights.played([score for row in rows if (score := score_of(row)) is not None])
        batch = BatchRow(
            update_number=number,
            games=len(rows),
            learned=sum(row.use == "learned" for row in rows),
            samples=samples,
            passes=int(log.get("stopped_after_epoch", self.settings.learning.epochs)),
            loss=log.get("loss"),
            repeated=intake_batch.repeated,
            seconds=time.monotonic() - began,
            cpu_seconds=time.process_time() - cpu,
            waiting=intake_batch.waiting,
            at=time.time(),
        )
        with self.ledger.writing():
            self.ledger.add_games(rows)
            self.ledger.add_batch(batch)
            self.ledger.add_metrics(number, log)
            verdicts = self.gatekeeper.judge(rows, number)
        self._save(number)
        for path, game in intake_batch.games:
            self.spool.put_away(path, game.content)
        self.gatekeeper.carry_out(self.number)
        return Batch(
            batch.games,
            batch.learned,
            intake_batch.repeated,
            intake_batch.refused,
            intake_batch.waiting,
            verdicts,
        )

    def _learn(
        self, games: Sequence[GameFile], number: int
    ) -> tuple[list[GameRow], int, dict[str, float]]:
        """Learn from what is young enough; return a row for each game, the samples, the log."""
        learner = self.weights.learner
        age_of = {policy: self._age(policy) for policy in {game.header.policy for game in games}}
        ages = [age_of[game.header.policy] for game in games]
        training_games = [
            TrainingGame.of(game, self.settings, learner.update_count - max(age, 0))
            for game, age in zip(games, ages, strict=True)
        ]
        expected, apart = predictions(training_games, learner), self._distances(training_games)
        rows = [
            self._row(training_game, age, far, number, value)
            for training_game, age, far, value in zip(
                training_games, ages, apart, expected, strict=True
            )
        ]
        fresh = [
            training_game
            for training_game, row in zip(training_games, rows, strict=True)
            if row.use == "learned"
        ]
        if not fresh:
            return rows, 0, {}
        unrolls = unrolls_of(fresh, self.settings, learner)
        return rows, unrolls.decisions, self.weights.learn(unrolls)

    def _distances(self, training_games: Sequence[TrainingGame]) -> list[float]:
        """Return how far each game's policy is from the weights; 0 for one without decisions.

        All of a policy's games in the batch are judged together: alone, a short game would be left
        out for the actions that it happens to hold.
        """
        with_decisions = [
            training_game for training_game in training_games if len(training_game.own)
        ]
        if not with_decisions:
            return [0.0] * len(training_games)
        unrolls = unrolls_of(with_decisions, self.settings, self.weights.learner)
        policies = [training_game.game.header.policy for training_game in with_decisions]
        names = sorted(set(policies))
        member = np.array([names.index(policy) for policy in policies])
        far = dict(
            zip(names, distances(unrolls, self.weights.learner, member).tolist(), strict=True)
        )
        return [far.get(training_game.game.header.policy, 0.0) for training_game in training_games]

    def _age(self, policy: str) -> int:
        """Return how many updates ago the weights were a policy's; -1 if that is not known.

        Updates that learned from nothing do not count, or a flood of old games would make the
        newest policy old.
        """
        then = self.ledger.update_of(policy)
        return -1 if then is None else self.ledger.learned_since(then)

    def _row(
        self,
        training_game: TrainingGame,
        age: int,
        far: float,
        number: int,
        predicted: float | None,
    ) -> GameRow:
        game, header = training_game.game, training_game.game.header
        stale = age > self.settings.staleness or far > self.settings.distance
        use = "stale" if stale else "learned"
        return GameRow(
            update_number=number,
            content=game.content,
            game_id=header.game_id,
            policy=header.policy,
            serial=header.serial,
            candidate=header.candidate,
            outcome=None if header.cut_off else float(game.outcome[0]),
            crashed=header.crashed,
            steps=header.steps,
            overruled=int(game.overruled.sum()),
            reward=float(game.rewards.sum()),
            log_prob=float(game.log_probs.sum()),
            staleness=age,
            # The book holds no NaN; what cannot be told is as far as can be.
            distance=math.inf if math.isnan(far) else far,
            use=use if len(training_game.own) else "empty",
            predicted=predicted,
            came=training_game.came(self.settings.learning.gamma),
            at=time.time(),
            opponent=header.opponent,
        )

    def _one_by_one(self, intake_batch: Taken, sentence: str) -> Batch:
        """Learn from each game alone, after a batch that could not be learned from."""
        self._forget_batch()
        if len(intake_batch.games) == 1:
            path, _ = intake_batch.games[0]
            self.intake.reject(path, f"It cannot be learned from: {sentence}")
            self.ledger.add_event(self.number, "broken", sentence=sentence, file=path.name)
            return Batch(repeated=intake_batch.repeated, refused=intake_batch.refused + 1)
        self.say(f"{sentence} The batch is learned from one game at a time.")
        batches = [Batch(repeated=intake_batch.repeated, refused=intake_batch.refused)]
        for one in intake_batch.games:
            alone = Taken((one,), waiting=intake_batch.waiting)
            try:
                batches.append(self._apply(alone))
            except BrokenLossError as error:
                batches.append(self._one_by_one(alone, str(error)))
        return Batch(
            games=sum(batch.games for batch in batches),
            learned=sum(batch.learned for batch in batches),
            repeated=sum(batch.repeated for batch in batches),
            refused=sum(batch.refused for batch in batches),
            waiting=intake_batch.waiting,
            verdicts=tuple(verdict for batch in batches for verdict in batch.verdicts),
        )

    def _forget_batch(self) -> None:
        """Undo what was learned and noted since the last checkpoint, and read the pointer again."""
        self.ledger.forget_after(self.number)
        self._load(self.checkpoints.newest_good()[1])
        self.gatekeeper.carry_out(self.number)
        self.gatekeeper.look(self.number + 1)

    def _save(self, number: int) -> None:
        state = {
            "games": self.ledger.count(),
            "rows": self.ledger.vouched(number),
            "weights": self.weights.state(),
            "deployment": self.gatekeeper.deployment.state(),
        }
        self.checkpoints.save(number, state)
        self.number = number
        self.checkpoints.keep(self.settings.keep_checkpoints, 0)

    def _refuse_other_book(self, state: dict[str, object]) -> None:
        """Refuse a book that a checkpoint does not answer for, before anything is moved."""
        games, rows = self.ledger.count(self.number), self.ledger.vouched(self.number)
        path = self.ledger.path
        if games != state["games"]:
            difference = f"{path} holds {games} games and the checkpoint {state['games']}"
        elif state.get("rows", rows) != rows:  # Older checkpoints hold no sum.
            difference = f"{path} holds other rows than those of the checkpoint"
        else:
            return
        raise RefusedError(
            f"{difference}; put back the file that belongs to it, or move {self.home} away to "
            "begin a new learner from the stable policy."
        )

    def _load(self, state: dict[str, object]) -> None:
        self.weights.load(state["weights"])  # type: ignore[arg-type]
        deployment = Deployment.of(self.settings.gate, state["deployment"])  # type: ignore[arg-type]
        self.gatekeeper.deployment = deployment

    def _open_ledger(self) -> Ledger:
        path = self.home / NAME
        if self.checkpoints.numbers() and not path.exists():
            raise RefusedError(
                f"{path} is gone, and tells which games took effect; put it back, or move "
                f"{self.home} away to begin a new learner from the stable policy."
            )
        ledger = Ledger(path, write=True)
        if ledger.was_unsealed:
            self.say(f"{path} held no sums of its rows; from now on it does.")
        return ledger

    def go_back(self) -> None:
        """Go on from the newest checkpoint; what it does not hold did not happen."""
        self.checkpoints.remove_leftovers()
        folder = self.folder
        for place in (folder.folder, folder.policies, folder.history_folder, self.home):
            remove_leftovers(place)
        remove_leftovers(self.spool.bad)
        state = None
        if self.checkpoints.numbers():
            self.number, state, sentences = self.checkpoints.newest_good()
            for sentence in sentences:
                self.say(sentence)
            self._refuse_other_book(state)
            for number in self.checkpoints.numbers():
                if number > self.number:
                    self.checkpoints.set_aside(number)
        elif self.ledger.count():
            raise RefusedError(
                f"{self.checkpoints.folder} holds no checkpoint, and {self.ledger.path} "
                f"{self.ledger.count()} games; put the folder back, or move {self.home} away to "
                "begin a new learner from the stable policy."
            )
        self.intake.recover(self.number)
        if state is None:
            self.ledger.add_policy(0, self.weights.base, None)
            self._save(0)
        else:
            self._load(state)
        self.gatekeeper.carry_out(self.number)
        self.gatekeeper.look(self.number + 1)
