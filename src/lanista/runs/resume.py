"""Which settings a resumed run goes on with: its own, with what may change in mid-run changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lanista.errors import ChangedSettingError
from lanista.games import registry
from lanista.games.trusted_names import refuse_foreign
from lanista.runs.folder import saved_settings
from lanista.runs.settings import RunSettings, differences, may_change


def resumed_settings(folder: Path, given: RunSettings) -> RunSettings:
    """Return the settings to go on with; refuse those of another run."""
    saved = saved_settings(folder)
    refuse_foreign(saved.game, saved.game_digest, folder)
    given = _as_resolved(given, saved)
    for key, before, now in differences(saved, given):
        if not may_change(key):
            raise ChangedSettingError(f"the run {folder}", key, before, now)
    return given


def _as_resolved(given: RunSettings, saved: RunSettings) -> RunSettings:
    """Return `given` with what only the start of the run could settle taken from `saved`."""
    digests = {each.player: each.digest for each in saved.rollouts.opponents}
    opponents = tuple(
        replace(each, digest=each.digest or digests.get(each.player, ""))
        for each in given.rollouts.opponents
    )
    known = saved.evaluation.digests
    bots = {word: known[word] for word in given.evaluation.bots if word in known}
    chosen = registry.check_settings(registry.entry(given.game), given.game_settings)
    return replace(
        given,
        game_digest=given.game_digest or saved.game_digest,
        game_settings=chosen,
        network=saved.network if given.supervised_checkpoint else given.network,
        supervised_digest=given.supervised_digest or saved.supervised_digest,
        rollouts=replace(given.rollouts, opponents=opponents),
        evaluation=replace(given.evaluation, digests=bots),
    )
