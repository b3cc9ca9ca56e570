"""A package adds a loss, a regulariser, a matchmaker, a torso and a schedule, and runs train with
them; names that nobody has are refused with the nearest."""

import importlib
import math
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from lanista.errors import LanistaError
from lanista.extensions import Entry, Table
from lanista.games.registry import spec_of
from lanista.learn.schedules import parse_schedule, schedule_settings
from lanista.learn.settings import Learning
from lanista.learn.term_table import restrains
from lanista.nets.files.policy_file import load_policy, save_policy
from lanista.nets.files.tensor_shapes import tensor_shapes
from lanista.nets.policy import Policy
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network
from lanista.runs.folder import folder_of
from lanista.runs.league_settings import Matchmaking
from lanista.runs.settings import load_settings
from lanista.training.loop import train
from lanista.training.observers import Observer

EXAMPLE = Path(__file__).parents[1] / "examples" / "extension"
RUN = {
    "game": "kuhn",
    "iterations": 4,
    "network": {"kind": "gated", "width": 16, "layers": 2},
    "learning": {
        "terms": {"policy": 1.0, "value": 0.5, "smooth": 0.01, "hellinger": 0.1},
        "lr": {"kind": "stairs", "start": 0.02, "steps": 4},
        "reference_every": 2,
    },
    "rollouts": {"matches": 32, "slots": 16, "opponents": ["self", "random"]},
    "league": {"round": 2, "main": {"matchmaking": {"kind": "rivals"}}},
    "checkpoints": {"save_every": 4},
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The folder that the example package is installed in."""
    source = tmp_path_factory.mktemp("source") / "extension"
    shutil.copytree(EXAMPLE, source)  # Building leaves files beside the source.
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command = [*pip, "--no-build-isolation", "--target", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return target


@pytest.fixture
def installed(package, monkeypatch):
    monkeypatch.syspath_prepend(str(package))
    importlib.invalidate_caches()
    yield
    for name in [name for name in sys.modules if name.startswith("lanista_extension")]:
        monkeypatch.delitem(sys.modules, name)


class Heard(Observer):
    def __init__(self):
        self.updates = []

    def updated(self, update, values):
        self.updates.append(values)


def test_a_run_trains_with_one_of_each_from_an_installed_package(installed, tmp_path):
    heard, output = Heard(), tmp_path / "p.pt"
    assert train(load_settings(RUN), output, observers=[heard]) == 0
    assert [values["lr"] for values in heard.updates] == [0.02, 0.01, 0.005, 0.0025]
    assert heard.updates[0]["smooth/loss"] > 0
    assert heard.updates[0]["hellinger/loss"] == pytest.approx(0, abs=1e-6)
    assert heard.updates[1]["hellinger/loss"] > 1e-6
    assert heard.updates[2]["hellinger/loss"] == pytest.approx(0, abs=1e-6)  # It was renewed.
    loaded = load_policy(output).policy
    assert type(loaded.torso).__name__ == "Gated"
    assert sum(1 for name in loaded.state_dict() if name.startswith("torso.layers")) == 4
    with closing(sqlite3.connect(folder_of(output) / "run.db")) as database:
        reasons = {row[0] for row in database.execute("SELECT reason FROM matchmaking")}
    assert reasons == {"rival"}


def test_without_the_package_its_names_are_refused_with_the_nearest(tmp_path):
    for values, name in (
        ({"network": {"kind": "gated"}}, "network.kind is 'gated'"),
        ({"learning": {"terms": {"smooth": 1.0}}}, "no loss term 'smooth'"),
        ({"learning": {"lr": {"kind": "stairs", "start": 1}}}, "No schedule is of kind 'stairs'"),
        ({"league": {"main": {"matchmaking": {"kind": "rivals"}}}}, "no matchmaking 'rivals'"),
    ):
        with pytest.raises(LanistaError, match=name):
            load_settings({"game": "kuhn", **values})


@pytest.mark.parametrize(("make", "nearest"), [
    (lambda: Network("gatde"), "gated"),
    (lambda: Learning(terms={"helinger": 1.0}), "hellinger"),
    (lambda: Learning(terms={"smoth": 1.0}), "smooth"),
    (lambda: Matchmaking("rival"), "rivals"),
    (lambda: parse_schedule({"kind": "stair", "start": 1}), "stairs"),
])  # fmt: skip
def test_a_slip_in_an_installed_name_is_answered_with_it(make, nearest, installed):
    with pytest.raises(LanistaError, match=f"did you mean '{nearest}'"):
        make()


def test_exploiters_learn_without_an_installed_regulariser_and_with_a_loss(installed):
    assert restrains("hellinger")
    assert not restrains("smooth")


def test_an_installed_schedule_is_written_as_it_is_read_and_checked(installed):
    stairs = parse_schedule({"kind": "stairs", "start": "0.02", "steps": 2})
    assert schedule_settings(stairs) == {"kind": "stairs", "start": 0.02, "steps": 2}
    inner = parse_schedule({"kind": "warm-up", "steps": 2, "then": schedule_settings(stairs)})
    assert parse_schedule(schedule_settings(inner)) == inner
    with pytest.raises(LanistaError, match="'steps' of a stairs schedule must be a whole number"):
        parse_schedule({"kind": "stairs", "start": 1, "steps": 1.5})


def test_an_installed_torso_is_checked_and_numpy_refuses_it_in_a_sentence(installed, tmp_path):
    spec, network = spec_of("kuhn"), Network("gated", width=8, layers=2)
    policy = Policy(spec, network)
    assert tensor_shapes(spec.observation, spec.heads, network) == {
        name: tuple(tensor.shape) for name, tensor in policy.state_dict().items()
    }
    save_policy(tmp_path / "p.pt", policy, spec)
    with pytest.raises(LanistaError, match="its torso 'gated' is run by torch alone"):
        load_portable(tmp_path / "p.pt")


def test_settings_of_an_installed_package_load_no_torch(package):
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from lanista.nets.settings import Network\n"
        "from lanista.learn.settings import Learning\n"
        "assert Network('gated').resolved_width == 192\n"
        "assert Learning(terms={'hellinger': 1.0}).needs('reference')\n"
        "print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(package)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_an_entry_point_that_cannot_be_loaded_or_is_none_is_refused_in_a_sentence(
    tmp_path, monkeypatch
):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[toys]\ngone = nowhere:at_all\nplain = math:pi\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    table: Table[Entry] = Table("toy", "toys", {"own": Entry("ours", "math:e")})
    assert [*table] == ["own", "gone", "plain"]
    assert table.load("own") == math.e
    with pytest.raises(LanistaError, match=r"toy 'gone'.*'nowhere:at_all' and cannot be loaded"):
        table.load("gone")
    with pytest.raises(LanistaError, match=r"toy 'plain' .* must be an entry of the table"):
        table.load("plain")
    wrapped: Table[Entry] = Table("toy", "toys", {}, wrap=Entry)
    assert (wrapped["plain"].about, wrapped.load("plain")) == ("of the package broken", math.pi)
