"""One run as a user would start it: `lanista rl --game GAME --minutes M`, then its judge.

A process of its own that prints one line of JSON. The run is another process, by the command
itself, so that whatever it does is what a user would see.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from bench.untuned.judge import Judge
from bench.untuned.rows import row_of
from lanista.report.diagnosis import examine_run
from lanista.report.reading import read_run
from lanista.runs.folder import folder_of, saved_settings

Line = dict[str, Any]
CURVES = {
    "random": "score/random",
    "nash_conv": "exact/nash_conv",
    "paid": "evaluation_return/random",
}
_LAST_WORDS = 400
"""Characters that are kept of what a run that failed says last."""
_OVERTIME = 4.0
"""Times its budget that a run may take before it is broken off."""


@dataclass(frozen=True)
class Arm:
    """One run to be made."""

    row: str
    seed: int
    budget: float
    """Seconds, as `--minutes` takes them."""
    settings: tuple[str, ...] = ()
    """What the run is told besides, as words of `--set`: to see what a change would do."""
    iterations: int | None = None
    """Instead of the seconds, so many iterations: on a machine that others use."""

    def command(self, output: Path) -> list[str]:
        """Return the words after `lanista`."""
        words = ["rl", "--game", row_of(self.row).game]
        if self.iterations is None:
            words += ["--minutes", f"{self.budget / 60:g}"]
        else:
            words += ["--iterations", str(self.iterations)]
        words += ["--seed", str(self.seed), "--cpu", "--output", str(output)]
        return words + (["--set", *self.settings] if self.settings else [])


def made(arm: Arm) -> Line:
    """Make the run and return its line."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "policy.safetensors"
        began = time.monotonic()
        code, errors = _run([sys.executable, "-m", "lanista", *arm.command(output)], arm.budget)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        line: Line = {
            **{name: value for name, value in asdict(arm).items() if value not in ((), None)},
            "exit": code,
            "wall_seconds": round(time.monotonic() - began, 1),
            "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        }
        if code:
            return line | {
                "crashed": "Traceback" in errors or code < 0,
                "why": errors[-_LAST_WORDS:],
            }
        return line | _learned(arm, output)


def _run(command: list[str], budget: float) -> tuple[int, str]:
    """Return how a command ended and what it wrote to its errors."""
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_OVERTIME * budget + 120
        )
    except subprocess.TimeoutExpired:
        return -9, f"it was broken off after {_OVERTIME * budget + 120:g} s"
    return ended.returncode, ended.stderr.strip()


def _learned(arm: Arm, output: Path) -> Line:
    """Return what the run's folder and its policy say."""
    run = folder_of(output)
    record, settings = read_run(run), saved_settings(run)
    metrics = record.metrics
    decisions = metrics.get("decisions", [])
    return {
        "updates": record.updates,
        "decisions": int(decisions[-1][1]) if decisions else 0,
        "curve": {
            name: [(update, float(f"{value:.4g}")) for update, value in metrics[series]]
            for name, series in CURVES.items()
            if series in metrics
        },
        "findings": [finding.name for finding in examine_run(record).findings],
        "measured": Judge(row_of(arm.row), settings.game_settings).look(output),
    }


def main() -> None:
    """Print the line of the arm that the only argument describes."""
    torch.set_num_threads(1)
    values = json.loads(sys.argv[1])
    # Whatever a judge prints goes to the errors.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="ascii")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    arm = Arm(**values | {"settings": tuple(values.get("settings", ()))})
    print(json.dumps(made(arm)), file=out, flush=True)


if __name__ == "__main__":
    main()
