"""`lanista league` as the runbook has it: rounds, roles, exports, resuming."""

import json
from pathlib import Path

import pytest

from lanista.cli import main as cli
from lanista.cli.main import parse
from lanista.cli.train.league import LeagueCommand
from lanista.league.population import Population
from lanista.nets.files.policy_file import read_header, save_policy
from lanista.runs.folder import saved_settings
from lanista.runs.settings import load_settings
from lanista.training.learner_loop import LearnerLoop

TINY = [
    word
    for change in ("network.width=8", "network.layers=1", "replay.minimum=2", "replay.batch=2",
                   "rollouts.unroll_length=8")
    for word in ("--set", change)
]  # fmt: skip


@pytest.fixture(scope="module")
def league(tmp_path_factory):
    """A small league that was run and made longer."""
    folder = tmp_path_factory.mktemp("league") / "kuhn"
    words = ["league", "--game", "kuhn", "--output-dir", str(folder), "--rounds", "2",
             "--rl-iterations-per-round", "2", "--actor-rollouts", "4", "--learner-updates", "2",
             "--seed", "5", "--cpu", *TINY]  # fmt: skip
    assert cli.main(words) == 0
    return folder


def test_its_folder_has_the_policy_the_run_and_the_exports(league):
    assert read_header(league / "main.safetensors").game == "kuhn"
    settings = saved_settings(league)
    assert (settings.iterations, settings.league.round, settings.seed) == (4, 2, 5)
    assert (settings.rollouts.unrolls, settings.learner_updates) == (4, 2)
    assert settings.learning.policy == "vtrace"
    state = json.loads((league / "league_state.json").read_text())
    roles = {player["role"] for player in state["players"]}
    assert {"main", "main_exploiter", "league_exploiter"} <= roles
    summary = json.loads((league / "summary.json").read_text())
    assert summary["training_matches"] > 0
    # Ratings rest on matches of fixed players, so a league without flags plays some every round.
    # Half of the run is more than the share after which a main's weights join the pool.
    assert {row["player"] for row in summary["players"]} >= {"main/000002", "main@8", "random"}
    assert summary["bradley_terry"]["ratings"]
    assert (league / "matches.jsonl").is_file()
    assert "<html" in (league / "report.html").read_text()


def test_resumed_with_more_rounds_it_goes_on(league, capsys):
    before = (league / "main.safetensors").read_bytes()
    assert cli.main(["league", "--output-dir", str(league), "--resume", "--rounds", "3"]) == 0
    assert saved_settings(league).iterations == 6
    assert json.loads((league / "summary.json").read_text())["updates"] == 12
    assert (league / "main.safetensors").read_bytes() != before
    assert f"policy: {league}/main.safetensors" in capsys.readouterr().out


def test_a_league_with_other_settings_is_refused_by_its_flag(league, capsys):
    words = ["league", "--output-dir", str(league), "--resume"]
    for more, flag in [
        (["--rl-iterations-per-round", "7"], "--rl-iterations-per-round"),
        (["--learner-updates", "9"], "--learner-updates"),
        (["--set", "league.mains=2"], "--set league.mains"),
    ]:
        assert cli.main([*words, *more]) == 3
        error = capsys.readouterr().err
        assert error.startswith(f"lanista: {flag} differs: the run {league} was begun with ")
        assert error.endswith("begin another run with another --output-dir.\n")


def test_fewer_rounds_than_are_done_are_refused_by_their_flag(league, capsys):
    words = ["league", "--output-dir", str(league), "--resume", "--rounds", "1"]
    assert cli.main(words) == 3
    error = capsys.readouterr().err
    assert ", and --rounds asks for 2; ask for at least " in error
    assert error.endswith(", or leave it out.\n")


def test_what_is_there_is_not_overwritten(league, capsys):
    assert cli.main(["league", "--game", "kuhn", "--output-dir", str(league)]) == 3
    assert "resume it with --resume" in capsys.readouterr().err


PULLS = {"magnet", "reference"}


@pytest.mark.parametrize("game", [None, "leduc", "kuhn"])
def test_where_good_play_is_mixed_it_is_one_main_that_learns_by_damped_self_play(game, tmp_path):
    words = [] if game is None else ["--game", game]
    settings = parse(["league", "--output-dir", str(tmp_path / "x"), *words])._settings()
    assert settings.game == (game or "arena")
    assert (settings.iterations, settings.league.round) == (400, 20)
    assert settings.league.learners == {"main": "main"}
    assert settings.league.main.matchmaking.kind == "alphastar"
    assert settings.league.main.matchmaking.self_share == 0.65
    assert settings.learning.policy == "ppo"
    assert set(settings.learning.terms) > PULLS
    assert settings.evaluation.every == 20


