"""`lanista imitate`: from folders to a policy file, interrupted, resumed, refused."""

import json
import sys
from pathlib import Path

import pytest

from lanista.cli.main import main
from lanista.cli.train.imitate import Imitate, ImitationFlags
from lanista.data.feedback import append_outcome
from lanista.learn.imitation.cloner import Cloner
from lanista.nets.files.policy_file import load_policy

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from live_client import play_live, rewrite


@pytest.fixture
def replays(tmp_path, capsys):
    folder = tmp_path / "data"
    assert main(["play", "leduc", "--seats", "random,random", "--matches", "60", "--seed", "4",
                 "--record", str(folder)]) == 0  # fmt: skip
    capsys.readouterr()
    return folder


def imitate(folder, output, *more):
    return main(
        ["imitate", "--data-dir", str(folder), "--output", str(output), "--epochs", "3",
         "--batch-size", "32", "--lr", "1e-2", "--size", "s", "--evaluation-matches", "20",
         "--threads", "1", *more]
    )  # fmt: skip


def test_a_policy_its_numbers_and_its_run_folder_are_there_and_agree(replays, tmp_path, capsys):
    output = tmp_path / "pi_sup.pt"
    assert imitate(replays, output, "--opponents", "all", "--temperature", "0.5") == 0
    said = capsys.readouterr().out
    loaded = load_policy(output)
    numbers = json.loads((tmp_path / "pi_sup.pt.json").read_text())
    assert numbers["policy"]["digest"] == loaded.digest
    assert loaded.digest[:12] in said
    assert loaded.header.step == numbers["best_epoch"]
    assert numbers["epochs"] == len(numbers["history"])
    assert numbers["held_out"]["heads"][0]["decisions"] > 0
    assert numbers["held_out"]["value"]["explained_variance"] is not None
    assert numbers["data"]["learned_decisions"] > numbers["data"]["held_out_decisions"] > 0
    meetings = numbers["strength"]["meetings"]
    assert {(one["opponent"], one["manner"]) for one in meetings} == {
        ("random", "sampled"),
        ("random", "greedy"),
        ("random", "temperature 0.5"),
    }
    assert all(one["clone"]["matches"] == 20 for one in meetings)
    assert numbers["strength"]["seed"] == 5  # The deals learned from are of seed 4.
    assert len({one["clone"]["digest"] for one in meetings}) == 3
    assert (tmp_path / "pi_sup.pt.run" / "critic.safetensors").is_file()
    assert (tmp_path / "pi_sup.pt.run" / "config.yaml").is_file()
    for word in ("accuracy", "gain", "balanced", "explained variance", "score [95 % interval"):
        assert word in said


def test_a_critic_of_outcomes_is_judged_by_its_forecasts(replays, tmp_path, capsys):
    output = tmp_path / "p.safetensors"
    assert imitate(replays, output, "--critic", "outcome", "--evaluation-matches", "0") == 0
    assert "calibration error" in capsys.readouterr().out
    numbers = json.loads((tmp_path / "p.safetensors.json").read_text())
    assert numbers["held_out"]["value"]["bins"]


def test_interrupted_it_ends_with_130_and_resumed_it_equals_the_unbroken_run(
    replays, tmp_path, capsys, monkeypatch
):
    whole, broken = tmp_path / "whole" / "p.safetensors", tmp_path / "broken" / "p.safetensors"
    assert imitate(replays, whole) == 0
    train_epoch = Cloner.train_epoch

    def interrupted(self, *given):
        if self.epoch == 2:
            # Half an epoch has been learned, and none of it may count.
            train_epoch(self, *given)
            raise KeyboardInterrupt
        return train_epoch(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Cloner, "train_epoch", interrupted)
        assert imitate(replays, broken) == 130
    said = capsys.readouterr().out
    assert "Interrupted, and saved; go on with --resume." in said
    assert json.loads((tmp_path / "broken" / "p.safetensors.json").read_text())["interrupted"]
    assert load_policy(broken).header.step >= 1
    assert imitate(replays, broken, "--resume") == 0
    assert "resumed after epoch 2" in capsys.readouterr().out
    assert broken.read_bytes() == whole.read_bytes()
    numbers = [
        json.loads(path.with_name("p.safetensors.json").read_text()) for path in (whole, broken)
    ]
    for name in ("history", "held_out", "strength", "best_epoch"):
        assert numbers[0][name] == numbers[1][name]


def test_interrupted_before_the_first_epoch_it_can_be_resumed(replays, tmp_path, monkeypatch):
    def interrupted(self, *given):
        raise KeyboardInterrupt

    output = tmp_path / "p.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr(Cloner, "train_epoch", interrupted)
        assert imitate(replays, output) == 130
    assert not output.exists()
    assert imitate(replays, output, "--resume") == 0


