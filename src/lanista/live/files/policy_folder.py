"""The policy folder: policies by digest, and the pointer that says which of them play.

Owns the pointer, its history, publishing and rolling back, each one atomic change of one small
file. Whoever changes something holds the folder for that moment, so an operator and a learner may
do so at once; readers need no lock. Knows nothing of what makes a policy better.
"""

from __future__ import annotations

import hashlib
import math
import re
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError, RefusedError
from lanista.files import write_bytes, write_text
from lanista.foreign import refuse_unsafe_folder
from lanista.live.files.game_header import Layout
from lanista.live.files.pointer import Pointer
from lanista.live.files.sealed_json import SealError, parse_sealed, read_sealed, sealed
from lanista.lock import holding
from lanista.nets.files import policy_format
from lanista.text import printable, quoted

__all__ = [
    "PATIENCE",
    "POINTER",
    "Change",
    "Pointer",
    "PolicyFolder",
    "PolicyFolderError",
    "pointer_in",
]
POINTER = "current.json"
PATIENCE = 10.0
"""Seconds that a change waits for another writer; one takes milliseconds."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ENTRY = re.compile(r"([0-9]{8,19})\.json")


class PolicyFolderError(LanistaError):
    """A policy folder does not say which policy plays, or says nonsense."""


@dataclass(frozen=True)
class Change:
    """One line of a folder's history."""

    pointer: Pointer
    before: str | None
    """The stable policy that a roll-back returns to."""
    reason: str
    at: float | None = None
    """When it was made, in seconds since 1970; None: nobody wrote it down."""
    watched: bool = False
    """Whether the candidate is no candidate, but the policy before, to compare a new one with."""


