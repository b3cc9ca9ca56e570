"""Game files taken apart and put together by hand, right or wrong."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from lanista.live.files.game_file import GameFile, encode


def kept(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def packed(entries: dict[str, bytes], **how: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data, **how)
    return out.getvalue()


def entries_of(game: GameFile) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(encode(game))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def npy(array: Any, **how: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, **how)
    return out.getvalue()
