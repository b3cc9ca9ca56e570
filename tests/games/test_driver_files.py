"""Python files on a machine that works for another one must be those that ran there."""

import hashlib
from pathlib import Path

import pytest

from lanista.errors import LanistaError, UnfitMachineError
from lanista.games import driver_files, registry
from lanista.games.bot_files import bot_from_file

GAME = "from lanista.games.small import KUHN\n"
BOT = """
from lanista.games import PythonBot

class First(PythonBot):
    def choose(self, view, legal, rng):
        return 0
"""


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(driver_files.FILES, raising=False)
    monkeypatch.setattr(driver_files, "_ran", {})
    return tmp_path


def told(monkeypatch, **files):
    environment = driver_files.environment_for({f"{name}.py": it for name, it in files.items()})
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def test_a_driver_knows_which_files_ran_and_the_last_of_their_bytes(here):
    Path("cards.py").write_text(GAME)
    registry.entry("cards.py")
    assert driver_files.ran_here() == {"cards.py": digest(GAME)}
    Path("cards.py").write_text(GAME + "#")
    registry.entry("cards.py:KUHN")
    assert driver_files.ran_here() == {"cards.py": digest(GAME + "#")}


def test_a_file_that_was_only_looked_at_did_not_run(here):
    Path("cards.py").write_text(GAME)
    registry.file_digest("cards.py")
    assert driver_files.ran_here() == {}


def test_who_works_for_a_driver_hands_its_files_on(here, monkeypatch):
    told(monkeypatch, cards=digest(GAME))
    assert driver_files.ran_here() == {"cards.py": digest(GAME)}


def test_the_drivers_own_file_runs_and_another_one_does_not(here, monkeypatch):
    Path("cards.py").write_text(GAME)
    told(monkeypatch, cards=digest(GAME))
    registry.entry("cards.py")
    mark = here / "ran"
    other = f"{GAME}open({str(mark)!r}, 'w')\n"
    Path("cards.py").write_text(other)
    with pytest.raises(UnfitMachineError) as refused:
        registry.entry("cards.py")
    sentence = str(refused.value)
    assert f"its cards.py has the SHA-256 {digest(other)[:12]}" in sentence
    assert sentence.endswith(f"and the driver's {digest(GAME)[:12]}; copy the driver's there.")
    assert not mark.exists()


def test_a_bots_file_is_compared_as_a_games(here, monkeypatch):
    spec = registry.spec_of("kuhn")
    Path("first.py").write_text(BOT)
    told(monkeypatch, first=digest(BOT + "#"))
    with pytest.raises(UnfitMachineError, match=r"its first\.py has the SHA-256"):
        bot_from_file("first.py", spec, 0)
    Path("first.py").unlink()
    with pytest.raises(UnfitMachineError, match=r"it has no file .*first\.py, which the driver"):
        bot_from_file("first.py", spec, 0)


def test_a_file_that_the_driver_did_not_run_is_nobodys_concern(here, monkeypatch):
    told(monkeypatch, other="0" * 64)
    Path("cards.py").write_text(GAME)
    registry.entry("cards.py")
    with pytest.raises(LanistaError, match="There is no game file") as missing:
        registry.entry("gone.py")
    assert not isinstance(missing.value, UnfitMachineError)


def test_the_first_file_that_is_missing_or_another_one_in_a_folder_is_told(here):
    (here / "cards.py").write_text(GAME)
    same, other = ({"cards.py": digest(text)} for text in (GAME, GAME + "#"))
    for files, words in ((same, ""), (other, "its cards.py has"), ({"no.py": "0"}, "has no file")):
        environment = driver_files.environment_for(files)
        assert words in driver_files.first_unlike(here, environment)
        assert bool(words) == bool(driver_files.first_unlike(here, environment))
    assert driver_files.existing([Path("cards.py"), Path("no.py")]) == same
