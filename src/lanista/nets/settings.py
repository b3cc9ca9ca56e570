"""How large a network is and of which kind: one dial, and what follows from it.

Knows nothing of torch, so that commands can show and check settings without loading it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from lanista.errors import LanistaError, nearest
from lanista.nets.torso_table import SIZES, TORSOS, TorsoKind

Size = Literal["s", "m", "l", "xl"]

MOST = {"width": 16384, "layers": 256, "attention_heads": 16384}
MOST_EMBEDDING = 16384
MOST_TURNS = 1024
MOST_DEVIATIONS = 1000
MOST_ROWS = 1 << 28
"""The largest numbers a network may have; beyond them lies a slip or a damaged file."""

if TYPE_CHECKING:
    from lanista.nets.finish import Finish


@dataclass(frozen=True)
class Network:
    """A network's kind and size. What is 0 follows from the size."""

    kind: str = "mlp"
    """mlp, residual (MLP with skips), convolution (over the observation's planes), unet (over its
    grid, at several scales), lstm, transformer (over the observation's tokens), transformer_lstm
    (the same, with memory), or the name of an installed torso."""
    size: Size = "m"
    """The one dial: s, m, l or xl."""
    width: int = 0
    """Units of a layer; 0: by size."""
    layers: int = 0
    """Layers (blocks of a residual network or transformer); 0: by size."""
    attention_heads: int = 0
    """Heads of a transformer's attention; 0: about one for each 32 units of width."""
    symmetry: int | None = None
    """The number of turns and mirrors under which the game is the same, as `lanista games GAME`
    has it: what is learned in one position then holds in all its turns. None: not used."""
    embedding: int | None = None
    """Numbers that a transformer has for each value of a category, such as a card's species. None:
    32, or the width where that is less. An lstm with it reads embedded tokens too; without it, a
    column for each value."""
    dropout: float | None = None
    """Probability with which a unit is dropped while learning; who plays drops none. None: 0."""
    normalise_observations: float | None = None
    """Numbers of a view less their running mean over the decisions learned from, divided by their
    running deviation, and cut off beyond this bound, such as 5; categories stay as they are. None:
    numbers are divided by the scale that the game states."""
    id_dropout: float | None = None
    """Probability with which a transformer does not see which species, move or the like something
    is while learning, so that it learns from what they do; who plays sees all. None: 0."""
    readout: Literal["pointer", "cells"] | None = None
    """pointer: a choice is scored by the tokens that the game says it is about (a transformer, in
    a game that describes its choices). cells: by the cell of the grid that it is about, with
    weights that all cells share (a unet). None: by its number, from features of the whole view."""

    rows: int | None = None
    """Views of a table, which `lanista solve` writes. None for all that is learned."""

    drop_below: float | None = None
    """Of a finished policy, which `lanista policy finish` writes: choices with a lower probability
    are never played. None: all are."""
    parts: int | None = None
    """Of a finished policy: probabilities are rounded to multiples of one over this. None: they are
    not."""

    def __post_init__(self) -> None:
        TORSOS.refuse_unknown(self.kind, where="network.kind")
        self._refuse_rows()
        if self.size not in SIZES:
            raise LanistaError(f"Network size is {self.size!r}; choose from s, m, l, xl.")
        for name, most in MOST.items():
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= most:
                raise LanistaError(
                    f"Network {name} is {value!r}; give a whole number from 1 to {most}, or 0 to "
                    "let the size decide."
                )
        if self.symmetry is not None and not 1 <= self.symmetry <= MOST_TURNS:
            raise LanistaError(
                f"Network symmetry is {self.symmetry}; give the number of the game's turns, or "
                "leave it out."
            )
        if self.symmetry and self._torso.recurrent:
            raise LanistaError(
                f"Network symmetry turns every view by itself, and a {self.kind} remembers earlier "
                "ones; leave it out, or take another kind."
            )
        self._refuse_embedding_and_dropout()
        self._refuse_readout()
        if self.finish is not None and not (self.drop_below or self.parts):
            raise LanistaError(
                "Network drop_below and parts are 0 and change nothing; leave them out."
            )
        if self._torso.attention and self.resolved_width % self.resolved_attention_heads:
            raise LanistaError(
                f"A {self.kind} {self.resolved_width} wide cannot have "
                f"{self.resolved_attention_heads} attention heads; give a divisor of the width."
            )

    def _refuse_rows(self) -> None:
        if self.learned and self.rows is not None:
            raise LanistaError(
                f"Network rows is {self.rows!r:.80}, and only a table has rows, not a {self.kind}; "
                "leave it out."
            )
        if self.learned:
            return
        if type(self.rows) is not int or not 1 <= self.rows <= MOST_ROWS:
            raise LanistaError(
                f"Network kind is {self.kind!r}, which `lanista solve` writes and training cannot "
                "make; choose another kind."
            )
        if self.symmetry is not None or self.normalise_observations is not None:
            raise LanistaError(
                "A table finds views as the game shows them; leave out symmetry and "
                "normalise_observations."
            )

    def _refuse_embedding_and_dropout(self) -> None:
        size, rate = self.embedding, self.dropout
        if size is not None and not 1 <= size <= MOST_EMBEDDING:
            raise LanistaError(
                f"Network embedding is {size}; give a whole number from 1 to {MOST_EMBEDDING}, or "
                "leave it out."
            )
        if size is not None and not self._embeds:
            raise LanistaError(
                f"Network embedding is {size}, and a {self.kind} embeds no categories, as a "
                f"transformer and an lstm do; leave it out."
            )
        for name, share in (("dropout", rate), ("id_dropout", self.id_dropout)):
            if share is not None and not 0 <= share < 1:
                raise LanistaError(f"Network {name} is {share}; give a number from 0 to below 1.")
        if self.id_dropout is not None and not (
            self._torso.attention or (self._embeds and size is not None)
        ):
            raise LanistaError(
                f"Network id_dropout is {self.id_dropout}, and only a transformer, or an lstm with "
                f"an embedding, embeds ids, not this {self.kind}; leave it out."
            )
        bound = self.normalise_observations
        if bound is not None and not 0 < bound <= MOST_DEVIATIONS:
            raise LanistaError(
                f"Network normalise_observations is {bound}; give the deviations beyond which a "
                f"number is cut off, above 0 and at most {MOST_DEVIATIONS}, or leave it out."
            )

    def _refuse_readout(self) -> None:
        if self.readout is None:
            return
        if self.readout not in ("pointer", "cells"):
            raise LanistaError(
                f"Network readout is {self.readout!r:.80}; give 'pointer' or 'cells', or leave it "
                "out."
            )
        if self.readout == "cells" and not self.sees_grid:
            raise LanistaError(
                f"Network readout is 'cells', and a {self.kind} has no cells to read from; take "
                "the kind unet, or leave it out."
            )
        if self.readout == "pointer" and not self._torso.shows_tokens:
            raise LanistaError(
                f"Network readout is 'pointer', and a {self.kind} has no tokens to point at; take "
                "the kind transformer, or leave it out."
            )
        if self.symmetry:
            raise LanistaError(
                f"Network readout is {self.readout!r}, and symmetry turns choices by their "
                "numbers; leave one of them out."
            )

    @property
    def resolved_width(self) -> int:
        return self.width or self._torso.sizes[self.size][0]

    @property
    def resolved_layers(self) -> int:
        return self.layers or self._torso.sizes[self.size][1]

    @property
    def resolved_attention_heads(self) -> int:
        if self.attention_heads:
            return self.attention_heads
        width = self.resolved_width
        return next(n for n in range(max(1, width // 32), 0, -1) if width % n == 0)

    @property
    def resolved(self) -> Network:
        """The same network with every number written out, whatever sizes come to mean later."""
        heads = self.resolved_attention_heads if self._torso.attention else 0
        return replace(
            self, width=self.resolved_width, layers=self.resolved_layers, attention_heads=heads
        )

    @property
    def recurrent(self) -> bool:
        return self._torso.recurrent

    @property
    def learned(self) -> bool:
        """Whether training can make and change it."""
        return self._torso.learned

    @property
    def sees_grid(self) -> bool:
        """Whether it is built from the grid that an observation says it is."""
        return self._torso.grid

    @property
    def finish(self) -> Finish | None:
        """What happens to probabilities before they are played; None: nothing."""
        if self.drop_below is None and self.parts is None:
            return None
        from lanista.nets.finish import Finish

        return Finish(self.drop_below or 0.0, self.parts or 0)

    def refuse_training(self) -> None:
        """Refuse to train a policy that nothing in can be learned of."""
        if self.finish is not None:
            raise LanistaError(
                "A finished policy is not trained further: its probabilities are rounded, or rare "
                "choices dropped; begin from the policy it was made from."
            )
        if not self.learned:
            raise LanistaError(
                f"A {self.kind} is not trained further: nothing in it is learned; begin from "
                "scratch, or from a policy that was trained."
            )

    @property
    def _embeds(self) -> bool:
        return self._torso.attention or self._torso.embeds

    @property
    def _torso(self) -> TorsoKind:
        return TORSOS[self.kind]


def network_from(values: dict[str, Any]) -> Network:
    """Return a network's settings from plain values, such as those of a policy file."""
    names = {field.name for field in fields(Network)}
    for name in values:
        if name not in names:
            raise LanistaError(f"A network has no setting {name!r}; {nearest(name, names)}")
    return Network(**values)
