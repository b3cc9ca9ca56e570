"""The game file: one live game as a learner reads it, an npz without objects.

Owns the format: what a file holds, how it is written, and what is refused. A file may come from
anyone, so what it claims is held against limits before anything is unpacked. Knows nothing of
folders, agents and learning.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lanista.live.files.game_header import (
    ALL_PROBABILITIES,
    GameFileError,
    GameHeader,
    Layout,
    header_bytes,
    parse_header,
)
from lanista.live.files.probabilities import chances_of, refuse_chances, refuse_contradiction
from lanista.nets.files.policy_format import PolicyHeader
from lanista.text import printable

MOST_BYTES = 1 << 26
"""The largest game, packed or not: 64 MiB."""
MOST_REWARD = 1e15
_MOST_HEADER = 1 << 18
_MOST_DIRECTORY = 1 << 14
_MOST_NPY_HEADER = 1 << 10
_CHUNK = 1 << 20
_LEAST_LOG_PROB, _MOST_LOG_PROB = -1e6, 1e-3
_EPOCH = (1980, 1, 1, 0, 0, 0)
_NPY = re.compile(
    rb"\{'descr': '([<|][a-z][0-9]{1,2})', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \} *\n"
)
_END = struct.Struct("<4s4H2LH")
_ZIP_FAULTS = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    struct.error, OverflowError, OSError,
)  # fmt: skip


@dataclass(frozen=True)
class GameFile:
    """One game of one seat: the steps at which the policy was asked, and what came of them."""

    header: GameHeader
    observations: NDArray[Any]
    """`[N, length]`: what the bot saw."""
    masks: NDArray[np.uint8]
    """`[N, ceil(choices / 8)]`: what was legal, eight choices to a byte, the first one highest."""
    actions: NDArray[np.int32]
    """`[N, heads]`: what was played; -1 where the bot's rules played something without a name."""
    log_probs: NDArray[np.float32]
    """`[N]`: of the action under the policy that chose it; 0 where it was overruled."""
    rewards: NDArray[np.float32]
    """`[N]`: all that came after the policy's action until its next one; 0 where overruled."""
    overruled: NDArray[np.bool_]
    """`[N]`: whether the bot's rules played instead of the policy. Such a step is environment."""
    outcome: NDArray[np.float32]
    """`[1]`: how the game ended, above 0 for a win, below 0 for a loss; `[0]` if it was cut off."""
    probabilities: NDArray[np.float32] | None = None
    """`[N, choices]`: of every choice of each head, as the policy gave them, also where it was
    overruled; None in a file of version 1, which has that of the action alone."""

    @property
    def legal(self) -> NDArray[np.bool_]:
        """`[N, choices]`: the masks, a choice each."""
        return _unpacked(self.masks, self.header.layout.choices)

    @property
    def decisions(self) -> NDArray[np.intp]:
        """The steps that were the policy's own, in order."""
        return np.flatnonzero(~self.overruled)

    @cached_property
    def content(self) -> str:
        """SHA-256 of all that the file says: copies share it, however they are named or packed."""
        total = hashlib.sha256(header_bytes(self.header))
        for name in _shapes(self.header):
            total.update(np.ascontiguousarray(getattr(self, name)).data)
        return total.hexdigest()


_PROBABILITIES = "probabilities"
ARRAYS = tuple(
    entry.name for entry in fields(GameFile) if entry.name not in ("header", _PROBABILITIES)
)
"""What every game has."""
_HEADER = "header.npy"


def encode(game: GameFile) -> bytes:
    """Return the file of a game; one that could not be read back is refused."""
    _refuse_values(game)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        header_array = np.frombuffer(header_bytes(game.header), np.uint8)
        _add(archive, _HEADER, header_array)
        for name in _shapes(game.header):
            _add(archive, f"{name}.npy", getattr(game, name))
    data = packed.getvalue()
    if len(data) > MOST_BYTES or len(header_array) > _MOST_HEADER:
        raise GameFileError(f"it has {len(data):,} bytes, and {MOST_BYTES:,} are the most")
    return data


