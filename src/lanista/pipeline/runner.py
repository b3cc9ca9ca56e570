"""Conducts a pipeline: which stages are due, in which order, and what was done.

Each finished stage leaves a record of what it read and made, written last. It is skipped while
those are as they were; what changed is set aside and done again, so nothing is lost. Knows nothing
of what a stage does.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import fields
from pathlib import Path
from typing import Any

from lanista.errors import RefusedError
from lanista.files import remove_leftovers, write_text
from lanista.foreign import refuse_unsafe_folder
from lanista.lock import LOCK, holding
from lanista.nets.files.champions import policy_file
from lanista.pipeline.recipe import RECIPE, PipelineRecipe, load_recipe, read_recipe, recipe_yaml
from lanista.pipeline.stage import Stage, Stop
from lanista.pipeline.stages import stages_of
from lanista.runs.former_keys import with_present_keys
from lanista.runs.serialise import SettingsError
from lanista.training.observers import Observer, Observers

RECORDS, ASIDE = Path("stages"), Path("aside")
INTERRUPTED = 130


def saved_recipe(folder: Path) -> PipelineRecipe:
    """Return the pipeline that a folder holds."""
    refuse_unsafe_folder(folder)
    return load_recipe(read_recipe(folder / RECIPE))


def conduct(
    recipe: PipelineRecipe,
    folder: Path,
    *,
    observers: Sequence[Observer] = (),
    stop: Stop | None = None,
    name_setting: Callable[[str], str] = str,
) -> int:
    """Do all that is due of a settled pipeline; return 0, or 130 when stopped with all saved.

    `name_setting` returns what a user typed for a setting of the recipe, by its dotted key.
    """
    watching = Observers(observers)
    folder.mkdir(parents=True, exist_ok=True)
    refuse_unsafe_folder(folder)
    with holding(folder, "pipeline"), chdir(folder):
        _refuse_foreign()
        for place in {path.parent for path in Path().rglob(".tmp-*.part")}:
            remove_leftovers(place)
        _keep(recipe)
        stages = stages_of(recipe)
        watching.stages_planned([stage.name for stage in stages])
        for stage in stages:
            if not _attend(stage, watching, stop or (lambda: False), name_setting):
                return INTERRUPTED
    return 0


def _refuse_foreign() -> None:
    others = [path for path in Path().iterdir() if path.name != LOCK and path.name[0] != "."]
    if others and not Path(RECIPE).exists():
        raise RefusedError(
            f"{Path.cwd()} holds other things than a pipeline; choose another --output-dir."
        )


def _keep(recipe: PipelineRecipe) -> None:
    """Write the recipe, where it is another one than the folder has."""
    if not Path(RECIPE).exists() or saved_recipe(Path()) != recipe:
        write_text(RECIPE, recipe_yaml(recipe))


def _attend(
    stage: Stage, observer: Observer, stop: Stop, name_setting: Callable[[str], str]
) -> bool:
    """Do a stage if it is due; return whether it is done now."""
    inputs = {"settings": stage.settings, "files": _digests(stage.reads)}
    inputs = json.loads(json.dumps(inputs))  # As it will be read back: tuples are lists.
    record = _read(stage)
    if record is not None:
        why = _changed(stage, record, inputs, name_setting)
        if not why and "outputs" in record:
            observer.stage_skipped(stage.name)
            return True
        if why and _grown(stage, record, inputs):
            record = None
        elif why:
            place = _set_aside(stage)
            observer.message(f"{stage.name}: {why}; what it made before is in {place}.")
            record = None
    elif _there(stage):
        raise RefusedError(
            f"{Path.cwd() / _there(stage)[0]} is there, and no record says that the stage "
            f"{stage.name} made it; move it away."
        )
    if stop():
        return False
    if record is None:
        _write(stage, {"inputs": inputs})
    observer.stage_started(stage.name)
    if stop() or not stage.work(observer, stop):
        return False
    _write(stage, {"inputs": inputs, "outputs": _digests(stage.makes)})
    observer.stage_finished(stage.name)
    return True


def _changed(
    stage: Stage,
    record: Mapping[str, Any],
    inputs: Mapping[str, Any],
    name_setting: Callable[[str], str] = str,
) -> str:
    """Return what is no longer as the record has it; nothing where all is."""
    before = record["inputs"]
    differing = _differences(_present(before["settings"]), _present(inputs["settings"]))
    # Whatever else has changed comes first: more to do would not be a reason by itself.
    for key, was, now in sorted(differing, key=lambda difference: difference[0] == stage.grows):
        if not stage.free(key):
            return f"{name_setting(_recipe_key(stage, key))} was {was!r} and is {now!r} now"
    for file in {**before["files"], **inputs["files"]}:
        if before["files"].get(file) != inputs["files"].get(file):
            return f"{file} is not what it was"
    for file, digest in record.get("outputs", {}).items():
        if _digest(Path(file)) != digest:
            return f"{file} is not what the stage wrote"
    return ""


def _recipe_key(stage: Stage, key: str) -> str:
    """Return the dotted key that a recipe has for a setting of a stage."""
    whole = {field.name for field in fields(PipelineRecipe)}
    return key if key.partition(".")[0] in whole else f"stages.{stage.name}.{key}"


def _present(settings: Any) -> Any:
    """Return a stage's settings under their present keys; a notice would be of no use here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return with_present_keys(settings)


