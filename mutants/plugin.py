"""A pytest plugin: notes which lines each test runs, in its own process and in those it starts.

Writes coverage's data and, beside it, a line of JSON for each test with its outcome and duration.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import coverage
import pytest

TEST = "MUTANTS_TEST"
"""Names the test that runs now; `child/sitecustomize.py` reads it in the processes it starts."""
FOLDER = "MUTANTS_COVERAGE"


class LineRecorder:
    """Follows the tests of one process."""

    def __init__(self, folder: Path) -> None:
        self.durations: dict[str, float] = {}
        self.failed: set[str] = set()
        self.results = folder / f"tests-{os.getpid()}.jsonl"
        self.coverage = coverage.Coverage(config_file=os.environ["COVERAGE_PROCESS_START"])
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        os.environ[TEST] = item.nodeid
        yield
        self.coverage.switch_context("")
        os.environ[TEST] = ""
        line = {"test": item.nodeid, "seconds": self.durations.get(item.nodeid, 0.0),
                "passed": item.nodeid not in self.failed}  # fmt: skip
        with self.results.open("a") as file:
            file.write(json.dumps(line) + "\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.coverage.switch_context(f"{item.nodeid}|setup")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self.coverage.switch_context(f"{item.nodeid}|run")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        total = self.durations.get(report.nodeid, 0.0) + report.duration
        self.durations[report.nodeid] = total
        if report.outcome != "passed":
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()


def pytest_configure(config: pytest.Config) -> None:
    # With xdist the first process only hands tests out.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(LineRecorder(Path(os.environ[FOLDER])))
