import json
import shutil

import pytest

from lanista.cli import main as cli
from lanista.live.learner.ledger import NAME, Ledger
from lanista.live.sc2 import first_policy

FILES = {
    "summary.json", "league_state.json", "matches.jsonl", "exploiter_registry.json", "report.html",
}  # fmt: skip
SMALL = ["network.width=8", "network.layers=1", "rollouts.matches=16"]
JUDGED = ["evaluation.every=2", "evaluation.bots=[random]", "evaluation.matches=20"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    words = ["rl", "--config", "kuhn-ppo", "--iterations", "4", "--output", str(folder / "k.pt")]
    assert cli.main([*words, "--set", *SMALL, *JUDGED]) == 0
    return folder


@pytest.fixture
def policy(made, tmp_path):
    """A policy file with its run beside it, to be written to."""
    shutil.copytree(made, tmp_path / "here")
    return tmp_path / "here" / "k.pt"


def refused(words, capsys):
    code = cli.main(["report", *map(str, words)])
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return code, said


def test_a_report_on_a_policy_file_lies_in_its_run(policy, capsys):
    assert cli.main(["report", str(policy)]) == 0
    folder = policy.parent / "k.pt.run" / "report"
    assert {path.name for path in folder.iterdir()} == FILES
    printed = capsys.readouterr().out
    assert all(str(folder / name) in printed for name in FILES)
    assert "main@4" in printed
    assert "random" in printed
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["game"] == "kuhn"
    assert summary["matches"] == 40
    assert {row["player"] for row in summary["players"]} == {"main@2", "main@4", "random"}


def test_what_is_wrong_with_a_run_is_printed(tmp_path, capsys):
    words = ["rl", "--config", "kuhn-ppo", "--iterations", "10", "--output", str(tmp_path / "k.pt")]
    assert cli.main([*words, "--set", *SMALL, "learning.terms.value=0", "evaluation.every=0"]) == 0
    capsys.readouterr()
    assert cli.main(["report", str(tmp_path / "k.pt")]) == 0
    assert "critic_untrained: The value term of main has the weight 0" in capsys.readouterr().out


def test_a_learners_older_states_are_in_the_summary_only(policy, capsys):
    assert cli.main(["report", str(policy)]) == 0
    printed = capsys.readouterr().out
    assert "main@2" not in printed
    assert "and 1 more in summary.json" in printed


def test_a_folder_with_one_run_is_reported_on_in_itself(policy):
    assert cli.main(["report", str(policy.parent)]) == 0
    assert {path.name for path in (policy.parent / "report").iterdir()} == FILES


def test_the_output_folder_can_be_chosen(policy, tmp_path):
    chosen = tmp_path / "elsewhere" / "deep"
    assert cli.main(["report", f"{policy}.run", "--output-dir", str(chosen)]) == 0
    assert {path.name for path in chosen.iterdir()} == FILES
    assert not (policy.parent / "k.pt.run" / "report").exists()


def test_a_report_on_exported_files_has_the_same_numbers(policy, tmp_path, capsys):
    assert cli.main(["report", str(policy)]) == 0
    there = policy.parent / "k.pt.run" / "report"
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("league_state.json", "matches.jsonl"):
        shutil.copy(there / name, moved / name)
    output = tmp_path / "new" / "numbers.json"
    words = ["--league-state", moved / "league_state.json", "--matches", moved / "matches.jsonl"]
    assert cli.main(["report", *map(str, words), "--output", str(output)]) == 0
    assert json.loads(output.read_text()) == json.loads((there / "summary.json").read_text())
    assert {path.name for path in output.parent.iterdir()} == {"numbers.json", "report.html"}
    assert str(output) in capsys.readouterr().out


def test_the_fixed_point_of_ratings_can_be_chosen(policy, capsys):
    assert cli.main(["report", str(policy), "--anchor", "random"]) == 0
    summary = json.loads((policy.parent / "k.pt.run" / "report" / "summary.json").read_text())
    assert summary["bradley_terry"]["anchor"] == "random"
    shutil.rmtree(policy.parent / "k.pt.run" / "report")
    capsys.readouterr()
    code, said = refused([policy, "--anchor", "nobody"], capsys)
    assert code == 2
    assert "'nobody' played no match that counts" in said
    assert not list((policy.parent / "k.pt.run").glob("report/*"))


def test_what_is_no_run_is_refused_in_one_line(policy, tmp_path, capsys):
    code, said = refused([tmp_path / "nothing"], capsys)
    assert code == 2
    assert "There is no run at" in said
    code, said = refused([tmp_path], capsys)
    assert code == 2
    assert "is no run" in said
    (policy.parent / "k.pt.run" / "run.db").write_bytes(b"x" * 5000)
    code, said = refused([policy], capsys)
    assert code == 2
    assert "run.db is damaged" in said


def test_a_run_and_exported_files_are_not_mixed(policy, capsys):
    code, said = refused([], capsys)
    assert code == 2
    assert "Name a RUN, or give --league-state, --matches and --output" in said
    code, said = refused([policy, "--output", "x.json"], capsys)
    assert code == 2
    assert "cannot be reported on at once" in said
    code, said = refused(["--league-state", "a", "--matches", "b"], capsys)
    assert code == 2
    assert "together" in said


def test_an_output_that_is_a_folder_is_refused(policy, tmp_path, capsys):
    assert cli.main(["report", str(policy)]) == 0
    there = policy.parent / "k.pt.run" / "report"
    capsys.readouterr()
    words = ["--league-state", there / "league_state.json", "--matches", there / "matches.jsonl"]
    code, said = refused([*words, "--output", tmp_path], capsys)
    assert code == 2
    assert "which is a folder" in said


def test_a_policy_folder_without_a_learner_is_told_what_to_run(tmp_path, capsys):
    first_policy(tmp_path / "policy")
    for path in (tmp_path / "policy", tmp_path):
        assert cli.main(["report", str(path)]) == 2
        said = capsys.readouterr().err
        assert f"No learner has run on {str(tmp_path / 'policy')!r} yet; run `lanista learn" in said
        assert not (path / "report").exists()


def test_a_demonstrations_folder_means_its_policies_and_has_the_report(tmp_path, capsys):
    first_policy(tmp_path / "policy")
    (tmp_path / "policy" / "learner").mkdir()
    Ledger(tmp_path / "policy" / "learner" / NAME, write=True).close()
    assert cli.main(["report", str(tmp_path)]) == 0
    assert str(tmp_path / "report" / "report.html") in capsys.readouterr().out
    assert (tmp_path / "report" / "report.html").is_file()
    assert cli.main(["report", str(tmp_path / "policy"), "--anchor", "x"]) == 2
    assert "--anchor is 'x', and a live bot's policies have no ratings" in capsys.readouterr().err
