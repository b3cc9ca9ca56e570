"""A policy file runs with NumPy alone and says what torch says."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from positions import GAMES, IDS, KINDS, eager_policy, positions, small, spec_of

from lanista.games.contract import Facts, Field, Head, Observation, Spec
from lanista.games.streams import uniforms
from lanista.nets.files.policy_file import PolicyFileError, load_policy, save_policy
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "settings"), GAMES, ids=IDS)
def test_numpy_says_what_torch_says(
    tmp_path: Path, name: str, settings: dict[str, Any], kind: str
) -> None:
    spec = spec_of(name, **settings)
    policy = eager_policy(spec, small(kind))
    save_policy(tmp_path / "p", policy, spec)
    portable = load_portable(tmp_path / "p", spec)
    observation, mask = positions(name, **settings)
    state = torch.zeros(len(observation), policy.state_size)
    carried = None
    for _ in range(3):
        with torch.no_grad():
            logits, _, state = policy.step(torch.from_numpy(observation), state)
        wanted = policy.heads.log_probs(logits, torch.from_numpy(mask))
        said, carried = portable.log_probs(observation, mask, carried)
        assert said.dtype == carried.dtype == np.float32
        np.testing.assert_allclose(said, wanted.numpy(), atol=1e-5)
        np.testing.assert_allclose(carried, state.numpy(), atol=1e-5)


def test_numpy_adds_up_what_is_known_of_parts_and_shares_tables_as_torch_does(
    tmp_path: Path,
) -> None:
    fields = (
        Field("mine", 2, classes=5, group="x", table="card"),
        Field("worth", 2, scale=3, group="x"),
        Field("top", 1, classes=5, table="card"),
    )
    heads = (Head("a", 2), Head("b", 6, parts=(2, 3)))
    spec = Spec("pairs", Facts(1, 1), Observation(fields, "int16"), heads)
    policy = eager_policy(spec, small("transformer"))
    assert policy.head.parts is not None
    torch.nn.init.normal_(policy.head.parts)
    save_policy(tmp_path / "p", policy, spec)
    assert load_policy(tmp_path / "p", spec).header.heads == heads
    seen = np.array([[4, 1, 2, 9, 3], [0, 2, 1, 5, 0]], np.int16)
    mask = np.array([[1, 1, 1, 0, 1, 1, 1, 1]] * 2, np.bool_)
    wanted = policy.heads.log_probs(policy(torch.from_numpy(seen)), torch.from_numpy(mask))
    said = load_portable(tmp_path / "p", spec).log_probs(seen, mask)[0]
    np.testing.assert_allclose(said, wanted.detach().numpy(), atol=1e-5)


@pytest.mark.parametrize("name", ["beastybar", "arena"])
def test_numpy_draws_what_torch_draws(tmp_path: Path, name: str) -> None:
    spec = spec_of(name)
    policy = eager_policy(spec, small("mlp"))
    save_policy(tmp_path / "p", policy, spec)
    portable = load_portable(tmp_path / "p")
    observation, mask = positions(name)
    numbers = np.arange(len(observation))
    drawn = uniforms(5, numbers, numbers * 0, numbers * 0, len(spec.heads))
    with torch.no_grad():
        logits = policy(torch.from_numpy(observation))
    legal = torch.from_numpy(mask)
    log_probs = policy.heads.log_probs(logits, legal)
    sampled = portable.act(observation, mask, uniforms=drawn)[0]
    assert (sampled == policy.heads.sample(log_probs, torch.from_numpy(drawn)).numpy()).all()
    greedy = portable.act(observation, mask)[0]
    assert (greedy == policy.heads.mode(log_probs, legal).numpy()).all()


def test_even_the_largest_uniform_draws_a_legal_choice(tmp_path: Path) -> None:
    spec = spec_of("beastybar")
    save_policy(tmp_path / "p", eager_policy(spec, small("mlp")), spec)
    portable = load_portable(tmp_path / "p")
    observation, mask = positions("beastybar")
    for number in (0.0, np.nextafter(np.float32(1), np.float32(0)), 1.0):
        drawn = np.full((len(mask), 1), number, np.float32)
        actions, _ = portable.act(observation, mask, uniforms=drawn)
        assert np.take_along_axis(mask, actions, 1).all()


def test_torch_is_never_imported(tmp_path: Path) -> None:
    spec = spec_of("kuhn")
    save_policy(tmp_path / "p", eager_policy(spec, Network("residual", "s")), spec)
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"  # Whoever imports it now fails.
        "import numpy as np\n"
        "from lanista.nets.portable.runtime import load_portable\n"
        "policy = load_portable(sys.argv[1])\n"
        "actions, _ = policy.act(np.ones((2, 11), np.uint8), np.ones((2, 2), bool))\n"
        "assert actions.shape == (2, 1)\n"
        "assert not [name for name in sys.modules if name.startswith(('torch.', 'safetensors'))]\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "p")], check=True)


def test_views_of_another_length_are_refused(tmp_path: Path) -> None:
    spec = spec_of("kuhn")
    save_policy(tmp_path / "p", eager_policy(spec, small("mlp")), spec)
    portable = load_portable(tmp_path / "p")
    for length, choices in ((12, 2), (11, 3)):
        with pytest.raises(PolicyFileError, match=r"it needs \[N, 11\] and \[N, 2\]"):
            portable.log_probs(np.ones((4, length), np.uint8), np.ones((4, choices), np.bool_))
