"""`lanista play`: who is seated, what is printed, what is recorded."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest
import warm_python

from lanista.cli.main import main
from lanista.data.replays import read_replays, resimulate

BOTS = """
from lanista.games import PythonBot

class Bets(PythonBot):
    name = "bets"
    def choose(self, observation, legal, stream):
        return legal[0][-1]

class Passes(PythonBot):
    name = "passes"
    def choose(self, observation, legal, stream):
        return legal[0][0]
"""


@pytest.fixture
def bots(tmp_path):
    path = tmp_path / "my_bots.py"
    path.write_text(BOTS)
    return path


def numbers(tmp_path, *arguments):
    path = tmp_path / "numbers.json"
    assert main(["play", *arguments, "--json", str(path)]) == 0
    return json.loads(path.read_text())


def without_times(found):
    return {key: value for key, value in found.items() if not key.endswith("_seconds")}


def test_everything_an_evaluation_must_say_is_printed(capsys):
    assert main(["play", "beastybar", "--seats", "heuristic,random", "--matches", "200"]) == 0
    text = capsys.readouterr().out
    assert "200 matches, 100 pairs of seats swapped on the same deal" in text
    for column in ("wins", "draws", "losses", "score", "wins/n", "margin"):
        assert column in text
    assert re.search(r"first seat: scores 0\.\d+ \[0\.\d+, 0\.\d+\]", text)
    assert re.search(r"smallest difference this could show: 0\.\d+ of score", text)
    assert re.search(r"decisions: [\d,]+; .* a second, .* a CPU second", text)


def test_the_numbers_agree_with_each_other_and_name_what_was_played(tmp_path):
    found = numbers(tmp_path, "kuhn", "--seats", "random,random", "--matches", "500", "--seed", "9")
    one, two = found["standings"]
    assert one["wins"] + one["draws"] + one["losses"] == one["matches"] == 500
    assert (one["wins"], one["draws"], one["losses"]) == (two["losses"], two["draws"], two["wins"])
    assert one["score"]["value"] == pytest.approx((one["wins"] + one["draws"] / 2) / 500)
    assert one["score"]["n"] == 250
    assert one["win_rate"]["n"] == 500
    assert len(one["digest"]) == 64
    assert (found["game"], found["seed"], found["rules_version"]) == ("kuhn", 9, 1)


def test_slots_and_threads_change_no_number(tmp_path):
    plain = ("beastybar", "--seats", "heuristic,random", "--matches", "60")
    found = [
        without_times(numbers(tmp_path, *plain, *extra))
        for extra in ((), ("--slots", "1"), ("--slots", "7", "--threads", "3"))
    ]
    assert found[0] == found[1] == found[2]


def test_another_seed_gives_other_matches(tmp_path):
    plain = ("kuhn", "--seats", "random,random", "--matches", "200")
    assert without_times(numbers(tmp_path, *plain, "--seed", "1")) != without_times(
        numbers(tmp_path, *plain, "--seed", "2")
    )


def test_rounding_up_is_said(capsys):
    main(["play", "kuhn", "--seats", "random,random", "--matches", "7"])
    assert (
        "7 matches cannot give every deal all 2 seatings; 8 are played." in capsys.readouterr().out
    )


def test_the_number_of_seats_follows_from_who_plays(tmp_path, capsys):
    found = numbers(tmp_path, "beastybar", "--seats", "heuristic,random,random", "--matches", "6")
    assert found["settings"]["seats"] == 3
    assert [s["name"] for s in found["standings"]] == ["heuristic", "random", "random #2"]
    assert len(found["versus"]) == 3
    assert "against" in capsys.readouterr().out


def test_settings_and_options_reach_the_game(tmp_path):
    found = numbers(
        tmp_path, "beastybar", "--seats", "random,random", "--matches", "2",
        "--set", "scoring=count", "kangaroo_may_stay=true", "--set", "first=1",
    )  # fmt: skip
    assert found["settings"]["scoring"] == "count"
    assert found["settings"]["kangaroo_may_stay"] is True
    assert found["options"] == {"first": 1}


def test_bots_from_a_file_play_and_their_digest_is_the_files(tmp_path, bots):
    arguments = ("kuhn", "--seats", f"{bots}:Bets,{bots}:Passes", "--matches", "20")
    before = numbers(tmp_path, *arguments)
    assert before["standings"][0]["wins"] == 20  # A bet that nobody calls takes the pot.
    one, two = (standing["digest"] for standing in before["standings"])
    assert one != two
    bots.write_text(BOTS + "\n# Edited.\n")
    after = numbers(tmp_path, *arguments)
    assert after["standings"][0]["digest"] != one


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("kuhn",), "--seats is missing"),
        (("kuhn", "--seats", "random"), "kuhn has 2 seats, and 1 player is named; name"),
        (("beastybar", "--seats", "random"), "beastybar has 2, 3 or 4 seats, and 1 player is"),
        (("kuhn", "--seats", "random,"), "write names with commas between"),
        (("kuhn", "--seats", "random,rondom"), "did you mean 'random'?"),
        (("kun", "--seats", "random,random"), "did you mean 'kuhn'?"),
        (("kuhn", "--seats", "random,random", "--matches", "0"), "--matches is 0"),
        (("kuhn", "--seats", "random,random", "--matches", "9" * 15), "give at most 10,000,000"),
        (("kuhn", "--seats", "random,random", "--slots", "0"), "--slots is 0"),
        (("kuhn", "--seats", "random,random", "--threads", "9999"), "give at most 1024"),
        (("kuhn", "--seats", "random,random", "--threads", "-1"), "--threads is -1"),
        (("kuhn", "--seats", "random,random", "--seed", "-1"), "seed is -1"),
        (("kuhn", "--seats", "random,random", "--set", "x=1"), "no setting or option 'x'"),
        (("beastybar", "--seats", "random,random", "--set", "seets=2"), "did you mean 'seats'?"),
        (("beastybar", "--seats", "random,random", "--set", "scoring"), "name=value"),
        (("beastybar", "--seats", "random,random", "--set", "seats=x"), "a whole number"),
        (("beastybar", "--seats", "random,random", "--set", "seats=3"), "has 3 seats"),
        (("beastybar", "--seats", "random,random", "--set", "first=1", "first=0"), "set it once"),
        (("beastybar", "--seats", "random,random", "--set", "first=9"), "must lie in"),
        (("kuhn", "--seats", "random,random", "--episode-duration", "9"), "no time limit"),
        (("kuhn", "--seats", "random,random", "--num-scripted-bots", "2"), "give one"),
        (("arena", "--num-scripted-bots", "1"), "at least 2"),
        (("kuhn", "--seats", "random,nowhere.py"), "no bot file 'nowhere.py'"),
    ],
)  # fmt: skip
def test_what_cannot_be_played_is_refused_in_one_sentence(arguments, sentence, capsys):
    assert main(["play", *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.startswith("lanista: ")
    assert error.count("\n") == 1


def test_a_file_with_two_bots_must_be_asked_for_one(bots, capsys):
    assert main(["play", "kuhn", "--seats", f"random,{bots}"]) == 2
    assert "2 classes of PythonBot" in capsys.readouterr().err
    assert main(["play", "kuhn", "--seats", f"random,{bots}:Bet"]) == 2
    assert "did you mean 'Bets'?" in capsys.readouterr().err


def test_a_bot_file_that_breaks_down_is_named(tmp_path, capsys):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    assert main(["play", "kuhn", "--seats", f"random,{tmp_path}/broken.py"]) == 2
    assert "broken.py cannot be run: ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [("import sys; sys.exit(5)", "SystemExit: 5."), ("x = 1", "has no bot; write a class")],
)
def test_a_bot_file_without_a_bot_is_a_usage_error(content, said, tmp_path, capsys):
    (tmp_path / "odd.py").write_text(content)
    assert main(["play", "kuhn", "--seats", f"random,{tmp_path / 'odd.py'}"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--json", "--record"])
def test_what_cannot_be_written_is_refused_before_anything_is_played(flag, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    into = str(tmp_path / "file" / "x")
    assert main(["play", "kuhn", "--seats", "random,random", flag, into]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"lanista: {flag} cannot write into ")
    assert printed.err.count("\n") == 1


def test_recorded_matches_play_again_and_are_never_overwritten(tmp_path, capsys):
    arguments = ["play", "kuhn", "--seats", "random,random", "--matches", "30", "--record"]
    assert main([*arguments, str(tmp_path / "replays")]) == 0
    (path,) = (tmp_path / "replays").iterdir()
    replays = read_replays(path)
    assert len(replays) == 30
    resimulate(replays)
    before = path.read_bytes()
    assert main([*arguments, str(tmp_path / "replays")]) == 3
    assert "not overwritten" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_many_matches_are_recorded_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("lanista.rollout.replay_recorder.MOST_MATCHES", 10)
    folder = tmp_path / "replays"
    main(["play", "kuhn", "--seats", "random,random", "--matches", "24", "--record", str(folder)])
    assert sorted(path.name for path in folder.iterdir()) == [
        "kuhn-seed0-000000000-000000009.jsonl.gz",
        "kuhn-seed0-000000010-000000019.jsonl.gz",
        "kuhn-seed0-000000020-000000023.jsonl.gz",
    ]


def test_a_run_whose_last_file_exists_is_refused_before_anything_is_played(tmp_path, monkeypatch):
    monkeypatch.setattr("lanista.rollout.replay_recorder.MOST_MATCHES", 10)
    last = tmp_path / "kuhn-seed0-000000020-000000023.jsonl.gz"
    last.write_bytes(b"mine")
    arguments = ["--seats", "random,random", "--matches", "24", "--record", str(tmp_path)]
    assert main(["play", "kuhn", *arguments]) == 3
    assert [path.name for path in tmp_path.iterdir()] == [last.name]
    assert last.read_bytes() == b"mine"


def test_the_runbooks_words_for_the_arena_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = main([
        "play", "arena", "--num_scripted_bots", "2", "--episode_duration", "5",
        "--record_replay", "--seed", "1001",
    ])  # fmt: skip
    assert code == 0
    (path,) = (tmp_path / "data" / "processed").iterdir()
    replays = read_replays(path)
    assert replays.header.settings["duration"] == 5.0
    assert replays.header.seed == 1001
    assert len(replays) == 2  # One deal, both seatings.
    names = {player.name for player in replays.header.players}
    assert len(names) == 2
    assert not names & {"random", "still"}


@pytest.mark.parametrize("command", [
    ["play", "kuhn", "--seats", "random,random", "--matches", "60"],
    ["roundrobin", "kuhn", "--bots", "random,bluff", "--matches", "60"],
    ["evaluate", "random", "--game", "kuhn", "--opponents", "random", "--games", "60"],
], ids=lambda words: words[0])  # fmt: skip
def test_without_slots_a_game_is_played_as_many_at_once_as_suit_it(command, monkeypatch, capsys):
    from dataclasses import replace

    from lanista.games import registry, small

    made = []

    def make(*, slots, **rest):
        made.append(slots)
        return small.KUHN.make(slots=slots, **rest)

    def most(*extra):
        made.clear()
        assert main([*command, *extra]) == 0
        return max(made)

    entry = replace(small.KUHN, make=make, bots={**small.KUHN.bots, "bluff": registry.RandomBot})
    monkeypatch.setattr(registry, "entry", lambda name: entry)
    assert most() == 60
    entry = replace(entry, slots=7)
    assert most() == 7
    assert most("--slots", "9") == 9


def test_an_interrupt_keeps_every_complete_block(tmp_path):
    process = warm_python.Popen(
        [sys.executable, "-m", "lanista", "play", "kuhn", "--seats", "random,random",
         "--matches", "2000000", "--record", str(tmp_path / "replays")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while process.poll() is None and not list(tmp_path.glob("replays/*.jsonl.gz")):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate()
    assert process.returncode == 130, error
    files = sorted(tmp_path.glob("replays/*"))
    assert files
    assert all(path.name.endswith(".jsonl.gz") for path in files)
    complete = sum(len(read_replays(path)) for path in files)
    told = re.search(r"^Interrupted: ([\d,]+) of 2,000,000 matches played, ([\d,]+) kept", out)
    assert told, out
    played, kept = (int(number.replace(",", "")) for number in told.groups())
    assert kept == complete <= played
    assert f"{complete:,} matches" in out
    assert "Traceback" not in error


def test_an_interrupt_before_anything_is_complete_prints_no_numbers(monkeypatch, capsys):
    def interrupted(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("lanista.evaluation.lineup_matches.play_blocks", interrupted)
    assert main(["play", "kuhn", "--seats", "random,random", "--matches", "4"]) == 130
    out = capsys.readouterr().out
    assert out == "Interrupted: 0 of 4 matches played, 0 kept.\n"


def test_an_interrupt_says_how_many_were_played_and_how_many_are_kept(monkeypatch, capsys):
    """In the middle of the third block: 32 and 64 matches are whole."""
    from lanista.cli.common import progress

    plain = progress.Paced.__call__

    def interrupting(self, more):
        plain(self, more)
        if self.done >= 32 + 64 + 50:
            raise KeyboardInterrupt

    monkeypatch.setattr(progress.Paced, "__call__", interrupting)
    words = ["--seats", "random,random", "--matches", "1000", "--slots", "1"]
    assert main(["play", "kuhn", *words]) == 130
    out = capsys.readouterr().out
    assert out.startswith(
        "Interrupted: 146 of 1,000 matches played, 96 kept (whole blocks alone, or short matches "
        "would count for more).\n"
    )
    assert "96 matches" in out
