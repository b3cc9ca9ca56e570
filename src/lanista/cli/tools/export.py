"""`lanista export POLICY`: writes a policy for bots that have no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from lanista.cli.common.flags import GAMES, optional
from lanista.cli.common.outputs import Writes
from lanista.files import Kind
from lanista.nets.export_kinds import NEW, ONNX


@dataclass(frozen=True)
class Export:
    """Write a policy for ONNX Runtime or for NumPy alone.

    What is written is first compared with the policy on positions from play of its game, and
    refused if it says anything else.
    """

    policy: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="POLICY")]
    """The policy file, or champion:GAME."""
    to: Annotated[Literal["onnx", "numpy"], optional("onnx|numpy")]
    """For ONNX Runtime, or for lanista.nets.portable.runtime, which needs NumPy only."""
    output: Annotated[Path, optional("FILE"), Writes(lambda command: command.makes())]
    """The file to write."""
    game: Annotated[str | None, optional("GAME"), GAMES] = None
    """The game, where POLICY does not tell."""

    def makes(self) -> Kind:
        """Return what --output becomes; for NumPy it is a policy file, which is never replaced."""
        return ONNX if self.to == "onnx" else NEW

    def run(self) -> int:
        """Export, say how far apart the two are, and return 0."""
        import os

        # On a busy machine a matrix library's threads wait for each other far longer than one
        # thread takes; it reads this when it is loaded.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

        from lanista.api.policies import export

        done = export(self.policy, self.output, to=self.to, game=self.game)
        print(
            f"{self.output}: {done.size:,} bytes for {self.to}; at most {done.difference:.1e} from "
            f"torch on {done.positions:,} positions of {done.game}"
        )
        return 0
