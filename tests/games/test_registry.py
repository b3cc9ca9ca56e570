"""Names find games; what nobody knows is refused and the nearest named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lanista.games import GameError, Setting, entry, make, make_bot, names
from lanista.games.registry import BUILT_IN, Entry, bot_names, check_settings, slots_for

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_game.py"
FAMILIES = {"openspiel", "pettingzoo"}


def install(folder, points, module=None):
    """Put a distribution with entry points into `folder`, as an installer lays it out."""
    (folder / "purses_game.py").write_text(module or EXAMPLE.read_text(encoding="utf-8"))
    info = folder / "purses_game-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: purses-game\nVersion: 1.0\n")
    lines = "\n".join(f"{name} = {value}" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[lanista.games]\n{lines}\n")


def run_beside(folder, code):
    """Run Python code in a process that sees what is installed in `folder`, as JSON."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_installed_package_adds_a_game(tmp_path):
    install(tmp_path, {"purses": "purses_game:Purses"})
    found = run_beside(
        tmp_path,
        """
import json
from lanista.games import check_game, entry, make, make_bot, names
game = make("purses", slots=2, seed=3)
game.start([0, 1], [5, 6])
bot = make_bot("purses", "thrifty", game.spec)
print(json.dumps([
    names(), len(game.decisions()), bot.name, entry("purses").about, check_game("purses").passed,
]))
""",
    )
    assert found == [
        [*BUILT_IN, "purses"],
        4,
        "thrifty",
        "Two bidders with secret purses and three lots.",
        True,
    ]


def test_the_game_is_not_there_without_the_package():
    assert "purses" not in names()


def test_an_installed_package_may_give_an_entry_with_settings(tmp_path):
    module = EXAMPLE.read_text(encoding="utf-8") + (
        "\nfrom lanista.games import Entry, Setting\n"
        "ENTRY = Entry('purses', Purses, settings={'lots': Setting(3, 'lots', (3, 5))})\n"
    )
    install(tmp_path, {"purses": "purses_game:ENTRY"}, module)
    code = """
import json
from lanista.games import make
print(json.dumps(dict(make("purses", lots=5).spec.settings)))
"""
    assert run_beside(tmp_path, code) == {"lots": 5}


@pytest.mark.parametrize("value", ["purses_game:Nothing", "no_such_module:Purses"])
def test_an_installed_package_that_cannot_be_loaded_is_named(tmp_path, value):
    install(tmp_path, {"broken": value})
    code = """
import json
from lanista.games import GameError, make, names
try:
    make("broken")
except GameError as error:
    print(json.dumps([str(error), names()[-1], make("kuhn").spec.name]))
"""
    message, last, other = run_beside(tmp_path, code)
    assert message.startswith("The game 'broken' of an installed package cannot be loaded")
    assert value in message
    assert (last, other) == ("broken", "kuhn")


def test_games_of_installed_packages_come_after_the_built_in_ones_by_name(tmp_path):
    added = ["whist", "euchre", "bridge", "skat", "tarot", "nim", "go", "chess", "hex", "dots"]
    install(tmp_path, dict.fromkeys(added, "purses_game:Purses"))
    code = "import json; from lanista.games import names; print(json.dumps(names()))"
    assert run_beside(tmp_path, code) == [*BUILT_IN, *sorted(added)]


def test_an_installed_package_cannot_take_a_built_in_name(tmp_path):
    install(tmp_path, {"kuhn": "purses_game:Purses"})
    code = """
import json
from lanista.games import make, names
print(json.dumps([names(), make("kuhn").spec.heads[0].name]))
"""
    assert run_beside(tmp_path, code) == [list(BUILT_IN), "move"]


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name not in FAMILIES])
def test_a_built_in_game_is_made_with_its_facts_and_bots(name):
    try:
        game = make(name, slots=3, seed=1)
    except GameError as error:
        if not entry(name).extra:
            raise
        pytest.skip(str(error))
    assert game.spec.name == name
    assert game.slots == 3
    assert entry(name).about
    for bot in bot_names(entry(name)):
        assert make_bot(name, bot, game.spec).name == bot


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        ("khun", "did you mean 'kuhn'?"),
        ("beastybarr", "did you mean 'beastybar'?"),
        ("zzz", "known: arena, beastybar,"),
        ("kuhn:3", "write kuhn."),
        ("openspiel", "write openspiel:NAME."),
        ("nowhere/my_game.py", "There is no game file 'nowhere/my_game.py'."),
    ],
)
def test_a_game_that_nobody_knows_is_refused_with_a_remedy(asked, remedy):
    with pytest.raises(GameError) as raised:
        make(asked)
    assert remedy in str(raised.value)


def test_a_bot_that_nobody_knows_is_refused_and_the_nearest_named():
    with pytest.raises(GameError, match="did you mean 'random'"):
        make_bot("kuhn", "randon", make("kuhn").spec)


WAITS = Entry("waits", make, missing_bots={"later": "it needs a teacher."})


