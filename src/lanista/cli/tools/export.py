"""`lanista export POLICY`: writes a policy for bots that have no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from lanista.cli.common.flags import GAMES, optional
from lanista.cli.common.outputs import NEW, ONNX, Writes
from lanista.errors import LanistaError
from lanista.files import Kind


@dataclass(frozen=True)
class Export:
    """Write a policy for ONNX Runtime or for NumPy alone.

    What is written is first compared with the policy on positions from play of its game, and
    refused if it says anything else.
    """

    policy: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="POLICY")]
    """The policy file, or champion:GAME."""
    to: Annotated[Literal["onnx", "numpy"], optional("onnx|numpy")]
    """For ONNX Runtime, or for lanista.nets.portable, which needs NumPy only."""
    output: Annotated[Path, optional("FILE"), Writes(lambda asked: asked.makes())]
    """The file to write."""
    game: Annotated[str | None, optional("GAME"), GAMES] = None
    """The game of a policy for a game from a Python file, as `examples/my_game.py`."""

    def makes(self) -> Kind:
        """Return what --output becomes; for NumPy it is a policy file, which is never replaced."""
        return ONNX if self.to == "onnx" else NEW

    def run(self) -> int:
        """Export, say how far apart the two are, and return 0."""
        import os

        # On a busy machine a matrix library's threads wait for each other far longer than one
        # thread takes; it reads this when it is loaded.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        import torch

        from lanista.cli.common.paths import refuse_unwritable
        from lanista.data.resimulation import set_up
        from lanista.nets.champions import policy_file
        from lanista.nets.export import SLOTS, export_policy
        from lanista.nets.policy_file import load_policy, read_header, refused

        torch.set_num_threads(1)
        refuse_unwritable("--output", self.output)
        policy = policy_file(self.policy)
        header = read_header(policy)
        try:
            game = set_up(header.game, header.settings, slots=SLOTS, name=self.game)
        except LanistaError as error:
            raise refused(policy, error) from error
        try:
            loaded = load_policy(policy, game.spec)
            exported = export_policy(self.output, loaded, game, self.to, self.makes())
        finally:
            game.close()
        print(
            f"{self.output}: {len(exported.data):,} bytes for {self.to}; at most "
            f"{exported.difference:.1e} from torch on {exported.positions:,} positions of "
            f"{header.game}"
        )
        return 0
