"""Real Showdown servers: started, found wanting, ended, and ended with whoever started them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from showdown_play import needs_simulator

from lanista.errors import RefusedError
from lanista.games.contract import GameError
from lanista.games.showdown.install import PLACE, find
from lanista.games.showdown.local_servers.server import HOST, Server

LONG = 900.0
"""Seconds after which something that should end is said not to."""
STARTS_AND_WAITS = """
import time
from lanista.games.showdown.local_servers.server import Server
server = Server()
print(server.process.pid, server.port, server.folder, flush=True)
time.sleep(600)
"""


def living(group: int) -> list[str]:
    """Return the processes of a group that still run."""
    listed = subprocess.run(
        ["ps", "-e", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return [row[2] for row in rows if int(row[0]) == group and not row[1].startswith("Z")]


def wait_for_the_end(group: int) -> None:
    last = time.monotonic() + LONG
    while (left := living(group)) and time.monotonic() < last:
        time.sleep(0.05)
    assert not left


LOOKED_UP = """
import {{ appendFileSync }} from 'node:fs';
import dns from 'node:dns';
for (const how of ['lookup', 'reverse']) {{
	const asked = dns[how];
	dns[how] = (name, ...rest) => {{
		appendFileSync({file}, `${{name}}\\n`);
		return asked(name, ...rest);
	}};
}}
"""
"""Writes down, in every process of a server, which names the system is asked for."""


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("names") / "names"


@pytest.fixture(scope="module")
def server(names: Path) -> Iterator[Server]:
    script = names.with_name("script.mjs")
    script.write_text(LOOKED_UP.format(file=json.dumps(str(names))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODE_OPTIONS", f"--import {script}")
        running = Server()
    with running:
        yield running


@needs_simulator
def test_a_server_answers_on_loopback_alone(server: Server) -> None:
    assert server.url == f"ws://127.0.0.1:{server.port}/showdown/websocket"
    with urllib.request.urlopen(f"http://{HOST}:{server.port}/showdown/info") as answer:
        assert b'"websocket":true' in answer.read()
    listed = subprocess.run(["ss", "-ltnH"], capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        heard = [row.split()[3] for row in listed.stdout.splitlines()]
        assert [at for at in heard if at.endswith(f":{server.port}")] == [f"{HOST}:{server.port}"]
    assert "now listening" in server.log.read_text()


@needs_simulator
def test_a_server_asks_nobody_outside(server: Server, names: Path) -> None:
    assert server.alive
    assert set(names.read_text().split()) == {HOST}


@needs_simulator
def test_a_server_writes_into_its_own_folder_alone(server: Server) -> None:
    package = find() / "node_modules" / "pokemon-showdown"
    began = (server.folder / "config" / "config.js").stat().st_mtime
    written = [path for path in package.rglob("*") if path.stat().st_mtime > began]
    assert not written


@needs_simulator
def test_a_port_in_use_is_named(server: Server) -> None:
    with pytest.raises(GameError, match=rf"^Port {server.port} on 127.0.0.1 is in use; choose"):
        Server(port=server.port)
    for port in (-1, 65536):
        with pytest.raises(GameError, match=f"^Port {port} does not exist"):
            Server(port=port)


@needs_simulator
def test_two_servers_do_not_share_a_folder(server: Server) -> None:
    with pytest.raises(RefusedError, match="Showdown server's folder"):
        Server(server.folder)
    assert server.alive


@needs_simulator
def test_a_closed_server_leaves_its_log_and_no_process(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    with Server(tmp_path / "kept", port) as running:
        assert running.port == port
        assert len(living(running.process.pid)) > 1
    wait_for_the_end(running.process.pid)
    running.close()
    assert not running.alive
    assert running.log == tmp_path / "kept" / "server.log"
    assert "now listening" in running.log.read_text()


@needs_simulator
def test_a_server_ends_when_its_owner_is_killed() -> None:
    owner = subprocess.Popen([sys.executable, "-c", STARTS_AND_WAITS], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    group, port, folder = owner.stdout.readline().split()
    assert living(int(group))
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    wait_for_the_end(int(group))
    assert not Path(folder.decode()).exists()
    with pytest.raises(OSError, match="refused"), socket.create_connection((HOST, int(port))):
        pass


@needs_simulator
def test_a_server_that_dies_at_its_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_OPTIONS", f"--require {tmp_path}/nothing.js")
    with pytest.raises(GameError, match=r"ended with code 1 before it answered: .*nothing\.js"):
        Server()


@needs_simulator
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GameError, match=r"cannot run in .*below .*name a folder"):
        Server(tmp_path / "file" / "below")


def test_what_is_missing_is_said_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(GameError, match=r"^Node\.js is not installed.*apt-get install"):
        Server(tmp_path / "server")
    (tmp_path / "node").write_text("#!/bin/sh\n")
    (tmp_path / "node").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(PLACE, str(tmp_path / "none"))
    with pytest.raises(GameError, match=r"^The Showdown simulator is not in .*none; run: "):
        Server(tmp_path / "server")
    assert not (tmp_path / "server").exists()
