"""Settles what a new run depends on outside of itself: files become digests, defaults values."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from lanista.errors import LanistaError
from lanista.games import registry, trust
from lanista.games.bot_files import is_bot_file, kept_bot
from lanista.games.contract import Spec
from lanista.games.trusted_names import remember_run
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_file import load_policy
from lanista.nets.settings import Network
from lanista.rollout.trajectory_builder import refuse_draw
from lanista.runs import start
from lanista.runs.folder import bot_path, policy_path
from lanista.runs.players import files_named
from lanista.runs.settings import RunSettings


def resolve(settings: RunSettings) -> tuple[RunSettings, dict[str, bytes]]:
    """Return settings with every file named by its digest, and the files that a run keeps.

    What is not said of the game is as the policy to begin from has it.
    """
    entry = registry.entry(settings.game)
    files = files_named(settings)
    values = dict(settings.game_settings)
    if settings.supervised_checkpoint:
        values = start.settings_of(settings.supervised_checkpoint, settings.game, values)
    chosen = registry.check_settings(entry, values)
    spec = registry.spec_of(settings.game, seed=settings.seed, **chosen)
    # The run is the user's own from here on: going on with it needs no leave again.
    remember_run(settings.game, chosen)
    digest = _same(settings.game, settings.game_digest or "", registry.file_digest(settings.game))
    settings = replace(settings, game_settings=chosen, game_digest=digest or None)
    refuse_draw(settings.rollouts.draw, spec)
    digests: dict[str, str] = {}
    data: dict[str, bytes] = {}
    for word in files:
        digests[word], name, content = _kept(word, spec, settings.seed)
        data[name] = content
    return _with_digests(settings, digests, spec), data


def _kept(word: str, spec: Spec, seed: int) -> tuple[str, str, bytes]:
    """Return a file's digest, its name in a run's folder and its bytes; refuse a misfit."""
    here = Path()
    if is_bot_file(word):
        bot, content = kept_bot(word, spec, seed)
        trust.remember(trust.sha256(content), word)
        return bot.digest, bot_path(here, bot.digest).name, content
    load_policy(word, spec)  # Refuses what does not fit this game.
    content = policy_file(word).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return digest, policy_path(here, digest).name, content


def _with_digests(settings: RunSettings, digests: dict[str, str], spec: Spec) -> RunSettings:
    opponents = tuple(
        replace(
            opponent,
            digest=_same(opponent.player, opponent.digest, digests.get(opponent.player, "")),
        )
        for opponent in settings.rollouts.opponents
    )
    settings = replace(settings, rollouts=replace(settings.rollouts, opponents=opponents))
    bots = {word: digests[word] for word in settings.evaluation.bots if word in digests}
    settings = replace(settings, evaluation=replace(settings.evaluation, digests=bots))
    policy = settings.supervised_checkpoint
    if not policy:
        return settings
    digest = _same(policy, settings.supervised_digest, digests[policy])
    network = _network(settings.network, load_policy(policy, spec).policy.network, policy)
    return replace(settings, supervised_digest=digest, network=network)


def _same(file: str, expected: str, digest: str) -> str:
    if expected and expected != digest:
        raise LanistaError(
            f"{file} has the digest {digest[:12] or 'of a bot'}, and the settings ask for "
            f"{expected[:12]}; give that file, or drop the digest from the settings."
        )
    return digest


def _network(configured: Network, file_network: Network, file: str) -> Network:
    """Return the file's network, with the settings' dropout where they describe it.

    Settings that ask for another network are refused, and so is a file that cannot be trained.
    What is dropped while learning is no part of a network's weights.
    """
    file_network.refuse_training()
    if configured == Network():
        return file_network
    if _without_dropout(configured) != _without_dropout(file_network):
        raise LanistaError(
            f"The settings ask for another network than {file} has; drop `network` from them."
        )
    return replace(file_network, dropout=configured.dropout, id_dropout=configured.id_dropout)


def _without_dropout(network: Network) -> Network:
    return replace(network.resolved, dropout=None, id_dropout=None)
