"""`lanista live run` as a person starts it: real servers, real processes, stopped and killed."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from live_sessions import on_linux, players, processes, running, took_effect, until

from lanista.cli.main import main
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import describe
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.live.learner.ledger import GameRow, reading
from lanista.live.players import starcraft as starcraft_player
from lanista.live.sc2 import first_policy
from lanista.nets.files.champions import policy_file
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.pipeline.live_run.session import prepare
from lanista.pipeline.live_run.showdown import Showdown
from lanista.pipeline.live_run.venue import Setup

sys.path.insert(0, str(Path(__file__).parents[1] / "games" / "showdown"))

from showdown_play import needs_simulator

needs_burnysc2 = pytest.mark.skipif(
    importlib.util.find_spec("sc2") is None, reason="burnysc2 is not installed"
)
needs_poke_env = pytest.mark.skipif(
    importlib.util.find_spec("poke_env") is None, reason="poke-env is not installed"
)
OPEN = ("--set", "gate.kind=open", "gate.every=1", "gate.watch_share=0", "warm_up=0")
"""A policy is published after every game, so that seconds are enough to see it."""


def games_of(folder: Path) -> list[GameRow]:
    with reading(folder / "policy" / "learner" / "learn.db") as ledger:
        return ledger.games()


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A small policy for Showdown that has learnt nothing."""
    spec = describe(format_named("gen9vgc2025regi"), "mirror", "", "any")
    path = tmp_path / "tiny.safetensors"
    save_policy(path, Policy(spec, Network("mlp", width=16, layers=1)), spec)
    return path


@on_linux
@needs_burnysc2
def test_a_starcraft_bot_the_stand_in_and_the_learner_run_in_one_command_and_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "live"
    words = ["live", "run", "starcraft2", "--output", str(folder)]
    assert main([*words, "--opponent", "Rush", "--games", "1", *OPEN]) == 0
    printed = capsys.readouterr()
    assert "1 player against Rush on the stand-in until 1 games" in printed.err
    assert "active workers 0/1" in printed.out
    assert "The first policy scores" in printed.out
    assert players(folder) == []
    games = games_of(folder)
    assert {game.opponent for game in games} == {"stand-in, Rush"}
    assert {game.use for game in games} <= {"learned", "empty"}
    assert (folder / "report" / "report.html").is_file()
    # Started again without a flag it goes on as it was begun.
    assert main([*words, "--games", "1"]) == 0
    after = games_of(folder)
    assert len(after) > len(games)
    assert [game.content for game in after[: len(games)]] == [game.content for game in games]
    assert {game.opponent for game in after} == {"stand-in, Rush"}
    assert Spool(folder / "spool").waiting() == []


@on_linux
@needs_burnysc2
def test_a_killed_starcraft_session_leaves_no_process_and_its_games_count(tmp_path: Path) -> None:
    folder = tmp_path / "live"
    words = ("live", "run", "starcraft2", "--output", folder, "--opponent", "Rush")
    with running(*words) as process:
        until(lambda: took_effect(folder) > 0)
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: players(folder) == [])
    before = took_effect(folder)
    with running(*words) as process:
        until(lambda: took_effect(folder) > before)
        os.killpg(process.pid, signal.SIGINT)  # As a terminal does: to all of the group.
        out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    assert "The first policy scores" in out
    assert players(folder) == []


@on_linux
@needs_simulator
@needs_poke_env
def test_a_policy_a_server_and_the_learner_run_in_one_command_and_go_on(
    tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "live"
    words = ["live", "run", "showdown", "--output", str(folder)]
    first = [*words, "--policy", str(tiny), "--opponent", "random", "--games", "2", *OPEN]
    assert main(first) == 0
    printed = capsys.readouterr()
    assert "The server is ws://127.0.0.1:" in printed.err
    assert "The first policy scores" in printed.out
    assert processes(folder) == []
    games = games_of(folder)
    assert len(games) >= 2
    assert {game.opponent for game in games} == {"random"}
    assert len({change.pointer.stable for change in PolicyFolder(folder / "policy").history()}) >= 2
    # Going on needs no policy, and takes none.
    assert main([*words, "--policy", str(tiny), "--games", "1"]) == 2
    assert "leave it out to go on" in capsys.readouterr().err
    with running(*words) as process:
        until(lambda: took_effect(folder) > len(games))
        assert processes(folder, "serve.mjs")
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: processes(folder) == [])


