"""No command writes over its own input or over what it did not make.

Walks every command and every one of its flags that names a file or folder, as the command line
itself defines them: one without a case here fails.
"""

from __future__ import annotations

import os
import socket
import stat
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from lanista.cli.commands import every_command
from lanista.cli.common.outputs import Folder, flag_of, marked_fields
from lanista.cli.main import main, parse

# What each command is given besides the flag on trial: files that it reads are among `READ`.
WORDS = {
    "play": "kuhn --seats read.safetensors,random",
    "roundrobin": "read.py --bots random,bot.py:Bot",
    "data": "data --game read.py",
    "export": "read.safetensors --to onnx",
    "imitate": "--data-dir data --game read.py",
    "watch": "read.jsonl",
    "rl": "--config read.yaml --supervised-checkpoint read.safetensors",
    "league": "--config read.yaml",
    "learn": "--config read.yaml",
    "live run": "arena",
    "live-demo": "",
    "run": "read.yaml",
    "evaluate": "read.safetensors --opponents bot.py:Bot,other.pt+third.pt",
    "report": "--league-state read.json --matches read.jsonl",
    "exploit": "read.safetensors --from imitation other.pt",
    "exact": "read.safetensors --game bot.py",
    "solve": "bot.py",
    "config": "import read.yaml",
    "experiment": "read.yaml",
    "profile": "read.yaml --sweep",
    "tune": "read.yaml --mark score:bot.py:Bot>=0.5",
    "policy list": "published",
    "policy publish": "read.safetensors",
    "policy ready": "published",
    "policy import": "read.safetensors --mapping read.yaml",
    "policy finish": "read.safetensors",
    "doctor": "published",
    "showdown serve": "",
    "showdown play": "read.safetensors --server ws://127.0.0.1:1 --accept 1 --team team.txt",
    "showdown evaluate": "read.safetensors --team team.txt",
    "showdown import-logs": "log.json",
    "showdown teams": "--number 1",
    "showdown encode": "log.json --policy read.safetensors",
    "showdown usage": "log.json",
}
READ = (
    "read.safetensors", "read.py", "bot.py", "read.yaml", "other.pt", "third.pt", "read.json",
    "read.jsonl", "team.txt", "log.json",
)  # fmt: skip
# Flags and arguments that name what is only read, or what a command of its own kind made before.
ONLY_READ = {
    "data": {"folder", "data_dir", "feedback_dir", "reports_live_dir"},
    "watch": {"file"},
    "view": {"folder"},
    "export": {"policy"},
    "imitate": {"data_dir", "feedback_dir", "reports_live_dir"},
    "rl": {"config", "supervised_checkpoint", "checkpoint"},
    "league": {"supervised_checkpoint", "config"},
    "learn": {"config"},
    "live run": {"policy", "team_pool"},
    "live serve": {"folder", "tls_cert", "tls_key", "token_file"},
    "evaluate": {"ceilings"},
    "replay": {"run_folder"},
    "report": {"run_folder", "league_state", "matches"},
    "exploit": {"config"},
    "experiment": {"file"},
    "tune": {"space"},
    "policy list": {"folder"},
    "policy publish": {"file"},
    "policy rollback": {"folder"},
    "policy ready": {"folder", "spool"},
    "policy import": {"checkpoint", "mapping"},
    "policy finish": {"file"},
    "doctor": {"folder", "policy", "spool", "training"},
    "showdown play": {"team", "belief_pool", "usage"},
    "showdown encode": {"log", "belief_pool", "usage"},
    "showdown evaluate": {"team", "team_pool", "belief_pool", "usage"},
    "showdown usage": {"sources"},
    "showdown import-logs": {"logs", "team_pool_path"},
}
NAMES_A_PATH = ("FILE", "FOLDER", "DIR")
# What flags need beside them.
OTHERS = {
    "rl --tensorboard": "--output new.safetensors",
    "imitate --tensorboard": "--output new.safetensors",
    "league --tensorboard": "--output-dir new-league",
    "run --tensorboard": "--output-dir new-pipeline",
    "exploit --markdown": "--output new.safetensors",
    "learn --spool": "--policy published",
    "learn --policy": "--spool new",
}


def walk():
    return ((name, entry.load()) for name, entry in every_command())


def outputs():
    for name, command in walk():
        for field, mark in marked_fields(command).items():
            made = mark.product
            if name == "policy publish":  # Positional: the folder stands where flags stand.
                yield name, command, "", Folder
                continue
            kind = Folder if isinstance(made, Folder) else object
            yield name, command, flag_of(command, field), kind


