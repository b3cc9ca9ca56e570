"""`lanista rl` as a user types it: the runbook's smoke command, resuming, refusing, stopping."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import torch
import warm_python
import yaml

from lanista import interrupt
from lanista.api.settings import run_settings
from lanista.cli import main as cli
from lanista.cli.train.league import LeagueCommand
from lanista.cli.train.rl import RL, with_flags
from lanista.errors import LanistaError
from lanista.nets.files.policy_file import read_header, save_policy
from lanista.pipeline import budget, defaults
from lanista.pipeline.recipes import alphastar
from lanista.runs.folder import folder_of, saved_settings
from lanista.runs.serialise import plain
from lanista.runs.settings import load_settings
from lanista.training.learner_loop import lone_learner

KUHN = ["--config", str(Path(__file__).with_name("small_kuhn.yaml"))]
PIPELINE = Path(__file__).with_name("small_pipeline.yaml")


def rows(output):
    with closing(sqlite3.connect(f"{output}.run/run.db")) as database:
        found = database.execute("SELECT * FROM metrics ORDER BY update_number, name").fetchall()
    return [row for row in found if row[1] not in ("cpu_seconds", "wall_seconds")]


def test_the_runbooks_smoke_command_works_as_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    training = lone_learner(load_settings({"network": {"width": 8, "layers": 1}}), tmp_path)
    save_policy("artifacts/alphastar/pi_sup.pt", training.learner.policy, training.spec)
    command = """
      --supervised-checkpoint artifacts/alphastar/pi_sup.pt
      --output artifacts/alphastar/pi_rl_smoke_test.pt
      --iterations 1
      --actor-rollouts 1
      --learner-updates 1
      --unroll-length 16
      --batch-size 2
      --replay-size 32
      --min-replay-sequences 1
      --save-every 1
      --cpu
    """
    assert cli.main(["rl", *command.split()]) == 0
    assert "pi_rl_smoke_test.pt" in capsys.readouterr().out
    header = read_header("artifacts/alphastar/pi_rl_smoke_test.pt")
    assert (header.game, header.step) == ("arena", 1)
    names = {name for _, name, _ in rows("artifacts/alphastar/pi_rl_smoke_test.pt")}
    # The AlphaStar recipe: V-trace, TD(λ), UPGO, KL to the supervised policy.
    assert {"policy/loss", "value/loss", "upgo/loss", "anchor_forward/loss"} <= names


SMALL_RUN = [
    "--iterations", "1", "--actor-rollouts", "1", "--unroll-length", "8", "--batch-size", "1",
    "--replay-size", "4", "--min-replay-sequences", "1", "--cpu", "--set", "evaluation.matches=2",
    "evaluation.bots=[random]",
]  # fmt: skip


def clone_of(game, path, **settings):
    """Write an untrained policy for a game with `settings`."""
    small = {"game": game, "game_settings": settings, "network": {"width": 8, "layers": 1}}
    training = lone_learner(load_settings(small), path.parent)
    save_policy(path, training.learner.policy, training.spec)
    return str(path)


def test_a_run_plays_its_game_as_the_supervised_policy_does(tmp_path):
    clone = clone_of("arena", tmp_path / "c.pt", observation="classic19", duration=4.0)
    output = tmp_path / "p.pt"
    words = ["rl", "--supervised-checkpoint", clone, "--output", str(output), *SMALL_RUN]
    assert cli.main(words) == 0
    chosen = saved_settings(folder_of(output)).game_settings
    assert (chosen["observation"], chosen["duration"]) == ("classic19", 4.0)
    assert read_header(output).settings == read_header(clone).settings
    # Settings of a file that say nothing of the game are those of the run, when it is resumed too.
    config = tmp_path / "same.yaml"
    values = plain(saved_settings(folder_of(output)))
    config.write_text(yaml.safe_dump({**values, "game_settings": {}}))
    Path(clone).unlink()
    again = ["rl", "--config", str(config), "--resume", "--output", str(output)]
    assert cli.main([*again, "--iterations", "2"]) == 0


def test_only_what_the_user_wrote_contradicts_the_supervised_policy(tmp_path, capsys):
    clone = clone_of("arena", tmp_path / "c.pt", duration=4.0)
    words = ["rl", "--supervised-checkpoint", clone, "--output", str(tmp_path / "p.pt")]
    assert cli.main([*words, *SMALL_RUN, "--set", "game_settings.duration=5.0"]) == 2
    error = capsys.readouterr().err
    assert "duration" in error
    assert error.count("\n") == 1
    assert cli.main([*words, *SMALL_RUN, "--game", "kuhn"]) == 2
    assert "kuhn" in capsys.readouterr().err


def test_a_supervised_policy_names_the_game(tmp_path):
    clone = clone_of("kuhn", tmp_path / "c.pt")
    output = tmp_path / "p.pt"
    words = ["rl", "--supervised-checkpoint", clone, "--output", str(output), *SMALL_RUN]
    assert cli.main(words) == 0
    assert saved_settings(folder_of(output)).game == "kuhn"
    league = LeagueCommand(tmp_path / "league", supervised_checkpoint=clone)._settings()
    assert (league.game, league.evaluation.bots) == ("kuhn", ("random",))
    changes = {"supervised_checkpoint": clone, "iterations": 1}
    assert run_settings(None, changes, tmp_path / "q.pt").game == "kuhn"


def test_flags_reach_the_settings_they_name(tmp_path):
    flags = RL(
        output=tmp_path / "p.pt",
        game="beastybar",
        supervised_checkpoint="x.pt",
        size="l",
        iterations=3,
        actor_rollouts=5,
        learner_updates=2,
        unroll_length=9,
        batch_size=4,
        replay_size=40,
        min_replay_sequences=6,
        save_every=7,
        kl_coef=0.3,
        upgo_coef=0.4,
        pseudo_reward_scale=0.5,
        opponents="self,outcome=0.5",
        seed=11,
        cpu=True,
    )
    found = with_flags(alphastar(), flags)
    assert (found.game, found.supervised_checkpoint, found.iterations) == ("beastybar", "x.pt", 3)
    assert (found.learner_updates, found.seed, found.device) == (2, 11, "cpu")
    assert found.network.size == "l"
    rollouts = found.rollouts
    assert (rollouts.unrolls, rollouts.unroll_length, rollouts.shaping_scale) == (5, 9, 0.5)
    assert [(each.player, each.weight) for each in rollouts.opponents] == [
        ("self", 1.0), ("outcome", 0.5),
    ]  # fmt: skip
    assert (found.replay.size, found.replay.batch, found.replay.minimum) == (40, 4, 6)
    assert found.checkpoints.save_every == 7
    assert found.learning.terms["anchor_forward"] == 0.3
    assert found.learning.terms["upgo"] == 0.4
    matches = with_flags(load_settings({}), RL(output=tmp_path / "p.pt", actor_rollouts=5))
    assert matches.rollouts.matches == 5


def test_a_batch_size_without_a_replay_is_refused(tmp_path):
    with pytest.raises(LanistaError, match="--replay-size"):
        with_flags(load_settings({}), RL(output=tmp_path / "p.pt", batch_size=3))


def test_a_run_by_config_and_set_is_resumed_and_made_longer(tmp_path, capsys):
    output = str(tmp_path / "p.safetensors")
    assert cli.main(["rl", *KUHN, "--iterations", "2", "--output", output]) == 0
    assert saved_settings(folder_of(tmp_path / "p.safetensors")).network.width == 8
    # Flags and --config may be left out: the run knows its settings.
    assert cli.main(["rl", "--output", output, "--resume", "--iterations", "4"]) == 0
    longer = [*KUHN, "--output", output, "--iterations", "5", "--resume"]
    assert cli.main(["rl", *longer]) == 0
    assert max(row[0] for row in rows(output)) == 5
    printed = capsys.readouterr()
    assert printed.out.count(f"policy: {output}\nnext: lanista evaluate {output}\n") == 3
    # No terminal here: plain lines, the last of them for the last update.
    assert "update 5 of 5: " in printed.err


def test_what_differs_on_resuming_is_told_by_the_flag_that_was_given(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["rl", *KUHN, "--iterations", "1", "--output", "p.pt"]) == 0
    Path("other.yaml").write_text(Path(KUHN[1]).read_text().replace("width: 8", "width: 9"))
    capsys.readouterr()
    for words, flag, change in [
        ("--seed 7", "--seed", "seed 0, and now it is 7"),
        ("--actor-rollouts 32", "--actor-rollouts", "rollouts.matches 16, and now it is 32"),
        ("--seed 5 --set seed=7", "--set seed", "seed 0, and now it is 7"),
        ("--config other.yaml", "--config other.yaml", "network.width 8, and now it is 9"),
    ]:
        assert cli.main(["rl", "--output", "p.pt", "--resume", *words.split()]) == 3
        assert capsys.readouterr().err == (
            f"lanista: {flag} differs: the run p.pt.run was begun with {change}; leave it as it "
            "was, or begin another run with another --output.\n"
        )


def test_fewer_iterations_than_are_done_are_told_by_the_flag_that_was_given(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["rl", *KUHN, "--iterations", "3", "--output", "p.pt"]) == 0
    Path("short.yaml").write_text(f"{Path(KUHN[1]).read_text()}iterations: 2\n")
    capsys.readouterr()
    for words, flag in [
        ("--iterations 2", "--iterations"),
        ("--set iterations=2", "--set iterations"),
        ("--config short.yaml", "--config short.yaml"),
    ]:
        assert cli.main(["rl", "--output", "p.pt", "--resume", *words.split()]) == 3
        assert capsys.readouterr().err == (
            f"lanista: The run p.pt.run has done 3 iterations, and {flag} asks for 2; ask for at "
            "least 3, or name an earlier one with --checkpoint.\n"
        )


def test_an_existing_run_ends_with_exit_code_3(tmp_path, capsys):
    output = str(tmp_path / "p.pt")
    command = ["rl", *KUHN, "--iterations", "1", "--output", output]
    assert cli.main(command) == 0
    assert cli.main(command) == 3
    error = capsys.readouterr().err
    assert "resume it with --resume" in error


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--resume"], 2, "There is no run"),
        (["--config", "kuhn-pp"], 2, "did you mean 'kuhn-ppo'?"),
        ([*KUHN, "--set", "learning.lrr=1"], 2, "did you mean 'learning.lr'?"),
        (["--game", "khun"], 2, "did you mean 'kuhn'?"),
        ([*KUHN, "--opponents", "randon"], 2, "did you mean 'random'?"),
        (["--supervised-checkpoint", "nowhere.pt"], 2, "no policy file 'nowhere.pt'"),
        (["--kl-coef", "0.1"], 2, "--supervised-checkpoint"),
        (["--iterations", "0"], 2, "iterations is 0"),
        ([*KUHN, "--set", "device=cpu", "rollouts.graphs=true"], 2, "set rollouts.graphs to false"),
        (
            [*KUHN, "--cpu", "--set", "rollouts.graphs=true", "rollouts.launcher=processes"],
            2,
            "the networks run on the CPU",
        ),
        ([*KUHN, "--game", "beastybar", "--set", "evaluation.exact=always"], 2, "exact NashConv"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_leaves_nothing(
    words, code, said, tmp_path, capsys
):
    assert cli.main(["rl", "--output", str(tmp_path / "p.pt"), *words]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("lanista: ")
    assert list(tmp_path.iterdir()) == []


def test_a_gpu_that_is_not_there_is_one_sentence_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    words = [*KUHN, "--set", "device=cuda", "--output", str(tmp_path / "p.pt")]
    assert cli.main(["rl", *words]) == 2
    assert capsys.readouterr().err == (
        "lanista: device is cuda, and torch sees no GPU here; set device to auto or cpu.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_pipelines_file_says_which_stage_is_taken_and_what_is_missing(tmp_path, capsys):
    words = ["--set", "rollouts.opponents=[self]", "rollouts.matches=4", "evaluation.every=0"]
    output = ["--iterations", "1", "--output", str(tmp_path / "p.pt")]
    assert cli.main(["rl", "--config", str(PIPELINE), *words, *output]) == 0
    assert capsys.readouterr().err.splitlines()[0] == (
        f"Taken is the stage rl of the pipeline {PIPELINE} alone: what its earlier stages make "
        "(record, imitate) is not there; `lanista run` does them all."
    )
    assert cli.main(["rl", *KUHN, "--iterations", "1", "--output", str(tmp_path / "k.pt")]) == 0
    assert "Taken" not in capsys.readouterr().err


def test_a_tracker_that_is_not_installed_costs_a_sentence(tmp_path, capsys, monkeypatch):
    for package in ("tensorboard", "torch.utils.tensorboard", "wandb"):
        monkeypatch.setitem(sys.modules, package, None)
    mirrors = ["--tensorboard", str(tmp_path / "tb"), "--wandb", "project"]
    output = str(tmp_path / "p.pt")
    assert cli.main(["rl", *KUHN, "--iterations", "1", "--output", output, *mirrors]) == 0
    error = capsys.readouterr().err
    assert "tensorboard is not installed" in error
    assert "wandb is not installed" in error


def test_mirrors_are_told_what_the_database_has(tmp_path, monkeypatch):
    logged = {}

    class FakeRun:
        step = 0

        def define_metric(self, name, step_metric): ...

        def log(self, values, step, commit):
            logged[step] = values

        def finish(self, exit_code):
            logged["finished"] = exit_code == 0

    class FakeModule:
        @staticmethod
        def init(**settings):
            logged["project"] = settings["project"]
            return FakeRun()

    monkeypatch.setitem(sys.modules, "wandb", FakeModule)
    output = str(tmp_path / "p.pt")
    assert cli.main(["rl", *KUHN, "--iterations", "2", "--output", output, "--wandb", "here"]) == 0
    assert (logged["project"], logged["finished"]) == ("here", True)
    values = {name: value for update, name, value in rows(output) if update == 2}
    assert {name: logged[2][name] for name in values} == values


def start(output, *words):
    return warm_python.Popen(
        [sys.executable, "-m", "lanista", "rl", *KUHN, "--output", output, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_saves_and_ends_with_130(number, tmp_path):
    output = str(tmp_path / "p.pt")
    running = start(output, "--iterations", "1000000", "--save-every", "1000000")
    assert running.stderr.readline().startswith("update 0 of")
    time.sleep(0.3)
    running.send_signal(number)
    out, error = running.communicate()
    assert running.returncode == 130, error
    assert "go on with --resume" in out
    assert "Stopping after this iteration" in error
    last = max(row[0] for row in rows(output))
    kept = {path.name for path in Path(f"{output}.run/checkpoints").iterdir()}
    assert kept == {"000000", f"{last:06d}"}
    assert read_header(output).step == last


def test_slim_checkpoints_are_asked_for_once_and_may_be_left_again(tmp_path):
    output = tmp_path / "p.pt"
    words = [*KUHN, "--output", str(output), "--iterations"]
    assert cli.main(["rl", *words, "1", "--slim"]) == 0
    assert saved_settings(folder_of(output)).checkpoints.slim
    assert cli.main(["rl", *words, "2", "--resume"]) == 0  # The file says nothing of it.
    assert not saved_settings(folder_of(output)).checkpoints.slim
    assert cli.main(["rl", "--output", str(output), "--iterations", "3", "--resume", "--slim"]) == 0
    assert (folder_of(output) / "needed.txt").is_file()


def test_interrupts_that_come_together_are_one(monkeypatch):
    said = []
    monkeypatch.setattr(interrupt, "ONE_INTERRUPT", 3600.0)
    with interrupt.stopping(said.append) as stop:
        assert not stop()
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop()
    assert len(said) == 1
    monkeypatch.setattr(interrupt, "ONE_INTERRUPT", -1.0)
    with interrupt.stopping(said.append):
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_game_alone_has_settings_chosen_and_printed_and_is_evaluated(tmp_path, capsys):
    output = str(tmp_path / "p.safetensors")
    assert cli.main(["rl", "--game", "kuhn", "--iterations", "2", "--output", output]) == 0
    printed = capsys.readouterr()
    error = printed.err
    assert error.startswith("Settings for kuhn:\n  algorithm      regret\n")
    assert "This is a run of 2 updates" in error
    *_, last, policy, following = printed.out.splitlines()
    assert last.startswith("last evaluation, update 2: score in 400 matches each: random 0.")
    assert "], NashConv " in last
    assert (policy, following) == (f"policy: {output}", f"next: lanista evaluate {output}")
    names = {name for _, name, _ in rows(output)}
    assert {"regret/loss", "exact/nash_conv", "score/random"} <= names


@pytest.mark.parametrize(
    "words", [["--set", "learning.policy=ppo"], ["--pseudo-reward-scale", "0.5"]]
)
def test_who_asks_for_what_ppo_alone_has_gets_ppo(words, tmp_path, capsys):
    output = str(tmp_path / "p.safetensors")
    given = ["--iterations", "1", "--set", "evaluation.bots=[]", "--output", output]
    assert cli.main(["rl", "--game", "kuhn", *given, *words]) == 0
    assert "  algorithm      ppo\n" in capsys.readouterr().err
    assert "magnet/loss" in {name for _, name, _ in rows(output)}


@pytest.mark.parametrize("words", [["--seed", "5"], ["--set", "seed=5"]])
def test_settings_are_chosen_for_the_games_settings_and_the_seed(tmp_path, monkeypatch, words):
    looked_at = []

    def sampled(*asked):
        looked_at.append(asked)
        raise LanistaError("Enough.")

    monkeypatch.setattr(defaults, "sample_of", sampled)
    given = ["--game", "arena", "--set", "game_settings.duration=4.0", *words]
    assert cli.main(["rl", *given, "--output", str(tmp_path / "p")]) == 2
    assert looked_at == [("arena", {"duration": 4.0}, 5)]


def test_an_output_that_is_there_is_refused_before_the_game_is_looked_at(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(defaults, "sample_of", lambda *_: pytest.fail("The game was sampled."))
    output = tmp_path / "p.safetensors"
    folder_of(output).mkdir()
    (folder_of(output) / "config.yaml").touch()
    assert cli.main(["rl", "--game", "kuhn", "--output", str(output)]) == 3
    assert "resume it with --resume" in capsys.readouterr().err


def test_minutes_become_iterations_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        budget,
        "rehearse",
        lambda *_: {"rl/iterations": 2.0, "rl/decisions": 9.0, "rl/judgement_seconds": 0.5},
    )
    output = tmp_path / "p.safetensors"
    words = ["--set", "rollouts.matches=8", "evaluation.bots=[]", "--output", str(output)]
    assert cli.main(["rl", "--game", "kuhn", "--minutes", "0.5", *words]) == 0
    saved = saved_settings(folder_of(output))
    # 30 s at 2 iterations a second, of which ten evaluations take a fifth at most; some time goes
    # by before that is planned, and a little is left over.
    assert 10 <= saved.iterations <= 0.93 * 50
    assert 1 <= saved.evaluation.every <= 5
    assert "Measuring how fast this machine is." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--minutes", "0"], "--minutes is 0; give a number above 0."),
        (["--minutes", "1", "--iterations", "3"], "leave it out with --iterations"),
        (["--minutes", "1", "--resume"], "leave it out with --resume"),
    ],
)
def test_minutes_that_cannot_be_kept_are_refused(words, sentence, tmp_path, capsys):
    assert cli.main(["rl", "--game", "kuhn", "--output", str(tmp_path / "p.pt"), *words]) == 2
    assert sentence in capsys.readouterr().err
