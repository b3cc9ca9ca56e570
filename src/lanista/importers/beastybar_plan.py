"""The keys of the Beasty Bar plan: PPO against a pool, weighed by win rate, with schedules.

docs/guides/training.md lists what becomes of each. Knows nothing of how keys are read and refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lanista.errors import nearest
from lanista.games import registry
from lanista.importers.key_mapping import Import, Key, Plan, length_from
from lanista.runs.serialise import SettingsError
from lanista.runs.settings import SELF

NAMES = {"outcome_heuristic": "outcome"}
"""Bots that the plan calls otherwise."""
_PLANNED: tuple[str, ...] = (
    "random", "heuristic", "aggressive", "defensive", "queue", "skunk", "noisy", "online",
    "outcome", "distilled_outcome",
)  # fmt: skip
"""The plan's ten bots, by our names."""
_SCHEDULES = ("linear", "cosine", "exponential", "constant")
_OWN_DECISIONS = 12
"""Of a seat in a match: Beasty Bar gives each twelve cards."""
_WEIGHTS = tuple(f"opponent_config.{who}_weight" for who in ("current", "random", "heuristic"))
_CHECKPOINTS = "opponent_config.checkpoint_weight"
_MOST = "opponent_config.max_checkpoints"


def _beginning(work: Import) -> None:
    """Set what the plan takes for granted."""
    work.put("game", "beastybar")
    work.put("learning.policy", "ppo")
    work.put("learning.terms.policy", 1.0)
    if "ppo_config.value_coef" not in work.plan_values:
        work.put("learning.terms.value", 0.5)
    work.put("rollouts.unroll_length", _OWN_DECISIONS)
    if any(key.startswith("network_config.") for key in work.plan_values):
        work.put("network.kind", "transformer")


def _scheduled(name: str, to: str, start: float, end: float) -> Callable[[Import], None]:
    keys = [f"{name}_{end_name}" for end_name in ("start", "end")]

    def step(work: Import) -> None:
        kind = work.plan_values.get(f"{name}_schedule")
        if kind is None:
            work.unused(keys, f"it changes nothing without {name}_schedule.")
            return
        if kind not in _SCHEDULES:
            raise SettingsError(f"{name}_schedule is {kind!r}; {nearest(kind, _SCHEDULES)}")
        first, last = (
            work.plan_values.get(key, usual) for key, usual in zip(keys, (start, end), strict=True)
        )
        if kind == "constant":
            work.put(to, first)
            work.unused(keys[1:], f"a constant {name}_schedule stays at its start.")
        else:
            work.put(to, {"kind": kind, "start": first, "end": last})

    return step


def _losses(work: Import) -> None:
    plan_values = work.plan_values
    if plan_values.get("ppo_config.clip_value"):
        clip = plan_values.get("ppo_config.clip_epsilon", 0.2)
        work.put("learning.value_clip", clip)
        work.notices.append(f"ppo_config.clip_value True: a value moves by {clip} at most.")
    elif "ppo_config.clip_value" in plan_values:
        work.put("learning.value_clip", 0.0)
    if "entropy_schedule" not in plan_values:
        work.put("learning.terms.entropy", plan_values.get("ppo_config.entropy_coef", 0.01))
    else:
        work.unused(["ppo_config.entropy_coef"], "entropy_schedule takes its place.")


def _decisions(work: Import) -> int:
    """Return about how many decisions an iteration learns from: of both seats in self-play."""
    pool = work.plan_values.get("use_opponent_pool", False)
    own = work.plan_values.get(_WEIGHTS[0], 0.5) if pool else 1.0
    matches: int = work.plan_values.get("games_per_iteration", 256)
    return round(matches * _OWN_DECISIONS * (1 + min(own, 1.0)))


def _batches(work: Import) -> None:
    size = work.plan_values.get("ppo_config.minibatch_size")
    if size is None:
        return
    if size < 1:
        raise SettingsError(f"ppo_config.minibatch_size is {size}; give at least 1.")
    minibatches = max(1, round(_decisions(work) / size))
    work.put("learning.minibatches", minibatches)
    work.notices.append(
        f"ppo_config.minibatch_size {size}: an epoch is cut into parts of equal size, so the "
        f"about {_decisions(work):,} decisions of an iteration go into {minibatches}."
    )


