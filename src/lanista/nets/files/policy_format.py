"""The bytes of a policy file: safetensors with one JSON text under the key `lanista`.

The same policy is always the same bytes, and every byte is accounted for, so a flipped bit
anywhere is noticed. Reads with NumPy alone; knows nothing of torch and of running a network.
"""

from __future__ import annotations

import hashlib
import json
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.files import Kind
from lanista.games import trust
from lanista.games.contract import Group, Head, Observation, Spec
from lanista.nets.files.champions import champions_for, policy_file
from lanista.nets.files.header_checks import (
    MOST_DIMENSIONS,
    MOST_HEADER,
    PolicyFileError,
    refuse_nonsense,
    refuse_other_deviations,
    refuse_other_tensors,
    refuse_other_turns,
)
from lanista.nets.files.layout_format import (
    head_as_json,
    head_from,
    observation_as_json,
    observation_from,
)
from lanista.nets.settings import Network, network_from
from lanista.text import printable, quoted

FORMAT = 1
"""Moves when a file of one version cannot be read as one of another."""
MOST_BYTES = 1 << 31
IMITATES = "imitates"
"""The remark that makes a policy known as a clone."""
_KEY = "lanista"
VALUE = "value.safetensors"
"""The file of a policy's value, in the folder of its run."""
POLICY = Kind("a policy file", rb'"__metadata__":\{"lanista":', MOST_HEADER)
_SEAL = "sha256"
_LONGEST_REASON = 600

Arrays = Mapping[str, NDArray[np.float32]]

__all__ = [
    "Arrays",
    "PolicyContent",
    "PolicyFileError",
    "PolicyHeader",
    "encode",
    "read",
    "read_header",
    "refuse_nonsense",
    "refused",
]


@dataclass(frozen=True)
class PolicyHeader:
    """What a policy file says of itself."""

    game: str
    settings: Mapping[str, Any]
    """Of the game."""
    seats: int
    rules_version: int
    observation_version: int
    observation: Observation
    heads: tuple[Head, ...]
    network: Network
    name: str = ""
    parents: tuple[str, ...] = ()
    """Digests of the policies it was made from."""
    step: int = 0
    """How many updates made it."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Remarks by name; a clone's has whom it imitates."""
    game_file: str = ""
    """SHA-256 of the Python file that the game came from, where it came from one."""
    game_path: str = ""
    """That file as it was named when the policy was trained; older policies do not say."""

    @classmethod
    def of(cls, spec: Spec, network: Network, **about: Any) -> PolicyHeader:
        """Return the header of a policy for a game; `about` is name, parents, step and extra."""
        return cls(
            game=spec.name,
            settings=dict(spec.settings),
            seats=spec.seats,
            rules_version=spec.facts.rules_version,
            observation_version=spec.facts.observation_version,
            observation=_observation(spec.observation, network),
            heads=tuple(_head(head, network) for head in spec.heads),
            network=network.resolved,
            game_file=spec.game_file,
            game_path=spec.game_path,
            **about,
        )

    def refuse_other(self, spec: Spec) -> None:
        """Refuse a game for which the policy was not made."""
        needed = PolicyHeader.of(spec, self.network)
        if self.game != needed.game:
            raise PolicyFileError(f"it plays {self.game!r}, and this game is {needed.game!r}")
        ours, theirs = _plain(self.settings), _plain(needed.settings)
        for name in sorted({*ours, *theirs} - {*spec.free_settings}):
            if ours.get(name) != theirs.get(name):
                champions = champions_for(self.game, spec.seats) if name == "seats" else []
                other = f", or take {champions[0]}" if champions else ""
                raise PolicyFileError(
                    f"it plays {self.game} with {name}={_shown(ours, name)}, and this game has "
                    f"{name}={_shown(theirs, name)}; make the game with the policy's setting{other}"
                )
        for name in ("seats", "rules_version", "observation_version"):
            mine, other = getattr(self, name), getattr(needed, name)
            if mine != other:
                raise PolicyFileError(
                    f"its {name.replace('_', ' ')} of {self.game} is {mine}, and this game's is "
                    f"{other}; train a policy for this game"
                )
        self._refuse_other_file(spec.game_file)
        self._refuse_other_shapes(needed)

    def _refuse_other_file(self, digest: str) -> None:
        # An older policy names no file, and then there is nothing to compare.
        if self.game_file and digest and self.game_file != digest and not trust.is_trusting():
            raise PolicyFileError(
                f"its game came from a Python file with the SHA-256 {self.game_file[:12]}, and "
                f"the one given has {digest[:12]}; give that file, or add --trust to play it with "
                "this one"
            )

    def _refuse_other_shapes(self, other: PolicyHeader) -> None:
        mine, shown = self.observation, other.observation
        if (mine.length, mine.dtype) != (shown.length, shown.dtype):
            raise PolicyFileError(
                f"it sees {mine.length} numbers of {mine.dtype}, and {self.game} shows "
                f"{shown.length} of {shown.dtype}"
            )
        if mine != shown:
            raise PolicyFileError(f"it reads the numbers that {self.game} shows in another layout")
        if self.heads != other.heads:
            heads = ", ".join(f"{head.name} {head.size}" for head in self.heads)
            needed = ", ".join(f"{head.name} {head.size}" for head in other.heads)
            raise PolicyFileError(f"it chooses {heads}, and {self.game} asks for {needed}")
        pairs = zip(self.heads, other.heads, strict=True)
        described = all(own.references == theirs.references for own, theirs in pairs)
        if not described or mine.groups != shown.groups:
            raise PolicyFileError(
                f"it reads choices and cells as {self.game} described them once, and it describes "
                "them otherwise now; train a policy for this game"
            )


