"""Plants one fault in a copy of the tree and runs the tests that cover it.

Each worker has a copy of its own, so that processes which tests start see the fault too, and the
tree itself is never touched.
"""

from __future__ import annotations

import ast
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mutants.coverage_map import CoverageMap
from mutants.draw import Fault

MOST_SECONDS = 30.0
"""How much of a module's own tests, and of the others that cover a line, is run: shortest first."""
MOST_TESTS = 200
MEMORY = 16 << 30
COMPILED_TESTS = (
    "tests/games/test_compiled.py", "tests/games/test_streams.py", "tests/games/test_check.py",
    "tests/games/test_damaged_saves.py", "tests/games/small", "tests/games/beastybar",
    "tests/games/arena",
)  # fmt: skip
"""What is run for a Cython file, whose lines are not measured."""


class Workshop:
    """A copy of the tree in which faults are planted."""

    def __init__(self, root: Path, coverage: CoverageMap, patience: float) -> None:
        self.coverage, self.patience = coverage, patience
        self.folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        shutil.copytree(
            root, self.folder, dirs_exist_ok=True, symlinks=True,
            ignore=shutil.ignore_patterns(
                ".git", ".venv*", ".mutants", "build", ".device*", ".*_cache", "*.c", "__pycache__"
            ),
        )  # fmt: skip

    def close(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def notices(self, fault: Fault) -> tuple[str, str]:
        """Return what came of a fault (`noticed`, `survived` or `not run`) and by which test."""
        path = self.folder / fault.mutation.path
        text = path.read_text("utf-8")
        compiled = path.suffix == ".pyx"
        if not compiled and not self.coverage.is_run(fault.mutation.path):
            return "not run", ""
        path.write_text(fault.mutation.apply(text), "utf-8")
        try:
            if compiled:
                if not self._compile(path):
                    return "noticed", "the compiler"
                return self._run(COMPILED_TESTS, 200.0)
            _forget_bytecode(path)
            outcome, by = "not run", ""
            for tests, seconds in self._rounds(fault, text):
                outcome, by = self._run(tests, seconds)
                if outcome == "noticed":
                    break
            return outcome, by
        finally:
            path.write_text(text, "utf-8")
            _forget_bytecode(path)
            if compiled:
                self._compile(path)

    def _rounds(self, fault: Fault, text: str) -> Iterator[tuple[list[str], float]]:
        """Yield the tests to run and what they take: the package's own first, then the others."""
        lines = range(fault.mutation.line, fault.mutation.end_line + 1)
        at_import = is_run_at_import(text, fault.mutation.line)
        covering = self.coverage.covering(fault.mutation.path, lines, at_import=at_import)
        near = _near(fault.mutation.path)
        own = [test for test in covering if self.coverage.tests[test].startswith(near)]
        others = [test for test in covering if not self.coverage.tests[test].startswith(near)]
        for tests in (own, others):
            chosen, seconds = self._shortest(tests)
            if chosen:
                yield chosen, seconds

    def _shortest(self, tests: Sequence[int]) -> tuple[list[str], float]:
        chosen, seconds = [], 0.0
        for number in tests[:MOST_TESTS]:
            if chosen and seconds + self.coverage.seconds[number] > MOST_SECONDS:
                break
            seconds += self.coverage.seconds[number]
            chosen.append(self.coverage.tests[number])
        return chosen, seconds

    def _run(self, tests: Sequence[str], seconds: float) -> tuple[str, str]:
        listed = self.folder / ".mutant-tests"
        listed.write_text("\n".join(tests), "utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p",
                   "no:cacheprovider", "--tb=no", "-rfE", "-o", "addopts=", "-m", "not slow",
                   f"@{listed}"]  # fmt: skip
        outcome, output = self._call(command, self.patience + 4 * seconds)
        if outcome is None:
            return "noticed", "it hangs"
        if outcome == 0:
            return "survived", ""
        if any(line.startswith("ERROR: not found") for line in output.splitlines()):
            # The coverage is older than the tests: nobody has looked at the fault.
            return "not run", "a test is gone; measure again"
        failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return "noticed", failed[0].split(" - ")[0].split(" ", 1)[1] if failed else "a crash"

    def _compile(self, path: Path) -> bool:
        module = path.relative_to(self.folder).as_posix()
        command = [sys.executable, "-m", "mutants.compiling", module]
        return self._call(command, 900.0)[0] == 0

    def _call(self, command: list[str], patience: float) -> tuple[int | None, str]:
        paths = [str(self.folder / "src"), str(self.folder), os.environ.get("PYTHONPATH", "")]
        with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as scratch:
            environment = os.environ | {
                "PYTHONPATH": os.pathsep.join(path for path in paths if path),
                "OMP_NUM_THREADS": "1", "TMPDIR": scratch, "HYPOTHESIS_STORAGE_DIRECTORY": scratch,
            }  # fmt: skip
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, text=True, errors="replace",
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=_bounded,
            )  # fmt: skip
            try:
                output, _ = process.communicate(timeout=patience)
                return process.returncode, output
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                _end(process)


def is_run_at_import(text: str, line: int) -> bool:
    """Return whether a line stands outside of all functions' bodies."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return not any(
        isinstance(node, functions) and node.body[0].lineno <= line <= (node.end_lineno or 0)
        for node in ast.walk(ast.parse(text))
    )


def _near(path: str) -> str:
    """Return how the names of a module's own tests begin: tests mirror the package's folders."""
    folder = Path(path).relative_to("src/lanista").parent.as_posix()
    return "tests/test_" if folder == "." else f"tests/{folder}/"


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _end(process: subprocess.Popen[str]) -> None:
    """End whatever a mutant left running: its processes share its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _forget_bytecode(path: Path) -> None:
    # A bytecode file is believed by size and whole seconds, which two mutants can share.
    for cached in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        cached.unlink(missing_ok=True)