def _workers(work: Import) -> None:
    """Let workers play ahead of the learner; Beasty Bar is compiled, so threads play it at once."""
    if not work.plan_values.get("async_game_generation", False):
        why = "it changes nothing without async_game_generation."
        work.unused(["async_num_workers"], why)
        return
    work.put("rollouts.launcher", "threads")
    work.put("rollouts.lag", 1)
    if "async_num_workers" in work.plan_values:
        work.put("rollouts.workers", work.plan_values["async_num_workers"])
    work.notices.append(
        "async_game_generation True: threads play the next iteration's matches while the learner "
        "learns, with the weights of one iteration before (rollouts.launcher, workers and lag)."
    )


def _buffer(work: Import) -> None:
    size = work.plan_values.get("buffer_size")
    if size is None:
        return
    decisions = _decisions(work)
    room = "for which there is room in it" if decisions <= size else "more than it would hold"
    work.notices.append(
        f"buffer_size {size}: no buffer is kept; an iteration learns from all of its about "
        f"{decisions:,} decisions, {room}, and from nothing older."
    )


def _where(work: Import) -> None:
    device = work.plan_values.get("device")
    if device == "cuda":
        work.put("device", "auto")
        work.notices.append("device cuda: it becomes auto, which is the GPU where there is one.")
    elif device is not None:
        work.put("device", device)


def _judges(work: Import) -> None:
    if "eval_opponents" not in work.plan_values:
        return
    bot_names = registry.all_bot_names(registry.entry("beastybar"))
    bots = [NAMES.get(name, name) for name in work.plan_values["eval_opponents"]]
    for name, bot in zip(work.plan_values["eval_opponents"], bots, strict=True):
        if bot not in bot_names:
            remedy = nearest(str(name), [*bot_names, *NAMES])
            raise SettingsError(f"eval_opponents names {name!r}; {remedy}")
        if name != bot:
            work.notices.append(f"eval_opponents {name}: it is called {bot} here.")
    work.put("evaluation.bots", bots)


def _pool(work: Import) -> None:
    if not work.plan_values.get("use_opponent_pool", False):
        keys = (
            "use_adaptive_weights", "min_opponent_weight", "use_heuristic_variants",
            "use_exploit_patch", "exploit_patch_interval", *_WEIGHTS, _CHECKPOINTS, _MOST,
        )  # fmt: skip
        work.unused(keys, "it changes nothing without use_opponent_pool.")
        work.put("rollouts.opponents", [SELF])
        return
    bots = _PLANNED
    if not work.plan_values.get("use_heuristic_variants", False):
        bots = ("random", "heuristic")
    adaptive = work.plan_values.get("use_adaptive_weights", False)
    (_adaptive if adaptive else _fixed)(work, bots)
    every = work.plan_values.get("eval_frequency", 0)
    if every:
        work.put("league.round", every)
        work.notices.append(f"eval_frequency {every}: weights are renewed after each evaluation.")
    _snapshots(work)
    _exploits(work)


def _adaptive(work: Import, bots: Sequence[str]) -> None:
    past = work.plan_values.get(_CHECKPOINTS, 0.1)
    work.put("rollouts.opponents", _weighed(work, bots, 1 / past if past > 0 else 1.0))
    work.put("league.main.matchmaking.kind", "adaptive")
    floor = work.plan_values.get("min_opponent_weight")
    if floor is not None:
        work.put("league.main.matchmaking.floor", floor)
        work.notices.append(
            f"min_opponent_weight {floor}: an opponent has the weight max(1 - win rate, {floor}), "
            "before all are scaled to the sum 1."
        )
    why = "it holds until the first evaluation, whose win rates take its place."
    work.unused([*_WEIGHTS], why)
    work.unused([_CHECKPOINTS], f"the policy that the run begins from has it; {why}")


def _weighed(work: Import, bots: Sequence[str], scale: float) -> list[dict[str, Any]]:
    """Return the plan's shares as weights beside past policies, which have the weight 1 each."""
    usual = zip(_WEIGHTS, (0.5, 0.1, 0.3), strict=True)
    shares = [work.plan_values.get(key, share) for key, share in usual]
    if shares[0] <= 0:
        raise SettingsError(f"{_WEIGHTS[0]} is {shares[0]}; give a number above 0.")
    share_by_player = {SELF: shares[0], "random": shares[1]}
    share_by_player |= {bot: shares[2] / (len(bots) - 1) for bot in bots if bot != "random"}
    return [
        {"player": name, "weight": share * scale}
        for name, share in share_by_player.items()
        if share > 0
    ]


