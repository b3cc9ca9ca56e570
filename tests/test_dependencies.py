"""What the package imports is declared, and the tested set is what pyproject.toml allows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from importlib.metadata import packages_distributions, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FILE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = FILE["project"]
TEST, TORCH = ROOT / "requirements" / "test.txt", ROOT / "requirements" / "torch.txt"
TESTED = ("dev", "openspiel", "environments", "onnx", "showdown", "tune")
ABSENT = {"jpype": "JPype1"} | dict.fromkeys(
    ("sc2", "s2clientprotocol", "aiohttp", "loguru"), "burnysc2"
)
"""Modules of extras that need not be installed, and what brings them."""


def declared(*extras: str) -> list[Requirement]:
    wanted = [*PROJECT["dependencies"]]
    for extra in extras:
        wanted += PROJECT["optional-dependencies"][extra]
    return [Requirement(line) for line in wanted]


def imported(folder: Path) -> set[str]:
    """Return the modules of others that sources import, by their first names."""
    names = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names.add(node.module.partition(".")[0])
    for path in [*folder.rglob("*.pyx"), *folder.rglob("*.pxd")]:
        found = re.findall(r"^\s*(?:from|c?import) (\w+)", path.read_text("utf-8"), re.MULTILINE)
        names |= set(found) - {"libc", "cython", "cpython"}
    return names - set(sys.stdlib_module_names) - {"lanista"}


def _brought_by(name: str, brings: Mapping[str, list[str]]) -> list[str]:
    return [ABSENT[name]] if name in ABSENT else brings.get(name, [name])


def locked() -> dict[str, str]:
    lines = [*TEST.read_text("utf-8").splitlines(), *TORCH.read_text("utf-8").splitlines()]
    pins = [line.split()[0].split("==") for line in lines if line[:1].isalnum()]
    return {canonicalize_name(name): version for name, version in pins}


def test_everything_that_the_package_imports_is_declared() -> None:
    names = imported(ROOT / "src")
    assert {"numpy", "torch", "websockets", "poke_env"} <= names
    allowed = {canonicalize_name(each.name) for each in declared(*PROJECT["optional-dependencies"])}
    brings = packages_distributions()
    undeclared = {
        name
        for name in names
        if not {canonicalize_name(each) for each in _brought_by(name, brings)} & allowed
    }
    assert undeclared == set()


def test_the_tested_set_holds_all_that_is_declared_and_within_the_ranges() -> None:
    pins = locked()
    for requirement in declared(*TESTED):
        name = canonicalize_name(requirement.name)
        assert requirement.specifier.contains(pins[name]), requirement
        for extra in requirement.extras:
            asked_for = [Requirement(line) for line in requires(requirement.name) or ()]
            brought = [
                canonicalize_name(one.name)
                for one in asked_for
                if one.marker and one.marker.evaluate({"extra": extra})
            ]
            assert brought
            assert [one for one in brought if one not in pins] == []
    builds = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    assert all(
        Requirement(each).specifier.contains(pins[Requirement(each).name]) for each in builds
    )


def test_every_file_of_the_tested_set_has_a_hash_and_no_list_names_a_host() -> None:
    blocks = re.split(r"^(?=\w)", TEST.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert len(blocks) > 60
    for block in blocks:
        assert re.fullmatch(
            r"[\w.-]+==[\w.+!]+( ; [^\\\n]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n", block
        ), block
    assert "torch" not in {block.partition("==")[0] for block in blocks}
    node = ROOT / "src" / "lanista" / "games" / "showdown" / "package-lock.json"
    for path in (TEST, TORCH, node):
        # npm keeps where to send money to.
        lines = [line for line in path.read_text().splitlines() if '"url":' not in line]
        assert not re.search(r'://|--(extra-)?index|--find|file:|"resolved"', "\n".join(lines))
    assert node.read_text().count('"integrity": "sha512-') == node.read_text().count(
        '"node_modules/'
    )


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the tested set is for Python 3.11")
def test_these_tests_run_with_the_tested_set() -> None:
    pins = locked()
    direct = {canonicalize_name(each.name) for each in declared(*TESTED)}
    differing = {
        name: (version(name), pins[name])
        for name in direct
        if version(name).partition("+")[0] != pins[name]
    }
    assert differing == {}


def test_wheel_and_source_archive_hold_licence_and_notice(tmp_path: Path) -> None:
    """Of the metadata alone: compiling the games would take minutes."""
    program = (
        "import sys; sys.argv = ['setup.py', '--quiet', *sys.argv[1:]]\n"
        "from setuptools import setup; setup()"
    )
    copy = tmp_path / "copy"
    (copy / "src" / "lanista").mkdir(parents=True)
    for name in ("pyproject.toml", "LICENSE", "NOTICE", "README.md", "src/lanista/__init__.py"):
        (copy / name).write_bytes((ROOT / name).read_bytes())
    words = ["sdist", "--dist-dir", str(tmp_path), "bdist_wheel", "--dist-dir", str(tmp_path)]
    subprocess.run(
        [sys.executable, "-c", program, *words], cwd=copy, check=True, capture_output=True
    )
    (wheel,), (archive,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as opened:
        names = [name.rpartition("/")[2] for name in opened.namelist() if "/licenses/" in name]
    assert sorted(names) == ["LICENSE", "NOTICE"]
    with tarfile.open(archive) as opened:
        assert {"LICENSE", "NOTICE"} <= {name.rpartition("/")[2] for name in opened.getnames()}


def test_the_notice_keeps_what_the_simulators_licence_asks_for() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert "games/showdown/dex.json" in notice
    assert "games/showdown/traits.json" in notice
    assert "Copyright (c) 2011-2026 Guangcong Luo and other contributors" in notice
    assert "The above copyright notice and this permission notice shall be included" in notice
    assert 'THE SOFTWARE IS PROVIDED "AS IS"' in notice
