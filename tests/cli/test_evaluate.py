"""`lanista evaluate`: who is met, what is printed, and that nothing but the question matters."""

import json
import re

import pytest
import torch

from lanista.cli.main import main
from lanista.games import registry
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

TIMES = ("wall_seconds", "cpu_seconds")


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    return policy_of(tmp_path_factory.mktemp("policy") / "mine.pt", "beastybar")


def policy_of(path, game, seed=0, **settings):
    spec = registry.make(game, **settings).spec
    torch.manual_seed(seed)
    made = Policy(spec, Network(width=16, layers=1))
    torch.nn.init.orthogonal_(made.head.weight, 2.0)
    save_policy(path, made, spec)
    return path


def numbers(tmp_path, *arguments):
    path = tmp_path / "numbers.json"
    assert main(["evaluate", *map(str, arguments), "--output", str(path)]) == 0
    found = json.loads(path.read_text())
    return {key: value for key, value in found.items() if key not in TIMES}


def refused(capsys, *arguments):
    code = main(["evaluate", *map(str, arguments)])
    return code, capsys.readouterr().err


def test_everything_an_evaluation_must_say_is_printed(policy, capsys):
    assert main(["evaluate", str(policy), "--games", "20"]) == 0
    text = capsys.readouterr().out
    assert "plays sampled at temperature 1" in text
    assert "20 matches against each, every deal in both seats, seed 0" in text
    for column in ("opponent", "n", "wins", "draws", "losses", "score", "wins/n", "margin"):
        assert column in text
    for bot in registry.bot_names(registry.entry("beastybar")):
        row = next(line for line in text.splitlines() if line.split()[:1] == [bot])
        assert len(re.findall(r"\[[-+]?\d+\.\d+, [-+]?\d+\.\d+\]", row)) == 3
        assert row.split()[1] == "20"
    assert re.search(r"mean over 10 opponents: score 0\.\d+ \[0\.\d+, 0\.\d+\]", text)
    assert re.search(r"lowest: score 0\.\d+ \[0\.\d+, 0\.\d+\] against \w+", text)
    assert re.search(r"first seat: scores 0\.\d+ \[0\.\d+, 0\.\d+\]", text)
    assert "smallest: the smallest difference of score this could show" in text


def test_wins_draws_losses_and_both_intervals_agree(policy, tmp_path):
    found = numbers(tmp_path, policy, "--games", "30", "--opponents", "random,noisy")
    assert [bout["opponent"] for bout in found["bouts"]] == ["random", "noisy"]
    for bout in found["bouts"]:
        one = bout["standing"]
        assert one["wins"] + one["draws"] + one["losses"] == one["matches"] == 30
        assert one["score"]["value"] == pytest.approx((one["wins"] + one["draws"] / 2) / 30)
        assert one["score"]["n"] == 15  # Pairs of seats on one deal are the units.
        assert one["win_rate"]["n"] == 30
        assert one["smallest_difference"] > 0
    scores = [bout["standing"]["score"]["value"] for bout in found["bouts"]]
    assert found["mean"]["value"] == pytest.approx(sum(scores) / 2)
    assert found["lowest"]["value"] == min(scores)
    assert found["complete"] is True
    assert (found["game"], found["rules_version"], found["seed"]) == ("beastybar", 1, 0)


def test_slots_threads_and_company_change_no_number(policy, tmp_path):
    plain = (policy, "--games", "24", "--opponents", "noisy,random")
    found = [
        numbers(tmp_path, *plain, *extra)
        for extra in ((), ("--slots", "1"), ("--slots", "7", "--threads", "3"))
    ]
    assert found[0] == found[1] == found[2]
    first = numbers(tmp_path, policy, "--games", "24", "--opponents", "noisy")
    assert first["bouts"][0] == found[0]["bouts"][0]


def test_the_policys_manner_is_stated_and_told_apart(policy, tmp_path):
    plain = (policy, "--games", "24", "--opponents", "random")
    sampled, greedy, cold = (
        numbers(tmp_path, *plain, *more) for more in ((), ("--greedy",), ("--temperature", "0.5"))
    )
    assert [one["manner"] for one in (sampled, greedy, cold)] == [
        "sampled at temperature 1",
        "greedy",
        "sampled at temperature 0.5",
    ]
    assert greedy["digest"] == sampled["digest"] + ":greedy"
    assert sampled["bouts"][0]["standing"] != greedy["bouts"][0]["standing"]