def test_a_missing_bot_says_why(monkeypatch):
    monkeypatch.setitem(BUILT_IN, "waits", f"{__name__}:WAITS")
    assert bot_names(entry("waits")) == ["random"]
    with pytest.raises(GameError) as raised:
        make_bot("waits", "later", make("kuhn").spec)
    assert str(raised.value) == (
        "The bot 'later' of waits cannot be made here: it needs a teacher."
    )


SIZED = Entry(
    "sized",
    make,
    settings={
        "size": Setting(3, "How large.", choices=(3, 5)),
        "speed": Setting(1.5, "How fast."),
        "view": Setting("full", "What is seen."),
        "quick": Setting(False, "Whether."),
    },
)


def test_settings_take_the_place_of_defaults():
    chosen = check_settings(SIZED, {"size": 5, "speed": 2})
    assert chosen == {"size": 5, "speed": 2.0, "view": "full", "quick": False}
    assert isinstance(chosen["speed"], float)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sise": 3}, "sized has no setting 'sise'; did you mean 'size'?"),
        ({"size": 4}, "sized setting size is 4; choose from 3, 5."),
        ({"view": 1}, "sized setting view is 1; give a str."),
        ({"quick": 1}, "sized setting quick is 1; give a bool."),
        ({"speed": "2"}, "sized setting speed is '2'; give a float."),
    ],
)
def test_a_wrong_setting_is_refused_with_a_remedy(settings, message):
    with pytest.raises(GameError) as raised:
        check_settings(SIZED, settings)
    assert str(raised.value) == message


def test_a_game_without_settings_refuses_one():
    with pytest.raises(GameError, match="kuhn has no setting 'size'"):
        make("kuhn", size=3)


GAME = """
from lanista.games import Entry, Facts, PythonGame
class {name}(PythonGame):
    facts = Facts(seats=1, longest=1)
    observation = moves = 1
"""


def write(path, *names, extra=""):
    text = "".join(GAME.format(name=name) for name in names)
    path.write_text(text + extra)
    return str(path)


def test_a_file_with_one_game_is_that_game(tmp_path):
    assert make(write(tmp_path / "one.py", "Only")).spec.name == "only"


def test_a_file_with_two_games_needs_the_class_named(tmp_path):
    path = write(tmp_path / "two.py", "First", "Second")
    with pytest.raises(GameError, match="has 2 games; name one as"):
        make(path)
    assert make(f"{path}:Second").spec.name == "second"
    with pytest.raises(GameError, match="has no 'Third'"):
        make(f"{path}:Third")


def test_a_files_entry_speaks_for_its_class(tmp_path):
    path = write(tmp_path / "told.py", "Only", extra="ENTRY = Entry('told', Only, about='Told.')\n")
    assert entry(path).about == "Told."


def test_a_file_that_does_not_run_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(GameError, match=r"broken\.py cannot be run: ZeroDivisionError"):
        make(str(tmp_path / "broken.py"))
    (tmp_path / "unwritten.py").write_text("def (:\n")
    with pytest.raises(GameError, match="cannot be run: SyntaxError"):
        make(str(tmp_path / "unwritten.py"))


def test_files_of_the_same_name_in_two_folders_are_two_games(tmp_path):
    paths = []
    for name in ("Left", "Right"):
        (tmp_path / name).mkdir()
        paths.append(write(tmp_path / name / "game.py", name))
    assert [make(path).spec.name for path in paths] == ["left", "right"]
    assert [make(path).spec.name for path in reversed(paths)] == ["right", "left"]


def test_a_class_imported_into_a_file_is_not_its_game(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path / "imported_basis.py", "Basis")
    path = write(tmp_path / "own.py", "Own", extra="from imported_basis import Basis\n")
    assert make(path).spec.name == "own"


def test_an_entry_says_which_extra_its_games_need():
    needs = {name: entry(name + ":any").extra for name in ("openspiel", "pettingzoo")}
    assert needs == {"openspiel": "openspiel", "pettingzoo": "environments"}
    assert entry("kuhn").extra == ""


def test_a_game_says_how_many_matches_side_by_side_suit_it():
    assert entry("kuhn").slots == 0
    assert slots_for("kuhn", 4096) == 4096
    assert entry("showdown").slots == 128
    assert [slots_for("showdown", most) for most in (4096, 100)] == [128, 100]


@pytest.mark.parametrize("seed", [-1, 2**63, 0.5])
def test_a_bot_with_an_impossible_seed_is_refused(seed):
    spec = make("kuhn").spec
    with pytest.raises(GameError, match="seed is"):
        make_bot("kuhn", "random", spec, seed)


def test_a_game_file_that_fails_leaves_no_module_behind(tmp_path):
    path = tmp_path / "falling.py"
    path.write_text("raise ValueError('down')\n")
    with pytest.raises(GameError, match="ValueError: down"):
        entry(str(path))
    assert not any("falling" in name for name in sys.modules)
