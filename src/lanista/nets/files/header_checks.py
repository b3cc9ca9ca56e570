"""Whether a header can be that of a policy: its values by themselves, and against the tensors.

Asked before anything is built from it. Knows nothing of bytes and of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lanista.errors import LanistaError
from lanista.foreign import is_digest
from lanista.games.references import refuse_missing_tokens
from lanista.nets.files.tensor_shapes import tensor_shapes
from lanista.nets.tokens import refuse_attention, token_count
from lanista.nets.torso_table import TORSOS
from lanista.text import quoted

if TYPE_CHECKING:
    from lanista.nets.files.policy_format import PolicyHeader
    from lanista.nets.settings import Network

MOST_HEADER = 1 << 20
"""Bytes of a header, entries of an observation, choices of an action: the most there may be."""
MOST_DIMENSIONS = 8
"""Of a tensor, and of a head's parts: far beyond any of ours, and within what NumPy takes."""
_MOST_SEATS = 1 << 16
_NO_SETTINGS = frozenset({"name", "slots", "seed"})
"""What a game is made with beside its settings; a file that names one would decide about it."""
_DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")


class PolicyFileError(LanistaError):
    """A file is not a policy, is damaged, or does not fit the game."""


def refuse_nonsense(header: PolicyHeader) -> None:
    """Refuse a header with values that no policy has."""
    whole = [header.seats, header.rules_version, header.observation_version, header.step]
    whole += [
        number for f in header.observation.fields for number in (f.size, f.classes, *f.planes)
    ]
    whole += [number for head in header.heads for number in (head.size, *head.parts)]
    texts = [
        header.game,
        header.game_path,
        header.name,
        *header.parents,
        *header.extra,
        *header.extra.values(),
    ]
    texts += [text for f in header.observation.fields for text in (f.name, f.group, f.table)]
    texts += [head.name for head in header.heads]
    described = [part for head in header.heads for part in head.references]
    texts += [text for part in described for role in part.roles for text in (role.name, role.group)]
    texts += [kind for part in described for kind in {*part.kinds}]
    scales = [f.scale for f in header.observation.fields]
    sound = (
        (header.game_file == "" or is_digest(header.game_file))
        and (header.game_path == "" or header.game_file != "")
        and all(type(number) is int and 0 <= number < 1 << 63 for number in whole)
        and all(isinstance(text, str) and text.isprintable() for text in texts)
        and all(type(scale) in (int, float) and 0 < abs(scale) < 1e38 for scale in scales)
        and header.observation.dtype in _DTYPES
        and 0 < header.observation.length < MOST_HEADER
        and 0 < sum(head.size for head in header.heads) < MOST_HEADER
        and all(head.size for head in header.heads)
        and 0 < header.seats <= _MOST_SEATS
    )
    if not sound:
        raise PolicyFileError("its header holds values that no policy has")
    for head in header.heads:
        if head.references:
            refuse_missing_tokens(head.name, head.references, header.observation.group_sizes)
    for name, value in header.settings.items():
        if name in _NO_SETTINGS or not _within_64_bits(value):
            raise PolicyFileError(
                f"its setting {quoted(name)} is {quoted(value)}, which none can be"
            )


def _within_64_bits(value: Any) -> bool:
    """Whether every whole number in a setting is one that a compiled game can be given."""
    if isinstance(value, Mapping):
        return all(_within_64_bits(entry) for entry in value.values())
    if isinstance(value, list | tuple):
        return all(_within_64_bits(entry) for entry in value)
    return not isinstance(value, int) or -(1 << 63) <= value < 1 << 63


def refuse_other_tensors(header: PolicyHeader, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse a header that the file's tensors do not account for, before anything is built."""
    network = header.network
    try:
        expected = tensor_shapes(header.observation, header.heads, network)
        if TORSOS[network.kind].attention:
            tokens = token_count(header.observation)
            refuse_attention(tokens, network.resolved_attention_heads)
    except LanistaError as error:
        raise PolicyFileError(f"its header is damaged: {error}") from error
    for name in sorted({*expected, *shapes}):
        if expected.get(name) != shapes.get(name):
            raise PolicyFileError(
                f"its tensor {name!r:.80} has shape {_written(shapes.get(name))}, and a "
                f"{network.kind} {network.resolved_width} wide for {header.game} needs "
                f"{_written(expected.get(name))}"
            )


def refuse_other_turns(network_turns: int | None, arrays: Mapping[str, Any]) -> None:
    """Refuse turns of views and choices that are no permutations with signs."""
    if network_turns is None:
        return
    for name in ("torso.columns", "head.permutation"):
        table = arrays[name]
        if not all(sorted(row) == list(range(len(row))) for row in table.tolist()):
            raise PolicyFileError(f"its tensor {name!r} is no permutation")
    if not all(abs(sign) == 1 for row in arrays["torso.signs"].tolist() for sign in row):
        raise PolicyFileError("its tensor 'torso.signs' has other numbers than 1 and -1")


def refuse_other_deviations(network: Network, arrays: Mapping[str, Any]) -> None:
    """Refuse running numbers of observations that nothing can be divided by."""
    if network.normalise_observations is None:
        return
    name = "torso.inner.deviation" if network.symmetry else "torso.deviation"
    if not (arrays[name] > 0).all():
        raise PolicyFileError(f"its tensor {name!r} has numbers that are not above 0")


def _written(shape: tuple[int, ...] | None) -> str:
    return "none, for it is not there" if shape is None else str(list(shape))
