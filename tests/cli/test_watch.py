"""`lanista watch`: a match, turn by turn, as it was recorded."""

import os
import pty
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from recorded import record

from lanista.cli.main import main
from lanista.cli.play.watch import Watch
from lanista.errors import LanistaError


def test_the_first_match_is_shown_with_its_moves_and_result(tmp_path, capsys):
    path = tmp_path / "a.jsonl.gz"
    first, *_ = record(path, "kuhn", 3)
    assert Watch(path).run() == 0
    said = capsys.readouterr().out
    assert "kuhn, match 10, deal 10, seed 3" in said
    moves = [line.split(": ")[1] for line in said.splitlines() if line.startswith("  seat")]
    names = ["pass" if choice == 0 else "bet" for choice in first.actions[:, 0].tolist()]
    assert moves[: len(names)] == names
    assert said.count("cards ") == len(names) + 1
    assert f"over after {len(names)} turns" in said
    for seat in (0, 1):
        result = f"seat {seat}, random: place {first.place[seat]}, return {first.returns[seat]:+g}"
        assert result in said


def test_each_turn_shows_the_position_before_its_move(tmp_path, capsys):
    path = tmp_path / "a.jsonl.gz"
    record(path, "kuhn", 1)
    Watch(path).run()
    pictures = [line for line in capsys.readouterr().out.splitlines() if line.startswith("cards")]
    assert "to open" in pictures[0]
    assert len(set(pictures)) == len(pictures)


def test_a_match_is_chosen_by_its_id(tmp_path, capsys):
    path = tmp_path / "a.jsonl.gz"
    record(path, "kuhn", 3)
    Watch(path, match=12).run()
    assert "match 12" in capsys.readouterr().out
    with pytest.raises(LanistaError, match="no match 13; it has 3, with ids from 10 to 12"):
        Watch(path, match=13).run()


@pytest.mark.parametrize("game", ["beastybar", "arena", "leduc", "liars_dice", "phantom_ttt"])
def test_every_game_can_be_watched(tmp_path, capsys, game):
    path = tmp_path / "a.jsonl.gz"
    (one,) = record(path, game, 1)
    assert Watch(path).run() == 0
    said = capsys.readouterr().out
    assert "cannot be drawn" not in said
    shown = [line for line in said.splitlines() if line.startswith("  seat") and ": " in line]
    assert len(shown) >= len(one.actions) + len(one.place)
    assert "place 1" in said


def test_a_broken_file_is_refused_with_its_name(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    record(path, "kuhn", 3)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(LanistaError, match=r"a\.jsonl\.gz is refused: .*cut short"):
        Watch(path).run()


def test_a_folder_is_refused_with_the_first_file_to_name_instead(tmp_path):
    with pytest.raises(LanistaError) as none:
        Watch(tmp_path).run()
    assert str(none.value) == (
        f"{tmp_path} is a folder, and no replay lies in it; name a file that ends in .jsonl.gz."
    )
    for name in ("b.jsonl.gz", "deep/a.jsonl.gz", "0.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(LanistaError) as some:
        Watch(tmp_path).run()
    assert str(some.value) == (
        f"{tmp_path} is a folder; name a file in it, such as {tmp_path / 'b.jsonl.gz'}."
    )


class Loud:
    name = "\x1b[31mloud\x1b[2J"
    digest = "\x07" * 64


def test_names_in_a_file_do_not_reach_the_terminal_raw(tmp_path, capsys):
    path = tmp_path / "a.jsonl.gz"
    record(path, "kuhn", 1, players=[Loud(), Loud()])
    Watch(path).run()
    said = capsys.readouterr().out
    assert "\\x1b[31mloud" in said
    assert said.replace("\n", "").isprintable()


GAME = """
from lanista.games import Facts, PythonGame, View

class Once(PythonGame):
    name = "once"
    facts = Facts(seats=1, longest=1)
    observation = 1
    moves = 3

    def deal(self, rng):
        return ["fresh"]

    def apply(self, state, moves, rng):
        state[0] = f"played {moves[0]}"
        return [1.0]

    def view(self, state, seat):
        return View([0], [0, 1, 2])
"""


def test_a_game_from_a_file_is_watched_when_it_is_named(tmp_path, capsys):
    game, path = tmp_path / "once.py", tmp_path / "a.jsonl.gz"
    game.write_text(GAME)
    record(path, str(game), 1)
    with pytest.raises(LanistaError, match="refused: its game 'once' is not installed"):
        Watch(path).run()
    capsys.readouterr()
    assert Watch(path, game=str(game)).run() == 0
    assert "fresh" in capsys.readouterr().out


def test_a_senseless_delay_is_refused(tmp_path):
    for delay in (-1.0, float("nan"), 1e9):
        with pytest.raises(LanistaError, match="--delay"):
            Watch(tmp_path / "a.jsonl.gz", delay=delay).run()


def in_a_terminal(path, settings: str, typed: bytes) -> str:
    """Run the command on a terminal of its own and return what it shows."""
    ours, theirs = pty.openpty()
    script = (
        "from pathlib import Path; from lanista.cli.play.watch import Watch; "
        f"Watch(Path({str(path)!r}), {settings}).run()"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", script], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # The terminal's other side is closed.
            break
        if not piece:
            break
        shown += piece
    assert running.wait() == 0
    os.close(ours)
    return shown.decode()


def test_on_a_terminal_each_step_waits_for_enter_and_q_leaves(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    record(path, "kuhn", 1)
    shown = in_a_terminal(path, "step=True", b"\nq\n")
    assert "turn 1" in shown
    assert "turn 2" not in shown
    assert "the end" not in shown


def test_on_a_terminal_the_match_runs_to_its_end_by_itself(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    record(path, "kuhn", 1)
    shown = in_a_terminal(path, "delay=0.01", b"")
    assert "turn 2" in shown
    assert "over after" in shown


def test_a_match_of_the_arena_is_drawn_into_a_file(tmp_path, capsys):
    path, picture = tmp_path / "a.jsonl.gz", tmp_path / "match.svg"
    record(path, "arena", 2)
    assert main(["watch", str(path), "--match", "11", "--animate", str(picture)]) == 0
    assert capsys.readouterr().out == f"animation: {picture}\n"
    root = ElementTree.parse(picture).getroot()
    assert root.tag.endswith("svg")
    # Its own file may be drawn again; another's may not be lost.
    assert main(["watch", str(path), "--animate", str(picture)]) == 0
    picture.write_text("<svg/>")
    assert main(["watch", str(path), "--animate", str(picture)]) == 3
    assert picture.read_text() == "<svg/>"


def test_a_game_without_an_animation_says_so(tmp_path):
    path, picture = tmp_path / "a.jsonl.gz", tmp_path / "match.svg"
    record(path, "kuhn", 1)
    with pytest.raises(LanistaError, match="--animate is given, and kuhn has no animation"):
        Watch(path, animate=picture).run()
    assert not picture.exists()
