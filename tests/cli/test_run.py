"""`lanista run` as a user types it: begun, skipped, stopped, gone on with, refused."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import warm_python
import yaml

from lanista.cli import main as cli
from lanista.cli.train import stage_view
from lanista.cli.train.stage_view import StageBars, StageLines
from lanista.pipeline import budget
from lanista.pipeline.recipe import load_recipe, read_recipe
from lanista.pipeline.resolve_recipe import settled
from lanista.pipeline.runner import conduct, saved_recipe

TINY = Path(__file__).with_name("small_pipeline.yaml")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_recipe_goes_into_a_folder_of_its_name_and_is_skipped_the_next_time(here, capsys):
    assert cli.main(["run", str(TINY)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "policy: runs/small_pipeline/rl.safetensors\n"
    lines = printed.err.splitlines()
    assert lines[0] == "record: stage 1 of 3, then imitate, rl"
    assert lines[1].startswith("record: done in ")
    assert "rl: stage 3 of 3, the last" in lines
    assert cli.main(["run", "runs/small_pipeline"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "record: done before", "imitate: done before", "rl: done before",
    ]  # fmt: skip
    assert cli.main(["run", str(TINY)]) == 0
    assert cli.main(["run", "runs/small_pipeline", "--seed", "9", "--output-dir", "x"]) == 2
    assert "leave that out" in capsys.readouterr().err


def test_flags_reach_the_recipe(here):
    words = ["--seed", "9", "--cpu", "--set", "stages.rl.iterations=2",
             "--set", "stages.rl.learning.lr=1e-2"]  # fmt: skip
    assert cli.main(["run", str(TINY), "--output-dir", "out", *words]) == 0
    story = saved_recipe(Path("out"))
    assert (story.seed, story.device) == (9, "cpu")
    settings = story.run_settings("rl")
    assert (settings.iterations, settings.learning.lr, settings.seed) == (2, 0.01, 9)
    assert story.stages.imitate.imitation.seed == 9
    # What it was begun with stays when it goes on.
    assert cli.main(["run", "out"]) == 0
    assert saved_recipe(Path("out")) == story


def test_a_stage_that_is_done_again_says_why_by_the_flag_that_was_given(here, capsys):
    plain = ["run", str(TINY), "--output-dir", "out", "--set", "stages.rl.iterations=1"]
    assert cli.main(plain) == 0
    for words, reason in [
        (["--set", "stages.rl.learning.lr=1e-2"],
         "rl: --set stages.rl.learning.lr was 0.0003 and is 0.01 now; "),
        (["--seed", "9"], "record: --seed was 3 and is 9 now; "),
    ]:  # fmt: skip
        capsys.readouterr()
        assert cli.main(["run", "out", *words]) == 0
        assert [line for line in capsys.readouterr().err.splitlines() if line.startswith(reason)]


def test_a_game_without_a_recipe_is_trained_evaluated_and_reported(here, capsys):
    words = ["--set", "stages.rl.iterations=2", "stages.rl.rollouts.matches=8",
             "stages.evaluate.games=4"]  # fmt: skip
    assert cli.main(["run", "--game", "kuhn", *words]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("Settings for kuhn:\n  algorithm      regret\n")
    assert "This is a run of 2 updates" in printed.out
    assert saved_recipe(Path("runs/kuhn")).stages.names == ["rl", "evaluate", "report"]
    # The same command, or the folder, finds all of it done.
    assert cli.main(["run", "--game", "kuhn", *words]) == 0
    assert "rl: done before" in capsys.readouterr().err
    assert cli.main(["run", "runs/kuhn"]) == 0


def test_slim_is_for_every_run_of_a_recipe_and_does_no_stage_again(here, capsys):
    assert cli.main(["run", str(TINY), "--output-dir", "out"]) == 0
    capsys.readouterr()
    assert cli.main(["run", "out", "--slim"]) == 0
    assert "done before" in capsys.readouterr().err
    assert not Path("out/aside").exists()
    story = saved_recipe(Path("out"))
    runs = [name for name in ("rl", "league") if name in story.stages.names]
    assert runs
    assert all(story.run_settings(name).checkpoints.slim for name in runs)
    Path("one.yaml").write_text("game: kuhn\niterations: 2\nnetwork: {width: 8, layers: 1}\n")
    assert cli.main(["run", "one.yaml", "--cpu", "--slim"]) == 0
    assert saved_recipe(Path("runs/one")).run_settings("rl").checkpoints.slim


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["beastybar-quik"], 2, "neither a settings file"),
        ([], 2, "Give a recipe or --game"),
        (["kuhn-ppo", "--game", "kuhn"], 2, "Give a recipe or --game"),
        (["nowhere"], 2, "neither a settings file nor"),
        ([str(TINY), "--set", "stages.rl.iteration=1"], 2, "did you mean 'stages.rl.iterations'?"),
        ([str(TINY), "--set", "stages.league.iterations=1"], 2,
         "has no stage 'league', only record, imitate, rl; write the stage into the file"),
        (["kuhn-ppo", "--set", "stages.rl.iterations=1"], 2, "is a single run without stages"),
        ([str(TINY), "--set", "game=ledux"], 2, "did you mean 'leduc'?"),
        ([str(TINY), "--set", "stages.rl.evaluation.bots=[rando]"], 2, "did you mean 'random'?"),
        ([str(TINY), "--set", "stages.rl.rollouts.opponents=[no.pt]"], 2, "stages.rl: 'no.pt' is"),
        ([str(TINY), "--set", "game=showdown", "game_settings={team_pool_path: nowhere}"], 2,
         "There is no team pool 'nowhere'"),
        ([str(TINY), "--budget", "soon"], 2, "--budget is 'soon'; write it as 90s, 30m or 2h"),
        ([str(TINY), "--budget", "0m"], 2, "--budget is '0m'"),
        ([str(TINY), "--output-dir", str(TINY)], 2, "which is a file; name a folder"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_sentence_and_leaves_nothing(words, code, said, here, capsys):
    assert cli.main(["run", *words]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("lanista: ")
    assert error.count("\n") == 1
    assert list(here.iterdir()) == []


def test_a_budget_is_settled_once_and_kept(here, capsys, monkeypatch):
    rates = {"record/matches": 40.0, "imitate/matches": 64.0, "imitate/decisions_a_match": 2.0,
             "imitate/gathered": 1e4, "imitate/learned": 300.0, "imitate/a_match_of_each": 0.0,
             "rl/iterations": 2.0, "rl/decisions": 50.0, "rl/judgement_seconds": 0.0}  # fmt: skip
    measured = []
    monkeypatch.setattr(budget, "rehearse", lambda *given: measured.append(given) or rates)
    monkeypatch.setattr(budget.time, "perf_counter", lambda: 0.0)
    command = ["run", str(TINY), "--output-dir", "out", "--budget", "3s"]
    assert cli.main(command) == 0
    story = saved_recipe(Path("out"))
    assert (story.budget.seconds, story.budget.rates) == (3.0, rates | {"rehearsal/seconds": 0.0})
    assert story.stages.record.matches == 40
    assert story.run_settings("rl").iterations == 2
    # The same command and the folder alone go on with these numbers, and measure nothing.
    for again in (command, command[:-2], ["run", "out"], ["run", "out", "--budget", "3s"]):
        assert cli.main(again) == 0
    assert saved_recipe(Path("out")) == story
    assert len(measured) == 1
    capsys.readouterr()
    assert cli.main([*command[:-1], "4s"]) == 3
    assert "was begun with one of 3 s" in capsys.readouterr().err
    assert cli.main([*command[:-2], "--seed", "8"]) == 3
    assert "for a time budget and another recipe" in capsys.readouterr().err
    assert cli.main(["run", "out", "--set", "stages.rl.iterations=3"]) == 0
    assert saved_recipe(Path("out")).budget == story.budget


def test_a_pipeline_that_was_begun_without_a_budget_keeps_its_numbers(here, capsys):
    only = yaml.safe_load(TINY.read_text())
    only["stages"] = {"record": only["stages"]["record"]}
    Path("only.yaml").write_text(yaml.safe_dump(only))
    assert cli.main(["run", "only.yaml"]) == 0
    assert cli.main(["run", "runs/only", "--budget", "1m"]) == 3
    assert "was begun without a budget" in capsys.readouterr().err


def test_what_came_of_it_is_printed(here, capsys):
    rl = {"iterations": 1, "network": {"width": 8, "layers": 1}, "rollouts": {"matches": 4}}
    stages = {"rl": rl, "evaluate": {"games": 10}, "report": None}
    Path("kuhn.yaml").write_text(yaml.safe_dump({"game": "kuhn", "stages": stages}))
    assert cli.main(["run", "kuhn.yaml", "--cpu"]) == 0
    out = capsys.readouterr().out
    assert "opponent" in out
    assert "random" in out
    assert "exact NashConv: " in out
    assert out.endswith("policy: runs/kuhn/rl.safetensors\nreport: runs/kuhn/report/report.html\n")
    assert "<html" in Path("runs/kuhn/report/report.html").read_text()


def test_a_folder_with_other_things_in_it_is_left_alone(here, capsys):
    Path("thesis").mkdir()
    Path("thesis/chapter.txt").write_text("precious")
    assert cli.main(["run", str(TINY), "--output-dir", "thesis"]) == 3
    assert "holds 'chapter.txt', but not a pipeline; name a new folder" in capsys.readouterr().err
    assert [path.name for path in Path("thesis").iterdir()] == ["chapter.txt"]


def test_the_folder_of_a_single_run_is_refused_with_the_command_that_goes_on(here, capsys):
    def said(folder):
        assert cli.main(["run", folder]) == 2
        return capsys.readouterr().err

    words = ["--config", "kuhn-ppo", "--iterations", "1", "--set", "rollouts.matches=4",
             "evaluation.every=0"]  # fmt: skip
    assert cli.main(["rl", "--output", "k.pt", *words]) == 0
    capsys.readouterr()
    assert "go on with `lanista rl --output k.pt --resume`" in said("k.pt.run")
    Path("k.pt.run").rename("league")
    assert "go on with `lanista league --output-dir league --resume`" in said("league")
    Path("recipe.yaml").write_text("")
    assert "go on with `lanista run .`" in said("league")
    assert not Path("runs").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="sends Ctrl-C as Unix does")
def test_interrupted_once_it_saves_and_names_the_command_to_go_on(here, capsys):
    """A real process and a real signal; the recipe would go on for hours."""
    values = yaml.safe_load(TINY.read_text())
    values["stages"]["rl"]["iterations"] = 1_000_000
    Path("long.yaml").write_text(yaml.safe_dump(values))
    command = [sys.executable, "-m", "lanista.cli.main", "run", "long.yaml"]
    process = warm_python.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not Path("runs/long/rl.safetensors").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert "go on with: lanista run runs/long" in out
    assert "Stopping after this iteration" in err
    capsys.readouterr()
    # Fewer iterations than were done cannot be asked for; what was done is kept.
    done = saved_recipe(Path("runs/long"))
    assert done.run_settings("rl").iterations == 1_000_000
    assert cli.main(["run", "runs/long", "--set", "stages.rl.iterations=1"]) == 0
    assert "aside/rl-1" in capsys.readouterr().err


class Screen:
    """A terminal that remembers."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self): ...

    def isatty(self):
        return True