def test_what_is_there_is_not_overwritten_and_other_settings_are_not_mixed_in(
    replays, tmp_path, capsys
):
    output = tmp_path / "p.safetensors"
    assert imitate(replays, output, "--resume") == 2
    assert "no run" in capsys.readouterr().err
    assert imitate(replays, output) == 0
    before = output.read_bytes()
    assert imitate(replays, output) == 3
    assert "--resume" in capsys.readouterr().err
    assert imitate(replays, output, "--resume", "--seed", "1") == 3
    assert "--seed differs: the run was begun with imitation.seed 0" in capsys.readouterr().err
    assert imitate(replays, output, "--resume", "--network.kind", "residual") == 3
    assert (
        "--network.kind differs: the run was begun with network.kind 'mlp'"
        in capsys.readouterr().err
    )
    main(["play", "leduc", "--seats", "random,random", "--matches", "4", "--seed", "8",
          "--record", str(replays)])  # fmt: skip
    assert imitate(replays, output, "--resume") == 3
    assert "demonstrations are not those" in capsys.readouterr().err
    assert output.read_bytes() == before


def test_a_damaged_checkpoint_is_noticed_and_an_earlier_one_used(replays, tmp_path, capsys):
    output = tmp_path / "p.safetensors"
    assert imitate(replays, output) == 0
    before = output.read_bytes()
    newest = tmp_path / "p.safetensors.run" / "checkpoints" / "000003" / "tensors.safetensors"
    data = bytearray(newest.read_bytes())
    data[-10] ^= 1
    newest.write_bytes(data)
    assert imitate(replays, output, "--resume") == 0
    assert "is damaged" in capsys.readouterr().out
    assert output.read_bytes() == before


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--player", "randon"], "did you mean 'random'"),
        (["--opponents", "randon"], "did you mean 'random'"),
        (["--epochs", "0"], "epochs is 0"),
        (["--lr", "0"], "lr is 0"),
        (["--hold-out", "1"], "hold_out is 1"),
        (["--evaluation-matches", "-1"], "--evaluation-matches is -1"),
        (["--temperature", "0"], "emperature"),
        (["--reports-live-dir", "x"], "give --feedback-dir too"),
    ],
)
def test_slips_are_refused_in_one_sentence_and_leave_nothing(
    replays, tmp_path, capsys, flags, reason
):
    output = tmp_path / "out" / "p.safetensors"
    assert imitate(replays, output, *flags) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("out/*"))


def test_nothing_to_imitate_is_refused(tmp_path, capsys):
    assert main(["imitate", "--output", str(tmp_path / "p")]) == 2
    error = capsys.readouterr().err
    assert "give --data-dir or --feedback-dir, or --game and --teacher" in error


def dagger(output, *more):
    return main(
        ["imitate", "--game", "arena", "--set", "duration=4", "--teacher", "kiter",
         "--dagger-rounds", "1", "--dagger-matches", "6", "--dagger-epochs", "1", "--epochs", "1",
         "--network.width", "16", "--network.symmetry", "8", "--evaluation-matches", "8",
         "--threads", "1", "--output", str(output), *more]
    )  # fmt: skip


def test_a_teacher_plays_and_labels_what_its_clone_meets(tmp_path, capsys):
    output = tmp_path / "clone.safetensors"
    assert dagger(output, "--dagger-opponents", "self,still", "--dagger-beta", "0.3") == 0
    said = capsys.readouterr().out
    assert "round 1 of 1: kiter labelled" in said
    assert "chance 0.3" in said
    numbers = json.loads((tmp_path / "clone.safetensors.json").read_text())
    assert [one["name"] for one in numbers["data"]["teachers"]] == ["kiter"]
    assert numbers["game"]["settings"]["duration"] == 4.0
    assert numbers["epochs"] == 2
    assert numbers["settings"]["imitation"]["dagger"]["opponents"] == ["self", "still"]
    assert {one["opponent"] for one in numbers["strength"]["meetings"]} == {"kiter"}
    assert numbers["strength"]["seed"] == 1  # The rounds were played on deals of seed 0.
    assert load_policy(output).policy.network.symmetry == 8
    assert dagger(output, "--resume", "--dagger-matches", "8") == 3
    assert "--dagger-matches differs" in capsys.readouterr().err


def test_recorded_matches_bring_the_settings_of_their_game_along(replays, tmp_path, capsys):
    flags = ["--game", "arena", "--set", "duration=4"]
    assert imitate(replays, tmp_path / "p", *flags) == 2
    assert "recorded matches bring their settings along" in capsys.readouterr().err
    assert main(["imitate", "--output", str(tmp_path / "p"), "--set", "duration=4"]) == 2
    assert "name it with --game" in capsys.readouterr().err


