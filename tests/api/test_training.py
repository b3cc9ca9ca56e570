"""Training from a script: the same runs as the commands', watched, stopped and gone on with."""

import os
import signal
import threading
from pathlib import Path

import pytest
from pipeline_runs import KUHN

import lanista
from lanista.cli.main import main
from lanista.training.time_limit import TimeLimit

SMALL = {**KUHN, "iterations": 4, "device": "cpu", "evaluation": {"every": 2, "exact": "never"}}
TINY_PIPELINE = Path(__file__).parents[1] / "cli" / "small_pipeline.yaml"


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    return lanista.train(SMALL, output=tmp_path_factory.mktemp("run") / "p.safetensors")


def test_every_update_is_told_and_the_numbers_are_the_runs(tmp_path):
    seen = []
    result = lanista.train(
        SMALL, output=tmp_path / "p.safetensors", on_update=lambda *told: seen.append(told)
    )
    assert [update for update, _ in seen] == [1, 2, 3, 4]
    rows = result.rows()
    assert [row["update"] for row in rows if row["policy/loss"] is not None] == [1, 2, 3, 4]
    assert rows[-1]["policy/loss"] == seen[-1][1]["policy/loss"] == result.values["policy/loss"]
    assert (result.updates, result.complete) == (4, True)
    assert result.digest == result.load().digest


def test_keywords_change_a_recipe_as_the_command_does(tmp_path):
    mine = lanista.train(
        "kuhn-ppo",
        output=tmp_path / "a" / "p.safetensors",
        iterations=2,
        learning={"lr": 1e-3, "epochs": 1},
        rollouts={"matches": 16},
        seed=3,
        device="cpu",
    )
    settings = ["learning.lr=1e-3", "learning.epochs=1", "rollouts.matches=16"]
    words = ["--iterations", "2", "--seed", "3", "--cpu", "--set", *settings]
    there = tmp_path / "b" / "p.safetensors"
    assert main(["rl", "--config", "kuhn-ppo", "--output", str(there), *words]) == 0
    assert there.read_bytes() == mine.policy_path.read_bytes()


def test_a_callback_stops_a_run_that_then_goes_on_to_the_same_bits(tmp_path, unbroken):
    output = tmp_path / "p.safetensors"
    stopped = lanista.train(SMALL, output=output, on_update=lambda update, values: update == 2)
    assert (stopped.updates, stopped.complete) == (2, False)
    resumed = lanista.train(output=output, resume=True)
    assert resumed.complete
    assert resumed.digest == unbroken.digest


def test_an_interrupt_saves_the_run_and_is_raised(tmp_path, unbroken, capfd):
    output = tmp_path / "p.safetensors"

    def interrupting(update, values):
        if update == 1:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        lanista.train(SMALL, output=output, on_update=interrupting)
    assert signal.getsignal(signal.SIGINT) is before
    assert "Stopping after this iteration, and saving" in capfd.readouterr().err
    assert lanista.train(SMALL, output=output, resume=True).digest == unbroken.digest


def test_what_a_callback_raises_comes_out_once_the_run_is_saved(tmp_path, unbroken):
    output = tmp_path / "p.safetensors"

    def failing(update, values):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        lanista.train(SMALL, output=output, on_update=failing)
    assert lanista.train(SMALL, output=output, resume=True).digest == unbroken.digest


def test_a_run_in_another_thread_trains_too(tmp_path, unbroken):
    found = []
    output = tmp_path / "p.safetensors"
    work = threading.Thread(target=lambda: found.append(lanista.train(SMALL, output=output)))
    work.start()
    work.join()
    assert found[0].digest == unbroken.digest


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"iteratons": 3}, "no setting 'iteratons'; did you mean 'iterations'"),
        ({"learning": {"lrr": 3}}, r"no setting 'learning\.lrr'"),
        ({"learning": {"lr": object()}}, r"learning\.lr is <object"),
        ({"iterations": 0}, "iterations is 0; give at least 1"),
        (
            {"learning": {"eta": 0}, "rollouts": {"opponents": ["rnd"]}},
            "'rnd' is neither a bot of kuhn",
        ),
    ],
)
def test_settings_that_cannot_be_used_get_the_commands_sentence(tmp_path, settings, sentence):
    with pytest.raises(lanista.LanistaError, match=sentence):
        lanista.train("kuhn-ppo", output=tmp_path / "p.safetensors", **settings)
    assert not list(tmp_path.iterdir())


def test_one_stage_of_a_pipeline_is_trained_alone_and_that_is_said(tmp_path):
    said = []
    lanista.train(
        TINY_PIPELINE,
        output=tmp_path / "p.safetensors",
        iterations=1,
        rollouts={"opponents": ["self"], "matches": 4},
        network={"width": 8, "layers": 1},
        on_notice=said.append,
    )
    assert "stage rl of the pipeline" in said[0]
    assert "(record, imitate)" in said[0]


def test_a_run_that_is_there_is_refused(unbroken):
    with pytest.raises(lanista.RefusedError, match="resume"):
        lanista.train(SMALL, output=unbroken.policy_path)


