"""From an observation to an action: as likely as the policy says, by NumPy or ONNX Runtime."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import (
    CHOICES,
    HERE,
    SPEC,
    STARTS,
    agent_of,
    files_of,
    folder_of,
    view,
)

from lanista.live.agent.inference import Decider, OnnxError, _refuse_difference, load
from lanista.live.files.policy_folder import PolicyFolder
from lanista.nets.portable.runtime import load_portable


@pytest.fixture
def folder(tmp_path: Path) -> PolicyFolder:
    return folder_of(tmp_path / "policy")


def test_actions_are_drawn_as_often_as_the_policy_says(folder: PolicyFolder) -> None:
    stable = folder.pointer().stable
    policy = load(folder.path_of(stable), stable)
    legal = np.array([[True, False, True, True, True]])
    log_probs, _ = policy._run(view(3)[None], legal, policy.start)
    counts = np.zeros(CHOICES)
    rows = 4000
    drawn = np.random.default_rng(1).random((rows, 2), np.float32)
    total = 0.0
    for number in range(rows):
        choice = policy.decide(view(3)[None], legal, policy.start, drawn[number])
        counts[choice.action + STARTS] += 1
        total += choice.log_prob
    wanted = np.exp(log_probs[0])
    assert counts[1] == 0
    # Five standard deviations of a share.
    assert (np.abs(counts / rows - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / rows) + 1e-9).all()
    entropy = -(wanted[legal[0]] * log_probs[0][legal[0]]).sum()
    assert -total / rows == pytest.approx(float(entropy), abs=0.1)


def test_the_ends_of_the_unit_interval_give_a_legal_choice(folder: PolicyFolder) -> None:
    stable = folder.pointer().stable
    policy = load(folder.path_of(stable), stable)
    highest = np.float32(1) - np.float32(2.0**-24)
    for legal in ([0, 1, 0, 0, 1], [1, 1, 0, 1, 0], [1, 1, 1, 1, 1]):
        for point in (0.0, highest):
            mask = np.array([legal], np.bool_)
            drawn = np.full(2, point, np.float32)
            first, second = policy.decide(view()[None], mask, policy.start, drawn).action
            assert mask[0, first]
            assert mask[0, 3 + second]


def test_the_agent_imports_neither_torch_nor_the_learner(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    code = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from toy import view
from lanista.live import Agent
with Agent({str(tmp_path / "policy")!r}, {str(tmp_path / "spool")!r}) as agent:
    game = agent.game("light")
    game.act(view())
    game.end(1)
heavy = ("torch", "onnxruntime", "lanista.learn", "lanista.pipeline", "lanista.rollout")
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=900
    )
    assert done.stdout == "[]\n"


needs_onnx = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime")),
    reason="the extra `onnx` is not installed",
)


@needs_onnx
def test_a_policy_with_memory_runs_in_onnx_runtime_and_says_what_numpy_says(
    tmp_path: Path,
) -> None:
    from lanista.nets.files.policy_file import load_policy
    from lanista.nets.portable.export import onnx_bytes

    folder, digest = remembering(tmp_path)
    path = folder.path_of(digest)
    exported = onnx_bytes(load_policy(path))
    by_numpy = load(path, digest)
    path.with_suffix(".onnx").write_bytes(exported)
    by_onnx = load(path, digest)
    assert (by_numpy.by, by_onnx.by) == ("numpy", "onnxruntime")
    played = [through(decider) for decider in (by_numpy, by_onnx)]
    assert played[0][0] == played[1][0]
    assert played[0][1] == pytest.approx(played[1][1], abs=1e-4)
    with agent_of(tmp_path) as agent:
        assert agent.report().runner == "onnxruntime"
    # An export that is damaged, or another policy's, is not believed.
    other_folder, other = remembering(tmp_path / "other", seed=1)
    beside = other_folder.path_of(other)
    for data, said in ((exported, "says something else"), (exported[:-100], "is refused")):
        beside.with_suffix(".onnx").write_bytes(data)
        decider = load(beside, other)
        assert decider.by == "numpy"
        assert said in decider.remark


@needs_onnx
def test_a_decision_of_onnx_runtime_needs_no_torch(tmp_path: Path) -> None:
    from lanista.nets.files.policy_file import load_policy
    from lanista.nets.portable.export import onnx_bytes

    folder, digest = remembering(tmp_path)
    path = folder.path_of(digest)
    path.with_suffix(".onnx").write_bytes(onnx_bytes(load_policy(path)))
    code = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from toy import view
from lanista.live import Agent
with Agent({str(tmp_path / "policy")!r}, {str(tmp_path / "spool")!r}) as agent:
    game = agent.game("light")
    for step in range(3):
        game.act(view(step))
    game.end(1)
    print(agent.report().runner)
heavy = ("torch", "onnx", "onnxscript", "lanista.learn", "lanista.pipeline", "lanista.rollout")
print([name for name in heavy if name in sys.modules], "onnxruntime" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=900
    )
    assert done.stdout == "onnxruntime\n[] True\n"


def test_without_onnx_runtime_numpy_plays_and_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, digest = remembering(tmp_path)
    folder.path_of(digest).with_suffix(".onnx").write_bytes(b"any")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    decider = load(folder.path_of(digest), digest)
    assert decider.by == "numpy"
    assert "pip install '.[onnx]'" in decider.remark


def through(decider: Decider) -> tuple[list[Any], list[float]]:
    """Return what a policy does in a game of twenty steps, carrying its memory."""
    state, actions, log_probs = decider.start, [], []
    drawn = np.random.default_rng(2).random((20, 2), np.float32)
    for step in range(20):
        choice = decider.decide(view(step)[None], np.ones((1, CHOICES), bool), state, drawn[step])
        state = choice.state
        actions.append(choice.action.tolist())
        log_probs.append(choice.log_prob)
    return actions, log_probs


def remembering(path: Path, seed: int = 0) -> tuple[PolicyFolder, str]:
    """Return a folder in which an LSTM plays, and its digest."""
    import torch

    from lanista.nets.files.policy_file import policy_bytes
    from lanista.nets.policy import Policy
    from lanista.nets.settings import Network

    torch.manual_seed(seed)
    policy = Policy(SPEC, Network("lstm", width=8, layers=1))
    torch.nn.init.orthogonal_(policy.head.weight, 3.0)
    folder = PolicyFolder(path / "policy")
    digest = folder.add(policy_bytes(policy, SPEC))
    folder.publish(digest)
    return folder, digest


def test_the_memory_of_a_policy_is_carried_through_its_game_alone(tmp_path: Path) -> None:
    folder, digest = remembering(tmp_path)
    with agent_of(tmp_path) as agent:
        one, other = agent.game("one"), agent.game("other")
        for step in range(10):
            one.act(view(step))
            other.act(view(step, 1))
            if step == 4:
                one.overrule()  # seen all the same: memory goes through what was overruled
        one.end(1)
        other.end(1)
    policy = load(folder.path_of(digest), digest)
    games = files_of(tmp_path / "spool").values()
    assert sorted(int(played.overruled.sum()) for played in games) == [0, 1]
    for played in games:
        state = policy.start
        for step in range(10):
            row, legal = played.observations[step][None], played.legal[step][None]
            log_probs, state = policy._run(row, legal, state)
            if not played.overruled[step]:
                chosen = log_probs[0][played.actions[step] + STARTS].sum()
                assert played.log_probs[step] == pytest.approx(float(chosen), abs=1e-5)


@pytest.mark.parametrize("output", [0, 1])
@pytest.mark.parametrize("shift", [-0.01, 0.01])
def test_an_export_that_says_more_or_less_than_its_policy_file_is_refused(
    tmp_path: Path, output: int, shift: float
) -> None:
    folder, digest = remembering(tmp_path)
    policy = load_portable(folder.path_of(digest))

    def run(*given: Any) -> Any:
        said = [np.array(part) for part in policy.log_probs(*given)]
        said[output].flat[-1] += shift
        return tuple(said)

    _refuse_difference(policy, policy.log_probs, "same.onnx")
    with pytest.raises(OnnxError, match=r"other.onnx is refused: it says something else"):
        _refuse_difference(policy, run, "other.onnx")
