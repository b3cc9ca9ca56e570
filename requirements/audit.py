"""Asks what is known of vulnerabilities in the tested set, and says what could not be asked.

Run by `make audit`, with `pip-audit` in the environment and npm on the machine. Exits with 0 only
where every package was asked about and nothing is known: both tools call a package about which
they got no answer fine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LISTS = (HERE / "test.txt", HERE / "torch.txt")
SIMULATOR = HERE.parent / "src" / "lanista" / "games" / "showdown"
Row = tuple[str, str, str]
"""A package, its version, and what is known."""
UNASKED = "not answered"


def ask(command: list[str], folder: Path) -> Any:
    """Return a tool's answer in JSON, whatever it thinks of it; {} where there is none."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {}


def python_rows() -> list[Row]:
    """Return a row for each package of Python."""
    rows = []
    for listed in LISTS:
        versions = dict(
            line.split()[0].split("==")
            for line in listed.read_text(encoding="utf-8").splitlines()
            if line[:1].isalnum()
        )
        command = ["pip-audit", "--disable-pip", "--no-deps", "--format", "json"]
        answer = ask([*command, "--requirement", str(listed)], HERE)
        known = {each["name"]: each.get("vulns") for each in answer.get("dependencies", ())}
        for name, version in versions.items():
            faults = known.get(name)
            told = UNASKED if faults is None else ", ".join(each["id"] for each in faults) or "none"
            rows.append((name, version, told))
    return rows


def node_rows() -> list[Row]:
    """Return a row for each package of the simulator that is installed."""
    lock = json.loads((SIMULATOR / "package-lock.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            (Path(folder) / name).write_bytes((SIMULATOR / name).read_bytes())
        answer = ask(["npm", "audit", "--json", "--omit=optional"], Path(folder))
    faults = answer.get("vulnerabilities")
    rows = []
    for path, package in lock["packages"].items():
        name = path.rpartition("node_modules/")[2]
        if not name or package.get("optional"):
            continue
        fault = None if faults is None else faults.get(name, {"severity": "none"})
        rows.append((name, package["version"], UNASKED if fault is None else fault["severity"]))
    return rows


def main() -> int:
    """Print a table; return 0 where all are known to be sound, 1 otherwise."""
    rows = [*python_rows(), *node_rows()]
    print("| package | version | known vulnerabilities |\n|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    unasked = sum(told == UNASKED for _, _, told in rows)
    faulty = sum(told not in (UNASKED, "none") for _, _, told in rows)
    print(f"\n{len(rows)} packages: {faulty} with known vulnerabilities, {unasked} not answered.")
    return int(bool(unasked or faulty))


if __name__ == "__main__":
    sys.exit(main())
