"""What a whole pipeline can be told: a game, a seed, and the settings of each stage.

Stages come in a fixed order and any may be missing. Owns reading and changing such a recipe; knows
nothing of how a stage is done, and nothing of torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from lanista.errors import nearest
from lanista.learn.imitation.settings import Imitation
from lanista.nets.settings import Network
from lanista.runs.former_keys import present_key, with_present_keys
from lanista.runs.serialise import SettingsError, build, plain, read_value, read_yaml
from lanista.runs.settings import RunSettings

RECIPE = "recipe.yaml"
DATA, EVALUATION, REPORT = "data", "evaluation.json", "report"
POLICIES = {
    "imitate": "imitation.safetensors",
    "rl": "rl.safetensors",
    "league": "league.safetensors",
}
"""The policy file that a stage makes, in the pipeline's folder."""
WORDS = {Path(file).stem: file for file in POLICIES.values()}
"""What a recipe calls these files, wherever a policy file can be named."""
NEWEST = "newest"
"""Stands for the policy of the last stage that makes one."""
TOP = ("game", "game_settings", "seed", "device")
"""Settings of a run that the pipeline gives, unless the stage has its own."""


@dataclass(frozen=True)
class Recording:
    """Matches to learn from, as `lanista play --record` plays them."""

    seats: tuple[str, ...] = ()
    """Line-ups, each as `A,B`: bots or policy files, one for each seat."""
    matches: int = 2000
    """Of each line-up, rounded up so that every deal is played in all seatings."""
    threads: int = 0
    """How many threads share the matches; 0: one for each core. Changes no result."""

    def __post_init__(self) -> None:
        if not self.seats:
            raise SettingsError("stages.record.seats is empty; give line-ups, such as [A,B].")
        if self.matches < 1 or self.threads < 0:
            raise SettingsError(
                f"stages.record has matches {self.matches} and threads {self.threads}; give at "
                "least 1 and 0."
            )

    def lineups(self) -> list[tuple[str, ...]]:
        """Return the players of each line-up in seat order."""
        return [tuple(word.strip() for word in seats.split(",")) for seats in self.seats]


@dataclass(frozen=True)
class Imitating:
    """Learning from what was recorded, as `lanista imitate` does."""

    data_dir: str | None = None
    """Replays; unless given, those of the stage before."""
    feedback_dir: str | None = None
    """Live feedback: folders with feedback_stream.jsonl."""
    reports_live_dir: str | None = None
    """Outcomes of live matches: folders with manifest.jsonl."""
    players: tuple[str, ...] = ()
    """Only these players' decisions are imitated; none: all."""
    irrelevant: tuple[str, ...] = ()
    """HEAD:OTHER=CHOICE each: where OTHER took CHOICE, what HEAD took is not learned."""
    network: Network = field(default_factory=Network)
    """The policy's network."""
    imitation: Imitation = field(default_factory=Imitation)
    """How it learns."""
    opponents: tuple[str, ...] = ()
    """Bots that the clone meets beside those it imitates; `all`: every bot of the game."""
    evaluation_matches: int = 2000
    """Matches against each bot; 0: none."""
    temperature: float | None = None
    """Play also at this temperature, beside sampled and greedy."""

    def __post_init__(self) -> None:
        if self.evaluation_matches < 0:
            raise SettingsError(
                f"stages.imitate.evaluation_matches is {self.evaluation_matches}; give at least 0."
            )


@dataclass(frozen=True)
class Evaluating:
    """How the last policy is evaluated, as `lanista evaluate` does."""

    opponents: tuple[str, ...] = ("all",)
    """Bots or policy files to meet; `all`: every bot of the game."""
    games: int = 1000
    """Matches against each, half in either seat on the same deals."""
    greedy: bool = False
    """Let the policy take its likeliest choice instead of drawing."""
    temperature: float | None = None
    """What the policy divides its logits by before it draws; 1 unless given."""
    threads: int = 0
    """How many threads share the matches; 0: one for each core. Changes no result."""

    def __post_init__(self) -> None:
        if self.greedy and self.temperature is not None:
            raise SettingsError(
                "stages.evaluate.greedy leaves nothing to chance, so temperature has no meaning; "
                "leave one out."
            )
        if self.temperature is not None and not 0 < self.temperature < float("inf"):
            raise SettingsError(
                f"stages.evaluate.temperature is {self.temperature}; give a number above 0."
            )
        if self.games < 1 or not self.opponents:
            raise SettingsError(
                f"stages.evaluate has {self.games} games against {list(self.opponents)}; give at "
                "least 1 against somebody."
            )


