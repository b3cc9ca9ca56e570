"""What a network for grids reads of MicroRTS: its cells, and each order at its unit's cell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from microrts_matches import needs_engine, play

from lanista.games.contract import Head
from lanista.games.microrts.layout import CHOICES, LABELS, describe
from lanista.nets.files.policy_file import policy_bytes
from lanista.nets.grids import grid_of
from lanista.nets.policy import Policy
from lanista.nets.settings import Network


@pytest.mark.parametrize("side", [8, 16])
def test_the_board_is_a_grid_and_every_order_is_about_its_units_cell(side):
    spec = describe(side, 100, "0")
    # 8 units, 3 owners, 11 orders, 4 aims, and four numbers.
    assert grid_of(spec.observation) == (30, side, side)
    for cell, head in enumerate(spec.heads):
        (part,) = head.references
        assert [(role.group, {*role.entries}) for role in part.roles] == [("cell", {cell})]
        assert part.kinds == LABELS


def test_files_of_other_networks_are_as_they_were():
    spec = describe(8, 100, "0")
    plain = replace(
        spec,
        observation=replace(spec.observation, groups=()),
        heads=tuple(Head(head.name, head.size, head.labels) for head in spec.heads),
    )
    assert spec == plain
    policy = Policy(spec, Network("mlp", width=16, layers=1))
    assert policy_bytes(policy, spec) == policy_bytes(policy, plain)


@needs_engine
def test_the_cell_of_a_head_is_the_cell_where_its_unit_stands():
    def look(game):
        decisions = game.decisions()
        mask = decisions.mask.reshape(len(decisions), -1, CHOICES)
        units = decisions.observation[:, game.spec.observation.slice_of("unit")]
        owners = decisions.observation[:, game.spec.observation.slice_of("owner")]
        acting = np.argwhere(mask.sum(-1) > 1)
        assert len(acting)
        for row, cell in acting:
            assert units[row, cell] > 1
            assert owners[row, cell] == 1

    play(("random", "random"), turns=50, look=look)
