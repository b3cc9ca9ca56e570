"""`lanista policy import`: a policy from a checkpoint that another program saved with torch."""

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
class PolicyImport:
    """Turn another program's torch checkpoint into a policy, or list what it holds.

    Nothing in the checkpoint is run: its tensors are read as numbers, and a mapping file says which
    of them is which of ours. Without --mapping the tensors are listed.
    """

    checkpoint: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """The checkpoint, as torch.save writes it."""
    mapping: Annotated[Path | None, optional("FILE")] = None
    """Settings file with the game, the network and where each of its tensors comes from."""
    output: Annotated[Path | None, optional("FILE"), Writes(NEW)] = None
    """The policy file to write."""

    def run(self) -> int:
        """List or import, and return 0."""
        from lanista.importers.torch_checkpoint import TorchCheckpoint

        if (self.mapping is None) != (self.output is None):
            raise LanistaError("--mapping and --output belong together; give both, or neither.")
        with TorchCheckpoint(self.checkpoint) as checkpoint:
            if self.mapping is None or self.output is None:
                for name, shape in checkpoint.shapes.items():
                    print(f"{name} {list(shape)}")
                return 0
            from lanista.importers.weight_mapping import mapped_policy, read_mapping
            from lanista.nets.files.policy_file import save_policy

            mapping = read_mapping(self.mapping)
            policy, spec = mapped_policy(mapping, checkpoint.shapes, checkpoint.tensor)
        extra = {"imported_from": self.checkpoint.name}
        digest = save_policy(self.output, policy, spec, name=self.output.stem, extra=extra)
        print(f"{self.output}: a policy of {spec.name}, digest {digest[:12]}")
        return 0
