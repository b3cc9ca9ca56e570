"""The examples obey their own rules, and every command in their pages runs."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import warm_python

from lanista.cli.main import main
from lanista.games import check_game, entry, make, make_bot
from lanista.games.streams import Stream
from lanista.live.files.game_file import read
from lanista.live.files.policy_folder import PolicyFolder

ROOT = Path(__file__).parents[1]
GAME = str(ROOT / "examples" / "my_game.py")
PAGES = ["guides/add-a-game.md", "guides/add-a-bot.md"]


TRAINING = "## Train on it"
SMALL = {
    "--budget 10m": "--cpu --set stages.rl.iterations=2 stages.rl.rollouts.matches=16 "
    "stages.rl.evaluation.matches=4 stages.evaluate.games=4",
    "--games 2000": "--games 4",
    "--train-steps 200000": "--train-steps 64 --games 4 --selection-games 4 --points 1 --cpu",
}
"""What takes minutes on the page, and what is tried instead."""


def in_text(text):
    """Return the shell lines of a text."""
    return [line for line in text.splitlines() if line.startswith("lanista ")]


def page_text(page):
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def training():
    """Return the lines of the page that goes on to training, which belong together."""
    return in_text(page_text("guides/add-a-game.md").partition(TRAINING)[2].partition("\n## ")[0])


def commands(page):
    """Return the shell lines of a page that stand for themselves."""
    return [line for line in in_text(page_text(page)) if line not in training()]


def test_the_page_goes_on_from_a_game_to_its_policy_without_naming_the_game_again(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    shutil.copy(GAME, "my_game.py")
    first, *others = training()
    assert len(others) >= 3
    assert "--game my_game.py" in first
    assert not [line for line in others if "--game " in line]
    for line in (first, *others):
        for words, small in SMALL.items():
            line = line.replace(words, small)
        assert main(shlex.split(line)[1:]) == 0, line


def test_each_page_has_a_command():
    assert all(commands(page) for page in PAGES)


@pytest.mark.parametrize("line", sorted({line for page in PAGES for line in commands(page)}))
def test_a_command_of_the_pages_runs(line):
    words = shlex.split(line)[1:]
    run = "from lanista.cli.main import main; raise SystemExit(main())"
    done = warm_python.run(
        [sys.executable, "-c", run, *words], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.slow  # A command of the pages makes the same check.
def test_the_example_game_obeys_the_contract():
    assert check_game(GAME).passed


def play_bids(bids, deal):
    """Return the views of seat 0 before each lot, and the game, after both bid as told."""
    game = make(GAME)
    game.start([0], [0], {"deal": deal})
    views = []
    for pair in bids:
        decisions = game.decisions()
        views.append(decisions.observation[0].tolist())
        game.act([0, 1], pair)
    return views, game


def deal_of(purses):
    """Return a deal in which the seats begin with these purses."""
    for deal in range(1000):
        rng = Stream.keyed(0, deal, 0, "chance")
        if [4 + rng.below(5), 4 + rng.below(5)] == purses:
            return deal
    raise AssertionError(f"no deal with {purses}")


def test_the_higher_bid_pays_and_takes_the_lot():
    views, game = play_bids([[3, 1], [1, 4], [0, 0]], deal_of([6, 5]))
    lots = [view[1] for view in views]
    assert [view[0] for view in views] == [6, 3, 3]
    assert [view[2] for view in views] == [3, 2, 1]
    assert [view[3:5] for view in views] == [[0, 0], [lots[0], 0], [lots[0], lots[1]]]
    assert [view[5] for view in views] == [0, 0, 4]
    result = (lots[0] > lots[1]) - (lots[0] < lots[1])
    assert game.returns[0].tolist() == [result, -result]
    assert game.done.all()


def test_equal_bids_lose_the_lot_and_cost_nothing():
    views, game = play_bids([[2, 2], [4, 4], [0, 0]], deal_of([6, 5]))
    assert [view[0] for view in views] == [6, 6, 6]
    assert game.returns[0].tolist() == [0, 0]
    assert game.place[0].tolist() == [1, 1]


def test_bids_prove_how_much_a_purse_held_at_least():
    views, _ = play_bids([[0, 5], [0, 2], [0, 0]], deal_of([6, 8]))
    assert [view[6] for view in views] == [4, 5, 7]


def test_a_purse_is_redrawn_from_what_bids_have_not_ruled_out():
    drawn = set()
    for number in range(200):
        _, game = play_bids([[0, 5], [0, 2]], deal_of([6, 8]))
        game.resample_hidden(0, 0, Stream(number))
        view = game.decisions().observation[1].tolist()
        drawn.add(view[0] + 7)
    assert drawn == {7, 8}


def test_thrifty_beats_random_from_both_seats():
    game = make(GAME, slots=400, seed=1)
    thrifty, random = (make_bot(GAME, name, game.spec, 1) for name in ("thrifty", "random"))
    game.start(np.arange(400), np.arange(400))
    for _ in range(3):
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        # In the first half thrifty has seat 0, in the second seat 1.
        mine = rows[(decisions.slot >= 200) == (decisions.seat == 1)]
        actions = np.empty((len(rows), 1), np.int32)
        others = np.setdiff1d(rows, mine)
        actions[mine] = thrifty.act(decisions, mine)
        actions[others] = random.act(decisions, others)
        game.act(rows, actions)
    assert game.returns[:200, 0].mean() > 0.3
    assert game.returns[200:, 1].mean() > 0.3


def test_the_example_bot_is_known_by_the_game_file():
    assert set(entry(GAME).bots) == {"thrifty"}


def test_the_example_live_bot_plays_from_nothing_and_goes_on(tmp_path):
    command = [sys.executable, str(ROOT / "examples" / "my_live_bot.py"), "--folder", str(tmp_path)]
    for session in ("one", "two"):
        words = ["--games", "3", "--session", session]
        done = warm_python.run([*command, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "3 games written; no problem" in done.stdout
    pointer = PolicyFolder(tmp_path / "policy").pointer()
    assert pointer.serial == 1
    games = [read(path) for path in (tmp_path / "spool" / "new").iterdir()]
    ids = {f"{session}-{number}" for session in ("one", "two") for number in range(3)}
    assert {game.header.game_id for game in games} == ids
    for game in games:
        assert game.header.policy == pointer.stable
        # A round's result counts a ninth, and the match's is the sign of their sum.
        lead = round(float(game.rewards.sum()) * 9)
        assert game.outcome.tolist() == [np.sign(lead)]
        assert len(game.actions) == 9
