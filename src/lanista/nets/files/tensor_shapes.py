"""Which tensors a policy has, worked out from its header with whole numbers alone.

A header is believed only as far as the file's own tensors account for it: whoever reads a file
compares both here before anything is built. Knows nothing of torch, of NumPy and of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lanista.games.contract import Head, Observation
from lanista.nets.boards import KERNEL, board_of, channels_of
from lanista.nets.grids import channels_at, grid_of, halvings, scales_of
from lanista.nets.heads.cells import by_number, cell_sizes
from lanista.nets.heads.pointers import RANK, pointer_sizes, refuse_undescribed, undescribed
from lanista.nets.settings import Network
from lanista.nets.table_rows import DIGITS
from lanista.nets.tokens import depth_of, token_count, token_sizes
from lanista.nets.torso_table import TORSOS

Shape = tuple[int, ...]
Named = Iterator[tuple[str, Shape]]


def tensor_shapes(
    observation: Observation, heads: Sequence[Head], network: Network
) -> dict[str, Shape]:
    """Return the shape of every tensor of such a policy, by name."""
    width = network.resolved_width
    torso, layers = TORSOS[network.kind], network.resolved_layers
    further = (network.embedding, network.readout, network.rows)
    shapes = torso.shapes(observation, width, layers, *further)
    if network.normalise_observations is not None:
        shapes = _inside(shapes)
        shapes |= dict.fromkeys(("torso.mean", "torso.deviation"), (observation.length,))
        shapes |= {"torso.seen": (1,)}
    if network.readout == "cells":
        return shapes | dict(cells(observation, heads, width))
    if network.readout:
        return shapes | dict(pointer(heads, width))
    if turns := network.symmetry:
        shapes = _inside(shapes)
        table = (turns, observation.length)
        shapes |= {"torso.columns": table, "torso.signs": table}
        choices = sum(head.size for head in heads)
        shapes |= {"torso.direction": (observation.length,), "head.permutation": (turns, choices)}
    return shapes | dict(_choices("head", heads, width))


def _choices(name: str, heads: Sequence[Head], width: int) -> Named:
    yield from _layer(name, width, sum(head.size for head in heads))
    if part_rows := sum(sum(head.parts) for head in heads):
        yield f"{name}.parts", (part_rows, width)


def pointer(heads: Sequence[Head], width: int) -> Named:
    """Yield the tensors of a head that points at tokens."""
    refuse_undescribed(heads)
    sizes = pointer_sizes(heads)
    yield from _norm("head.norm", width)
    yield "head.roles", (sizes.roles, width, width)
    if sizes.absent:
        yield "head.absent", (sizes.absent, width)
    yield "head.kinds", (sizes.kinds, width)
    yield from _layer("head.whole", width, width)
    yield "head.score", (1, width)
    if sizes.has_pairs:
        yield from _layer("head.pairs", width, 2 * RANK)
    if by_number := undescribed(heads):
        yield from _choices("head.by_number", by_number, width)


def cells(observation: Observation, heads: Sequence[Head], width: int) -> Named:
    """Yield the tensors of a head that reads choices from cells."""
    sizes = cell_sizes(observation, heads)
    yield from _layer("head.at_cells", channels_of(width), sizes.kinds)
    if sizes.apart:
        yield from _layer("head.apart", width, sizes.apart)
    if numbered := by_number(observation, heads):
        yield from _choices("head.by_number", numbered, width)


def _inside(shapes: dict[str, Shape]) -> dict[str, Shape]:
    """Return the tensors of a torso that another one is put around."""
    return {name.replace("torso.", "torso.inner.", 1): size for name, size in shapes.items()}


def _layer(name: str, inputs: int, outputs: int) -> Named:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def _norm(name: str, width: int) -> Named:
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)


def _kernels(name: str, inputs: int, outputs: int, side: int = KERNEL) -> Named:
    yield f"{name}.weight", (outputs, inputs, side, side)
    yield f"{name}.bias", (outputs,)


def columns(observation: Observation) -> int:
    """Return how many columns a view has once its categories are one-hot."""
    return sum(field.size * (field.classes or 1) for field in observation.fields)


def mlp(observation: Observation, width: int, layers: int) -> Named:
    for number in range(layers):
        inputs = width if number else columns(observation)
        yield from _layer(f"torso.layers.{number}", inputs, width)


def residual(observation: Observation, width: int, layers: int) -> Named:
    yield from _layer("torso.into", columns(observation), width)
    for number in range(layers):
        yield from _norm(f"torso.blocks.{number}.0", width)
        yield from _layer(f"torso.blocks.{number}.1", width, width)
        yield from _layer(f"torso.blocks.{number}.3", width, width)
    yield from _norm("torso.out", width)


def convolution(observation: Observation, width: int, layers: int) -> Named:
    planes, rows, board_columns = board_of(observation)
    channels = channels_of(width)
    yield from _kernels("torso.into", planes, channels)
    if beside := columns(observation) - planes * rows * board_columns:
        yield from _layer("torso.beside", beside, channels)
    for number in range(layers):
        yield from _kernels(f"torso.blocks.{number}.0", channels, channels)
        yield from _kernels(f"torso.blocks.{number}.2", channels, channels)
    yield from _layer("torso.out", channels * rows * board_columns, width)


def unet(observation: Observation, width: int, layers: int, readout: str | None = None) -> Named:
    planes, rows, board_columns = grid_of(observation)
    channels = channels_of(width)
    yield from _kernels("torso.into", planes, channels)
    if beside := columns(observation) - planes * rows * board_columns:
        yield from _layer("torso.beside", beside, channels)
    steps = halvings(channels, rows, board_columns)
    for scale in range(len(steps) + 1):
        yield from _blocks(f"torso.down.{scale}", channels_at(channels, scale), layers)
    for scale, (fine, coarse) in enumerate(steps):
        yield from _kernels(f"torso.halve.{scale}", fine, coarse)
        if readout:
            yield from _kernels(f"torso.project.{scale}", coarse, fine, 1)
            yield from _blocks(f"torso.up.{scale}", fine, layers)
    last_rows, last_columns = scales_of(rows, board_columns)[-1]
    size = channels_at(channels, len(steps)) * last_rows * last_columns
    yield from _layer("torso.out", size, width)


def _blocks(name: str, channels: int, layers: int) -> Named:
    for number in range(layers):
        for part in ("first", "second"):
            yield from _kernels(f"{name}.{number}.{part}", channels, channels)


def lstm(observation: Observation, width: int, layers: int, embedding: int | None = None) -> Named:
    inputs = columns(observation)
    if embedding is not None:
        yield from _tokens(observation, width, embedding)
        inputs = token_count(observation) * width
    yield from _layer("torso.into", inputs, width)
    yield from _cells(width, layers)


def _cells(width: int, layers: int) -> Named:
    for number in range(layers):
        for side in ("ih", "hh"):
            yield f"torso.cells.{number}.weight_{side}", (4 * width, width)
            yield f"torso.cells.{number}.bias_{side}", (4 * width,)


def table(observation: Observation, width: int, layers: int, rows: int) -> Named:
    yield "torso.keys", (rows, DIGITS)
    yield "torso.logits", (rows, width)


def transformer(
    observation: Observation,
    width: int,
    layers: int,
    embedding: int | None = None,
    readout: str | None = None,
) -> Named:
    yield from _tokens(observation, width, embedding, readout)
    for number in range(layers):
        name = f"torso.blocks.{number}"
        yield from _norm(f"{name}.before_mixing", width)
        yield from _layer(f"{name}.queries_keys_values", width, 3 * width)
        yield from _layer(f"{name}.mixed", width, width)
        yield from _norm(f"{name}.before_layers", width)
        yield from _layer(f"{name}.up", width, 2 * width)
        yield from _layer(f"{name}.down", 2 * width, width)
    yield from _norm("torso.out", width)


def transformer_lstm(
    observation: Observation,
    width: int,
    layers: int,
    embedding: int | None = None,
    readout: str | None = None,
) -> Named:
    yield from transformer(observation, width, layers, embedding, readout)
    yield from _cells(width, layers)


def _tokens(
    observation: Observation, width: int, embedding: int | None, readout: str | None = None
) -> Named:
    """Yield the tensors of what makes tokens of a view."""
    depth = depth_of(width, embedding)
    rows, kinds = token_sizes(observation, depth, readout)
    if rows:
        yield "torso.encoder.embedding.weight", (rows, depth)
    for number, (count, inputs) in enumerate(kinds):
        yield from _layer(f"torso.encoder.inputs.{number}", inputs, width)
        yield f"torso.encoder.places.{number}", (count, width)
