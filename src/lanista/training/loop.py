"""Trains policies from settings: matchmaking, iterations, evaluation, checkpoints, resume.

Owns the order of things in a run and what a fault costs. Knows nothing of how an iteration works
and of what a league's rules say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanista.errors import FewerIterationsError, LanistaError, RefusedError
from lanista.evaluation.evaluator import FIRST_MATCH, Evaluator, Judgement
from lanista.evaluation.promotion import Champion
from lanista.files import write_bytes
from lanista.games.contract import Spec
from lanista.league.damping import undamped_notice
from lanista.league.exploiter_timing import exploiter_due
from lanista.league.meta_game import PSRO
from lanista.league.population import Population
from lanista.learn.learner import BrokenLossError, Learner
from lanista.learn.update.ranks import Ranks
from lanista.nets.files.policy_file import policy_bytes, save_policy
from lanista.nets.files.policy_format import POLICY
from lanista.runs.database import Values
from lanista.runs.folder import (
    Run,
    create,
    folder_of,
    policy_path,
    refuse_renamed,
)
from lanista.runs.layout import CONFIG
from lanista.runs.league_settings import League
from lanista.runs.resolve import resolve
from lanista.runs.resume import resumed_settings
from lanista.runs.schema import EventRow, LineupRow, MatchRow
from lanista.runs.settings import RunSettings, fingerprint, fingerprints
from lanista.runs.slim import exactness, filled, slimmed, write_needed
from lanista.training.best_keeper import BestKeeper
from lanista.training.critic_file import file_value, notice, take_over, write_critic
from lanista.training.health.watch import Watch, event_of
from lanista.training.loops import loop_of
from lanista.training.meta_games import mixture_values, play_missing_pairs
from lanista.training.observers import Observer, Observers
from lanista.training.ranks import begin, refuse_ranks
from lanista.training.time_limit import TimeLimit

if TYPE_CHECKING:
    from lanista.exploiters.league_exploiters import BesideMain, Tested

INTERRUPTED = 130


def train(
    settings: RunSettings,
    output: Path,
    *,
    folder: Path | None = None,
    resume: bool = False,
    checkpoint: Path | None = None,
    stop: Callable[[], bool] | None = None,
    observers: Sequence[Observer] = (),
    findings: bool = True,
    ranks: Ranks | None = None,
    limit: TimeLimit | None = None,
) -> int:
    """Train to the end, or until `stop()`; return 0, or 130 when stopped with all saved.

    Where a `limit` comes first, the run ends there, evaluated and saved.

    A run that is resumed, at its newest good checkpoint or at `checkpoint`, must be given settings
    that do not make it another run. `folder` is the run's, FILE.run beside the output unless given.
    Without `findings` the run does not say what is wrong with it. `ranks` learn together, of which
    this is the first.
    """
    ranks = ranks or Ranks()
    output = Path(output)
    folder = folder or folder_of(output)
    if resume or checkpoint is not None:
        settings = resumed_settings(folder, settings)
    else:
        settings, policies = resolve(settings)
        refuse_ranks(ranks, settings)
        first = partial(_first_state, settings, output)
        create(output, folder, settings, policies, first)
    stop = stop or (lambda: False)
    refuse_ranks(ranks, settings)
    with (
        Run(output, folder) as run,
        closing(Population(settings, folder, loop_of(settings, ranks))) as population,
    ):
        begin(ranks, settings)
        trainer = _Trainer(run, settings, population, Observers(observers), stop)
        trainer.says_findings, trainer.limit = findings, limit
        code = trainer.go(checkpoint)
    if settings.checkpoints.slim:
        write_needed(output, folder)
    return code


def _first_state(settings: RunSettings, output: Path, folder: Path) -> dict[str, Any]:
    """Return the state a run begins with; what cannot be used is refused before it begins."""
    from lanista.exploiters.league_exploiters import start_of  # See `_exploit`.

    with closing(Population(settings, folder, loop_of(settings))) as population:
        for training in population.trainings.values():
            if training.learner.critic is not None:
                training.warm_up = take_over(settings, training.learner.critic)
        population.enter(population.first_rows())
        population.meet(population.matchmake())
        Evaluator(settings, population.spec, folder)
        # What could not be saved at the end is refused now.
        policy_bytes(population.main.learner.best, population.main.spec, **_about(settings, output))
        if settings.league is not None:
            start_of(settings, settings.league, folder)
            _refuse_gains(settings.league, population.spec)
        return {"settings": fingerprint(settings), "rows": 0, "learners": population.state()}


def _refuse_gains(league: League, spec: Spec) -> None:
    """Refuse to go by gains in a game in which they say nothing."""
    if league.exploiter_unit == "gain" and not spec.facts.zero_sum:
        raise LanistaError(
            f"league.exploiter_unit is gain, and in {spec.name} what one wins another need not "
            "lose; admit exploiters by their score."
        )
    for role in set(league.learners.values()):
        rules = league.rules(role).matchmaking
        two = spec.facts.zero_sum and spec.seats == 2
        if rules.kind == PSRO and rules.matrix_unit == "gain" and not two:
            raise LanistaError(
                f"league.{role}.matchmaking.matrix_unit is gain, and {spec.name} is no game of two "
                "seats in which one wins what the other loses; set it to score."
            )


def _about(settings: RunSettings, output: Path) -> dict[str, Any]:
    """Return what the policy file of a run says of its origin."""
    parents = [settings.supervised_digest] if settings.supervised_digest else []
    return {"name": output.stem, "parents": parents}


class _Trainer:
    """One process's work on a run."""

    def __init__(
        self,
        run: Run,
        settings: RunSettings,
        population: Population,
        observers: Observers,
        stop: Callable[[], bool],
    ) -> None:
        self.run, self.settings, self.population = run, settings, population
        self.observers, self.stop = observers, stop
        self.evaluator = Evaluator(settings, self.population.spec, run.folder, observers.message)
        self.champion = Champion()
        self.best = BestKeeper(run, settings)
        self.watch = Watch([*population.trainings])
        self.says_findings = True
        self.limit: TimeLimit | None = None
        self.is_last = False
        """Whether there is no time for an iteration after this one."""
        self.beside: BesideMain | None = None
        """Who trains exploiters while the main goes on; None: nobody does."""
        self.saved = -1
        self.next_match = FIRST_MATCH
        """The id of the next match of fixed players."""
        self.recorded = -1
        """The iteration whose rows are all there, as long as its learners are as it left them."""

    def go(self, checkpoint: Path | None) -> int:
        iteration, state, notices = self.run.state(checkpoint)
        refuse_renamed(self.run.checkpoints.path(iteration), iteration, state)
        if state["settings"] not in fingerprints(self.settings):
            raise RefusedError(
                f"{self.run.folder / CONFIG} is not what the run was begun with: it was edited or "
                "is damaged; put it back as it was."
            )
        if self.settings.iterations < iteration:
            raise FewerIterationsError(
                f"The run {self.run.folder}", iteration, self.settings.iterations
            )
        self.run.keep_settings(self.settings)
        update = iteration * self.settings.learner_updates
        with self.observers.during(self.settings, update):
            return self._go_on(iteration, state, notices)

    def _go_on(self, iteration: int, state: dict[str, Any], notices: list[str]) -> int:
        """Load the state of a checkpoint and train from it."""
        population, update = self.population, iteration * self.settings.learner_updates
        self.observers.work_started(self.settings.updates, "updates")
        self.observers.work_at(update)
        # The first checkpoint is older than every row, those of the players at the start too.
        notices += self.run.forget_after(iteration, update if iteration else -1)
        notices.append(self._doubts(state["rows"]))
        with self.run.metrics.reading():
            population.load(filled(state["learners"], self.settings), self.run.metrics)
            self.champion.load(self.run.metrics)
            notices.append(self.best.load())
            self.watch.load(self.run.metrics)
            self.next_match = max(FIRST_MATCH, self.run.metrics.last_match() + 1)
        if not population.roster:
            rows = population.first_rows()
            self.run.metrics.add_rows(rows)
            population.enter(rows)
        self.saved = iteration
        unkept = exactness(self.settings, population.spec, slim=state.get("slim", False))
        main = population.main
        critic = ""
        if not iteration and main.learner.critic is not None:
            critic = notice(self.settings, main.learner.critic, main.warm_up)
        undamped = "" if iteration else undamped_notice(self.settings, population.spec)
        for sentence in [*notices, self.evaluator.notice, unkept, critic, undamped]:
            self._say(sentence)
        try:
            self._go_on_beside()
            if iteration == 0:
                self._judge_start()
            return self._iterations()
        except BrokenLossError as error:
            raise BrokenLossError(
                f"{error} The last good checkpoint is {self.run.checkpoints.path(self.saved)}."
            ) from error
        except Exception:
            self._save_rest()
            raise
        finally:
            if self.beside is not None:
                self.beside.close()
            self.run.metrics.try_flush()

    def _go_on_beside(self) -> None:
        """Go on with the exploiter that the record says is trained beside the main."""
        from lanista.exploiters.league_exploiters import BesideMain, Practice  # See `_exploit`.

        league = self.settings.league
        if league is not None and league.exploiter_beside:
            self.beside = BesideMain(self.settings, self.run.folder)
            with self.run.metrics.reading():
                self.beside.go_on(Practice.under_way(self.run.metrics.rows(EventRow)))

    def _doubts(self, rows: int) -> str:
        """Return a sentence where the tables are not what the run wrote; a league goes by them."""
        if self.run.metrics.sum == rows:
            return ""
        damage = (
            f"{self.run.metrics.path} is not what the run wrote: some of its numbers are damaged "
            "or missing."
        )
        if self.settings.league is not None:
            raise RefusedError(f"{damage} The league goes by them; put the file back as it was.")
        return f"{damage} Training does not depend on them and goes on."

    def _iterations(self) -> int:
        population, total = self.population, self.settings.iterations
        while population.iteration < total and not self.is_last:
            if not self._round():
                return INTERRUPTED
            self.is_last = self.limit is not None and self.limit.is_last()
            *earlier, (number, values) = population.iterate()
            for entry in earlier:
                self._log(*entry)
            for sentence in population.notices():
                self._say(sentence)
            games = population.games()
            self.run.metrics.add_rows(games)
            self.watch.played(games)
            judgements = self._evaluate()
            for name, judgement in judgements.items():
                prefix = "" if name == population.main.name else f"{name}/"
                values |= {f"{prefix}{key}": value for key, value in judgement.values.items()}
            self._log(number, values | population.weights())
            population.count(games, *self._keep_matches(list(judgements.values())))
            self._promote(judgements)
            self._keep_best(judgements)
            if judgements or self._due(self.settings.checkpoints.save_every):
                self._say_findings()
            self.recorded = population.iteration
            stopping = self.stop()
            if stopping or self._due(self.settings.checkpoints.save_every):
                self._save(must=stopping or self._over)
            if stopping and population.iteration < total:
                return INTERRUPTED
            if self.limit is not None:
                saved = self._due(self.settings.checkpoints.save_every)
                self.limit.iterated(whole=bool(judgements) or saved)
        self._write_output()
        if self.limit is not None and population.iteration < total:
            self.limit.cut = True
            self._say(
                f"The time for this run is over after {population.iteration:,} of its {total:,} "
                "iterations; resumed, it goes on from there."
            )
        return 0

    @property
    def _over(self) -> bool:
        """Whether the run ends with this iteration."""
        return self.is_last or self.population.iteration >= self.settings.iterations

    def _judge_start(self) -> None:
        """Evaluate the supervised policy that the run begins from: what it must not fall below.

        Schedules do not hear of it, so that training is the same without it.
        """
        if not self.best.judges_start:
            return
        main = self.population.main
        judgement = self.evaluator.measure(main.learner.best, 0, self.next_match, name=main.name)
        self.next_match = judgement.next_match
        if judgement.score is not None:
            judgement.values["evaluation/score"] = judgement.score
        self.run.metrics.add(0, judgement.values)
        self.watch.add(0, judgement.values)
        self.observers.updated(0, judgement.values)
        self._keep_matches([judgement])
        self._keep_best({main.name: judgement})

    def _round(self) -> bool:
        """Let players join and learners reset where that is due, and set the opponent mix.

        All of it belongs to the coming update: a run that ends here begins with it when resumed.
        Returns False when the run was stopped meanwhile.
        """
        population, update, league = (
            self.population,
            self.population.update + 1,
            self.settings.league,
        )
        begins = league is not None and population.iteration % league.round == 0
        why = "" if league is None else self._exploiter_due(league)
        if begins and population.iteration:
            self._join(update)
        if league is not None and league.exploiter_beside:
            joined = self._exploit_beside(why, update)
        else:
            joined = self._exploit(why, update) if why else False
        if joined is None:
            return False
        begins |= joined
        begins |= not population.in_force
        if begins:
            self._play_pool(update)
        if begins or population.newly_evaluated:
            rows = population.matchmake(evaluated=not begins)
            self.run.metrics.add_rows(rows)
            population.meet(rows)
        return True

    def _play_pool(self, update: int) -> None:
        """Let frozen players play each other where a matchmaker needs to know what comes of it."""
        played = play_missing_pairs(self.population, self.evaluator, self.next_match)
        if not played.matches:
            return
        self.next_match = played.next_match
        self.run.metrics.add_rows([*played.lineups, *played.matches])
        self.run.metrics.add(update, played.values)
        self.population.count([], played.lineups, played.matches)
        self.population.spend(played.values)

    def _exploiter_due(self, league: League) -> str:
        """Return why an exploiter is to be trained now, or nothing.

        The run is saved before one is trained or waited for, and so before anything of the coming
        update is recorded or done: a resumed run begins with all of it again.
        """
        iteration = self.population.iteration
        practice = None if self.beside is None else self.beside.practice
        if practice is not None and iteration < practice.due:
            return ""  # One at a time.
        why = exploiter_due(league, iteration, self.run.metrics)
        if (why or practice) and self.saved < iteration:
            # Whoever stops an exploiter is told that all is saved.
            self._save(must=True)
        return why

    def _exploit(self, why: str, update: int) -> bool | None:
        """Train and test an exploiter; return whether it joined. None: stopped, and saved."""
        # An exploiter is trained by a run of its own, so the two modules need each other.
        from lanista.exploiters.league_exploiters import exploit

        population = self.population
        self._say(f"An exploiter of {population.next_victim.name} is trained ({why}).", update)
        tested = exploit(
            self.settings,
            population,
            self.evaluator,
            self.next_match,
            self.stop,
            self.observers.message,
        )
        return None if tested is None else self._take_in(tested, why, update)

    def _exploit_beside(self, why: str, update: int) -> bool | None:
        """Begin or test an exploiter that is trained while the main goes on.

        Returns whether one joined. None: stopped, and saved.
        """
        from lanista.exploiters.league_exploiters import BEGUN

        population, beside = self.population, self.beside
        assert beside is not None
        joined = False
        if (practice := beside.practice) is not None and population.iteration >= practice.due:
            arguments = (population, self.evaluator, self.next_match, self.stop)
            if (tested := beside.tested(*arguments)) is None:
                return None
            joined = self._take_in(tested, practice.why, update)
        if why and beside.practice is None:
            practice = beside.begin(population, why)
            self._event(update, BEGUN, practice.main, practice.body)
            self._say(
                f"An exploiter of {practice.main} is trained beside it ({why}), and tested before "
                f"iteration {practice.due + 1}.",
                update,
            )
        return joined

    def _take_in(self, tested: Tested, why: str, update: int) -> bool:
        """Record an exploiter's test, and let it join if it passed; return whether it did."""
        population, metrics = self.population, self.run.metrics
        self.next_match = tested.next_match
        row = tested.frozen.row
        body = {**row.body, "why": why}
        write_bytes(policy_path(self.run.folder, row.digest), tested.frozen.data)
        metrics.add_rows([*tested.lineups, *tested.matches])
        population.count([], tested.lineups, tested.matches)
        kind = "exploiter_admitted" if tested.admitted else "exploiter_refused"
        self._event(update, kind, row.name, body)
        population.exploited += 1
        self.champion.tested(row.name, body)
        metrics.add(update, tested.values)
        population.spend(tested.values)
        self._tell(update, tested)
        if tested.admitted:
            metrics.add_rows([row])
            population.enter([row])
        return tested.admitted

    def _tell(self, update: int, tested: Tested) -> None:
        body = tested.frozen.row.body
        low = body["low"]
        interval = "" if low is None else f" [{low:.3f}, {body['high']:.3f}]"
        self._say(
            f"The exploiter of iteration {int(tested.frozen.row.name.rpartition('/')[2])} scores "
            f"{body['score']:.3f}{interval} in {body['games']:,} games against its victim and "
            f"gains {body['gain']:+.3f} per match after {body['budget_decisions']:,} decisions; it "
            f"{'joins the pool' if tested.admitted else 'is not admitted'}.",
            update,
        )

    def _promote(self, judgements: dict[str, Judgement]) -> None:
        """Promote the newest policies of a league that are not significantly worse than before."""
        if self.settings.league is None:
            return
        for training in self.population.mains:
            if (judgement := judgements.get(training.name)) is None:
                continue
            name, body = training.name, self.champion.challenged(judgement)
            # What the disk had no room for cannot be promoted.
            if body is not None and policy_path(self.run.folder, judgement.digest).is_file():
                self._event(self.population.update, "promotion", name, body)
                self.champion.crowned(body)

    def _keep_best(self, judgements: dict[str, Judgement]) -> None:
        """Hand over the best policy where the newest is significantly weaker."""
        population = self.population
        if (judgement := judgements.get(population.main.name)) is not None:
            update = population.update
            self._say(self.best.judged(judgement, population.main, update, last=self._over))

    def _say_findings(self) -> None:
        """Tell the user, once, of everything that is wrong with the run so far."""
        for learner, finding in self.watch.news() if self.says_findings else ():
            self.run.metrics.add_rows([event_of(self.population.update, learner, finding)])
            self._say(f"{finding.sentence} {finding.remedy}")

    def _join(self, update: int) -> None:
        population, metrics = self.population, self.run.metrics
        for frozen, reason in population.snapshots():
            row, learner = frozen.row, str(frozen.row.body["learner"])
            write_bytes(policy_path(self.run.folder, row.digest), frozen.data)
            metrics.add_rows([row])
            population.enter([row])
            self._event(update, "snapshot", row.name, {"reason": reason})
            target = population.reset_after(learner)
            if target is not None:
                self._event(update, "reset", learner, {"to": target})
                self.recorded = -1
                population.reset(learner, target)

    def _event(self, update: int, kind: str, player: str, body: dict[str, Any]) -> None:
        self.run.metrics.add_rows([EventRow(update, kind, player, body)])

    def _due(self, every: int) -> bool:
        return self.population.iteration % every == 0 or self._over

    def _evaluate(self) -> dict[str, Judgement]:
        """Judge every learner, where that is due; by its name. Exploiters meet the pool alone."""
        every, population = self.settings.evaluation.every, self.population
        if not every or not self._due(every):
            return {}
        judgements = {}
        pool = population.pool(self.settings.evaluation.pool)
        for name, training in population.trainings.items():
            learner, is_main = training.learner, population.roles[name] == "main"
            judgement = self.evaluator.measure(
                learner.best,
                population.update,
                self.next_match,
                name=name,
                pool=pool,
                pool_alone=not is_main,
            )
            self.next_match = judgement.next_match
            if is_main and judgement.score is not None:
                learner.evaluated(judgement.score)
                judgement.values["evaluation/score"] = judgement.score
            judgements[name] = judgement
        if (main := judgements.get(population.main.name)) is not None:
            main.values.update(mixture_values(population, self.evaluator))
        return judgements

    def _keep_matches(
        self, judgements: Sequence[Judgement]
    ) -> tuple[list[LineupRow], list[MatchRow]]:
        """Keep evaluations' matches, and first the policies that they name; return what is kept."""
        lineups: list[LineupRow] = []
        matches: list[MatchRow] = []
        for judgement in judgements:
            if not judgement.matches:
                continue
            update = self.population.update
            try:
                write_bytes(policy_path(self.run.folder, judgement.digest), judgement.policy)
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                self._say(
                    f"The policy of update {update} could not be kept: {why}; the matches it was "
                    "judged by are left out of the run's database."
                )
                continue
            self.run.metrics.add_rows([*judgement.lineups, *judgement.matches])
            lineups += judgement.lineups
            matches += judgement.matches
        return lineups, matches

    def _log(self, number: int, values: Values) -> None:
        self.run.metrics.add(number, values)
        self.watch.add(number, values)
        self.observers.updated(number, values)
        self.observers.work_at(number)

    def _save(self, must: bool) -> None:
        """Save the run; a disk that is full now may not be at the next save."""
        population, checkpoints = self.population, self.settings.checkpoints
        for training in population.trainings.values():
            training.refuse_broken()
        try:
            self.run.metrics.flush()
            self.run.checkpoints.save(population.iteration, self._state(population.state()))
            self.saved = population.iteration
            self.run.checkpoints.keep(checkpoints.keep_last, checkpoints.keep_every)
            self._write_output()
            if checkpoints.slim:
                write_needed(self.run.output, self.run.folder)
        except OSError as error:
            if must:
                raise
            why = (error.strerror or str(error)).lower()
            self._say(
                f"Iteration {population.iteration} could not be saved: {why}; the run goes on and "
                f"tries again after {checkpoints.save_every} more."
            )

    def _save_rest(self) -> None:
        """Save the last complete iteration, which a fault of the next one does not touch.

        What was recorded for the coming update is dropped, as a resumed run would do first.
        """
        iteration, learners = self.population.iteration, self.population.rested_state()
        if self.saved == iteration or self.recorded != iteration or learners is None:
            return
        try:
            for training in self.population.trainings.values():
                training.refuse_broken()
            self.run.metrics.flush()
            self.run.metrics.forget_after(self.population.update)
            self.run.checkpoints.save(iteration, self._state(learners))
            self.saved = iteration
            self._write_output()
        except (OSError, BrokenLossError) as error:
            self._say(f"Iteration {iteration} could not be saved before the run ended: {error}.")
            return
        self._say(
            f"The run ends with a fault; iteration {iteration} was saved first, and resuming goes "
            f"on from it{self._lost()}."
        )

    def _lost(self) -> str:
        rollouts = self.settings.rollouts
        if rollouts.streaming or rollouts.lag:
            return " with fresh matches for those in flight, so not exactly as the unbroken run"
        return ""

    def _state(self, learners: dict[str, Any]) -> dict[str, Any]:
        """Return what a checkpoint holds; call it when all rows are written."""
        state = {"settings": fingerprint(self.settings), "rows": self.run.metrics.sum}
        if self.settings.checkpoints.slim:
            return {**state, "slim": True, "learners": slimmed(learners)}
        return {**state, "learners": learners}

    def _write_output(self) -> None:
        training = self.population.main
        if self.champion.digest:
            path = policy_path(self.run.folder, self.champion.digest)
            write_bytes(self.run.output, path.read_bytes(), POLICY)
            if isinstance(training.learner, Learner):
                file_value(self.run.folder, training.learner, self.champion.digest)
            return
        policy, step = self.best.output(training, self.population.update)
        about = _about(self.settings, self.run.output)
        digest = save_policy(self.run.output, policy, training.spec, step=step, **about)
        if not isinstance(training.learner, Learner):
            return  # It has no critic.
        file_value(self.run.folder, training.learner, digest)
        # A head on a policy's features fits the weights it was trained with, and no others.
        learner, sees = training.learner, self.settings.learning.critic_sees
        if policy is learner.policy or sees != "features":
            gamma = self.settings.learning.gamma
            write_critic(self.run.folder, learner.critic, sees, digest, gamma)

    def _say(self, sentence: str, update: int | None = None) -> None:
        """Tell the user; what belongs to the coming update is taken back with it."""
        if sentence:
            self.run.metrics.say(self.population.update if update is None else update, sentence)
            self.observers.message(sentence)
