"""Flags that mirror a run's numbers in other trackers, the same in every command that trains."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from lanista.cli.common.flags import optional
from lanista.cli.common.outputs import EVENTS, Writes

TensorBoardFolder = Annotated[Path | None, optional("FOLDER"), Writes(EVENTS)]
WandbProject = Annotated[str | None, optional("PROJECT")]