def test_opponents_may_be_files_bots_and_all_at_once(policy, tmp_path):
    other = policy_of(tmp_path / "other.pt", "beastybar", seed=4)
    found = numbers(tmp_path, policy, "--games", "4", "--opponents", f"{other},random,all")
    names = [bout["opponent"] for bout in found["bouts"]]
    assert names[:2] == [str(other), "random"]
    assert len(names) == 11
    assert found["bouts"][0]["digest"] != found["digest"]


def test_an_ensemble_and_a_bot_can_be_judged(policy, tmp_path):
    other = policy_of(tmp_path / "other.pt", "beastybar", seed=4)
    both = numbers(tmp_path, f"{policy}+{other}", "--games", "4", "--opponents", "random")
    assert both["name"] == f"{policy}+{other}"
    bot = numbers(tmp_path, "heuristic", "--game", "beastybar", "--games", "4")
    assert bot["manner"] == "as its program says"
    assert len(bot["bouts"]) == 10


def test_a_policys_game_is_made_with_its_own_settings(tmp_path, capsys):
    path = policy_of(tmp_path / "three.pt", "arena", seats=3, duration=2.0)
    found = numbers(tmp_path, path, "--games", "4", "--opponents", "random")
    assert found["settings"]["seats"] == 3
    assert found["bouts"][0]["standing"]["matches"] + found["left_out"] == 6
    text = capsys.readouterr().out
    assert "4 games cannot give every deal all 3 seatings; 6 are played." in text
    assert "every deal in all 3 seats" in text


def test_with_more_than_two_seats_the_share_of_first_places_is_printed(tmp_path, capsys):
    # Nobody dies within a second, so all three share first place in every match.
    path = policy_of(tmp_path / "three.pt", "arena", seats=3, duration=1.0)
    tables = tmp_path / "tables.md"
    arguments = ("--games", "6", "--opponents", "still", "--markdown", tables)
    standing = numbers(tmp_path, path, *arguments)["bouts"][0]["standing"]
    assert standing["first_place"]["value"] == pytest.approx(1 / 3)
    assert (standing["wins"], standing["draws"]) == (0, 6)
    text = capsys.readouterr().out
    assert re.search(r"^ still .* 0\.333 \[0\.\d+, 0\.\d+\]\s*$", text, re.MULTILINE)
    assert "among equals everybody has 0.333" in text
    assert "| score | first place |" in tables.read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["heuristic"], "does not say which game it plays"),
        (["nobody.pt"], "There is no policy file 'nobody.pt'"),
        (["."], "is a folder; name the policy file in it"),
        (["random", "--game", "kuhn", "--greedy"], "--greedy is for policies"),
        (["random", "--game", "kuhn", "--temperature", "2"], "--temperature is for policies"),
        (["random", "--game", "kuhn", "--games", "0"], "--games is 0"),
        (["random", "--game", "kuhn", "--games", "99999999"], "--games is 99,999,999"),
        (["random", "--game", "kuhn", "--opponents", "randm"], "did you mean 'random'?"),
        (["random", "--game", "kuhn", "--opponents", "a,,b"], "--opponents is 'a,,b'"),
        (["random", "--game", "kuhn", "--set", "x=1"], "no setting 'x'"),
    ],
)
def test_what_cannot_be_evaluated_is_said_in_one_sentence(capsys, arguments, sentence):
    code, said = refused(capsys, *arguments)
    assert code == 2
    assert sentence in said
    assert said.count("\n") == 1


def test_a_policy_and_two_manners_or_a_wrong_temperature_are_refused(policy, capsys):
    assert "nothing to chance" in refused(capsys, policy, "--greedy", "--temperature", "1")[1]
    assert "temperature is 0" in refused(capsys, policy, "--temperature", "0", "--games", "2")[1]


def interrupting(monkeypatch, after):
    """Let Ctrl-C come while the part after the first `after` is played."""
    from lanista.evaluation import gauntlet

    plain, played = gauntlet.play, []

    def play(*given, **named):
        played.append(given)
        if len(played) > after:
            raise KeyboardInterrupt
        return plain(*given, **named)

    monkeypatch.setattr(gauntlet, "play", play)
    monkeypatch.setattr(gauntlet, "FIRST_BLOCK", 20)


