"""`lanista policy`: which policies a live bot plays, and the operator's hand on that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import optional
from lanista.cli.common.outputs import POLICIES, Writes, numbers_of, write_json
from lanista.errors import LanistaError, RefusedError

if TYPE_CHECKING:
    from lanista.live.files.policy_folder import Pointer, PolicyFolder

_Folder = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
_SHORT = 12


@dataclass(frozen=True)
class PolicyList:
    """Show which policies play, what each of them scored, and every change so far.

    Games and scores are those that a learner took in (`lanista learn`); without one they are not
    known.
    """

    folder: _Folder
    """The policy folder."""
    json_file: Annotated[
        Path | None, optional("FILE", name="json"), Writes(numbers_of("policy list"))
    ] = None
    """Also write all of it to this file."""

    def run(self) -> int:
        """Print, and return 0."""
        from dataclasses import asdict

        from lanista.cli.common.paths import refuse_file, refuse_unwritable
        from lanista.cli.common.table import console
        from lanista.cli.live.policy_view import show
        from lanista.live.promotion.folder_view import look

        refuse_file(self.folder)
        if self.json_file is not None:
            refuse_unwritable("--json", self.json_file)
        view = look(self.folder)
        if self.json_file is not None:
            write_json(self.json_file, "policy list", asdict(view))
        show(console(), view)
        return 0


@dataclass(frozen=True)
class PolicyPublish:
    """Put a policy file into a policy folder and let bots play it from their next game on.

    A candidate's trial ends with it. A policy for another layout than that of the stable one is
    refused, since bots could not load it.
    """

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR"), Writes(POLICIES)]
    """The policy folder; made if it is not there."""
    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """The policy file."""
    reason: Annotated[str, optional("TEXT")] = "published by hand"
    """What the history says of it."""

    def run(self) -> int:
        """Publish, say so, and return 0."""
        from lanista.cli.common.paths import refuse_file
        from lanista.live.files.policy_folder import PolicyFolder
        from lanista.nets.files.champions import policy_file
        from lanista.nets.files.policy_format import read

        refuse_file(self.folder)
        read(self.file)  # What is wrong with it is said of the file that the user named.
        folder, data = PolicyFolder(self.folder), policy_file(self.file).read_bytes()
        with folder.changing(create=True):
            already_there = set(folder.policies.glob("*"))
            digest = folder.add(data)
            try:
                pointer = folder.publish(digest, self.reason)
            except LanistaError:
                if folder.path_of(digest) not in already_there:
                    folder.path_of(digest).unlink(missing_ok=True)
                raise
        _say(folder, pointer)
        return 0


@dataclass(frozen=True)
class PolicyRollback:
    """Return to the policy that was stable before, or to any that was stable once.

    Bots play it from their next game on, and a candidate's trial ends.
    """

    folder: _Folder
    """The policy folder."""
    to: Annotated[str | None, optional("DIGEST")] = None
    """The policy to return to: the first letters of its digest."""
    reason: Annotated[str, optional("TEXT")] = "rolled back by hand"
    """What the history says of it."""

    def run(self) -> int:
        """Roll back, say so, and return 0."""
        from lanista.cli.common.paths import refuse_file
        from lanista.live.files.policy_folder import PolicyFolder

        refuse_file(self.folder)
        folder = PolicyFolder(self.folder)
        folder.pointer()
        _say(folder, folder.roll_back(self.reason, to=self._target(folder)))
        return 0

    def _target(self, folder: PolicyFolder) -> str | None:
        if self.to is None:
            return None
        stable = {change.pointer.stable for change in folder.history()}
        digests = sorted(digest for digest in stable if self.to and digest.startswith(self.to))
        if not digests:
            raise RefusedError(
                f"--to is {self.to!r}, and no policy that was stable in {folder.folder} begins so; "
                f"see `lanista policy list {folder.folder}`."
            )
        if len(digests) > 1:
            names = " and ".join(digest[:_SHORT] for digest in digests[:2])
            raise LanistaError(f"--to is {self.to!r}, and {names} begin so; give more letters.")
        return digests[0]


def _say(folder: PolicyFolder, pointer: Pointer) -> None:
    before = folder.history()[-1].before
    way_back = f"a roll-back returns to {before[:_SHORT]}" if before else "there is none before it"
    print(
        f"{folder.folder}: {pointer.stable[:_SHORT]} plays from the next game on, alone "
        f"(change {pointer.serial}; {way_back})"
    )
