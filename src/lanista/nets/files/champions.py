"""Policies that come with the project: `champion:GAME`, wherever a player can be named.

`champion:GAME` plays with two seats, `champion:GAME-SEATS` with so many.

Owns the names and where the files lie. Knows nothing of what is in them, and nothing of torch.
"""

from __future__ import annotations

from pathlib import Path

from lanista.errors import LanistaError
from lanista.installed_files import shared_folders

PREFIX = "champion:"
CHAMPIONS = {
    "arena": "arena-champion.safetensors",
    "beastybar": "champion.safetensors",
    "beastybar-3": "champion-3-seats.safetensors",
    "beastybar-4": "champion-4-seats.safetensors",
    "microrts": "microrts-champion.safetensors",
    "showdown": "showdown-champion.safetensors",
}
"""The file in artifacts/ of each game's best policy."""
_USUAL_SEATS = 2
"""Of a policy whose name says no number."""


def champion_names(game: str | None = None) -> list[str]:
    """Return the names of the policies that come with the project, or of one `game`."""
    names = [name for name in CHAMPIONS if game in (None, name.partition("-")[0])]
    return [f"{PREFIX}{name}" for name in names]


def champions_for(game: str, seats: int) -> list[str]:
    """Return the policies that come with the project for a match of a game with so many seats."""
    name = game if seats == _USUAL_SEATS else f"{game}-{seats}"
    return [f"{PREFIX}{name}"] if name in CHAMPIONS else []


def is_champion(word: str | Path) -> bool:
    """Return whether a word is written as the name of a policy that comes with the project."""
    return str(word).startswith(PREFIX)


def policy_file(word: str | Path) -> Path:
    """Return the file of the policy that `word` names: a champion's, or the path itself."""
    if not is_champion(word):
        return Path(word)
    file = CHAMPIONS.get(str(word).removeprefix(PREFIX))
    if file is None:
        names = ", ".join(champion_names())
        raise LanistaError(f"There is no policy {str(word)!r}; known: {names}.")
    for folder in shared_folders("artifacts"):
        if (folder / file).is_file():
            return folder / file
    raise LanistaError(
        f"The policy {str(word)!r} is not installed here: there is no artifacts/{file}; install "
        "the whole package, or name a policy file."
    )
