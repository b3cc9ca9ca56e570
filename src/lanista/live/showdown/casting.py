"""From words of a user to somebody who plays on a Showdown server.

Finds out who decides (a policy file, a policy folder or a bot), in which format, with which team,
and what it takes for likely of others' teams. Knows nothing of servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError, nearest
from lanista.games import registry
from lanista.games.bot_files import bot_from_file, is_bot_file
from lanista.games.bots import Player
from lanista.games.contract import GameError, Spec
from lanista.games.showdown.formats import Format, format_named, same_choices
from lanista.games.showdown.game import DEFAULT_FORMAT
from lanista.games.showdown.observation.description import NAME, describe
from lanista.games.showdown.observation.token_fields import VERSION
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.usage import read_usage
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.teams.pool import Pool, Team, load_pools
from lanista.games.trusted_names import refuse_settings
from lanista.live.files.policy_folder import PolicyFolder
from lanista.nets.files.champions import champion_names, policy_file
from lanista.nets.files.policy_format import PolicyHeader, read_header

MIRROR = "mirror"


@dataclass(frozen=True)
class Who:
    """Who is to decide, before it is loaded."""

    word: str
    """As the user wrote it."""
    kind: str
    """`file`, `folder` or `bot`."""
    format: Format
    settings: dict[str, Any]
    """Of the game that the policy was made for; empty for a bot."""

    @property
    def team_pool(self) -> str:
        """The pool that the policy learnt with, which it takes others' teams to come from."""
        return str(self.settings.get("team_pool_path", ""))

    @property
    def observation(self) -> int:
        """The version of the observation that the policy reads."""
        return int(self.settings.get("observation", 1))

    def belief_pool(self, pool: str | None) -> str:
        """Return `pool`, or the one that the policy says, which may name no folder by itself."""
        if pool is not None:
            return pool
        try:
            refuse_settings(NAME, {"team_pool_path": self.team_pool}, remedy="--belief-pool for")
        except GameError as error:
            raise LanistaError(f"{self.word} is refused: {error}") from error
        return self.team_pool

    def refuse_usage(self, usage: Path | None, belief_pool: str | None) -> None:
        """Refuse usage statistics for who cannot read them, and beside a pool."""
        if usage is None:
            return
        if belief_pool is not None:
            raise LanistaError("--usage and --belief-pool both say what others bring; give one.")
        if self.observation != VERSION:
            raise LanistaError(
                f"--usage is for players that read observation {VERSION}, and {self.word} reads "
                f"{self.observation}; leave it out, or name a pool with --belief-pool."
            )

    def spec(self, version: str) -> Spec:
        """Return the game that it plays; `version` is the simulator's."""
        mode = str(self.settings.get("mode", MIRROR))
        return describe(self.format, mode, self.team_pool, version, self.observation)


def who_is(word: str, format: str | None = None) -> Who:
    """Return who is meant by a policy file, a policy folder, a bot's name or file.py:Bot."""
    path = policy_file(word)
    if is_bot_file(word) or word in registry.bot_names(registry.entry(NAME)):
        return Who(word, "bot", format_named(format or DEFAULT_FORMAT), {})
    if path.is_dir():
        folder = PolicyFolder(path)
        header = read_header(folder.path_of(folder.pointer().stable))
        return _of_header(word, "folder", header, format)
    if not path.is_file():
        raise LanistaError(
            f"POLICY is {word!r}, which is no file, no policy folder and no bot of Showdown; "
            f"{nearest(word, [*registry.bot_names(registry.entry(NAME)), *champion_names(NAME)])}"
        )
    return _of_header(word, "file", read_header(path), format)


def _of_header(word: str, kind: str, header: PolicyHeader, format: str | None) -> Who:
    if header.game != NAME:
        raise LanistaError(f"{word} plays {header.game}, and no Showdown; name another policy.")
    learnt, wanted = str(header.settings.get("format")), format or ""
    chosen = format_named(wanted or learnt)
    if not same_choices(chosen, format_named(learnt)):
        raise LanistaError(
            f"{word} plays {learnt}, and --format is {wanted}, which has other choices; leave "
            "--format out, or name a policy for that format."
        )
    return Who(word, kind, chosen, dict(header.settings))


def load_player(
    who: Who, spec: Spec, seed: int, *, greedy: bool = False, temperature: float = 1.0
) -> Player:
    """Return the bot, or the policy of a file, as a player."""
    if who.kind == "bot":
        if is_bot_file(who.word):
            return bot_from_file(who.word, spec, seed)
        return registry.make_bot(NAME, who.word, spec, seed)
    from lanista.rollout.inference.policy_players import policy_player

    path: str | Path = who.word
    if who.kind == "folder":
        folder = PolicyFolder(path)
        path = folder.path_of(folder.pointer().stable)
    return policy_player(
        path, spec, seed, greedy=greedy, temperature=temperature, name=who.word, block=0
    )


@dataclass(frozen=True)
class Teams:
    """What is brought, and what others are believed to bring."""

    brought: tuple[Team, ...]
    """Empty where the format makes the teams."""
    belief: Belief | None
    belief_pool: str
    """What the belief was made of, as it was named."""
    version: str
    """The simulator's."""
    left_out: dict[str, str]
    """Files of the pool that are no legal team, and why."""


def read_teams(
    format: Format,
    *,
    file: Path | None = None,
    pool: str | None = None,
    belief_pool: str = "",
    usage: Path | None = None,
) -> Teams:
    """Read what is to be brought, and have the simulator judge it before anybody connects.

    With `usage`, what others bring is believed from these statistics and not from a pool.
    """
    with Battles(1) as battles:
        version = battles.simulator_version
        if not format.brings_team:
            if file is not None or pool is not None:
                raise LanistaError(
                    f"Nobody brings a team to {format.name}; leave --team and --team-pool out."
                )
            if usage is not None:
                raise LanistaError(
                    f"The simulator makes the teams of {format.name}, and what they bring is known "
                    "already; leave --usage out."
                )
            return Teams((), None, "", version, {})
        team_pool: Pool | None = None
        if file is not None:
            brought: tuple[Team, ...] = (_read_team(file, format, battles),)
        else:
            team_pool = load_pools(pool or "", format.name, battles)
            brought = team_pool.teams
        belief = read_belief(format, belief_pool, battles, usage)
    believed = belief_pool if usage is None else str(usage)
    return Teams(brought, belief, believed, version, dict(team_pool.left_out) if team_pool else {})


def read_belief(
    format: Format, belief_pool: str, battles: Battles, usage: Path | None = None
) -> Belief:
    """Return what is likely of somebody who brings a team of this pool, or as statistics say."""
    if usage is not None:
        return Belief((), read_usage(usage))
    try:
        believed = load_pools(belief_pool, format.name, battles)
    except GameError as error:
        raise LanistaError(
            f"{str(error).rstrip('.')}; the policy believes in those teams: name a pool with "
            "--belief-pool."
        ) from error
    return Belief.of_teams(team.packed for team in believed.teams)


def _read_team(file: Path, format: Format, battles: Battles) -> Team:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise LanistaError(f"--team is {str(file)!r}, which cannot be read: {why}.") from error
    ((packed, problems),) = battles.validate(format.name, [text])
    if problems:
        raise LanistaError(
            f"--team is {str(file)!r}, which {format.name} does not allow: {problems[0]}"
        )
    return Team(file.stem, packed)
