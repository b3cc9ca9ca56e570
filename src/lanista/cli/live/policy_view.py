"""What `lanista policy list` shows: who plays, what each policy scored, and how it came about.

Reads the policy folder and the learner's book beside it. Changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lanista.cli.common.table import UNKNOWN, interval, table
from lanista.evaluation.score import Estimate, mean_score
from lanista.live.files.policy_folder import Change, PolicyFolder
from lanista.live.learner.ledger import NAME, GameRow, reading
from lanista.nets.policy_format import PolicyFileError, read, read_header
from lanista.text import printable

if TYPE_CHECKING:
    from rich.console import Console

_SHORT = 12
_LAST_CHANGES = 30


@dataclass(frozen=True)
class PolicyLine:
    """One policy of a folder."""

    digest: str
    role: str
    """stable, on trial, compared with (the one before, while the stable one is watched), or
    nothing."""
    step: int | None
    """Updates that made it; None where its file is gone or damaged."""
    size: int | None
    """Bytes of its file."""
    trouble: str
    """What is wrong with its file, if anything."""
    games: int | None
    """Games of it that the learner took in; None without a learner."""
    wins: int
    draws: int
    losses: int
    cut_off: int
    score: Estimate | None
    """Of games with a result: (wins + ½ draws) / n."""


@dataclass(frozen=True)
class ChangeLine:
    """One change of the pointer."""

    serial: int
    at: float | None
    """In seconds since 1970."""
    stable: str
    candidate: str | None
    share: float
    before: str | None
    reason: str
    others: tuple[str, ...] = ()
    """Further candidates."""


@dataclass(frozen=True)
class FolderView:
    """All that is shown of a policy folder."""

    folder: str
    serial: int
    stable: str
    candidate: str | None
    share: float
    """Of games that the candidate plays."""
    watched: bool
    """Whether the stable policy is new and compared with the one before, in the candidate's
    place."""
    policies: tuple[PolicyLine, ...]
    history: tuple[ChangeLine, ...]
    others: tuple[str, ...] = ()
    """Further candidates, which share the games with the first."""


def look(path: Path) -> FolderView:
    """Return what a policy folder holds now."""
    folder = PolicyFolder(path)
    pointer, history = folder.pointer(), folder.history()
    watched = any(one.pointer.serial == pointer.serial and one.watched for one in history)
    roles = {pointer.stable: "stable"}
    for digest in pointer.candidates:
        roles.setdefault(digest, "compared with" if watched else "on trial")
    played = _played(path / "learner" / NAME)
    return FolderView(
        folder=str(path),
        serial=pointer.serial,
        stable=pointer.stable,
        candidate=pointer.candidate,
        others=pointer.others,
        share=pointer.share,
        watched=watched,
        policies=tuple(
            _policy(folder, digest, roles.get(digest, ""), played)
            for digest in _order(folder, roles, history, played or {})
        ),
        history=tuple(
            ChangeLine(
                serial=one.pointer.serial,
                at=one.at,
                stable=one.pointer.stable,
                candidate=one.pointer.candidate,
                others=one.pointer.others,
                share=one.pointer.share,
                before=one.before,
                reason=one.reason,
            )
            for one in history
        ),
    )


def _played(path: Path) -> dict[str, list[GameRow]] | None:
    """Return the games of each policy; None where no learner ever ran."""
    if not path.exists():
        return None
    played: dict[str, list[GameRow]] = {}
    with reading(path) as ledger:
        for game in ledger.games():
            played.setdefault(game.policy, []).append(game)
    return played


def _order(
    folder: PolicyFolder,
    roles: dict[str, str],
    history: Sequence[Change],
    played: dict[str, list[GameRow]],
) -> list[str]:
    """Return all policies there are: what plays, then by their last change, then the rest."""
    named = [
        digest
        for change in reversed(history)
        for digest in (change.pointer.stable, *change.pointer.candidates, change.before)
        if digest is not None
    ]
    files = sorted(path.stem for path in folder.policies.glob("*.safetensors"))
    return list(dict.fromkeys([*roles, *named, *played, *files]))


def _policy(
    folder: PolicyFolder, digest: str, role: str, played: dict[str, list[GameRow]] | None
) -> PolicyLine:
    step, size, trouble = _file(folder.path_of(digest), digest, whole=bool(role))
    games = [] if played is None else played.get(digest, [])
    results = np.array([np.sign(one.outcome) for one in games if one.outcome is not None])
    return PolicyLine(
        digest=digest,
        role=role,
        step=step,
        size=size,
        trouble=trouble,
        games=None if played is None else len(games),
        wins=int((results > 0).sum()),
        draws=int((results == 0).sum()),
        losses=int((results < 0).sum()),
        cut_off=len(games) - len(results),
        score=mean_score((results + 1) / 2),
    )


def _file(path: Path, digest: str, *, whole: bool) -> tuple[int | None, int | None, str]:
    """Return a policy file's step and size, and what is wrong with it; `whole` reads it all."""
    if not path.is_file():
        return None, None, "no file"
    size = path.stat().st_size
    try:
        if whole and read(path).digest != digest:
            return None, size, "damaged"
        return read_header(path).step, size, ""
    except PolicyFileError:
        return None, size, "damaged"


