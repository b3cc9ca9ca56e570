"""Learns best responses to a frozen player, chooses the best, and measures it on fresh deals.

The victim is met alone and nothing pulls the learner anywhere. Owns the order of that work, what is
written, and how it goes on after a kill. Knows nothing of how a run trains.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from lanista.errors import LanistaError, RefusedError
from lanista.files import write_bytes, write_text
from lanista.games.bot_files import is_bot_file
from lanista.games.contract import Spec
from lanista.league.meter import Point, Reading, learned_reading
from lanista.league.standings import summarise
from lanista.learn.settings import Learning
from lanista.nets.policy_format import POLICY
from lanista.nets.settings import Network
from lanista.pipeline.exploit import (
    SELECTION,
    TEST,
    Duel,
    Earned,
    Stage,
    cpu_seconds,
    point_of,
    score_of,
    stages_of,
)
from lanista.pipeline.observers import Observer
from lanista.pipeline.plain import plain, unlike
from lanista.pipeline.players import is_bot
from lanista.pipeline.run import folder_of
from lanista.pipeline.settings import (
    Checkpoints,
    Evaluation,
    Opponent,
    Replay,
    Rollouts,
    RunSettings,
    may_change,
)
from lanista.pipeline.training import train
from lanista.rollout.play import Results
from lanista.rollout.tape import refuse_draw

SCRATCH, VICTIM = "scratch", "victim"
PLAN = "exploit.json"
MAY_CHANGE = (
    "responses", "threshold", "games", "selection_games", "exact", "device", "launcher", "graphs",
)  # fmt: skip
"""Settings that leave what was trained as it is."""
PULLS = ("anchor_reverse", "anchor_forward", "reference", "portfolio", "magnet")
"""Terms that hold a learner back from whatever beats the victim."""
_GLANCE = 200
"""Matches of the judgements that are shown meanwhile."""
_SHORT, _LONG = 10, 200
"""Decisions of a match up to which returns are taken whole, and from which on matches are cut."""
_PER_UPDATE, _FEWEST_PER_UPDATE, _UPDATES = 9216, 512, 120
"""Decisions of an update: the most, the fewest, and how many updates a small budget is cut into."""
_MOST_UPDATES = 1000
"""A budget that needs more updates than this gets larger ones: with so much practice a GPU is at
work, which small batches would leave idle."""
_PER_STEP, _MOST_STEPS = 1152, 8
"""Decisions of an optimiser step, and the most steps of an epoch; larger updates have larger
steps."""


@dataclass(frozen=True)
class ResponseSettings:
    """How a best response is learnt, chosen and measured."""

    game: str
    """A game's name, family:NAME, or a Python file."""
    game_settings: Mapping[str, Any] = field(default_factory=dict)
    """What the game is made with."""
    train_steps: int = 1_000_000
    """Decisions that each response practises for, about: as many iterations as fit in, if the
    response's matches are as long as the victim's own."""
    starts: tuple[str, ...] = (SCRATCH,)
    """What responses begin from, in turn: scratch, victim (a policy file), or a policy file."""
    responses: int = 1
    """How many are trained, each with a seed of its own; the best is taken."""
    threshold: float = 0.55
    """Admitted when the lower 95 % bound, in `unit`, lies above this."""
    games: int = 2000
    """Matches of the measurement, half in either seat."""
    selection_games: int = 1000
    """Matches, on other deals, by which each stage of each response is compared."""
    points: int = 12
    """Stages of each response that are kept and compared: its learning curve."""
    unit: Earned = "score"
    """What is compared and measured: score (win 1, draw ½), or gain (returns per match)."""
    greedy: bool = True
    """Whether the response is measured at its likeliest choices, or as it samples."""
    exact: bool = False
    """Put the exact gain beside what was found, where it can be had."""
    seed: int = 0
    """Of the first response; names all deals too."""
    network: Network = field(default_factory=lambda: Network(size="s"))
    """Of a response from scratch."""
    base: RunSettings | None = None
    """Settings to train with; whom it meets, for how long and what pulls it are put right."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the networks run; auto: as `base` says, or on the GPU if there is one."""
    workers: int = 0
    """Into how many parts practice is split; 0: as `base` says, or one."""
    launcher: Literal["", "serial", "threads", "processes"] = ""
    """Where the workers play; empty: as `base` says, or in turn."""
    draw: float | None = None
    """What a match that nobody won is worth to a response while it practises; none: as `base` says,
    or the game. What is compared and measured stays in `unit`."""
    matches: int = 0
    """At least so many matches an update where there is no `base`, if that leaves 120 updates; 0:
    as few as learn most from each decision, which leaves a GPU idle."""
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    """Of learning, where there is no `base`."""
    graphs: bool = False
    """Record what the networks do in play once and run it again: `rollouts.graphs`, where there is
    no `base`."""

    def __post_init__(self) -> None:
        for name in ("train_steps", "responses", "games", "selection_games", "points"):
            if getattr(self, name) < 1:
                raise LanistaError(f"{name} is {getattr(self, name)}; give at least 1.")
        if self.draw is not None and not math.isfinite(self.draw):
            raise LanistaError(f"draw is {self.draw}; give a number.")
        if not self.starts:
            raise LanistaError("No start was named; write scratch, victim or a policy file.")


