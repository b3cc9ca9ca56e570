"""Finished policies: rare choices dropped and the rest rounded, alike in torch and NumPy."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.nets.distribution import ILLEGAL, Heads, finished
from lanista.nets.files.policy_file import load_policy, policy_bytes, save_policy
from lanista.nets.finish import Finish
from lanista.nets.policy import Policy
from lanista.nets.portable.export import ExportError, exported_policy
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network

SHARES = st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(any)


def slow(shares: list[int], drop: Fraction, parts: int) -> list[Fraction]:
    """Exact fractions: drop, share out the rest, then Hamilton's method of largest remainders."""
    prob = [Fraction(share, sum(shares)) for share in shares]
    left = [p if p >= min(drop, max(prob)) else Fraction(0) for p in prob]
    left = [p / sum(left) for p in left]
    if not parts:
        return left
    whole = [int(p * parts) for p in left]
    by_rest = sorted(range(len(left)), key=lambda i: (whole[i] - left[i] * parts, i))
    for i in by_rest[: parts - sum(whole)]:
        whole[i] += 1
    return [Fraction(count, parts) for count in whole]


@given(SHARES, st.sampled_from([(0, 1), (3, 100), (1, 4), (9, 10)]), st.sampled_from([0, 1, 3, 32]))
def test_both_forms_agree_with_exact_fractions(
    shares: list[int], drop: tuple[int, int], parts: int
) -> None:
    below = Fraction(*drop)
    # A share that lies on the border itself may fall on either side in floating point.
    total = sum(shares)
    if any(Fraction(share, total) == below for share in shares):
        return
    expected = [float(p) for p in slow(shares, below, parts)]
    prob = np.array([shares], np.float32) / np.float32(total)
    finish = Finish(float(below), parts)
    np.testing.assert_allclose(finish(prob)[0], expected, atol=1e-6)
    np.testing.assert_allclose(finished(torch.from_numpy(prob), finish)[0], expected, atol=1e-6)


def test_papers_numbers_drop_three_percent_and_round_to_thirty_seconds() -> None:
    prob = np.array([[0.02, 0.5, 0.48], [0.025, 0.027, 0.948]], np.float32)
    rounded = Finish(0.03, 32)(prob)
    assert rounded.tolist() == [[0.0, 16 / 32, 16 / 32], [0.0, 0.0, 1.0]]


def test_the_likeliest_choice_stays_even_where_all_are_rare() -> None:
    assert Finish(0.9, 4)(np.full((1, 5), 0.2, np.float32)).tolist() == [
        [0.25, 0.25, 0.25, 0.25, 0.0]
    ]


def test_dropped_choices_are_never_drawn_and_every_head_is_finished_alone() -> None:
    heads = Heads((2, 3), Finish(0.2, 8))
    logits = torch.tensor([[0.0, -3.0, 0.0, 0.0, -4.0]])
    mask = torch.ones(1, 5, dtype=torch.bool)
    log_probs = heads.log_probs(logits, mask)
    torch.testing.assert_close(log_probs.exp(), torch.tensor([[1.0, 0.0, 0.5, 0.5, 0.0]]))
    assert log_probs[0, 1] == ILLEGAL
    for drawn in (0.0, 0.5, 0.999999):
        action, chosen = heads.choose(logits, mask, torch.full((1, 2), drawn))
        assert action[0, 0] == 0
        assert action[0, 1] in (0, 1)
        torch.testing.assert_close(chosen, torch.tensor([0.5]).log())


def leduc_policy(**finish: Any) -> Policy:
    torch.manual_seed(3)
    network = Network(kind="mlp", width=16, layers=1)
    policy = Policy(registry.spec_of("leduc"), network)
    torch.nn.init.normal_(policy.head.get_parameter("weight"), std=4.0)
    changed = Policy(registry.spec_of("leduc"), Network(kind="mlp", width=16, layers=1, **finish))
    changed.load_state_dict(policy.state_dict())
    return changed


def test_a_finished_file_plays_alike_in_torch_and_numpy_and_is_another_digest(
    tmp_path: Path,
) -> None:
    spec = registry.spec_of("leduc")
    policy = leduc_policy(drop_below=0.03, parts=32)
    plain = leduc_policy()
    path = tmp_path / "finished.safetensors"
    digest = save_policy(path, policy, spec)
    assert policy_bytes(plain, spec) != path.read_bytes()
    loaded = load_policy(path, spec)
    assert (loaded.digest, loaded.policy.network.finish) == (digest, Finish(0.03, 32))
    game = registry.make("leduc", slots=64)
    assert exported_policy(loaded, game, "numpy").difference <= 1e-5
    with pytest.raises(ExportError, match="export it with --to numpy"):
        exported_policy(loaded, game, "onnx")
    game.start(np.arange(64), np.arange(64))
    decisions = game.decisions()
    log_probs, _ = load_portable(path, spec).log_probs(decisions.observation, decisions.mask)
    parts = np.exp(log_probs) * 32
    np.testing.assert_allclose(parts, parts.round(), atol=1e-4)
    assert (log_probs[decisions.mask] == ILLEGAL).any()


def test_a_plain_policys_bytes_are_what_they_were() -> None:
    policy = leduc_policy()
    assert b"drop_below" not in policy_bytes(policy, registry.spec_of("leduc"))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"drop_below": 1.0}, "drop_below is 1.0; give a probability from 0 to below 1"),
        ({"parts": 2000}, "parts is 2000; give a whole number from 1 to 1024"),
        ({"parts": 0}, "change nothing; leave them out"),
    ],
)
def test_what_cannot_be_finished_is_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LanistaError, match=sentence):
        Network(**values)


def test_a_finished_policy_is_not_trained_further() -> None:
    with pytest.raises(LanistaError, match="begin from the policy it was made from"):
        Network(parts=32).refuse_training()
