"""The doctor: a healthy folder has no finding, and each planted fault gives exactly its own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from patients import (
    book_of,
    certain_policy,
    found,
    healthy,
    learn,
    only,
    other_policy,
    play,
    sight,
)
from toy import agent_of, folder_of, game_of

from lanista.cli.main import main
from lanista.cli.measure.doctor import training_of
from lanista.errors import LanistaError
from lanista.live.diagnosis.doctor import examine
from lanista.live.diagnosis.findings_features import Seen, against_earlier
from lanista.live.diagnosis.findings_games import candidate_never_plays
from lanista.live.files.game_file import encode
from lanista.live.files.policy_folder import Pointer, PolicyFolder
from lanista.live.files.spool import Spool


def listing(path: Path) -> dict[str, int]:
    """Return every file and its size, without SQLite's own files of the moment."""
    files = [file for file in path.rglob("*") if file.is_file()]
    return {
        str(f.relative_to(path)): f.stat().st_size
        for f in files
        if not f.name.endswith(("-shm", "-wal"))
    }


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Healthy folders that no test may change."""
    path = tmp_path_factory.mktemp("sound")
    healthy(path)
    return path


# Nothing is wrong.


def test_a_healthy_folder_has_no_finding_and_is_not_changed(sound: Path) -> None:
    before = listing(sound)
    seen = examine(sound / "spool", sound / "policy", games=20)
    assert seen.findings == ()
    assert listing(sound) == before
    told = " ".join(seen.facts)
    assert "60 are archived" in told
    assert "newest 20 games" in told
    assert "dropped" in told


def test_a_policy_folder_alone_finds_its_spool(sound: Path) -> None:
    facts = examine(policy=sound / "policy").facts
    assert any(str(sound / "spool") in fact for fact in facts)


def test_a_spool_alone_says_what_it_cannot_tell(sound: Path) -> None:
    seen = examine(sound / "spool")
    assert seen.findings == ()
    assert any("Without --policy" in fact for fact in seen.facts)


def test_few_games_say_nothing(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 5, outcome=lambda i: None, opponent=lambda i: "kiter")
    assert found(tmp_path) == []


# Who played.


def test_games_of_a_policy_from_elsewhere_are_found(tmp_path: Path) -> None:
    healthy(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    other = PolicyFolder(elsewhere / "policy")
    digest = other.add(other_policy())
    other.publish(digest)
    play(elsewhere, 30)
    for file in Spool(elsewhere / "spool").waiting():
        file.rename(tmp_path / "spool" / "new" / file.name)
    learn(tmp_path, update=3)
    finding = only(tmp_path, "other_policy", games=30)
    stable = PolicyFolder(tmp_path / "policy").pointer().stable
    assert finding.evidence["played"] == {digest: 30}
    assert finding.evidence["stable"] == stable
    assert digest[:12] in finding.sentence
    assert finding.gravity == "stops"


def test_bots_that_never_take_up_the_new_policy_are_found(tmp_path: Path) -> None:
    folder = healthy(tmp_path)
    before = folder.pointer().stable
    with agent_of(tmp_path) as agent:
        games = [agent.game(f"old {i}", f"bot {i % 2}") for i in range(40)]
        folder.publish(folder.add(other_policy()))
        for i, game in enumerate(games):
            for step in range(12):
                game.act(sight(i, step))
            game.end(1.0 if i % 2 else -1.0)
    learn(tmp_path, update=3)
    finding = only(tmp_path, "other_policy")
    assert finding.evidence["played"] == {before: 40}
    assert "since the pointer last changed" in finding.sentence


def test_a_candidate_that_never_plays_is_found(tmp_path: Path) -> None:
    folder = healthy(tmp_path)
    candidate = folder.add(other_policy())
    folder.try_out(candidate, 0.5)
    folder.path_of(candidate).write_bytes(b"damaged")
    play(tmp_path, 30, prefix="tried")
    learn(tmp_path, update=3)
    finding = only(tmp_path, "candidate_never_plays")
    assert finding.evidence["candidate"] == candidate
    assert finding.evidence["games"] == 30
    assert finding.evidence["chance"] == pytest.approx(0.5**30)


def test_all_games_against_one_opponent_are_found(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 40, opponent=lambda i: "kiter" if i % 4 else "")
    learn(tmp_path)
    finding = only(tmp_path, "one_opponent")
    assert finding.evidence == {"games": 30, "opponent": "kiter", "unnamed": 10}


# What they saw.


def nothing(game: int, step: int) -> Any:
    return np.zeros(6, np.float32)


def hundredfold(game: int, step: int) -> Any:
    seen = sight(game, step)
    seen[2] *= 100
    return seen


def dead(game: int, step: int) -> Any:
    seen = sight(game, step)
    seen[3] = 0.25
    return seen


def test_empty_observations_are_found(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 20, seen=nothing)
    learn(tmp_path)
    finding = only(tmp_path, "features_empty")
    assert (finding.evidence["constant"], finding.evidence["zero"]) == (6, 6)


def test_a_number_that_died_is_found_against_the_games_learned_from_first(tmp_path: Path) -> None:
    healthy(tmp_path)
    play(tmp_path, 30, prefix="now", seen=dead)
    learn(tmp_path, update=3)
    for games in (30, 200):
        finding = only(tmp_path, "features_constant", games=games)
    (feature,) = finding.evidence["features"]
    assert (feature["name"], feature["value"]) == ("numbers[2]", 0.25)
    assert "numbers[2] (always 0.25)" in finding.sentence


def test_a_number_of_another_scale_is_found_against_the_games_learned_from_first(
    tmp_path: Path,
) -> None:
    healthy(tmp_path)
    play(tmp_path, 30, prefix="now", seen=hundredfold)
    learn(tmp_path, update=3)
    for games in (30, 200):  # Against what lies further back, or within what is read.
        finding = only(tmp_path, "features_other_scale", games=games)
    (feature,) = finding.evidence["features"]
    assert feature["name"] == "numbers[1]"
    assert feature["size_now"] / feature["size_before"] == pytest.approx(100, rel=0.2)


def test_numbers_far_from_the_scale_in_the_policy_file_are_found(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 20, seen=lambda i, step: sight(i, step) / [1, *[1000] * 5])
    learn(tmp_path)
    finding = only(tmp_path, "features_off_scale")
    (field,) = finding.evidence["fields"]
    assert (field["name"], field["scale"]) == ("numbers", 2.0)
    # 95 % of |x| stay below 1.96; divided by 1000 and by the scale 2.
    assert field["size_scaled"] == pytest.approx(0.00098, rel=0.1)


def test_features_are_held_against_training_data_where_it_is_given(sound: Path) -> None:
    drawn = np.random.default_rng(1)
    values = drawn.normal(size=(600, 6))
    values[:, 0] = drawn.integers(0, 4, 600)
    game = np.repeat(np.arange(50), 12)
    assert found(sound, training=Seen(values, game)) == []
    values[:, 4] /= 50
    finding = only(sound, "features_other_scale", training=Seen(values, game))
    assert [one["name"] for one in finding.evidence["features"]] == ["numbers[3]"]
    assert "the training data" in finding.sentence


# How they ended.


def test_results_that_never_arrive_are_found(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 20, outcome=lambda i: None)
    learn(tmp_path)
    finding = only(tmp_path, "no_results")
    assert (finding.evidence["cut_off"], finding.evidence["crashed"]) == (20, 0)
    assert all((tmp_path / "spool" / file).is_file() for file in finding.evidence["files"])


def test_outcomes_without_a_difference_are_found(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 30, outcome=lambda i: 0.0)
    learn(tmp_path)
    assert only(tmp_path, "results_all_alike").evidence["outcome"] == 0


def test_a_bot_whose_rules_play_everything_is_found(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 20, overrule=True)
    learn(tmp_path, use="empty")
    evidence = only(tmp_path, "no_decisions").evidence
    assert (evidence["steps"], evidence["own"]) == (240, 0)


def test_a_policy_that_always_plays_the_same_is_found(tmp_path: Path) -> None:
    folder = PolicyFolder(tmp_path / "policy")
    folder.publish(folder.add(certain_policy()))
    play(tmp_path, 20)
    learn(tmp_path)
    evidence = only(tmp_path, "entropy_gone").evidence
    assert evidence["free_decisions"] == 240
    # Three choices and two, all legal.
    assert evidence["entropy_of_chance"] == pytest.approx(np.log(6))
    assert 0 <= evidence["entropy_played"] < 0.01


def test_entropy_that_is_gone_in_the_learners_book_is_found_without_games(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    with book_of(tmp_path) as ledger:
        for update in range(1, 12):
            ledger.add_metrics(update, {"policy/entropy/0": 0.001, "policy/entropy/1": 0.002})
    (finding,) = examine(policy=tmp_path / "policy").findings
    assert finding.name == "entropy_gone"
    assert finding.evidence["entropy_of_learner"] == pytest.approx(0.003)


# The command.


def test_the_command_prints_findings_gravest_first_and_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder_of(tmp_path / "policy")
    play(tmp_path, 40, outcome=lambda i: None, opponent=lambda i: "kiter")
    learn(tmp_path)
    told = tmp_path / "told.json"
    words = ["doctor", str(tmp_path / "spool"), "--policy", str(tmp_path / "policy")]
    assert main([*words, "--json", str(told)]) == 1
    said = capsys.readouterr().out
    assert said.index("no_results (stops learning)") < said.index("one_opponent (worth a look)")
    assert "cut_off: 40" in said
    assert "2 findings." in said
    value = json.loads(told.read_text())
    assert [one["name"] for one in value["findings"]] == ["no_results", "one_opponent"]


def test_the_command_ends_with_0_where_nothing_is_found(
    sound: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", str(sound / "policy")]) == 0
    assert "Nothing was found." in capsys.readouterr().out


def test_the_command_refuses_folders_that_are_something_else(
    sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spool, policy = str(sound / "spool"), str(sound / "policy")
    for words in (
        [str(tmp_path / "nowhere")],
        [str(tmp_path)],
        [spool, "--policy", spool],
        [spool, "--spool", spool],
        [policy, "--policy", policy],
        [spool, "--games", "3"],
    ):
        assert main(["doctor", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_hostile_files_in_a_spool_do_not_stop_the_doctor(tmp_path: Path) -> None:
    healthy(tmp_path)
    new = tmp_path / "spool" / "new"
    (new / "link.npz").symlink_to("/etc/passwd")
    os.mkfifo(new / "pipe.npz")
    (new / "folder.npz").mkdir()
    (new / "half.npz").write_bytes(encode(game_of())[:200])
    evidence = only(tmp_path, "bad_files").evidence
    assert len(evidence["unreadable"]) == 4


def test_training_data_is_read_from_replays_and_from_spools(sound: Path, tmp_path: Path) -> None:
    words = ["play", "kuhn", "--seats", "random,random", "--matches", "40", "--record"]
    assert main([*words, str(tmp_path / "replays")]) == 0
    seen = training_of(tmp_path / "replays", 30)
    assert seen.values.shape[1] == 11
    assert 0 < seen.games <= 30
    assert training_of(sound / "spool", 20).games == 20
    spool, policy = str(sound / "spool"), str(sound / "policy")
    assert main(["doctor", spool, "--policy", policy, "--training", spool]) == 0
    with pytest.raises(LanistaError, match="11 numbers in an observation, and the games have 6"):
        found(sound, training=seen)


def test_a_folder_that_is_not_there_is_told_by_its_option(
    sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = str(tmp_path / "nowhere")
    for kind, flag in (("spool", "--training"), ("spool", "--policy"), ("policy", "--spool")):
        assert main(["doctor", str(sound / kind), flag, nowhere]) == 2
        assert f"{flag} is {nowhere!r}, and there is no such folder" in capsys.readouterr().err


def test_the_folder_of_a_demonstration_means_both_folders_in_it(
    sound: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", str(sound)]) == 0
    said = capsys.readouterr().out
    assert f"Spool {sound / 'spool'}: " in said
    assert f"Policy folder {sound / 'policy'}: " in said


# Where a finding begins.


@pytest.mark.parametrize(("games", "is_finding"), [(13, False), (14, True)])
def test_a_candidate_is_missed_once_chance_explains_it_in_fewer_than_one_of_10000_cases(
    games: int, is_finding: bool
) -> None:
    """Half of the games are the candidate's: 2^-13 is more than 1 in 10,000, and 2^-14 less."""
    service: Any = SimpleNamespace(pointer=Pointer("a" * 64, "b" * 64, 0.5, serial=3))
    played: Any = [
        SimpleNamespace(header=SimpleNamespace(serial=3, candidate=False, game_id=f"game {number}"))
        for number in range(games)
    ]
    assert (candidate_never_plays(played, service) is not None) == is_finding


def test_a_category_has_no_scale_that_could_change() -> None:
    """Its number names a thing; that others come up now says nothing of a unit."""
    rng = np.random.default_rng(0)
    before, now = rng.uniform(0.5, 1.0, (2, 400, 2))
    game = np.arange(400) // 20
    earlier, seen = Seen(before, game), Seen(now * 30, game)
    both = against_earlier(earlier, seen, ("health", "kind"), "training")
    (finding,) = against_earlier(
        earlier, seen, ("health", "kind"), "training", np.array([False, True])
    )
    assert [feature["name"] for feature in both[0].evidence["features"]] == ["health", "kind"]
    assert [feature["name"] for feature in finding.evidence["features"]] == ["health"]
    assert finding.name == "features_other_scale"
