"""The keys of the Pokémon plan: R-NaD finetuning of a cloned policy against a pool of opponents.

docs/reference/showdown-config.md lists what becomes of each. Knows nothing of how keys
are read and refused.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath

from lanista.errors import LanistaError, nearest
from lanista.games.showdown.formats import FORMATS, format_named
from lanista.importers.key_mapping import Import, Key, Plan, length_from
from lanista.runs.serialise import SettingsError
from lanista.runs.settings import SELF

UPDATES = 100_000
"""How long a plan without `max_updates` trains."""
_MATCHES = 32
_OWN_DECISIONS = 10
"""Of a seat in a match, about: random players have 13, the bot `heuristic` 7."""
_SAVED = 1000
_STRATEGIES = ("diverse", "best", "recent")
_JUDGES = ("random", "max_power", "heuristic")
_PORTFOLIO = ("max_portfolio_size", "portfolio_update_strategy", "portfolio_add_interval")
_EXPLOITERS = ("exploiter_check_interval", "exploiter_train_steps", "exploiter_win_threshold")
_NETWORK = {"kind": "transformer", "size": "s"}
"""The recipe's."""
_OLD_FORMAT = re.compile(r"(gen9vgc\d{4}reg)ulation([a-z])")


def _beginning(work: Import) -> None:
    """Set what the plan takes for granted: the game, PPO's loss, a pool of past selves."""
    work.put("game", "showdown")
    work.put("game_settings.mode", "cross")
    work.put("learning.policy", "ppo")
    work.put("learning.terms", {"policy": 1.0, "value": 0.5, "entropy": 0.01})
    work.put("rollouts.opponents", [SELF])
    work.put("league.main.matchmaking.kind", "curriculum")
    for key, to, usual in (
        ("learning_rate", "learning.lr", 1e-4),
        ("gradient_clip", "learning.max_grad_norm", 0.5),
        ("checkpoint_interval", "checkpoints.save_every", _SAVED),
        ("train_batch_size", "rollouts.matches", _MATCHES),
    ):
        if key not in work.plan_values:
            work.put(to, usual)


def _start(work: Import) -> None:
    """Set the network of a run from nothing; say so where the policy to begin from is not there
    yet, since the run would be refused."""
    path = work.plan_values.get("checkpoint_path")
    if path is None:
        work.put("network", dict(_NETWORK))
        work.notices.append(
            "checkpoint_path is left out: the run begins from a transformer of size s that has "
            "learnt nothing; give a policy with --supervised-checkpoint."
        )
    elif not Path(path).is_file():
        work.notices.append(
            f"checkpoint_path {path}: there is no such file yet; make one with `lanista imitate`, "
            "or give another with --supervised-checkpoint."
        )


def _teams(work: Import) -> None:
    """Set the pool, and the format that its folder is named after."""
    path = work.plan_values.get("team_pool_path")
    if path is None:
        return
    work.put("game_settings.team_pool_path", path)
    folder_name = PurePath(path).name
    name = _OLD_FORMAT.sub(r"\1\2", folder_name)
    if not name.startswith("gen"):
        work.notices.append(
            f"team_pool_path {path}: its folder names no format, so the usual one is played; give "
            "another with --set game_settings.format=NAME."
        )
        return
    try:
        work.put("game_settings.format", format_named(name).name)
    except LanistaError:
        raise SettingsError(
            f"team_pool_path {path} is named after the format {name!r}; {nearest(name, FORMATS)}"
        ) from None
    called = "" if name == folder_name else f", which the simulator now calls {name}"
    work.notices.append(
        f"team_pool_path {path}: its folder names the format {folder_name}{called}."
    )


def _workers(work: Import) -> None:
    workers, players = (work.plan_values.get(key) for key in ("num_workers", "players_per_worker"))
    if workers is not None:
        work.put("rollouts.workers", workers)
        if workers > 1:
            work.put("rollouts.launcher", "processes")
        work.notices.append(
            f"num_workers {workers}: so many processes play, each with a simulator of its own and "
            "the policy on the CPU; no server is needed."
        )
    if players is not None:
        slots = players * (workers or 1)
        work.put("rollouts.slots", slots)
        work.notices.append(
            f"players_per_worker {players}: {slots} battles are played side by side, and asked "
            "about in one batch."
        )


def _batch(work: Import) -> None:
    matches = work.plan_values.get("train_batch_size")
    if matches is not None:
        work.notices.append(
            f"train_batch_size {matches}: an update learns from {matches} whole battles, from both "
            "sides of those against itself."
        )


def _precision(work: Import) -> None:
    mixed = work.plan_values.get("use_mixed_precision", True)
    work.put("learning.precision", "bf16" if mixed else "fp32")
    if mixed:
        as_written = (
            "True" if "use_mixed_precision" in work.plan_values else "is left out, which means true"
        )
        work.notices.append(
            f"use_mixed_precision {as_written}: bf16, which needs no scaling of the loss and also "
            "runs without a GPU; --set learning.precision=fp16 is the plan's own format."
        )