def test_the_bot_that_was_recorded_is_the_teacher_unless_another_is_named(
    replays, tmp_path, capsys
):
    output = tmp_path / "p.safetensors"
    flags = ["--dagger-rounds", "1", "--dagger-matches", "10"]
    assert imitate(replays, output, *flags, "--dagger-epochs", "1") == 0
    assert "round 1 of 1: random labelled" in capsys.readouterr().out
    numbers = json.loads((tmp_path / "p.safetensors.json").read_text())
    assert numbers["data"]["matches"] == 70
    assert numbers["strength"]["seed"] == 6  # Seed 4 was recorded, seed 5 the round's.


def test_live_feedback_alone_is_learned_from(tmp_path, capsys):
    play_live(tmp_path / "feedback", matches=20)
    for match in range(10):
        append_outcome(tmp_path / "live", "monday", "win" if match % 2 else "loss",
                       match=f"m{match}")  # fmt: skip
    output = tmp_path / "p.safetensors"
    code = main(
        ["imitate", "--feedback-dir", str(tmp_path / "feedback"), "--reports-live-dir",
         str(tmp_path / "live"), "--output", str(output), "--epochs", "1", "--size", "s"]
    )  # fmt: skip
    assert code == 0
    numbers = json.loads((tmp_path / "p.safetensors.json").read_text())
    assert numbers["data"]["outcomes"] == {"win": 5, "draw": 0, "loss": 5, "unknown": 10}
    assert numbers["data"]["feedback"]["linked"] == 10
    assert numbers["data"]["extras"] == ["banner", "fps", "time"]
    assert numbers["strength"]["meetings"] == []
    assert "client is no bot of kuhn" in capsys.readouterr().out


def test_the_check_of_all_three_sources_comes_before_training(replays, tmp_path, capsys):
    play_live(tmp_path / "feedback", game="leduc", matches=3)
    append_outcome(tmp_path / "live", "monday", "win", match="m0")
    folders = ["--data-dir", str(replays), "--feedback-dir", str(tmp_path / "feedback"),
               "--reports-live-dir", str(tmp_path / "live")]  # fmt: skip
    out = tmp_path / "check.json"
    assert main(["data", *folders, "--json", str(out)]) == 0
    said = capsys.readouterr().out
    assert "60 matches" in said
    assert "1 sessions, 3 matches" in said
    assert "linked: 1 outcomes; 0 have no feedback" in said
    numbers = json.loads(out.read_text())
    assert numbers["matches"] == 60
    assert numbers["feedback"]["matches"] == 3
    rewrite(tmp_path / "feedback", ["{}"], session="bad")
    assert main(["data", *folders]) == 1
    assert "bad/feedback_stream.jsonl: line 1" in capsys.readouterr().out


def test_games_that_cannot_be_trained_on_together_are_told(replays, tmp_path, capsys):
    play_live(tmp_path / "feedback", game="kuhn")
    flags = ["--data-dir", str(replays), "--feedback-dir", str(tmp_path / "feedback")]
    assert main(["data", *flags]) == 0
    assert "These are of 2 games or settings" in capsys.readouterr().out
    assert main(["imitate", *flags, "--output", str(tmp_path / "p")]) == 2
    assert "give folders of one game" in capsys.readouterr().err


def test_reports_alone_are_checked_for_their_form(tmp_path, capsys):
    append_outcome(tmp_path, "monday", "win", match="m0")
    assert main(["data", "--reports-live-dir", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "1 manifests, 1 outcomes" in said
    assert "no outcome is linked" in said


def test_the_flags_of_the_seeds_are_understood():
    import tyro

    words = ["--data-dir", "data/processed", "--feedback-dir", "reports/feedback_training",
             "--reports-live-dir", "reports/live", "--output", "artifacts/pi_sup.pt",
             "--epochs", "10", "--batch-size", "128", "--lr", "3e-4"]  # fmt: skip
    assert tyro.cli(Imitate, args=words) == Imitate(
        output=Path("artifacts/pi_sup.pt"),
        data_dir=Path("data/processed"),
        feedback_dir=Path("reports/feedback_training"),
        reports_live_dir=Path("reports/live"),
        imitation=ImitationFlags(epochs=10, batch_size=128, lr=3e-4),
    )


def test_the_commands_in_the_docs_are_understood():
    from lanista.cli.main import parse

    docs = Path(__file__).parents[2] / "docs"
    lines = [
        line
        for page in ("guides/imitation.md", "reference/feedback.md")
        for text in (docs / page).read_text().split("```")[1::2]
        for line in text.splitlines()
        if line.startswith("lanista ")
    ]
    assert len(lines) == 8
    for line in lines:
        parse(line.split()[1:])
