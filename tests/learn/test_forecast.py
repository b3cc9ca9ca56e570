"""Predicting the next view beside imitation: what the loss is, and that it shapes the torso."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from demonstrated import SPEC, demonstrate
from grid_games import grid_spec
from hand_game import POINTING, demonstrated, hands

from lanista.errors import LanistaError
from lanista.games.contract import Field, Observation
from lanista.learn.forecast import LAST, Forecast, next_rows
from lanista.learn.imitation.cloner import Cloner, show
from lanista.learn.imitation.settings import Imitation
from lanista.nets.settings import Network
from lanista.nets.tokens import token_counts_of
from lanista.nets.torsos import Torso

LENGTH = SPEC.observation.length
FLAGS = Observation((Field("flags", LENGTH, 2),), SPEC.observation.dtype)


def shows(width, token_width=0, shown=None):
    """Return a torso that shows such tokens."""
    torso = Torso()
    torso.width, torso.token_width, torso.shown = width, token_width, shown or {}
    return torso


def test_the_next_row_is_that_of_the_same_trajectory():
    data = demonstrate(6)
    rows = np.arange(len(data))
    following = next_rows(data, rows)
    for start, end in zip(data.first[:-1], data.first[1:], strict=True):
        assert following[start : end - 1].tolist() == list(range(start + 1, end))
        assert following[end - 1] == LAST


def test_the_loss_is_the_cross_entropy_of_an_entrys_value_read_from_its_own_token():
    fields = (Field("a.kind", 2, 3, group="a"), Field("b.kind", 3, 2, group="b"), Field("w", 1, 4))
    observation = Observation(fields, "uint8")
    forecast = Forecast(observation, ["b.kind", "w"], shows(4, 4, {"a": 0, "b": 2}))
    features = torch.randn(5, 4 + 6 * 4)  # Two tokens of a, three of b, one of the rest.
    after = torch.tensor(np.random.default_rng(0).integers(0, 2, (5, 6)))
    expected = torch.zeros(5)
    token_layer, whole_layer = forecast.layers
    for row in range(5):
        for entry in range(3):
            start = 4 + (2 + entry) * 4
            chances = token_layer(features[row, start : start + 4]).log_softmax(-1)
            expected[row] -= chances[after[row, 2 + entry]].detach()
        expected[row] -= whole_layer(features[row, :4]).log_softmax(-1)[after[row, 5]].detach()
    torch.testing.assert_close(forecast(features, after).detach(), expected / 4)


def test_a_field_that_follows_from_the_view_is_learned_and_moves_the_torso():
    data = replace(demonstrate(400, seed=1), spec=replace(SPEC, observation=FLAGS))
    # Every view of a match is its first one, so that the next one can be told.
    for first, end in zip(data.first[:-1], data.first[1:], strict=True):
        data.observation[first:end] = data.observation[first]
    settings = Imitation(epochs=6, batch_size=64, lr=1e-2, forecast=("flags",), forecast_weight=1)
    cloner = Cloner(data.spec, Network(width=16, layers=1), settings)
    before = [weight.detach().clone() for weight in cloner.policy.torso.parameters()]
    learned, held_out = data.split(0.2)
    losses = [cloner.train_epoch(data, learned, held_out) for _ in range(6)]
    assert losses[-1]["held_out_forecast"] < 0.5 * losses[0]["learned_forecast"]
    alone = torch.autograd.grad(
        cloner.forecast(
            cloner.policy.torso(torch.from_numpy(data.observation[:8])),
            torch.from_numpy(data.observation[1:9]),
        ).mean(),
        next(cloner.policy.torso.parameters()),
    )[0]
    assert alone.any()
    assert any(
        (a != b).any() for a, b in zip(before, cloner.policy.torso.parameters(), strict=True)
    )


def test_what_is_predicted_is_the_next_view_of_the_same_seat():
    # Two seats of each match; all their views differ.
    data = replace(demonstrate(40, seed=3), spec=replace(SPEC, observation=FLAGS))
    data = replace(data, match=data.match // 2, seat=(data.match % 2).astype(np.int32))
    settings = Imitation(forecast=("flags",))
    cloner = Cloner(data.spec, Network(width=16, layers=1), settings)
    rows = np.random.default_rng(0).permutation(len(data))
    with torch.no_grad():
        losses = show(cloner.policy, None, data, rows, forecast=cloner.forecast).forecast
        views = torch.from_numpy(data.observation)
        features = cloner.policy.torso(views)
        ends = set((data.first[1:] - 1).tolist())
        for row, loss in zip(rows.tolist(), losses.tolist(), strict=True):
            if row in ends:
                assert np.isnan(loss)
                continue
            expected = cloner.forecast(features[row : row + 1], views[row + 1 : row + 2])
            assert loss == pytest.approx(float(expected[0]), abs=1e-5)


def test_a_field_of_a_group_is_read_from_its_tokens_where_they_are_shown_and_else_from_features():
    spec = demonstrated(hands(8, (0, 1), seed=1)).spec
    fields = spec.observation.fields
    field = next(field for field in fields if field.classes and field.group)
    settings = Imitation(forecast=(field.name,))
    pointing, plain = (
        Cloner(spec, network, settings).forecast
        for network in (POINTING, Network(width=16, layers=1))
    )
    first = list(token_counts_of(spec.observation)).index(field.group)
    counts = list(token_counts_of(spec.observation).values())
    assert pointing.targets[0].first_token == sum(counts[:first])
    assert plain.targets[0].first_token is None


def test_cells_of_a_grid_predict_their_own_fields():
    spec = grid_spec(3, 4)
    settings = Imitation(forecast=("owner", "phase"))
    cloner = Cloner(spec, Network("unet", width=32, layers=1, readout="cells"), settings)
    torch.manual_seed(0)
    features = torch.randn(2, 32 + 12 * 8)  # Eight channels a cell.
    after = torch.from_numpy(np.random.default_rng(0).integers(0, 2, (2, spec.observation.length)))
    owner, phase = (spec.observation.slice_of(name) for name in ("owner", "phase"))
    at_cells, whole = cloner.forecast.layers
    for row, loss in enumerate(cloner.forecast(features, after).tolist()):
        cells = features[row, 32:].view(12, 8)
        chances = at_cells(cells).log_softmax(-1).detach()
        entries = [-float(chances[cell, after[row, owner][cell]]) for cell in range(12)]
        chances = whole(features[row, :32]).view(2, 3).log_softmax(-1).detach()
        entries += [-float(chances[entry, after[row, phase][entry]]) for entry in range(2)]
        assert loss == pytest.approx(np.mean(entries), rel=1e-5)


def test_learning_goes_on_from_its_state_as_if_it_had_not_stopped():
    data = demonstrated(hands(64, (0, 1), seed=1))
    name = next(field.name for field in data.spec.observation.fields if field.classes)
    settings = Imitation(epochs=3, batch_size=32, forecast=(name,))
    learned, held_out = data.split(0.2)
    whole, first = (Cloner(data.spec, POINTING, settings) for _ in range(2))
    whole.train_epoch(data, learned, held_out)
    first.train_epoch(data, learned, held_out)
    resumed = Cloner(data.spec, POINTING, settings)
    resumed.load_state(first.state())
    assert resumed.train_epoch(data, learned, held_out) == whole.train_epoch(
        data, learned, held_out
    )


def test_a_field_that_is_not_there_is_refused():
    observation = Observation((Field("number"), Field("kind", 1, 3)))
    with pytest.raises(LanistaError, match="no field 'nothing'"):
        Forecast(observation, ["nothing"], shows(4))


def test_of_numbers_it_is_the_bin_that_is_predicted():
    """Sixteen bins from -1 to 1 of the scaled number; what lies outside is in the outer ones."""
    observation = Observation((Field("kind", 1, 3), Field("points", 4, scale=36)), "int8")
    forecast = Forecast(observation, ["points"], shows(4))
    features = torch.randn(1, 4)
    after = torch.tensor([[1, 0, 36, -40, 5]], dtype=torch.int8)
    chances = forecast.layers[0](features[0]).view(4, 16).log_softmax(-1)
    # 0 is the first of the upper half, 5 / 36 lies between 1/8 and 2/8.
    expected = -sum(chances[entry, at] for entry, at in enumerate([8, 15, 0, 9])) / 4
    assert float(forecast(features, after).detach()) == pytest.approx(
        float(expected.detach()), rel=1e-5
    )
