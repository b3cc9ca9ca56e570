"""`lanista rl`: trains a policy by playing, from flags or a settings file, and resumes."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import CLUSTER, GAMES, RECIPES, optional, switch
from lanista.cli.common.outputs import RunFile, Writes
from lanista.cli.train.tracker_flags import TensorBoardFolder, WandbProject
from lanista.errors import LanistaError
from lanista.nets.settings import Size

if TYPE_CHECKING:
    from lanista.learn.update.ranks import Ranks
    from lanista.runs.settings import RunSettings
    from lanista.training.time_limit import TimeLimit

SET = tyro.conf.arg(name="set", metavar="KEY=VALUE ...", help_behavior_hint="(repeatable)")


@dataclass(frozen=True)
class RL:
    """Train a policy by reinforcement learning.

    Without --config, settings are chosen by what is known of the game and printed; from a
    supervised checkpoint: V-trace, TD(λ), UPGO and KL."""

    output: Annotated[Path, tyro.conf.arg(metavar="FILE"), Writes(RunFile())]
    """Where the policy goes; the run folder is FILE.run beside it."""
    config: Annotated[str | None, optional("FILE"), RECIPES] = None
    """A settings file, or a recipe's name; see `lanista config new`. Of a pipeline, its stage rl
    alone (or league): what earlier stages make is not there; `lanista run` does them all."""
    settings: Annotated[tuple[tuple[str, ...], ...], SET, tyro.conf.UseAppendAction] = ()
    """Any setting, such as learning.lr=1e-3."""
    game: Annotated[str | None, optional("GAME"), GAMES] = None
    """A game's name, family:NAME, or a Python file; that of the supervised policy unless given,
    otherwise arena."""
    supervised_checkpoint: Annotated[str | None, optional("FILE")] = None
    """A policy file to begin from, and to which --kl-coef pulls; settings of the game that are not
    given are as it has them."""
    size: Annotated[Size | None, optional("{s,m,l,xl}")] = None
    """The network's size; the same as network.size."""
    iterations: Annotated[int | None, optional("N")] = None
    """Rounds of collecting experience and learning from it."""
    minutes: Annotated[float | None, optional("M")] = None
    """How long the run may take; turned into iterations once, by measuring the first few. Where
    they turn out slower, the run ends in time all the same, evaluated."""
    actor_rollouts: Annotated[int | None, optional("N")] = None
    """Unrolls (or whole matches, if the settings say so) of an iteration."""
    learner_updates: Annotated[int | None, optional("N")] = None
    """Updates of an iteration."""
    unroll_length: Annotated[int | None, optional("N")] = None
    """Longest unroll, in decisions of one seat."""
    batch_size: Annotated[int | None, optional("N")] = None
    """Unrolls of an update."""
    replay_size: Annotated[int | None, optional("N")] = None
    """Most unrolls kept to be learnt from again."""
    min_replay_sequences: Annotated[int | None, optional("N")] = None
    """An update waits until so many unrolls are kept."""
    save_every: Annotated[int | None, optional("N")] = None
    """Save every so many iterations."""
    slim: Annotated[bool, switch()] = False
    """Leave the replay and matches in flight out of checkpoints, so that the run can be moved; the
    same as checkpoints.slim."""
    kl_coef: Annotated[float | None, optional("WEIGHT")] = None
    """Weight of the KL to the supervised policy."""
    upgo_coef: Annotated[float | None, optional("WEIGHT")] = None
    """Weight of UPGO."""
    pseudo_reward_scale: Annotated[float | None, optional("SCALE")] = None
    """Weight of the game's reward shaping; 0 unless given."""
    opponents: Annotated[str | None, optional("A,B=WEIGHT")] = None
    """Opponent mix, with commas between: self, bots, policy files; each with =WEIGHT if wanted."""
    resume: Annotated[bool, switch()] = False
    """Go on from the newest good checkpoint."""
    checkpoint: Annotated[Path | None, optional("FOLDER")] = None
    """Go on from this checkpoint of the run."""
    seed: Annotated[int | None, optional("N")] = None
    """Random seed."""
    cpu: Annotated[bool, switch()] = False
    """Do not use a GPU."""
    ranks: Annotated[int | None, optional("N")] = None
    """Learn in so many processes at once, each on its share of learning.shards; no number depends
    on how many. Without it, what torchrun sets."""
    cluster: Annotated[str | None, CLUSTER] = None
    """Play on the machines of a Ray cluster: auto is that of this machine; see
    docs/guides/cluster.md. Changes no number."""
    tensorboard: TensorBoardFolder = None
    """Mirror the numbers there for TensorBoard."""
    wandb: WandbProject = None
    """Mirror the numbers to a project of Weights & Biases (WANDB_MODE=offline works too)."""

    def run(self) -> int:
        """Train, print where the policy is, and return 0, or 130 when interrupted."""
        if self.ranks is None and "WORLD_SIZE" not in os.environ:
            return self._train()
        from lanista.training.ranks import follow, joined

        with joined(self.ranks) as ranks:
            return follow(ranks) if ranks.rank else self._train(ranks)

    def _train(self, ranks: Ranks | None = None) -> int:
        limit = self._limit()  # Loading torch is part of the time.
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.cluster.session import using
        from lanista.interrupt import stopping
        from lanista.runs.folder import folder_of, refuse_existing
        from lanista.training.loop import train
        from lanista.training.progress_view import LastEvaluation, display
        from lanista.training.trackers import Trackers

        refuse_unwritable("--output", self.output)
        resume = self.resume or self.checkpoint is not None
        if not resume:  # Before the game is sampled and the machine measured.
            refuse_existing(self.output, folder_of(self.output))
        settings = clustered(self._settings(resume, limit), self.cluster)
        screen, last = display(), LastEvaluation()
        trackers = Trackers(self.tensorboard, self.wandb)
        observers = [screen, last, *trackers.of(folder_of(self.output), screen.message)]
        naming = naming_settings(settings, self)
        with using(self.cluster), stopping(screen.message) as stop, naming:
            code = train(
                settings,
                self.output,
                resume=resume,
                checkpoint=self.checkpoint,
                stop=stop,
                observers=observers,
                ranks=ranks,
                limit=limit,
            )
        if last.sentence:
            print(last.sentence)
        print(f"policy: {self.output}")
        if code:
            print("Interrupted, and saved; go on with --resume.")
        else:
            print(f"next: lanista evaluate {shlex.quote(str(self.output))}{self._search_hint()}")
        return code

    def _search_hint(self) -> str:
        """Return how the policy plays with search, where the run left a value for that."""
        from lanista.nets.files.value_file import VALUE
        from lanista.runs.folder import folder_of

        filed = (folder_of(self.output) / VALUE).is_file()
        return " (with --search 64 it looks ahead before it moves)" if filed else ""

    def _settings(self, resume: bool, limit: TimeLimit | None = None) -> RunSettings:
        """Return the settings that the flags ask for."""
        from lanista.pipeline.recipes import settings_of, taken_from
        from lanista.pipeline.settings_summary import few_updates, summary
        from lanista.runs.folder import folder_of, saved_settings
        from lanista.runs.settings import apply_overrides

        words = [text for group in self.settings for text in group]
        if self.minutes is not None and (resume or self.iterations is not None):
            raise LanistaError(
                "--minutes chooses the iterations of a new run; leave it out with "
                f"{'--resume' if resume else '--iterations'}."
            )
        if self.config is not None:
            settings = settings_of(self.config)
            if notice := taken_from(self.config):
                print(notice, file=sys.stderr, flush=True)
        elif resume:
            settings = saved_settings(folder_of(self.output))
        else:
            settings = self._untuned(words)
        settings = apply_overrides(with_flags(settings, self), words)
        if limit is not None:
            settings = self._timed(settings, limit)
        # A policy to begin from may yet be refused, in a sentence of its own.
        begins = self.supervised_checkpoint is not None or self.kl_coef is not None
        chosen_here = not (resume or begins) and self.config is None
        sentences = [summary(settings) if chosen_here else ""]
        sentences += [few_updates(settings) if chosen_here or self.minutes is not None else ""]
        for sentence in filter(None, sentences):
            print(sentence, file=sys.stderr, flush=True)
        return settings

    def _untuned(self, words: Sequence[str]) -> RunSettings:
        """Return the settings for the game that flags and `words` name."""
        from lanista.pipeline.defaults import default_settings

        game, game_settings, seed = self.named_game(words)
        return default_settings(
            game,
            game_settings,
            vtrace=self.needs_vtrace,
            anchored=self.supervised_checkpoint is not None,
            iterations=self.iterations,
            seed=seed,
            regrets=self._regrets(words),
        )

    def named_game(self, words: Sequence[str]) -> tuple[str, Mapping[str, Any], int]:
        """Return the game that flags and `words` name, its settings, and the seed."""
        from lanista.runs import start
        from lanista.runs.settings import RunSettings, apply_overrides

        about_game = [
            word
            for word in words
            if word.startswith(("game=", "game_settings", "seed=", "supervised_checkpoint="))
        ]
        flags = RL(
            self.output,
            game=self.game,
            seed=self.seed,
            supervised_checkpoint=self.supervised_checkpoint,
        )
        named = apply_overrides(with_flags(RunSettings(), flags), about_game)
        game, game_settings = named.game, named.game_settings
        if (policy := named.supervised_checkpoint) is not None:
            is_named = self.game is not None or any(word.startswith("game=") for word in words)
            game = start.game_of(policy, game if is_named else None)
            game_settings = start.settings_of(policy, game, game_settings)
        return game, game_settings, named.seed

    def _regrets(self, words: Sequence[str]) -> bool:
        """Whether nothing is asked for that regret learning has no use for."""
        from lanista.pipeline.regret_rule import leaves_regrets
        from lanista.runs.settings import RunSettings

        alone = self.ranks is None and "WORLD_SIZE" not in os.environ and self.cluster is None
        return alone and leaves_regrets([*words, *flags_given(RunSettings(), self)])

    @property
    def needs_vtrace(self) -> bool:
        """Whether a flag is about what V-trace alone has: a replay, UPGO, the supervised policy."""
        names = (
            "supervised_checkpoint", "learner_updates", "batch_size", "replay_size",
            "min_replay_sequences", "kl_coef", "upgo_coef",
        )  # fmt: skip
        return any(getattr(self, name) is not None for name in names)

    def _timed(self, settings: RunSettings, limit: TimeLimit) -> RunSettings:
        from lanista.pipeline.budget import run_within

        say = partial(print, file=sys.stderr, flush=True)
        say("Measuring how fast this machine is.")
        return run_within(settings, limit.left, say)

    def _limit(self) -> TimeLimit | None:
        """Return when the run has to end, counted from now; None: nobody said."""
        from lanista.training.time_limit import TimeLimit

        return None if self.minutes is None else TimeLimit.of_minutes(self.minutes)