def _add(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
    archive.writestr(entry, out.getbuffer())


def read(path: str | Path, policy: PolicyHeader | None = None) -> GameFile:
    """Return the game in a file; refuse whatever else it is.

    With `policy`, a game that was played with another layout than that policy's is refused, and
    so are observations with categories it does not know.
    """
    path = Path(path)
    try:
        with _opened(path) as file:
            return _read(file, policy)
    except GameFileError as error:
        # In quotes of our own: repr would write what is escaped a second time.
        name = printable(path.name, 80)
        raise GameFileError(f"The game file '{name}' is refused: {error}.") from error


def decode(data: bytes, policy: PolicyHeader | None = None) -> GameFile:
    """Return the game in the bytes of a file, as `read` does; refuse whatever else they are."""
    if len(data) > MOST_BYTES:
        raise GameFileError(f"it has {len(data):,} bytes, and {MOST_BYTES:,} are the most read")
    return _read(io.BytesIO(data), policy)


def _opened(path: Path) -> BinaryIO:
    # Not through a link, which may lead anywhere, and without waiting for a pipe's writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if path.is_symlink():
            raise GameFileError("it is a symbolic link")
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.ELOOP:
            raise GameFileError("it is a symbolic link") from error
        why = getattr(error, "strerror", None) or str(error)
        raise GameFileError(f"it cannot be read: {why.lower()}") from error
    about = os.fstat(handle)
    if stat.S_ISREG(about.st_mode) and about.st_size <= MOST_BYTES:
        return os.fdopen(handle, "rb")
    os.close(handle)
    if not stat.S_ISREG(about.st_mode):
        raise GameFileError("it is not a file")
    raise GameFileError(f"it has {about.st_size:,} bytes, and {MOST_BYTES:,} are the most read")


def _read(file: BinaryIO, policy: PolicyHeader | None) -> GameFile:
    _refuse_directory(file)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            if _HEADER not in entries:
                raise GameFileError(_OTHER_ARRAYS)
            header_size = entries[_HEADER].file_size
            if header_size > _MOST_HEADER:
                raise GameFileError(f"its header has {header_size:,} bytes")
            header = parse_header(_text(archive, entries[_HEADER]))
            if policy is not None:
                _refuse_layout(header, policy)
            shapes = _shapes(header)
            expected_names = {_HEADER, *(f"{name}.npy" for name in shapes)}
            if set(entries) != expected_names or len(archive.infolist()) != len(expected_names):
                raise GameFileError(_OTHER_ARRAYS)
            _refuse_sizes(entries, shapes)
            arrays = {
                name: _array(archive, entries[f"{name}.npy"], *shape)
                for name, shape in shapes.items()
            }
    except _ZIP_FAULTS as error:
        raise GameFileError("it is damaged, or no npz file") from error
    game = GameFile(header, **arrays)
    _refuse_values(game)
    if policy is not None:
        _refuse_categories(game, policy)
    return game


def _refuse_layout(header: GameHeader, policy: PolicyHeader) -> None:
    apart = header.layout.difference(Layout.of(policy))
    if apart is not None:
        about, mine, theirs = apart
        raise GameFileError(f"its {about} is {mine}, and the policy's is {theirs}")


def _refuse_directory(file: BinaryIO) -> None:
    """Refuse an archive whose directory is anything but short, before a reader believes it."""
    size = file.seek(0, 2)
    if size < _END.size:
        raise GameFileError("it is no npz file: empty, or cut short")
    file.seek(max(0, size - _END.size - 20))
    last = file.read()
    magic, _, _, _, entries, length, _, remark = _END.unpack(last[-_END.size :])
    if magic != b"PK\x05\x06" or remark or b"PK\x06\x07" in last[: -_END.size]:
        raise GameFileError("it is no npz file, or its end is damaged")
    if entries > 2 * len(ARRAYS) or length > _MOST_DIRECTORY:
        raise GameFileError(f"it holds {entries:,} entries, and a game has {1 + len(ARRAYS)}")
    file.seek(0)


_Shape = tuple[str, tuple[int, ...]]
_OTHER_ARRAYS = "it does not hold the arrays of a game, each once"


def _shapes(header: GameHeader) -> dict[str, _Shape]:
    """Return dtype and shape of every array of a game with this header."""
    layout, steps = header.layout, header.steps
    shapes = {
        "observations": (np.dtype(layout.dtype).newbyteorder("<").str, (steps, layout.length)),
        "masks": ("|u1", (steps, -(-layout.choices // 8))),
        "actions": ("<i4", (steps, len(layout.heads))),
        "log_probs": ("<f4", (steps,)),
        "rewards": ("<f4", (steps,)),
        "overruled": ("|b1", (steps,)),
        "outcome": ("<f4", (0,) if header.cut_off else (1,)),
    }
    if header.version == ALL_PROBABILITIES:
        shapes[_PROBABILITIES] = ("<f4", (steps, layout.choices))
    return shapes


def _refuse_sizes(entries: dict[str, zipfile.ZipInfo], shapes: dict[str, _Shape]) -> None:
    """Refuse sizes that do not follow from the header, before room is made for them."""
    total = 0
    for name, (dtype, shape) in shapes.items():
        size = np.dtype(dtype).itemsize
        for count in shape:
            size *= count
        total += size
        file_size = entries[f"{name}.npy"].file_size
        if not size < file_size <= size + _MOST_NPY_HEADER:
            raise GameFileError(
                f"its {name} have {file_size:,} bytes, where its header makes them {size:,}"
            )
    if total > MOST_BYTES:
        raise GameFileError(f"it unpacks to {total:,} bytes, and {MOST_BYTES:,} are the most")


def _text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as file:
        count = _npy_start(file, "header", "|u1")
        if len(count) != 1 or count[0] > _MOST_HEADER:
            raise GameFileError("its header is no text")
        text = file.read(count[0])
        if len(text) != count[0] or file.read(1):
            raise GameFileError("its header is cut short or too long")
        return text


def _array(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, dtype: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    name = entry.filename.removesuffix(".npy")
    with archive.open(entry) as file:
        stored_shape = _npy_start(file, name, dtype)
        if stored_shape != shape:
            raise GameFileError(
                f"its {name} have shape {list(stored_shape)[:8]}, where its header makes it "
                f"{list(shape)}"
            )
        array = np.empty(shape, dtype)
        room = array.reshape(-1).view(np.uint8)
        at = 0
        while at < len(room):
            chunk = file.read(min(_CHUNK, len(room) - at))
            if not chunk:
                raise GameFileError(f"its {name} are cut short")
            room[at : at + len(chunk)] = np.frombuffer(chunk, np.uint8)
            at += len(chunk)
        if file.read(1):
            raise GameFileError(f"its {name} are longer than they say")
    return array


def _npy_start(file: Any, name: str, dtype: str) -> tuple[int, ...]:
    """Return the shape in front of an array; nothing but `dtype` in C order is taken."""
    start = file.read(10)
    length = int.from_bytes(start[8:], "little")
    if start[:8] != b"\x93NUMPY\x01\x00" or length > _MOST_NPY_HEADER:
        raise GameFileError(f"its {name} are no array of npy version 1")
    match = _NPY.fullmatch(file.read(length))
    if match is None or match[1].decode() != dtype:
        raise GameFileError(f"its {name} are not an array of {dtype} in C order")
    digits = match[2].decode().replace(" ", "").rstrip(",")
    return tuple(int(dimension) for dimension in digits.split(",")) if digits else ()


def _refuse_values(game: GameFile) -> None:
    for name, (dtype, shape) in _shapes(game.header).items():
        array = getattr(game, name)
        if array is None:
            raise GameFileError(f"it has no {name}, which its version holds")
        if array.dtype.str != dtype or array.shape != shape:
            raise GameFileError(
                f"its {name} are {array.dtype.str} {list(array.shape)}, and must be {dtype} "
                f"{list(shape)}"
            )
    for name in ("observations", "log_probs", "rewards", "outcome"):
        array = getattr(game, name)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise GameFileError(f"its {name} hold numbers that are not finite")
    for name in ("rewards", "outcome"):
        if (np.abs(getattr(game, name)) > MOST_REWARD).any():
            raise GameFileError(f"its {name} go beyond {MOST_REWARD:g}")
    if (game.overruled.view(np.uint8) > 1).any():
        raise GameFileError("its overruled are neither true nor false")
    low, high = game.log_probs < _LEAST_LOG_PROB, game.log_probs > _MOST_LOG_PROB
    if low.any() or high.any():
        raise GameFileError("its log_probs are no logarithms of probabilities")
    if game.rewards[game.overruled].any() or game.log_probs[game.overruled].any():
        raise GameFileError("it has rewards or log_probs at steps that were overruled")
    _refuse_actions(game)
    if game.probabilities is not None:
        _refuse_probabilities(game, game.probabilities)


def _refuse_probabilities(game: GameFile, probabilities: NDArray[np.float32]) -> None:
    layout = game.header.layout
    sizes = np.array([size for _, size in layout.heads], np.int64)
    for rows in _parts(len(probabilities), layout.choices):
        legal = _unpacked(game.masks[rows], layout.choices)
        refuse_chances(probabilities[rows], legal, sizes)
        own = ~game.overruled[rows]
        chosen = chances_of(probabilities[rows][own], game.actions[rows][own], sizes)
        refuse_contradiction(chosen, game.log_probs[rows][own])


def _refuse_actions(game: GameFile) -> None:
    layout, actions = game.header.layout, game.actions
    sizes = np.array([size for _, size in layout.heads], np.int64)
    unnamed = (actions == -1).all(1)
    inside = ((actions >= 0) & (actions < sizes)).all(1)
    if not (inside | (unnamed & game.overruled)).all():
        raise GameFileError("it has actions that its heads do not have")
    starts = np.cumsum(sizes) - sizes
    for rows in _parts(len(actions), layout.choices):
        legal = _unpacked(game.masks[rows], layout.choices)
        if not np.logical_or.reduceat(legal, starts, 1).all():
            raise GameFileError("it has a step at which nothing was legal")
        chosen = np.take_along_axis(legal, np.maximum(actions[rows], 0) + starts, 1)
        if not (chosen.all(1) | game.overruled[rows]).all():
            raise GameFileError("it has an action of the policy that its mask forbids")
    spare = -layout.choices % 8
    if spare and (game.masks[:, -1] & ((1 << spare) - 1)).any():
        raise GameFileError("its masks are longer than its choices")


def _refuse_categories(game: GameFile, policy: PolicyHeader) -> None:
    """Refuse an observation with a category that the policy's layout does not have."""
    for field in policy.observation.fields:
        if not field.classes:
            continue
        at = policy.observation.slice_of(field.name)
        for rows in _parts(len(game.observations), field.size):
            categories = game.observations[rows, at]
            if (
                (categories < 0)
                | (categories >= field.classes)
                | (categories != np.floor(categories))
            ).any():
                raise GameFileError(
                    f"its observations hold something else than the {field.classes} categories of "
                    f"{field.name!r}"
                )


def _parts(rows: int, width: int) -> Iterator[slice]:
    """Yield rows in parts of about a mebibyte."""
    step = max(1, _CHUNK // width)
    for start in range(0, rows, step):
        yield slice(start, min(rows, start + step))


def _unpacked(masks: NDArray[np.uint8], choices: int) -> NDArray[np.bool_]:
    return np.unpackbits(masks, axis=1, count=choices).view(np.bool_)
