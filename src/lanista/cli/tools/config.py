"""`lanista config`: writes settings files to edit, compares settings, and reads foreign ones."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from lanista.cli.common.flags import RECIPES, number, optional
from lanista.cli.common.outputs import Writes, refuse_file
from lanista.cli.overview import WIDTH
from lanista.errors import LanistaError
from lanista.nets.export_kinds import NEW


@dataclass(frozen=True)
class Config:
    """Write a settings file to edit, show where two differ, or read a plan of another program.

    `config new RECIPE [FILE]` writes a commented file (RECIPE.yaml unless given); without a recipe
    it lists them. `config diff A B` compares settings files, recipes or run folders. `config import
    PLAN --output FILE` turns a Beasty Bar or Pokémon plan of another program into settings, and
    says what became of each key that is none here."""

    action: Annotated[
        tyro.conf.Positional[Literal["new", "diff", "import"]], tyro.conf.arg(metavar="ACTION")
    ]
    """new, diff or import."""
    names: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="NAME ..."), RECIPES
    ] = ()
    """new: a recipe, and the file to write. diff: two files, recipes or run folders. import: a
    plan."""
    output: Annotated[Path | None, optional("FILE"), Writes(NEW)] = None
    """import: the settings file to write."""
    done: Annotated[int, number(0)] = 0
    """import: how many of the plan's iterations were done elsewhere; the run has the rest."""

    def run(self) -> int:
        """Write or print, and return 0."""
        if self.action == "import":
            return self._import()
        if self.output is not None or self.done:
            raise LanistaError(f"--output and --done go with config import, not {self.action}.")
        return self._new() if self.action == "new" else self._diff()

    def _new(self) -> int:
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.files import write_text
        from lanista.pipeline.recipes import find

        if not self.names:
            print(_listed())
            return 0
        if len(self.names) > 2:
            raise LanistaError(
                f"config new takes a recipe and a file, not {len(self.names)} names."
            )
        word, *rest = self.names
        command, text = _text_of(word, find(word))
        file = Path(rest[0] if rest else f"{Path(word).stem}.yaml")
        refuse_file("FILE", file, NEW)
        refuse_unwritable("FILE", file)
        head = f"# Settings from {Path(word).stem}; use them with: {command} {file}\n"
        write_text(file, head + text, NEW)
        print(f"settings: {file}")
        return 0

    def _import(self) -> int:
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.files import write_text
        from lanista.importers.formats import plan_of
        from lanista.importers.key_mapping import import_plan
        from lanista.pipeline.recipe import read_recipe
        from lanista.runs.serialise import SettingsError, commented

        if len(self.names) != 1 or self.output is None:
            raise LanistaError("config import takes one plan and --output FILE.")
        if self.done < 0:
            raise LanistaError(f"--done is {self.done}; give a number of at least 0.")
        plan = Path(self.names[0])
        if not plan.is_file():
            raise LanistaError(f"There is no plan {str(plan)!r}; name a YAML file.")
        refuse_unwritable("--output", self.output)
        try:
            values = read_recipe(plan)
            imported = import_plan(values, plan_of(values), done=self.done)
        except SettingsError as error:
            raise SettingsError(f"{plan}: {error}") from error
        notices = "".join(f"# {' '.join(sentence.split())}\n" for sentence in imported.notices)
        words = [word for flag in imported.flags.items() for word in flag]
        command = shlex.join(["lanista", "rl", "--config", str(self.output), *words])
        train = f"# Train with: {command}\n" if words else ""
        head = f"# Settings from {plan.name}. What became of its other keys:\n{notices}{train}\n"
        write_text(self.output, head + commented(imported.settings), NEW)
        for sentence in imported.notices:
            print(sentence)
        print(f"settings: {self.output}")
        if words:
            print(f"next: {command}")
        return 0

    def _diff(self) -> int:
        from lanista.pipeline.recipes import settings_of
        from lanista.runs.settings import differences

        if len(self.names) != 2:
            raise LanistaError(f"config diff takes two names, not {len(self.names)}.")
        one, other = (settings_of(name) for name in self.names)
        changes = differences(one, other)
        for key, first, second in changes:
            print(f"{key}: {_word(first)} → {_word(second)}")
        if not changes:
            print("The settings are the same.")
        return 0


def _listed() -> str:
    """Return all recipes with what each is for."""
    import textwrap

    from lanista.pipeline.recipes import about_recipe, find, recipe_names

    lines = []
    for name in recipe_names():
        about = textwrap.wrap(about_recipe(find(name)), WIDTH - 4)
        lines += [name, *(f"    {line}" for line in about)]
    ways = "`lanista config new RECIPE` writes one to edit, `lanista run RECIPE` does it."
    return "\n".join([*lines, "", ways])


def _text_of(word: str, path: Path) -> tuple[str, str]:
    """Return the command that takes a recipe, and its text: a pipeline's as its author wrote it."""
    from lanista.pipeline.recipe import is_pipeline, load_recipe, read_recipe
    from lanista.pipeline.recipes import settings_of
    from lanista.runs.serialise import commented

    values = read_recipe(path)
    if not is_pipeline(values):
        return "lanista rl --config", commented(settings_of(word))
    load_recipe(values)
    return "lanista run", path.read_text(encoding="utf-8")


def _word(value: object) -> str:
    return "—" if value is None else str(value)