def test_the_view_says_which_stage_what_share_and_what_is_left():
    screen = Screen()
    lines = StageLines(screen, every=0.0)
    lines.stages_planned(["record", "rl"])
    lines.stage_skipped("record")
    lines.stage_started("rl")
    lines.work_started(200, "updates")
    lines.updated(50, {"score/random": 0.7, "policy/loss": 1.0})
    lines.work_at(50)
    lines.message("The disk is full.")
    assert screen.text.splitlines() == [
        "record: done before",
        "rl: stage 2 of 2, the last",
        "rl: 25%, 50 of 200 updates: score/random 0.7",
        "The disk is full.",
    ]


def test_a_stage_that_goes_on_is_timed_by_what_was_done_here(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(stage_view.time, "monotonic", lambda: now[0])
    screen = Screen()
    lines = StageLines(screen, every=0.0)
    lines.stages_planned(["rl"])
    lines.stage_started("rl")
    lines.work_started(200, "updates")
    for now[0], update in ((0.0, 100), (30.0, 150), (60.0, 200)):
        lines.work_at(update)
    assert screen.text.splitlines()[1:] == [
        "rl: 50%, 100 of 200 updates",
        "rl: 75%, 150 of 200 updates, about 30 s left",
        "rl: 100%, 200 of 200 updates",
    ]


def test_the_progress_of_imitation_never_runs_backwards(here):
    recipe = read_recipe(TINY)
    del recipe["stages"]["rl"]
    screen = Screen()
    conduct(settled(load_recipe(recipe)), here / "out", observers=[StageLines(screen, every=0.0)])
    lines = re.findall(r"imitate: (\d+)%, [\d,]+ of [\d,]+ (decisions|matches)", screen.text)
    shares = [int(share) for share, _ in lines]
    assert {unit for _, unit in lines} == {"decisions", "matches"}
    assert shares == sorted(shares)
    assert shares[-1] == 100


def test_on_a_terminal_every_stage_has_its_bar():
    screen = Screen()
    with StageBars(screen) as bars:
        bars.stages_planned(["record", "imitate", "rl"])
        bars.stage_skipped("record")
        bars.stage_started("imitate")
        bars.work_started(10, "decisions learned")
        bars.work_advanced(4)
        bars.message("Something happened.")
        bars.stage_finished("imitate")
    assert "Something happened." in screen.text
    for words in ("record", "done before", "imitate", "100%", "waits"):
        assert words in screen.text


def test_without_a_plan_a_sentence_is_still_said():
    screen = Screen()
    StageBars(screen).message("Too early.")
    assert screen.text == "Too early.\n"


def test_help_does_not_load_torch():
    code = (
        "import sys; from lanista.cli.main import main\n"
        "try: main(['run', '--help'])\n"
        "except SystemExit: pass\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    assert "RECIPE_OR_FOLDER" in done.stdout
