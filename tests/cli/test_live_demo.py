"""`lanista live-demo` as a person starts it: real players, stopped, killed, and taken up again."""

import json
import os
import signal
import threading
from contextlib import contextmanager

import live_sessions
import pytest
from live_sessions import on_linux, players, until
from live_sessions import took_effect as taken_in

from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.live.learner.ledger import reading
from lanista.live.players import arena as arena_player
from lanista.nets.files.policy_format import read_header
from lanista.pipeline.live_run import arena, session, venues
from lanista.pipeline.live_run.arena import Arena
from lanista.pipeline.live_run.venue import Ground, Setup

LIVELY = [
    "--set", "gate.kind=open", "gate.every=10", "gate.watch_share=0", "batch_games=5",
    "least_games=5", "warm_up=0",
]  # fmt: skip
"""A policy is published after every ten games, so that seconds are enough to see it."""


def demo_of(folder, seed=0, opponent="kiter"):
    return Setup(folder, players=2, facts={"opponent": opponent, "seed": seed})


def prepare(setup, say):
    session.prepare(Arena(), setup, say)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A first policy from few matches, for all tests."""
    folder = tmp_path_factory.mktemp("first")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arena, "_RECORDED", 40)
        prepare(demo_of(folder), print)
    return (folder / "first.safetensors").read_bytes()


@pytest.fixture
def folder(clone, tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "first.safetensors").write_bytes(clone)
    return tmp_path / "demo"


def words(folder, *more):
    return ["live-demo", "--output", str(folder), *more, *LIVELY]


def book(folder):
    return folder / "policy" / "learner" / "learn.db"


def running(folder, *more):
    return live_sessions.running(*words(folder, "--minutes", "10", *more))


@contextmanager
def meanwhile(do):
    """Do something in a thread while the block runs."""
    thread = threading.Thread(target=do)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@on_linux
def test_a_run_plays_learns_publishes_reports_and_leaves_no_process(folder, capsys):
    def stop():
        until(lambda: taken_in(folder) >= 20)
        os.kill(os.getpid(), signal.SIGTERM)

    with meanwhile(stop):
        assert main(words(folder, "--minutes", "10")) == 0
    told = capsys.readouterr()
    assert players(folder) == []
    policies, spool = PolicyFolder(folder / "policy"), Spool(folder / "spool")
    with reading(book(folder)) as ledger:
        games, published = ledger.games(), ledger.events("published")
        assert len(games) == len(list(spool.archive.rglob("*.npz"))) > 0
        assert published
    # What the players wrote while they were told to stop has taken effect too.
    assert spool.waiting() == spool.taken() == list(spool.open.glob("*.journal")) == []
    assert {game.opponent for game in games} == {"kiter"}
    assert len({game.game_id.split("-")[0] for game in games}) == 2  # Two processes played.
    assert (policies.policies / f"{policies.history()[0].pointer.stable}.safetensors").exists()
    assert policies.pointer().stable == published[-1].body["digest"]
    assert "The first policy scores" in told.out
    for name in ("report.html", "summary.json"):
        assert str(folder / "report" / name) in told.out
        assert (folder / "report" / name).is_file()
    assert json.loads((folder / "report" / "summary.json").read_text())["games"] == len(games)
    # `lanista learn` and `lanista doctor` find the settings here.
    assert "least_games: 5" in (book(folder).parent / "settings.yaml").read_text()


@on_linux
def test_when_the_time_is_up_it_ends_though_no_game_did(folder, capsys):
    assert main(words(folder, "--minutes", "0.0001")) == 0
    assert "game" in capsys.readouterr().out
    assert (folder / "report" / "report.html").is_file()
    assert players(folder) == []


@on_linux
def test_ctrl_c_ends_it_well_and_a_killed_one_goes_on(folder):
    with running(folder) as process:
        until(lambda: taken_in(folder) > 0 and len(players(folder)) == 2)
        first = PolicyFolder(folder / "policy").history()[0].pointer.stable
        # Another one on the same folders is refused, and its players never begin.
        assert main(words(folder, "--minutes", "0.01")) == 3
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: players(folder) == [])
    before = taken_in(folder)
    with running(folder, "--players", "1") as process:
        until(lambda: taken_in(folder) > before)
        os.killpg(process.pid, signal.SIGINT)  # As a terminal does: to all of the group.
        out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    assert "The first policy scores" in out
    assert "Making the first policy" not in err
    # It does, so it says so.
    assert "Learning from the games that wait, and saving" in err
    assert players(folder) == []
    assert PolicyFolder(folder / "policy").history()[0].pointer.stable == first
    assert Spool(folder / "spool").waiting() == []


@on_linux
def test_a_player_that_dies_is_told_in_one_sentence_and_nothing_played_is_lost(folder, capsys):
    def kill_one():
        until(lambda: len(players(folder)) == 2 and taken_in(folder) > 0)
        os.kill(players(folder)[0], signal.SIGKILL)

    with meanwhile(kill_one):
        code = main(words(folder, "--minutes", "10"))
    printed = capsys.readouterr()
    told = printed.err.splitlines()[-1]
    assert code == 1
    assert Spool(folder / "spool").waiting() == []
    assert "The first policy scores" in printed.out
    assert (folder / "report" / "report.html").is_file()
    assert told.startswith("lanista: A player ended with code -9: it said nothing (see ")
    assert str(folder / "player-") in told
    assert players(folder) == []


@on_linux
@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (LanistaError("The server does not come back; see its log."), "The server does not come"),
        (OSError(28, "No space left on device"), "What the players play on has failed: "),
    ],
)
def test_a_ground_that_fails_ends_it_with_the_reason_and_nothing_played_is_lost(
    folder, capsys, monkeypatch, failure, sentence
):
    def look():
        if taken_in(folder) > 0:
            raise failure

    class Crumbling(Arena):
        def ground(self, setup, say):
            yield Ground(look=look)

    monkeypatch.setattr(venues, "venue_named", lambda name: Crumbling())
    # Games are its limit only where the failure is not seen.
    run = ["live", "run", "arena", "--output", str(folder), "--players", "1", "--games", "400"]
    assert main([*run, *LIVELY]) == 1
    printed = capsys.readouterr()
    assert sentence in printed.err.splitlines()[-1]
    assert "The first policy scores" in printed.out
    assert (folder / "report" / "report.html").is_file()
    assert Spool(folder / "spool").waiting() == []
    assert players(folder) == []


def test_a_player_that_cannot_play_says_why_in_its_last_line(folder, capsys):
    demo = demo_of(folder)
    prepare(demo, print)
    given = ["--policy", str(demo.policy), "--spool", str(demo.spool), "--opponent", "nobody"]
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    try:
        assert arena_player.main(given) == 2
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), handlers, strict=True):
            signal.signal(number, handler)
    assert capsys.readouterr().err.startswith("arena has no bot 'nobody'")
    (folder / "player-0.log").write_text("of an earlier start")
    why = r"code 2: arena has no bot 'nobody'.*\(see .*\)\."
    with (
        session.playing(Arena(), demo_of(folder, opponent="nobody"), Ground()) as alive,
        pytest.raises(LanistaError, match=why),
    ):
        until(alive)
    assert "earlier" not in (folder / "player-0.log").read_text()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--minutes", "0"], "--minutes is 0.0; give a number above 0."),
        (["--minutes", "nan"], "--minutes is nan"),
        (["--minutes", "inf"], "--minutes is inf"),
        (["--players", "0"], "--players is 0; give 1 or more."),
        (["--opponent", "nobody"], "arena has no bot 'nobody'; known: kiter"),
        (["--seed", "-1"], "seed is -1"),
        (["--set", "gate.evry=3"], "'gate.evry'; did you mean 'gate.every'"),
        (["--set", "batch_games=2"], "least_games is 50 and batch_games 2"),
    ],
)
def test_bad_input_is_refused_in_one_sentence_before_anything_is_made(
    tmp_path, capsys, more, sentence
):
    assert main(["live-demo", "--output", str(tmp_path / "demo"), *more]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1
    assert not (tmp_path / "demo" / "policy").exists()


def test_an_output_that_is_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert main(["live-demo", "--output", str(tmp_path / "file")]) == 2
    assert "--output cannot write into" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_with_a_policy_for_another_game_is_refused(tmp_path, capsys):
    from lanista.live.sc2 import first_policy

    first_policy(tmp_path / "policy")
    assert main(["live-demo", "--output", str(tmp_path)]) == 2
    assert "holds a policy for starcraft2-macro, and this plays arena" in capsys.readouterr().err


def test_the_first_policy_is_the_same_file_for_the_same_seed(tmp_path, clone, monkeypatch):
    monkeypatch.setattr(arena, "_RECORDED", 40)
    made = {}
    for name, seed in (("again", 0), ("other", 1)):
        prepare(demo_of(tmp_path / name, seed), print)
        made[name] = (tmp_path / name / "first.safetensors").read_bytes()
    assert made["again"] == clone != made["other"]
    folder = PolicyFolder(tmp_path / "again" / "policy")
    header = read_header(folder.path_of(folder.pointer().stable))
    assert header.game == "arena"
    assert dict(header.settings).items() >= arena.GAME_SETTINGS.items()
    # Made anew it would be published anew; once there, it stays.
    prepare(demo_of(tmp_path / "again", 0), print)
    assert folder.pointer().serial == 1
    with pytest.raises(LanistaError, match=r"--seed is 1, and .* was begun with 0; give that"):
        session.facts_of(Arena(), tmp_path / "again", {"seed": 1})
    assert session.facts_of(Arena(), tmp_path / "again", {}) == {"opponent": "kiter", "seed": 0}