def _reference(work: Import) -> None:
    """Set what the policy is held to: one snapshot of itself, or the nearest of several."""
    plan_values, weight = work.plan_values, work.plan_values.get("rnad_alpha", 0.01)
    every = plan_values.get("ref_update_interval", 1000)
    if not plan_values.get("use_portfolio_regularization", False):
        work.put("learning.terms.reference", weight)
        work.put("learning.reference_every", every)
        why = "it changes nothing without use_portfolio_regularization."
        work.unused(_PORTFOLIO, why)
        return
    work.put("learning.terms.portfolio", weight)
    work.put("learning.portfolio_pull", "min")
    work.put("learning.portfolio_size", plan_values.get("max_portfolio_size", 5))
    added = plan_values.get("portfolio_add_interval", 5000)
    work.put("learning.portfolio_every", added)
    strategy = plan_values.get("portfolio_update_strategy", "diverse")
    if strategy not in _STRATEGIES:
        raise SettingsError(
            f"portfolio_update_strategy is {strategy!r}; {nearest(strategy, _STRATEGIES)}"
        )
    work.put("learning.portfolio_keeps", strategy)
    work.unused(
        ["ref_update_interval"],
        f"the portfolio takes the reference's place; it is offered a snapshot every {added:,} "
        "updates.",
    )
    if strategy == "best":
        work.put("evaluation", {"every": added, "bots": list(_JUDGES)})
        work.notices.append(
            f"portfolio_update_strategy best: the best are those that scored best against "
            f"{', '.join(_JUDGES)}, evaluated every {added:,} updates."
        )


def _past(work: Import) -> None:
    """Let checkpoints join the pool about as often as they are saved."""
    every = work.plan_values.get("checkpoint_interval", _SAVED)
    matches = work.plan_values.get("train_batch_size", _MATCHES)
    decisions = every * matches * _OWN_DECISIONS
    work.put("league.main.snapshot_decisions", decisions)
    work.notices.append(
        f"checkpoint_interval {every}: a past self joins the pool about as often, every "
        f"{decisions:,} decisions learned from."
    )


def _exploiters(work: Import) -> None:
    if not work.plan_values.get("train_exploiters", False):
        work.unused(_EXPLOITERS, "it changes nothing without train_exploiters.")
        return
    for key, usual in zip(_EXPLOITERS, (5000, 50_000, 0.6), strict=True):
        work.put(f"league.{key}", work.plan_values.get(key, usual))
    work.put(
        "league.exploiter_from", "imitation" if "checkpoint_path" in work.plan_values else "scratch"
    )
    steps = work.plan_values.get("exploiter_train_steps", 50_000)
    work.notices.append(f"exploiter_train_steps {steps}: steps are decisions of the exploiter.")


def _output(work: Import) -> None:
    """Make flags of the plan's folder, project and name: they are no settings of a run."""
    folder, name = (work.plan_values.get(key) for key in ("save_dir", "wandb_run_name"))
    output = PurePath(folder or "artifacts") / f"{name or 'main'}.safetensors"
    work.flags["--output"] = str(output)
    for key in ("save_dir", "wandb_run_name"):
        work.unused([key], f"the flag --output {output}; a run has the name of its file.")
    if not work.plan_values.get("use_wandb", False):
        work.unused(["use_wandb"], "nothing is mirrored there unless --wandb PROJECT is given.")
        work.unused(["wandb_project"], "it changes nothing without use_wandb.")
        return
    project = work.plan_values.get("wandb_project", "PROJECT")
    work.flags["--wandb"] = str(project)
    for key in ("use_wandb", "wandb_project"):
        work.unused([key], f"the flag --wandb {project}.")


SHOWDOWN = Plan(
    keys={
        "checkpoint_path": Key(str, "supervised_checkpoint"),
        "team_pool_path": Key(str),
        "num_workers": Key(int),
        "players_per_worker": Key(int),
        "train_batch_size": Key(int, "rollouts.matches"),
        "max_updates": Key(int),
        "learning_rate": Key(float, "learning.lr"),
        "rnad_alpha": Key(float),
        "ref_update_interval": Key(int),
        "use_portfolio_regularization": Key(bool),
        "max_portfolio_size": Key(int),
        "portfolio_update_strategy": Key(str),
        "portfolio_add_interval": Key(int),
        "use_mixed_precision": Key(bool),
        "gradient_clip": Key(float, "learning.max_grad_norm"),
        "checkpoint_interval": Key(int, "checkpoints.save_every"),
        "save_dir": Key(str),
        "train_exploiters": Key(bool),
        "exploiter_check_interval": Key(int),
        "exploiter_train_steps": Key(int),
        "exploiter_win_threshold": Key(float),
        "use_wandb": Key(bool),
        "wandb_project": Key(str),
        "wandb_run_name": Key(str),
    },
    together=(
        _beginning,
        length_from("max_updates", usual=UPDATES),
        _start,
        _teams,
        _workers,
        _batch,
        _precision,
        _reference,
        _past,
        _exploiters,
        _output,
    ),
)
