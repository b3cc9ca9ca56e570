"""`lanista play --seats human,…`: a person in a terminal, by a pipe and by a real terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import warm_python

from lanista.cli.main import main
from lanista.data import read_replays, resimulate

PLAY = (sys.executable, "-m", "lanista", "play")


def piped(lines: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    """Play with these lines typed."""
    return warm_python.run(
        [*PLAY, *words], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("game", "typed"),
    [("kuhn", ["bet"] * 3), ("phantom_ttt", ["1"] * 20), ("openspiel:tic_tac_toe", ["1"] * 9)],
)
def test_a_match_is_played_to_its_end_and_saved_as_a_humans(
    game: str, typed: list[str], tmp_path: Path
) -> None:
    played = piped(typed, game, "--seats", "human,random", "--seed", "3", "--record", str(tmp_path))
    assert played.returncode == 0, played.stderr
    assert any(f"You {end}." in played.stdout for end in ("win", "lose")) or "A draw." in (
        played.stdout
    )
    (file,) = tmp_path.glob("*.jsonl.gz")
    replays = read_replays(file)
    assert replays.header.source == "human"
    assert replays.header.players[0].name == "human"
    resimulate(replays)


def test_a_hint_names_the_champions_choices_and_a_move_is_taken_back() -> None:
    played = piped(
        ["h", "1", "u", "1", "q"], "beastybar", "--seats", "human,champion:beastybar", "--seed", "1"
    )
    assert played.returncode == 0, played.stderr
    assert "%" in played.stdout
    assert "#" in played.stdout
    # The first position is shown at the start, after the hint and after the move was taken back.
    positions = [block for block in played.stdout.split("\n\n") if "·  ·  ·  ·  ·" in block]
    assert len(positions) == 3
    assert "nothing is recorded" in played.stdout


def test_the_others_hand_is_never_printed() -> None:
    played = piped(["1"] * 12, "beastybar", "--seats", "random,human", "--seed", "2")
    hands = [line for line in played.stdout.splitlines() if line.startswith("seat 0  hand")]
    assert len(hands) > 5
    assert all(" cards (+" in line for line in hands)


def test_words_that_name_no_move_are_answered_and_asked_again() -> None:
    played = piped(["castle", "", "9", "pass", "1", "1"], "kuhn", "--seats", "human,random")
    assert played.returncode == 0
    assert "'castle' is none of them" in played.stdout
    assert "the end" in played.stdout


def test_in_a_terminal_a_match_can_be_left() -> None:
    parent, child = pty.openpty()
    words = [*PLAY, "leduc", "--seats", "human,random", "--seed", "0"]
    with subprocess.Popen(words, stdin=child, stdout=child, stderr=child, close_fds=True) as run:
        os.close(child)
        os.write(parent, b"call\nq\n")
        output = b""
        while True:
            try:
                output += os.read(parent, 4096)
            except OSError:
                break
        assert run.wait() == 0
    os.close(parent)
    assert b"You are seat 0" in output
    assert b"The match was left" in output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["arena", "--seats", "human,random"], "goes on by the clock"),
        (["kuhn", "--seats", "human,human"], "2 persons sit in this match"),
        (["kuhn", "--seats", "human,random", "--matches", "5"], "without a human"),
        (["kuhn", "--seats", "human,random", "--handicap", "2"], "from 0 to 1"),
        (["kuhn", "--seats", "random,random", "--handicap", "0.5"], "seat one"),
        (["kuhn", "--seats", "human,nobody"], "nobody"),
    ],
)
def test_what_cannot_be_played_by_hand_is_said_in_a_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["play", *words]) != 0
    assert sentence in capsys.readouterr().err


def test_watch_shows_what_a_policy_would_have_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seats = ["--seats", "random,random", "--matches", "2", "--record", str(tmp_path)]
    assert main(["play", "beastybar", *seats]) == 0
    (file,) = tmp_path.glob("*.jsonl.gz")
    capsys.readouterr()
    assert main(["watch", str(file), "--policy", "champion:beastybar"]) == 0
    shown = capsys.readouterr().out
    bars = [line for line in shown.splitlines() if line.startswith("    ") and "% " in line]
    assert len(bars) > 24
    assert main(["watch", str(file), "--policy", "champion:arena"]) != 0
