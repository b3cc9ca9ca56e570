"""What is varied in an ablation, one thing at a time, and how the policies are judged.

The base of every game is what `lanista rl --game GAME` chooses. An arm is a function of those
settings that gives the settings to change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.ablation_opponents import Arm, mixes
from lanista import evaluate
from lanista.evaluation.evaluator import probabilities
from lanista.games import registry
from lanista.nets.files.policy_file import load_policy
from lanista.nets.files.policy_format import read_header
from lanista.rollout.inference.policy_players import policy_player
from lanista.runs.settings import RunSettings

GAMES = {
    "beastybar": "beastybar",
    "connect_four": "openspiel:connect_four",
    "goofspiel": "openspiel:turn_based_simultaneous_game(game=goofspiel("
    "num_cards=4,imp_info=True,points_order=descending))",
    "leduc": "leduc",
    "arena": "arena",
}
TORCH_START = "torch's start"
"""The one arm that no setting makes: weights as torch draws them, the last layer as large."""
_MCTS_SIMULATIONS = 25


def _resized(factor: float) -> Arm:
    def arm(base: RunSettings) -> list[str]:
        key = "unrolls" if base.rollouts.streaming else "matches"
        size = max(2, round(getattr(base.rollouts, key) * factor / 2) * 2)
        # References are renewed after as many decisions as before.
        every = max(1, round(base.learning.reference_every / factor))
        return [f"rollouts.{key}={size}", f"learning.reference_every={every}"]

    return arm


def _plain(*words: str) -> Arm:
    return lambda base: list(words)


def _follow_kl(base: RunSettings) -> list[str]:
    # Where pulls hold a policy, an update of the base moves it by a tenth of what others do.
    start = 1e-3 if "reference" in base.learning.terms else 1e-2
    target = f"{{kind: exponential, start: {start}, end: {start / 5}}}"
    rule = f"{{kind: follow-kl, start: 6e-4, target: {target}, highest: 5e-3}}"
    if base.rollouts.teacher:
        rule = f"{{kind: delay, share: 0.08, before: 1e-3, then: {rule}}}"
    return [f"learning.lr={rule}"]


def _pulls(factor: float) -> Arm:
    def arm(base: RunSettings) -> list[str]:
        terms = base.learning.terms
        magnet = {key: terms["magnet"][key] * factor for key in ("start", "end")}
        return [
            f"learning.terms.behaviour={terms['behaviour'] * factor}",
            f"learning.terms.reference={terms['reference'] * factor}",
            f"learning.terms.magnet={{kind: exponential, start: {magnet['start']}, "
            f"end: {magnet['end']}}}",
        ]

    return arm


def _other_critic(base: RunSettings) -> list[str]:
    if base.learning.critic_sees != "features":
        return ["learning.critic_sees=features"]
    spec = registry.spec_of(base.game, **base.game_settings)
    return [f"learning.critic_sees={'seat' if spec.privileged is None else 'privileged'}"]


def _other_lambda(base: RunSettings) -> list[str]:
    return [f"learning.lam={0.95 if base.learning.lam == 0.8 else 0.8}"]


def _other_observations(base: RunSettings) -> list[str]:
    normalised = base.network.normalise_observations is not None
    return [f"network.normalise_observations={'null' if normalised else 5}"]


def _other_advantages(base: RunSettings) -> list[str]:
    return [f"learning.normalise_advantages={not base.learning.normalise_advantages}".lower()]


def _mixed(*words: str) -> Arm:
    """Return an arm in which half of the matches are against the bots that are judged by."""
    return _plain("rollouts.opponents=[self=2, heuristic, outcome, distilled]", *words)


def _past_selves(*words: str, self_share: float = 0.5) -> Arm:
    """Return an arm of V-trace against itself and past selves."""

    def arm(base: RunSettings) -> list[str]:
        # The pull to the policy that acted would be one to an opponent's.
        terms = {name: value for name, value in base.learning.terms.items() if name != "behaviour"}
        matchmaking = f"{{kind: alphastar, self_share: {self_share}}}"
        return [
            "learning.policy=vtrace",
            f"learning.terms={json.dumps(terms)}",
            f"league={{round: 4, past_members: 8, main: {{snapshot_decisions: 50000, "
            f"matchmaking: {matchmaking}}}}}",
            *words,
        ]

    return arm


PAST = "V-trace, half against past selves"
FROZEN = "V-trace, half against past selves, frozen seats learned from"
POOL = "V-trace, against bots and past selves"
BOTS = "half against bots"
PAST_SELVES: dict[str, Arm] = {
    PAST: _past_selves(),
    FROZEN: _past_selves("rollouts.learn_from_frozen=true"),
}
COMPARED_WITH = {
    FROZEN: PAST,
    f"{POOL}, frozen seats learned from": POOL,
    "half against bots, weighted by matchup": BOTS,
    "half against bots, normalised advantages": BOTS,
    "half against bots, advantages by matchup": "half against bots, normalised advantages",
}
"""Arms that change one thing of another arm, not of the base."""
COMMON: dict[str, Arm] = {
    "base": _plain(),
    "lr follows KL": _follow_kl,
    "updates a quarter as large": _resized(0.25),
    "updates four times as large": _resized(4.0),
    "three times the epochs, stopped at KL 0.02": lambda base: [
        f"learning.epochs={3 * base.learning.epochs}", "learning.target_kl=0.02",
    ],
    "critic on the torso, or apart": _other_critic,
    "residual torso with LayerNorm": _plain("network.kind=residual"),
    "advantages normalised, or not": _other_advantages,
    "values scaled by their running size": _plain("learning.value_scale=running"),
    "λ 0.8, or 0.95": _other_lambda,
    "observations normalised, or not": _other_observations,
    "1 to 32 minibatches by gradient noise": _plain("learning.minibatches_by_noise=32"),
    "network twice as wide": lambda base: [f"network.width={2 * base.network.resolved_width}"],
    TORCH_START: _plain(),
}  # fmt: skip
ARENA: dict[str, Arm] = {
    name: COMMON[name]
    for name in (
        "base", "lr follows KL", "updates a quarter as large", "updates four times as large",
        "critic on the torso, or apart", "values scaled by their running size",
        "advantages normalised, or not", "residual torso with LayerNorm", "λ 0.8, or 0.95",
        "observations normalised, or not", "1 to 32 minibatches by gradient noise",
        "three times the epochs, stopped at KL 0.02",
        "network twice as wide", TORCH_START,
    )
} | {
    **mixes(("rusher", "scavenger", "zoner", "kiter"), ("zoner", "kiter"), 1_000_000),
    "λ 1": _plain("learning.lam=1.0"),
    "γ 0.999": _plain("learning.gamma=0.999"),
    "weighted by matchup": _plain("learning.matchup_floor=0.5"),
    "advantages by matchup": _plain("learning.matchup_advantages=64"),
    # Bots are in the pool too, and itself is the dearest opponent there.
    POOL: _past_selves(self_share=0.15),
    f"{POOL}, frozen seats learned from": _past_selves(
        "rollouts.learn_from_frozen=true", self_share=0.15
    ),
    "first matches staggered over 600 steps": _plain("rollouts.stagger=600"),
    "shaping fades to 0": _plain("rollouts.shaping_scale={kind: linear, start: 1.0, end: 0.0}"),
    "a third of the entropy bonus": _plain("learning.terms.entropy=1.7e-4"),
    "entropy a mean over heads": _plain("learning.entropy_heads=mean"),
    "no symmetry": _plain("network.symmetry=null"),
}  # fmt: skip
ARMS: Mapping[str, Mapping[str, Arm]] = {
    "beastybar": {
        **COMMON,
        **PAST_SELVES,
        **mixes(("heuristic", "outcome", "distilled"), ("distilled",), 1_000_000),
        "next view predicted": _plain(
            "learning.terms.forecast=0.1",
            "learning.forecast=[line species, line owner, where 0, where 1]",
        ),
        "λ 1": _plain("learning.lam=1.0"),
        "γ 0.98": _plain("learning.gamma=0.98"),
        BOTS: _mixed(),
        "half against bots, weighted by matchup": _mixed("learning.matchup_floor=0.5"),
        "half against bots, normalised advantages": _mixed("learning.normalise_advantages=true"),
        "half against bots, advantages by matchup": _mixed(
            "learning.normalise_advantages=true", "learning.matchup_advantages=64"
        ),
        "pulls a third as strong": _pulls(1 / 3),
        "pulls a tenth as strong": _pulls(1 / 10),
        **{
            f"entropy {weight} in place of pulls, normalised advantages": _plain(
                f"learning.terms={{policy: 1.0, value: 0.5, entropy: {weight}}}",
                "learning.normalise_advantages=true",
            )
            for weight in (0.003, 0.01)
        },
    },
    "connect_four": {
        **COMMON,
        "λ 1": _plain("learning.lam=1.0"),
        "a third of the entropy bonus": _plain(
            "learning.terms.entropy={kind: exponential, start: 0.017, end: 0.007}"
        ),
    },
    "goofspiel": {**COMMON, **PAST_SELVES, "pulls a third as strong": _pulls(1 / 3)},
    "leduc": {
        name: COMMON[name]
        for name in (
            "base", "critic on the torso, or apart", "values scaled by their running size",
        )
    } | {
        "critic on the torso, values scaled": _plain(
            "learning.critic_sees=features", "learning.value_scale=running"
        ),
    },
    "arena": ARENA,
}  # fmt: skip
JUDGED_BY = {
    "beastybar": "mean score against `distilled` and `outcome`, 2,000 matches each, drawn",
    "connect_four": f"score against OpenSpiel's MCTS with {_MCTS_SIMULATIONS} simulations, "
    "400 matches, drawn",
    "goofspiel": "NashConv, lower is better",
    "leduc": "NashConv, lower is better",
    "arena": "mean score against `kiter`, `zoner`, `scavenger` and `rusher`, 200 matches each, "
    "drawn",
}


def prepare(arm: str) -> None:
    """Do what no setting says: leave weights as torch draws them."""
    if arm == TORCH_START:
        torch.nn.init.orthogonal_ = lambda tensor, *_, **__: tensor


def judge(game: str, policy: Path) -> dict[str, float]:
    """Return the numbers of a trained policy; `strength` is the one that arms are compared by."""
    if game in ("goofspiel", "leduc"):
        from lanista.games.trees.exact import exact_nash_conv

        network = load_policy(policy).policy
        return {"strength": exact_nash_conv(GAMES[game], probabilities(network))}
    if game == "connect_four":
        return {
            "strength": _score_against_mcts(policy, 400),
            "random": _scores(policy, ["random"], 400)["random"],
        }
    opponents, games = {
        "beastybar": (["distilled", "outcome"], 2000),
        "arena": (["kiter", "zoner", "scavenger", "rusher"], 200),
    }[game]
    scores = _scores(policy, opponents, games)
    return {"strength": float(np.mean(list(scores.values()))), **scores}


def _scores(policy: Path, opponents: list[str], games: int) -> dict[str, float]:
    outcome = evaluate(policy, opponents, games=games, seed=1_000_000)
    return {name: estimate.value for name, estimate in outcome.gauntlet.scores.items()}


def _score_against_mcts(policy: Path, matches: int) -> float:
    """Return the score of a policy, first in half of the matches, against MCTS with a solver."""
    import pyspiel

    name = GAMES["connect_four"]
    game = registry.make(name, slots=matches, seed=1, **read_header(policy).settings)
    player = policy_player(policy, game.spec, 1)
    theirs = pyspiel.load_game("connect_four")
    states = [theirs.new_initial_state() for _ in range(matches)]
    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
    search = pyspiel.MCTSBot(
        theirs, evaluator, 2.0, _MCTS_SIMULATIONS, 10, True, 1, False,
        pyspiel.ChildSelectionPolicy.UCT,
    )  # fmt: skip
    slots = np.arange(matches)
    game.start(slots, slots.astype(np.int64))
    ended: list[int] = []
    while len(ended) < matches:
        decisions = game.decisions()
        own = np.flatnonzero(decisions.seat == decisions.slot % 2)
        actions: Any = np.zeros((len(decisions.slot), 1), np.int32)
        if len(own):
            actions[own] = player.act(decisions, own)
        for row in np.flatnonzero(decisions.seat != decisions.slot % 2):
            actions[row] = search.step(states[decisions.slot[row]])
        for slot, action in zip(decisions.slot.tolist(), actions[:, 0].tolist(), strict=True):
            states[slot].apply_action(action)
        ended += game.act(np.arange(len(actions)), actions).tolist()
    returns = np.array([state.returns()[slot % 2] for slot, state in enumerate(states)])
    game.close()
    return float(((returns + 1) / 2).mean())
