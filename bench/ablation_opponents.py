"""Opponent mixes that an ablation compares: shares of self-play, focus, matchmaking over a pool.

All of them have the base's learner and its CPU time; only who is played against differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lanista.runs.settings import SELF, RunSettings

Arm = Callable[[RunSettings], list[str]]

POOLED = ("uniform", "pfsp_hard", "pfsp_var", "alphastar")
"""Matchmakers over bots, itself and its past selves."""
_SNAPSHOTS = 8
"""Past selves of a run, about."""


def mixes(bots: Sequence[str], strongest: Sequence[str], decisions: int) -> dict[str, Arm]:
    """Return the arms of a game with these bots.

    `decisions` is how many an arm is about to learn from: past selves join in equal steps of it.
    """
    arms: dict[str, Arm] = {
        f"opponents: {percent} % self-play": _self_play(bots, percent / 100)
        for percent in (0, 20, 50, 80)
    }
    focus = {bot: 6.0 if bot in strongest else 1.0 for bot in (SELF, *bots)}
    arms[f"opponents: {' and '.join(strongest)} six times"] = _fixed(focus)
    for kind in POOLED:
        arms[f"opponents: {kind} over bots and past selves"] = _pooled(bots, kind, decisions)
    return arms


def _self_play(bots: Sequence[str], share: float) -> Arm:
    """Return an arm with a share of self-play; the bots have the base's proportions, or equal."""

    def arm(base: RunSettings) -> list[str]:
        usual = {one.player: one.weight for one in base.rollouts.opponents}
        weights = {bot: usual.get(bot, 1.0) for bot in bots}
        others = sum(weights.values())
        scaled = {bot: (1 - share) * weight / others for bot, weight in weights.items()}
        return _opponents({SELF: share, **scaled} if share else scaled)

    return arm


def _fixed(weights: Mapping[str, float]) -> Arm:
    return lambda base: _opponents(weights)


def _pooled(bots: Sequence[str], kind: str, decisions: int) -> Arm:
    def arm(base: RunSettings) -> list[str]:
        main = f"{{snapshot_decisions: {decisions // _SNAPSHOTS}, matchmaking: {{kind: {kind}}}}}"
        league = f"league={{round: 4, past_members: {_SNAPSHOTS}, main: {main}}}"
        return [*_opponents(dict.fromkeys((SELF, *bots), 1.0)), league]

    return arm


def _opponents(weights: Mapping[str, float]) -> list[str]:
    shares = ", ".join(f"{name}={weight:.4g}" for name, weight in weights.items())
    return [f"rollouts.opponents=[{shares}]"]
