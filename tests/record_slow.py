"""`make test-slow`: runs every test, the long forms too, and writes what came of it into
docs/results/results.md beside the commit that was tested."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from lanista.files import write_text

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "results.md"
START, END = "<!-- test-slow: start -->", "<!-- test-slow: end -->"


def main() -> int:
    """Run the tests and write the closing line down, passed or failed."""
    command = [sys.executable, "-m", "pytest", "-m", "slow or not slow", *sys.argv[1:]]
    lines: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        for line in tests.stdout:
            print(line, end="", flush=True)
            lines.append(line.strip())
    closing = next((line for line in reversed(lines) if line), "no output")
    closing = re.sub(r"\x1b\[[0-9;]*m", "", closing).strip("= ")
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    note(f"`make test-slow` at {commit}: {closing}.")
    return tests.returncode


def note(sentence: str) -> None:
    """Put `sentence` between the marks in docs/results/results.md."""
    before, _, rest = RESULTS.read_text("utf-8").partition(START)
    _, _, after = rest.partition(END)
    write_text(RESULTS, f"{before}{START}\n{sentence}\n{END}{after}")


if __name__ == "__main__":
    raise SystemExit(main())
