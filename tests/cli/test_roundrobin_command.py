"""`lanista roundrobin` and `lanista check`."""

import json

import pytest

from lanista.cli.main import main
from lanista.evaluation import roundrobin


def test_the_cross_table_is_printed_with_the_first_seat_and_what_it_could_show(capsys):
    arguments = ["--bots", "random,heuristic,skunk", "--matches", "40"]
    assert main(["roundrobin", "beastybar", *arguments, "--differences"]) == 0
    text = capsys.readouterr().out
    assert "40 matches a pair, half in either seat on the same deals" in text
    assert "first seat: scores 0." in text
    assert "smallest difference a pair could show: 0." in text
    assert "choose differently" in text
    for name in ("random", "heuristic", "skunk"):
        assert text.count(f"  {name} ") == 2  # Once in each table.


def test_more_than_two_seats_are_refused_with_what_measures_them(capsys):
    words = ["--bots", "random,heuristic", "--matches", "6", "--set", "seats=3"]
    assert main(["roundrobin", "beastybar", *words]) == 2
    assert "have two seats, and seats=3 was set; use `lanista evaluate" in capsys.readouterr().err


def test_all_bots_of_the_game_meet_unless_some_are_named(tmp_path):
    path = tmp_path / "table.json"
    assert main(["roundrobin", "arena", "--matches", "2", "--json", str(path),
                 "--set", "duration=2.0"]) == 0  # fmt: skip
    found = json.loads(path.read_text())
    assert sorted(found["names"]) == ["kiter", "random", "rusher", "scavenger", "still", "zoner"]
    assert found["pairs_played"] == found["pairs"] == 15


def test_threads_change_no_number(tmp_path):
    found = []
    for threads in ("1", "2"):
        path = tmp_path / f"{threads}.json"
        arguments = ["--bots", "random,heuristic,skunk", "--matches", "20", "--threads", threads]
        assert main(["roundrobin", "beastybar", *arguments, "--json", str(path)]) == 0
        value = json.loads(path.read_text())
        found.append({key: value[key] for key in value if not key.endswith("_seconds")})
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("kuhn",), "needs two bots, and kuhn has random"),
        (("kuhn", "--bots", "random"), "needs two bots"),
        (("kuhn", "--bots", "random,random", "--matches", "0"), "--matches is 0"),
        (("beastybar", "--set", "seats=3"), "have two seats, and seats=3 was set"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_sentence(arguments, sentence, capsys):
    assert main(["roundrobin", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_an_interrupt_prints_the_pairs_that_are_complete(monkeypatch, capsys):
    played = []

    def interrupted(*arguments, **settings):
        if len(played) == 2:
            raise KeyboardInterrupt
        played.append(play(*arguments, **settings))
        return played[-1]

    play = roundrobin.play
    monkeypatch.setattr(roundrobin, "play", interrupted)
    arguments = ["--bots", "random,heuristic,skunk", "--matches", "20"]
    assert main(["roundrobin", "beastybar", *arguments]) == 130
    text = capsys.readouterr().out
    assert "Interrupted: 2 of 3 pairs are complete." in text
    assert "—" in text  # The third is unknown, not zero.


def test_check_prints_every_check_and_passes_a_sound_game(capsys):
    assert main(["check", "kuhn"]) == 0
    text = capsys.readouterr().out
    assert "determinism" in text
    assert "kuhn: obeys the contract." in text


def test_check_fails_a_game_that_breaks_its_contract(tmp_path, capsys):
    path = tmp_path / "crooked.py"
    path.write_text(
        "from lanista.games import Facts, PythonGame, View\n"
        "class Crooked(PythonGame):\n"
        "    '''Says it is zero-sum, and pays both.'''\n"
        "    facts = Facts(seats=2, longest=1, zero_sum=True)\n"
        "    observation, moves = 1, 2\n"
        "    def deal(self, rng): return {}\n"
        "    def view(self, state, seat): return View([0], [0, 1]) if seat == 0 else None\n"
        "    def apply(self, state, moves, rng): return [1, 1]\n"
    )
    assert main(["check", str(path)]) == 1
    text = capsys.readouterr().out
    assert "failed" in text
    assert "checks failed." in text