def test_recorded_play_is_imitated(tmp_path):
    played = lanista.play("kuhn", ["random"] * 2, matches=100, record=tmp_path / "replays")
    epochs = []
    clone = lanista.imitate(
        played.replays,
        output=tmp_path / "clone.safetensors",
        network={"width": 8, "layers": 1},
        imitation={"epochs": 2, "batch_size": 64},
        evaluation_matches=0,
        device="cpu",
        on_epoch=epochs.append,
    )
    assert [entry["epoch"] for entry in epochs] == [row["epoch"] for row in clone.rows()] == [1, 2]
    assert clone.nll == min(row["held_out_nll"] for row in clone.rows())
    assert clone.load().digest == clone.digest
    with pytest.raises(lanista.LanistaError, match="nothing to imitate"):
        lanista.imitate(output=tmp_path / "other.safetensors")


def test_what_a_callback_raises_of_an_epoch_comes_out_and_the_epoch_is_saved(tmp_path):
    played = lanista.play("kuhn", ["random"] * 2, matches=100, record=tmp_path / "replays")

    def on_epoch(values):
        raise ZeroDivisionError(f"epoch {values['epoch']}")

    how = {
        "output": tmp_path / "clone.safetensors",
        "network": {"width": 8, "layers": 1},
        "imitation": {"epochs": 2, "batch_size": 64},
        "evaluation_matches": 0,
        "device": "cpu",
    }
    with pytest.raises(ZeroDivisionError, match="epoch 1"):
        lanista.imitate(played.replays, on_epoch=on_epoch, **how)
    epochs = []
    lanista.imitate(played.replays, resume=True, on_epoch=epochs.append, **how)
    assert [values["epoch"] for values in epochs] == [2]


def test_a_policy_is_exploited(tmp_path, unbroken):
    few = {"train_steps": 600, "games": 20, "selection_games": 20, "points": 2, "device": "cpu"}
    output = tmp_path / "response.safetensors"
    found = lanista.exploit(unbroken.policy_path, output=output, **few)
    assert found.score.n == 10
    assert found.called == "lower bound"
    assert len(found.rows()) == len(found.record["responses"][0]["curve"])
    assert found.load().game == "kuhn"
    with pytest.raises(lanista.LanistaError, match="did you mean 'train_steps'"):
        lanista.exploit(unbroken.policy_path, output=tmp_path / "x", train_step=3)
    with pytest.raises(lanista.LanistaError, match=r"write the bot to a file"):
        lanista.exploit(lanista.PythonBot, game="kuhn", output=tmp_path / "x")


def test_a_recipe_runs_and_what_is_done_is_skipped(tmp_path):
    folder, begun = tmp_path / "pipeline", []
    told = {
        "stages": {"rl": {"iterations": 2, "evaluation": {"every": 2}}},
        "on_stage": begun.append,
    }
    done = lanista.run(TINY_PIPELINE, output_dir=folder, **told)
    assert begun == ["record", "imitate", "rl"] == list(done.stages)
    assert done.load().game == "leduc"
    assert lanista.read_run(folder / "rl.safetensors").record.updates == 2
    assert lanista.run(folder, on_stage=begun.append).policy_path == done.policy_path
    assert len(begun) == 3


def test_what_a_callback_raises_of_a_stage_ends_the_pipeline_before_it(tmp_path):
    def on_stage(name):
        if name == "imitate":
            raise ZeroDivisionError(name)

    folder = tmp_path / "pipeline"
    with pytest.raises(ZeroDivisionError, match="imitate"):
        lanista.run(TINY_PIPELINE, output_dir=folder, on_stage=on_stage)
    assert (folder / "data").is_dir()
    assert not (folder / "imitation.safetensors.run").exists()


def test_a_run_is_read_as_rows_and_reported(tmp_path, unbroken):
    numbers = lanista.read_run(unbroken.folder)
    assert [update for update, _ in numbers.series("value/loss")] == [1, 2, 3, 4]
    assert set(numbers.rows("value/loss")[0]) == {"update", "value/loss"}
    assert "kuhn, 4 updates" in repr(numbers)
    with pytest.raises(lanista.LanistaError, match="did you mean 'value/loss'"):
        numbers.series("value/los")
    page = lanista.write_report(unbroken.folder, tmp_path / "report")
    assert page.is_file()


def test_a_run_whose_time_is_over_is_not_complete(tmp_path, monkeypatch):
    asked_about = []

    def is_last(_):
        asked_about.append(1)
        return len(asked_about) == 2

    monkeypatch.setattr(TimeLimit, "is_last", is_last)
    result = lanista.train(SMALL, output=tmp_path / "p.safetensors", minutes=0.05)
    assert (result.updates, result.complete) == (2, False)


@pytest.mark.parametrize("minutes", [0, -1.0, float("nan"), float("inf")])
def test_minutes_that_are_none_are_refused(tmp_path, minutes):
    with pytest.raises(lanista.LanistaError, match="give a number above 0"):
        lanista.train(SMALL, output=tmp_path / "p.safetensors", minutes=minutes)
