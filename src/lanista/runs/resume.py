"""Which settings a resumed run goes on with: its own, with what may change in mid-run changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lanista.errors import ChangedSettingError
from lanista.games import registry
from lanista.games.trusted_names import refuse_foreign
from lanista.runs.folder import saved_settings
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
    chosen = registry.check_settings(registry.entry(settings.game), settings.game_settings)
    return replace(
        settings,
        game_digest=settings.game_digest or saved.game_digest,
        game_settings=chosen,
        network=saved.network if settings.supervised_checkpoint else settings.network,
        supervised_digest=settings.supervised_digest or saved.supervised_digest,
        rollouts=replace(settings.rollouts, opponents=opponents),
        evaluation=replace(settings.evaluation, digests=bots),
    )