OUTPUTS = list(outputs())
FILES = [each for each in OUTPUTS if each[3] is object]
FOLDERS = [each for each in OUTPUTS if each[3] is Folder]


def named(each):
    return f"{each[0]} {each[2]}"


def test_every_flag_that_names_a_path_is_either_written_with_care_or_only_read():
    for name, command in walk():
        hints = get_type_hints(command, include_extras=True)
        paths = {
            field.name
            for field in fields(command)
            if "Path" in str(hints[field.name])
            or any(
                getattr(mark, "metavar", None) in NAMES_A_PATH
                for mark in get_args(hints[field.name])[1:]
            )
        }
        assert paths == set(marked_fields(command)) | ONLY_READ.get(name, set()), name


def test_every_command_that_writes_has_a_case_here():
    assert {each[0] for each in OUTPUTS} == set(WORDS)
    # The commands of the issue, by name: the list above cannot shrink to nothing.
    flags = {named(each) for each in OUTPUTS}
    assert {"export --output", "evaluate --output", "evaluate --markdown", "play --json"} <= flags
    assert len(flags) >= 30


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of the user's in which all that commands read is there."""
    monkeypatch.chdir(tmp_path)
    for name in READ:
        Path(name).write_bytes(f"the user's {name}\n".encode())
    for folder in ("data", "published", "mine"):
        Path(folder).mkdir()
    Path("published/current.json").write_text("{}")
    Path("mine/thesis.txt").write_text("years of work")
    Path("notes.txt").write_text("the user's notes")
    Path("linked").symlink_to("notes.txt")
    Path("nowhere").symlink_to("not-there")
    Path("linked-folder").symlink_to("mine")
    os.link("read.safetensors", "hard.safetensors")
    os.mkfifo("pipe")
    Path("here").symlink_to(".")
    return tmp_path


def everything(folder):
    """Return each entry under a folder with its kind and content."""
    there = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else b""
        where = str(path.readlink()) if stat.S_ISLNK(mode) else ""
        there[str(path)] = (stat.S_IFMT(mode), content, where)
    return there


def asked(each, path="PATH"):
    name, _, flag, _ = each
    words = [*name.split()]
    if name == "policy publish":
        return [*words, path, *WORDS[name].split()]
    return [*words, *WORDS[name].split(), *OTHERS.get(named(each), "").split(), flag, path]


@cache
def parsed(each):
    """Return the command that the words give, and the field on trial: parsing takes its time."""
    command = parse(asked(each))
    (field,) = (f.name for f in fields(command) if getattr(command, f.name) == Path("PATH"))
    return command, field


def refused(each, path, place, monkeypatch, capsys):
    """Run a command that has to refuse `path` before anything is done; return the exit code."""

    def run(self):
        raise AssertionError(f"{each[0]} began its work")

    command, field = parsed(each)
    monkeypatch.setattr(each[1], "run", run)
    monkeypatch.setattr("lanista.cli.main.parse", lambda _: replace(command, **{field: Path(path)}))
    before = everything(place)
    code = main(["these", "words"])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("lanista: ")
    assert printed.err.count("\n") == 1, printed.err
    assert "began its work" not in printed.err, asked(each, str(path))
    assert everything(place) == before
    return code, printed.err


def reads(each):
    words = asked(each)
    return [name for name in READ if any(name in word for word in words)]


@pytest.mark.parametrize("each", FILES, ids=named)
def test_no_command_writes_over_what_it_reads(each, place, monkeypatch, capsys):
    sources = reads(each)
    for source in sources:
        spellings = [source, f"./{source}", f"mine/../{source}", f"here/{source}", place / source]
        if source == "read.safetensors":
            spellings.append("hard.safetensors")
        for path in spellings:
            code, said = refused(each, path, place, monkeypatch, capsys)
            assert code == 3
            assert repr(str(Path(path))) in said
    if each[0] not in ("policy list", "policy ready", "doctor"):  # These read a folder.
        assert sources


@pytest.mark.parametrize("each", FILES, ids=named)
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("notes.txt", 3),
        ("linked", 3),
        ("nowhere", 3),
        ("pipe", 3),
        ("/dev/null", 3),
        ("mine", 2),
        ("linked-folder", 3),
        ("notes.txt/x", 2),
        ("/proc/lanista/x", 2),
    ],
)
def test_no_command_writes_over_what_it_did_not_make(each, path, code, place, monkeypatch, capsys):
    got, said = refused(each, path, place, monkeypatch, capsys)
    assert got == code, said
    assert path.removesuffix("/x") in said