def clustered(settings: RunSettings, cluster: str | None) -> RunSettings:
    """Return settings whose workers play on `cluster`, if one is named; say what that leaves."""
    from lanista.cluster.session import LOCAL, checked
    from lanista.runs.settings import on_cluster

    if cluster is None or checked(cluster) == LOCAL:
        return settings
    settings, notice = on_cluster(settings)
    if notice:
        print(notice, file=sys.stderr, flush=True)
    return settings


def flags_given(settings: RunSettings, flags: RL) -> dict[str, str]:
    """Return the settings that flags were given for, each with the field that has its value."""
    rollouts = "unrolls" if settings.rollouts.streaming else "matches"
    anchored = "anchor_reverse" in settings.learning.terms
    fields = {
        "game": "game",
        "supervised_checkpoint": "supervised_checkpoint",
        "network.size": "size",
        "iterations": "iterations",
        "learner_updates": "learner_updates",
        "seed": "seed",
        "device": "cpu",
        f"rollouts.{rollouts}": "actor_rollouts",
        "rollouts.unroll_length": "unroll_length",
        "rollouts.shaping_scale": "pseudo_reward_scale",
        "rollouts.opponents": "opponents",
        "replay.size": "replay_size",
        "replay.batch": "batch_size",
        "replay.minimum": "min_replay_sequences",
        "checkpoints.save_every": "save_every",
        "checkpoints.slim": "slim",
        f"learning.terms.{'anchor_reverse' if anchored else 'anchor_forward'}": "kl_coef",
        "learning.terms.upgo": "upgo_coef",
    }
    left_out = (None, False)
    # By identity: 0 is a value, and equals False.
    return {
        path: name
        for path, name in fields.items()
        if not any(getattr(flags, name) is nothing for nothing in left_out)
    }


