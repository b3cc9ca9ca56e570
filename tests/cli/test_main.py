"""The command line itself: help, versions, errors in one line, exit codes."""

import os
import subprocess
import sys

import pytest

from lanista import __version__
from lanista.cli import main as cli
from lanista.errors import LanistaError, RefusedError


def raising(error):
    class Command:
        def run(self):
            raise error

    return lambda arguments: Command()


@pytest.mark.parametrize("module", ["lanista", "lanista.cli.main"])
def test_the_package_runs_as_a_module(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"lanista {__version__}\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [(LanistaError("The thing is 3; give 2."), 2), (RefusedError("The thing is 3; give 2."), 3)],
)
def test_an_error_is_one_line_and_its_own_exit_code(error, code, monkeypatch, capsys):
    monkeypatch.setattr(cli, "parse", raising(error))
    assert cli.main([]) == code
    printed = capsys.readouterr()
    assert printed.err == "lanista: The thing is 3; give 2.\n"
    assert printed.out == ""


def test_a_sentence_of_several_lines_is_printed_as_one(monkeypatch, capsys):
    monkeypatch.setattr(cli, "parse", raising(LanistaError("Two\n  lines.")))
    cli.main([])
    assert capsys.readouterr().err == "lanista: Two lines.\n"


def test_an_unexpected_error_is_one_line_that_points_to_the_trace(monkeypatch, capsys):
    monkeypatch.setattr(cli, "parse", raising(ZeroDivisionError("by nothing")))
    assert cli.main(["play"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "ZeroDivisionError: by nothing" in error
    assert "--debug" in error


@pytest.mark.parametrize("arguments", [["--debug", "play"], ["play", "--debug"]])
def test_debug_anywhere_shows_the_trace(arguments, monkeypatch, capsys):
    monkeypatch.setattr(cli, "parse", raising(LanistaError("No.")))
    assert cli.main(arguments) == 2
    error = capsys.readouterr().err
    assert "Traceback" in error
    assert error.endswith("lanista: No.\n")


def test_an_interrupt_ends_with_130_and_no_trace(monkeypatch, capsys):
    monkeypatch.setattr(cli, "parse", raising(KeyboardInterrupt()))
    assert cli.main([]) == 130
    assert capsys.readouterr().err == "lanista: interrupted.\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "No command was given; name one of games, play,"),
        ("nonsense", "There is no command 'nonsense'; known: check, "),
        ("paly kuhn", "There is no command 'paly'; did you mean 'play'?"),
        ("play", "GAME is missing; see `lanista play --help`."),
        ("watch", "FILE is missing; see `lanista watch --help`."),
        ("play kuhn --seatz a,b", "There is no option --seatz here; did you mean '--seats'?"),
        ("play kuhn --mathces=3", "There is no option --mathces here; did you mean '--matches'?"),
        # Of another command, which is no remedy here.
        (
            "games --matches 5",
            "There is no option --matches here; known: --debug, --help, --trust; see",
        ),
        ("play kuhn --matches abc", "--matches is 'abc'; give a whole number; see"),
        ("play kuhn --seed 1.5", "--seed is '1.5'; give a whole number; see"),
        ("watch x --delay soon", "--delay is 'soon'; give a number; see"),
        ("play kuhn --matches", "--matches needs a value; see"),
        ("exploit a --output b --unit wins", "--unit is 'wins'; give score or gain; see"),
        (
            "exploit a --output b --launcher fibres",
            "--launcher is 'fibres'; known: processes, ray, ray-threads, serial, threads.",
        ),
        ("rl --output b --size xxl", "--size is 'xxl'; give s, m, l or xl; see"),
        ("config frob", "ACTION is 'frob'; give new, diff or import; see"),
        ("play kuhn extra", "'extra' is one word too many; see"),
    ],
)
def test_a_line_that_cannot_be_read_is_one_sentence(line, said, capsys):
    assert cli.main(line.split()) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"lanista: {said}")
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_a_file_that_cannot_be_used_is_a_sentence_without_python_in_it(monkeypatch, capsys):
    error = PermissionError(13, "Permission denied", "there/x")
    monkeypatch.setattr(cli, "parse", raising(error))
    assert cli.main(["play"]) == 1
    assert capsys.readouterr().err == "lanista: there/x cannot be used: permission denied.\n"


def run(*words, **given):
    return subprocess.run([sys.executable, "-m", "lanista", *words], **given)


@pytest.mark.parametrize("words", [["--help"], ["games", "kuhn"]])
def test_a_terminal_without_these_letters_gets_others(words):
    done = run(*words, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


def test_closed_streams_are_no_complaint():
    play = f"{sys.executable} -m lanista play kuhn --seats random,random --matches 2"
    assert subprocess.run(f"{play} >&- 2>&-", shell=True).returncode == 0


@pytest.mark.parametrize(
    "words",
    [["games", "kuhn"], ["--version"], ["play", "kuhn", "--seats", "random,random"]],
)
def test_a_closed_pipe_is_no_complaint(words):
    reader, writer = os.pipe()
    os.close(reader)
    done = run(*words, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == cli.PIPE_CLOSED
