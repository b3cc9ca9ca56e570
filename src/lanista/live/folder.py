"""The policy folder: policies by digest, and the pointer that says which of them play.

Owns the pointer, its history, publishing and rolling back, each one atomic change of one small
file. Whoever writes holds the folder against other writers; readers need no lock. Knows nothing
of what makes a policy better.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from lanista.data.text import printable, quoted
from lanista.errors import LanistaError, RefusedError
from lanista.files import write_bytes, write_text
from lanista.live.game_header import Layout
from lanista.nets import policy_format

FORMAT = 1
POINTER = "current.json"
_MOST_BYTES = 1 << 16
_DIGEST = re.compile(r"[0-9a-f]{64}")


class PolicyFolderError(LanistaError):
    """A policy folder does not say which policy plays, or says nonsense."""


@dataclass(frozen=True)
class Pointer:
    """Which policies play."""

    stable: str
    """Digest of the policy that is trusted."""
    candidate: str | None = None
    """Digest of the one that is tried, if any."""
    share: float = 0.0
    """Of games that the candidate plays, from 0 to 1."""
    serial: int = 0
    """Grows with every change."""

    def gives_candidate(self, game_id: str) -> bool:
        """Whether a game is the candidate's; the same for all who ask, and new for a new one."""
        if self.candidate is None:
            return False
        drawn = hashlib.sha256(f"{self.candidate}/{game_id}".encode()).digest()
        return int.from_bytes(drawn[:8], "big") < self.share * 2.0**64


@dataclass(frozen=True)
class Change:
    """One line of a folder's history."""

    pointer: Pointer
    before: str | None
    """The stable policy that a roll-back returns to."""
    reason: str


