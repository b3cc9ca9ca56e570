"""Findings about recorded games: who played them, how they ended, what could be chosen in them.

Each function looks for one fault and returns it, or nothing. Says nothing on few games. Knows
nothing of files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lanista.findings import Finding, short
from lanista.live.diagnosis.evidence import Service, Traffic
from lanista.live.files.recorded_games import Recorded

FEW = 10
"""Fewer games than this say nothing."""
ENOUGH = 30
"""Games without which "none of them" is no news."""
GONE = 0.01
"""Share of chance's entropy below which a policy no longer tries anything."""


def other_policy(games: Sequence[Recorded], service: Service) -> Finding | None:
    """The model that is trained is not the model that plays."""
    pointer = service.pointer
    if pointer is None or len(games) < FEW:
        return None
    strangers = [game for game in games if game.header.policy not in service.known_policies]
    playing = {pointer.stable, *pointer.candidates}
    since = [game for game in games if game.written > service.pointed]
    late = [game for game in since if game.header.policy not in playing]
    if len(strangers) >= max(1, len(games) // 20):
        wrong, of = strangers, len(games)
        clause = "were played by a policy that this folder never named"
    elif len(since) >= ENOUGH and len(late) == len(since):
        wrong, of = late, len(since)
        clause = "written since the pointer last changed were played by a policy of before"
    else:
        return None
    counts = Counter(game.header.policy for game in wrong)
    played = ", ".join(f"{short(digest)} ({n})" for digest, n in counts.most_common(3))
    return Finding(
        name="other_policy",
        gravity="stops",
        sentence=f"{len(wrong)} of {of} games {clause}: {played}; the stable policy is "
        f"{short(pointer.stable)}.",
        meaning="The model that is trained is not the model that plays, so nothing that is "
        "learned is ever seen in a game.",
        remedy=f"Give the bot the policy folder {service.folder} and look at "
        "agent.report().refusals, which says why a policy was not loaded; restart bots that "
        "were started with another folder.",
        evidence={
            "games": of,
            "wrong": len(wrong),
            "played": dict(counts.most_common()),
            "stable": pointer.stable,
            "candidate": pointer.candidate,
            "files": [game.file for game in wrong[-5:]],
        },
    )


def candidate_never_plays(games: Sequence[Recorded], service: Service) -> Finding | None:
    """A candidate has a share of the games and plays none of them."""
    pointer = service.pointer
    if pointer is None or pointer.candidate is None or not 0 < pointer.share < 1:
        return None
    mine = [game for game in games if game.header.serial == pointer.serial]
    chance = (1 - pointer.share) ** len(mine)
    if len(mine) < FEW or chance > 1e-4 or any(game.header.candidate for game in mine):
        return None
    return Finding(
        name="candidate_never_plays",
        gravity="stops",
        sentence=f"The candidate {short(pointer.candidate)} has a share of {pointer.share:g} and "
        f"played none of {len(mine)} games; by chance that happens once in {1 / chance:,.0f}.",
        meaning="Nothing can be found out about the candidate, so it is never published.",
        remedy="Look at agent.report().refusals: the bots refuse the candidate, or all games have "
        "the same id. Give each game an id of its own.",
        evidence={
            "candidate": pointer.candidate,
            "share": pointer.share,
            "games": len(mine),
            "chance": chance,
            "ids": sorted({game.header.game_id for game in mine})[:5],
        },
    )


def no_games(traffic: Traffic) -> Finding | None:
    """Nothing was ever recorded."""
    total = traffic.waiting + traffic.in_work + traffic.archived
    if total or traffic.refused:
        return None
    return Finding(
        name="no_games",
        gravity="stops",
        sentence=f"The spool {traffic.folder} holds no game; {traffic.playing} are being played.",
        meaning="There is nothing to learn from.",
        remedy="Give the bot this spool folder, and call game.end(outcome) when a game is over; "
        "agent.report().games says what was written and dropped.",
        evidence={"waiting": 0, "taken": 0, "archived": 0, "playing": traffic.playing},
    )


def no_results(games: Sequence[Recorded]) -> Finding | None:
    """Results never arrive."""
    cut = [game for game in games if game.outcome is None]
    if len(games) < FEW or len(cut) < 0.9 * len(games):
        return None
    crashed = sum(game.header.crashed for game in cut)
    ended = len(cut) - crashed
    return Finding(
        name="no_results",
        gravity="stops",
        sentence=f"{len(cut)} of the last {len(games)} games have no result: {crashed} whose "
        f"process was killed, {ended} that were ended without one.",
        meaning="A game that was cut off says nothing about winning, and no candidate can be "
        "judged by it.",
        remedy="Let the bot call game.end(outcome) with a number, above 0 for a win and below 0 "
        "for a loss, before agent.close() and before its process ends.",
        evidence={
            "games": len(games),
            "cut_off": len(cut),
            "crashed": crashed,
            "files": [game.file for game in cut[-5:]],
        },
    )


def results_all_alike(games: Sequence[Recorded]) -> Finding | None:
    """Every game pays the same."""
    with_outcome = [game for game in games if game.outcome is not None]
    outcomes = {game.outcome for game in with_outcome}
    if len(with_outcome) < 2 * FEW or len(outcomes) > 1 or any(game.rewarded for game in games):
        return None
    (outcome,) = outcomes
    return Finding(
        name="results_all_alike",
        gravity="stops",
        sentence=f"All {len(with_outcome)} games with a result have the outcome {outcome:g}, and "
        "no reward but 0 was given.",
        meaning="No action leads to more than any other, so there is nothing to prefer.",
        remedy="See that game.end() is given the true result and game.reward() what the bot won "
        "or lost on the way; if it is true, let the bot meet opponents it neither always beats "
        "nor always loses to.",
        evidence={"games": len(with_outcome), "outcome": outcome, "rewarded": 0},
    )


def no_decisions(games: Sequence[Recorded]) -> Finding | None:
    """The bot's rules play, the policy does not."""
    steps, own = sum(game.header.steps for game in games), sum(game.own for game in games)
    if len(games) < FEW or own > 0.05 * steps:
        return None
    return Finding(
        name="no_decisions",
        gravity="stops",
        sentence=f"In {len(games)} games the policy was asked {steps:,} times, and {own:,} of its "
        "actions were played.",
        meaning="What the bot's own rules play is not learned from.",
        remedy="Ask game.act() at every decision, and call game.overrule() only where the rules "
        "really played something else.",
        evidence={"games": len(games), "steps": steps, "own": own},
    )


def entropy_gone(games: Sequence[Recorded], service: Service | None) -> Finding | None:
    """The policy no longer tries anything."""
    free, freedom = sum(game.free for game in games), sum(game.freedom for game in games)
    surprise = sum(game.surprise for game in games)
    book = None if service is None else service.book
    last = [value for _, value in (book.entropy if book else ())][-10:]
    learner = sum(last) / len(last) if last else None
    played = surprise / free if free >= 100 else None
    gone = played is not None and surprise < GONE * freedom
    if not gone and (played is not None or learner is None or learner >= GONE):
        return None
    evidence = {
        "free_decisions": free,
        "entropy_played": played,
        "entropy_of_chance": freedom / free if free else None,
        "entropy_of_learner": learner,
    }
    sampled = f"{played:.4f} nats in {free:,} decisions played" if played is not None else ""
    logged = f"{learner:.4f} nats in the last {len(last)} updates" if learner is not None else ""
    return Finding(
        name="entropy_gone",
        gravity="stops",
        sentence=f"The policy's entropy is {' and '.join(t for t in (sampled, logged) if t)}: it "
        "plays the same action nearly every time.",
        meaning="What is never tried is never found to be better, and candidates play like the "
        "stable policy.",
        remedy="Go back to a policy that still varied (`lanista policy rollback`), and give the "
        "entropy term more weight (learning.terms.entropy).",
        evidence=evidence,
    )


def one_opponent(games: Sequence[Recorded]) -> Finding | None:
    """All games are against the same opponent."""
    named = [game.header.opponent for game in games if game.header.opponent]
    if len(named) < ENOUGH or len(set(named)) > 1:
        return None
    return Finding(
        name="one_opponent",
        gravity="doubt",
        sentence=f"All {len(named)} games that name their opponent were against {named[0]!r}.",
        meaning="What is learned may be of use against this one opponent alone.",
        remedy="Let the bot meet others; if this is the one that matters, nothing is wrong.",
        evidence={"games": len(named), "opponent": named[0], "unnamed": len(games) - len(named)},
    )