def _fixed(work: Import, bots: Sequence[str]) -> None:
    work.unused(["min_opponent_weight"], "it changes nothing without use_adaptive_weights.")
    past = work.plan_values.get(_CHECKPOINTS, 0.1)
    most = work.plan_values.get(_MOST, 10)
    work.put("rollouts.opponents", _weighed(work, bots, most / past if past > 0 else 1.0))
    work.put("league.main.matchmaking.kind", "fixed")
    if past > 0:
        work.notices.append(
            f"{_CHECKPOINTS} {past}: snapshots have this share once there are {most}, less before."
        )


def _snapshots(work: Import) -> None:
    every = work.plan_values.get("checkpoint_frequency", 50)
    work.put("league.past_members", work.plan_values.get(_MOST, 0))
    adaptive = work.plan_values.get("use_adaptive_weights", False)
    if not adaptive and work.plan_values.get(_CHECKPOINTS, 0.1) <= 0:
        work.put("league.main.snapshot_decisions", 0)
        return
    decisions = every * _decisions(work)
    work.put("league.main.snapshot_decisions", decisions)
    work.notices.append(
        f"checkpoint_frequency {every}: a snapshot joins the pool about as often, every "
        f"{decisions:,} decisions learned from."
    )


def _exploits(work: Import) -> None:
    if not work.plan_values.get("use_exploit_patch", False):
        work.unused(["exploit_patch_interval"], "it changes nothing without use_exploit_patch.")
        return
    work.put("league.exploiter_check_interval", work.plan_values.get("exploit_patch_interval", 100))


_COMPILED = "games are always compiled here, and there is nothing else to force them from."

BEASTYBAR = Plan(
    keys={
        "network_config.hidden_dim": Key(int, "network.width"),
        "network_config.num_heads": Key(int, "network.attention_heads"),
        "network_config.num_layers": Key(int, "network.layers"),
        "network_config.dropout": Key(float, "network.dropout"),
        "network_config.species_embedding_dim": Key(int, "network.embedding"),
        "ppo_config.learning_rate": Key(float, "learning.lr"),
        "ppo_config.clip_epsilon": Key(float, "learning.clip"),
        "ppo_config.value_coef": Key(float, "learning.terms.value"),
        "ppo_config.entropy_coef": Key(float),
        "ppo_config.gamma": Key(float, "learning.gamma"),
        "ppo_config.gae_lambda": Key(float, "learning.lam"),
        "ppo_config.ppo_epochs": Key(int, "learning.epochs"),
        "ppo_config.minibatch_size": Key(int),
        "ppo_config.max_grad_norm": Key(float, "learning.max_grad_norm"),
        "ppo_config.normalize_advantages": Key(bool, "learning.normalise_advantages"),
        "ppo_config.clip_value": Key(bool),
        "ppo_config.target_kl": Key(float, "learning.target_kl"),
        "total_iterations": Key(int),
        "games_per_iteration": Key(int, "rollouts.matches"),
        "checkpoint_frequency": Key(int, "checkpoints.save_every"),
        "eval_frequency": Key(int, "evaluation.every"),
        "entropy_schedule": Key(str),
        "entropy_start": Key(float),
        "entropy_end": Key(float),
        "temperature_schedule": Key(str),
        "temperature_start": Key(float),
        "temperature_end": Key(float),
        "use_opponent_pool": Key(bool),
        "use_adaptive_weights": Key(bool),
        "min_opponent_weight": Key(float),
        **{key: Key(float) for key in (*_WEIGHTS, _CHECKPOINTS)},
        _MOST: Key(int),
        "use_heuristic_variants": Key(bool),
        "use_exploit_patch": Key(bool),
        "exploit_patch_interval": Key(int),
        "force_cython": Key(bool, instead=_COMPILED),
        "async_game_generation": Key(bool),
        "async_num_workers": Key(int),
        "buffer_size": Key(int),
        "seed": Key(int, "seed"),
        "device": Key(str),
        "experiment_name": Key(str, instead="a run is named by its --output."),
        "eval_opponents": Key(list),
    },
    together=(
        _beginning,
        length_from("total_iterations"),
        _losses,
        _scheduled("entropy", "learning.terms.entropy", 0.04, 0.01),
        _scheduled("temperature", "learning.temperature", 1.0, 0.5),
        _batches,
        _workers,
        _buffer,
        _where,
        _judges,
        _pool,
    ),
)
