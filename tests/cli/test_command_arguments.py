"""What commands take, read from their annotations, is what the parser takes."""

import re

import pytest

from lanista.cli import main as cli
from lanista.cli import usage
from lanista.cli.arguments import Argument, arguments_of
from lanista.cli.commands import every_command
from lanista.cli.unreadable import reason


@pytest.mark.parametrize("name", [name for name, _ in every_command()])
def test_the_flags_are_those_of_the_help(name, capsys):
    with pytest.raises(SystemExit):
        cli.main([*name.split(), "--help"])
    listed = re.findall(r"^\W*(?:-h, )?(--[a-z][a-z.-]*)", capsys.readouterr().out, re.MULTILINE)
    flags = [argument.name for argument in arguments_of(entry(name)) if argument.is_flag]
    assert len(flags) == len(set(flags))
    assert {*flags, "--help"} == set(listed)


def entry(name):
    return dict(every_command())[name].load()


def test_places_switches_choices_and_lists_are_told_apart():
    config = {argument.name: argument for argument in arguments_of(entry("config"))}
    assert config["ACTION"] == Argument("ACTION", str, ("new", "diff", "import"), required=True)
    assert config["NAME"].many
    assert config["--done"].kind is int
    rl = {argument.name: argument for argument in arguments_of(entry("rl"))}
    assert rl["--size"].choices == ("s", "m", "l", "xl")
    assert rl["--output"].required
    assert rl["--set"].many
    assert not rl["--resume"].takes_value
    assert rl["--kl-coef"].kind is float
    imitate = {argument.name: argument for argument in arguments_of(entry("imitate"))}
    assert imitate["--epochs"].kind is int
    assert imitate["--network.size"].choices == ("s", "m", "l", "xl")


TAKES = [
    Argument("GAME", str, required=True),
    Argument("--matches", int),
    Argument("--set", str, many=True),
    Argument("--unit", str, ("score", "gain")),
    Argument("--share", float),
    Argument("--greedy", bool),
    Argument("--output", str, required=True),
]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("kuhn --output x", ""),
        ("kuhn --output x --set a=1 b=2 --greedy --share -0.5", ""),
        ("kuhn --output x --greedy=yes", "--greedy takes no value, and was given 'yes'"),
        ("--output x", "GAME is missing"),
        ("kuhn", "--output is missing"),
        ("kuhn --output", "--output needs a value"),
        ("kuhn --output --greedy", "--output needs a value"),
        ("kuhn leduc --output x", "'leduc' is one word too many"),
        ("kuhn --greedy leduc", "'leduc' is one word too many"),
        ("kuhn --matches=ten", "--matches is 'ten'; give a whole number"),
        ("kuhn --share some", "--share is 'some'; give a number"),
        ("kuhn --unit wins", "--unit is 'wins'; give score or gain"),
        ("kuhn --untied", "There is no option --untied here; did you mean '--unit'?"),
    ],
)
def test_a_line_is_refused_for_its_first_fault(line, sentence):
    assert reason(line.split(), TAKES) == sentence


def test_what_only_the_parser_refuses_is_told_in_its_words_without_their_frame():
    box = "╭─ Odd ─────╮\n│ It is odd. │\n╰───────────╯"
    sentence = usage._sentence(dict(every_command())["play"], ["kuhn"], "lanista play", box)
    assert sentence == "Odd It is odd; see `lanista play --help`."