def test_an_interrupted_evaluation_keeps_whole_units_and_says_so(
    policy, tmp_path, monkeypatch, capsys
):
    interrupting(monkeypatch, 2)
    path = tmp_path / "numbers.json"
    command = ["evaluate", str(policy), "--opponents", "random,noisy", "--games", "2000"]
    assert main([*command, "--output", str(path)]) == 130
    assert "Interrupted: 60 of 4,000 matches played, 60 kept.\n" in capsys.readouterr().out
    found = json.loads(path.read_text())
    assert found["complete"] is False
    assert [bout["standing"]["matches"] for bout in found["bouts"]] == [30, 30]


def test_an_interrupt_before_anything_is_complete_prints_no_numbers(
    policy, tmp_path, monkeypatch, capsys
):
    interrupting(monkeypatch, 0)
    path = tmp_path / "numbers.json"
    assert main(["evaluate", str(policy), "--games", "20", "--output", str(path)]) == 130
    assert capsys.readouterr().out == "Interrupted: 0 of 200 matches played, 0 kept.\n"
    assert not path.exists()


def best_response_to(name, folder):
    """Write the numbers of a best response as `lanista exploit` leaves them."""
    spec = registry.make("beastybar").spec
    record = {
        "victim": name,
        "victim_digest": registry.make_bot("beastybar", name, spec, 0).digest,
        "response": "r",
        "manner": "greedy",
        "score": {"value": 0.9, "low": 0.88, "high": 0.92, "n": 500},
        "wins": 850,
        "draws": 100,
        "losses": 50,
        "reading": {"called": "ceiling"},
        "responses": [{"decisions": 2000}] * 3,
    }
    (folder / f"{name}.safetensors.json").write_text(json.dumps(record))


def test_one_opponent_alone_has_no_cross_table_and_that_is_said_first(policy, capsys):
    code, said = refused(capsys, policy, "--opponents", "random", "--cross-table")
    assert code == 2
    assert "--cross-table lets the opponents meet each other, and random is the only one" in said


def test_distances_to_ceilings_and_the_cross_table_go_into_both_files(policy, tmp_path, capsys):
    best_response_to("noisy", tmp_path)
    page = tmp_path / "table.md"
    words = (policy, "--games", "20", "--opponents", "random,noisy", "--ceilings", tmp_path)
    found = numbers(tmp_path, *words, "--cross-table", "--markdown", page)
    text = capsys.readouterr().out
    mine = {bout["opponent"]: bout["standing"]["score"]["value"] for bout in found["bouts"]}
    assert found["ceilings"]["noisy"]["called"] == "ceiling"
    assert found["cross_table"]["pairs"] == 1
    assert found["cross_table"]["matches"] == 20
    mark, who, table, crossed = page.read_text().split("\n\n")
    assert mark == "<!-- Made by lanista evaluate. -->"
    assert found["digest"][:12] in who
    assert "20 matches against each" in who
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert rows[0][-3:] == ["best response", "what it is", "distance"]
    assert [row[0] for row in rows[2:]] == ["random", "noisy"]
    assert rows[2][-3:] == ["—", "—", "—"]
    assert rows[3][-2] == "ceiling, 3 × 2,000"
    assert float(rows[3][-1].split()[0]) == pytest.approx(0.9 - mine["noisy"], abs=6e-4)
    assert rows[3][-1].split()[0] in text
    assert {line.split("|")[1].strip() for line in crossed.splitlines()[2:]} == {"random", "noisy"}


def test_ceilings_of_short_practice_are_called_lower_bounds(policy, tmp_path):
    best_response_to("noisy", tmp_path)
    words = (policy, "--games", "4", "--opponents", "noisy", "--ceilings", tmp_path)
    found = numbers(tmp_path, *words, "--least-decisions", "2001")
    assert found["ceilings"]["noisy"]["called"] == "lower bound"


def test_two_results_never_go_into_one_file(policy, tmp_path, capsys):
    words = ("--games", "2", "--output", tmp_path / "x.md", "--markdown", tmp_path / "x.md")
    code, said = refused(capsys, policy, *words)
    assert code == 2
    assert "name two files" in said


def test_decisions_of_ceilings_without_ceilings_are_refused(policy, capsys):
    code, said = refused(capsys, policy, "--games", "2", "--least-decisions", "9")
    assert code == 2
    assert "give their folder with --ceilings" in said


def test_a_folder_without_best_responses_is_refused(policy, tmp_path, capsys):
    code, said = refused(capsys, policy, "--games", "2", "--ceilings", tmp_path)
    assert code == 2
    assert "There are no best responses in" in said
