"""`lanista view` as a person starts it, and the pages beside a pipeline."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from lanista.cli.main import main
from lanista.cli.train.pages import pages_beside

COMMAND = [sys.executable, "-m", "lanista", "view"]


def test_it_prints_its_address_serves_and_ends_well_when_interrupted(tmp_path: Path) -> None:
    with subprocess.Popen([*COMMAND, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(f"Pages over {tmp_path}: http://127.0.0.1:")
        address = line.split()[-1]
        assert "?token=" in address
        with urllib.request.urlopen(address.split("/?")[0] + "/api/runs") as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_a_port_that_is_taken_is_passed_over_or_where_it_was_given_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["view", str(tmp_path), "--port", str(port)]) == 2
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere"], "'nowhere' is no folder; name one that holds runs."),
        ([".", "--port", "70000"], "--port is 70000; give a number from 1 to 65535."),
        ([".", "--port", "-1"], "--port is -1"),
        ([".", "--host", "no such host", "--port", "1"], "cannot listen on no such host:1"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_pages_beside_a_run_are_there_as_long_as_it_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pages_beside(tmp_path / "pipeline"):
        address = capsys.readouterr().out.split()[-1].split("/?")[0]
        with urllib.request.urlopen(f"{address}/api/runs") as answer:
            assert answer.status == 200
    with pytest.raises(OSError, match=r"refused|reset"):
        urllib.request.urlopen(f"{address}/api/runs")


def test_a_run_goes_on_without_pages_where_they_cannot_be_had(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pages_beside(tmp_path):
        pass
    assert "There are no pages beside it: " in capsys.readouterr().out
    with pages_beside(tmp_path, wanted=False):
        pass
    assert capsys.readouterr().out == ""
