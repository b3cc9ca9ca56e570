"""Exports say what torch says, and one that does not is refused."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from positions import KINDS, eager_policy, positions, small, spec_of

from lanista.games import registry
from lanista.nets.files.policy_file import LoadedPolicy, load_policy, save_policy
from lanista.nets.portable import export
from lanista.nets.portable.onnx_runtime import onnx_runner
from lanista.nets.portable.runtime import load_portable

needs_onnx = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime")),
    reason="the extra `onnx` is not installed",
)


def saved(folder: Path, name: str, kind: str) -> LoadedPolicy:
    spec = spec_of(name)
    save_policy(folder / "p", eager_policy(spec, small(kind)), spec)
    return load_policy(folder / "p", spec)


def table(name: str) -> Any:
    return registry.make(name, slots=export.SLOTS)


@needs_onnx
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("leduc", "lstm"),
        ("beastybar", "transformer"),
        pytest.param("beastybar", "mlp", marks=pytest.mark.slow),
        pytest.param("arena", "residual", marks=pytest.mark.slow),
    ],
)
def test_onnx_says_what_torch_says_on_real_play(tmp_path: Path, name: str, kind: str) -> None:
    loaded = saved(tmp_path, name, kind)
    exported = export.export_policy(tmp_path / "p.onnx", loaded, table(name), "onnx")
    assert exported.positions >= 1000
    assert exported.difference <= 1e-5
    # From the file alone, on rows it has not met.
    run = onnx_runner((tmp_path / "p.onnx").read_bytes())
    observation, mask = positions(name)
    state = np.zeros((len(mask), loaded.policy.state_size), np.float32)
    with torch.no_grad():
        logits, _, after = loaded.policy.step(
            torch.from_numpy(observation), torch.from_numpy(state)
        )
    wanted = loaded.policy.heads.log_probs(logits, torch.from_numpy(mask)).numpy()
    log_probs, state_after = run(observation, mask, state)
    np.testing.assert_allclose(log_probs[mask], wanted[mask], atol=1e-5)
    np.testing.assert_allclose(state_after, after.numpy(), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_numpy_export_is_the_policy_itself(tmp_path: Path, kind: str) -> None:
    loaded = saved(tmp_path, "leduc", kind)
    out = tmp_path / "bot.policy"
    exported = export.export_policy(out, loaded, table("leduc"), "numpy")
    assert exported.positions >= 1000
    assert out.read_bytes() == (tmp_path / "p").read_bytes()
    assert load_portable(out).digest == loaded.digest


def test_an_export_that_says_something_else_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = saved(tmp_path, "leduc", "mlp")
    honest = export._portable_runner(loaded)

    def biased(*given: Any) -> Any:
        log_probs, state = honest(*given)
        return log_probs + np.float32(1e-4), state

    monkeypatch.setattr(export, "_portable_runner", lambda _: biased)
    with pytest.raises(export.ExportError, match="nothing was written"):
        export.export_policy(tmp_path / "out", loaded, table("leduc"), "numpy")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_an_answer_that_is_no_number_never_passes(tmp_path: Path, wrong: float) -> None:
    loaded = saved(tmp_path, "kuhn", "lstm")
    found = export.play_positions(loaded.policy, table("kuhn"))
    log_probs = found.log_probs.copy()
    log_probs[0, 0] = wrong
    answers = (log_probs[:1], found.state_after[:1])
    assert export.compare(found, lambda o, m, s: answers if len(o) == 1 else (log_probs, s)) > 1


def test_states_are_compared_too(tmp_path: Path) -> None:
    loaded = saved(tmp_path, "kuhn", "lstm")
    found = export.play_positions(loaded.policy, table("kuhn"))
    assert np.abs(found.state).max() > 0
    assert export.compare(found, export._portable_runner(loaded)) <= 1e-5
    run = export._portable_runner(loaded)
    assert export.compare(found, lambda o, m, s: (run(o, m, s)[0], s)) > 1e-3


@pytest.mark.parametrize("module", ["onnx", "onnxscript", "onnxruntime"])
def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    loaded, game = saved(tmp_path, "kuhn", "mlp"), table("kuhn")
    for name in ("onnx", "onnxscript", "onnxruntime"):
        monkeypatch.setitem(sys.modules, name, sys if name != module else None)
    remedy = r"`pip install '\.\[onnx\]'` in a checkout, or export with --to numpy\.$"
    said = rf"ONNX needs {module}, .* {remedy}"
    with pytest.raises(export.ExportError, match=said):
        export.export_policy(tmp_path / "out", loaded, game, "onnx")