class OtherPlanError(RefusedError):
    """What was begun at an output is not what is now asked for."""


@dataclass(frozen=True)
class Response:
    """The best response that was found, and what it proves."""

    policy_path: Path
    digest: str
    reading: Reading
    admitted: bool
    record: dict[str, Any]
    """Everything that is known, as FILE.json has it."""
    results: Results
    """The matches of the measurement; player 0 is the response."""


def best_response(
    victim: str | Path,
    settings: ResponseSettings,
    output: Path,
    *,
    resume: bool = False,
    stop: Callable[[], bool] | None = None,
    observers: Sequence[Observer] = (),
) -> Response | None:
    """Train against `victim`, measure, and write `output`, its .run folder and its .json.

    Returns None when `stop()` ended it with all saved. With `resume`, whatever is there is gone on
    with; killed and resumed, it comes to the same. What is complete is measured again.
    """
    work = _Work(str(victim), settings, Path(output), stop or (lambda: False), observers)
    work.begin(resume)
    found = [work.train(number) for number in range(settings.responses)]
    if None in found:
        return None
    curves = work.curves([output for output in found if output is not None])
    return None if curves is None else work.finish(curves)


def json_path(output: Path) -> Path:
    """Return where the numbers of an output go."""
    return output.parent / f"{output.name}.json"


def differing(
    saved: Mapping[str, Any], settings: ResponseSettings
) -> Iterator[tuple[str, Any, Any]]:
    """Give each dotted key at which settings differ from those that were written down, with both.

    Of `base` only what makes it another run counts.
    """
    for key, before, now in unlike(saved, settings):
        if not (key.startswith("base.") and may_change(key.removeprefix("base."))):
            yield key, before, now