@dataclass(frozen=True)
class Reporting:
    """The page at the end, as `lanista report` writes it; it has no settings."""


@dataclass(frozen=True)
class Stages:
    """What is done, in this order."""

    record: Recording | None = None
    """Play matches to learn from."""
    imitate: Imitating | None = None
    """Learn to play as they were played."""
    rl: Mapping[str, Any] | None = None
    """Get better by playing: the settings of `lanista rl`."""
    league: Mapping[str, Any] | None = None
    """Get harder to beat: the settings of a run with a `league` part."""
    evaluate: Evaluating | None = None
    """Say how strong the last policy is."""
    report: Reporting | None = None
    """Write the report."""

    @property
    def names(self) -> list[str]:
        """The stages that are there, in order."""
        return [entry.name for entry in fields(self) if getattr(self, entry.name) is not None]

    def with_run(self, name: str, values: Mapping[str, Any]) -> Stages:
        """Return these stages with other settings for `rl` or `league`."""
        return replace(self, rl=values) if name == "rl" else replace(self, league=values)


@dataclass(frozen=True)
class Budget:
    """What a time budget was turned into, and from which measured rates; written once."""

    seconds: float
    """What was asked for."""
    of: str
    """Digest of the recipe before its numbers were chosen."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Per second on the machine it was measured on, by stage and what is counted."""


@dataclass(frozen=True)
class PipelineRecipe:
    """A whole pipeline."""

    game: str = "arena"
    """A game's name, family:NAME, or a Python file."""
    game_settings: Mapping[str, Any] = field(default_factory=dict)
    """What the game is made with; see `lanista games GAME`."""
    seed: int = 0
    """Random seed."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the networks run; auto: on the GPU if there is one."""
    stages: Stages = field(default_factory=Stages)
    """What is done."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """How a time budget is divided among the stages, relative to each other."""
    budget: Budget | None = None
    """What the numbers above were chosen by, where a budget was given."""

    def __post_init__(self) -> None:
        if not self.stages.names:
            raise SettingsError(f"stages is empty; give one of {', '.join(_STAGES)}.")
        if not 0 <= self.seed < 2**63:
            raise SettingsError(f"seed is {self.seed}; give a number from 0 to 2**63 - 1.")
        for name, share in self.shares.items():
            if name not in _STAGES:
                raise SettingsError(f"There is no stage {name!r}; {nearest(name, _STAGES)}")
            if not 0 < share < float("inf"):
                raise SettingsError(f"shares.{name} is {share}; give a number above 0.")

    def policy_before(self, stage: str) -> str | None:
        """Return the newest policy file that the stages before `stage` make."""
        names = [name for name in _STAGES[: _STAGES.index(stage)] if name in self.stages.names]
        policies = [POLICIES[name] for name in names if name in POLICIES]
        return policies[-1] if policies else None

    @property
    def policy(self) -> str | None:
        """The last policy file of all."""
        return self.policy_before("evaluate")

    @property
    def has_recordings(self) -> bool:
        """Whether imitation has recorded matches to begin with; otherwise its teacher plays."""
        stage = self.stages.imitate
        folders = (None, None) if stage is None else (stage.data_dir, stage.feedback_dir)
        return any((*folders, self.stages.record))

    @property
    def last_run(self) -> str | None:
        """The last stage that keeps a run with its tables."""
        there = [name for name in ("rl", "league") if name in self.stages.names]
        return there[-1] if there else None

    def run_settings(self, stage: str, start: str | None = NEWEST) -> RunSettings:
        """Return the settings of the stage `rl` or `league`, which begins from `start`.

        That is the newest policy before it, unless given; the stage's own word comes first.
        """
        stage_values = dict(getattr(self.stages, stage))
        if stage_values.get("game", self.game) != self.game:
            raise SettingsError(
                f"stages.{stage}.game is {stage_values['game']!r}, and the pipeline's is "
                f"{self.game!r}; leave it out there."
            )
        values = {name: getattr(self, name) for name in TOP} | stage_values
        if stage == "league" and values.get("league") is None:
            values["league"] = {}
        newest = self.policy_before(stage)
        values.setdefault("supervised_checkpoint", newest if start == NEWEST else start)
        return build(RunSettings, values, f"stages.{stage}")


_STAGES = [entry.name for entry in fields(Stages)]


def run_folder(stage: str) -> str:
    """Return where the stage `rl` or `league` keeps its run."""
    return "league" if stage == "league" else f"{POLICIES[stage]}.run"


def is_pipeline(values: object) -> bool:
    """Return whether plain values are those of a pipeline and not of a single run."""
    return isinstance(values, Mapping) and "stages" in values


def load_recipe(values: Mapping[str, Any]) -> PipelineRecipe:
    """Return the pipeline in plain values; a single run becomes one stage."""
    if not is_pipeline(values):
        settings = build(RunSettings, values)
        rest = {name: value for name, value in plain(settings).items() if name not in TOP}
        stage = "league" if rest.get("league") else "rl"
        top = {name: values[name] for name in TOP if name in values}
        return build(PipelineRecipe, top | {"stages": {stage: rest}})
    stages = values["stages"]
    if isinstance(stages, Mapping):  # `report:` with nothing after it asks for the usual report.
        stages = {
            name: {} if stage_values is None else stage_values
            for name, stage_values in stages.items()
        }
        stages = _with_seed(stages, values.get("seed", 0))
    return build(PipelineRecipe, {**values, "stages": stages})


def _with_seed(stages: dict[str, Any], seed: object) -> dict[str, Any]:
    """Return stages in which imitation has the pipeline's seed, unless it has its own."""
    imitate = stages.get("imitate")
    if not isinstance(imitate, Mapping) or not isinstance(imitate.get("imitation", {}), Mapping):
        return stages  # What is wrong there is said when it is read.
    imitation = {"seed": seed, **imitate.get("imitation", {})}
    return {**stages, "imitate": {**imitate, "imitation": imitation}}