def show(out: Console, view: FolderView) -> None:
    """Print who plays, the policies, and the last changes."""
    out.print(f"{printable(view.folder, 300)}: {_who(view)} (change {view.serial})")
    out.print(
        table(
            ["policy", "", "step", "KiB", "games", "wins", "draws", "losses", "cut off", "score"],
            [_row(policy) for policy in view.policies],
            left=2,
        )
    )
    if any(policy.games is None for policy in view.policies):
        out.print("No learner has run here, so games and scores are not known.")
    shown = view.history[-_LAST_CHANGES:]
    rows = [
        [
            str(one.serial),
            _when(one.at),
            one.stable[:_SHORT],
            " ".join(map(_short, (one.candidate, *one.others))),
            printable(one.reason, 200),
            f"{one.share:g}" if one.candidate else UNKNOWN,
        ]
        for one in shown
    ]
    columns = ["change", "time", "stable", "candidate", "reason", "share"]
    out.print(table(columns, rows, left=5))
    if len(shown) < len(view.history):
        out.print(f"and {len(view.history) - len(shown)} changes before; --json has them all")


def _who(view: FolderView) -> str:
    stable, candidate = view.stable[:_SHORT], _short(view.candidate)
    if view.candidate is None:
        return f"{stable} plays alone"
    if view.watched:
        return (
            f"{stable} is new and watched; {candidate}, which was stable before, plays "
            f"{view.share:.0%} of the games to compare it with"
        )
    if view.others:
        names = ", ".join(map(_short, (view.candidate, *view.others)))
        own = view.share / (1 + len(view.others))
        return f"{stable} plays, and the candidates {names} in {own:.0%} of the games each"
    return f"{stable} plays, and the candidate {candidate} in {view.share:.0%} of the games"


def _row(policy: PolicyLine) -> list[str]:
    has_counts = policy.games is not None
    counts = (policy.wins, policy.draws, policy.losses, policy.cut_off)
    return [
        policy.digest[:_SHORT],
        ", ".join(word for word in (policy.role, policy.trouble) if word),
        UNKNOWN if policy.step is None else str(policy.step),
        UNKNOWN if policy.size is None else f"{policy.size / 1024:,.0f}",
        f"{policy.games:,}" if has_counts else UNKNOWN,
        *(f"{count:,}" if has_counts else UNKNOWN for count in counts),
        interval(policy.score),
    ]


def _short(digest: str | None) -> str:
    return UNKNOWN if digest is None else digest[:_SHORT]


def _when(at: float | None) -> str:
    return UNKNOWN if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
