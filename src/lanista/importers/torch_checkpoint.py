"""The tensors of a checkpoint that another program saved with torch; none of its code runs.

Since 2020 such a file is a zip archive: a pickle that says which tensors there are, and their
numbers beside it. The pickle is read as data (pickle_reading.py), so whatever else it names, an
optimiser or a class of that program, is passed over. Knows nothing of policies.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.importers.pickle_reading import Call, Name, PickleReadingError, Stored, read_pickle

MOST_PICKLE = 256 << 20
"""Bytes of the pickle in a checkpoint; the tensors' numbers are not in it."""
MOST_VALUES = 500_000
"""Values of a checkpoint, however often each is named."""
MOST_REPEATED = 1 << 24
"""Numbers of a tensor that repeats those it has (torch's expand); others have all of their own."""
_DEEPEST = 64
_MOST_AXES = 32
_LONGEST_NAME = 1_000
_DTYPES = {
    "FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", "BFloat16Storage": "<u2",
    "LongStorage": "<i8", "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "i1",
    "ByteStorage": "u1", "BoolStorage": "?",
}  # fmt: skip
_TENSOR = ("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor")
_PARAMETER = ("torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state")


class CheckpointError(LanistaError):
    """A checkpoint of another program that cannot be read."""


class TorchCheckpoint:
    """The tensors of a checkpoint, by their dotted names; numbers are read when asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists() and not path.is_file():  # A pipe would be waited for.
            raise CheckpointError(f"{str(path)!r} is not a file; name a checkpoint.")
        try:
            self._archive = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise CheckpointError(f"There is no checkpoint {str(path)!r}.") from None
        except (zipfile.BadZipFile, OSError) as error:
            raise CheckpointError(
                f"{path} is no checkpoint that can be read ({error}); torch has written zip files "
                "since version 1.6: load an older one there and save it again."
            ) from error
        with self._named():
            self._root = self._find_root()
            pickle = self._entry("data.pkl", MOST_PICKLE)
            self._calls = dict(_tensors(read_pickle(pickle)))

    def __enter__(self) -> TorchCheckpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor, by name."""
        with self._named():
            return {name: _shape(call) for name, call in self._calls.items()}

    def tensor(self, name: str) -> NDArray[Any]:
        """Return the numbers of a tensor; bfloat16 as float32."""
        with self._named():
            return self._numbers(name, self._calls[name])

    def _named(self) -> _Named:
        return _Named(self.path)

    def _find_root(self) -> str:
        for name in self._archive.namelist():
            if name.endswith("/data.pkl") or name == "data.pkl":
                return name.removesuffix("data.pkl")
        raise PickleReadingError("it holds no data.pkl, which torch's files have")

    def _entry(self, name: str, most: int) -> bytes:
        try:
            about = self._archive.getinfo(f"{self._root}{name}")
        except KeyError:
            raise PickleReadingError(f"it lacks {name!r:.80}") from None
        # As torch writes them: what is packed could be larger than any memory.
        most = min(most, self.path.stat().st_size)
        if about.compress_type != zipfile.ZIP_STORED or about.file_size > most:
            raise PickleReadingError(f"its {name!r:.80} is packed, or larger than {most:,} bytes")
        with self._archive.open(about) as file:
            return _read(file, about.file_size)

    def _numbers(self, name: str, call: Call) -> NDArray[Any]:
        storage, offset, shape, strides = _layout(call)
        dtype, key = _storage(storage)
        last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        count = 0 if 0 in shape else last + 1
        data = self._entry(f"data/{key}", 1 << 40)
        numbers = np.frombuffer(data, dtype, len(data) // np.dtype(dtype).itemsize)
        if count > len(numbers):
            raise PickleReadingError(f"its tensor {name!r:.80} lies beyond its own numbers")
        if math.prod(n or 1 for n in shape) > max(len(numbers), MOST_REPEATED):
            raise PickleReadingError(
                f"its tensor {name!r:.80} of shape {list(shape)} repeats {len(numbers):,} numbers, "
                f"and may come to {MOST_REPEATED:,} by that"
            )
        size = numbers.itemsize
        steps = [step * size for step in strides]
        view = np.lib.stride_tricks.as_strided(numbers[offset:], shape, steps, writeable=False)
        if dtype == "<u2":  # The upper half of a float32.
            return (view.astype(np.uint32) << 16).view(np.float32)
        return view.copy()


class _Named:
    """Says of which file a fault was."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        if isinstance(error, PickleReadingError):
            raise CheckpointError(f"{self.path} cannot be read: {error}.") from error
        if isinstance(error, zipfile.BadZipFile | NotImplementedError | EOFError | OSError):
            raise CheckpointError(f"{self.path} is damaged ({error}).") from error


def _read(file: Any, size: int) -> bytes:
    data: bytes = file.read(size)
    if len(data) != size:
        raise PickleReadingError("it ends too early")
    return data


def _tensors(value: Any) -> Iterator[tuple[str, Call]]:
    """Yield every tensor in nested dictionaries and lists, with its dotted name."""
    left = [("", value, 0)]
    for _ in range(MOST_VALUES):
        if not left:
            return
        name, value, depth = left.pop()
        if depth > _DEEPEST:
            raise PickleReadingError("its values are nested too deeply")
        if len(name) > _LONGEST_NAME:
            raise PickleReadingError(f"its value {name!r:.80} has a name that is too long")
        if isinstance(value, Call) and value.word in _PARAMETER:
            left.append((name, _first(value.arguments), depth + 1))
        elif isinstance(value, Call) and value.word in _TENSOR:
            yield name, value
        else:
            entries = _entries(value)
            if len(left) + len(entries) > MOST_VALUES:
                break
            left += [
                (f"{name}.{key}" if name else str(key), entry, depth + 1)
                for key, entry in reversed(entries.items())
            ]
    # One value may stand in many places.
    raise PickleReadingError(f"it comes to more than {MOST_VALUES:,} values")


def _first(arguments: Any) -> Any:
    if not isinstance(arguments, tuple) or not arguments:
        raise PickleReadingError("a parameter of it is described in another way than torch's")
    return arguments[0]


def _entries(value: Any) -> dict[Any, Any]:
    if isinstance(value, Call):
        # A module that was saved whole keeps its tensors in the state of its object.
        return value.entries or (value.state if isinstance(value.state, dict) else {})
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list | tuple) else {}


def _layout(call: Call) -> tuple[Any, int, tuple[int, ...], tuple[int, ...]]:
    arguments = call.arguments[:4] if isinstance(call.arguments, tuple) else ()
    match arguments:
        case (storage, offset, tuple(shape), tuple(strides)):
            numbers = (offset, *shape, *strides)
        case _:
            raise PickleReadingError("a tensor of it is described in another way than torch's")
    if not all(type(number) is int and 0 <= number < 1 << 40 for number in numbers):
        raise PickleReadingError("a tensor of it has a shape or strides that are no small numbers")
    if len(shape) != len(strides) or len(shape) > _MOST_AXES:
        raise PickleReadingError(
            f"a tensor of it has {len(shape):,} axes and {len(strides):,} strides"
        )
    return storage, offset, shape, strides


def _shape(call: Call) -> tuple[int, ...]:
    return _layout(call)[2]


def _storage(storage: Any) -> tuple[str, str]:
    """Return the dtype of a storage and its name in the archive."""
    identity = storage.identity if isinstance(storage, Stored) else None
    match identity:
        case (_, Name(word), str(key), *_):
            kind = word.rpartition(".")[2]
        case _:
            raise PickleReadingError("a tensor of it has numbers that lie elsewhere")
    if kind not in _DTYPES:
        raise PickleReadingError(f"a tensor of it has numbers of the kind {kind!r:.80}")
    return _DTYPES[kind], key
