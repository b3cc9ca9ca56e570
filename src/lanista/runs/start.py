"""Which game a policy file says that it plays, and how: what a run takes from its start.

Owns how a file's words and a user's are joined; the user's come first. Knows nothing of bots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lanista.games import registry
from lanista.games.contract import GameError
from lanista.games.trusted_names import policy_game, refuse_settings
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_format import read_header, refused
from lanista.nets.settings import Network


def game_of(policy: str | Path, game: str | None = None) -> str:
    """Return the game of a policy file: as given, or as the file says."""
    if game is not None:
        return game
    file = policy_file(str(policy))
    header = read_header(file)
    try:
        return policy_game(header.game, header.game_path, header.game_file, file.parent)
    except GameError as error:
        raise refused(file, error) from error


def settings_of(policy: str | Path, game: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of `game`: those `chosen`, and for the rest those of a policy file."""
    file = policy_file(str(policy))
    header, declared = read_header(file), registry.entry(game).settings
    settings = {name: value for name, value in header.settings.items() if name in declared}
    try:
        refuse_settings(game, settings, chosen)
    except GameError as error:
        raise refused(file, error) from error
    return {**settings, **chosen}


def undropped_network(policy: str | Path) -> Network:
    """Return a policy file's network without dropout, or Network(), which stands for the file's.

    PPO takes what is dropped for a change of the policy.
    """
    network = read_header(policy_file(str(policy))).network
    if not (network.dropout or network.id_dropout):
        return Network()
    return replace(network, dropout=None, id_dropout=None)
