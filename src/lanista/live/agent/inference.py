"""Runs a policy for a bot: from an observation and a mask to an action and its log-probability.

NumPy for every kind of network; ONNX Runtime for those that remember or attend, where an ONNX
export lies beside the policy file and says the same. Knows nothing of torch, games and folders.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.live.files.game_header import Layout
from lanista.nets.files.policy_format import PolicyHeader, read, refused
from lanista.nets.finite import named, refuse_not_finite
from lanista.nets.portable.onnx_runtime import OnnxError, Runner, onnx_runner
from lanista.nets.portable.runtime import PortablePolicy
from lanista.nets.torso_table import TORSOS
from lanista.text import printable, quoted

TOLERANCE = 1e-4
_MOST_ONNX = 1 << 30
_PROOF_ROWS = 8

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Choice:
    """What a policy chose."""

    action: NDArray[np.int32]
    """`[heads]`."""
    log_prob: float
    probabilities: Floats
    """`[choices]`: of every choice of each head."""
    state: Floats


class DecisionError(LanistaError):
    """A bot showed a policy something that it cannot decide on."""


class Decider:
    """A loaded policy that decides one step at a time."""

    def __init__(self, policy: PortablePolicy, runner: Runner, by: str, remark: str = "") -> None:
        self.digest = policy.digest
        self._label = named(policy.digest, policy.header.name)
        self.header: PolicyHeader = policy.header
        self.layout = Layout.of(policy.header)
        self.by = by
        """What computes it: numpy or onnxruntime."""
        self.remark = remark
        """Why not the faster one, where that was tried."""
        self.start: Floats = np.zeros((1, policy.state_size), np.float32)
        self._run = runner
        sizes = np.array([size for _, size in self.layout.heads], np.int64)
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        self._dtype = np.dtype(self.layout.dtype).newbyteorder("<")
        self._low, self._high = _limits(policy.header)
        self._named = np.flatnonzero(np.isfinite(self._high))  # Entries that are categories.
        self.all_legal = np.ones(self.layout.choices, np.bool_)

    def seen(self, observation: Any) -> NDArray[Any]:
        """Return a copy of an observation as the policy reads it; refuse one it cannot mean."""
        array = np.asarray(observation)
        if array.shape != (self.layout.length,) or array.dtype.kind not in "biuf":
            raise DecisionError(
                f"An observation of {array.dtype} {list(array.shape)} was given; the policy "
                f"{self.digest[:12]} of {self.layout.game} needs {self.layout.length} numbers."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            row = array.astype(self._dtype)
        sound = (row >= self._low) & (row <= self._high)
        if row.dtype.kind == "f":
            sound &= np.isfinite(row)
            sound[self._named] &= row[self._named] == np.floor(row[self._named])
        else:
            sound &= row == array
        if not sound.all():
            self._refuse_number(array, int(np.argmin(sound)))
        return row

    def legal(self, mask: Any) -> NDArray[np.bool_]:
        """Return a legal mask as booleans; refuse one that leaves a head without a choice."""
        flags = np.asarray(mask)
        if flags.shape != (self.layout.choices,) or flags.dtype.kind not in "biu":
            raise DecisionError(
                f"A mask of {flags.dtype} {list(flags.shape)} was given; the policy "
                f"{self.digest[:12]} of {self.layout.game} needs {self.layout.choices} flags."
            )
        legal = flags.astype(np.bool_)
        some = np.logical_or.reduceat(legal, self._starts)
        if not some.all():
            name = self.layout.heads[int(np.argmin(some))][0]
            raise DecisionError(f"A mask leaves the head {name!r} without a legal choice.")
        return legal

    def named(self, action: Any) -> NDArray[np.int32]:
        """Return an action that the bot's own rules took, as whole numbers, one for each head."""
        choices = np.asarray(action)
        choices = choices.reshape(1) if choices.ndim == 0 else choices
        sizes = self._ends - self._starts
        if choices.shape != sizes.shape or choices.dtype.kind not in "iu":
            raise DecisionError(f"An action is {quoted(action)}; give one number for each head.")
        if not ((choices >= 0) & (choices < sizes)).all():
            raise DecisionError(f"An action is {quoted(action)}, which its heads do not have.")
        return choices.astype("<i4")

    def _refuse_number(self, observation: NDArray[Any], at: int) -> None:
        start = 0
        for field in self.header.observation.fields:
            if at < start + field.size:
                break
            start += field.size
        requirement = (
            f"a category below {field.classes}" if field.classes else f"a {self._dtype.name}"
        )
        raise DecisionError(
            f"An observation holds {observation[at]} in {field.name!r}, entry {at - start}; it "
            f"must be {requirement}."
        )

    def decide(
        self, observation: NDArray[Any], mask: NDArray[np.bool_], state: Floats, uniforms: Floats
    ) -> Choice:
        """Draw an action with `uniforms` `[heads]` in [0, 1); observation and mask are one row."""
        log_probs, state = self._run(observation, mask, state)
        row: NDArray[Any] = log_probs[0]
        probabilities = np.exp(row.astype(np.float64))
        running = probabilities.cumsum()
        before = np.where(self._starts > 0, running[self._starts - 1], 0.0)
        total = running[self._ends - 1] - before
        if not (total > 0).all():
            refuse_not_finite(np.where(total > 0, 0, np.nan)[None], self._label)
        # Beyond the point lies always a choice of the head: 24 bits are far from rounding up to 1.
        point = before + uniforms * total
        flat = np.searchsorted(running, point, side="right")
        action = (flat - self._starts).astype("<i4")
        log_prob = float(row[flat].sum(dtype=np.float64))
        return Choice(action, log_prob, probabilities.astype("<f4"), state)


