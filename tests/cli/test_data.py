"""`lanista data`: what it prints and how it ends."""

import json
import os
from pathlib import Path

import pytest
from recorded import record

from lanista.cli.main import main
from lanista.cli.tools.data import Data
from lanista.errors import LanistaError


def test_a_sound_folder_ends_with_0_and_its_numbers(tmp_path, capsys):
    records = record(tmp_path / "a.jsonl.gz", "kuhn", 12)
    assert Data(tmp_path).run() == 0
    said = capsys.readouterr().out
    decisions = sum(len(one.actions) for one in records)
    assert f"1 files, 12 matches, {decisions} decisions" in said
    assert "duplicates: 0" in said
    assert "broken files: 0" in said
    wins = sum(one.place[0] == 1 for one in records)
    seat = next(line.split() for line in said.splitlines() if line.strip().startswith("seat 0"))
    assert seat == ["seat", "0", str(wins), "0", str(12 - wins), "0"]
    bets = sum(int(one.actions.sum()) for one in records)
    bet = next(line.split() for line in said.splitlines() if line.strip().startswith("bet"))
    assert bet == ["bet", str(bets), f"{bets / decisions:.1%}"]


@pytest.mark.parametrize("game", ["beastybar", "arena"])
def test_the_big_games_are_checked_too(tmp_path, capsys, game):
    record(tmp_path / "a.jsonl.gz", game, 2)
    assert Data(tmp_path).run() == 0
    assert f"{game} (" in capsys.readouterr().out


def test_broken_files_are_listed_left_alone_and_end_with_1(tmp_path, capsys):
    record(tmp_path / "a.jsonl.gz", "kuhn", 2)
    broken = tmp_path / "[red]b.jsonl.gz"
    broken.write_bytes(b"not a replay")
    assert Data(tmp_path).run() == 1
    said = capsys.readouterr().out
    assert "broken files: 1" in said
    assert "[red]b.jsonl.gz: it is not a gzip file" in said
    assert "2 files, 2 matches" in said
    assert broken.read_bytes() == b"not a replay"


def test_duplicates_are_named(tmp_path, capsys):
    for name in "ab":
        record(tmp_path / f"{name}.jsonl.gz", "kuhn", 3)
    assert Data(tmp_path).run() == 0
    said = capsys.readouterr().out
    assert "duplicates: 3" in said
    assert "b.jsonl.gz match 10 repeats a.jsonl.gz match 10" in said


class Loud:
    name = "\x1b[31mloud\x1b[2J"
    digest = "\x07" * 64


def test_nothing_from_a_folder_reaches_the_terminal_raw(tmp_path, capfd):
    record(tmp_path / "a.jsonl.gz", "kuhn", 2, players=[Loud(), Loud()])
    (tmp_path / "\x1b[2J\u202e.jsonl.gz").write_bytes(b"x")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n.jsonl.gz")).write_bytes(b"x")
    assert Data(tmp_path).run() == 1
    said, noise = capfd.readouterr()
    assert "\\x1b[31mloud" in said
    for text in (said, noise):
        assert text.replace("\n", "").isprintable()


def test_the_summary_is_written_to_a_file(tmp_path, capsys):
    record(tmp_path / "data" / "a.jsonl.gz", "kuhn", 4)
    (tmp_path / "data" / "b.jsonl.gz").write_bytes(b"")
    out = tmp_path / "out" / "summary.json"
    assert Data(tmp_path / "data", json_file=out).run() == 1
    summary = json.loads(out.read_text())
    assert summary["matches"] == 4
    assert summary["broken"] == [{"file": "b.jsonl.gz", "reason": "it is empty."}]


def test_the_folder_can_be_given_by_name(tmp_path, capsys):
    record(tmp_path / "a.jsonl.gz", "kuhn", 1)
    assert Data(data_dir=tmp_path).run() == 0
    with pytest.raises(LanistaError, match="Two folders"):
        Data(tmp_path, data_dir=tmp_path / "other").run()


def test_no_folder_a_missing_one_and_an_empty_one_end_with_2(tmp_path):
    for command in (Data(), Data(tmp_path), Data(tmp_path / "missing"), Data(tmp_path, slots=0)):
        with pytest.raises(LanistaError) as problem:
            command.run()
        assert problem.value.exit_code == 2


def test_the_command_line_names_the_settings(tmp_path):
    import tyro

    assert tyro.cli(Data, args=[str(tmp_path)]) == Data(tmp_path)
    given = ["--data-dir", str(tmp_path), "--json", "x.json", "--game", "a.py"]
    wanted = Data(data_dir=tmp_path, json_file=Path("x.json"), game="a.py")
    assert tyro.cli(Data, args=given) == wanted


def test_a_slip_on_the_line_makes_no_sound_file_look_broken(tmp_path, capsys):
    record(tmp_path / "a.jsonl.gz", "kuhn", 3)
    assert main(["data", str(tmp_path), "--game", "kuhm"]) == 2
    assert capsys.readouterr().err == "lanista: There is no game 'kuhm'; did you mean 'kuhn'?\n"
    assert main(["data", str(tmp_path), "--slots", str(10**12)]) == 0


def test_numbers_that_cannot_be_written_are_refused_before_the_work(tmp_path, capsys):
    record(tmp_path / "a.jsonl.gz", "kuhn", 3)
    assert main(["data", str(tmp_path), "--json", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "is a folder; name a file." in printed.err
