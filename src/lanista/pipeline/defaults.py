"""Which settings a run has where nobody chose any: a function of what is known of the game.

Owns the rule alone; it goes by the game's facts, a sample of matches, its bots, and whether there
is a policy to begin from. Knows nothing of commands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from lanista.games import registry
from lanista.games.contract import Spec
from lanista.learn.settings import Learning
from lanista.nets.settings import Network
from lanista.pipeline.game_sample import (
    Endings,
    Sample,
    bot_strengths,
    endings_of,
    sample_of,
    traversal_of,
)
from lanista.pipeline.recipe import TOP
from lanista.pipeline.recipes import alphastar
from lanista.pipeline.regret_rule import (
    LARGEST_TRAVERSAL,
    fits_regrets,
    learns_regrets,
    regret_settings,
)
from lanista.runs.serialise import plain
from lanista.runs.settings import (
    SELF,
    Checkpoints,
    Evaluation,
    Opponent,
    Rollouts,
    RunSettings,
)

ITERATIONS = 1000
"""Of a run that was given neither iterations nor minutes."""
EVALUATIONS = 10
"""How often a run is evaluated, about."""
_EVALUATED = 20_000
"""Decisions of an evaluation, about, in all its matches."""
_USUAL_NUMBERS = 1000
"""Numbers of a view and choices together, beyond which a decision costs so much more."""
_FEWEST_EVALUATED, _MOST_EVALUATED = 20, 400
_SEARCHED = 10_000
"""Matches, about, that the searches of an evaluation may take at a decision of each match."""
_SUDDEN = 0.9
"""Share of random matches that the last mover wins, from which on a move decides matches."""
_LOOKED_AT = 128
"""Positions that rules may be asked about at a decision: about as long as learning from it."""
_DEAR_DECISIONS, _DECISIONS, _COMPILED_DECISIONS = 768, 2048, 8192
"""Of an update: where play is dear, many small updates make more of it than few large ones."""
_USES, _DEAR_USES = (2, 2), (4, 8)
"""Epochs and minibatches of an update where something is hidden: dear decisions are used more."""
_FEWEST_MATCHES = 64
_LONG_MATCH = 256
"""Decisions of a match, all seats together, beyond which no update waits for its end."""
_SHORT_MATCH = 12
_SMALL_OBSERVATION = 256
_UNWEAKENED = 4
"""Decisions of a seat in a match up to which the pull to uniform play has its whole strength."""
_REFERENCE_EVERY = 30
"""Updates between two references: enough to come near what the pull allows."""
_RARE = 0.2
"""Share of that scale which deviations of advantages count as at least, where few matches pay."""
_LARGE_RETURNS = 2.0
"""Scale of returns above which a critic learns them divided by it."""
_TAUGHT = 0.08
"""Share of the updates in which a teacher alone is followed: of 1,000 about a million decisions."""
_DEVIATIONS = 5.0
"""Beyond which a number of a view is cut off, where views are normalised."""
_REHEARSAL = 0.3
"""Share of matches against bots where everything is seen."""


def default_settings(
    game: str = "arena",
    game_settings: Mapping[str, Any] | None = None,
    *,
    vtrace: bool = False,
    anchored: bool = False,
    iterations: int | None = None,
    seed: int = 0,
    regrets: bool = True,
    teachers: bool = True,
) -> RunSettings:
    """Return the settings of a run of `game` that nobody chose any for.

    With `vtrace` they are AlphaStar's, made for a policy that can play: `anchored` to it. Without
    `regrets` no game is learned by regrets, and without `teachers` no bot is followed.
    """
    values = dict(game_settings or {})
    spec = registry.spec_of(game, seed=seed, **values)
    # What a policy that can play already was shown, it is shown again.
    if not vtrace and (plies := _lookahead(game, spec, values, seed)):
        values["lookahead"] = plies
        spec = registry.spec_of(game, seed=seed, **values)
    game_entry = registry.entry(game)
    bots, quick = registry.bot_names(game_entry), registry.quick_bots(game_entry)
    sample = sample_of(game, values, seed)
    if regrets and not vtrace and fits_regrets(spec):
        # With one seed for all runs of a game: which algorithm learns must not hang on chance.
        moves = traversal_of(game, values, 0, LARGEST_TRAVERSAL)
        sample = replace(sample, traversal=moves)
    if vtrace:
        chosen = alphastar(anchored=anchored)
        chosen = replace(chosen, iterations=chosen.iterations if iterations is None else iterations)
    else:
        count = ITERATIONS if iterations is None else iterations
        taught = teachers and _has_teachers(bots, sample)
        strengths = bot_strengths(game, values, bots, seed) if taught else {}
        chosen = choose(spec, quick, sample, count, strengths)
    every = max(1, chosen.iterations // EVALUATIONS)
    return replace(
        chosen,
        game=game,
        game_settings=values,
        evaluation=_evaluation(bots, quick, sample, every, _wide(spec)),
        checkpoints=Checkpoints(save_every=min(every, 50)),
    )


def default_recipe(
    game: str,
    game_settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    *,
    regrets: bool = True,
) -> dict[str, Any]:
    """Return the pipeline for a game that nobody wrote a recipe for: learn, evaluate, report."""
    values = plain(default_settings(game, game_settings, seed=seed, regrets=regrets))
    run = {name: value for name, value in values.items() if name not in TOP}
    return {
        "game": game,
        "game_settings": values["game_settings"],
        "seed": seed,
        "stages": {"rl": run, "evaluate": {"opponents": ["all"], "games": 400}, "report": {}},
        "shares": {"rl": 10.0, "evaluate": 1.0},
    }


def _has_teachers(bots: Sequence[str], sample: Sample) -> bool:
    """Whether bots can teach a game of long matches, in which chance finds no good play."""
    return sample.decisions > _LONG_MATCH and sample.compiled and [*bots] != ["random"]


def choose(
    spec: Spec,
    bots: Sequence[str],
    sample: Sample,
    iterations: int,
    strengths: Mapping[str, float] | None = None,
) -> RunSettings:
    """Return how to learn a game, by what is known of it. The same facts give the same settings.

    With the `strengths` of bots, the best of them teaches first.
    """
    if strengths:
        return _taught(spec, strengths, iterations)
    if learns_regrets(spec, sample):
        return regret_settings(spec, sample, iterations, _network(spec))
    return RunSettings(
        iterations=iterations,
        network=_network(spec),
        learning=_learning(spec, sample),
        rollouts=_rollouts(spec, bots, sample),
    )


def _wide(spec: Spec) -> float:
    """Return how many times as dear a decision is as usual, by what is seen and can be chosen."""
    numbers = spec.observation.length + sum(head.size for head in spec.heads)
    return max(1.0, numbers / _USUAL_NUMBERS)


def _evaluation(
    bots: Sequence[str], quick: Sequence[str], sample: Sample, every: int, dear: float = 1.0
) -> Evaluation:
    """Return an evaluation against all bots whose matches do not take longer than learning.

    A decision is `dear` times as dear as usual.
    """
    matches = int(_EVALUATED / (sample.decisions * len(bots) * dear)) // 2 * 2
    matches = min(max(matches, _FEWEST_EVALUATED), _MOST_EVALUATED)
    if len(quick) < len(bots):
        # At half of a match's decisions, a search plays what is on average half a match.
        searched = int(_SEARCHED / (sample.decisions / 2) ** 2) // 2 * 2
        if searched >= _FEWEST_EVALUATED:
            matches = min(matches, searched)
        else:
            bots = quick
    return Evaluation(every=every, bots=tuple(bots), matches=matches)


def _lookahead(game: str, spec: Spec, values: Mapping[str, Any], seed: int) -> int:
    """Return how many plies a game's seats are shown what its rules prove; 0: none, or as given.

    Where a move decides a match, tactics are most of it, and rules know them better than a network.
    """
    facts = spec.facts
    two_in_turn = facts.seats == 2 and facts.zero_sum and not facts.simultaneous
    open_game = two_in_turn and not facts.hidden and not facts.chance
    if not open_game or "lookahead" in values:
        return 0
    if "lookahead" not in registry.entry(game).settings:
        return 0
    return plies_for(endings_of(game, values, seed))


def plies_for(endings: Endings) -> int:
    """Return 2 where that looks at few enough positions; one ply alone was not worth its time."""
    positions = endings.choices + endings.choices**2
    return 2 if endings.last_mover_wins >= _SUDDEN and positions <= _LOOKED_AT else 0


def secretive(spec: Spec) -> bool:
    """Whether good play must be mixed: seats do not know all that the others know or do."""
    return spec.seats > 1 and (spec.facts.hidden or spec.facts.simultaneous)


def _network(spec: Spec) -> Network:
    if spec.observation.length > _SMALL_OBSERVATION:
        return Network(width=256, layers=3)
    return Network(width=128 if secretive(spec) else 256, layers=2)


def _apart(spec: Spec) -> Literal["seat", "privileged"]:
    """Return what a critic with a network of its own sees."""
    return "seat" if spec.privileged is None else "privileged"


def _learning(spec: Spec, sample: Sample) -> Learning:
    short = sample.decisions <= _SHORT_MATCH
    long = sample.decisions > _LONG_MATCH
    common: dict[str, Any] = {"lam": _lambda(spec, sample)}
    if not secretive(spec):
        # The critic sees what the policy sees, so it needs no network of its own.
        return Learning(
            terms={"policy": 1.0, "value": 0.5, "entropy": _fading(0.05, 0.02)},
            lr=_fading(1e-3, 1e-4),
            epochs=3,
            minibatches=4,
            average_share=0.1,
            # In an update without one of the rare payments, what is left is cost and noise.
            least_deviation=_rounded(_RARE * sample.rare) if sample.rare else None,
            # On a torso that both share, large values would leave nothing for the policy.
            value_scale="running" if sample.scale > _LARGE_RETURNS else None,
            **common,
        )
    # A match's returns are shared out among its decisions, so a pull of one strength would hold
    # those of a long match at uniform play.
    pull = min(1.0, math.sqrt(_UNWEAKENED * spec.seats / sample.decisions))
    epochs, minibatches = _DEAR_USES if sample.dear and not long else _USES
    # Divided by the scale of returns, losses and pulls have the same proportions in every game.
    return Learning(
        terms={
            "policy": 1.0 if long else _rounded(1 / sample.scale),
            "value": 0.5,
            "behaviour": _rounded(0.1 * pull),
            "magnet": _fading(0.1 * pull, 0.005 * pull),
            "reference": _rounded(0.5 * pull),
        },
        # Large steps begin well where a match is short; many small ones an update need no more.
        lr=_fading(2e-3 if short and not sample.dear else 1e-3, 2e-4),
        epochs=epochs,
        minibatches=minibatches,
        normalise_advantages=long,
        # A critic of its own is worth its time in short matches; in longer ones, more updates are.
        critic_sees=_apart(spec) if short else "features",
        reference_every=_REFERENCE_EVERY,
        average_share=0.2,
        **common,
    )


def _lambda(spec: Spec, sample: Sample) -> float:
    """Return how far GAE looks ahead; less where hidden cards make the end a matter of luck."""
    if sample.decisions <= _SHORT_MATCH:
        return 1.0
    return 0.8 if secretive(spec) and sample.decisions <= _LONG_MATCH else 0.95


def _taught(spec: Spec, strengths: Mapping[str, float], iterations: int) -> RunSettings:
    """Return settings by which the best bot is followed first, then beaten by PPO."""
    teacher = max(strengths, key=lambda bot: strengths[bot])
    lowest, highest = min(strengths.values()), strengths[teacher]
    # The stronger a bot, the more often it is met; the weakest is not forgotten.
    weights = {
        bot: _rounded(0.2 + 1.8 * (strength - lowest) / ((highest - lowest) or 1.0))
        for bot, strength in strengths.items()
    }
    pull = {"kind": "exponential", "start": 0.1, "end": 1e-6}
    return RunSettings(
        iterations=iterations,
        network=Network(
            width=256,
            layers=3,
            symmetry=len(spec.symmetry) if spec.symmetry else None,
            normalise_observations=_DEVIATIONS,
        ),
        learning=Learning(
            terms={
                "policy": _after(0.0, {"kind": "constant", "value": 1.0}),
                "value": 0.5,
                "entropy": 0.0005,
                "teacher": _after(1.0, pull),
            },
            lr=_after(1e-3, {"kind": "linear", "start": 6e-4, "end": 3e-5}),
            gamma=0.995,
            epochs=2,
            minibatches=8,
            max_grad_norm=0.5,
        ),
        rollouts=Rollouts(
            mode="stream",
            unrolls=256,
            unroll_length=64,
            shaping_scale=1.0,
            teacher=teacher,
            opponents=(Opponent(SELF), *(Opponent(bot, weights[bot]) for bot in weights)),
        ),
    )


def _after(before: float, then: dict[str, Any]) -> dict[str, Any]:
    """Return a schedule that follows the teacher's part of the run."""
    return {"kind": "delay", "share": _TAUGHT, "before": before, "then": then}