class PolicyFolder:
    """A folder with `current.json`, `policies/` and `history/`."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        refuse_unsafe_folder(self.folder)
        self.policies = self.folder / "policies"
        self.history_folder = self.folder / "history"
        self._turn = threading.RLock()
        self._depth = 0

    @contextmanager
    def changing(self, *, create: bool = False) -> Iterator[None]:
        """Hold the folder against other writers while the block runs; wait a while for them.

        Every method that changes something does so by itself. Around several of them it makes
        sure that nobody comes between. `create` makes the folder if it is not there.
        """
        with self._turn:
            if create:
                self.folder.mkdir(parents=True, exist_ok=True)
            elif not self.folder.is_dir():
                raise PolicyFolderError(
                    f"There is no policy folder {printable(self.folder)}; publish a policy into it "
                    "first."
                )
            if self._depth:
                yield
                return
            with holding(self.folder, "policy folder", PATIENCE):
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1

    def path_of(self, digest: str) -> Path:
        """Return the file of a policy."""
        return self.policies / f"{_digest(digest)}.safetensors"

    def pointer(self) -> Pointer:
        """Return which policies play now."""
        path = self.folder / POINTER
        return _pointer(_read(path), path)

    def adopt(self, data: bytes) -> Pointer:
        """Let the pointer be what the bytes of another folder's pointer say, byte for byte."""
        path = self.folder / POINTER
        pointer = pointer_in(data, path)
        with self.changing(create=True):
            write_bytes(path, data)
        return pointer

    def found(self) -> Pointer | None:
        """Return which policies play now; None in a folder where none was published yet."""
        return self.pointer() if (self.folder / POINTER).exists() else None

    def _last(self) -> Pointer | None:
        """Return which policies play now; of a damaged pointer, what the history says it was."""
        try:
            return self.found()
        except PolicyFolderError:
            serials = self._serials()
            for serial in reversed(serials):
                with suppress(PolicyFolderError):
                    return replace(self._entry(serial).pointer, serial=serials[-1])
            return None

    def add(self, data: bytes) -> str:
        """Put the bytes of a policy file into the folder; return its digest. Nobody plays it."""
        digest = hashlib.sha256(data).hexdigest()
        path = self.path_of(digest)
        with self.changing(create=True):
            if _holds(path, digest):
                return digest
            write_bytes(path, data)
            try:
                policy_format.read(path)
            except policy_format.PolicyFileError:
                path.unlink(missing_ok=True)
                raise
        return digest

    def publish(self, digest: str, reason: str = "published", watch_share: float = 0.0) -> Pointer:
        """Make a policy the stable one, and end the trial of a candidate.

        With a `watch_share` the stable policy before it goes on with that share of the games, in
        the candidate's place, if it is another one and its file is whole.
        """
        _refuse_share(watch_share)
        with self.changing():
            now = self._last()
            if now is not None:
                self._refuse_other(digest, now.stable)
            new = now is not None and now.stable != digest
            before = now.stable if now is not None and new else self._before(now)
            if new and before is not None and watch_share and _holds(self.path_of(before), before):
                pointer = Pointer(digest, before, float(watch_share))
                return self._change(pointer, before, reason, watched=True)
            return self._change(Pointer(digest), before, reason)

    def try_out(
        self,
        digest: str,
        share: float,
        reason: str = "candidate",
        beside: Sequence[str] = (),
    ) -> Pointer:
        """Let a candidate play a share of the games beside the stable policy.

        Candidates `beside` it, which were there before, share it with the new one.
        """
        _refuse_share(share)
        with self.changing():
            now = self.pointer()
            self._refuse_other(digest, now.stable)
            first, *others = (*beside, digest)
            pointer = Pointer(now.stable, first, float(share), others=tuple(others))
            return self._change(pointer, self._before(now), reason)

    def withdraw(
        self, reason: str = "withdrawn", keep: Sequence[str] = (), share: float = 0.0
    ) -> Pointer:
        """Let the stable policy play alone, or beside the candidates `keep` alone."""
        _refuse_share(share)
        with self.changing():
            now = self.pointer()
            first, *others = keep or (None,)
            left = float(share) if keep else 0.0
            pointer = Pointer(now.stable, first, left, others=tuple(map(str, others)))
            return self._change(pointer, self._before(now), reason)

    def roll_back(self, reason: str = "rolled back", to: str | None = None) -> Pointer:
        """Return to the policy that was stable before this one; again, to the one before that.

        `to` names another one that was stable once.
        """
        with self.changing():
            now = self.pointer()
            target = self._before(now) if to is None else _digest(to)
            if target is None:
                raise RefusedError(
                    f"{printable(self.folder)} knows no policy before {now.stable[:12]}; publish "
                    "one."
                )
            if target == now.stable:
                raise RefusedError(f"The policy {target[:12]} is the stable one already.")
            earlier = [
                change
                for change in self.history()
                if change.pointer.stable == target and change.pointer.serial < now.serial
            ]
            if to is not None and not earlier:
                raise RefusedError(
                    f"The policy {target[:12]} was never stable in {printable(self.folder)}; "
                    "publish it."
                )
            policy_format.read(self.path_of(target))
            before = earlier[-1].before if earlier else None
            return self._change(Pointer(target), before, reason)

    def history(self) -> list[Change]:
        """Return all changes that took effect, the oldest first."""
        now = self.found()
        last = -1 if now is None else now.serial
        changes = []
        # One beyond the pointer was written just before its writer was killed.
        for serial in (serial for serial in self._serials() if serial <= last):
            try:
                changes.append(self._entry(serial))
            except PolicyFolderError:
                if self._entry_path(serial).exists():
                    raise
                # Pruned while it was being read.
        return changes

    def last_change(self) -> Change | None:
        """Return the change that made the pointer what it is; None: nobody wrote it down."""
        now = self.found()
        if now is None or not self._entry_path(now.serial).exists():
            return None
        return self._entry(now.serial)

    def prune(self, keep: int, spared: Collection[str] = ()) -> int:
        """Remove policies that neither the last `keep` changes nor `spared` name; return how many
        went."""
        with self.changing():
            changes = self.history()
            now = self.pointer()
            named = {now.stable, *now.candidates, self._before(now), *spared}
            for change in changes[-keep:] if keep > 0 else []:
                named |= {change.pointer.stable, *change.pointer.candidates, change.before}
            gone = [path for path in self.policies.glob("*.safetensors") if path.stem not in named]
            for path in gone:
                path.unlink(missing_ok=True)
                path.with_suffix(".onnx").unlink(missing_ok=True)
            for change in changes[: -keep or None]:
                if not {change.pointer.stable, change.before} <= named:
                    self._entry_path(change.pointer.serial).unlink(missing_ok=True)
            return len(gone)

    def _refuse_other(self, digest: str, stable: str) -> None:
        """Refuse a policy that is damaged, or that bots of the stable one could not load."""
        layout = Layout.of(policy_format.read(self.path_of(digest)).header)
        try:
            playing = Layout.of(policy_format.read_header(self.path_of(stable)))
        except policy_format.PolicyFileError:
            return  # A stable policy that is lost or damaged must not stand in the way.
        apart = layout.difference(playing)
        if apart is not None:
            about, mine, theirs = apart
            raise RefusedError(
                f"The policy {digest[:12]} is not published: its {about} is {mine}, and that of "
                f"the stable {stable[:12]} is {theirs}."
            )

    def _change(
        self, pointer: Pointer, before: str | None, reason: str, *, watched: bool = False
    ) -> Pointer:
        policy_format.read_header(self.path_of(pointer.stable))
        now = self._last()
        serial = 1 if now is None else now.serial + 1
        pointer = replace(pointer, serial=serial)
        pointer_values: dict[str, Any] = asdict(pointer)
        if not pointer.others:
            del pointer_values["others"]  # So that bots of earlier versions can read it.
        line = pointer_values | {"before": before, "reason": printable(reason, 400)}
        line |= {"at": time.time(), "watched": watched}
        write_text(self._entry_path(serial), sealed(line))
        write_text(self.folder / POINTER, sealed(pointer_values))
        return pointer

    def _before(self, now: Pointer | None) -> str | None:
        if now is None or not self._entry_path(now.serial).exists():
            return None
        return self._entry(now.serial).before

    def _serials(self) -> list[int]:
        """Return the numbers of all changes that were written down, in order."""
        names = (path.name for path in self.history_folder.glob("[0-9]*.json"))
        return sorted(int(match[1]) for name in names if (match := _ENTRY.fullmatch(name)))

    def _entry_path(self, serial: int) -> Path:
        return self.history_folder / f"{serial:08d}.json"

    def _entry(self, serial: int) -> Change:
        path = self._entry_path(serial)
        value = _read(path)
        before, reason = value.pop("before", None), value.pop("reason", "")
        at, watched = value.pop("at", None), value.pop("watched", False)
        if (before is not None and not _is_digest(before)) or type(reason) is not str:
            raise _refused(path, "its policy before or its reason is none")
        if at is not None and (type(at) is not float or not math.isfinite(at)):
            raise _refused(path, f"its time is {quoted(at)}")
        pointer = _pointer(value, path)
        if pointer.serial != serial:
            raise _refused(path, f"it is the change of serial {pointer.serial}")
        return Change(pointer, before, reason, at, watched is True)


