"""`lanista live serve` as a person starts it: its address, its token, and what it refuses."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "live"))

from served import self_signed
from toy import folder_of, view

from lanista.cli.main import main
from lanista.live import Agent
from lanista.live.files.spool import Spool

COMMAND = [sys.executable, "-m", "lanista", "live", "serve"]


def serve(folder: Path, *words: str) -> tuple[subprocess.Popen[str], str]:
    """Start the command on a free port; return it and its address."""
    process = subprocess.Popen(
        [*COMMAND, str(folder), "--port", "0", *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith(f"Serving {folder} at ")
    return process, line.split(" at ")[1].split(";")[0]


def play(agent: Agent, name: str) -> None:
    game = agent.game(name)
    game.act(view(0))
    game.end(1)


def test_it_takes_games_ends_well_when_interrupted_and_has_the_same_token_again(
    tmp_path: Path,
) -> None:
    folder, given = tmp_path / "there", {}
    folder_of(folder / "policy")
    for number, end in enumerate((signal.SIGKILL, signal.SIGINT)):
        process, address = serve(folder)
        with process:
            token = (folder / "server" / "token").read_text().strip()
            assert given.setdefault("token", token) == token
            with Agent(tmp_path / "p", tmp_path / "s", server=address, **given) as agent:
                play(agent, f"game {number}")
            assert agent.report().server.sent == 1
            process.send_signal(end)
            code = process.wait(60)
            assert process.stdout is not None
            last = process.stdout.read()
        assert code == (0 if end == signal.SIGINT else -signal.SIGKILL)
    assert last == "1 games received, 0 sent again, 0 refused.\n"
    assert len(Spool(folder / "spool").waiting()) == 2


def test_with_a_certificate_it_speaks_tls(tmp_path: Path) -> None:
    folder_of(tmp_path / "there" / "policy")
    made = self_signed(tmp_path / "tls")
    words = ["--tls-cert", str(made.certificate), "--tls-key", str(made.key)]
    process, address = serve(tmp_path / "there", *words, "--host", "0.0.0.0")
    with process:
        assert address.startswith("https://127.0.0.1:")
        token = (tmp_path / "there" / "server" / "token").read_text().strip()
        given: dict[str, Any] = {"token": token, "certificate": made.certificate}
        with Agent(tmp_path / "p", tmp_path / "s", server=address, **given) as agent:
            play(agent, "encrypted")
        process.terminate()
    assert agent.report().server.sent == 1


def test_other_machines_are_let_in_unencrypted_only_where_that_is_said(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    done = subprocess.run(
        [*COMMAND, str(tmp_path), "--host", "0.0.0.0"], capture_output=True, text=True
    )
    assert done.returncode == 3
    assert "nothing would be encrypted; give --tls-cert and --tls-key" in done.stderr
    process, _ = serve(tmp_path, "--host", "0.0.0.0", "--unencrypted")
    with process:
        process.terminate()


def test_what_cannot_be_served_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder_of(tmp_path / "live" / "policy")
    Path("empty").mkdir()
    Path("short").write_text("short")
    Path("short").chmod(0o600)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        for words, sentence in (
            (["nowhere"], "'nowhere' is no folder; name one that holds `policy`."),
            (["empty"], "publish a policy into this folder first."),
            (["live", "--port", "70000"], "--port is 70000; give a number from 0 to 65535."),
            (["live", "--port", port], f"cannot listen on 127.0.0.1:{port}"),
            (["live", "--max-waiting", "0"], "--max-waiting is 0.0; give GiB above 0."),
            (["live", "--max-uploads", "0"], "--max-uploads is 0; give 1 to 1024."),
            (["live", "--tls-cert", "a.pem"], "--tls-cert and --tls-key belong together"),
            (["live", "--tls-cert", "a.pem", "--tls-key", "b.pem"], "There is no file 'a.pem'"),
            (["live", "--tls-cert", "short", "--tls-key", "short"], "no certificate and key"),
            (["live", "--token-file", "nowhere"], "There is no token in nowhere"),
            (["live", "--token-file", "short"], "must have 16 or more letters"),
        ):
            assert main(["live", "serve", *words]) == 2, words
            assert sentence in capsys.readouterr().err