class PolicyFolder:
    """A folder with `current.json`, `policies/` and `history/`."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.policies = self.folder / "policies"
        self.history_folder = self.folder / "history"

    def path_of(self, digest: str) -> Path:
        """Return the file of a policy."""
        return self.policies / f"{_digest(digest)}.safetensors"

    def pointer(self) -> Pointer:
        """Return which policies play now."""
        path = self.folder / POINTER
        return _pointer(_read(path), path)

    def found(self) -> Pointer | None:
        """Return which policies play now; None in a folder where none was published yet."""
        return self.pointer() if (self.folder / POINTER).exists() else None

    def add(self, data: bytes) -> str:
        """Put the bytes of a policy file into the folder; return its digest. Nobody plays it."""
        digest = hashlib.sha256(data).hexdigest()
        path = self.path_of(digest)
        if path.exists() and policy_format.read(path).digest == digest:
            return digest
        write_bytes(path, data)
        try:
            policy_format.read(path)
        except policy_format.PolicyFileError:
            path.unlink(missing_ok=True)
            raise
        return digest

    def publish(self, digest: str, reason: str = "published") -> Pointer:
        """Make a policy the stable one, and end the trial of a candidate."""
        now = self.found()
        if now is not None:
            self._refuse_other(digest, now.stable)
        before = now.stable if now is not None and now.stable != digest else self._before(now)
        return self._change(Pointer(digest), before, reason)

    def try_out(self, digest: str, share: float, reason: str = "candidate") -> Pointer:
        """Let a candidate play a share of the games beside the stable policy."""
        now = self.pointer()
        if not 0 <= share <= 1:
            raise PolicyFolderError(f"A candidate's share is {share!r}; give 0 to 1.")
        self._refuse_other(digest, now.stable)
        return self._change(Pointer(now.stable, digest, float(share)), self._before(now), reason)

    def withdraw(self, reason: str = "withdrawn") -> Pointer:
        """Let the stable policy play alone."""
        now = self.pointer()
        return self._change(Pointer(now.stable), self._before(now), reason)

    def roll_back(self, reason: str = "rolled back") -> Pointer:
        """Return to the policy that was stable before this one; again, to the one before that."""
        now = self.pointer()
        target = self._before(now)
        if target is None:
            raise RefusedError(
                f"{printable(self.folder)} knows no policy before {now.stable[:12]}; publish one."
            )
        policy_format.read(self.path_of(target))
        earlier = [
            change
            for change in self.history()
            if change.pointer.stable == target and change.pointer.serial < now.serial
        ]
        before = earlier[-1].before if earlier else None
        return self._change(Pointer(target), before, reason)

    def history(self) -> list[Change]:
        """Return all changes that took effect, the oldest first."""
        now = self.found()
        last = -1 if now is None else now.serial
        serials = [int(path.stem) for path in self.history_folder.glob("[0-9]*.json")]
        # One beyond the pointer was written just before its writer was killed.
        return [self._entry(serial) for serial in sorted(serials) if serial <= last]

    def prune(self, keep: int) -> int:
        """Remove policies that the last `keep` changes do not name; return how many went."""
        changes = self.history()
        now = self.pointer()
        named = {now.stable, now.candidate, self._before(now)}
        for change in changes[-keep:] if keep > 0 else []:
            named |= {change.pointer.stable, change.pointer.candidate, change.before}
        gone = [path for path in self.policies.glob("*.safetensors") if path.stem not in named]
        for path in gone:
            path.unlink(missing_ok=True)
            path.with_suffix(".onnx").unlink(missing_ok=True)
        for change in changes[: -keep or None]:
            if not {change.pointer.stable, change.before} <= named:
                self._entry_path(change.pointer.serial).unlink(missing_ok=True)
        return len(gone)

    def _refuse_other(self, digest: str, stable: str) -> None:
        """Refuse a policy that is damaged, or that bots of the stable one could not take up."""
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

    def _change(self, pointer: Pointer, before: str | None, reason: str) -> Pointer:
        policy_format.read_header(self.path_of(pointer.stable))
        now = self.found()
        serial = 1 if now is None else now.serial + 1
        pointer = Pointer(pointer.stable, pointer.candidate, pointer.share, serial)
        told: dict[str, Any] = asdict(pointer) | {"format": FORMAT}
        line = told | {"before": before, "reason": printable(reason, 400)}
        write_text(self._entry_path(serial), _compact(line))
        write_text(self.folder / POINTER, _compact(told))
        return pointer

    def _before(self, now: Pointer | None) -> str | None:
        if now is None or not self._entry_path(now.serial).exists():
            return None
        return self._entry(now.serial).before

    def _entry_path(self, serial: int) -> Path:
        return self.history_folder / f"{serial:08d}.json"

    def _entry(self, serial: int) -> Change:
        path = self._entry_path(serial)
        value = _read(path)
        before, reason = value.pop("before", None), value.pop("reason", "")
        if (before is not None and not _is_digest(before)) or type(reason) is not str:
            raise _refused(path, "its policy before or its reason is none")
        return Change(_pointer(value, path), before, reason)


_KEYS = {"format", *(entry.name for entry in fields(Pointer))}


def _pointer(value: dict[str, Any], path: Path) -> Pointer:
    if set(value) != _KEYS or type(value["format"]) is not int or value["format"] != FORMAT:
        raise _refused(path, f"it is no pointer of format {FORMAT}")
    del value["format"]
    pointer = Pointer(**value)
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
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        value = json.loads(text.decode("utf-8"))
    except FileNotFoundError:
        raise PolicyFolderError(
            f"{printable(path)} is not there; publish a policy into this folder first."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise _refused(path, "it cannot be read, or is not JSON") from error
    if len(text) > _MOST_BYTES or not isinstance(value, dict):
        raise _refused(path, "it is not a small JSON object")
    return value


def _refused(path: Path, reason: str) -> PolicyFolderError:
    return PolicyFolderError(f"{printable(path)} is refused: {reason}.")


def _is_digest(value: object) -> bool:
    return type(value) is str and bool(_DIGEST.fullmatch(value))


def _digest(value: str) -> str:
    if not _is_digest(value):
        raise PolicyFolderError(f"A policy's digest is {quoted(value)}; give its SHA-256.")
    return value


def _compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True) + "\n"
