"""What can be played in the browser, and against whom. Knows nothing of HTTP and of matches."""

from __future__ import annotations

from typing import Any

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.games.scenes import game_name
from lanista.live.files.policy_folder import PolicyFolder
from lanista.nets.files.champions import champions_for
from lanista.nets.files.policy_format import read_header
from lanista.text import printable
from lanista.view.context import ViewContext
from lanista.view.match.walk import header_of, policies_for, walk

OPENSPIEL = (
    "tic_tac_toe", "connect_four", "breakthrough", "othello", "hex(board_size=7)",
    "go(board_size=7)", "checkers", "chess", "clobber", "leduc_poker",
)  # fmt: skip
"""Games of OpenSpiel that are offered by name; any other can be typed."""
_UNPLAYABLE = ("microrts", "pettingzoo", "openspiel")
"""Names that are no game by themselves, or in which a person would answer for each cell."""
LIVE = "live:"
"""Before the place of a live learner's folder."""


def game_names(context: ViewContext) -> list[str]:
    """Return the games that are offered: ours, some of OpenSpiel, and those of policies here."""
    ours = [name for name in registry.names() if name not in _UNPLAYABLE]
    own = []
    for path in walk(context.folder).policies:
        header = header_of(path)
        if header is not None and registry.is_harmless(header.game):
            own.append(header.game)
    names = [*ours, *(f"openspiel:{name}" for name in OPENSPIEL), *own]
    return [name for name in dict.fromkeys(names) if name not in _UNPLAYABLE]


def refuse_game(name: str) -> None:
    """Refuse a name that could run or read a file, or that nobody plays by hand."""
    if registry.is_python_file(name) or not registry.is_harmless(name):
        raise LanistaError(
            f"{printable(name)} can name a file, and a page may not; play it with lanista play."
        )
    if name.partition(":")[0] == "microrts":
        raise LanistaError("microrts asks for an order for every unit; nobody plays it by hand.")


def opponents(context: ViewContext, game: str) -> dict[str, Any]:
    """Return who can be met in a game, and how many sit in it."""
    refuse_game(game)
    entry = registry.entry(game)
    spec = registry.spec_of(game)
    listing = walk(context.folder)
    live = [context.place_of(path) for path in listing.live if _live_game(path) == game]
    seats = entry.settings["seats"].choices if "seats" in entry.settings else (spec.seats,)
    return {
        "game": game_name(spec),
        "about": entry.about,
        "seats": list(seats),
        "bots": registry.bot_names(entry),
        "champions": {number: champions_for(game, number) for number in seats},
        "policies": {number: policies_for(context, game, number, listing) for number in seats},
        "live": live,
        "clocked": bool(entry.board and entry.board.live),
    }


def _live_game(folder: Any) -> str:
    """Return the game that a live folder's policy plays; nothing where that cannot be read."""
    try:
        policies = PolicyFolder(folder / "policy")
        return read_header(policies.path_of(policies.pointer().stable)).game
    except (LanistaError, OSError):
        return ""
