"""A run's state as a folder: written whole or not at all, and never believed without its hashes.

A state is nested dicts and lists of tensors, arrays and plain values. Tensors go to safetensors,
arrays to npz without objects, the rest to JSON, each cut into numbered parts where it would be too
large to move; the manifest, written last, holds the SHA-256 of every file. Knows nothing of what a
state means.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from lanista.errors import RefusedError
from lanista.files import write_bytes
from lanista.runs.layout import checkpoint_numbers
from lanista.text import printable

MANIFEST = "manifest.json"
TENSORS, ARRAYS, VALUES = "tensors.safetensors", "arrays.npz", "values.json"
FORMAT = 1
LARGEST = 15_000_000
"""Bytes of a file, at most: what is larger lies there in parts, FILE.0001 and so on."""
_PART = ".part"
_PART_NAME = re.compile(
    rf"({re.escape(TENSORS)}|{re.escape(ARRAYS)}|{re.escape(VALUES)})(\.\d{{4}})?"
)
_MOST_DIMENSIONS = 32
# Whatever reading such files can raise, torch's own complaints about shapes included.
_UNREADABLE = (
    OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, RuntimeError,
    EOFError, SafetensorError, zipfile.BadZipFile,
)  # fmt: skip
# What a dict in the JSON can be besides itself.
_TENSOR, _ARRAY, _ITEMS = "$tensor", "$array", "$items"


class CheckpointError(RefusedError):
    """A checkpoint is damaged or missing."""


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of one run, by the iteration after which each was taken."""

    folder: Path

    def numbers(self) -> list[int]:
        """Return the iterations of all checkpoints, good or not, in order."""
        return checkpoint_numbers(self.folder)

    def path(self, number: int) -> Path:
        return self.folder / f"{number:06d}"

    def save(self, number: int, state: Mapping[str, Any]) -> Path:
        """Write a checkpoint; whatever goes wrong, the others stay as they were."""
        target = self.path(number)
        temporary = self.folder / f".tmp-{number:06d}{_PART}"
        shutil.rmtree(temporary, ignore_errors=True)
        try:
            temporary.mkdir(parents=True)
            write_state(temporary, state)
            if target.exists():
                self.remove(number)
            temporary.replace(target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        _sync(self.folder)
        return target

    def keep(self, last: int, every: int) -> list[int]:
        """Remove all but the newest `last` and every `every`-th; return what was removed."""
        numbers = self.numbers()
        spared = {number for number in numbers if every and number % every == 0}
        removed = [number for number in numbers[:-last] if number not in spared]
        for number in removed:
            self.remove(number)
        return removed

    def remove(self, number: int) -> None:
        """Remove a checkpoint; what is half removed never looks like one."""
        doomed = self.folder / f".tmp-{number:06d}-old{_PART}"
        _clear(doomed)
        self.path(number).replace(doomed)
        _clear(doomed)

    def set_aside(self, number: int) -> Path:
        """Rename a checkpoint so that no run goes on from it; return its new path."""
        aside = self.folder / f"{number:06d}.aside"
        _clear(aside)
        self.path(number).replace(aside)
        return aside

    def newest_good(self) -> tuple[int, dict[str, Any], list[str]]:
        """Return the newest checkpoint that is whole, and a sentence on each that is not."""
        sentences: list[str] = []
        for number in reversed(self.numbers()):
            try:
                return number, read_state(self.path(number)), sentences
            except CheckpointError as error:
                sentences.append(f"{error} An earlier one is used.")
        faults = " ".join(
            sentence.removesuffix(" An earlier one is used.") for sentence in sentences
        )
        raise CheckpointError(
            f"{self.folder} has no checkpoint that can be used, and the run is not started over by "
            f"itself; move the folder away to start over. {faults}"
        )

    def remove_leftovers(self) -> int:
        """Remove what a killed writer left; only for who holds the run's lock."""
        leftovers = list(self.folder.glob(f".tmp-*{_PART}"))
        for path in leftovers:
            _clear(path)
        return len(leftovers)


def _clear(path: Path) -> None:
    """Remove what lies at a path, a folder or whatever else."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_state(folder: Path, state: Mapping[str, Any]) -> None:
    """Write a state's files into an empty folder, the manifest last."""
    tensors: dict[str, torch.Tensor] = {}
    arrays: dict[str, NDArray[Any]] = {}
    values = _take_apart(state, tensors, arrays)
    written: list[str] = []
    with _Cut(folder / TENSORS, written) as file:
        file.write(save_tensors(tensors))
    with _Cut(folder / ARRAYS, written) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    with _Cut(folder / VALUES, written) as file:
        file.write(json.dumps(values).encode())
    body = {"format": FORMAT, "files": {name: _sha256(folder / name) for name in written}}
    # The manifest vouches for itself too: a flipped bit in it must not pass for one elsewhere.
    body["manifest"] = _own_hash(body)
    write_bytes(folder / MANIFEST, json.dumps(body, indent=1).encode())


def read_state(folder: Path) -> dict[str, Any]:
    """Return the state in a checkpoint folder, or refuse what is not exactly what was written."""
    names = _verified(folder)
    try:
        tensors = load_tensors(_joined(folder, names[TENSORS]))
        arrays = _arrays(_joined(folder, names[ARRAYS]))
        values = json.loads(_joined(folder, names[VALUES]))
        state: dict[str, Any] = _put_together(values, tensors, arrays)
        if not isinstance(state, dict):
            raise ValueError("its values are no state")
    except _UNREADABLE as error:
        why = printable(error, 300).rstrip(".")
        raise CheckpointError(f"Checkpoint {folder} cannot be read: {why}.") from error
    return state


def _arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file; what asks for more room than it has bytes is refused."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as file:
                version = np.lib.format.read_magic(file)
                if entry.compress_type != zipfile.ZIP_STORED or version != (1, 0):
                    raise ValueError(f"{entry.filename} is not as it was written")
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            if len(shape) > _MOST_DIMENSIONS:
                raise ValueError(f"{entry.filename} has {len(shape)} dimensions")
            if math.prod(shape) * dtype.itemsize > entry.file_size:
                raise ValueError(f"{entry.filename} names more numbers than it holds")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


class _Cut(io.RawIOBase):
    """A file to write to, which becomes several where it is larger than one may be."""

    def __init__(self, path: Path, written: list[str]) -> None:
        self.path, self.written, self.pieces = path, written, 0
        self.waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        remaining = memoryview(data).cast("B")
        size = len(remaining)
        while len(remaining):
            if len(self.waiting) == LARGEST:
                self._put(is_piece=True)
            room = LARGEST - len(self.waiting)
            self.waiting += remaining[:room]
            remaining = remaining[room:]
        return size

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self._put(is_piece=self.pieces > 0)
        self.close()

    def _put(self, is_piece: bool) -> None:
        self.pieces += is_piece
        name = f"{self.path.name}.{self.pieces:04d}" if is_piece else self.path.name
        write_bytes(self.path.with_name(name), bytes(self.waiting))
        self.written.append(name)
        self.waiting.clear()


def _plain(path: Path) -> Path:
    """Return a path at which a file lies, or nothing; whoever opened a pipe would wait for ever."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path.name} is not a file")
    return path


def _joined(folder: Path, names: Sequence[str]) -> bytes:
    return b"".join(_plain(folder / name).read_bytes() for name in names)


def _verified(folder: Path) -> dict[str, list[str]]:
    """Return the names of the parts of each file, all of which are what was written."""
    try:
        body = json.loads(_plain(folder / MANIFEST).read_bytes())
        claimed = body.pop("manifest")
        files = dict(body["files"])
        if claimed != _own_hash(body) or body["format"] != FORMAT:
            raise ValueError("its manifest was changed or is of another version")
        names_by_file: dict[str, list[str]] = {TENSORS: [], ARRAYS: [], VALUES: []}
        for name in sorted(files):
            if not _PART_NAME.fullmatch(name):  # Asked first: it could lead out of the folder.
                raise ValueError(f"its manifest names {name!r:.80}")
            if _sha256(folder / name) != files[name]:
                raise ValueError(f"{name} is not what was written")
            names_by_file[name if name in names_by_file else name.rpartition(".")[0]].append(name)
    except FileNotFoundError as error:
        name = Path(error.filename).name
        raise CheckpointError(f"Checkpoint {folder} is damaged: {name} is missing.") from error
    except _UNREADABLE as error:
        raise CheckpointError(f"Checkpoint {folder} is damaged: {error}.") from error
    return names_by_file


def _own_hash(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with _plain(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _take_apart(
    value: Any, tensors: dict[str, torch.Tensor], arrays: dict[str, NDArray[Any]], at: str = ""
) -> Any:
    """Return `value` as JSON can hold it, its tensors and arrays put aside under their paths."""
    if isinstance(value, torch.Tensor):
        # Safetensors refuses tensors that share memory.
        tensors[at] = value.detach().cpu().clone().contiguous()
        return {_TENSOR: at}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        arrays[at] = value
        return {_ARRAY: at}
    if isinstance(value, Mapping):
        items = [
            (key, _take_apart(inner, tensors, arrays, f"{at}/{key}"))
            for key, inner in value.items()
        ]
        if all(isinstance(key, str) and not key.startswith("$") for key, _ in items):
            return dict(items)
        return {_ITEMS: [list(item) for item in items]}  # JSON would turn numbers into text.
    if isinstance(value, list | tuple):
        return [_take_apart(inner, tensors, arrays, f"{at}/{i}") for i, inner in enumerate(value)]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"A checkpoint cannot hold {type(value).__name__} at {at}.")


def _put_together(
    value: Any, tensors: Mapping[str, torch.Tensor], arrays: Mapping[str, NDArray[Any]]
) -> Any:
    if isinstance(value, list):
        return [_put_together(inner, tensors, arrays) for inner in value]
    if not isinstance(value, dict):
        return value
    if _TENSOR in value:
        return tensors[value[_TENSOR]]
    if _ARRAY in value:
        return arrays[value[_ARRAY]]
    if _ITEMS in value:
        return {key: _put_together(inner, tensors, arrays) for key, inner in value[_ITEMS]}
    return {key: _put_together(inner, tensors, arrays) for key, inner in value.items()}


def _sync(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
