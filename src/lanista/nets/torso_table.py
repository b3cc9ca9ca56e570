"""The torsos: name, what it is, its sizes, and where its parts lie.

A further torso is a line here, or an entry point of `lanista.torsos` that is a `TorsoKind`. Its
implementation is a `Torso` of torch; beside it stand the tensors it has, which a policy file is
checked against before anything is built, and how NumPy runs it. Knows nothing of torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lanista.errors import LanistaError
from lanista.extensions import Entry, Table, located

SIZES = ("s", "m", "l", "xl")


@dataclass(frozen=True)
class TorsoKind(Entry):
    """A torso; its implementation is a class made from an observation and a `Network`."""

    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Width and layers of s, m, l and xl, about four times apart in cost."""
    tensors: Any = None
    """A function `(observation, width, layers)` that gives the name and shape of every tensor. One
    that embeds takes `embedding` too, where settings give one, one that shows its tokens or
    cells `readout`, and a table `rows`."""
    numpy: Any = None
    """A function `(header, weights)` that gives the same torso in NumPy; none: torch alone runs
    it, so a live bot cannot."""
    recurrent: bool = False
    """Each seat carries a state of 2 · width · layers numbers through its match."""
    attention: bool = False
    """Has attention over the observation's tokens."""
    embeds: bool = False
    """Learns an embedding of the observation's categories where settings have one; with attention
    it always does."""
    shows_tokens: bool = False
    """Where settings have a `readout`, the tokens follow the features, so that choices can be read
    from them; they are those of nets/tokens, and groups share places as it says."""
    grid: bool = False
    """Sees the grid that an observation says it is. Where settings have a `readout`, the cells
    follow the features, so that choices can be read from them."""
    fast_in_numpy: bool = False
    """NumPy runs it as fast as ONNX Runtime, for a row or a few."""
    learned: bool = True
    """Training can make one; otherwise settings cannot ask for it."""

    def __post_init__(self) -> None:
        if tuple(self.sizes) != SIZES or self.tensors is None:
            raise LanistaError(
                f"The torso {self.implementation!r} has the sizes {list(self.sizes)}; give width "
                f"and layers for {', '.join(SIZES)}, and its tensors."
            )

    def shapes(
        self,
        observation: Any,
        width: int,
        layers: int,
        embedding: int | None = None,
        readout: str | None = None,
        rows: int | None = None,
    ) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor of such a torso, by name."""
        settings = {"embedding": embedding, "readout": readout, "rows": rows}
        further = {name: value for name, value in settings.items() if value is not None}
        return dict(located(self.tensors)(observation, width, layers, **further))


def _ours(
    about: str,
    class_name: str,
    name: str,
    *sizes: tuple[int, int],
    recurrent: bool = False,
    **facts: Any,
) -> Any:
    return TorsoKind(
        about,
        f"lanista.nets.torsos:{class_name}",
        sizes=dict(zip(SIZES, sizes, strict=True)),
        tensors=f"lanista.nets.files.tensor_shapes:{name}",
        numpy=f"lanista.nets.portable.{'recurrent' if recurrent else 'runtime'}:{name}",
        recurrent=recurrent,
        **facts,
    )


TORSOS: Table[TorsoKind] = Table(
    "torso",
    "lanista.torsos",
    {
        "mlp": _ours(
            "plain layers", "MLP", "mlp",
            (128, 2), (256, 2), (512, 2), (1024, 3), fast_in_numpy=True,
        ),
        "residual": _ours(
            "an MLP with skips", "Residual", "residual",
            (128, 2), (256, 3), (512, 4), (1024, 6), fast_in_numpy=True,
        ),
        "convolution": _ours(
            "residual blocks of convolutions over the observation's planes", "Convolution",
            "convolution", (64, 1), (128, 2), (256, 4), (512, 8),
        ),
        "unet": TorsoKind(
            "convolutions over the observation's grid, at several scales with skips",
            "lanista.nets.unet:UNet",
            sizes=dict(zip(SIZES, ((64, 1), (128, 1), (192, 2), (384, 2)), strict=True)),
            tensors="lanista.nets.files.tensor_shapes:unet",
            numpy="lanista.nets.portable.grids:unet",
            grid=True,
        ),
        "lstm": _ours(
            "a layer, then LSTM cells", "LSTM", "lstm",
            (128, 1), (256, 1), (512, 1), (1024, 2), recurrent=True, embeds=True,
        ),
        "transformer": _ours(
            "self-attention over the observation's tokens", "Transformer", "transformer",
            (64, 2), (128, 3), (256, 4), (384, 6), attention=True, shows_tokens=True,
        ),
        "table": TorsoKind(
            "views and what to do there, as `lanista solve` writes it",
            "lanista.nets.table:Table",
            sizes=dict.fromkeys(SIZES, (1, 1)),
            tensors="lanista.nets.files.tensor_shapes:table",
            numpy="lanista.nets.table_rows:portable_table",
            fast_in_numpy=True,
            learned=False,
        ),
        "transformer_lstm": _ours(
            "a transformer whose features pass through LSTM cells", "TransformerLSTM",
            "transformer_lstm", (64, 2), (128, 3), (256, 4), (384, 6), recurrent=True,
            attention=True, shows_tokens=True,
        ),
    },
)  # fmt: skip
