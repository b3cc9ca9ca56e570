"""Writes a policy for bots without torch, and proves first that it says the same.

Two ways out: ONNX, for ONNX Runtime, and the policy file itself, for nets/portable. Either is
compared with torch on positions from real play of the game and refused if it differs.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lanista.errors import LanistaError
from lanista.files import Kind, write_bytes
from lanista.games.contract import Game
from lanista.games.random_bot import RandomBot
from lanista.nets.files.policy_file import LoadedPolicy
from lanista.nets.files.policy_format import PolicyContent, encode
from lanista.nets.policy import Policy
from lanista.nets.portable.onnx_runtime import OnnxError, Runner, needed, onnx_runner
from lanista.nets.portable.runtime import PortablePolicy

Target = Literal["onnx", "numpy"]
POSITIONS = 1000
TOLERANCE = 1e-5
SLOTS = 64
_OPSET = 20


class ExportError(LanistaError):
    """A policy cannot be written for others, or would not say the same there."""


@dataclass(frozen=True)
class Exported:
    """What an export came to."""

    data: bytes
    positions: int
    difference: float
    """The largest found, as a share of the largest log-probability or state where that is above
    one."""


def export_policy(
    path: str | Path,
    loaded: LoadedPolicy,
    game: Game,
    target: Target,
    kind: Kind | None = None,
) -> Exported:
    """Write a policy to `path`; nothing is written if it does not say the same as in torch.

    With a `kind`, nothing but a file of that kind is replaced.
    """
    exported = exported_policy(loaded, game, target)
    write_bytes(path, exported.data, kind)
    return exported


def exported_policy(loaded: LoadedPolicy, game: Game, target: Target) -> Exported:
    """Return a policy for `target`, compared with torch on play of `game`."""
    if target == "onnx":
        if not loaded.policy.network.learned:
            raise ExportError(
                f"A {loaded.policy.network.kind} is no network that ONNX Runtime could run; export "
                "it with --to numpy."
            )
        if loaded.policy.network.finish is not None:
            raise ExportError(
                "A finished policy sorts and rounds its probabilities, which ONNX Runtime does not "
                "do to the last bit; export it with --to numpy, or export the policy it was made "
                "from."
            )
        _refuse_missing("onnxruntime")
        data = onnx_bytes(loaded)
        runner = onnx_runner(data)
    else:
        data = _policy_file(loaded)
        runner = _portable_runner(loaded)
    positions = play_positions(loaded.policy, game)
    difference = compare(positions, runner)
    if not difference <= TOLERANCE:
        raise ExportError(
            f"The policy {loaded.digest[:12]} says something else in {target} than in torch: "
            f"{difference:.2g} apart on {len(positions):,} positions, where {TOLERANCE:g} is "
            "allowed; nothing was written."
        )
    return Exported(data, len(positions), difference)


@dataclass(frozen=True)
class Positions:
    """Decisions of real play, and what the torch policy says at each."""

    observation: NDArray[Any]
    mask: NDArray[np.bool_]
    state: NDArray[np.float32]
    log_probs: NDArray[np.float32]
    state_after: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.observation)


@torch.no_grad()
def play_positions(policy: Policy, game: Game) -> Positions:
    """Let a random bot play until `POSITIONS` decisions were seen.

    Recurrent states are those that the torch policy carries through the matches.
    """
    bot = RandomBot(game.spec, game.seed)
    carried = np.zeros((game.slots, game.spec.seats, policy.state_size), np.float32)
    steps: list[tuple[NDArray[Any], ...]] = []
    next_match = game.slots
    game.start(np.arange(game.slots), np.arange(game.slots))
    while sum(len(step[0]) for step in steps) < POSITIONS:
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        observation, mask = decisions.observation[rows], decisions.mask[rows]
        state = carried[decisions.slot, decisions.seat]
        logits, _, after = policy.step(torch.from_numpy(observation), torch.from_numpy(state))
        log_probs = policy.heads.log_probs(logits, torch.from_numpy(mask))
        steps.append((observation, mask, state, log_probs.numpy(), after.numpy()))
        carried[decisions.slot, decisions.seat] = after
        over = game.act(rows, bot.act(decisions, rows))
        if len(over):
            carried[over] = 0
            game.start(over, np.arange(next_match, next_match + len(over)))
            next_match += len(over)
    return Positions(*(np.concatenate(column) for column in zip(*steps, strict=True)))


def compare(positions: Positions, runner: Runner) -> float:
    """Return the largest difference from torch, on all positions at once and on one alone."""
    worst = 0.0
    for rows in (slice(None), slice(0, 1)):
        mask, state = positions.mask[rows], positions.state[rows]
        log_probs, after = runner(positions.observation[rows], mask, state)
        worst = max(worst, _difference(positions.log_probs[rows], log_probs, mask))
        if state.size:
            everywhere = np.ones(state.shape, np.bool_)
            worst = max(worst, _difference(positions.state_after[rows], after, everywhere))
    return worst


def _difference(expected: NDArray[Any], actual: Any, legal: NDArray[np.bool_]) -> float:
    actual = np.asarray(actual)
    if actual.shape != expected.shape or not np.isfinite(actual[legal]).all():
        return float("inf")
    largest = max(1.0, float(np.abs(expected[legal]).max()))
    return float(np.abs(expected - actual)[legal].max()) / largest


def _portable_runner(loaded: LoadedPolicy) -> Runner:
    arrays = {name: tensor.numpy() for name, tensor in loaded.policy.state_dict().items()}
    return PortablePolicy(PolicyContent(loaded.header, arrays, loaded.digest)).log_probs


def _policy_file(loaded: LoadedPolicy) -> bytes:
    arrays = {name: tensor.numpy() for name, tensor in loaded.policy.state_dict().items()}
    return encode(loaded.header, arrays)


class _Whole(nn.Module):
    """A policy with its masks: what the ONNX file computes."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy = policy

    def forward(
        self, observation: Tensor, mask: Tensor, state: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        # ONNX Runtime compares and looks up floats everywhere, and small whole numbers not.
        observation = observation.float()
        if state is None:
            return self.policy.heads.log_probs(self.policy(observation), mask)
        logits, _, after = self.policy.step(observation, state)
        return self.policy.heads.log_probs(logits, mask), after


def onnx_bytes(loaded: LoadedPolicy) -> bytes:
    """Return a policy as an ONNX model.

    In: `observation` `[rows, length]`, `mask` `[rows, choices]` and, for a recurrent policy,
    `state`. Out: `log_probs` and `state_after`. The digest and the game are in its metadata.
    """
    _refuse_missing("onnx", "onnxscript")
    policy, header = loaded.policy, loaded.header
    rows = 3  # Any number that is not special: one would be taken for a constant.
    dtype = getattr(torch, header.observation.dtype)
    inputs = [
        torch.zeros(rows, header.observation.length, dtype=dtype),
        torch.ones(rows, policy.heads.choices, dtype=torch.bool),
    ]
    names, outputs = ["observation", "mask"], ["log_probs"]
    if policy.state_size:
        inputs.append(torch.zeros(rows, policy.state_size))
        names.append("state")
        outputs.append("state_after")
    shapes = tuple({0: torch.export.Dim("rows")} for _ in names)
    with _silence():
        program = torch.onnx.export(
            _Whole(policy).eval(),
            tuple(inputs),
            dynamo=True,
            opset_version=_OPSET,
            input_names=names,
            output_names=outputs,
            dynamic_shapes=shapes,
            verbose=False,
        )
    assert program is not None
    model: Any = program.model_proto
    for key, value in (("lanista_policy", loaded.digest), ("lanista_game", header.game)):
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def _refuse_missing(*modules: str) -> None:
    try:
        for module in modules:
            needed(module)
    except OnnxError as error:
        raise ExportError(f"{str(error).rstrip('.')}, or export with --to numpy.") from error


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep the exporter's progress and remarks off the terminal."""
    output = io.StringIO()
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