def with_flags(settings: RunSettings, flags: RL) -> RunSettings:
    """Return settings with the given flags put in."""
    from lanista.runs.serialise import plain
    from lanista.runs.settings import load_settings

    values: dict[str, Any] = plain(settings)
    for path, name in flags_given(settings, flags).items():
        *sections, last = path.split(".")
        here = values
        for section in sections:
            here = here[section]
        value = getattr(flags, name)
        here[last] = {"cpu": "cpu", "opponents": (flags.opponents or "").split(",")}.get(
            name, value
        )
    if flags.game is not None and flags.game != settings.game:
        values["game_settings"] = {}
    replay = values["replay"]
    if flags.replay_size and flags.min_replay_sequences is None:
        replay["minimum"] = min(replay["minimum"], flags.replay_size)
    if flags.batch_size is not None and not replay["size"]:
        raise LanistaError("--batch-size needs a replay to draw from; give --replay-size too.")
    return load_settings(values)


def naming_settings(
    settings: RunSettings,
    flags: RL,
    more: Mapping[str, str] | None = None,
    output: str = "--output",
    earlier: str = "name an earlier one with --checkpoint",
) -> AbstractContextManager[None]:
    """Name flags where a resumed run refuses the settings; `more` are those of another command."""
    from lanista.cli.common.resumed import naming_flags

    flag_by_path = flags_given(settings, flags)
    named = {path: f"--{name.replace('_', '-')}" for path, name in flag_by_path.items()}
    words = [text for group in flags.settings for text in group]
    return naming_flags(
        {**named, **(more or {})},
        words=words,
        config=flags.config,
        output=output,
        earlier=earlier,
    )
