"""Dropping ids: while it learns, a transformer now and then does not see which one something is."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lanista.errors import LanistaError
from lanista.games.contract import Field, Observation
from lanista.nets.dropout import dropping
from lanista.nets.encoders import TokenEncoder
from lanista.nets.settings import Network

CPU = torch.device("cpu")
OBSERVATION = Observation(
    (
        Field("mon.species", 2, 100, group="mon", table="species"),
        Field("mon.status", 2, 4, group="mon"),
        Field("mon.hp", 2, group="mon"),
    ),
    "int16",
)


def encoded(rate: float | None, rows: Tensor, *key: int) -> Tensor:
    torch.manual_seed(0)
    encoder = TokenEncoder(OBSERVATION, 8, 4, id_dropout=rate)
    if not key:
        return encoder(rows)
    with dropping(CPU, *key):
        return encoder(rows)


ROWS = torch.randint(0, 4, (500, 6), generator=torch.Generator().manual_seed(1)).to(torch.int16)


def test_who_plays_sees_every_id() -> None:
    torch.testing.assert_close(encoded(0.5, ROWS), encoded(None, ROWS))


def test_ids_are_dropped_as_often_as_the_rate_says_and_nothing_else_is() -> None:
    whole, dropped = encoded(0.3, ROWS), encoded(0.3, ROWS, 1, 2)
    changed = (whole != dropped).any(-1)
    assert changed.float().mean().item() == pytest.approx(0.3, abs=0.05)
    # Without its species a token says the same whatever the species is.
    other = ROWS.clone()
    other[:, :2] = 77
    torch.testing.assert_close(encoded(0.3, other, 1, 2)[changed], dropped[changed])
    plain = ROWS.clone()
    plain[:, 2:4] = 3 - plain[:, 2:4]
    assert (encoded(0.3, plain, 1, 2) != dropped).any(-1)[ROWS[:, 2:4] != 3 - ROWS[:, 2:4]].all()


def test_the_same_update_drops_the_same_ids() -> None:
    one, again, other = (encoded(0.5, ROWS, 1, number) for number in (2, 2, 3))
    assert (one == again).all()
    assert (one != other).any()


def test_a_rate_that_cannot_be_is_refused() -> None:
    with pytest.raises(LanistaError, match="id_dropout is 1; give a number from 0 to below 1"):
        Network("transformer", id_dropout=1)
    with pytest.raises(LanistaError, match="only a transformer"):
        Network("mlp", id_dropout=0.1)
