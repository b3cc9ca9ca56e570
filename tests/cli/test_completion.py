"""Completion scripts, run by real shells; zsh and fish where they are installed."""

import shutil
import subprocess

import pytest

from lanista.cli import main as cli
from lanista.cli.arguments import Argument
from lanista.cli.commands import COMMANDS
from lanista.cli.tools.completion_scripts import values_of

SIZES = ["s", "m", "l", "xl"]
# A line, and what may stand for its last word.
LINES = [
    ([""], list(COMMANDS)),
    (["re"], ["replay", "report"]),
    (["--debug", "pl"], ["play"]),
    (["policy", "r"], ["rollback", "ready"]),
    (["frob", ""], []),
    (["play", "ku"], ["kuhn"]),
    (["play", "kuhn", "--mat"], ["--matches"]),
    (["play", "kuhn", "le"], []),
    (["play", "--greedy", "ku"], ["kuhn"]),
    (["play", "--seed", "3", "ku"], ["kuhn"]),
    (["play", "--set", "a=1", "ku"], []),
    (["rl", "--game", "led"], ["leduc"]),
    (["rl", "--size", ""], SIZES),
    (["exploit", "--launcher", "t"], ["threads"]),
    (["rl", "--config", "kuhn"], ["kuhn-ppo"]),
    (["run", "beastybar-q"], ["beastybar-quick"]),
    (["config", "d"], ["diff"]),
    (["config", "new", "kuhn"], ["kuhn-ppo"]),
    (["imitate", "--network.k"], ["--network.kind"]),
    (["showdown", "play", "--no"], ["--no-timer"]),
    (["completion", ""], ["bash", "zsh", "fish"]),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    with pytest.MonkeyPatch.context() as patch:
        for shell in ("bash", "zsh", "fish"):
            with (folder / shell).open("w") as file:
                patch.setattr("sys.stdout", file)
                assert cli.main(["completion", shell]) == 0
    return folder


def shell(name, program, *words):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
    done = subprocess.run(
        [name, *options, "-c", program, *words], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


def completed_by_bash(scripts, words):
    program = (
        f"source {scripts / 'bash'}\n"
        'COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))\n'
        "_lanista\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    return shell("bash", program, "bash", "lanista", *words)


@pytest.mark.parametrize(("words", "offered"), LINES)
def test_bash_offers_commands_flags_and_values(words, offered, scripts):
    assert completed_by_bash(scripts, words) == offered


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["rl", "--size", "=", ""], SIZES),  # So bash cuts --size= up,
        (["rl", "--size", "="], SIZES),
        (["rl", "--size", "=", "x"], ["xl"]),
        (["rl", "--size=x"], ["--size=xl"]),  # unless = is taken out of COMP_WORDBREAKS.
        (["rl", "--$(echo size)=x"], []),
    ],
)
def test_bash_completes_after_an_equals_sign(words, offered, scripts):
    assert completed_by_bash(scripts, words) == offered


def test_bash_has_the_function_registered_and_falls_back_to_files(scripts):
    registered = shell("bash", f"source {scripts / 'bash'}; complete -p lanista")
    assert registered == ["complete", "-o", "default", "-F", "_lanista", "lanista"]


@pytest.mark.parametrize(("words", "offered"), LINES)
def test_zsh_offers_the_same(words, offered, scripts):
    program = (
        f"compdef() {{ :; }}\nsource {scripts / 'zsh'}\n"
        '_lanista_candidates "${@[-1]}" "${@[1,-2]}"\n'
    )
    offers = shell("zsh", program, "zsh", *words)
    assert [word for word in offers if word.startswith(words[-1])] == offered


@pytest.mark.parametrize(("words", "offered"), LINES)
def test_fish_offers_them_too(words, offered, scripts):
    line = " ".join(["lanista", *words])
    lines = shell(
        "fish", f"source {scripts / 'fish'}; complete -C '{line}' | string split -f1 \\t; true"
    )
    # Fish offers values of any place of a command, files, and sorts.
    assert set(offered) <= set(lines)


def test_names_that_a_shell_would_expand_are_not_offered():
    argument = Argument("--game", str, suggests="games")
    names = {"games": ["kuhn", "$(reboot)", "a b", "-x", "open_spiel", "`x`", "x;y"]}
    assert values_of(argument, names) == ["kuhn", "open_spiel"]
