"""Gathers what can be known of a spool and of a policy folder, once, for those who judge it.

Reads only. Locks are asked for a moment and let go. Knows nothing of what is a fault.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.live.agent.journal import SUFFIX as JOURNAL
from lanista.live.agent.journal import abandoned
from lanista.live.files.policy_folder import POINTER, Change, Pointer, PolicyFolder
from lanista.live.files.recorded_games import Games, read_games
from lanista.live.files.spool import REASON, SUFFIX, Spool
from lanista.live.learner.ledger import NAME as LEDGER
from lanista.live.learner.ledger import BatchRow, Event, GameRow, Ledger, reading
from lanista.lock import is_held
from lanista.nets.files import policy_format
from lanista.nets.files.policy_format import PolicyHeader
from lanista.text import printable
from lanista.yaml_text import YamlError, read_yaml

LEARNER = "learner"
_MOST_REASON = 1 << 12
_REFUSED = re.compile(r"^The (?:game file|journal) '.*?' is refused: ")


@dataclass(frozen=True)
class Book:
    """A learner's ledger, as far as it is looked at."""

    rows: tuple[GameRow, ...]
    """The newest games that took effect."""
    learned: frozenset[str]
    """Contents of all games that were learned from."""
    batches: tuple[BatchRow, ...]
    events: tuple[Event, ...]
    update_by_policy: Mapping[str, int]
    """The update that each policy came from which the learner made or met, by digest."""
    entropy: tuple[tuple[int, float], ...]
    """By update, all heads together, in nats."""


@dataclass(frozen=True)
class Service:
    """A policy folder: who plays, and who learns."""

    folder: Path
    pointer: Pointer | None
    pointed: int
    """When the pointer was last changed, in nanoseconds."""
    trouble: str
    """Why the pointer or its stable policy cannot be used; empty if they can."""
    header: PolicyHeader | None
    """Of the stable policy."""
    history: tuple[Change, ...]
    files: frozenset[str]
    """Digests of the policies that lie in the folder."""
    learner_running: bool
    """Whether a learner works on it now."""
    book: Book | None
    """None: no learner ever did."""
    settings: Mapping[str, Any]
    """The learner's, as far as they can be read."""

    @property
    def known_policies(self) -> frozenset[str]:
        """Digests of all policies that this folder or its learner ever named."""
        named = {change.pointer.stable for change in self.history}
        for change in self.history:
            named |= {*change.pointer.candidates}
        if self.pointer is not None:
            named |= {self.pointer.stable, *self.pointer.candidates}
        update_by_policy = self.book.update_by_policy if self.book is not None else {}
        return frozenset(named - {""}) | self.files | frozenset(update_by_policy)


@dataclass(frozen=True)
class Traffic:
    """A spool: how much lies where, and the games that were looked at."""

    folder: Path
    learner_running: bool
    """Whether a learner works on it now."""
    waiting: int
    in_work: int
    archived: int
    playing: int
    """Journals of games that are being played."""
    dead: tuple[str, ...]
    """Journals whose process is gone."""
    refused: int
    reasons: tuple[tuple[str, int], ...]
    """Why, the commonest first."""
    games: Games


def look_at_policy(folder: Path, most: int) -> Service:
    """Return what can be known of a policy folder."""
    policies = PolicyFolder(folder)
    pointer, header, trouble = None, None, ""
    changes: list[Change] = []
    try:
        pointer = policies.pointer()
        header = policy_format.read(policies.path_of(pointer.stable)).header
        changes = policies.history()
    except LanistaError as error:
        trouble = str(error)
    path = folder / POINTER
    home = folder / LEARNER
    return Service(
        folder=folder,
        pointer=pointer,
        pointed=path.stat().st_mtime_ns if path.exists() else 0,
        trouble=trouble,
        header=header,
        history=tuple(changes),
        files=frozenset(file.stem for file in policies.policies.glob("*.safetensors")),
        learner_running=home.is_dir() and is_held(home),
        book=_book(home / LEDGER, most),
        settings=_settings(home / "settings.yaml"),
    )


def look_at_spool(folder: Path, most: int, service: Service | None) -> Traffic:
    """Return what can be known of a spool."""
    spool = Spool(folder)
    book = None if service is None else service.book
    journals = sorted(spool.open.glob(f"*{JOURNAL}")) if spool.open.is_dir() else []
    dead = [path.name for path in journals if abandoned(path)]
    reasons = _reasons(spool.bad)
    return Traffic(
        folder=folder,
        learner_running=spool.work.is_dir() and is_held(spool.work),
        waiting=_count(spool.new),
        in_work=_count(spool.work),
        archived=sum(_count(path) for path in spool.archive.glob("[0-9a-f][0-9a-f]")),
        playing=len(journals) - len(dead),
        dead=tuple(dead),
        refused=sum(reasons.values()),
        reasons=tuple(reasons.most_common()),
        games=read_games(
            spool,
            most,
            None if service is None else service.header,
            None if book is None else book.learned,
        ),
    )


def spool_of(service: Service) -> Path | None:
    """Return the spool that a policy folder's learner last learned from."""
    for event in reversed(service.book.events if service.book else ()):
        if event.kind == "started" and isinstance(event.body.get("spool"), str):
            return Path(event.body["spool"])
    return None


def _book(path: Path, most: int) -> Book | None:
    if not path.is_file():
        return None
    with reading(path) as ledger:
        return Book(
            rows=tuple(ledger.games(most)),
            learned=frozenset(ledger.learned()),
            batches=tuple(ledger.batches()),
            events=tuple(ledger.events()),
            update_by_policy={digest: update for digest, (update, _) in ledger.policies().items()},
            entropy=_entropy(ledger),
        )


def _entropy(ledger: Ledger) -> tuple[tuple[int, float], ...]:
    """Return the sum over heads; one head's entropy alone says nothing of the others."""
    total: dict[int, float] = {}
    for name in ledger.metric_names():
        if name.startswith("policy/entropy"):
            for update, value in ledger.metrics(name):
                total[update] = total.get(update, 0.0) + value
    return tuple(sorted(total.items()))


def _settings(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        values = read_yaml(path)
    except YamlError:
        return {}
    return values if isinstance(values, dict) else {}


def _count(folder: Path) -> int:
    if not folder.is_dir():
        return 0
    with os.scandir(folder) as entries:
        return sum(e.name.endswith(SUFFIX) and not e.name.startswith(".") for e in entries)


def _reasons(bad: Path) -> Counter[str]:
    """Count why files were refused, their names taken out so that like ones fall together."""
    count_by_reason: Counter[str] = Counter()
    for path in sorted(bad.glob(f"*{REASON}")) if bad.is_dir() else []:
        if not stat.S_ISREG(path.lstat().st_mode):
            continue  # A pipe would be waited for, and a link leads elsewhere.
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST_REASON).strip()
        count_by_reason[printable(_REFUSED.sub("", text), 200)] += 1
    return count_by_reason