_KEYS = {entry.name for entry in fields(Pointer)}


def pointer_in(data: bytes, path: Path) -> Pointer:
    """Return the pointer in the bytes of a file, which is or shall be at `path`."""
    try:
        return _pointer(parse_sealed(data), path)
    except SealError as error:
        raise _refused(path, str(error)) from error


def _pointer(value: dict[str, Any], path: Path) -> Pointer:
    if set(value) | {"others"} != _KEYS:
        raise _refused(path, "it does not hold what a pointer does")
    others = value.get("others", [])
    if type(others) is not list or not all(_is_digest(other) for other in others):
        raise _refused(path, f"its other candidates are {quoted(others)}")
    pointer = Pointer(**value | {"others": tuple(others)})
    if others and (pointer.candidate is None or len({*pointer.candidates}) <= len(others)):
        raise _refused(path, "its candidates are not different ones")
    for digest in (pointer.stable, pointer.candidate):
        if not (_is_digest(digest) or (digest is None and pointer.stable is not None)):
            raise _refused(path, f"it names {quoted(digest)}, which is no digest")
    share, serial = pointer.share, pointer.serial
    if type(share) not in (int, float) or not (math.isfinite(share) and 0 <= share <= 1):
        raise _refused(path, f"its share is {quoted(share)}")
    if type(serial) is not int or not 0 <= serial < 1 << 62:
        raise _refused(path, f"its serial is {quoted(serial)}")
    return pointer


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_sealed(path)
    except FileNotFoundError:
        raise PolicyFolderError(
            f"{printable(path)} is not there; publish a policy into this folder first."
        ) from None
    except SealError as error:
        raise _refused(path, str(error)) from error


def _holds(path: Path, digest: str) -> bool:
    """Whether a file is there and is the policy that a digest names."""
    try:
        return policy_format.read(path).digest == digest
    except policy_format.PolicyFileError:
        return False


def _refuse_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise PolicyFolderError(f"A candidate's share is {share!r}; give 0 to 1.")


def _refused(path: Path, reason: str) -> PolicyFolderError:
    remedy = "publish a policy, which rewrites it"
    if path.name != POINTER:
        remedy = "put it back, or move it away to go on without that change"
    return PolicyFolderError(f"{printable(path)} is refused: {reason}; {remedy}.")


def _is_digest(value: object) -> bool:
    return type(value) is str and bool(_DIGEST.fullmatch(value))


def _digest(value: str) -> str:
    if not _is_digest(value):
        raise PolicyFolderError(f"A policy's digest is {quoted(value)}; give its SHA-256.")
    return value