def run_settings(settings: ResponseSettings, duel: Duel, number: int) -> RunSettings:
    """Return the settings of one response's training."""
    each = duel.decisions_per_match()
    start = start_of(settings, duel, number)
    base = settings.base or usual_settings(settings, duel.spec, each, fresh=start is None)
    rollouts = replace(
        base.rollouts,
        opponents=(Opponent(duel.word),),
        workers=settings.workers or base.rollouts.workers,
        launcher=settings.launcher or base.rollouts.launcher,
        draw=draw_of(settings),
    )
    an_iteration = (
        rollouts.unrolls * rollouts.unroll_length if rollouts.streaming else rollouts.matches * each
    )
    iterations = max(1, int(settings.train_steps / an_iteration))
    every = max(1, iterations // settings.points)
    terms = {name: weight for name, weight in base.learning.terms.items() if name not in PULLS}
    return RunSettings(
        game=settings.game,
        game_settings=settings.game_settings,
        seed=settings.seed + number,
        iterations=iterations,
        learner_updates=base.learner_updates,
        supervised_checkpoint=start,
        network=Network() if start else base.network,
        learning=replace(base.learning, terms=terms, eta=0.0),
        rollouts=rollouts,
        replay=base.replay,
        evaluation=Evaluation(
            every=every, exact="never", bots=(duel.word,), matches=_GLANCE, greedy=settings.greedy
        ),
        checkpoints=Checkpoints(save_every=every),
        device=base.device if settings.device == "auto" else settings.device,
        threads=base.threads,
    )


def draw_of(settings: ResponseSettings) -> float | None:
    """Return what a match that nobody won is worth to a response; None: what the game says."""
    if settings.draw is not None or settings.base is None:
        return settings.draw
    return settings.base.rollouts.draw


def usual_settings(settings: ResponseSettings, spec: Spec, each: float, fresh: bool) -> RunSettings:
    """Return what has been found to learn best responses fast: docs/meter.md has the numbers.

    `each` is a seat's decisions in a match; `fresh`: begun from scratch.
    """
    wanted = min(_PER_UPDATE, max(_FEWEST_PER_UPDATE, settings.train_steps // _UPDATES))
    wanted = max(wanted, settings.train_steps // _MOST_UPDATES)
    wanted = max(wanted, min(int(settings.matches * each), settings.train_steps // _UPDATES))
    if each > _LONG:
        rollouts = Rollouts(mode="stream", unrolls=max(1, wanted // 64), unroll_length=64)
    else:
        pairs = max(1, round(wanted / each / spec.seats))
        rollouts = Rollouts(matches=pairs * spec.seats)
    # Entropy keeps early play open, and nothing of it is left in the end. A policy that can play
    # already would forget how to under what a fresh one needs.
    entropy = {"kind": "linear", "start": 0.05 if fresh else 0.005, "end": 0.0}
    rates = (2e-3, 1e-4) if fresh else (5e-4, 5e-5)
    learning = Learning(
        policy="ppo",
        terms={"policy": 1.0, "value": 0.5, "entropy": entropy},
        lr={"kind": "linear", "start": rates[0], "end": rates[1]},
        epochs=4 if fresh else 2,
        target_kl=0.0 if fresh else 0.03,
        minibatches=min(_MOST_STEPS, max(1, round(wanted / _PER_STEP))),
        lam=1.0 if each < _SHORT else 0.95,
        critic_sees="privileged" if spec.privileged is not None else "seat",
        average=0.9,
        precision=settings.precision,
    )
    return RunSettings(
        game=settings.game,
        learning=learning,
        rollouts=replace(rollouts, graphs=settings.graphs),
        replay=Replay(),
        network=settings.network,
        device=settings.device,
    )


def start_of(settings: ResponseSettings, duel: Duel, number: int) -> str | None:
    """Return the policy file that a response begins from, or None."""
    word = settings.starts[number % len(settings.starts)]
    if word == SCRATCH:
        return None
    if word != VICTIM:
        return word
    if is_bot(settings.game, duel.word) or is_bot_file(duel.word):
        raise LanistaError(
            f"{duel.word} is no policy file, so nothing can begin from it; begin from scratch or "
            "from a policy file."
        )
    return duel.word


class _Work:
    """One output's work, step by step."""

    def __init__(
        self,
        victim: str,
        settings: ResponseSettings,
        output: Path,
        stop: Callable[[], bool],
        observers: Sequence[Observer],
    ) -> None:
        self.settings, self.output, self.stop, self.observers = settings, output, stop, observers
        self.folder = folder_of(output)
        self.duel = Duel(
            settings.game, settings.game_settings, victim, settings.seed, settings.greedy
        )
        self.digest = self.duel.victim.digest
        refuse_draw(draw_of(settings), self.duel.spec)
        for number in range(len(settings.starts)):
            start_of(settings, self.duel, number)  # Refuses what cannot be begun from.

    def begin(self, resume: bool) -> None:
        """Write down what is to be done, or see that it is what was begun."""
        if not resume:
            for path in (self.folder, self.output):
                if path.exists():
                    raise RefusedError(
                        f"There is {path} already; go on with --resume, or choose another --output."
                    )
        plan = {"victim": self.duel.word, "digest": self.digest, **plain(self.settings)}
        path = self.folder / PLAN
        if path.exists():
            self._refuse_other(json.loads(path.read_bytes()))
        write_text(path, json.dumps(plan, indent=1))

    def _refuse_other(self, saved: dict[str, Any]) -> None:
        who = {"victim": self.duel.word, "digest": self.digest}
        was = {key: saved.pop(key) for key in who}
        others = [(key, was[key], now) for key, now in who.items() if was[key] != now]
        others += [each for each in differing(saved, self.settings) if each[0] not in MAY_CHANGE]
        for key, before, now in others:
            raise OtherPlanError(
                f"{self.folder} was begun with {key} {before!r}, and now it is {now!r}; leave it "
                "as it was, or choose another --output."
            )

    def train(self, number: int) -> Path | None:
        """Train one response, or go on with it; return None when that was stopped."""
        if self.stop():
            return None
        output = self.folder / f"response-{number + 1}.safetensors"
        code = train(
            run_settings(self.settings, self.duel, number),
            output,
            resume=folder_of(output).is_dir(),
            stop=self.stop,
            observers=self.observers,
        )
        return None if code else output

    def curves(self, outputs: Sequence[Path]) -> list[_Curve] | None:
        """Compare all stages of all responses on the selection's deals."""
        settings, found = self.settings, []
        for number, output in enumerate(outputs):
            start = start_of(settings, self.duel, number)
            besides = {self.digest, _digest_of(start) if start else ""}
            stages, points = stages_of(output, besides), []
            for stage in stages:
                if self.stop():
                    return None
                earned = self.duel.earned(
                    stage.path, SELECTION, settings.selection_games, settings.unit
                )
                points.append(point_of(stage, earned))
            found.append(_Curve(number, start or SCRATCH, output, stages, points))
        return found

    def finish(self, curves: Sequence[_Curve]) -> Response:
        """Measure the best stage on deals that nothing was chosen by, and write what was found."""
        settings = self.settings
        chosen = max(curves, key=lambda curve: curve.points[curve.best].value)
        stage = chosen.stages[chosen.best]
        results = self.duel.play(stage.path, TEST, settings.games)
        score, gain = score_of(results), self.duel.gain_of(results)
        reading = learned_reading(
            self.duel.word,
            self.digest,
            settings.unit,
            score if settings.unit == "score" else gain,
            response=stage.digest,
            budget_decisions=chosen.stages[-1].decisions,
            curve=chosen.points,
            responses=len(curves),
        )
        admitted = reading.low is not None and reading.low > settings.threshold
        standing = summarise(results, ("response", "victim")).standings[0]
        record = {
            "game": settings.game,
            "rules_version": self.duel.spec.facts.rules_version,
            "observation_version": self.duel.spec.facts.observation_version,
            "victim": self.duel.word,
            "victim_digest": self.digest,
            "response": stage.digest,
            "manner": "greedy" if settings.greedy else "sampled",
            "admitted": admitted,
            "threshold": settings.threshold,
            "reading": reading.to_json(),
            "score": asdict(score),
            "gain": asdict(gain),
            "exact_gain": self.duel.exact_gain() if settings.exact else None,
            "wins": standing.wins,
            "draws": standing.draws,
            "losses": standing.losses,
            "win_rate": None if standing.win_rate is None else asdict(standing.win_rate),
            "draw_worth": draw_of(settings),
            "test": {"seed": settings.seed, "first_match": TEST, "matches": len(results)},
            "chosen": {"response": chosen.number + 1, "decisions": stage.decisions},
            "responses": [curve.to_json(settings.seed) for curve in curves],
            "settings": plain(settings),
        }
        write_bytes(self.output, stage.path.read_bytes(), POLICY)
        write_text(json_path(self.output), json.dumps(record, indent=1))
        return Response(self.output, stage.digest, reading, admitted, record, results)


@dataclass(frozen=True)
class _Curve:
    """One response with its stages, each measured."""

    number: int
    start: str
    output: Path
    stages: list[Stage]
    points: list[Point]

    @property
    def best(self) -> int:
        """Which stage earned most; the first of equals."""
        return max(range(len(self.points)), key=lambda i: self.points[i].value)

    def to_json(self, seed: int) -> dict[str, Any]:
        return {
            "start": self.start,
            "seed": seed + self.number,
            "decisions": self.stages[-1].decisions,
            "cpu_seconds": cpu_seconds(self.output),
            "best": self.points[self.best].value,
            "curve": [asdict(point) for point in self.points],
        }


def _digest_of(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()
