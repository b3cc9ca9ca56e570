"""What commands take, read from their annotations, is what the parser takes."""

import re
from dataclasses import fields, is_dataclass
from typing import get_args, get_type_hints

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


def shown_numbers(command):
    """Yield a field's name, the default that its help shows, and the one it has."""
    hints = get_type_hints(command, include_extras=True)
    for field in fields(command):
        marks = getattr(hints[field.name], "__metadata__", ())
        inner = get_args(hints[field.name])[0] if marks else hints[field.name]
        if is_dataclass(inner):
            yield from shown_numbers(inner)
        for mark in marks:
            hint = getattr(mark, "help_behavior_hint", None) or ""
            if getattr(mark, "metavar", None) == "N" and hint.startswith("(default"):
                yield field.name, float(hint[10:-1].replace(",", "")), field.default


def test_every_number_shows_the_default_that_it_has():
    shown = [
        (name, *row) for name, command in every_command() for row in shown_numbers(command.load())
    ]
    assert len(shown) > 40
    assert [row for row in shown if row[2] != row[3]] == []


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
