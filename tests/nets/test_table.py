"""Policies that are tables: what they find, what they say of the rest, and that files keep them."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.learn.learner import Learner
from lanista.learn.settings import Learning
from lanista.nets.files.policy_file import PolicyFileError, load_policy, save_policy
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network
from lanista.nets.table import table_policy
from lanista.nets.table_rows import TableRows, keys_of, sorted_table


def some_table(seed: int = 0) -> tuple[Any, Any, Any]:
    """Return Leduc's spec, views of played matches, each once, and probabilities for them."""
    game = registry.make("leduc", slots=64, seed=seed)
    bot = registry.make_bot("leduc", "random", game.spec, seed)
    game.start(range(64), range(64))
    rows, masks = [], []
    while len(decisions := game.decisions()):
        rows.append(decisions.observation.copy())
        masks.append(decisions.mask.copy())
        game.act(np.arange(len(decisions)), bot.act(decisions, np.arange(len(decisions))))
    views, first = np.unique(np.concatenate(rows), axis=0, return_index=True)
    mask = np.concatenate(masks)[first]
    shares = np.random.default_rng(seed).random(mask.shape) * mask
    shares[:20, 2] = 0  # Choices that are legal and never made.
    return game.spec, (views, mask), shares / shares.sum(1, keepdims=True)


@torch.no_grad()
def test_a_table_plays_what_stands_there() -> None:
    spec, (views, mask), shares = some_table()
    policy = table_policy(spec, views, shares)
    order = np.random.default_rng(1).permutation(len(views))
    log_probs = policy.heads.log_probs(
        policy(torch.from_numpy(views[order])), torch.from_numpy(mask[order])
    )
    assert log_probs.exp().numpy() == pytest.approx(shares[order], abs=1e-6)
    assert (log_probs.exp().numpy()[shares[order] == 0] == 0).all()


@torch.no_grad()
def test_a_view_that_is_not_there_is_played_uniformly_and_said_once() -> None:
    spec, (views, _), shares = some_table()
    policy = table_policy(spec, views[1:], shares[1:])
    with pytest.warns(UserWarning, match="lacks 1 of the 2 it was shown"):
        logits = policy(torch.from_numpy(views[:2]))
    assert (logits[0] == 0).all()
    assert (logits[1] != 0).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy(torch.from_numpy(views[:1]))


def test_a_file_keeps_a_table_and_numpy_runs_it(tmp_path: Any) -> None:
    spec, (views, mask), shares = some_table()
    digest = save_policy(tmp_path / "t", table_policy(spec, views, shares), spec)
    loaded = load_policy(tmp_path / "t", spec)
    assert loaded.digest == digest
    assert loaded.header.network.kind == "table"
    with torch.no_grad():
        logits = loaded.policy(torch.from_numpy(views))
        ours = loaded.policy.heads.log_probs(logits, torch.from_numpy(mask)).numpy()
    portable = load_portable(tmp_path / "t", spec)
    theirs, _ = portable.log_probs(views, mask, np.zeros((len(views), 0), np.float32))
    assert theirs == pytest.approx(ours, abs=1e-6)
    # The same table in another order is the same file.
    again = table_policy(spec, views[::-1], shares[::-1])
    assert save_policy(tmp_path / "u", again, spec) == digest


def test_a_table_with_other_rows_than_it_names_is_refused(tmp_path: Any) -> None:
    spec, (views, _), shares = some_table()
    save_policy(tmp_path / "t", table_policy(spec, views, shares), spec)
    data = (tmp_path / "t").read_bytes()
    (tmp_path / "t").write_bytes(
        data.replace(f'rows\\":{len(views)}'.encode(), f'rows\\":{len(views) - 1}'.encode())
    )
    with pytest.raises(PolicyFileError):
        load_policy(tmp_path / "t")


def test_keys_tell_views_apart_by_every_number() -> None:
    rows = np.zeros((65, 64), np.float32)
    rows[np.arange(64), np.arange(64)] = 1
    assert len(set(keys_of(rows).tolist())) == 65
    assert (keys_of(rows.astype(np.uint8)) == keys_of(rows)).all()
    assert (keys_of(-rows * 0) == keys_of(rows * 0)).all()
    many = np.random.default_rng(0).integers(0, 2, (20_000, 40)).astype(np.uint8)
    assert len(np.unique(keys_of(many))) == len(np.unique(many, axis=0))


def test_a_view_twice_is_refused() -> None:
    rows = np.ones((2, 3), np.float32)
    with pytest.raises(LanistaError, match="give each view once"):
        sorted_table(rows, np.zeros((2, 2), np.float32))


def test_keys_come_back_whole_from_their_digits() -> None:
    rows = np.random.default_rng(2).normal(size=(500, 5)).astype(np.float32)
    digits, logits = sorted_table(rows, np.arange(1000, dtype=np.float32).reshape(500, 2))
    table = TableRows(digits, logits)
    assert (table.keys == np.sort(keys_of(rows))).all()
    assert (table.find(rows) == np.arange(1000).reshape(500, 2)).all()


@pytest.mark.parametrize("wrong", [-1, 0.5, 65_536, float("nan"), float("inf")])
def test_keys_that_are_none_or_out_of_order_are_refused(wrong: float) -> None:
    rows = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32)
    digits, logits = sorted_table(rows, np.zeros((5, 2), np.float32))
    with pytest.raises(LanistaError, match="not in order"):
        TableRows(digits[::-1], logits)
    digits[3, 1] = wrong
    with pytest.raises(LanistaError, match="The keys of a table are no keys"):
        TableRows(digits, logits)


@torch.no_grad()
def test_a_table_that_other_weights_are_loaded_into_plays_those() -> None:
    spec, (views, _), shares = some_table()
    # As many rows, not of the same views.
    one, other = (
        table_policy(spec, views[1:], shares[1:]),
        table_policy(spec, views[:-1], shares[:-1]),
    )
    shown = torch.from_numpy(views[1:-1])
    one(shown)
    other.torso.get_buffer("logits").mul_(2)
    assert (one(shown) != other(shown)).any()
    one.load_state_dict(other.state_dict())
    assert (one(shown) == other(shown)).all()


def test_settings_cannot_ask_for_a_table() -> None:
    with pytest.raises(LanistaError, match="which `lanista solve` writes"):
        Network(kind="table")
    with pytest.raises(LanistaError, match="only a table has rows, not a mlp"):
        Network(rows=5)


def test_nobody_trains_a_table() -> None:
    spec, (views, _), shares = some_table()
    network = table_policy(spec, views, shares).network
    with pytest.raises(LanistaError, match="A table is not trained further"):
        Learner(spec, network, Learning(), updates=1)
