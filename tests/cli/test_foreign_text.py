"""Names and messages of others on their way to a terminal: no control code, no markup arrives.

Every command here is shown a file, a name or a message that would move the cursor, reverse the
line, colour it or forge a line of its own.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import logging
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lanista import terminal
from lanista.cli import main as cli
from lanista.cli.common.markdown import rows_of
from lanista.cli.common.table import console, table
from lanista.errors import LanistaError
from lanista.games import registry
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.report.pages.html import shown
from lanista.report.tables import markdown
from lanista.text import without_controls

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from live_client import play_live

NASTY = "a\x1b[2J\x1b]0;t\x07\r\x9b31m\x85\u202eb\u2066c\x7f[red]d[/red]"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
main = cli.main


def clean(capsys: pytest.CaptureFixture[str]) -> str:
    """Return all that was printed, once it is known that nothing in it acts on a terminal."""
    out, err = capsys.readouterr()
    assert not FORBIDDEN.search(out + err), ascii(out + err)
    assert "Traceback" not in err
    return out + err


class Hostile:
    """A command that prints what it should not, by every way out."""

    def run(self) -> int:
        print(NASTY, "plain")
        sys.stderr.write(f"{NASTY}\n")
        sys.stdout.writelines([NASTY, NASTY])
        logging.getLogger("foreign").warning("%s", NASTY)
        out = console()
        out.print(f"[bold]{NASTY}")
        out.print(table([NASTY, "n"], [[NASTY, "1"]]))
        raise LanistaError(f"{NASTY}\nlanista: forged")


def test_no_way_out_passes_a_control_code_or_takes_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "parse", lambda _: Hostile())
    before = sys.stdout, sys.stderr
    assert main([]) == 2
    assert (sys.stdout, sys.stderr) == before
    printed = clean(capsys)
    assert printed.count("[red]d[/red]") == 8
    assert printed.count("\\x1b[2J") == 8
    assert "[bold]" in printed
    assert printed.splitlines()[-1].startswith("lanista: a\\x1b[2J")
    assert "\nlanista: forged" not in printed


def test_a_trace_is_as_clean_as_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "parse", lambda _: Hostile())
    main(["--debug"])
    out, err = capsys.readouterr()
    assert "Traceback" in err
    assert not FORBIDDEN.search(out + err)


def test_bars_and_live_tables_on_a_terminal_show_foreign_text_letter_by_letter() -> None:
    from rich.live import Live
    from rich.progress import Progress, TextColumn

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    fit: Any = terminal.FitStream(stream)
    out = terminal.console(fit, force_terminal=True, width=200)
    words = TextColumn("{task.description}", markup=False)
    with Progress(words, console=out) as bar:
        bar.add_task(NASTY, total=1)
    with Live(table([NASTY], [[NASTY]]), console=out):
        print(NASTY)
    drawn = stream.getvalue()
    # Rich's own codes are there, whole, and none of the text's.
    assert "\x1b[" in drawn
    for code in ("\x1b[2J", "\x1b]0", "\x07", "\x9b", "\u202e", "\u2066", "\x7f", "\x85"):
        assert code not in drawn
    assert "\\x1b[2J" in drawn
    assert "[red]d[/red]" in drawn


def test_libraries_that_print_in_colour_are_printed_without() -> None:
    assert without_controls("\x1b[34m\x1b[1mwandb\x1b[0m: fine\n\ttab") == "wandb: fine\n\ttab"


def test_tables_in_markdown_and_pages_hold_foreign_text_as_text() -> None:
    name = f"{NASTY}\n|<b>`x`*[y](javascript:z)&"
    for made in (rows_of(["a"], [[name]]), markdown(["a"], [[name]])):
        lines = made.splitlines()
        assert len(lines) == 3
        assert not FORBIDDEN.search(made)
        assert lines[2].replace("\\|", "").count("|") == 2
        assert "<" not in made
        assert "](" not in made
    page = shown(NASTY + "<script>")
    assert not FORBIDDEN.search(page)
    assert "<" not in page


@pytest.fixture
def replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Replays whose players have names that act on a terminal."""
    folder = tmp_path / "data"
    assert main(["play", "leduc", "--seats", "random,random", "--matches", "12", "--seed", "4",
                 "--record", str(folder)]) == 0  # fmt: skip
    for file in folder.rglob("*.jsonl.gz"):
        lines = gzip.decompress(file.read_bytes()).splitlines()
        header = json.loads(lines[0])
        for number, player in enumerate(header["players"]):
            player["name"] = f"{NASTY}{number}"
        file.write_bytes(
            gzip.compress(b"\n".join([json.dumps(header).encode(), *lines[1:]]) + b"\n")
        )
    capsys.readouterr()
    return folder


