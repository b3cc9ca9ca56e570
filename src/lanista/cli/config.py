"""`lanista config`: writes a recipe out as a commented file to edit, and compares settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from lanista.errors import LanistaError, RefusedError


@dataclass(frozen=True)
class Config:
    """Write a settings file to edit, or show where two differ.

    `config new RECIPE [FILE]` writes a commented file (RECIPE.yaml unless given); without a recipe
    it lists them. `config diff A B` compares settings files, recipes or run folders."""

    action: Annotated[tyro.conf.Positional[Literal["new", "diff"]], tyro.conf.arg(metavar="ACTION")]
    """new or diff."""
    names: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="NAME ...")] = ()
    """new: a recipe, and the file to write. diff: two files, recipes or run folders."""

    def run(self) -> int:
        """Write or print, and return 0."""
        return self._new() if self.action == "new" else self._diff()

    def _new(self) -> int:
        from lanista.files import write_text
        from lanista.pipeline.plain import commented
        from lanista.pipeline.recipes import recipe_names, settings_of

        if not self.names:
            print("\n".join(recipe_names()))
            return 0
        if len(self.names) > 2:
            raise LanistaError(
                f"config new takes a recipe and a file, not {len(self.names)} names."
            )
        word, *rest = self.names
        settings = settings_of(word)
        file = Path(rest[0] if rest else f"{Path(word).stem}.yaml")
        if file.exists():
            raise RefusedError(f"{file} exists; name another file, or move it away.")
        head = f"# Settings from {Path(word).stem}; use them with: lanista rl --config {file}\n"
        write_text(file, head + commented(settings))
        print(f"settings: {file}")
        return 0

    def _diff(self) -> int:
        from lanista.pipeline.recipes import settings_of
        from lanista.pipeline.settings import differences

        if len(self.names) != 2:
            raise LanistaError(f"config diff takes two names, not {len(self.names)}.")
        one, other = (settings_of(name) for name in self.names)
        found = differences(one, other)
        for key, first, second in found:
            print(f"{key}: {_word(first)} → {_word(second)}")
        if not found:
            print("The settings are the same.")
        return 0


def _word(value: object) -> str:
    return "—" if value is None else str(value)
