"""Writes docs/reference/mutants.md: the share of planted faults that tests notice, and the rest.

A fault that changes nothing a user could see is argued in `equivalent.yaml`, and counted apart.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from lanista.files import write_text
from mutants.draw import SHARES, Fault

PAGE = "docs/reference/mutants.md"
TARGET = 0.95

HEAD = """# Planted faults

`make mutants` plants faults in the source, one at a time, and runs the tests that cover each. It
shows what the tests are worth: a fault that no test notices could be in the code today.

The faults are drawn by a seed from all that the operators give: a sign, a comparison, a condition,
an index one too high, two arguments or two seats swapped, a mask or clip left out, a copy that is
shared, `sum` for `mean`, an effect or an argument that is lost. For each, the covering tests of
`make test` are run: those of its own package, then the others, half a minute of each at most, the
shortest first. A hang is noticed, and so is an error at import. A fault that changes nothing a
user could see is counted apart, with its reason.

Tests are written for those that survive, so the share of a seed that was used before says more of
that seed's faults than of others. `python -m mutants --seed 2` draws others.

"""


def write(
    root: Path, faults: Sequence[Fault], record: Mapping[str, tuple[str, str]], seed: int
) -> int:
    """Write the page; return 0 if enough faults were noticed."""
    reasons = read_equivalent()
    tried = [fault for fault in faults if fault.name in record]
    apart = [fault for fault in tried if fault.name in reasons and not _noticed(record, fault)]
    counted = [fault for fault in tried if fault not in apart]
    missed = [fault for fault in counted if not _noticed(record, fault)]
    share = 1 - len(missed) / max(1, len(counted))
    noticed = len(counted) - len(missed)
    lines = [
        HEAD,
        f"At {_commit(root)}, seed {seed}: **{noticed} of {len(counted)} noticed ({share:.1%})**, "
        f"{len(apart)} equivalent ones apart; of {len(faults)} drawn {len(tried)} were tried.\n",
        "| package | planted | noticed | share | equivalent, apart |",
        "|---|---|---|---|---|",
        *_shares(counted, missed, apart),
        "\n## Not noticed\n",
        *_table(missed, {}),
        "\n## Equivalent\n",
        *_table(apart, reasons),
    ]
    write_text(root / PAGE, "\n".join(lines) + "\n")
    print(f"{share:.1%} of {len(counted)} noticed; {PAGE} lists the rest.")
    return 0 if share >= TARGET else 1


def _shares(
    counted: Sequence[Fault], missed: Sequence[Fault], apart: Sequence[Fault]
) -> Iterator[str]:
    for package in SHARES:
        planted, lost, equal = (
            sum(fault.package == package for fault in faults) for faults in (counted, missed, apart)
        )
        if planted:
            share = (planted - lost) / planted
            yield f"| {package} | {planted} | {planted - lost} | {share:.0%} | {equal} |"


def _noticed(record: Mapping[str, tuple[str, str]], fault: Fault) -> bool:
    return record[fault.name][0] == "noticed"


def _table(faults: Sequence[Fault], reasons: Mapping[str, str]) -> list[str]:
    if not faults:
        return ["None."]
    head = ["| fault | place | before | after |", "|---|---|---|---|"]
    if reasons:
        head = ["| fault | place | before | after | why nothing changes |", "|---|---|---|---|---|"]
    rows = []
    for fault in faults:
        place = f"{fault.mutation.path.removeprefix('src/lanista/')}:{fault.mutation.line}"
        cells = [fault.name, f"{place} `{fault.mutation.scope}`", _code(fault.before),
                 _code(fault.after)]  # fmt: skip
        cells += [reasons[fault.name]] if reasons else []
        rows.append("| " + " | ".join(cells) + " |")
    return head + rows


def _code(text: str) -> str:
    shown = text if len(text) <= 100 else text[:97] + "…"
    return "`` " + shown.replace("|", "\\|") + " ``"


def read_equivalent() -> dict[str, str]:
    """Return the reasons of the faults that change nothing, by name."""
    path = Path(__file__).with_name("equivalent.yaml")
    return dict(yaml.safe_load(path.read_text("utf-8")) or {}) if path.exists() else {}


def _commit(root: Path) -> str:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=root, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return described.stdout.strip() or "an unknown commit"
