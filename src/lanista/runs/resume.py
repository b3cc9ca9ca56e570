"""Which settings a resumed run goes on with: its own, with what may change in mid-run changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from lanista.errors import ChangedSettingError
from lanista.games import registry
from lanista.games.trusted_names import refuse_foreign
from lanista.runs.folder import saved_settings
from lanista.runs.league_settings import ROLES, League
from lanista.runs.settings import RunSettings, differences, may_change


def resumed_settings(folder: Path, settings: RunSettings) -> RunSettings:
    """Return the settings to go on with; refuse those of another run."""
    saved = saved_settings(folder)
    refuse_foreign(saved.game, saved.game_digest, folder)
    settings = _as_resolved(settings, saved)
    for key, before, now in differences(saved, settings):
        if not may_change(key):
            raise ChangedSettingError(f"the run {folder}", key, before, now)
    return settings


def _as_resolved(settings: RunSettings, saved: RunSettings) -> RunSettings:
    """Return `settings` with what only the start of the run could settle taken from `saved`."""
    digests = {opponent.player: opponent.digest for opponent in saved.rollouts.opponents}
    opponents = tuple(
        replace(opponent, digest=opponent.digest or digests.get(opponent.player, ""))
        for opponent in settings.rollouts.opponents
    )
    bot_digests = saved.evaluation.digests
    bots = {word: bot_digests[word] for word in settings.evaluation.bots if word in bot_digests}
    # A run that began from a policy may have some of its game's settings from there.
    from_start = settings.supervised_checkpoint and settings.game == saved.game
    values = {**(saved.game_settings if from_start else {}), **settings.game_settings}
    chosen = registry.check_settings(registry.entry(settings.game), values)
    return replace(
        settings,
        game_digest=settings.game_digest or saved.game_digest,
        game_settings=chosen,
        network=saved.network if settings.supervised_checkpoint else settings.network,
        supervised_digest=settings.supervised_digest or saved.supervised_digest,
        rollouts=replace(settings.rollouts, opponents=opponents),
        evaluation=replace(settings.evaluation, digests=bots),
        league=_same_snapshots(settings.league, saved.league),
    )


def _same_snapshots(league: League | None, saved: League | None) -> League | None:
    """Return a league whose snapshots are due as in the run, where it says nothing of them.

    Runs of earlier versions have a number in place of the rule.
    """
    if league is None or saved is None:
        return league
    for role in ROLES:
        if (rules := league.rules(role)).snapshot_decisions is None:
            decisions = saved.rules(role).snapshot_decisions
            changed: dict[str, Any] = {role: replace(rules, snapshot_decisions=decisions)}
            league = replace(league, **changed)
    return league
