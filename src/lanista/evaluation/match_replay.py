"""Plays a match of fixed digests again, alone, from its row in a run's database.

Everybody who sat in it is found by digest, in the run's folder or among the game's bots; whoever
is not the one that played is refused. Changes nothing in the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lanista.errors import LanistaError, RefusedError
from lanista.evaluation.gauntlet import FIRST_MATCH
from lanista.foreign import refuse_unsafe_folder
from lanista.games import registry
from lanista.games.bot_files import bot_with_digest
from lanista.games.bots import Player
from lanista.games.contract import Game, Spec
from lanista.games.trusted_names import refuse_foreign
from lanista.rollout.inference.policy_players import policy_player
from lanista.rollout.inference.row_blocks import one_thread
from lanista.rollout.match_runner import Results, Table, play
from lanista.rollout.schedule import Schedule
from lanista.runs.folder import bot_path, policy_path
from lanista.runs.layout import CONFIG, DATABASE
from lanista.runs.players import is_bot
from lanista.runs.reader import RunReader, reading_run
from lanista.runs.settings import RunSettings, load_settings

_GREEDY, _TEMPERATURE = "greedy", "temperature="


@dataclass(frozen=True)
class Outcome:
    """What came of a match, by seat."""

    returns: tuple[float, ...]
    places: tuple[int, ...]
    cut_off: bool


@dataclass(frozen=True)
class Recorded:
    """A match as a run's database has it."""

    match: int
    update: int
    """The update of the run that it was played at."""
    reason: str
    names: tuple[str, ...]
    """In seat order."""
    digests: tuple[str, ...]
    seed: int
    deal: int
    rules_version: str
    observation_version: str
    outcome: Outcome


class Rerun:
    """A match of a run, and all it takes to play it again."""

    def __init__(self, folder: Path, match: int) -> None:
        self.folder = folder
        refuse_unsafe_folder(folder)
        self.recorded = recorded(folder, match)
        self.settings: RunSettings = load_settings(folder / CONFIG)
        refuse_foreign(self.settings.game, self.settings.game_digest, folder)
        self.game: Game = registry.make(
            self.settings.game, seed=self.recorded.seed, **self.settings.game_settings
        )
        try:
            _refuse_versions(self.recorded, self.game.spec)
            self.players, self.seating = self._seated()
        except BaseException:
            self.game.close()
            raise

    def _seated(self) -> tuple[tuple[Player, ...], list[int]]:
        """Return everybody once, and the number of who sits in each seat."""
        who = list(zip(self.recorded.names, self.recorded.digests, strict=True))
        distinct = list(dict.fromkeys(who))
        if len(who) != self.game.spec.seats:
            raise RefusedError(
                f"Match {self.recorded.match} has {len(who)} seats, and {self.settings.game} as "
                f"{self.folder / CONFIG} has it {self.game.spec.seats}; put that file back."
            )
        players = tuple(self._player(name, digest) for name, digest in distinct)
        return players, [distinct.index(one) for one in who]

    def _player(self, name: str, digest: str) -> Player:
        seed, spec = self.recorded.seed, self.game.spec
        own, _, manner = digest.partition(":")
        policy, bot = policy_path(self.folder, own), bot_path(self.folder, own)
        player: Player | None
        if policy.is_file():
            player = policy_player(policy, spec, seed, name=name, **_manner(manner))
            _refuse_content(policy, player.digest, digest)
            return player
        if bot.is_file():
            player = bot_with_digest(bot, digest, spec, seed, name)
            _refuse_content(bot, player.digest if player else "", digest)
            assert player is not None
            return player
        if not is_bot(self.settings.game, name):
            raise RefusedError(
                f"{name} played match {self.recorded.match}, and {policy} is not there; put the "
                "file back to play it again."
            )
        player = registry.make_bot(self.settings.game, name, spec, seed)
        if player.digest != digest:
            raise RefusedError(
                f"The bot {name} that played match {self.recorded.match} has the digest "
                f"{digest[:12]}, and the one here {player.digest[:12]}; use the program that "
                "played it."
            )
        return player

    def play(self) -> Results:
        """Play the match, alone in one slot, with its actions recorded."""
        schedule = Schedule(
            np.array([self.recorded.match]),
            np.array([self.recorded.deal]),
            np.array([self.seating], np.int32),
        )
        with one_thread():
            return play([Table(self.game, self.players)], schedule, record=True)

    def close(self) -> None:
        """End whatever the game started outside this process."""
        self.game.close()


def outcome_of(results: Results) -> Outcome:
    """Return what came of the only match of `results`."""
    return Outcome(
        tuple(results.returns[0].tolist()),
        tuple(results.place[0].tolist()),
        bool(results.cut_off[0]),
    )


def recorded(folder: Path, match: int) -> Recorded:
    """Return a match as the run's database has it; refuse ids that no such match has."""
    with reading_run(folder / DATABASE, RefusedError) as run:
        rows = run.match(match)
        if rows is None:
            raise _unknown(run, folder, match)
    row, lineup = rows
    return Recorded(
        match=match,
        update=row.update,
        reason=lineup.reason,
        names=lineup.names,
        digests=lineup.digests,
        seed=lineup.seed,
        deal=row.deal,
        rules_version=str(lineup.rules_version),
        observation_version=str(lineup.observation_version),
        outcome=Outcome(row.returns, row.places, row.cut_off),
    )


def _unknown(run: RunReader, folder: Path, match: int) -> LanistaError:
    """Return why an id cannot be played again."""
    ids, trained = run.match_ids(), run.last_training_match()
    those = (
        "it has none of fixed players."
        if ids is None
        else f"those of fixed players have ids from {ids[0]} to {ids[1]}."
    )
    if trained is not None and 0 <= match <= trained < FIRST_MATCH:
        return LanistaError(
            f"Match {match} of {folder} was a training game: these are counted by seating, not "
            f"kept match by match, since a learner changes on the way; {those}"
        )
    return LanistaError(f"{folder} has no match {match}; {those}")


def _refuse_versions(recorded: Recorded, spec: Spec) -> None:
    if not spec.abilities.seedable:
        raise RefusedError(f"{spec.name} cannot be played again from a seed.")
    for kind, theirs, ours in (
        ("rules", recorded.rules_version, str(spec.facts.rules_version)),
        ("observation", recorded.observation_version, str(spec.facts.observation_version)),
    ):
        if theirs != ours:
            raise RefusedError(
                f"Match {recorded.match} was played with {kind} version {theirs} of {spec.name}, "
                f"and this program has {ours}; use the program that played it."
            )


def _refuse_content(path: Path, digest: str, expected: str) -> None:
    if digest != expected:
        raise RefusedError(
            f"{path} does not hold what its name says, the player {expected[:12]}; put that one "
            "back."
        )


def _manner(text: str) -> dict[str, Any]:
    """Return how a digest says its policy played, as `policy_player` takes it."""
    if not text:
        return {}
    if text == _GREEDY:
        return {"greedy": True}
    try:
        if text.startswith(_TEMPERATURE):
            return {"temperature": float(text.removeprefix(_TEMPERATURE))}
    except ValueError:
        pass
    raise RefusedError(f"A digest ends in {text!r}, which this program does not know.")
