"""`lanista cluster start` and a run on it, as two terminals of one machine have them."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from importlib.util import find_spec

import pytest

from lanista.cli.main import main
from lanista.cluster.session import wait_for

# Not imported here: this process would keep what Ray reads when it is loaded.
if find_spec("ray") is None:
    pytest.skip("ray is not installed", allow_module_level=True)


@pytest.fixture
def environment(tmp_path, short_folder):
    token = str(tmp_path / "token")
    # Where Ray notes the newest cluster: `--cluster auto` of whoever uses this machine is theirs.
    own = {"RAY_TMPDIR": str(short_folder), "RAY_AUTH_TOKEN_PATH": token}
    return {**os.environ, "HOME": str(tmp_path), **own}


@pytest.fixture
def port(tmp_path, environment):
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        number = line.getsockname()[1]
    words = ["cluster", "start", "--port", str(number), "--cpus", "1", "--object-store", "80"]
    log = (tmp_path / "start.log").open("w+")
    process = subprocess.Popen(
        [sys.executable, "-m", "lanista", *words],
        env=environment, stdout=log, stderr=log, start_new_session=True,
    )  # fmt: skip
    try:
        path = tmp_path / "start.log"
        ready = wait_for(lambda: "Ray runtime started" in path.read_text(), 120)
        assert ready, path.read_text()
        yield number
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


def test_a_run_of_a_second_terminal_plays_on_the_cluster(tmp_path, environment, port):
    output = tmp_path / "p.safetensors"
    words = ["rl", "--config", "kuhn-ppo", "--iterations", "2", "--output", str(output)]
    done = subprocess.run(
        [sys.executable, "-m", "lanista", *words, "--cluster", "auto"],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(f"{output}.run/run.db") as database:
        rows = database.execute("select count(*) from metrics where name = 'cluster/machines'")
        assert rows.fetchone()[0] > 0


def test_joining_a_cluster_that_stays_within_its_machine_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    assert main(["cluster", "join", "127.0.0.1:6379"]) == 2
    assert "start it with --host" in capsys.readouterr().err