def _fading(start: float, end: float) -> dict[str, Any]:
    return {"kind": "exponential", "start": _rounded(start), "end": _rounded(end)}


def _rollouts(spec: Spec, bots: Sequence[str], sample: Sample) -> Rollouts:
    opponents: tuple[Opponent, ...] = (Opponent(SELF),)
    if spec.seats > 1 and not secretive(spec):
        # Self-play where all is seen narrows to a few lines of play, and forgets the answers to
        # any other: others keep it awake.
        share = _rounded(_REHEARSAL / len(bots))
        opponents = (Opponent(SELF, 1 - _REHEARSAL), *(Opponent(bot, share) for bot in bots))
    if sample.decisions > _LONG_MATCH:
        return Rollouts(mode="stream", unrolls=128, unroll_length=64, opponents=opponents)
    decisions = _COMPILED_DECISIONS if sample.compiled else _DECISIONS
    if sample.dear and secretive(spec):
        decisions = _DEAR_DECISIONS
    matches = max(_FEWEST_MATCHES, round(decisions / sample.decisions / 64) * 64)
    longest = min(max(1, spec.facts.longest), _LONG_MATCH)
    return Rollouts(matches=matches, unroll_length=longest, opponents=opponents)


def _rounded(number: float) -> float:
    return float(f"{number:.3g}")