def _observation(observation: Observation, network: Network) -> Observation:
    """Return as much of an observation as such a network is built from."""
    groups: tuple[Group, ...] = ()
    if network.sees_grid:
        groups = tuple(
            Group(group.name, grid=group.grid) for group in observation.groups if group.grid
        )
    elif network.readout:
        groups = tuple(
            Group(group.name, group.places) for group in observation.groups if group.places
        )
    return Observation(observation.fields, observation.dtype, groups)


def _head(head: Head, network: Network) -> Head:
    """Return as much of a head as such a network is built from."""
    references = head.references if network.readout else ()
    return Head(head.name, head.size, parts=head.parts, references=references)


_OF_FILE = ("game_file", "game_path")
"""Left out where they are empty, so that policies from before have their digests."""
_FIELDS = tuple(entry.name for entry in fields(PolicyHeader) if entry.name not in _OF_FILE)


@dataclass(frozen=True)
class PolicyContent:
    """A policy file as it was read."""

    header: PolicyHeader
    arrays: Arrays
    digest: str
    """SHA-256 of the file."""


def encode(header: PolicyHeader, arrays: Arrays) -> bytes:
    """Return the file of a policy."""
    start = _start_of_file(header, arrays)
    blobs = [np.ascontiguousarray(arrays[name], "<f4").tobytes() for name in sorted(arrays)]
    return b"".join([start, *blobs])


def read(path: str | Path) -> PolicyContent:
    """Return the content of a policy file; refuse whatever else it is."""
    path = policy_file(path)
    with _opened(path) as file, _about(path):
        header, table, start = _read_start(file)
        arrays, total = {}, hashlib.sha256(start)
        for name, shape in table.items():
            data = file.read(4 * _count(shape))
            total.update(data)
            arrays[name] = _array(name, data, shape)
        if _start_of_file(header, arrays) != start:
            raise PolicyFileError("it is damaged: its content does not have the SHA-256 it names")
        refuse_other_turns(header.network.symmetry, arrays)
        refuse_other_deviations(header.network, arrays)
        return PolicyContent(header, arrays, total.hexdigest())


def read_header(path: str | Path) -> PolicyHeader:
    """Return what a policy file says of itself; the weights are not looked at."""
    path = policy_file(path)
    with _opened(path) as file, _about(path):
        return _read_start(file)[0]


@contextmanager
def _about(path: Path) -> Iterator[None]:
    """Put the file's name in front of what is wrong with it."""
    try:
        yield
    except PolicyFileError as error:
        raise refused(path, error) from error


def refused(path: str | Path, reason: object) -> PolicyFileError:
    """Return the error of a file that cannot be used, as a sentence."""
    why = printable(reason, _LONGEST_REASON).rstrip(".")
    return PolicyFileError(f"The policy file {str(path)!r} is refused: {why}.")


def _opened(path: Path) -> BinaryIO:
    try:
        # Asked first, since opening a pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise PolicyFileError(f"{str(path)!r} is not a file; name a policy file.")
        return path.open("rb")
    except FileNotFoundError:
        raise PolicyFileError(f"There is no policy file {str(path)!r}.") from None
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise refused(path, f"it cannot be read: {why}") from error


def _read_start(file: BinaryIO) -> tuple[PolicyHeader, dict[str, tuple[int, ...]], bytes]:
    """Return the header, the shape of every tensor in order, and the bytes they were read from."""
    size = file.seek(0, 2)
    file.seek(0)
    first = file.read(8)
    length = struct.unpack("<Q", first)[0] if len(first) == 8 else 0
    if not 2 <= length <= MOST_HEADER or 8 + length > size or file.read(1) != b"{":
        _refuse_pickle(first)
        raise PolicyFileError("it is no safetensors file, or its beginning is damaged")
    file.seek(8)
    if size > MOST_BYTES:
        raise PolicyFileError(f"it has {size:,} bytes, and {MOST_BYTES:,} are the most read")
    text = file.read(length)
    table = _json(text)
    meta = table.pop("__metadata__", None) if isinstance(table, dict) else None
    if not isinstance(meta, dict) or not isinstance(meta.get(_KEY), str):
        raise PolicyFileError("it holds no policy of lanista; name a file that lanista saved")
    shapes = {name: _shape(name, entry) for name, entry in table.items()}
    expected_size = 8 + length + 4 * sum(_count(shape) for shape in shapes.values())
    if expected_size != size:
        raise PolicyFileError(f"it has {size:,} bytes, and its header names {expected_size:,}")
    header = _header(_json(meta[_KEY]))
    refuse_other_tensors(header, shapes)
    return header, shapes, first + text