def _limits(header: PolicyHeader) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the most that each number of an observation may be."""
    fields = header.observation.fields
    sizes = [field.size for field in fields]
    low = [0.0 if field.classes else -np.inf for field in fields]
    high = [field.classes - 1.0 if field.classes else np.inf for field in fields]
    return np.repeat(low, sizes), np.repeat(high, sizes)


def load(path: Path, digest: str) -> Decider:
    """Return the policy in a file, which must be the one that `digest` names."""
    content = read(path)
    if content.digest != digest:
        raise refused(path, f"its SHA-256 is {content.digest[:12]}…, which its name does not say")
    try:
        policy = PortablePolicy(content)
    except LanistaError as error:
        raise refused(path, error) from error
    if TORSOS[content.header.network.kind].fast_in_numpy:
        return Decider(policy, policy.log_probs, "numpy")
    return _fastest(policy, path.with_suffix(".onnx"))


def _fastest(policy: PortablePolicy, path: Path) -> Decider:
    if not path.is_file():
        return Decider(policy, policy.log_probs, "numpy")
    try:
        runner = _proven(path, policy)
    except LanistaError as error:
        # The same policy, only slower; the report says why.
        return Decider(policy, policy.log_probs, "numpy", str(error))
    return Decider(policy, runner, "onnxruntime")


def _proven(path: Path, policy: PortablePolicy) -> Runner:
    """Return what runs the export of a policy, once it says the same as the policy itself."""
    name = printable(path.name)
    if path.stat().st_size > _MOST_ONNX:
        raise OnnxError(f"{name} is refused: it is larger than {_MOST_ONNX:,} bytes.")
    try:
        # One thread: a bot's others need the cores more than one row does.
        run = onnx_runner(path.read_bytes(), threads=1)
        _refuse_difference(policy, run, name)
    except OnnxError:
        raise
    except Exception as error:  # ONNX Runtime has many of its own.
        raise OnnxError(f"{name} is refused: {printable(error, 200)}.") from error
    return run


def _refuse_difference(policy: PortablePolicy, run: Runner, name: str) -> None:
    """Hold an export against its policy file on rows that are made up, memory included."""
    header, drawn = policy.header, np.random.default_rng(0)
    columns = [
        drawn.integers(0, field.classes or 2, (_PROOF_ROWS, field.size))
        for field in header.observation.fields
    ]
    observation = np.concatenate(columns, 1).astype(header.observation.dtype)
    mask = np.ones((_PROOF_ROWS, sum(head.size for head in header.heads)), np.bool_)
    state = drawn.random((_PROOF_ROWS, policy.state_size), np.float32)
    for rows in (slice(None), slice(0, 1)):
        expected = policy.log_probs(observation[rows], mask[rows], state[rows])
        exported = run(observation[rows], mask[rows], state[rows])
        for mine, theirs in zip(expected, exported, strict=True):
            apart = np.abs(np.asarray(mine) - np.asarray(theirs))
            if np.shape(mine) != np.shape(theirs) or not (apart <= TOLERANCE).all():
                raise OnnxError(f"{name} is refused: it says something else than its policy file.")
