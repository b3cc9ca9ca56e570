"""Who plays, as a script names them: words, policies, or classes of bots. Knows no matches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lanista.api.policies import Policy
from lanista.errors import LanistaError
from lanista.games.bots import PythonBot
from lanista.games.registry import MakeBot

PlayerLike = str | Path | Policy | type[PythonBot] | MakeBot
"""A bot's name, a policy file, `champion:GAME`, `file.py:Bot`, a loaded policy, a class of
`PythonBot`, or a function of (spec, seed) that returns a player."""


def words_of(players: Sequence[PlayerLike]) -> tuple[list[str], dict[str, MakeBot]]:
    """Return a word for each player, and how those that are no words are made."""
    words: list[str] = []
    bot_makers: dict[str, MakeBot] = {}
    for player in players:
        if isinstance(player, str | Path | Policy):
            words.append(word_of(player))
        elif callable(player):
            name = str(getattr(player, "__name__", type(player).__name__))
            # Two classes of one name are two players.
            while bot_makers.get(name, player) is not player:
                name += "'"
            bot_makers[name] = player
            words.append(name)
        else:
            raise LanistaError(
                f"A player is {player!r}; give a bot's name, a policy, or a class of PythonBot."
            )
    return words, bot_makers


def word_of(player: object) -> str:
    """Return the word for a player that a run can name later: no class, no function."""
    if isinstance(player, Policy):
        return player.word
    if isinstance(player, str | Path):
        return str(player)
    raise LanistaError(
        f"{player!r} exists in this program alone, and a run needs a player that it can name; "
        "write the bot to a file and give file.py:Bot."
    )
