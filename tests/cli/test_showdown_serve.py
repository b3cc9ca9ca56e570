"""`lanista showdown serve` and `install`, as a user's shell runs them."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "games" / "showdown"))

from showdown_play import needs_simulator

from lanista.cli.main import main
from lanista.games.showdown.install import PLACE, find

SHOWN = re.compile(r"^ws://127\.0\.0\.1:(\d+)/showdown/websocket {2}log: (\S+)$")


def heeds_signals():
    """Whoever started the tests may have told them to ignore Ctrl-C; nohup does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def serving(tmp_path):
    """Start the command; end it, if the test has not, by its own process id."""
    started = []

    def start(*words):
        told = [sys.executable, "-m", "lanista.cli.main", "showdown", "serve", *words]
        process = subprocess.Popen(
            told,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heeds_signals,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def shown(process):
    found = SHOWN.match(process.stdout.readline().rstrip("\n"))
    assert found
    return int(found[1]), Path(found[2])


def answers(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/showdown/info") as answer:
        return b"websocket" in answer.read()


def owner_of(folder):
    """Return the process id of the server that runs in a folder."""
    listed = subprocess.run(["ps", "-ww", "-e", "-o", "pid=,args="], capture_output=True, text=True)
    rows = [line.split(None, 1) for line in listed.stdout.splitlines()]
    (found,) = [int(pid) for pid, words in rows if f"serve.mjs {folder} " in words]
    return found


def refused(port):
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) != 0


@needs_simulator
def test_servers_run_until_they_are_interrupted(serving, tmp_path):
    process = serving("--num-servers", "2", "--port", "0")
    found = [shown(process) for _ in range(2)]
    assert all(answers(port) for port, _ in found)
    folders = [tmp_path / "showdown-servers" / f"server-{at}" for at in (1, 2)]
    assert [log for _, log in found] == [folder / "server.log" for folder in folders]
    assert all("now listening" in log.read_text() for _, log in found)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate()
    assert (process.returncode, out) == (0, "")
    assert said.endswith("All servers have ended.\n")
    assert all(refused(port) for port, _ in found)


@needs_simulator
def test_a_server_that_dies_is_reported_and_started_again_on_its_port(serving, tmp_path):
    process = serving("--port", "0", "--folder", "here")
    port, log = shown(process)
    os.kill(owner_of(tmp_path / "here" / "server-1"), signal.SIGKILL)
    lines = [process.stderr.readline() for _ in range(4)]
    # Nothing in its log tells why, so no line of it is quoted.
    killed = f"The server on port {port} was killed by signal 9; starting it again in 1 s.\n"
    assert lines[2] == killed
    assert lines[3] == f"The server on port {port} answers again.\n"
    assert answers(port)
    assert log.read_text().count("now listening") == 2
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    assert (process.returncode, said) == (0, "All servers have ended.\n")
    assert refused(port)


@needs_simulator
def test_a_port_in_use_ends_the_command_and_the_servers_it_had_started(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["showdown", "serve", "--num-servers", "2", "--port", str(port - 1)]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("lanista: Port ")
    assert said.endswith("is in use; choose another or end the program that has it.")
    assert refused(port - 1)
    assert not (tmp_path / "showdown-servers").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--num-servers", "0"], "--num-servers is 0; give 1 or more."),
        (["--port", "-1"], "--port is -1; give one such that it and the 0 after it lie from"),
        (["--port", "65535", "--num-servers", "2"], "--port is 65535; give one such that it"),
        pytest.param(
            ["--port", "0", "--folder", "/dev/null"],
            "--folder cannot write into '/dev/null'",
            marks=needs_simulator,
        ),
    ],
)
def test_what_cannot_be_served_is_said_in_one_sentence(words, sentence, capsys):
    assert main(["showdown", "serve", *words]) == 2
    assert capsys.readouterr().err.startswith(f"lanista: {sentence}")


def test_without_the_simulator_the_remedy_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(PLACE, str(tmp_path / "none"))
    (tmp_path / "node").write_text("#!/bin/sh\n")
    (tmp_path / "node").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["showdown", "serve"]) == 2
    assert capsys.readouterr().err.endswith("run: lanista showdown install\n")
    assert not (tmp_path / "showdown-servers").exists()


@needs_simulator
def test_installing_says_where_the_simulator_is(capsys):
    assert main(["showdown", "install"]) == 0
    assert capsys.readouterr().out == f"The Showdown simulator is in {find()}.\n"
