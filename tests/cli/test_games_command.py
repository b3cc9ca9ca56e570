"""`lanista games`: what is there, what is missing, and why."""

import pytest

from lanista.cli.main import main
from lanista.cli.play import games
from lanista.games import registry
from lanista.games.adapters import missing_extra


def paragraph_of(name, text):
    return text[text.index(f"\n{name}" if not text.startswith(name) else name) :].split("\n\n")[0]


def test_every_game_is_listed_with_facts_settings_and_bots(capsys):
    assert main(["games"]) == 0
    text = capsys.readouterr().out
    for name in registry.names():
        assert f"{name}\n" in text or f"{name}:NAME\n" in text
    beasty = paragraph_of("beastybar", text)
    assert "2 seats · hidden information · chance · zero-sum · turn-based" in beasty
    assert "seats=2 (2, 3, 4)" in beasty
    assert "random, heuristic" in beasty


def test_a_missing_bot_is_named_with_its_reason(capsys, tmp_path):
    file = tmp_path / "waits.py"
    file.write_text(
        "from lanista.games.registry import Entry, entry\n"
        "bots = {'later': 'it needs a teacher.'}\n"
        "WAITS = Entry('waits', entry('kuhn').make, missing_bots=bots)\n"
    )
    main(["games", str(file)])
    assert "missing   later: it needs a teacher." in capsys.readouterr().out


def test_one_game_can_be_asked_for(capsys):
    main(["games", "kuhn"])
    text = capsys.readouterr().out
    assert text.startswith("kuhn\n")
    assert "beastybar" not in text


def test_an_unknown_game_is_refused_with_the_nearest(capsys):
    assert main(["games", "kun"]) == 2
    assert "did you mean 'kuhn'?" in capsys.readouterr().err


def test_a_game_whose_library_is_missing_is_listed_with_the_remedy(monkeypatch, capsys):
    def make(name, **settings):
        raise missing_extra("OpenSpiel", "openspiel")

    entry = registry.Entry("openspiel", make, takes_name=True)
    monkeypatch.setattr(registry, "names", lambda: ["openspiel", "kuhn"])
    monkeypatch.setattr("lanista.games.adapters.openspiel.ENTRY", entry)
    assert main(["games"]) == 0
    text = capsys.readouterr().out
    assert (
        "unusable  OpenSpiel is not installed; run in a checkout: pip install '.[openspiel]'"
        in text
    )
    assert "kuhn\n" in text


def test_a_broken_game_of_an_installed_package_does_not_hide_the_others(monkeypatch, capsys):
    def broken(name):
        if name.startswith("theirs"):
            raise ImportError("their module is gone")
        return entry(name)

    entry = registry.entry
    monkeypatch.setattr(registry, "names", lambda: ["theirs", "kuhn"])
    monkeypatch.setattr(registry, "entry", broken)
    assert main(["games"]) == 0
    text = capsys.readouterr().out
    assert "theirs\n  unusable  their module is gone" in text
    assert "kuhn\n" in text


def test_a_single_broken_game_is_an_error_when_it_is_asked_for(monkeypatch):
    def broken(name):
        raise ImportError("gone")

    monkeypatch.setattr(registry, "entry", broken)
    with pytest.raises(ImportError):
        games.paragraph("kuhn", refuse=True)


def test_a_game_that_describes_its_choices_says_so(capsys):
    main(["games", "beastybar"])
    assert "readout pointer" in capsys.readouterr().out
    main(["games", "kuhn"])
    assert "readout" not in capsys.readouterr().out
