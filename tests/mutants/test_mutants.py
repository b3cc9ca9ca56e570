"""`make mutants`: the faults it plants, how they are drawn, and that it tells noticed from not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mutants.trial import Workshop

from mutants import compiled_operators, coverage_map, draw, operators, page, trial

SOURCE = '''
def update(seat, values, mask, clip=0.2):
    """Return 1 + 2."""
    assert values, "1 + 1"
    kept = values.copy()
    total = sum(min(value, clip) for value in kept if value > 0)
    if not mask:
        raise ValueError("none of 3")
    store(kept, total)
    return -total if seat == 0 else kept[seat + 1]
'''
EXPECTED = [
    ("clip=0.2", "clip=0.4"),
    ("kept = values.copy()", "kept = values"),
    ("min(value, clip)", "max(value, clip)"),
    ("min(value, clip)", "value"),
    ("value > 0)", "value >= 0)"),
    ("if value > 0)", "if True)"),
    ("if not mask:", "if (not (not mask)):"),
    ("store(kept, total)", "pass"),
    ("store(kept, total)", "store(total, kept)"),
    ("return -total", "return total"),
    ("seat == 0", "seat != 0"),
    ("kept[seat + 1]", "kept[seat - 1]"),
    ("kept[seat + 1]", "kept[(1 - seat) + 1]"),
    ("return -total if seat == 0 else kept[seat + 1]",
     "return kept[seat + 1] if (seat == 0) else (-total)"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), EXPECTED)
def test_each_kind_of_fault_is_planted(before: str, after: str) -> None:
    mutants = [fault.apply(SOURCE) for fault in operators.mutations("a.py", SOURCE)]
    assert SOURCE.replace(before, after) in mutants


def test_a_mutant_can_be_parsed_and_differs_and_leaves_words_and_asserts_alone() -> None:
    faults = operators.mutations("a.py", SOURCE)
    assert faults
    for fault in faults:
        mutant = fault.apply(SOURCE)
        ast.parse(mutant)
        assert mutant != SOURCE
        for untouched in ("Return 1 + 2.", 'assert values, "1 + 1"', 'ValueError("none of 3")'):
            assert untouched in mutant


def test_what_signals_deletes_or_runs_on_other_systems_is_never_changed() -> None:
    source = (
        "os.kill(pid, 0)\nshutil.rmtree(a / b)\nif sys.platform == 'win32':\n    x = 1\n"
        "y: int = field()\n"
    )
    assert [fault.operator for fault in operators.mutations("a.py", source)] == [
        "lost effect",
        "lost effect",
    ]


def test_a_cython_file_is_mutated_in_its_functions_only() -> None:
    source = (
        "cdef int LIMIT = 3\n"
        "cdef void step(int slot) nogil:\n"
        "    cdef int count\n"
        "    if <int>x < 2 and y > LIMIT:\n"
        "        count = LIMIT + 1\n"
    )
    mutants = {fault.apply(source) for fault in compiled_operators.mutations("a.pyx", source)}
    assert source.replace("LIMIT + 1", "LIMIT - 1") in mutants
    assert source.replace(" and ", " or ") in mutants
    assert all(mutant.startswith("cdef int LIMIT = 3\n") for mutant in mutants)


def test_what_is_drawn_stays_when_something_else_in_the_tree_changes(tmp_path: Path) -> None:
    (tmp_path / "src/lanista/learn").mkdir(parents=True)
    (tmp_path / "src/lanista/learn/a.py").write_text(SOURCE)
    before = draw.drawn(tmp_path, 1, {"learn": 8})
    (tmp_path / "src/lanista/learn/a.py").write_text('"""Moved down."""\n\n' + SOURCE)
    after = draw.drawn(tmp_path, 1, {"learn": 8})
    assert len(before) == 8
    assert [fault.name for fault in before] == [fault.name for fault in after]
    assert {fault.mutation.operator for fault in before} > {"sign", "seat", "clip"}


CODE = "def clipped(value, most):\n    limit = min(value, most)\n    return limit * 1.0\n"
TEST = (
    "from lanista.learn.adding import clipped\n"
    "def test_clip():\n    assert clipped(3.0, 2.0) == 2.0\n    assert clipped(1.0, 2.0) == 1.0\n"
)


def test_a_fault_is_noticed_where_a_test_fails_and_survives_where_none_does(
    tmp_path: Path,
) -> None:
    root = tmp_path / "tree"
    for folder in ("src/lanista/learn", "tests/learn"):
        (root / folder).mkdir(parents=True)
    for name in ("src/lanista/__init__.py", "src/lanista/learn/__init__.py"):
        (root / name).write_text("")
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['slow: long']\n")
    (root / "src/lanista/learn/adding.py").write_text(CODE)
    (root / "tests/learn/test_adding.py").write_text(TEST)
    coverage_map.measure(root, tmp_path / "coverage", 0, ["tests"])
    measured = coverage_map.read(tmp_path / "coverage")
    assert measured.tests == ["tests/learn/test_adding.py::test_clip"]
    assert measured.lines["src/lanista/learn/adding.py"] == {2: {0}, 3: {0}}
    workshop = Workshop(root, measured, patience=120)
    try:
        outcomes = {
            fault.after: workshop.notices(fault)
            for fault in draw.all_faults(root, "learn")
            if fault.after in {"limit = max(value, most)", "return limit / 1.0"}
        }
        (workshop.folder / "tests/learn/test_adding.py").write_text(TEST.replace("_clip", "_other"))
        (fault, *_) = draw.all_faults(root, "learn")
        assert workshop.notices(fault) == ("not run", "a test is gone; measure again")
    finally:
        workshop.close()
    assert outcomes == {
        "limit = max(value, most)": ("noticed", "tests/learn/test_adding.py::test_clip"),
        "return limit / 1.0": ("survived", ""),
    }
    assert (root / "src/lanista/learn/adding.py").read_text() == CODE
    assert not workshop.folder.exists()


def test_tests_that_are_measured_again_take_the_place_of_their_file() -> None:
    earlier = coverage_map.CoverageMap(
        ["a.py::one", "b.py::two"], [1.0, 2.0], {"x.py": {1: {0, 1}, 2: {0}}}
    )
    latest = coverage_map.CoverageMap(["a.py::new"], [3.0], {"x.py": {2: {0}}})
    merged = coverage_map.merged(earlier, latest)
    assert merged.tests == ["b.py::two", "a.py::new"]
    assert merged.seconds == [2.0, 3.0]
    assert merged.lines == {"x.py": {1: {0}, 2: {1}}}


def test_a_line_that_is_run_at_import_is_covered_by_all_who_use_its_file() -> None:
    text = "LIMIT = 3\n\n\ndef most(limit=LIMIT):\n    return limit\n"
    run = [trial.is_run_at_import(text, line) for line in (1, 4, 5)]
    assert run == [True, True, False]
    tests = [
        "tests/test_far.py::quick",
        "tests/learn/test_rules.py::slow",
        "tests/test_c.py::child",
    ]
    path = "src/lanista/learn/rules.py"
    measured = coverage_map.CoverageMap(tests, [1.0, 2.0, 3.0], {path: {1: {2}, 5: {0, 1}}})
    assert measured.covering(path, [1], at_import=True) == [1, 0, 2]
    assert measured.covering(path, [5]) == [0, 1]


def test_every_reason_for_an_equivalent_fault_is_a_sentence() -> None:
    for name, reason in page.read_equivalent().items():
        assert len(name) == 10
        assert reason.endswith(".")


def test_the_page_counts_what_was_noticed_and_equivalent_faults_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src/lanista/learn").mkdir(parents=True)
    (tmp_path / "src/lanista/learn/a.py").write_text(SOURCE)
    faults = draw.drawn(tmp_path, 1, {"learn": 8})
    noticed, equal, missed, untried = faults[:5], faults[5], faults[6], faults[7]
    record = {fault.name: ("noticed", "a test") for fault in noticed}
    record |= {equal.name: ("survived", ""), missed.name: ("survived", "")}
    monkeypatch.setattr(page, "read_equivalent", lambda: {equal.name: "Nothing changes."})
    assert page.write(tmp_path, faults, record, seed=1) == 1
    text = (tmp_path / page.PAGE).read_text()
    assert "**5 of 6 noticed (83.3%)**, 1 equivalent ones apart; of 8 drawn 7 were tried." in text
    assert "| learn | 6 | 5 | 83% | 1 |" in text
    survivors, _, equivalents = text.partition("## Not noticed")[2].partition("## Equivalent")
    assert missed.name in survivors
    assert equal.name not in survivors
    assert equal.name in equivalents
    assert untried.name not in text
    record[missed.name] = ("noticed", "a test")
    assert page.write(tmp_path, faults, record, seed=1) == 0
