"""`lanista policy finish`: a policy that drops rare choices and rounds the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from lanista.cli.common.flags import optional
from lanista.cli.common.outputs import Writes
from lanista.errors import LanistaError
from lanista.nets.export_kinds import NEW


@dataclass(frozen=True)
class PolicyFinish:
    """Write a policy that never plays rare choices, and the others in round shares.

    The weights stay as they are; the file says what is done with what they give, and every player
    of the file does it. R-NaD is played like this (Perolat et al. 2022).
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """The policy file."""
    output: Annotated[Path, tyro.conf.arg(metavar="FILE"), Writes(NEW)]
    """The policy file to write."""
    drop_below: Annotated[float, optional("P")] = 0.03
    """Choices with a lower probability are never played; a head's likeliest always is."""
    parts: Annotated[int, optional("N")] = 32
    """Probabilities become multiples of 1/N; 0: they are not rounded."""

    def run(self) -> int:
        """Write the policy, say what it came to, and return 0."""
        from dataclasses import replace

        from lanista.files import write_bytes
        from lanista.nets.files.policy_format import POLICY, encode, read

        content = read(self.file)
        if content.header.network.finish is not None:
            raise LanistaError(
                f"{str(self.file)!r} is a finished policy already; name the one it was made from."
            )
        network = replace(
            content.header.network, drop_below=self.drop_below or None, parts=self.parts or None
        )
        if network.finish is None:
            raise LanistaError("--drop-below 0 with --parts 0 changes nothing; give one of them.")
        header = replace(content.header, network=network, parents=(content.digest,))
        write_bytes(self.output, encode(header, content.arrays), POLICY)
        print(f"{self.output}: {content.header.game}, digest {read(self.output).digest[:12]}")
        return 0
