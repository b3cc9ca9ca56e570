"""An exception is blamed on the user's own file: the hook, and the last line in that file."""

from __future__ import annotations

import json
import site
import sys
import sysconfig
from pathlib import Path

import pytest

from lanista.games import Facts, PythonGame, View, blame
from lanista.games.blame import place_of


class Fails(PythonGame):
    facts = Facts(seats=1, longest=2)
    observation = 1
    moves = 2

    def deal(self, rng):
        return self.deeper()

    def deeper(self):
        return json.loads("{")

    def view(self, state, seat):
        return View([0], [0])


def line_of(text):
    lines = Path(__file__).read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.strip() == text)


def test_the_hook_is_named_with_the_last_line_of_its_file():
    with pytest.raises(json.JSONDecodeError) as raised:
        Fails(1, 0).start([0], [0])
    line = line_of('return json.loads("{")')
    assert place_of(raised.value) == f"test_blame.py, line {line}, in deal"


def test_an_error_without_a_call_of_ours_is_nobodys():
    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads("{")
    assert place_of(raised.value) == ""
    assert place_of(ValueError("never raised")) == ""


def test_what_is_installed_with_python_is_not_the_users():
    for kept in (blame._package, blame._installed, blame._is_installed):
        kept.cache_clear()
    package = Path(blame.__file__).parents[1]
    places = [
        package / "games" / "lift.py",
        *(Path(sysconfig.get_path(name)) / "some.py" for name in ("stdlib", "purelib", "platlib")),
        *(Path(place) / "some.py" for place in site.getsitepackages()),
        Path(site.getusersitepackages()) / "some.py",
        Path(sys.base_prefix) / "lib" / "any" / "some.py",
    ]
    for path in places:
        assert blame._is_installed(str(path)), path
    assert blame._is_installed("<frozen importlib>")
    assert not blame._is_installed(str(Path(__file__)))
    assert not blame._is_installed("/elsewhere/my_game.py")
    assert blame._is_ours(str(package / "games" / "lift.py"))
    assert not blame._is_ours(str(package.parent / "other.py"))
