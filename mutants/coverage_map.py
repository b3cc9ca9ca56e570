"""Which tests run which line: every test is run once, and the answer kept as a JSON file.

Knows nothing of mutations.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import coverage

from lanista.files import write_text
from mutants import plugin

SETTINGS = """[run]
data_file = {folder}/data
parallel = true
source = {source}
context = ${{MUTANTS_TEST-}}
concurrency = thread
disable_warnings = no-data-collected, module-not-measured, module-not-imported
"""


MAP = "map.json"
Lines = dict[str, dict[int, set[int]]]


@dataclass(frozen=True)
class CoverageMap:
    """Tests by number, with what each costs, and the numbers of those that run a line."""

    tests: list[str]
    seconds: list[float]
    lines: Lines
    """For each file and line the tests that run it; those run at import have no entry."""

    def covering(self, path: str, lines: Iterable[int], *, at_import: bool = False) -> list[int]:
        """Return the tests that run one of these lines, or else any line of the file.

        What is run `at_import` matters to whoever uses the file, and not only to the tests whose
        child processes import it; the file that mirrors the module comes first.
        """
        in_file = self.lines.get(path, {})
        tests = {test for line in lines for test in in_file.get(line, ())}
        if at_import or not tests:
            tests = {test for covering in in_file.values() for test in covering}
        mirrors = at_import and Path(path).stem

        def order(test: int) -> tuple[bool, float]:
            mirrored = bool(mirrors) and str(mirrors) in _file(self.tests[test])
            return not mirrored, self.seconds[test]

        return sorted(tests, key=order)

    def is_run(self, path: str) -> bool:
        """Return whether any test runs the file at all."""
        return bool(self.lines.get(path))


def measure(root: Path, folder: Path, jobs: int, tests: list[str]) -> None:
    """Run tests below `root` and keep what they run in `folder`.

    Where `tests` names some, they take the place of what the map says of their files.
    """
    earlier = read(folder) if tests and (folder / MAP).exists() else None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    settings = folder / "settings.ini"
    source = root / "src" / "lanista"
    write_text(settings, SETTINGS.format(folder=folder.as_posix(), source=source.as_posix()))
    here = Path(__file__).parent
    paths = [root / "src", here / "child", here.parent, os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "COVERAGE_PROCESS_START": str(settings),
        "PYTHONPATH": os.pathsep.join(str(path) for path in paths if str(path)),
        plugin.FOLDER: str(folder),
        plugin.TEST: "",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutants.plugin", "-p",
               "no:cacheprovider", "-n", str(jobs), *tests]  # fmt: skip
    subprocess.run(command, cwd=root, env=environment, check=False)
    latest = _gather(root, folder)
    _write(folder, latest if earlier is None else merged(earlier, latest))


def _gather(root: Path, folder: Path) -> CoverageMap:
    outcomes = [
        json.loads(line) for path in folder.glob("tests-*.jsonl") for line in path.open("r")
    ]
    passed = {row["test"]: row["seconds"] for row in outcomes if row["passed"]}
    tests = sorted(passed)
    numbers = {test: number for number, test in enumerate(tests)}
    by_file: dict[str, list[int]] = {}
    for test, number in numbers.items():
        by_file.setdefault(_file(test), []).append(number)
    lines: Lines = {}
    for data_file in sorted(folder.glob("data.*")):
        data = coverage.CoverageData(basename=str(data_file))
        try:
            data.read()
        except coverage.exceptions.DataError:
            continue  # A process that was killed while it wrote.
        for name in data.measured_files():
            path = Path(name).resolve().relative_to(root.resolve()).as_posix()
            for line, contexts in data.contexts_by_lineno(name).items():
                covering = lines.setdefault(path, {}).setdefault(line, set())
                for context in contexts:
                    covering.update(_tests_of(context, numbers, by_file))
        data_file.unlink()
    failed = len(outcomes) - len(passed)
    print(f"{len(tests)} tests pass and are used; {failed} that failed or were skipped are not.")
    return CoverageMap(tests, [passed[test] for test in tests], lines)


def merged(earlier: CoverageMap, latest: CoverageMap) -> CoverageMap:
    """Return both maps in one; a file of tests that is in both is as the later one has it."""
    replaced = {_file(test) for test in latest.tests}
    new_number = {
        number: place
        for place, number in enumerate(
            number for number, test in enumerate(earlier.tests) if _file(test) not in replaced
        )
    }
    lines: Lines = {}
    for shift, covered in ((new_number, earlier), (None, latest)):
        for path, rows in covered.lines.items():
            for line, tests in rows.items():
                numbers = (
                    {shift[test] for test in tests if test in shift}
                    if shift is not None
                    else {test + len(new_number) for test in tests}
                )
                lines.setdefault(path, {}).setdefault(line, set()).update(numbers)
    tests = [earlier.tests[number] for number in new_number] + latest.tests
    seconds = [earlier.seconds[number] for number in new_number] + latest.seconds
    return CoverageMap(tests, seconds, lines)


def _write(folder: Path, coverage_map: CoverageMap) -> None:
    lines = {
        path: {line: sorted(tests) for line, tests in rows.items() if tests}
        for path, rows in sorted(coverage_map.lines.items())
    }
    content = {"tests": coverage_map.tests, "seconds": coverage_map.seconds, "lines": lines}
    write_text(folder / MAP, json.dumps(content))


def _file(test: str) -> str:
    return test.partition("::")[0]


def _tests_of(context: str, numbers: dict[str, int], by_file: dict[str, list[int]]) -> list[int]:
    """Return the tests of a context; what a shared fixture runs counts for all of its file."""
    for phase in ("|setup", "|run"):
        if context.endswith(phase):
            test = context.removesuffix(phase)
            if phase == "|setup":
                return by_file.get(_file(test), [])
            return [numbers[test]] if test in numbers else []
    return [numbers[context]] if context in numbers else []


def read(folder: Path) -> CoverageMap:
    """Return the map that `measure` left in `folder`."""
    data = json.loads((folder / MAP).read_text("utf-8"))
    lines = {
        path: {int(line): set(tests) for line, tests in rows.items()}
        for path, rows in data["lines"].items()
    }
    return CoverageMap(data["tests"], data["seconds"], lines)
