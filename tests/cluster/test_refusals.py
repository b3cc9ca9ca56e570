"""Machines that are refused, and who does their work; none of it needs Ray."""

import pickle
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from lanista.cluster import refusals, session
from lanista.cluster.identity import identity
from lanista.cluster.refusals import Refusals, conditions, machine_name, unmet
from lanista.cluster.tasks import RayTasks
from lanista.errors import LanistaError
from lanista.games import driver_files
from lanista.pipeline.job_processes import ClusterProcess


@pytest.fixture
def present(monkeypatch):
    """The machines of a cluster, by id."""
    machines = {"a1": {}, "b2": {}, "c3": {}}
    monkeypatch.setattr(session, "machines", lambda ray: machines)
    return machines


def test_ray_is_asked_for_machines_that_were_not_refused(present):
    refused = Refusals(None)
    assert refused.options == {}
    refused.add("b2", "It is refused.")
    refused.add("a1", "It is refused.")
    assert refused.options == {"label_selector": {"ray.io/node-id": "!in(a1,b2)"}}


def test_a_refusal_is_told_once(present, capsys):
    refused = Refusals(None)
    for machine in ("a1", "a1", "b2"):
        refused.add(machine, f"Machine {machine} is refused.")
    assert capsys.readouterr().err.splitlines() == [
        "lanista: Machine a1 is refused.",
        "lanista: Machine b2 is refused.",
    ]


def test_the_last_machines_refusal_is_an_error(present):
    refused = Refusals(None)
    refused.add("a1", "Machine a1 is refused.")
    del present["c3"]
    with pytest.raises(LanistaError, match=r"^Machine b2 is refused\. No machine is left\.$"):
        refused.add("b2", "Machine b2 is refused.")


def test_when_the_others_are_gone_only_refused_machines_are_left(present):
    refused = Refusals(None)
    refused.require_others()
    refused.add("a1", "Machine a1 is refused.")
    refused.require_others()
    del present["b2"], present["c3"]
    with pytest.raises(LanistaError, match=r"a1 is refused\. No machine is left\."):
        refused.require_others()


def test_a_machine_like_the_driver_meets_its_conditions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("cards.py").write_text("# A game.\n")
    files = driver_files.existing([Path("cards.py")])
    needed = conditions(driver_files.environment_for(files))
    assert unmet(needed) == ""
    Path("cards.py").write_text("# Another one.\n")
    assert "its cards.py has the SHA-256" in unmet(needed)


def test_a_machine_that_does_not_see_the_folder_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "shared"
    folder.mkdir()
    monkeypatch.chdir(folder)
    needed = conditions({})
    folder.rmdir()
    assert unmet(needed) == (
        f"Machine {machine_name()} is refused: it has no folder {folder}; run the command in one "
        "that all machines share."
    )


def test_a_machine_that_runs_something_else_is_refused_before_its_folders_are_looked_at(
    tmp_path, monkeypatch
):
    folder = tmp_path / "shared"
    folder.mkdir()
    monkeypatch.chdir(folder)
    needed = conditions({})
    folder.rmdir()
    monkeypatch.setattr(refusals, "identity", lambda: replace(identity(), python="3.9.1"))
    assert "its Python is 3.9.1" in unmet(needed)


class Begun:
    """A task, or an actor whose methods' answers are called after them."""

    placed = SimpleNamespace(remote=lambda: "placed")
    run = SimpleNamespace(remote=lambda *_: "run")


class Placing:
    """As much of Ray as gives out work; a task is done, and an actor's answers are `ready`."""

    def __init__(self, *ready):
        self.ready = ready

    def remote(self, **_):
        begun = SimpleNamespace(remote=lambda *_: Begun())
        return lambda _: SimpleNamespace(options=lambda **_: begun)

    def wait(self, references, **_):
        return [one for one in references if isinstance(one, Begun) or one in self.ready], []


class NobodyLeft:
    """Refusals, when no machine but refused ones is there."""

    options: ClassVar[dict] = {}

    def require_others(self):
        raise LanistaError("No machine is left.")


def test_work_that_is_done_is_not_ended_because_no_machine_is_left(monkeypatch):
    doer = RayTasks.__new__(RayTasks)
    doer._ray, doer._refusals, doer._under_way, doer.at_once = Placing(), NobodyLeft(), {}, 1
    monkeypatch.setattr(RayTasks, "_answer", lambda *_: ("machine", "", pickle.dumps(4)))
    assert list(doer.each(abs, [(-4,)])) == [(0, 4)]


@pytest.mark.parametrize(("ready", "ends"), [(("placed",), False), ((), True)])
def test_a_command_waits_for_a_machine_in_vain_only_until_it_is_on_one(tmp_path, ready, ends):
    """On one that has just died Ray says so itself, and the command goes on elsewhere."""
    job = ClusterProcess(Placing(*ready), NobodyLeft(), 1, ["lanista"], tmp_path / "log", {})
    with pytest.raises(LanistaError, match="No machine") if ends else nullcontext():
        assert job.poll() is None