def read_recipe(path: Path) -> dict[str, Any]:
    """Return the plain values in a recipe's file."""
    values = read_yaml(path)
    if not isinstance(values, Mapping):
        raise SettingsError(f"{str(path)!r} holds no keys and values.")
    return dict(values)


def recipe_values(recipe: PipelineRecipe) -> dict[str, Any]:
    """Return a pipeline as plain values, without the stages that are missing."""
    values: dict[str, Any] = plain(recipe)
    values["stages"] = {name: values["stages"][name] for name in recipe.stages.names}
    if recipe.budget is None:
        del values["budget"]
    if recipe.stages.imitate and recipe.stages.imitate.imitation.seed == recipe.seed:
        del values["stages"]["imitate"]["imitation"]["seed"]
    return values


def recipe_yaml(recipe: PipelineRecipe) -> str:
    """Return a pipeline as YAML that `load_recipe` reads back to an equal one."""
    return yaml.safe_dump(recipe_values(recipe), sort_keys=False, allow_unicode=True)


def with_overrides(values: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Return plain values with `key=value` put in, such as `stages.rl.iterations=5`."""
    changed: dict[str, Any] = with_present_keys(plain(values))
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SettingsError(f"--set was given {text!r}; write it as key=value.")
        *path, last = key.split(".")
        _refuse_new_stage(key, path, changed)
        here = changed
        for segment in path:
            if not isinstance(here.get(segment), dict):
                here[segment] = {}
            here = here[segment]
        here[present_key(last)] = read_value(key, value)
    return changed


def _refuse_new_stage(key: str, path: list[str], values: Mapping[str, Any]) -> None:
    """Refuse a setting of a stage that is not there, which would add the whole stage."""
    if len(path) < 2 or path[0] != "stages":
        return
    if not is_pipeline(values):
        raise SettingsError(
            f"--set was given {key}, and the recipe is a single run without stages; leave out "
            f"stages.{path[1]}."
        )
    stages = values["stages"]
    # What is no stage anywhere is refused when the recipe is read, with the nearest one.
    if isinstance(stages, Mapping) and path[1] in _STAGES and path[1] not in stages:
        raise SettingsError(
            f"--set was given {key}, and the recipe has no stage {path[1]!r}, only "
            f"{', '.join(stages)}; write the stage into the file, or leave the setting out."
        )
