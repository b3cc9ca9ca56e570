"""What machines of one run must have in common."""

import hashlib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from lanista.cluster.identity import identity, stamp
from lanista.games import registry
from lanista.games.registry import spec_of

WORDS = {
    "python": "Python is",
    "rules": "games have the rules",
    "simulators": "simulators are",
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
    mine = replace(identity(), simulators="microrts:0123 openspiel:1.6")
    value = {"rules": "kuhn:99", "simulators": "openspiel:1.5"}.get(name, "other")
    other = replace(mine, **{name: value})
    sentence = mine.refusal(other, "10.0.0.5")
    assert sentence.startswith(f"Machine 10.0.0.5 is refused: its {WORDS[name]}")
    assert getattr(other, name) in sentence
    assert sentence.endswith("there.") or "copy the wheel" in sentence


def test_a_machine_that_lacks_a_simulator_is_not_refused_for_it():
    fewer = replace(identity(), rules=identity().rules.partition(" ")[2])
    assert identity().refusal(fewer, "10.0.0.5") == fewer.refusal(identity(), "10.0.0.5") == ""


def test_an_engine_that_only_one_machine_has_does_not_count():
    mine, theirs = (
        replace(identity(), simulators=words) for words in ("openspiel:1.6", "showdown:0123")
    )
    assert mine.refusal(theirs, "10.0.0.5") == theirs.refusal(mine, "10.0.0.5") == ""


def simulators_now():
    return dict(word.split(":") for word in identity.__wrapped__().simulators.split())


def test_the_jars_and_maps_of_an_engine_are_compared(tmp_path, monkeypatch):
    monkeypatch.setenv("LANISTA_MICRORTS", str(tmp_path))
    assert "microrts" not in simulators_now()
    engine = tmp_path / "gym_microrts" / "microrts"
    (engine / "maps" / "8x8").mkdir(parents=True)
    digests = []
    for file in ("microrts.jar", "Coac.jar", "maps/8x8/small.xml"):
        (engine / file).write_bytes(b"0")
        digests.append(simulators_now()["microrts"])
    before = stamp()
    (engine / "Coac.jar").write_bytes(b"11")
    assert len({*digests, simulators_now()["microrts"]}) == 4
    assert stamp() != before


def test_the_installed_simulator_is_compared_and_not_only_its_list(tmp_path, monkeypatch):
    monkeypatch.setenv("LANISTA_SHOWDOWN", str(tmp_path))
    assert "showdown" not in simulators_now()
    battle = tmp_path / "node_modules" / "pokemon-showdown" / "dist" / "sim" / "battle.js"
    battle.parent.mkdir(parents=True)
    listed = (Path(registry.__file__).parent / "showdown" / "package-lock.json").read_bytes()
    (tmp_path / "node_modules" / ".lanista").write_text(hashlib.sha256(listed).hexdigest())
    battle.write_text("damage = 1")
    before = simulators_now()["showdown"]
    battle.write_text("damage = 2")
    assert simulators_now()["showdown"] != before


def test_the_version_of_openspiel_is_compared(monkeypatch):
    monkeypatch.setattr("lanista.cluster.identity.version", lambda name: f"version-of-{name}")
    assert simulators_now()["openspiel"] == "version-of-open_spiel"


def test_a_machine_with_an_older_lanista_that_knew_of_no_simulators_is_refused_for_its_code():
    older = replace(identity(), code="0" * 64)
    object.__delattr__(older, "simulators")
    assert "its code of lanista" in identity().refusal(older, "10.0.0.5")


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
