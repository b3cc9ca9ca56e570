"""A profile and a sweep in words: the bottleneck and its remedy, tables, the written settings.

Everything a user reads of them, and the JSON of `--output`. Knows nothing of how it was measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lanista.profile.bottleneck import CENTRAL, Wall, place_of
from lanista.profile.changes import ALTERING
from lanista.profile.measure import Profile
from lanista.profile.noise import Outcome, Promise, Spread, inverse
from lanista.profile.subject import Subject
from lanista.profile.sweep import Sweep, Trial
from lanista.rollout.timing import (
    BATCH,
    INFER,
    JUDGE,
    LEARN,
    OBSERVE,
    OPPONENTS,
    REST,
    SAMPLE,
    SAVE,
    SIMULATE,
    TRANSFER,
    WAIT,
)
from lanista.runs.serialise import plain
from lanista.runs.settings import RunSettings, differences, to_yaml

FORMAT = 1
"""Of the JSON: raised when a name in it changes its meaning."""
_MUCH = 0.05
"""A share of the CPU time that the table lacks and that is worth a sentence."""
_NAMES = {
    SIMULATE: "the rules of {game}",
    OBSERVE: "views and masks of {game}",
    OPPONENTS: "the opponents",
    BATCH: "gathering rows for the networks and for learning",
    INFER: "inference on the {device}",
    SAMPLE: "drawing actions on the {device}",
    TRANSFER: "transfer between host and device",
    CENTRAL: "central inference on the {device}",
    LEARN: "learning on the {device}",
    WAIT: "waiting for those who play",
    SAVE: "checkpoints",
    JUDGE: "evaluation on the way",
    REST: "everything between the phases",
}
_REMEDIES = {
    SIMULATE: "Let more workers play (rollouts.workers; launcher threads for compiled games, "
    "processes for others), or make the game's rules faster.",
    OBSERVE: "Make the game's views cheaper, or let more workers play (rollouts.workers; launcher "
    "threads for compiled games, processes for others).",
    OPPONENTS: "Give it less weight in rollouts.opponents, let it answer a whole batch in one call "
    "(`act`), or let more workers play (rollouts.workers).",
    BATCH: "Play more matches side by side (rollouts.slots, or rollouts.matches), so that a step "
    "has more rows.",
    INFER: "Play more matches side by side (rollouts.slots, or rollouts.matches), let more workers "
    "play, or take bf16, a smaller network or a GPU (processes: with "
    "rollouts.processes_on_gpu, or rollouts.inference central).",
    SAMPLE: "Play more matches side by side (rollouts.slots, or rollouts.matches), or let more "
    "workers play (rollouts.workers).",
    TRANSFER: "Play more matches side by side, so that a copy carries more; or let device be cpu "
    "for a network this small.",
    CENTRAL: "Let an inference have more rows (rollouts.slots), take bf16, a smaller network or a "
    "GPU, or let processes infer for themselves (rollouts.inference worker).",
    LEARN: "Split it over the cores (learning.shards, with as many rollouts.workers and "
    "rollouts.launcher threads or processes; or threads), go over the data less often "
    "(learning.epochs), or take bf16, a smaller network or a GPU.",
    WAIT: "Let more workers play (rollouts.workers), or let them play ahead (rollouts.lag 1).",
    SAVE: "Save less often (checkpoints.save_every).",
    JUDGE: "Judge less often (evaluation.every), or by fewer matches (evaluation.matches).",
    REST: "Make an iteration larger (rollouts.matches or rollouts.unrolls).",
}

_HALF = 0.5
_GPU_LEARNS = (
    "Go over the data less often (learning.epochs), or take bf16 or a smaller network; larger "
    "minibatches (fewer learning.minibatches) cost less a decision."
)
_GPU_WAITS = (
    "The GPU itself works {:.0%} of the time, and waits for Python to tell it what to do: let "
    "learning.graphs and rollouts.graphs record its work, take larger minibatches (fewer "
    "learning.minibatches) or fewer rollouts.workers, or run several seeds side by side."
)


def wall_sentence(wall: Wall, game: str) -> str:
    """Return what takes the most time, in one line."""
    return f"Bottleneck: {_name(wall.phase, game, wall.device)}, {wall.share:.0%} of the time."


def remedy(wall: Wall, gpu: float | None = None) -> str:
    """Return what can be done about it; `gpu`: the share of the time in which the GPU worked."""
    if wall.phase == LEARN and wall.device != "cpu":
        busy = gpu is None or gpu >= _HALF * wall.share
        return _GPU_LEARNS if busy else _GPU_WAITS.format(gpu)
    return _REMEDIES[wall.phase.partition("/")[0]]


def _name(phase: str, game: str, device: str) -> str:
    kind, _, who = phase.partition("/")
    if kind == CENTRAL and who:
        return f"central inference: {_name(who, game, device)}"
    if who:
        return f"the opponent {shown(who)}"
    return _NAMES[kind].format(game=shown(game), device="CPU" if device == "cpu" else "GPU")


def shown(word: str) -> str:
    """Return a player's or game's name without the folders of a file."""
    return Path(word).stem if word.endswith((".py", ".safetensors", ".pt")) else word


def phase_rows(profile: Profile, game: str) -> list[list[str]]:
    """Return a line for each phase, the largest first: its name, what it is, both shares."""
    wall, cpu = profile.wall_shares(), profile.cpu_shares()
    phases = sorted({*wall, *cpu}, key=lambda phase: (-wall.get(phase, 0.0), phase))
    return [
        [
            "/".join(shown(name) for name in phase.split("/", 1)),
            _name(phase, game, place_of(phase, profile.device, profile.rollouts)),
            f"{wall.get(phase, 0.0):.1%}",
            f"{cpu.get(phase, 0.0):.1%}",
        ]
        for phase in phases
        if max(wall.get(phase, 0.0), cpu.get(phase, 0.0)) >= 0.0005
    ]


def profile_lines(profile: Profile, cores: int, seconds: float) -> list[str]:
    """Return what a profile says beside its table."""
    lines = [
        f"{number(profile.rate)} decisions a second (laps of about {seconds:g} s: "
        f"{len(profile.laps)}; without checkpoints and evaluation)",
        f"CPU: {profile.cpu_cores:.2f} of {cores} cores busy with it, "
        f"{profile.cpu_cores / cores:.0%}; memory: {size(profile.memory)} at the peak",
    ]
    if profile.unseen > _MUCH:
        lines.append(
            f"{profile.unseen:.0%} of the CPU time belongs to no phase: threads that torch starts, "
            "and what games do outside"
        )
    if profile.device != "cpu":
        use = profile.gpu_why if profile.gpu is None else f"{profile.gpu:.0%} of the time at work"
        lines.append(f"GPU: {use}; memory: {size(profile.gpu_memory)} at the peak")
    return lines


def number(spread: Spread) -> str:
    """Return `41,200 [40,800, 41,600]`."""
    if not math.isfinite(spread.high):
        return f"{spread.value:,.0f}"
    return f"{spread.value:,.0f} [{spread.low:,.0f}, {spread.high:,.0f}]"


def size(count: int | None) -> str:
    """Return bytes for people."""
    return "not known" if count is None else f"{count / 2**20:,.0f} MiB"


def times(ratio: Spread | None) -> str:
    """Return `1.48 [1.42, 1.55]`, how many times as fast."""
    if ratio is None:
        return "—"
    return f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def trial_row(trial: Trial) -> list[str]:
    """Return a line of the table of changes."""
    change = trial.change
    altered = f"yes: {change.alters}" if change.alters else "no"
    both = zip(change.before, change.overrides, strict=True)
    changed = ", ".join(f"{old.replace('=', ' ')} → {new.partition('=')[2]}" for old, new in both)
    pairs = str(trial.faster.n) if trial.faster else "0"
    remarks = [trial.why, f"by {trial.timed}" if trial.timed else ""]
    remark = "; ".join(filter(None, remarks))
    return [changed, trial.verdict, altered, remark, times(trial.faster), pairs]


def promised(promise: Promise, than: str = "") -> str:
    """Return what settings are expected to come to; `than`: what they are compared with."""
    if promise.faster is None:
        return f"{promise.low:,.0f} to {promise.high:,.0f} decisions a second"
    timed = f", by {promise.timed}" if promise.timed else ""
    return f"{promise.low:.2f} to {promise.high:.2f} times as fast{than}{timed}"


def measured_rate(promise: Promise) -> str:
    """Return `41,200 [40,800, 41,600] decisions a second`, or seconds to the mark."""
    if not promise.timed:
        return f"{number(promise.rate)} decisions a second"
    seconds = inverse(promise.rate)
    return f"{seconds.value:.3g} [{seconds.low:.3g}, {seconds.high:.3g}] {promise.timed}"


def outcome_sentence(outcome: Outcome) -> str:
    """Return whether a promise held."""
    measured = (
        f"{outcome.measured:,.0f}" if outcome.promise.faster is None else f"{outcome.measured:.2f}"
    )
    verdict = "held" if outcome.holds else "not held"
    return f"promised {promised(outcome.promise)}, measured {measured}: {verdict}"


def config_text(subject: Subject, sweep: Sweep, where: Mapping[str, Any]) -> str:
    """Return the settings found as YAML, with what they are expected to come to above them."""
    assert sweep.promise is not None
    lines = [
        f"Found by `lanista profile {subject.recipe} --sweep` on {where['cpu']}, "
        f"{where['cores']} cores, {where['gpu'] or 'no GPU'}.",
        f"Expected there: {promised(sweep.promise, ' as the recipe')}.",
        f"Measured there: {measured_rate(sweep.promise)}.",
    ]
    if sweep.doubt:
        lines.append(f"That was on a busy machine ({sweep.doubt}).")
    changed = changed_lines(sweep.first, sweep.now)
    lines += ["Changed:", *(f"  {line}" for line in changed)] if changed else ["Nothing changed."]
    if subject.settings.supervised_checkpoint and subject.stage:
        lines.append(
            "The pipeline makes supervised_checkpoint in an earlier stage; give its file with "
            "--supervised-checkpoint."
        )
    return "".join(f"# {line}\n" for line in lines) + to_yaml(sweep.now)


def changed_lines(first: RunSettings, now: RunSettings) -> list[str]:
    """Return each setting that differs, and whether something else is learned with it."""
    return [
        f"{key}: {before} → {after}"
        + (f"  (something else is learned: {ALTERING[key]})" if key in ALTERING else "")
        for key, before, after in differences(first, now)
    ]


def as_flags(subject: Subject, sweep: Sweep) -> str:
    """Return the changes as `lanista rl` or `lanista run` takes them."""
    prefix = f"stages.{subject.stage}." if subject.stage else ""
    changed = differences(sweep.first, sweep.now)
    return " ".join(f"{prefix}{key}={after}" for key, _, after in changed)


def as_json(
    subject: Subject,
    where: Mapping[str, Any],
    profile: Profile | None,
    sweep: Sweep | None,
    sentences: Sequence[str],
    *,
    interrupted: bool,
) -> dict[str, Any]:
    """Return everything that was found, as plain values."""
    return {
        "format": FORMAT,
        "recipe": subject.recipe,
        "stage": subject.stage or None,
        "settings": plain(subject.settings),
        "machine": dict(where),
        "said": list(sentences),
        "interrupted": interrupted,
        "profile": None if profile is None else _profile_json(profile),
        "sweep": None if sweep is None else _sweep_json(sweep),
    }


def _profile_json(profile: Profile) -> dict[str, Any]:
    body: dict[str, Any] = {
        "decisions_a_second": profile.rates,
        "device": profile.device,
        "gpu_use": profile.gpu,
        "gpu_use_unknown": profile.gpu_why or None,
        "gpu_memory_bytes": profile.gpu_memory,
        "memory_bytes": profile.memory,
    }
    if not profile.laps:
        return body
    wall = profile.wall
    return body | {
        "rate": _spread(profile.rate),
        "wall_shares": profile.wall_shares(),
        "cpu_shares": profile.cpu_shares(),
        "cpu_cores": profile.cpu_cores,
        "cpu_share_of_no_phase": profile.unseen,
        "others_cores": profile.others,
        "checkpoint_seconds": profile.saving and profile.saving.wall,
        "evaluation_seconds": profile.judging and profile.judging.wall,
        "wall": {"phase": wall.phase, "share": wall.share},
    }


def _sweep_json(sweep: Sweep) -> dict[str, Any]:
    promise, outcome = sweep.promise, sweep.outcome
    return {
        "trials": [
            {
                "set": list(trial.change.overrides),
                "before": list(trial.change.before),
                "alters_learning": trial.change.alters or None,
                "verdict": trial.verdict,
                "faster": _spread(trial.faster),
                "why": trial.why or None,
                "timed": trial.timed or None,
            }
            for trial in sweep.trials
        ],
        "taken_back": sweep.taken_back,
        "doubt": sweep.doubt or None,
        "settings": plain(sweep.now),
        "promise": promise and _promise_json(promise),
        "again": outcome and {"measured": outcome.measured, "held": outcome.holds},
    }


def _promise_json(promise: Promise) -> dict[str, Any]:
    """Return a promise; what was timed to a mark has seconds to it and no decisions a second."""
    timed = bool(promise.timed)
    return {
        "rate": None if timed else _spread(promise.rate),
        "seconds_to_mark": _spread(inverse(promise.rate)) if timed else None,
        "timed": promise.timed or None,
        "faster": _spread(promise.faster),
    }


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    if spread is None:
        return None
    return {name: value if math.isfinite(value) else None for name, value in vars(spread).items()}
