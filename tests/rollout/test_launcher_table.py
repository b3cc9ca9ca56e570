"""A launcher is a module and one line of a table."""

import subprocess
import sys

import pytest
import toy_launcher
from pipeline_runs import KUHN, same, settings_of

from lanista.errors import LanistaError
from lanista.exploiters.best_response import ResponseSettings
from lanista.nets.files.policy_file import load_policy
from lanista.rollout.launchers.table import LAUNCHERS, Launcher
from lanista.runs.settings import Rollouts, load_settings
from lanista.training.loop import train

QUICK = {**KUHN, "evaluation": {}, "iterations": 3}


@pytest.fixture
def toy(monkeypatch):
    entry = Launcher("in turn, and counted", "toy_launcher:launch", at_once=False)
    monkeypatch.setitem(LAUNCHERS, "toy", entry)
    monkeypatch.setattr(toy_launcher, "chunks", [])
    return toy_launcher.chunks


def trained(launcher, path):
    workers = {"launcher": launcher, "workers": 2}
    assert train(settings_of({**QUICK, "rollouts": {**QUICK["rollouts"], **workers}}), path) == 0
    return load_policy(path).policy.state_dict()


def test_a_launcher_of_one_module_and_one_line_trains_to_the_same_weights(toy, tmp_path):
    ours = trained("serial", tmp_path / "serial.pt")
    assert len(toy) == 0
    theirs = trained("toy", tmp_path / "toy.pt")
    assert len(toy) == 2 * 3
    assert same(ours, theirs)


def test_settings_read_what_they_need_off_the_table(toy):
    assert Rollouts(launcher="toy").alone
    assert Rollouts(launcher="toy", workers=4).workers_at_once == 1
    assert [Rollouts(launcher=name).alone for name in ("serial", "threads", "processes")] == [
        True, False, False,
    ]  # fmt: skip
    assert Rollouts(launcher="threads", workers=4).workers_at_once == 4
    assert not Rollouts(launcher="threads").separate_processes
    assert Rollouts(launcher="processes", inference="central").separate_processes
    assert Rollouts(launcher="processes").on_cpu
    assert not Rollouts(launcher="processes", processes_on_gpu=True).on_cpu
    assert not Rollouts(launcher="threads").on_cpu


def test_a_launcher_that_nobody_has_is_refused_with_the_nearest():
    with pytest.raises(LanistaError, match=r"rollouts\.launcher is 'thread'.*'threads'"):
        load_settings({"game": "kuhn", "rollouts": {"launcher": "thread"}})
    with pytest.raises(LanistaError, match=r"launcher is 'prozesses'.*'processes'"):
        ResponseSettings("kuhn", launcher="prozesses")


def test_the_table_is_read_without_torch_and_numpy():
    program = (
        "import sys, lanista.runs.settings as s\n"
        "s.Rollouts(launcher='processes').alone\n"
        "print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
