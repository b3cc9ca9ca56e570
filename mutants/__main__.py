"""`make mutants`: measures which tests run which lines, plants the faults, writes the page.

`python -m mutants [measure] [try] [page]` does the named steps, or all of them. What was tried is
kept in `.mutants/`, and a run that is stopped goes on from there.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from mutants import coverage_map, draw, page
from mutants.draw import Fault
from mutants.trial import Workshop

ROOT = Path(__file__).resolve().parent.parent
STEPS = ("measure", "try", "page")


def main() -> int:
    """Do the steps that the command line names."""
    options = _options()
    folder = options.folder.resolve()
    faults = draw.drawn(ROOT, options.seed, _shares(options))
    if options.only:
        faults = [fault for fault in faults if fault.name in set(options.only)]
    steps = options.steps or STEPS
    if "measure" in steps:
        coverage_map.measure(ROOT, folder / "coverage", options.jobs, options.tests)
    if "try" in steps:
        try_faults(faults, folder, options)
    if "page" in steps:
        return page.write(ROOT, faults, read_record(folder), options.seed)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("steps", nargs="*", choices=STEPS, help="all where none is named")
    parser.add_argument("--seed", type=int, default=1, help="which faults are drawn")
    parser.add_argument("--scale", type=float, default=1.0, help="times the usual number of faults")
    parser.add_argument("--package", choices=tuple(draw.SHARES), help="this package alone")
    parser.add_argument("--only", nargs="*", help="the faults of these names alone")
    parser.add_argument("--again", action="store_true", help="try survivors once more")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    patience = "seconds beyond what its tests take after which a mutant counts as hanging"
    parser.add_argument("--patience", type=float, default=300.0, help=patience)
    parser.add_argument("--folder", type=Path, default=ROOT / ".mutants", help="where it is kept")
    parser.add_argument("--tests", nargs="*", default=[], help="measure these tests alone")
    return parser.parse_args()


def _shares(options: argparse.Namespace) -> dict[str, int]:
    packages = [options.package] if options.package else list(draw.SHARES)
    return {package: round(draw.SHARES[package] * options.scale) for package in packages}


def read_record(folder: Path) -> dict[str, tuple[str, str]]:
    """Return what came of the faults tried so far, by name; the last word on each holds."""
    path = folder / "record.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {row["name"]: (row["outcome"], row["by"]) for row in rows}


def try_faults(faults: list[Fault], folder: Path, options: argparse.Namespace) -> None:
    """Try the faults that the record lacks, and with `--again` those that survived."""
    record, jobs = read_record(folder), options.jobs
    due = [
        fault
        for fault in faults
        if fault.name not in record or (options.again and record[fault.name][0] != "noticed")
    ]
    due.sort(key=lambda fault: fault.name)  # Packages mixed, so that a part is a fair sample.
    coverage = coverage_map.read(folder / "coverage")
    workshops: SimpleQueue[Workshop] = SimpleQueue()
    all_workshops = [Workshop(ROOT, coverage, options.patience) for _ in range(min(jobs, len(due)))]
    for workshop in all_workshops:
        workshops.put(workshop)
    written, counts = threading.Lock(), {"done": 0}

    def trial(fault: Fault) -> None:
        workshop = workshops.get()
        try:
            outcome, by = workshop.notices(fault)
        finally:
            workshops.put(workshop)
        with written, (folder / "record.jsonl").open("a") as file:
            row = {"name": fault.name, "outcome": outcome, "by": by}
            file.write(json.dumps(row) + "\n")
            counts["done"] += 1
            place = f"{fault.mutation.path}:{fault.mutation.line}"
            print(f"{counts['done']}/{len(due)} {outcome}: {fault.name} {place}", flush=True)

    try:
        with ThreadPoolExecutor(max(1, jobs)) as pool:
            list(pool.map(trial, due))
    finally:
        for workshop in all_workshops:
            workshop.close()


if __name__ == "__main__":
    sys.exit(main())
