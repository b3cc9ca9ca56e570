"""`lanista exact`: NashConv where it can be computed, a sentence where it cannot."""

import json
import re
from dataclasses import replace

import pytest
import torch

from lanista.cli.common import progress
from lanista.cli.main import main
from lanista.games import registry
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

pytest.importorskip("pyspiel")


def saved(path, game, network=None):
    """Save a policy that chooses everything legal alike."""
    spec = registry.make(game).spec
    policy = Policy(spec, network or Network(width=8, layers=1))
    torch.nn.init.zeros_(policy.head.weight)
    save_policy(path, policy, spec)
    return str(path)


# Uniform play of Kuhn poker: 11/12 (by hand, over six deals). Of rock, paper, scissors it is the
# equilibrium; against paper twice as often as the others, seats would gain by scissors.
@pytest.mark.parametrize(
    ("game", "value"), [("kuhn", 11 / 12), ("openspiel:matrix_rps", 0), ("openspiel:matrix_mp", 0)]
)
def test_a_policys_nashconv_is_printed(tmp_path, capsys, game, value):
    assert main(["exact", saved(tmp_path / "p", game)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{game}: {tmp_path / 'p'} (")
    shown, uniform = re.fullmatch(
        r"NashConv (\S+); 0 is an equilibrium, uniform play has (\S+)", second
    ).groups()
    assert float(shown) == pytest.approx(value, abs=1e-5)
    assert float(uniform) == pytest.approx(value, abs=1e-5)


def test_seats_that_move_at_once_gain_against_play_that_leans(tmp_path, capsys):
    spec = registry.make("openspiel:matrix_rps").spec
    policy = Policy(spec, Network(width=8, layers=1))
    torch.nn.init.zeros_(policy.head.weight)
    policy.head.bias.data = torch.log(torch.tensor([0.25, 0.5, 0.25]))
    save_policy(tmp_path / "p", policy, spec)
    assert main(["exact", str(tmp_path / "p")]) == 0
    # Scissors wins 0.5 and loses 0.25 of the matches, in either seat.
    assert "NashConv 0.5; " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["still", "--game", "arena"], "still cannot tell the probability of every choice"),
        (["random", "--game", "arena"],
         "arena has no exact NashConv: its seats choose at once, or several things in one"),
        (["random", "--game", "openspiel:backgammon"], "the solver needs information-state"),
    ],
)  # fmt: skip
def test_where_it_cannot_be_had_a_sentence_names_what_can(capsys, words, reason):
    assert main(["exact", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert reason in error
    assert "`lanista exploit` learns a best response" in error


def test_a_policy_with_memory_has_none(tmp_path, capsys):
    network = replace(Network(width=8, layers=1), kind="lstm")
    assert main(["exact", saved(tmp_path / "p", "kuhn", network)]) == 2
    assert "cannot tell the probability of every choice" in capsys.readouterr().err


HEX = "openspiel:dark_hex(num_rows=2,num_cols=3)"


def measured(capsys, *words):
    """Return the NashConv of uniform play that the command prints for a board."""
    assert main(["exact", "random", "--game", HEX, *map(str, words)]) == 0
    return float(re.search(r"NashConv (\S+); 0", capsys.readouterr().out)[1])


def change(path, new):
    """Write another value in place of each that is kept, by its number."""
    content = json.loads(path.read_text())
    content["values"] = {
        key: [new(number, value) for number, value in enumerate(values)]
        for key, values in content["values"].items()
    }
    path.write_text(json.dumps(content))


def test_what_is_kept_is_gone_on_from(tmp_path, capsys):
    path = tmp_path / "kept.json"
    value = measured(capsys, "--keep", path)
    assert value == measured(capsys)
    kept = path.read_text()
    # Half of it is missing, as after a kill: the rest is worked out.
    change(path, lambda number, value: value if number % 2 else None)
    assert measured(capsys, "--keep", path) == value
    assert path.read_text() == kept
    # What is kept is not worked out again: with other values there the sum is another.
    change(path, lambda number, value: value + 0.01)
    assert abs(measured(capsys, "--keep", path) - value) > 1e-3


def test_what_keeps_something_else_is_refused(tmp_path, capsys):
    path = tmp_path / "kept.json"
    path.write_text("{}")
    assert main(["exact", "random", "--game", HEX, "--keep", str(path)]) != 0
    assert "kept.json" in capsys.readouterr().err
    assert path.read_text() == "{}"


def test_a_long_measure_says_how_far_it_is(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.0)
    assert main(["exact", "random", "--game", HEX]) == 0
    lines = capsys.readouterr().err.splitlines()
    for seat in range(2):
        told = [
            re.fullmatch(rf"best response to seat {seat}, pieces: (\S+) of (\S+)", line)
            for line in lines
        ]
        last = [words for words in told if words][-1]
        assert last[1] == last[2]
