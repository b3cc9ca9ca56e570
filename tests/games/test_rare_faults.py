"""The checker finds what seldom shows, blames no sound game, and names the line that failed."""

from __future__ import annotations

import pytest
from leaky_games import (
    CONTRADICTIONS,
    RARE_LEAKS,
    SOUND,
    ForgetsWhoCouldNotFollow,
    LeaksWithAnOption,
    LeaksWithARareHand,
    Tricks,
)

from lanista.cli.main import main
from lanista.games.check import hidden, leaks, recall
from lanista.games.check.report import Fault, NotApplicable
from lanista.games.check.trial import Trial

EFFORT = 40_000


def trial_of(game, seed=0, effort=EFFORT, matches=32):
    return Trial(lambda slots, seed: game(slots, seed), seed, matches, effort, False)


@pytest.mark.parametrize("game", [*RARE_LEAKS, LeaksWithAnOption])
def test_the_search_finds_a_rare_leak(game):
    # Three times the usual effort: what `lanista check --matches 96` spends.
    with pytest.raises(Fault, match="shows something hidden"):
        leaks.search(trial_of(game, effort=3 * EFFORT))


def test_more_matches_find_what_few_do_not():
    leaks.search(trial_of(LeaksWithARareHand, effort=400))
    with pytest.raises(Fault, match=r"number 0 of 'hint' went from [01] to [01]"):
        leaks.search(trial_of(LeaksWithARareHand, effort=3 * EFFORT))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
@pytest.mark.parametrize("game", SOUND)
def test_a_sound_game_is_not_blamed_for_a_leak_or_a_redraw(game, seed):
    trial = trial_of(game, seed, effort=20_000)
    assert "a search for rare positions redrew" in hidden.hidden(trial)
    assert "led to nothing that real play rules out" in recall.recall(trial)


@pytest.mark.parametrize("looks", [2_000, pytest.param(EFFORT, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "game",
    [
        pytest.param(game, marks=pytest.mark.slow if game is ForgetsWhoCouldNotFollow else ())
        for game in CONTRADICTIONS
    ],
)
def test_a_redraw_that_contradicts_what_was_seen_earlier_is_found(game, looks):
    hidden.hidden(trial_of(game, effort=looks))  # The view at the decision stays as it was.
    trial = trial_of(game)
    with pytest.raises(Fault, match="resample contradicts what the seat saw: after "):
        recall.recall(trial)


def test_too_few_matches_blame_nobody():
    with pytest.raises(NotApplicable, match="it takes 100 redraws to tell"):
        recall.recall(trial_of(CONTRADICTIONS[0], effort=1_000))


def test_the_search_takes_rare_actions_and_watches_every_seat():
    with trial_of(Tricks).game(leaks.SLOTS) as game:
        search = leaks.Search(trial_of(Tricks), game)
        looked = search.run(20_000)
    taken = search.manners._action_counts[0]
    share = taken[-1] / taken.sum()
    # Asking is legal to one seat in 5 and once: at random it is one action in a hundred or so.
    assert share > 0.012
    assert looked.seldom > 0
    assert looked.redraws > looked.matches


GAME = """
from lanista.games import Facts, PythonGame, View

class Broken(PythonGame):
    facts = Facts(seats=2, longest=4, zero_sum=True)
    observation = 1
    moves = 2

    def deal(self, rng):
        return [0]

    def apply(self, state, moves, rng):
        state[0] += 1
        return [0, 0] if state[0] == 4 else None

    def view(self, state, seat):
        if state[0] % 2 != seat:
            return None
        return View([number(state)], [0, 1])

def number(state):
    return 1 / (state[0] - 2)
"""


@pytest.mark.parametrize("command", ["check", "play"])
def test_an_exception_in_a_hook_is_told_with_file_line_and_hook(command, tmp_path, capsys):
    path = tmp_path / "broken_game.py"
    path.write_text(GAME)
    line = 1 + GAME.splitlines().index("    return 1 / (state[0] - 2)")
    more = ["--seats", "random,random", "--matches", "4"] if command == "play" else []
    assert main([command, str(path), *more]) == 1
    printed = capsys.readouterr()
    words = " ".join((printed.out + printed.err).split())
    assert f"broken_game.py, line {line}, in view: ZeroDivisionError" in words
    assert "Traceback" not in words
    if command == "play":
        assert printed.err.count("\n") == 1


def test_check_takes_matches_and_settings(capsys):
    assert main(["check", "beastybar", "--set", "seats=5"]) == 2
    assert "seats is 5" in capsys.readouterr().err
    assert main(["check", "kuhn", "--set", "cards=4"]) == 2
    assert "kuhn has no setting 'cards'" in capsys.readouterr().err
    assert main(["check", "kuhn", "--matches", "0"]) == 2
    assert "--matches is 0" in capsys.readouterr().err
    assert main(["check", "kuhn", "--matches", "5", "--seed", "3"]) == 0
    assert "5 matches ended after" in capsys.readouterr().out


def test_check_plays_the_game_that_the_settings_make(capsys, monkeypatch):
    made = []
    from lanista.games import registry

    make = registry.make

    def making(game, **how):
        made.append(how.get("seats"))
        return make(game, **how)

    monkeypatch.setattr(registry, "make", making)
    monkeypatch.setattr("lanista.games.check.CHECKS", {})
    assert main(["check", "beastybar", "--set", "seats=3"]) == 0
    assert made == [3]
