"""`lanista completion`: a script that lets a shell complete commands, flags and their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Completion:
    """Print a script with which a shell completes the words of `lanista`.

    bash: `lanista completion bash > ~/.local/share/bash-completion/completions/lanista`. zsh: into
    a file `_lanista` in a folder of $fpath. fish: `~/.config/fish/completions/lanista.fish`. Games
    and recipes are those installed now; print it again after installing others."""

    shell: Annotated[
        tyro.conf.Positional[Literal["bash", "zsh", "fish"]], tyro.conf.arg(metavar="SHELL")
    ]
    """bash, zsh or fish."""

    def run(self) -> int:
        """Print the script and return 0."""
        from lanista.cli.arguments import arguments_of
        from lanista.cli.commands import every_command
        from lanista.cli.tools.completion_scripts import script
        from lanista.games import registry
        from lanista.pipeline.recipes import recipe_names
        from lanista.rollout.launchers.table import LAUNCHERS

        words = {name: list(arguments_of(entry.load())) for name, entry in every_command()}
        names = {
            "games": registry.names(),
            "recipes": recipe_names(),
            "launchers": [*LAUNCHERS],
        }
        print(script(self.shell, words, names), end="")
        return 0
