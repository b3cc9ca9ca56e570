"""Who sits at a run's tables: opponents by name.

Policies and bots' files are taken from the run's own folder, by the digest fixed when it began.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lanista.errors import LanistaError, RefusedError, nearest
from lanista.games import registry
from lanista.games.bot_files import bot_from_file, bot_with_digest, is_bot_file, split_word
from lanista.games.bots import Player
from lanista.games.contract import Spec
from lanista.nets.files.champions import champion_names, policy_file
from lanista.rollout.inference.policy_players import file_digest, policy_player
from lanista.rollout.inference.row_blocks import BLOCK
from lanista.runs.folder import bot_path, policy_path
from lanista.runs.settings import SELF, RunSettings


def is_bot(game: str, word: str) -> bool:
    """Return whether `word` names a bot of the game."""
    return word in registry.all_bot_names(registry.entry(game))


def files_named(settings: RunSettings) -> list[str]:
    """Return the policy files and bot files that the settings name, each once."""
    words = [*settings.opponents, *settings.evaluation.bots]
    files = [word for word in words if word != SELF and not is_bot(settings.game, word)]
    for word in files:
        refuse_unknown(settings.game, word, SELF)
    for opponent in settings.rollouts.opponents:
        if opponent.greedy:
            refuse_greedy_bot(settings.game, opponent.player)
    start = settings.supervised_checkpoint
    if start and not policy_file(start).is_file():
        raise LanistaError(
            f"There is no policy file {start!r} to begin from; make one with `lanista imitate`, or "
            "set supervised_checkpoint to another."
        )
    files += [start] if start else []
    return list(dict.fromkeys(files))


def refuse_unknown(game: str, word: str, *more: str) -> None:
    """Refuse a word that is neither a bot of the game nor a file."""
    file = split_word(word)[0] if is_bot_file(word) else policy_file(word)
    if reason := registry.entry(game).missing_bots.get(word):
        raise LanistaError(f"The bot {word!r} of {game} cannot be made here: {reason}")
    if not is_bot(game, word) and not file.is_file():
        players = [*more, *registry.all_bot_names(registry.entry(game)), *champion_names(game)]
        raise LanistaError(
            f"{word!r} is neither a bot of {game} nor a policy file nor a bot's .py file; "
            f"{nearest(word, players)}"
        )


def refuse_greedy_bot(game: str, word: str) -> None:
    """Refuse a scripted player that is to play greedy."""
    if is_bot(game, word) or is_bot_file(word):
        raise LanistaError(
            f"{word} is to play greedy, and it is no policy file: a bot plays in its own manner; "
            "drop greedy, or name a policy file."
        )


def player_of(game: str, word: str, spec: Spec, seed: int, *, greedy: bool = False) -> Player:
    """Return the player that `word` names: a bot, a policy file, or a bot's Python file."""
    refuse_unknown(game, word)
    if greedy:
        refuse_greedy_bot(game, word)
    if is_bot(game, word):
        return registry.make_bot(game, word, spec, seed)
    if is_bot_file(word):
        return bot_from_file(word, spec, seed)
    return policy_player(word, spec, seed, name=word, greedy=greedy)


def make_player(
    settings: RunSettings,
    word: str,
    digest: str,
    spec: Spec,
    folder: Path,
    seed: int,
    *,
    device: str = "cpu",
) -> Player:
    """Return a bot, or the policy or bot file with `digest` from the run's folder.

    A policy runs on `device`; matches that are to be played again need the CPU, where it acts in
    blocks. Elsewhere each block would be waited for.
    """
    if not digest:
        return registry.make_bot(settings.game, word, spec, seed)
    file = bot_path(folder, digest)
    if file.is_file():
        bot = bot_with_digest(file, digest, spec, seed, word)
        refuse_other(file, bot.digest if bot else "", digest, "bot")
        assert bot is not None
        return bot
    path = policy_path(folder, digest)
    block = BLOCK if device == "cpu" else 0
    greedy = any(
        bool(other.greedy) for other in settings.rollouts.opponents if other.player == word
    )
    how: dict[str, Any] = {"block": block, "device": device, "greedy": greedy}
    player = policy_player(path, spec, seed, name=word, **how)
    refuse_other(path, file_digest(player.digest), digest)
    return player


def refuse_other(path: Path, digest: str, expected: str, kind: str = "policy") -> None:
    """Refuse a player in the run's folder that is not the one its name says."""
    if digest != expected:
        raise RefusedError(
            f"{path} is not the {kind} the run was begun with, which has the digest "
            f"{expected[:12]}; put that one back."
        )
