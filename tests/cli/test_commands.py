"""The table of commands and its overview: complete, short, and made without importing a command."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lanista.cli import commands as table
from lanista.cli import main as cli
from lanista.cli.commands import FAMILIES, Group, every_command
from lanista.cli.overview import WIDTH, overview, overview_of

CLI = Path(table.__file__).parent
NAMES = [name for name, _ in every_command()]


def imported_by(*words):
    """Return which modules a child has imported once the command line has answered."""
    program = (
        "import sys\n"
        "from lanista.cli.main import main\n"
        f"try:\n    main({list(words)!r})\n"
        "except SystemExit as end:\n    assert end.code == 0, end.code\n"
        "print('imported:', *sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("imported: ")[2].split())


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["showdown", "--help"]])
def test_the_overview_imports_no_command(words):
    modules = imported_by(*words)
    assert "lanista.cli.overview" in modules
    assert not modules & {"tyro", "rich", "numpy", "torch", "yaml", "lanista.files"}
    families = {f"lanista.cli.{folder}" for folder in folders()}
    assert not {name for name in modules if name.rpartition(".")[0] in families}
    assert not {name for name in modules if name.startswith("lanista.games")}


@pytest.mark.parametrize(("words", "own"), [("play --help", "play.play"), ("rl -h", "train.rl")])
def test_help_of_a_command_imports_that_command_alone(words, own):
    loaded = {name.removeprefix("lanista.cli.") for name in imported_by(*words.split())}
    commands = {entry.place.partition(":")[0] for _, entry in every_command()}
    assert loaded & commands == {own}
    assert not loaded & {"numpy", "torch", "yaml"}


def folders():
    return {path.parent.name for path in CLI.glob("*/__init__.py")} - {"common"}


def test_families_are_the_folders_in_which_their_commands_lie():
    assert len(FAMILIES) == len(folders()) == 6
    for family in FAMILIES.values():
        places = {entry.place.partition(".")[0] for _, entry in every_command(family)}
        assert len(places) == 1
        assert places <= folders()


def test_the_overview_has_a_line_for_every_command():
    lines = overview().splitlines()
    for name, entry in every_command():
        assert [line for line in lines if re.fullmatch(rf"  {name} +{entry.summary}", line)], name
    for title in FAMILIES:
        assert title in lines
    assert "--debug" in overview()
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize("name", ["policy", "showdown"])
def test_a_group_has_an_overview_of_its_own(name, capsys):
    group = table.COMMANDS[name]
    assert isinstance(group, Group)
    with pytest.raises(SystemExit) as end:
        cli.main([name, "--help"])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert printed == overview_of(name, group) + "\n"
    assert all(f"  {verb} " in printed for verb in group.commands)
    assert max(map(len, printed.splitlines())) <= WIDTH


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help(name, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([*name.split(), "--help"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: lanista {name} [-h]")
