"""`lanista learn` as an operator types it: once, for ever, stopped, with settings good and bad."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import warm_python

sys.path.insert(0, str(Path(__file__).parents[1] / "live"))

from practice import Bench, settings_of

from lanista.cli.main import main
from lanista.live.learner import service
from lanista.live.learner.ledger import reading
from lanista.live.learner.service import Service, serve, step_back


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def learn(bench, *words):
    """Run the command here; the priority of the tests stays as it is."""
    where = ["--spool", str(bench.spool.folder), "--policy", str(bench.folder.folder)]
    return main(["learn", *where, "--nice", "0", *words])


def book(bench):
    return bench.folder.folder / "learner" / "learn.db"


def sizes(bench):
    with reading(book(bench)) as ledger:
        return [batch.games for batch in ledger.batches()]


def test_once_learns_what_is_there_prints_the_statistics_and_ends(bench, capsys):
    bench.play(1, -1, 0)
    (bench.spool.new / "bad.npz").write_text("no game")
    assert learn(bench, "--once", "--set", "distance=1e9") == 0  # They name no real chances.
    told = capsys.readouterr()
    assert "games 3 (learned from 3, too old 0, copies 0, refused 1, waiting 0)" in told.out
    assert "batches 1, samples 9, passes over each 2.00, average loss " in told.out
    assert f"stable {bench.stable[:12]}" in told.out
    assert "bad.npz" in told.err
    assert learn(bench, "--once") == 0  # Nothing new: the same numbers.
    assert capsys.readouterr().out.splitlines()[:1] == told.out.splitlines()[:1]
    assert sizes(bench) == [3]


def test_once_ends_though_bots_go_on_playing(bench):
    bench.play(1, 1)
    with bench.start(settings_of(batch_games=1)) as learner:
        played = []

        def another(batch):
            played.append(batch)
            assert len(played) < 20
            bench.play(1)

        found = serve(learner, Service(once=True), threading.Event(), another)
    assert found.totals.games == 2
    assert found.waiting == 2


def test_settings_are_kept_and_used_again(bench, tmp_path, capsys):
    bench.play(1, 1, 1, 1)
    assert learn(bench, "--once", "--max-batch-files", "2", "--set", "staleness=77") == 0
    assert sizes(bench) == [2, 2]
    bench.play(1, 1, 1)
    assert learn(bench, "--once") == 0
    assert sizes(bench) == [2, 2, 1, 2] or sizes(bench) == [2, 2, 2, 1]
    capsys.readouterr()
    assert learn(bench, "--show-settings") == 0
    shown = capsys.readouterr().out
    assert "staleness: 77" in shown
    assert "batch_games: 2" in shown
    # A file that is given counts instead, and what is set on top of it.
    file = tmp_path / "mine.yaml"
    file.write_text("batch_games: 3\n")
    bench.play(1, 1, 1)
    assert learn(bench, "--once", "--config", str(file)) == 0
    assert sizes(bench)[-1] == 3


def test_what_show_settings_prints_can_be_given_back(bench, tmp_path, capsys):
    words = ["--set", "gate.kind=open", "gate.every=7", "learning.lr=0.5", "--show-settings"]
    assert learn(bench, *words) == 0
    first = capsys.readouterr().out
    assert not book(bench).exists()  # It only shows.
    file = tmp_path / "shown.yaml"
    file.write_text(first)
    assert learn(bench, "--config", str(file), "--show-settings") == 0
    assert capsys.readouterr().out == first
    assert "# " in first


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--cpu-share", "0"], "--cpu-share is 0.0; give a share above 0, at most 1."),
        (["--cpu-share", "1.5"], "--cpu-share is 1.5"),
        (["--poll", "0"], "--poll is 0.0; give seconds above 0."),
        (["--threads", "0"], "--threads is 0"),
        (["--nice", "30"], "--nice is 30; give 0 to 19."),
        (["--report-every", "-1"], "--report-every is -1; give 0 or more games."),
        (["--max-batch-files", "0"], "--max-batch-files is 0; give 1 or more."),
        (["--poll", "nan"], "--poll is nan; give seconds above 0."),
        (["--set", "learning.lr=-1"], "learning.lr is -1; give 0 or more."),
        (["--set", "gate.kind=simulator"], "gate.kind is simulator, and 'toy' cannot be played"),
        (["--set", "gate.evry=3"], "'gate.evry'; did you mean 'gate.every'"),
        (["--set", "gate.share=1"], "gate.share is 1"),
        (["--set", "learning.policy=ppo"], "learned from by vtrace"),
        (["--set", "learning.critic_sees=privileged"], "no privileged view"),
        (["--config", "missing.yaml"], "missing.yaml"),
    ],
)
def test_bad_input_is_refused_with_a_sentence_and_changes_nothing(bench, words, sentence, capsys):
    bench.play(1)
    code = learn(bench, "--once", *words)
    told = capsys.readouterr().err
    assert code == 2
    assert sentence in told
    assert told.count("\n") == 1
    assert not book(bench).exists()
    assert len(bench.spool.waiting()) == 1


def test_a_folder_without_a_policy_is_refused(tmp_path, capsys):
    words = ["--spool", str(tmp_path / "spool"), "--policy", str(tmp_path / "policy"), "--once"]
    assert main(["learn", *words, "--nice", "0"]) == 2
    assert "publish a policy into this folder first" in capsys.readouterr().err
    assert not (tmp_path / "policy").exists()


def test_help_names_every_flag_and_loads_no_torch():
    program = (
        "import sys; from lanista.cli.main import main; main(['learn', '--help'])\n"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0
    for flag in (
        "--spool", "--policy", "--once", "--max-batch-files", "--poll", "--cpu-share", "--nice",
        "--threads", "--report-every", "--config", "--set", "--show-settings",
    ):  # fmt: skip
        assert flag in done.stdout


def until(true, process):
    """Wait for something a process does."""
    last = time.monotonic() + 900
    while not true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < last
        time.sleep(0.1)


def archived(bench):
    return len(list(bench.spool.archive.rglob("*.npz")))


@contextmanager
def running(words):
    """Run the command beside the tests; it does not outlive the block."""
    process = warm_python.Popen(
        [sys.executable, "-m", "lanista", "learn", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_and_saves_the_batch(bench, signal_):
    bench.play(*[1, -1] * 30)
    where = ["--spool", str(bench.spool.folder), "--policy", str(bench.folder.folder)]
    words = [*where, "--max-batch-files", "2", "--report-every", "4", "--poll", "1000"]
    with running(words) as process:
        until(lambda: archived(bench) > 0, process)
        if signal_ == signal.SIGINT:
            # The other way: when it is idle, and games that come in are noticed, however rarely it
            # looks by itself. Those from before it began to watch are not, so one is not enough.
            until(lambda: archived(bench) == 60, process)
            until(lambda: bench.play(1) and archived(bench) > 60, process)
        process.send_signal(signal_)
        out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    assert "Stopping after this batch, and saving" in err
    assert "games " in out
    assert err.count("average loss") >= 1
    assert bench.spool.taken() == []
    newest = max(path.name for path in (book(bench).parent / "checkpoints").iterdir())
    with reading(book(bench)) as ledger:
        assert ledger.batches()[-1].update_number == int(newest)
        assert ledger.events()[-1].kind == "stopped"
        assert ledger.count() == archived(bench)
    assert json.loads((bench.folder.folder / "current.json").read_text())["stable"] == bench.stable


def test_a_cpu_share_sleeps_the_rest_of_the_time(bench, monkeypatch):
    slept = []

    class Stop(threading.Event):
        def wait(self, timeout=None):
            slept.append(timeout)
            return False

    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(service.time, "monotonic", lambda: float(next(clock)))
    bench.play(1, 1, 1)
    with bench.start(settings_of(batch_games=1)) as learner:
        serve(learner, Service(once=True, cpu_share=0.25, report_every=0), Stop())
    assert len(slept) == 3
    # A quarter of the time is spent learning if three times as long is slept.
    assert all(seconds > 0 and seconds % 6 == 0 for seconds in slept)


def test_priority_and_threads_are_lowered_for_the_game(monkeypatch):
    import torch

    told = []
    monkeypatch.setattr(os, "nice", lambda by: told.append(("nice", by)))
    monkeypatch.setattr(torch, "set_num_threads", lambda n: told.append(("threads", n)))
    step_back(7, 2)
    step_back(0, 1)
    assert told == [("threads", 2), ("nice", 7), ("threads", 1)]
