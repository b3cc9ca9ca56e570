"""`lanista league`: the league on its own, from a supervised policy to exports and a report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import CLUSTER, GAMES, RECIPES, optional, switch
from lanista.cli.common.outputs import RUN, Writes
from lanista.cli.train.tracker_flags import TensorBoardFolder, WandbProject
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.cli.train.rl import RL
    from lanista.runs.settings import RunSettings

SET = tyro.conf.arg(name="set", metavar="KEY=VALUE ...", help_behavior_hint="(repeatable)")
POLICY = "main.safetensors"
ROUNDS, ITERATIONS = 20, 20
EVALUATION_MATCHES = 200


@dataclass(frozen=True)
class LeagueCommand:
    """Train in a league: a learner that meets itself and its past selves.

    Without --config, in games with something hidden or choices at once in which one wins what
    others lose, it learns by damped self-play, as `lanista rl --game` does. Elsewhere, and from a
    supervised policy, it is AlphaStar's league: V-trace, and beside the main an exploiter of it
    and one of all."""

    output_dir: Annotated[Path, tyro.conf.arg(metavar="FOLDER"), Writes(RUN)]
    """The league's folder; the policy is main.safetensors in it, beside league_state.json,
    matches.jsonl, summary.json and report.html."""
    game: Annotated[str | None, optional("GAME"), GAMES] = None
    """A game's name, family:NAME, or a Python file; that of the supervised policy unless given,
    otherwise arena."""
    supervised_checkpoint: Annotated[str | None, optional("FILE")] = None
    """A policy file that all learners begin from; exploiters go back to it. Settings of the game
    that are not given are as it has them."""
    rounds: Annotated[int | None, optional("N")] = None
    """How many rounds; before each, matchmaking, snapshots and resets are looked at, and at its end
    the mains meet all bots and the newest of the pool. 20 unless given."""
    rl_iterations_per_round: Annotated[int | None, optional("N")] = None
    """Iterations of a round; 20 unless given."""
    actor_rollouts: Annotated[int | None, optional("N")] = None
    """Unrolls (or whole matches, if the settings say so) of an iteration, for each learner."""
    learner_updates: Annotated[int | None, optional("N")] = None
    """Updates of an iteration, for each learner."""
    config: Annotated[str | None, optional("FILE"), RECIPES] = None
    """A settings file, or a recipe's name; of a pipeline its league stage."""
    settings: Annotated[tuple[tuple[str, ...], ...], SET, tyro.conf.UseAppendAction] = ()
    """Any setting, such as league.mains=2."""
    slim: Annotated[bool, switch()] = False
    """Leave the replay and matches in flight out of checkpoints, so that the run can be moved; the
    same as checkpoints.slim."""
    resume: Annotated[bool, switch()] = False
    """Go on from the newest good checkpoint; with more rounds, to that many."""
    seed: Annotated[int | None, optional("N")] = None
    """Random seed."""
    cpu: Annotated[bool, switch()] = False
    """Do not use a GPU."""
    cluster: Annotated[str | None, CLUSTER] = None
    """Play on the machines of a Ray cluster: auto is that of this machine; see
    docs/guides/cluster.md. Changes no number."""
    tensorboard: TensorBoardFolder = None
    """Mirror the numbers there for TensorBoard."""
    wandb: WandbProject = None
    """Mirror the numbers to a project of Weights & Biases (WANDB_MODE=offline works too)."""

    def run(self) -> int:
        """Train, write the exports, say where things are; return 0, or 130 when interrupted."""
        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.cli.train.rl import clustered, naming_settings
        from lanista.cluster.session import using
        from lanista.interrupt import stopping
        from lanista.training.loop import train
        from lanista.training.progress_view import display
        from lanista.training.trackers import Trackers

        settings = clustered(self._settings(), self.cluster)
        refuse_unwritable_folder("--output-dir", self.output_dir.absolute().parent)
        screen, output = display(), self.output_dir / POLICY
        trackers = Trackers(self.tensorboard, self.wandb)
        naming = naming_settings(
            settings, self._flags(), self._own_flags(), "--output-dir", "leave it out"
        )
        with using(self.cluster), stopping(screen.message) as stop, naming:
            code = train(
                settings,
                output,
                folder=self.output_dir,
                resume=self.resume,
                stop=stop,
                observers=[screen, *trackers.of(self.output_dir, screen.message)],
            )
        self._export()
        print(f"policy: {output}")
        if code:
            print("Interrupted, and saved; go on with --resume.")
        return code

    def _own_flags(self) -> dict[str, str]:
        """Return the flags that `lanista rl` has not, by the settings that they change."""
        flags: dict[str, str] = {}
        if self.rl_iterations_per_round is not None:
            flags |= dict.fromkeys(("league.round", "iterations"), "--rl-iterations-per-round")
        if self.rounds is not None:
            flags["iterations"] = "--rounds"
        return flags

    def _export(self) -> None:
        from lanista.report import exports
        from lanista.report.reading import read_run

        exports.write_report(read_run(self.output_dir), self.output_dir)
        for name in (exports.LEAGUE_STATE, exports.MATCHES, exports.SUMMARY, exports.PAGE):
            print(self.output_dir / name)

    def _settings(self) -> RunSettings:
        """Return the settings that the flags ask for."""
        from lanista.cli.train.rl import with_flags
        from lanista.pipeline.recipes import settings_of
        from lanista.pipeline.settings_summary import summary
        from lanista.runs.folder import saved_settings
        from lanista.runs.layout import CONFIG
        from lanista.runs.league_settings import League
        from lanista.runs.settings import apply_overrides

        words = [text for group in self.settings for text in group]
        if self.config is not None:
            settings = settings_of(self.config, "league")
        elif self.resume:
            if self.output_dir.is_dir() and not (self.output_dir / CONFIG).is_file():
                raise LanistaError(
                    f"{self.output_dir} is no run: there is no {CONFIG} in it; name a league's "
                    "folder, or leave out --resume and choose another one."
                )
            settings = saved_settings(self.output_dir)
        else:
            settings = self._usual(words)
        if settings.league is None:
            settings = replace(settings, league=League())
        settings = self._in_rounds(with_flags(settings, self._flags()))
        settings = apply_overrides(settings, words)
        if self.config is None and not self.resume and self.supervised_checkpoint is None:
            print(summary(settings), file=sys.stderr, flush=True)
        return settings

    def _flags(self) -> RL:
        """Return the flags that `lanista rl` has too."""
        from lanista.cli.train.rl import RL

        return RL(
            output=self.output_dir / POLICY,
            config=self.config,
            settings=self.settings,
            game=self.game,
            supervised_checkpoint=self.supervised_checkpoint,
            actor_rollouts=self.actor_rollouts,
            learner_updates=self.learner_updates,
            slim=self.slim,
            seed=self.seed,
            cpu=self.cpu,
        )

    def _usual(self, words: Sequence[str]) -> RunSettings:
        """Return a league that meets its pool and all bots at every round's end.

        Ratings and the report rest on these matches alone.
        """
        from lanista.games import registry
        from lanista.runs.league_settings import League
        from lanista.runs.settings import Evaluation

        game, game_settings, seed = self._flags().named_game(words)
        damped = self._damped(game, game_settings, seed)
        exploiters = 0 if damped else 1
        iterations = max(1, self.rl_iterations_per_round or ITERATIONS)
        bots = tuple(registry.bot_names(registry.entry(game)))
        return replace(
            damped or self._alphastar(game),
            iterations=ROUNDS * ITERATIONS,
            league=League(
                round=ITERATIONS, main_exploiters=exploiters, league_exploiters=exploiters
            ),
            evaluation=Evaluation(every=iterations, bots=bots, matches=EVALUATION_MATCHES),
        )

    def _damped(self, game: str, game_settings: Mapping[str, Any], seed: int) -> RunSettings | None:
        """Return damped self-play's settings where it is known to do better; else None.

        Those are games in which good play is mixed. A supervised policy damps by itself, as the
        anchor, and flags about a replay ask for V-trace.
        """
        from lanista.games import registry
        from lanista.pipeline.defaults import default_settings, secretive

        if self._flags().needs_vtrace:
            return None
        spec = registry.spec_of(game, seed=seed, **game_settings)
        if not (secretive(spec) and spec.facts.zero_sum):
            return None
        count = ROUNDS * ITERATIONS
        return default_settings(
            game, game_settings, iterations=count, seed=seed, regrets=False, teachers=False
        )

    def _alphastar(self, game: str) -> RunSettings:
        from lanista.pipeline.recipes import alphastar

        return alphastar(game, anchored=self.supervised_checkpoint is not None)

    def _in_rounds(self, settings: RunSettings) -> RunSettings:
        """Return settings of as many rounds, and as long ones, as the flags say."""
        assert settings.league is not None
        for flag in ("rounds", "rl_iterations_per_round"):
            value = getattr(self, flag)
            if value is not None and value < 1:
                raise LanistaError(f"--{flag.replace('_', '-')} is {value}; give at least 1.")
        iterations = self.rl_iterations_per_round or settings.league.round
        if self.rounds is None and self.rl_iterations_per_round is None:
            return settings
        rounds = self.rounds or -(-settings.iterations // settings.league.round)
        league = replace(settings.league, round=iterations)
        return replace(settings, league=league, iterations=rounds * iterations)