def test_a_folder_of_another_game_is_refused_in_one_sentence(
    tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first_policy(tmp_path / "live" / "policy")
    assert main(["live", "run", "arena", "--output", str(tmp_path / "live")]) == 2
    assert "holds a policy for starcraft2-macro, and this plays arena" in capsys.readouterr().err
    output = ["--output", str(tmp_path / "new")]
    assert main(["live", "run", "arena", *output, "--policy", str(tiny)]) == 2
    sentence = capsys.readouterr().err
    assert "holds a policy for showdown, and this plays arena; name another policy." in sentence
    assert not (tmp_path / "new").exists()


def test_a_policy_of_a_start_that_was_killed_is_not_published_by_one_that_names_none(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*words: object) -> None:
        raise KeyboardInterrupt

    venue = Showdown()
    setup = Setup(tmp_path / "live", 1, dict(venue.defaults), first=str(tiny))
    with monkeypatch.context() as patch:
        patch.setattr(PolicyFolder, "publish", killed)
        with pytest.raises(KeyboardInterrupt):
            prepare(venue, setup, print)
    prepare(venue, replace(setup, first=None), print)
    folder, usual = PolicyFolder(setup.policy), policy_file("champion:showdown").read_bytes()
    assert folder.path_of(folder.pointer().stable).read_bytes() == usual
    assert (setup.folder / "first.safetensors").read_bytes() == usual
    # And the other way round: what is named is what is published.
    other = replace(setup, folder=tmp_path / "other")
    with monkeypatch.context() as patch:
        patch.setattr(PolicyFolder, "publish", killed)
        with pytest.raises(KeyboardInterrupt):
            prepare(venue, replace(other, first=None), print)
    prepare(venue, other, print)
    folder = PolicyFolder(other.policy)
    assert folder.path_of(folder.pointer().stable).read_bytes() == tiny.read_bytes()
    assert (other.folder / "first.safetensors").read_bytes() == tiny.read_bytes()


def test_a_folder_goes_on_with_what_it_was_begun_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "live"
    folder.mkdir()
    (folder / "demo.json").write_text(json.dumps({"opponent": "rusher", "seed": 3}))
    assert main(["live", "run", "arena", "--output", str(folder), "--opponent", "kiter"]) == 2
    assert "--opponent is kiter, and" in (err := capsys.readouterr().err)
    assert "was begun with rusher; give that, or another --output." in err
    for text, wrong in (('{"seed": "x"}', "says that seed is 'x'"), ("[1]", "cannot be read")):
        (folder / "live.json").write_text(text)
        assert main(["live", "run", "arena", "--output", str(folder)]) == 2
        assert wrong in (err := capsys.readouterr().err)
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["checkers"], "checkers"),
        (["arena", "--map", "AcropolisLE"], "--map is AcropolisLE, and arena has none"),
        (["arena", "--team-pool", "two"], "--team-pool is two, and arena has none"),
        (["arena", "--games", "0"], "--games is 0; give 1 or more."),
        (["arena", "--minutes", "nan"], "--minutes is nan"),
        (["showdown", "--bot", "my.py"], "--bot is my.py, and showdown has none"),
    ],
)
def test_bad_input_is_refused_in_one_sentence_before_anything_is_made(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["live", "run", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@needs_burnysc2
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--opponent", "Timin"], "--opponent names the build 'Timin'; did you mean 'Timing'?"),
        (["--race", "Terran"], "the stand-in plays Zerg alone; name a --map"),
        (["--difficulty", "Nightmare"], "--difficulty is 'Nightmare'; known: "),
        (["--map", "AcropolisLE"], "set SC2PATH to its folder, or leave --map out to play on the"),
        (["--bot", "nowhere.py"], "There is no bot file 'nowhere.py'"),
        (["--bot", "empty.py"], "empty.py has no bot; write a class of lanista.live.sc2.Macro"),
    ],
)
def test_what_starcraft_lacks_is_told_in_one_sentence(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SC2PATH", str(tmp_path / "nowhere"))
    Path("empty.py").write_text("")
    assert main(["live", "run", "starcraft2", *words]) == 2
    printed = capsys.readouterr().err
    assert sentence in printed
    assert printed.count("\n") == 1
    assert not Path("live-starcraft2").exists()


def test_without_burnysc2_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # As where it is not installed: whoever asks finds none.
    monkeypatch.setattr(starcraft_player.importlib.util, "find_spec", lambda name: None)
    assert main(["live", "run", "starcraft2"]) == 2
    assert "burnysc2 is not installed" in (printed := capsys.readouterr().err)
    assert "pip install '.[sc2]'" in printed
    assert list(tmp_path.iterdir()) == []


@needs_poke_env
def test_without_the_simulator_the_command_that_installs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANISTA_SHOWDOWN", str(tmp_path / "nowhere"))
    assert main(["live", "run", "showdown"]) != 0
    printed = capsys.readouterr().err
    assert "lanista showdown install" in printed or "Node.js is not installed" in printed
    assert printed.count("\n") == 1
    assert not Path("live-showdown").exists()
