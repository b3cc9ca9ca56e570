"""`lanista policy`: list, publish and roll back, as an operator types it."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from lanista.cli.main import main
from lanista.games import registry
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.ledger import NAME, GameRow, Ledger
from lanista.nets.files.policy_file import save_policy
from lanista.nets.files.policy_format import read
from lanista.nets.policy import Policy
from lanista.nets.settings import Network


def policy_file(path: Path, seed: int = 0, game: str = "kuhn") -> tuple[Path, str]:
    """Write the file of a small policy; return it and its digest."""
    spec = registry.make(game).spec
    torch.manual_seed(seed)
    return path, save_policy(path, Policy(spec, Network(width=8, layers=1)), spec, step=seed)


@pytest.fixture
def published(tmp_path, capsys):
    """A policy folder into which three policies were published one after another."""
    digests = []
    for seed in range(3):
        file, digest = policy_file(tmp_path / f"{seed}.safetensors", seed)
        assert main(["policy", "publish", str(tmp_path / "policy"), str(file)]) == 0
        digests.append(digest)
    capsys.readouterr()
    return tmp_path / "policy", digests


def listed(folder, tmp_path):
    out = tmp_path / "out.json"
    assert main(["policy", "list", str(folder), "--json", str(out)]) == 0
    return json.loads(out.read_text())


def play(folder, *games):
    """Write games into the learner's book: the policy's digest and the outcome of each."""
    (folder / "learner").mkdir()
    ledger = Ledger(folder / "learner" / NAME, write=True)
    counts = {"serial": 1, "steps": 5, "overruled": 0, "reward": 0.0, "log_prob": -1.0, "at": 1.0}
    flags = {"candidate": False, "crashed": False, "staleness": 0, "use": "learned"}
    given = counts | flags | {"predicted": None, "came": None}
    with ledger.writing():
        ledger.add_games(
            GameRow(
                update_number=1,
                content=f"{i:064d}",
                game_id=f"game {i}",
                policy=policy,
                outcome=outcome,
                **given,
            )
            for i, (policy, outcome) in enumerate(games)
        )
    ledger.close()


def test_the_first_publication_makes_the_folder(tmp_path, capsys):
    file, digest = policy_file(tmp_path / "first.safetensors")
    assert main(["policy", "publish", str(tmp_path / "new" / "policy"), str(file)]) == 0
    said = capsys.readouterr().out
    assert f"{digest[:12]} plays from the next game on" in said
    assert "there is none before it" in said
    assert PolicyFolder(tmp_path / "new" / "policy").pointer().stable == digest


def test_publishing_ends_a_trial_and_keeps_the_reason(published, tmp_path):
    folder, digests = published
    PolicyFolder(folder).try_out(digests[0], 0.5)
    file, digest = policy_file(tmp_path / "mine.safetensors", 9)
    assert main(["policy", "publish", str(folder), str(file), "--reason", "it is mine"]) == 0
    view = listed(folder, tmp_path)
    assert (view["stable"], view["candidate"]) == (digest, None)
    assert view["history"][-1]["reason"] == "it is mine"
    assert view["history"][-1]["before"] == digests[2]
    assert [one["serial"] for one in view["history"]] == [1, 2, 3, 4, 5]
    times = [one["at"] for one in view["history"]]
    assert times == sorted(times)


def test_another_layout_is_refused_in_one_sentence_and_leaves_nothing(published, tmp_path, capsys):
    folder, digests = published
    file, digest = policy_file(tmp_path / "leduc.safetensors", game="leduc")
    assert main(["policy", "publish", str(folder), str(file)]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "its game is 'leduc'" in said
    assert "'kuhn'" in said
    assert PolicyFolder(folder).pointer().stable == digests[2]
    assert not PolicyFolder(folder).path_of(digest).exists()


@pytest.mark.parametrize("content", [None, b"", b"nonsense"])
def test_what_is_no_policy_file_is_refused_by_its_name(tmp_path, capsys, content):
    file = tmp_path / "mine.bin"
    if content is not None:
        file.write_bytes(content)
    assert main(["policy", "publish", str(tmp_path / "policy"), str(file)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "mine.bin" in said
    assert not (tmp_path / "policy").exists()


def test_rolling_back_goes_to_the_policy_before_and_then_further(published, capsys):
    folder, (one, two, _) = published
    assert main(["policy", "rollback", str(folder), "--reason", "it lost"]) == 0
    assert f"{two[:12]} plays from the next game on" in capsys.readouterr().out
    assert PolicyFolder(folder).history()[-1].reason == "it lost"
    assert main(["policy", "rollback", str(folder)]) == 0
    assert PolicyFolder(folder).pointer().stable == one
    assert main(["policy", "rollback", str(folder)]) == 3
    assert f"knows no policy before {one[:12]}" in capsys.readouterr().err


def test_rolling_back_to_a_policy_takes_the_first_letters_of_its_digest(published, capsys):
    folder, (one, _, three) = published
    assert main(["policy", "rollback", str(folder), "--to", one[:8]]) == 0
    assert PolicyFolder(folder).pointer().stable == one
    for word in ("", "xyz", one[:8].upper() + "!"):
        assert main(["policy", "rollback", str(folder), "--to", word]) == 3
        assert "no policy that was stable" in capsys.readouterr().err
    assert main(["policy", "rollback", str(folder), "--to", one]) == 3
    assert "is the stable one already" in capsys.readouterr().err
    assert main(["policy", "rollback", str(folder), "--to", three]) == 0


def test_letters_that_begin_several_digests_are_not_enough(tmp_path, capsys):
    folder, first = tmp_path / "policy", {}
    for seed in range(17):  # Sixteen letters: two of seventeen digests begin alike.
        file, digest = policy_file(tmp_path / "next.safetensors", seed)
        assert main(["policy", "publish", str(folder), str(file)]) == 0
        if digest[0] in first:
            break
        first[digest[0]] = digest
    assert main(["policy", "rollback", str(folder), "--to", digest[0]]) == 2
    said = capsys.readouterr().err
    assert "give more letters" in said
    assert digest[:12] in said
    assert first[digest[0]][:12] in said


def test_the_list_says_who_plays_what_they_scored_and_what_changed(published, tmp_path, capsys):
    folder, (one, two, three) = published
    outcomes = [1.0] * 30 + [0.0] * 10 + [-2.5] * 20 + [None] * 5
    play(folder, *((three, outcome) for outcome in outcomes), (one, 1.0))
    PolicyFolder(folder).try_out(two, 0.25, "better in training")
    view = listed(folder, tmp_path)
    said = capsys.readouterr().out
    assert f"{three[:12]} plays, and the candidate {two[:12]} in 25% of the games" in said
    assert "better in training" in said
    assert (view["stable"], view["candidate"], view["share"]) == (three, two, 0.25)
    assert not view["watched"]
    by_digest = {policy["digest"]: policy for policy in view["policies"]}
    assert [by_digest[d]["role"] for d in (one, two, three)] == ["", "on trial", "stable"]
    assert [by_digest[d]["games"] for d in (one, two, three)] == [1, 0, 65]
    assert by_digest[two]["score"] is None
    line = by_digest[three]
    assert [line[name] for name in ("wins", "draws", "losses", "cut_off")] == [30, 10, 20, 5]
    assert line["step"] == 2
    assert line["size"] == (folder / "policies" / f"{three}.safetensors").stat().st_size
    # Student's interval of 60 results: mean 35/60, and 2.001 standard errors to each side.
    mean = 35 / 60
    variance = (30 * (1 - mean) ** 2 + 10 * (0.5 - mean) ** 2 + 20 * mean**2) / 59
    half = 2.001 * math.sqrt(variance / 60)
    assert line["score"]["n"] == 60
    assert line["score"]["value"] == pytest.approx(mean)
    assert line["score"]["low"] == pytest.approx(mean - half, abs=1e-4)
    assert line["score"]["high"] == pytest.approx(mean + half, abs=1e-4)
    assert f"{mean:.3f} [{mean - half:.3f}, {mean + half:.3f}]" in said


def test_the_list_says_that_a_new_policy_is_being_watched(published, tmp_path, capsys):
    folder, (one, _, three) = published
    PolicyFolder(folder).publish(one, "better", watch_share=0.1)
    view = listed(folder, tmp_path)
    said = capsys.readouterr().out
    assert view["watched"]
    assert (
        f"{one[:12]} is new and watched; {three[:12]}, which was stable before, plays 10%" in said
    )
    roles = {policy["digest"]: policy["role"] for policy in view["policies"]}
    assert (roles[one], roles[three]) == ("stable", "compared with")


def test_without_a_learner_games_are_unknown_and_not_zero(published, tmp_path, capsys):
    folder, _ = published
    view = listed(folder, tmp_path)
    assert {policy["games"] for policy in view["policies"]} == {None}
    said = capsys.readouterr().out
    assert "plays alone" in said
    assert "No learner has run here" in said


def test_policies_that_are_gone_or_damaged_are_said_to_be(published, tmp_path, capsys):
    folder, (one, two, three) = published
    policies = PolicyFolder(folder)
    policies.path_of(one).unlink()
    policies.path_of(two).write_bytes(b"damaged")
    whole = bytearray(policies.path_of(three).read_bytes())
    whole[-1] ^= 1
    policies.path_of(three).write_bytes(whole)
    view = listed(folder, tmp_path)
    trouble = {policy["digest"]: policy["trouble"] for policy in view["policies"]}
    assert trouble == {one: "no file", two: "damaged", three: "damaged"}


def test_a_folder_without_a_pointer_is_told_what_to_do(tmp_path, capsys):
    for action in ("list", "rollback"):
        assert main(["policy", action, str(tmp_path / "none")]) == 2
        said = capsys.readouterr().err
        assert "publish a policy into this folder first" in said
        assert said.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_slips_on_the_command_line_are_answered_in_one_sentence(capsys):
    slips = {
        ("policy",): "name one of list, publish, rollback",
        ("policy", "lsit", "x"): "did you mean 'list'?",
        ("policy", "publish", "x"): "FILE is missing; see `lanista policy publish --help`",
        ("policy", "rollback", "x", "--too", "y"): "did you mean '--to'?",
    }
    for words, sentence in slips.items():
        assert main(list(words)) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1
    with pytest.raises(SystemExit) as end:
        main(["policy", "--help"])
    assert end.value.code == 0
    assert "  rollback " in capsys.readouterr().out


def test_an_operator_rolls_back_without_torch_and_in_a_process_of_its_own(published):
    folder, (_, two, _) = published
    program = (
        "import sys\nfrom lanista.cli.main import main\n"
        f"assert main(['policy', 'rollback', {str(folder)!r}]) == 0\n"
        f"assert main(['policy', 'list', {str(folder)!r}]) == 0\n"
        "print('torch' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=os.environ
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "False"
    assert PolicyFolder(folder).pointer().stable == two


def test_a_file_where_a_folder_is_meant_is_called_one(tmp_path, capsys):
    file, _ = policy_file(tmp_path / "first.safetensors")
    before = file.read_bytes()
    for words in (["list", str(file)], ["publish", str(file), str(file)], ["rollback", str(file)]):
        assert main(["policy", *words]) == 2
        said = capsys.readouterr().err
        assert f"{str(file)!r}" in said
        assert "is a file" in said
        assert "name a" in said
    assert file.read_bytes() == before


def test_the_number_of_a_change_and_its_time_have_columns_of_their_own(published, capsys):
    folder, _ = published
    assert main(["policy", "list", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (head,) = (line.split() for line in lines if "candidate" in line)
    assert head == ["change", "time", "stable", "candidate", "reason", "share"]


def test_a_finished_policy_keeps_its_weights_and_names_its_parent(tmp_path, capsys):
    file, digest = policy_file(tmp_path / "plain.safetensors")
    out = tmp_path / "finished.safetensors"
    assert main(["policy", "finish", str(file), "--output", str(out), "--parts", "16"]) == 0
    before, after = read(file), read(out)
    assert after.digest != digest
    assert after.header.parents == (digest,)
    assert (after.header.network.drop_below, after.header.network.parts) == (0.03, 16)
    assert all((before.arrays[name] == array).all() for name, array in after.arrays.items())
    capsys.readouterr()
    again = ["policy", "finish", str(out), "--output", str(tmp_path / "twice.safetensors")]
    assert main(again) == 2
    assert "is a finished policy already" in capsys.readouterr().err
    nothing = ["--drop-below", "0", "--parts", "0", "--output", str(tmp_path / "none.safetensors")]
    assert main(["policy", "finish", str(file), *nothing]) == 2
    assert "changes nothing; give one of them" in capsys.readouterr().err