def test_players_named_in_replays(replays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = next(replays.rglob("*.jsonl.gz"))
    for command in (
        ["data", str(replays)],
        ["watch", str(file)],
        ["watch", str(file), "--match=9"],
    ):
        main(command)
        assert "\\x1b" in clean(capsys) or command[-1] == "--match=9"


def test_players_with_names_that_cannot_be_printed_are_imitated_and_the_policy_is_saved(
    replays: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from lanista.nets.files.policy_file import load_policy

    output = tmp_path / "p.pt"
    assert main(["imitate", "--data-dir", str(replays), "--output", str(output), "--epochs", "1",
                 "--size", "s", "--threads", "1", "--evaluation-matches", "2"]) == 0  # fmt: skip
    assert "decisions of a\\x1b[2J" in clean(capsys)
    assert "\\x1b[2J" in load_policy(output).header.extra["imitates"]


def test_feedback_of_a_client_that_means_harm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "live"
    play_live(folder)
    for file in folder.rglob("feedback_stream.jsonl"):
        lines = file.read_text().splitlines()
        header = json.loads(lines[0])
        header["player"] = {"name": NASTY, "digest": NASTY}
        header[NASTY] = NASTY
        file.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    main(["data", "--feedback-dir", str(folder)])
    assert "\\x1b" in clean(capsys)


def hostile_policy(path: Path, **changes: Any) -> Path:
    import struct

    spec = registry.make("kuhn").spec
    save_policy(path, Policy(spec, Network("mlp", width=4, layers=1)), spec)
    data = path.read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    held = json.loads(data[8:end])
    about = json.loads(held["__metadata__"]["lanista"]) | changes
    held["__metadata__"]["lanista"] = json.dumps(about)
    text = json.dumps(held).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[end:])
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"name": NASTY},
        {"game": NASTY},
        {"settings": {"deck": NASTY, NASTY: 1}},
        {"extra": {NASTY: NASTY}},
        {"heads": [["bet", NASTY, [2, 3]]]},
        {"network": {"kind": NASTY}},
        {"network": {NASTY: 1}},
        {"observation": {"dtype": NASTY, "fields": [[NASTY, 11]]}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_headers_of_policies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any]
) -> None:
    path = hostile_policy(tmp_path / "p.pt", **changes)
    output = str(tmp_path / "out")
    for command in (
        ["play", "kuhn", "--seats", f"{path},random", "--matches", "2"],
        ["evaluate", str(path), "--opponents", "random", "--matches", "2"],
        ["export", str(path), "--to", "numpy", "--output", output],
        ["policy", "publish", str(path), "--policies", str(tmp_path / "folder")],
    ):
        assert main(command) in (1, 2, 3), command
        clean(capsys)


def test_names_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nasty = tmp_path / "a\x1b[2J\u202e[red]\n.py"
    nasty.write_text("raise RuntimeError('\\x1b[2J')\n")
    folder = tmp_path / "f\x1b[2J\u202e"
    folder.mkdir()
    (folder / "one\x1b.jsonl.gz").write_bytes(b"no replay")
    for command in (
        ["play", "kuhn", "--seats", f"{nasty},random", "--matches", "2"],
        ["play", str(nasty), "--seats", "random,random", "--matches", "2"],
        ["check", str(nasty)],
        ["data", str(folder)],
        ["watch", str(folder)],
        ["watch", str(folder / "one\x1b.jsonl.gz")],
        ["report", str(folder)],
        ["doctor", "--policies", str(folder)],
        ["rl", "--output", str(tmp_path / "x\x1b[2J.pt"), "--config", str(nasty)],
        ["imitate", "--data-dir", str(folder), "--output", str(tmp_path / "x\x1b[2J.pt")],
        [NASTY],
        ["play", f"--{NASTY}"],
    ):
        assert main(command) in (1, 2, 3), command
        clean(capsys)


def test_messages_of_a_showdown_server(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("poke_env")
    from lanista.cli.showdown.play import _Runner
    from lanista.live.showdown.connection import Connection
    from lanista.live.showdown.table import Result

    heard: list[str] = []

    async def refused() -> None:
        owner: Any = SimpleNamespace(failed=heard.append)
        Connection(owner, "ws://127.0.0.1:1/showdown/websocket", "me")._taken(NASTY)

    asyncio.run(refused())
    assert not FORBIDDEN.search(heard[0])
    assert "\\x1b" in heard[0]

    runner = _Runner.__new__(_Runner)
    runner.results, runner.command = [], SimpleNamespace(save_replays=None)  # type: ignore[assignment]
    result = Result(NASTY, NASTY, 0, 1.0, 3, "", given_up=NASTY)
    aim: Any = SimpleNamespace(battles=1)
    runner._report(result, aim)
    assert clean(capsys).count("\\x1b[2J") == 3