def test_it_learns_as_rl_does_in_a_game_too_long_for_regrets(tmp_path, capsys):
    words = ["--game", "beastybar", "--seed", "4"]
    league = parse(["league", "--output-dir", str(tmp_path / "x"), *words])._settings()
    rl = parse(["rl", "--output", str(tmp_path / "y"), "--iterations", "400", *words])
    settings = rl._settings(resume=False)
    assert (league.learning, league.network, league.rollouts) == (
        settings.learning, settings.network, settings.rollouts
    )  # fmt: skip
    assert "terms          policy" in capsys.readouterr().err


def test_settings_of_the_game_count_when_the_algorithm_is_chosen(tmp_path):
    words = ["--game", "beastybar", "--set", "game_settings.scoring=count"]
    settings = parse(["league", "--output-dir", str(tmp_path / "x"), *words])._settings()
    assert settings.game_settings == {"scoring": "count"}
    assert set(settings.learning.terms) > PULLS


@pytest.mark.parametrize(
    "words", [["--game", "openspiel:tic_tac_toe"], ["--game", "leduc", "--learner-updates", "2"]]
)
def test_elsewhere_and_where_a_replay_is_asked_for_it_is_alphastars_league(words, tmp_path):
    settings = parse(["league", "--output-dir", str(tmp_path / "x"), *words])._settings()
    assert settings.league.learners == {
        "main": "main",
        "main_exploiter_1": "main_exploiter",
        "league_exploiter_1": "league_exploiter",
    }
    assert settings.league.main.matchmaking.self_share == 0.65
    assert settings.learning.policy == "vtrace"
    assert "anchor_forward" not in settings.learning.terms


def test_a_supervised_policy_is_the_start_and_the_anchor(tmp_path):
    start = tmp_path / "pi_sup.pt"
    population = Population(load_settings({"game": "kuhn"}), tmp_path, LearnerLoop)
    save_policy(start, population.main.learner.policy, population.spec)
    command = LeagueCommand(tmp_path / "x", game="kuhn", supervised_checkpoint=str(start))
    settings = command._settings()
    assert settings.supervised_checkpoint == str(start)
    assert settings.learning.terms["anchor_forward"] > 0


def test_a_pipelines_league_stage_can_be_run_alone(tmp_path):
    file = tmp_path / "story.yaml"
    file.write_text(
        "game: kuhn\nseed: 4\nstages:\n  rl: {iterations: 3}\n"
        "  league: {iterations: 8, league: {round: 4, mains: 2}}\n"
    )
    settings = LeagueCommand(tmp_path / "x", config=str(file))._settings()
    assert (settings.game, settings.iterations, settings.league.mains) == ("kuhn", 8, 2)
    assert settings.supervised_checkpoint is None
    longer = LeagueCommand(tmp_path / "x", config=str(file), rounds=5, slim=True)._settings()
    assert longer.iterations == 20
    assert (settings.checkpoints.slim, longer.checkpoints.slim) == (False, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rounds", "0"], "--rounds is 0"),
        (["--rl-iterations-per-round", "-1"], "--rl-iterations-per-round is -1"),
        (["--set", "league.main=3"], "league.main"),
        (["--set", "league.rond=3"], "did you mean 'league.round'"),
        (["--resume"], "no run"),
        (["--supervised-checkpoint", "nowhere.pt"], "no policy file 'nowhere.pt'"),
    ],
)
def test_slips_are_one_sentence_and_leave_nothing(words, said, tmp_path, capsys):
    folder = tmp_path / "league"
    assert cli.main(["league", "--game", "kuhn", "--output-dir", str(folder), *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not folder.exists()


def test_a_folder_that_is_no_run_is_named_and_left_alone(tmp_path, capsys):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("precious")
    assert cli.main(["league", "--output-dir", str(tmp_path / "thesis"), "--resume"]) == 3
    assert "which holds 'chapter.txt', but not a run" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert cli.main(["league", "--output-dir", str(tmp_path / "empty"), "--resume"]) == 2
    assert "empty is no run: there is no config.yaml in it" in capsys.readouterr().err
    assert cli.main(["league", "--output-dir", str(tmp_path / "empty"), "--game", "kuhm"]) == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["chapter.txt", "empty", "thesis"]


def test_an_empty_folder_may_be_there(tmp_path):
    population = Population(
        load_settings({"game": "kuhn", "network": {"width": 8, "layers": 1}}), tmp_path, LearnerLoop
    )
    start = tmp_path / "pi_sup.pt"
    save_policy(start, population.main.learner.policy, population.spec)
    folder = tmp_path / "reports"
    folder.mkdir()
    words = ["--game", "kuhn", "--supervised-checkpoint", str(start), "--output-dir", str(folder),
             "--rounds", "1", "--rl-iterations-per-round", "1", "--actor-rollouts", "2",
             "--learner-updates", "1", "--cpu"]  # fmt: skip
    assert cli.main(["league", *words, *TINY[4:]]) == 0
    assert Path(saved_settings(folder).supervised_checkpoint).name == "pi_sup.pt"