def _refuse_pickle(first: bytes) -> None:
    if first[:4] == b"PK\x03\x04" or (first[:1] == b"\x80" and first[1:2] in b"\2\3\4\5"):
        raise PolicyFileError(
            "it is a pickle or an archive, as torch.save writes, which can run code when it is "
            "opened; name a file that lanista saved"
        )


def _json(text: str | bytes) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise PolicyFileError("its header is damaged: it is not JSON") from error


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number.")


def _shape(name: str, entry: Any) -> tuple[int, ...]:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    sizes = shape if isinstance(shape, list) else [None]
    if len(sizes) > MOST_DIMENSIONS:
        raise PolicyFileError(
            f"its header is damaged: tensor {name!r:.80} has {len(sizes):,} dimensions, and "
            f"{MOST_DIMENSIONS} are the most"
        )
    if not all(type(size) is int and 0 < size < MOST_BYTES for size in sizes):
        raise PolicyFileError(f"its header is damaged: tensor {name!r:.80} has no shape")
    if entry.get("dtype") != "F32":
        raise PolicyFileError(f"its tensor {name!r:.80} is not float32")
    return tuple(sizes)


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _array(name: str, data: bytes, shape: tuple[int, ...]) -> NDArray[np.float32]:
    if len(data) != 4 * _count(shape):
        raise PolicyFileError("it became shorter while it was read")
    # A copy, since what is read from bytes cannot be written and torch would warn of it.
    array = np.frombuffer(data, "<f4").reshape(shape).astype(np.float32)
    if not np.isfinite(array).all():
        raise PolicyFileError(f"its tensor {name!r:.80} holds numbers that are not finite")
    return array


def _start_of_file(header: PolicyHeader, arrays: Arrays) -> bytes:
    """Return all that comes before the tensors, the seal over everything included."""
    table: dict[str, Any] = {}
    about = _as_json(header)
    seal = hashlib.sha256(_compact(about).encode())
    end = 0
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name], "<f4")
        begin, end = end, end + array.nbytes
        seal.update(_compact([name, "F32", list(array.shape)]).encode())
        seal.update(array.data)
        table[name] = {"data_offsets": [begin, end], "dtype": "F32", "shape": list(array.shape)}
    table["__metadata__"] = {_KEY: _compact(about | {_SEAL: seal.hexdigest()})}
    text = _compact(table).encode()
    # Tensors begin at a multiple of eight, as other readers of safetensors like it.
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER:
        raise PolicyFileError("its header is too long; give it fewer remarks and parents")
    return struct.pack("<Q", len(text)) + text


def _compact(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise PolicyFileError(f"its settings and remarks must be plain values: {error}") from error


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they look after a journey through a file."""
    plain: dict[str, Any] = json.loads(_compact(dict(settings)))
    return plain


def _as_json(header: PolicyHeader) -> dict[str, Any]:
    about: dict[str, Any] = {name: getattr(header, name) for name in _FIELDS}
    about["settings"], about["extra"] = dict(header.settings), dict(header.extra)
    # What is None is left out, as for the game's file.
    network = asdict(header.network)
    about["network"] = {name: value for name, value in network.items() if value is not None}
    about["heads"] = [head_as_json(head) for head in header.heads]
    about["observation"] = observation_as_json(header.observation)
    about |= {name: value for name in _OF_FILE if (value := getattr(header, name))}
    return about | {"format": FORMAT}


def _shown(settings: Mapping[str, Any], name: str) -> str:
    if name not in settings:
        return "default"
    value = settings[name]
    return printable(value) if isinstance(value, str) else quoted(value)


def _header(about: Any) -> PolicyHeader:
    if not isinstance(about, dict) or type(about.get("format")) is not int:
        raise PolicyFileError("its header is damaged: it names no format")
    if about["format"] != FORMAT:
        raise PolicyFileError(
            f"it has format {about['format']}, and this lanista reads format {FORMAT}"
        )
    try:
        values = {name: about[name] for name in _FIELDS}
        values |= {name: about.get(name, "") for name in _OF_FILE}
        values["observation"] = observation_from(values["observation"])
        values["heads"] = tuple(head_from(*entry) for entry in values["heads"])
        values["network"] = network_from(values["network"])
        values["parents"] = tuple(values["parents"])
        values["settings"], values["extra"] = dict(values["settings"]), dict(values["extra"])
        header = PolicyHeader(**values)
        refuse_nonsense(header)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PolicyFileError("its header is damaged: parts of it are missing") from error
    except PolicyFileError:
        raise
    except LanistaError as error:
        raise PolicyFileError(f"its header is damaged: {error}") from error
    return header
