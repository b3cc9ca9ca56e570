"""What imitation refuses before it begins, or goes on. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lanista.errors import ChangedSettingError, LanistaError, RefusedError
from lanista.games import registry
from lanista.games.contract import Spec
from lanista.learn.imitation.settings import Dagger, Imitation
from lanista.rollout.inference.actor import refuse_temperature
from lanista.runs.folder import folder_of
from lanista.runs.serialise import flat

if TYPE_CHECKING:
    from lanista.training.imitate import Task

_EARLIER: dict[str, Any] = {
    "game_settings": {},
    "imitation.critic": "outcome",
    "imitation.gamma": 1.0,
    "imitation.forecast": [],
    "imitation.forecast_weight": Imitation.forecast_weight,
    **{f"imitation.dagger.{key}": value for key, value in flat(Dagger())},
}
"""Settings that came later, with the value that says what was done before there were any."""


def refuse_unfit(task: Task, resume: bool) -> None:
    """Refuse what cannot be done, or would overwrite something, before anything is read."""
    if task.temperature is not None:
        refuse_temperature(task.temperature)
    folder = folder_of(task.output)
    if resume:
        if not folder.is_dir():
            raise LanistaError(
                f"There is no run {folder} to resume; leave out --resume to begin it."
            )
        return
    if folder.exists():
        raise RefusedError(
            f"There is a run at {folder} already; resume it with --resume, or choose another "
            "--output."
        )
    if task.output.exists():
        raise RefusedError(f"{task.output} exists; choose another --output or move it away.")


def checked_opponents(task: Task, game: str, spec: Spec) -> tuple[str, ...]:
    """Return the opponents, refusing unknown ones before any work is done."""
    if task.opponents == ("all",):
        return tuple(registry.bot_names(registry.entry(game)))
    for name in task.opponents:
        registry.make_bot(game, name, spec)
    return task.opponents


def refuse_other(task: Task, digest: str, first: str, learned_from: Mapping[str, Any]) -> None:
    """Refuse to go on with other settings or demonstrations than a run was begun with."""
    for section, now in task.learned_from().items():
        was = learned_from.get(section, _EARLIER.get(section))
        if isinstance(now, dict) and isinstance(was, dict):
            for name, value in now.items():
                before = was.get(name, _EARLIER.get(f"{section}.{name}"))
                if before != value:
                    raise ChangedSettingError("the run", f"{section}.{name}", before, value)
        elif was != now:
            raise ChangedSettingError("the run", section, was, now)
    if digest != first:
        raise RefusedError(
            "The demonstrations are not those that the run was begun with; give the same folders, "
            "or choose another --output."
        )
