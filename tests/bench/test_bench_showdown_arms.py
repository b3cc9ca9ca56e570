"""Arms of Showdown's ablation: what an arm leaves out says nothing in play."""

import numpy as np
import pytest
import torch
from bench.showdown_arms import ARMS, NETWORK, WithPreview, silence

from lanista.games.contract import Decisions
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import describe
from lanista.nets.policy import Policy

SPEC = describe(format_named("gen9vgc2025regi"), "mirror", "", "any", 2)


def views(rows: int) -> np.ndarray:
    """Return random views within the layout."""
    rng = np.random.default_rng(0)
    columns = [
        rng.integers(0, field.classes or 100, (rows, field.size))
        for field in SPEC.observation.fields
    ]
    return np.concatenate(columns, 1).astype(SPEC.observation.dtype)


@pytest.mark.parametrize("arm", [name for name, arm in ARMS.items() if arm.leaves_out])
def test_a_silenced_policy_says_of_any_view_what_it_said_of_the_blank_one(arm):
    torch.manual_seed(0)
    policy = Policy(SPEC, NETWORK).eval()
    blank = [field for field in SPEC.observation.fields if ARMS[arm].leaves_out(field)]
    assert 0 < len(blank) < len(SPEC.observation.fields)
    seen = views(6)
    blanked = seen.copy()
    for field in blank:
        blanked[:, SPEC.observation.slice_of(field.name)] = 0
    with torch.no_grad():
        expected = policy(torch.from_numpy(blanked))
        assert not torch.allclose(policy(torch.from_numpy(seen)), expected, atol=1e-4)
        silence(policy, SPEC.observation, blank)
        torch.testing.assert_close(policy(torch.from_numpy(seen)), expected, atol=1e-4, rtol=1e-4)


def test_somebody_elses_preview_leaves_the_turns_to_the_policy():
    class Fixed:
        def __init__(self, name, action):
            self.name = self.digest = name
            self.action = action

        def act(self, decisions, rows):
            return np.tile(self.action, (len(rows), 1)).astype(np.int32)

    player = WithPreview(Fixed("policy", [3, 7]), Fixed("other", [5, 9]))
    decisions = Decisions.__new__(Decisions)
    assert player.act(decisions, np.arange(2)).tolist() == [[5, 7], [5, 7]]
