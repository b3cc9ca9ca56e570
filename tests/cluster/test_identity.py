"""What machines of one run must have in common."""

from dataclasses import fields, replace

import pytest

from lanista.cluster.identity import identity, stamp
from lanista.games.registry import spec_of

WORDS = {
    "python": "Python is",
    "rules": "games have the rules",
    "code": "code of lanista",
    "compiled": "build of the compiled games",
    "torch": "torch is",
    "numpy": "NumPy is",
    "extensions": "packages that extend lanista",
}


def test_a_machine_like_this_one_is_not_refused():
    assert identity().refusal(replace(identity()), "10.0.0.5") == ""


@pytest.mark.parametrize("name", [field.name for field in fields(identity())])
def test_a_machine_with_another_one_is_refused_in_a_sentence(name):
    other = replace(identity(), **{name: "kuhn:99" if name == "rules" else "other"})
    sentence = identity().refusal(other, "10.0.0.5")
    assert sentence.startswith(f"Machine 10.0.0.5 is refused: its {WORDS[name]}")
    assert getattr(other, name) in sentence
    assert sentence.endswith("there.") or "copy the wheel" in sentence


def test_a_machine_that_lacks_a_simulator_is_not_refused_for_it():
    fewer = replace(identity(), rules=identity().rules.partition(" ")[2])
    assert identity().refusal(fewer, "10.0.0.5") == fewer.refusal(identity(), "10.0.0.5") == ""


def test_rules_of_the_games_that_come_along_are_part_of_it():
    assert f"beastybar:{spec_of('beastybar').facts.rules_version}" in identity().rules.split()
    assert f"kuhn:{spec_of('kuhn').facts.rules_version}" in identity().rules.split()


def test_no_simulator_is_started_to_tell_what_a_machine_runs(monkeypatch):
    def refuse(*words, **options):
        raise AssertionError(f"{words} is started")

    monkeypatch.setattr("subprocess.Popen.__init__", refuse)
    rules = dict(word.split(":") for word in identity.__wrapped__().rules.split())
    assert len(rules["showdown"]) == 12


def test_a_stamp_changes_with_every_file_and_not_with_compiled_ones(tmp_path, monkeypatch):
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "kuhn.py").write_text("seats = 2\n")
    monkeypatch.setattr("lanista.__file__", str(tmp_path / "__init__.py"))
    stamps = [stamp()]
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "kuhn.pyc").write_bytes(b"0")
    assert stamp() == stamps[0]
    for change in (
        lambda: (tmp_path / "games" / "kuhn.py").write_text("seats = 3\n"),
        lambda: (tmp_path / "games" / "game.abi3.so").write_bytes(b"0"),
        lambda: (tmp_path / "games" / "kuhn.py").unlink(),
    ):
        change()
        stamps.append(stamp())
    assert len(set(stamps)) == len(stamps)
    monkeypatch.setattr("lanista.cluster.identity.version", lambda name: "0.0")
    assert stamp() not in stamps
