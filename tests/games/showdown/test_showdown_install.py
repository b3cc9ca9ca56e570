"""Installing the simulator, and what is said where something is missing."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lanista.games.contract import GameError
from lanista.games.showdown import install as installing
from lanista.games.showdown.install import HERE, PLACE, find, find_node, install, main


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(PLACE, str(tmp_path / "showdown"))
    return tmp_path / "showdown"


def tools(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_the_lock_file_names_no_download_address() -> None:
    lock = json.loads((HERE / "package-lock.json").read_text())
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    simulator = lock["packages"]["node_modules/pokemon-showdown"]
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"]
    assert wanted == {"pokemon-showdown": simulator["version"]}
    assert simulator["integrity"]


def test_what_is_missing_is_said_in_one_sentence(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(GameError, match=f"not in {place}; run: lanista showdown install"):
        find()
    tools(tmp_path / "none", monkeypatch)
    with pytest.raises(GameError, match=r"^Node.js is not installed.*install Node.js 20"):
        find_node()
    with pytest.raises(GameError, match=r"^Node.js is not installed"):
        install()
    tools(tmp_path / "node_only", monkeypatch, "node")
    with pytest.raises(GameError, match=r"^npm is not installed.*apt-get install nodejs npm"):
        install()


def test_an_install_runs_npm_once_for_each_lock_file(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []

    def npm(command: Any, cwd: Path, **_: Any) -> subprocess.CompletedProcess[str]:
        runs.append(tuple(command))
        shutil.rmtree(cwd / "node_modules", ignore_errors=True)
        (cwd / "node_modules").mkdir()
        return subprocess.CompletedProcess(command, 0, "", "")

    tools(tmp_path / "both", monkeypatch, "node", "npm")
    monkeypatch.setattr(installing.subprocess, "run", npm)
    assert install() == install() == find() == place
    assert len(runs) == 1
    assert {"ci", "--omit=optional", "--ignore-scripts"} <= set(runs[0])
    assert (place / "package-lock.json").read_bytes() == (HERE / "package-lock.json").read_bytes()
    (place / "node_modules" / ".lanista").write_text("of an older lock file")
    install()
    assert len(runs) == 2


def test_a_failed_install_is_not_taken_for_one(
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def npm(command: Any, cwd: Path, **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "npm warn x\nnpm error code ENOTFOUND\n")

    tools(tmp_path / "both", monkeypatch, "node", "npm")
    monkeypatch.setattr(installing.subprocess, "run", npm)
    assert main() == 2
    assert capsys.readouterr().err.endswith("npm error code ENOTFOUND\n")
    with pytest.raises(GameError, match="not in"):
        find()


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(PLACE, str(tmp_path / "file" / "below"))
    tools(tmp_path / "both", monkeypatch, "node", "npm")
    with pytest.raises(GameError, match=f"set {PLACE} to a folder"):
        install()
