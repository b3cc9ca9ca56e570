"""What `resolve` takes and what it refuses."""

from itertools import product

import pytest

from lanista.games.beastybar.animals import NUMBER
from lanista.games.beastybar.puzzles import ENGINES, resolve
from lanista.games.beastybar.reference import Card, Rules, plays_of
from lanista.games.contract import GameError

ALL_OPTIONS = Rules(kangaroo_may_stay=True, parrot_may_decline=True, chameleon_may_decline=True)

WRONG = {
    "unknown animal in line": ({"line": ["hipo"], "card": "lion"}, "did you mean 'hippo'"),
    "unknown card": ({"line": [], "card": "bear"}, "no animal 'bear'"),
    "seat above three": ({"line": ["hippo:4"], "card": "lion"}, "seat from 0 to 3"),
    "seat that is no number": ({"line": [], "card": "lion:x"}, "seat from 0 to 3"),
    "empty seat": ({"line": [], "card": "lion:"}, "seat from 0 to 3"),
    "five in line": ({"line": ["seal"] * 5, "card": "lion"}, "at most four"),
    "line that is one word": ({"line": "seal", "card": "lion"}, "list of animals"),
    "animal that is no name": ({"line": [3], "card": "lion"}, "3 is not an animal"),
    "jump missing": ({"line": ["seal", "lion"], "card": "kangaroo"}, "missing; give 1, 2"),
    "jump over nobody": ({"line": ["seal", "lion"], "card": "kangaroo", "choice": 0}, "0 is not"),
    "jump too far": (
        {"line": ["seal"], "card": "kangaroo", "choice": 2},
        "2 is not possible; give 1",
    ),
    "target missing": ({"line": ["seal", "lion"], "card": "parrot"}, "missing; give 0, 1"),
    "target behind the line": (
        {"line": ["seal"], "card": "parrot", "choice": 1},
        "1 is not possible",
    ),
    "target before the Gate": ({"line": ["seal"], "card": "parrot", "choice": -1}, "-1 is not"),
    "target in an empty line": ({"line": [], "card": "parrot", "choice": 0}, "leave it out"),
    "choice for a hippo": ({"line": ["seal"], "card": "hippo", "choice": 0}, "leave it out"),
    "choice that is no number": (
        {"line": ["seal"], "card": "parrot", "choice": "0"},
        "whole number",
    ),
    "copying what is not there": (
        {"line": ["seal"], "card": "chameleon", "copy": "lion"},
        "not in",
    ),
    "copying a chameleon": (
        {"line": ["chameleon", "seal"], "card": "chameleon", "copy": "chameleon"},
        "cannot copy a chameleon",
    ),
    "copying an unknown animal": (
        {"line": ["seal"], "card": "chameleon", "copy": "bear"},
        "no animal",
    ),
    "copy left open": ({"line": ["seal", "lion"], "card": "chameleon"}, "can copy seal, lion"),
    "copy without a chameleon": (
        {"line": ["seal"], "card": "lion", "copy": "seal"},
        "only a chameleon",
    ),
    "jump of a chameleon missing": (
        {"line": ["seal", "kangaroo"], "card": "chameleon", "copy": "kangaroo"},
        "missing; give 1, 2",
    ),
    "unknown engine": ({"line": [], "card": "lion", "engine": "fast"}, "no engine 'fast'"),
}


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("case", WRONG)
def test_wrong_puzzle_is_refused_in_one_sentence(case, engine):
    arguments, words = WRONG[case]
    with pytest.raises(GameError) as error:
        resolve(**{"engine": engine, **arguments})
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_what_has_one_possibility_may_be_left_out(engine):
    assert resolve(["lion"], "kangaroo", engine=engine)[0] == ["kangaroo", "lion"]
    assert resolve(["lion"], "parrot", engine=engine) == (["parrot"], [], ["lion"])
    assert resolve(["lion"], "chameleon:1", engine=engine) == (["lion"], [], ["chameleon:1"])
    assert resolve([], "kangaroo", choice=0, engine=engine)[0] == ["kangaroo"]


def test_the_first_seat_has_no_suffix_and_the_line_given_stays_as_it_was():
    line = ["seal:0", "skunk:3"]
    assert resolve(line, "hippo:0", engine="reference")[0] == ["hippo", "seal", "skunk:3"]
    assert line == ["seal:0", "skunk:3"]


def disagreements(length):
    """Yield each play on each line of `length` that the two engines resolve differently."""
    for species in product(range(12), repeat=length):
        # Owners tell animals of one species apart.
        line = [(index, seat) for seat, index in enumerate(species)]
        cards = [Card(*animal) for animal in line]
        for played, owner in product(range(12), (0, 3)):
            for play in plays_of(cards, played, ALL_OPTIONS):
                turn = line, (played, owner), NUMBER[play]
                if ENGINES["compiled"](*turn) != ENGINES["reference"](*turn):
                    yield line, owner, play.label


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_engines_agree_on_every_play_on_every_short_line(length):
    assert list(disagreements(length)) == []


@pytest.mark.slow
def test_engines_agree_on_every_play_on_every_line_of_four():
    assert list(disagreements(4)) == []