def _grown(stage: Stage, record: Mapping[str, Any], inputs: Mapping[str, Any]) -> bool:
    """Return whether the stage has only been given more to do, and can go on from what is there."""
    key = stage.grows
    was, now = record["inputs"]["settings"].get(key, 0), inputs["settings"].get(key, 0)
    if not key or now <= was:
        return False
    same = {**inputs, "settings": {**inputs["settings"], key: was}}
    return not _changed(stage, record, same)


def _differences(one: Any, other: Any, where: str = "") -> list[tuple[str, Any, Any]]:
    """Return every dotted key whose values differ, with both."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = dict.fromkeys([*one, *other])
        return [
            difference
            for key in keys
            for difference in _differences(
                one.get(key), other.get(key), f"{where}.{key}".lstrip(".")
            )
        ]
    if _same_length_of_entries(one, other):
        return [
            difference
            for at, (entry, entry_now) in enumerate(zip(one, other, strict=True))
            for difference in _differences(entry, entry_now, f"{where}.{at}")
        ]
    return [] if one == other else [(where, one, other)]


def _same_length_of_entries(one: Any, other: Any) -> bool:
    """Whether these are lists of as many entries, each with keys of its own."""
    lists = isinstance(one, list) and isinstance(other, list) and len(one) == len(other)
    return lists and all(isinstance(entry, dict) for entry in (*one, *other))


def _there(stage: Stage) -> list[str]:
    """Return what is there of all that a stage writes."""
    return [path for path in (*stage.makes, *stage.keeps) if Path(path).exists()]


def _set_aside(stage: Stage) -> Path:
    """Move all that a stage wrote, its record last, to a folder of its own."""
    number = 1
    # One without a record was begun by a process that was killed.
    while (ASIDE / f"{stage.name}-{number}" / "record.json").exists():
        number += 1
    place = ASIDE / f"{stage.name}-{number}"
    place.mkdir(parents=True, exist_ok=True)
    for path in _there(stage):
        Path(path).replace(place / Path(path).name)
    _record_path(stage).replace(place / "record.json")
    return place


def _record_path(stage: Stage) -> Path:
    return RECORDS / f"{stage.name}.json"


def _read(stage: Stage) -> dict[str, Any] | None:
    path = _record_path(stage)
    if not path.exists():
        return None
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        record["inputs"]["settings"], record["inputs"]["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise SettingsError(
            f"{Path.cwd() / path} is damaged; move it and what the stage made away."
        ) from error
    return record


def _write(stage: Stage, record: Mapping[str, Any]) -> None:
    write_text(_record_path(stage), json.dumps(record, indent=2, sort_keys=True) + "\n")


def _digests(paths: tuple[str, ...]) -> dict[str, str]:
    return {path: _digest(policy_file(path)) for path in paths}


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of a folder's names and files; of nothing, nothing."""
    if path.is_dir():
        files = sorted(entry for entry in path.rglob("*") if entry.is_file())
        lines = [f"{entry.relative_to(path).as_posix()} {_digest(entry)}\n" for entry in files]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
