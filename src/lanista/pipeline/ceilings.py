"""Ceilings: the best response to each of many players, and how far a policy stays below it.

Responses are learnt one victim after another and can be stopped and gone on with anywhere; each
leaves a policy file, the specialist, and its numbers beside it. Knows nothing of how one is learnt
and of how tables look.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError, RefusedError
from lanista.games import registry
from lanista.league.score import Estimate, wilson
from lanista.pipeline.best_response import (
    Response,
    ResponseSettings,
    best_response,
    differing,
    json_path,
)
from lanista.pipeline.observers import Observer
from lanista.pipeline.players import player_of
from lanista.pipeline.run import folder_of

LOWER_BOUND = "lower bound"
_ASIDE = ("threshold", "exact", "device", "launcher", "graphs")
"""Settings that change nothing in what a response came to."""


@dataclass(frozen=True)
class Ceiling:
    """What the best of several responses to one player came to."""

    opponent: str
    digest: str
    """Of the opponent."""
    specialist: str
    """Digest of the response."""
    manner: str
    """How the response plays: greedy or sampled."""
    score: Estimate
    win_rate: Estimate
    called: str
    """ceiling, or lower bound: where there were fewer than three responses, the curve has not been
    shown to be level, or a response practised less than was asked for."""
    responses: int
    decisions: int
    """The fewest that a response practised for."""


def specialist_path(folder: Path, victim: str) -> Path:
    """Return where the best response to a player goes."""
    return folder / f"{Path(victim).stem}.safetensors"


def best_responses(
    victims: Sequence[str],
    settings: ResponseSettings,
    folder: Path,
    *,
    resume: bool = False,
    stop: Callable[[], bool] | None = None,
    observers: Sequence[Observer] = (),
) -> Iterator[tuple[str, Response | None]]:
    """Learn the best response to each victim in turn; give each that was learnt now.

    With `resume`, what is complete is passed over and what was begun is gone on with. After None
    nothing more comes: `stop()` ended it, with all saved.
    """
    paths = [specialist_path(folder, victim) for victim in victims]
    if len(set(paths)) < len(paths):
        raise LanistaError(f"Two of {', '.join(victims)} would have one file; name them apart.")
    for output in paths:
        if not resume and (output.exists() or folder_of(output).exists()):
            raise RefusedError(
                f"There is {output} already; go on with --resume, or choose another --output."
            )
    _refuse_unknown(victims, settings)
    for victim, output in zip(victims, paths, strict=True):
        if is_complete(output, settings):
            continue
        began = folder_of(output).is_dir()
        if not began:
            _refuse_alone(output, settings)
        found = best_response(
            victim, settings, output, resume=began, stop=stop, observers=observers
        )
        yield victim, found
        if found is None:
            return


def _refuse_unknown(victims: Sequence[str], settings: ResponseSettings) -> None:
    """Refuse a victim that is not there before the first one is worked on."""
    told = {"seed": settings.seed, **settings.game_settings}
    spec = registry.spec_of(settings.game, **told)
    for victim in victims:
        player_of(settings.game, victim, spec, settings.seed)


def is_complete(output: Path, settings: ResponseSettings) -> bool:
    """Return whether the response at `output` was learnt and measured as these settings say."""
    there = output.is_file() and json_path(output).is_file()
    return there and not _others(output, settings)


def _others(output: Path, settings: ResponseSettings) -> list[tuple[str, Any, Any]]:
    """Return the keys at which a complete response has other settings, with both values."""
    saved = _read(json_path(output)).get("settings", {})
    return [each for each in differing(saved, settings) if each[0] not in _ASIDE]


def _refuse_alone(output: Path, settings: ResponseSettings) -> None:
    """Refuse a response that is there and not what is asked for, without the run it came from."""
    if not output.exists():
        return
    if not json_path(output).is_file():
        raise RefusedError(
            f"{output} is there without {json_path(output).name}, so what it came to is not known; "
            "put that back, or choose another --output."
        )
    key, before, now = _others(output, settings)[0]
    raise RefusedError(
        f"{output} was made with {key} {before!r}, and now it is {now!r}; leave it as it was, "
        "or choose another --output."
    )


def ceilings_in(folder: Path, least_decisions: int = 0) -> dict[str, Ceiling]:
    """Return what a folder's responses came to, by the name of their victim."""
    found = [
        _ceiling(path, _read(path), least_decisions)
        for path in sorted(folder.glob("*.safetensors.json"))
    ]
    if not found:
        raise LanistaError(
            f"There are no best responses in {str(folder)!r}; learn some with `lanista exploit`."
        )
    return {each.opponent: each for each in found}


def ceiling_of(ceilings: dict[str, Ceiling], opponent: str, digest: str) -> Ceiling | None:
    """Return the ceiling against one opponent, if it is known; refuse that of somebody else."""
    found = ceilings.get(opponent)
    if found is not None and found.digest != digest:
        raise RefusedError(
            f"The best response to {opponent} was learnt against another player of that name "
            f"({found.digest[:12]}, and here it is {digest[:12]}); learn it again."
        )
    return found


def distance(ceiling: Estimate, mine: Estimate) -> Estimate:
    """Return how far `mine` lies below a ceiling; the two were measured on different deals."""
    value = ceiling.value - mine.value
    if ceiling.half is None or mine.half is None:
        return Estimate(value, None, None, min(ceiling.n, mine.n))
    half = math.hypot(ceiling.half, mine.half)
    return Estimate(value, value - half, value + half, min(ceiling.n, mine.n))


def _ceiling(path: Path, record: dict[str, Any], least: int) -> Ceiling:
    try:
        games = record["wins"] + record["draws"] + record["losses"]
        win_rate = wilson(record["wins"], games)
        assert win_rate is not None
        found = Ceiling(
            opponent=record["victim"],
            digest=record["victim_digest"],
            specialist=record["response"],
            manner=record["manner"],
            score=Estimate(**record["score"]),
            win_rate=win_rate,
            called=record["reading"]["called"],
            responses=len(record["responses"]),
            decisions=min(each["decisions"] for each in record["responses"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise LanistaError(f"{path} does not hold the numbers of a best response.") from error
    return replace(found, called=LOWER_BOUND) if found.decisions < least else found


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except ValueError as error:
        raise LanistaError(f"{path} is damaged; move it away and measure again.") from error
    return found
