"""The user's list of what may run: where it lies, what is written and what is believed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lanista.errors import RefusedError
from lanista.games import trust, trusted_names

DIGEST = trust.sha256(b"print(1)")


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """Return the path of a list of this test's own; the guard is a fresh one."""
    path = tmp_path / "state" / "deep" / "trusted.txt"
    monkeypatch.setenv(trust.LIST, str(path))
    monkeypatch.setattr(trust, "_guard", trust._Guard())
    monkeypatch.delenv(trust.VOUCHED, raising=False)
    return path


def test_what_is_remembered_is_written_once_to_a_file_of_the_users_alone(listed):
    trust.remember(DIGEST, "game\n\u00e9.py")
    trust.remember(DIGEST, "again.py")
    assert listed.read_text() == f"{DIGEST} game??.py\n"
    assert stat.S_IMODE(listed.stat().st_mode) == 0o600
    assert stat.S_IMODE(listed.parent.stat().st_mode) == 0o700
    other = trust.sha256(b"print(2)")
    trust.remember(other, "x" * 600)
    assert listed.read_text().splitlines()[1] == f"{other} {'x' * 500}"


def test_only_whole_digests_of_the_list_are_believed(listed):
    listed.parent.mkdir(parents=True)
    assert not trust._listed(DIGEST)
    for line, believed in (
        (DIGEST, True),
        (f"{DIGEST} note", True),
        (f"{DIGEST}0", False),
        (f" {DIGEST}", False),
        (DIGEST[:-1], False),
    ):
        listed.write_text(f"{'0' * 64} other\n{line}\n")
        listed.chmod(0o600)
        assert trust._listed(DIGEST) is believed, line


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_list_that_others_can_write_is_refused(listed, mode):
    listed.parent.mkdir(parents=True)
    listed.write_text(f"{DIGEST}\n")
    listed.chmod(mode)
    with pytest.raises(RefusedError, match="others than you can write it"):
        trust._listed(DIGEST)
    listed.chmod(0o644)
    assert trust._listed(DIGEST)


def test_a_list_that_cannot_be_written_is_told(listed, capsys):
    listed.parent.mkdir(parents=True)
    listed.symlink_to(listed.parent / "elsewhere")
    trust.remember(DIGEST, "game.py")
    assert "cannot be written" in capsys.readouterr().err
    assert not (listed.parent / "elsewhere").exists()
    assert DIGEST in trust._guard.vouched


def test_the_list_lies_in_the_users_state_unless_named(monkeypatch, tmp_path):
    monkeypatch.setenv(trust.LIST, str(tmp_path / "mine.txt"))
    assert trust.list_path() == tmp_path / "mine.txt"
    monkeypatch.delenv(trust.LIST)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert trust.list_path() == tmp_path / "state" / "lanista" / "trusted.txt"
    monkeypatch.setenv("XDG_STATE_HOME", "")
    assert trust.list_path() == Path.home() / ".local" / "state" / "lanista" / "trusted.txt"


def test_a_library_runs_files_it_names_and_asks_for_those_of_a_folder(listed):
    trust.refuse_python(Path("game.py"), b"print(1)")
    assert not listed.exists()
    with pytest.raises(RefusedError, match=f"game.py is a Python file, SHA-256 {DIGEST[:12]}"):
        trust.refuse_python(Path("game.py"), b"print(1)", foreign=True)
    trust.remember(DIGEST, "game.py")
    trust.refuse_python(Path("game.py"), b"print(1)", foreign=True)


def test_a_library_asks_for_the_game_file_that_a_runs_folder_names(listed, tmp_path):
    path = tmp_path / "game.py"
    path.write_text("print(1)")
    for wanted in (None, trust.sha256(path.read_bytes())):
        with pytest.raises(RefusedError, match="you have not run it here before"):
            trusted_names.refuse_foreign(str(path), wanted, "The run")
    with pytest.raises(RefusedError, match="The run was begun with a game file of the SHA-256 000"):
        trusted_names.refuse_foreign(str(path), "0" * 64, "The run")
    trusted_names.refuse_foreign("kuhn", None, "The run")
    trust.remember(trust.sha256(path.read_bytes()), str(path))
    trusted_names.refuse_foreign(str(path), None, "The run")


def test_a_command_runs_what_its_words_name_and_remembers_it(listed, tmp_path):
    game, bot, other = tmp_path / "game.py", tmp_path / "bot.py", tmp_path / "other.py"
    for number, path in enumerate((game, bot, other)):
        path.write_text(f"print({number})")
    words = ["play", str(game), f"--seats=[{bot}:Bot,random]", f"{other}c"]
    with trust.guarding(words):
        assert trust._guard.on
        for path in (game, bot):
            trust.refuse_python(path, path.read_bytes())
        with pytest.raises(RefusedError):
            trust.refuse_python(other, other.read_bytes())
        told = os.environ[trust.VOUCHED].split()
        assert told == sorted(trust.sha256(path.read_bytes()) for path in (game, bot))
    assert trust.VOUCHED not in os.environ
    assert not trust._guard.on
    assert len(listed.read_text().splitlines()) == 2
    # Allowed before, so that nobody has to name it again.
    with trust.guarding(["play"]):
        trust.refuse_python(game, game.read_bytes())


def test_trust_lets_everything_run_says_so_and_is_handed_on(listed, capsys):
    with trust.guarding(["play"], trusting=True):
        assert trust.is_trusting()
        trust.refuse_python(Path("game.py"), b"print(1)")
        assert capsys.readouterr().err == (
            f"lanista: game.py, SHA-256 {DIGEST}, is run as --trust says.\n"
        )
        assert os.environ[trust.VOUCHED].split() == ["--trust", DIGEST]
        inherited = trust._inherited()
        assert (inherited.on, inherited.trusting, inherited.vouched) == (True, True, {DIGEST})
        with trust.guarding(["inner"]):
            assert trust.is_trusting()
        assert os.environ[trust.VOUCHED].split() == ["--trust", DIGEST]
    assert not trust.is_trusting()


def test_a_process_that_was_told_nothing_guards_nothing(listed, monkeypatch):
    assert trust._inherited() == trust._Guard(False, False, (), set())
    monkeypatch.setenv(trust.VOUCHED, f"short {DIGEST}")
    assert trust._inherited() == trust._Guard(True, False, (), {DIGEST})


def test_a_word_is_allowed_if_typed_remembered_or_trusted(listed):
    trust.refuse_word("openspiel:file", "unguarded")
    with trust.guarding(["--game=openspiel:file"]):
        assert trust.word_allowed("openspiel:file")
        assert not trust.word_allowed("openspiel:other")
        with pytest.raises(RefusedError, match="It names a file; give it yourself"):
            trust.refuse_word("openspiel:other", "It names a file")
        trust.refuse_word("openspiel:file", "It names a file")
    with trust.guarding(["play"]):
        assert trust.word_allowed("openspiel:file"), "remembered in the list"
        trust.remember_word("openspiel:third")
        assert trust.word_allowed("openspiel:third")
        assert trust._of_word("openspiel:third") in os.environ[trust.VOUCHED]
    with trust.guarding(["play"], trusting=True):
        assert trust.word_allowed("openspiel:other")
    with trust.guarding(["play"]):
        assert trust.word_allowed("openspiel:other")