@pytest.mark.parametrize("each", FOLDERS, ids=named)
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("mine", 3),
        ("linked-folder", 3),
        ("here", 3),
        ("notes.txt", 2),
        ("linked", 2),
        ("nowhere", 2),
        ("pipe", 2),
        ("/dev/null", 2),
        ("notes.txt/x", 2),
        ("/proc/lanista", 2),
    ],
)
def test_no_command_mixes_its_files_with_those_of_others(
    each, path, code, place, monkeypatch, capsys
):
    got, said = refused(each, path, place, monkeypatch, capsys)
    assert got == code, said
    assert path.removesuffix("/x") in said


def test_a_socket_is_no_place_for_a_file(place, monkeypatch, capsys):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        each = next(each for each in FILES if named(each) == "play --json")
        assert refused(each, "socket", place, monkeypatch, capsys)[0] == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into any folder")
def test_a_folder_that_may_not_be_written_into_is_refused_first(place, monkeypatch, capsys):
    Path("mine").chmod(0o500)
    for each in FILES:
        assert refused(each, "mine/x", place, monkeypatch, capsys)[0] == 2


def test_two_outputs_of_one_name_are_refused(place, monkeypatch, capsys):
    each = next(each for each in FILES if named(each) == "evaluate --markdown")
    words = asked(each, "x.md")
    monkeypatch.setattr(each[1], "run", lambda self: 0)
    assert main([*words, "--output", "here/x.md"]) == 2
    assert "--output and --markdown are both" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["linked", "nowhere", "pipe", "notes.txt", "mine"])
def test_config_new_takes_a_new_name_only(name, place, capsys):
    before = everything(place)
    assert main(["config", "new", "kuhn-ppo", name]) == (2 if name == "mine" else 3)
    assert capsys.readouterr().err.count("\n") == 1
    assert everything(place) == before


@pytest.mark.parametrize("beside", ["new.safetensors.json", "new.safetensors"])
@pytest.mark.parametrize("each", [e for e in FILES if e[0] in ("imitate", "exploit")], ids=named)
def test_numbers_beside_a_policy_are_not_written_over(each, beside, place, monkeypatch, capsys):
    if each[2] != "--output":
        return
    Path(beside).write_text("the user's own")
    assert refused(each, "new.safetensors", place, monkeypatch, capsys)[0] == 3


def test_a_page_beside_a_reports_numbers_is_not_written_over(place, monkeypatch, capsys):
    Path("report.html").write_text("<html>the user's page</html>")
    each = next(each for each in FILES if named(each) == "report --output")
    code, said = refused(each, "new.json", place, monkeypatch, capsys)
    assert code == 3
    assert "'report.html'" in said


BOT = """
import numpy as np

class Bot:
    def __init__(self, spec, seed):
        self.spec = spec

    def act(self, decisions, rows):
        return np.array([[int(decisions.mask[row].argmax())] for row in rows])
"""
AGAIN = {
    "play": "kuhn --seats random,random --matches 4 --json out.json",
    "roundrobin": "kuhn --bots random,random --matches 4 --json out.json",
    "evaluate": "random --game kuhn --opponents random --games 4 --output out.json",
    "evaluate tables": "random --game kuhn --opponents random --games 4 --markdown out.md",
    "data": "replays --json out.json",
}


@pytest.mark.parametrize("what", AGAIN)
def test_what_a_command_made_it_may_make_again_and_no_other_command_may(
    what, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    play = "play kuhn --seats random,random --matches 2 --record replays"
    assert main(play.split()) == 0
    name, words = what.split()[0], AGAIN[what].split()
    assert main([name, *words]) == 0
    made = Path(words[-1]).read_bytes()
    assert main([name, *words]) == 0
    capsys.readouterr()
    other = "roundrobin" if name == "play" else "play"
    assert main([other, *AGAIN[other].split()[:-1], words[-1]]) == 3
    assert "so it is not overwritten" in capsys.readouterr().err
    assert Path(words[-1]).read_bytes()[:40] == made[:40]


def test_what_appears_at_an_outputs_name_meanwhile_is_kept(tmp_path, monkeypatch, capsys):
    from lanista.cli.play import play

    monkeypatch.chdir(tmp_path)
    before = play.Play._play

    def and_then_somebody_writes(self, *given):
        Path("out.json").write_text("precious")
        return before(self, *given)

    monkeypatch.setattr(play.Play, "_play", and_then_somebody_writes)
    assert main(["play", *AGAIN["play"].split()]) == 3
    printed = capsys.readouterr()
    assert "out.json" in printed.err
    assert "random" in printed.out  # What was played is told all the same.
    assert Path("out.json").read_text() == "precious"
