"""Where a run that nobody chose an algorithm for learns regrets: by facts, and by what it costs."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lanista.api.settings import run_settings
from lanista.cli.main import main
from lanista.evaluation.evaluator import probabilities, uniform
from lanista.games import registry
from lanista.games.contract import Abilities, Head
from lanista.games.trees.exact import exact_nash_conv
from lanista.nets.files.policy_file import load_policy
from lanista.pipeline.defaults import choose, default_recipe, default_settings
from lanista.pipeline.game_sample import Sample, traversal_of
from lanista.pipeline.regret_rule import leaves_regrets
from lanista.pipeline.settings_summary import summary
from lanista.rollout.traversals import Branching, Traverser
from lanista.runs.settings import apply_overrides
from lanista.tuning.space import default_space

KUHN = registry.spec_of("kuhn")
SMALL = Sample(decisions=4.0, scale=1.0, traversal=10.0)
BID = '''
from lanista.games import Facts, PythonGame, View

class Bid(PythonGame):
    """A card of 1 to 3 each and a bid of 0 to 2 unseen: who bids more pays for the other's card."""
    facts = Facts(seats=2, longest=2, hidden=True, chance=True, zero_sum=True)
    observation, moves = 5, 3

    def deal(self, rng):
        return {"cards": [1 + rng.below(3), 1 + rng.below(3)], "bids": []}

    def view(self, state, seat):
        if len(state["bids"]) != seat:
            return None
        return View([state["cards"][seat] == card for card in (1, 2, 3)] + [seat == 0, 1], range(3))

    def apply(self, state, moves, rng):
        state["bids"] += moves.values()
        if len(state["bids"]) < 2:
            return None
        (first, second), cards = state["bids"], state["cards"]
        paid = 0 if first == second else cards[1] - first if first > second else second - cards[0]
        return [paid, -paid]
'''


def facts(**changes):
    return replace(KUHN, facts=replace(KUHN.facts, **changes))


def policy_for(spec, sample=SMALL):
    return choose(spec, ("random",), sample, 10).learning.policy


@pytest.mark.parametrize(
    "spec",
    [facts(hidden=True), facts(hidden=False, simultaneous=True)],
    ids=["hidden", "at once"],
)
def test_two_opposed_seats_that_do_not_see_all_learn_regrets(spec):
    assert policy_for(spec) == "regret"


@pytest.mark.parametrize(
    "spec",
    [
        facts(hidden=False),
        facts(zero_sum=False),
        facts(seats=3),
        facts(seats=1),
        replace(KUHN, heads=(Head("a", 2), Head("b", 2))),
        replace(KUHN, abilities=replace(Abilities(), restorable=False)),
    ],
    ids=["all is seen", "not opposed", "three seats", "alone", "two heads", "no copies"],
)
def test_any_other_game_is_learned_by_ppo(spec):
    assert policy_for(spec) == "ppo"


def test_a_game_in_which_trying_every_choice_is_dear_is_learned_by_ppo():
    assert policy_for(KUHN, replace(SMALL, traversal=4000.0)) == "regret"
    assert policy_for(KUHN, replace(SMALL, traversal=4001.0)) == "ppo"
    # Nobody measured it.
    assert policy_for(KUHN, Sample(4.0, 1.0)) == "ppo"


def test_an_iteration_has_as_many_traversals_as_fit_into_the_time_of_learning():
    def matches(traversal, *, compiled):
        sample = replace(SMALL, traversal=traversal, compiled=compiled)
        return choose(KUHN, (), sample, 10).rollouts.matches

    assert matches(64.0, compiled=False) == 1024 / 2 / 64
    assert matches(64.0, compiled=True) == 16_384 / 2 / 64
    assert matches(1.0, compiled=True) == 500
    assert matches(4000.0, compiled=False) == 4


@pytest.mark.parametrize(
    ("game", "learner"),
    [
        ("kuhn", "regret"),
        ("leduc", "regret"),
        ("liars_dice", "regret"),
        ("card_rps", "regret"),
        ("phantom_ttt", "ppo"),
        ("beastybar", "ppo"),
        ("arena", "ppo"),
    ],
)
def test_the_side_of_every_game_of_ours(game, learner):
    values = {"duration": 4.0} if game == "arena" else {}
    assert default_settings(game, values, iterations=10).learning.policy == learner


@pytest.mark.parametrize(
    ("game", "learner"),
    [
        ("goofspiel(num_cards=4,imp_info=True,points_order=descending)", "regret"),
        ("turn_based_simultaneous_game(game=blotto(coins=5,fields=3))", "regret"),
        ("dark_hex(board_size=2)", "regret"),
        ("dark_hex(board_size=3)", "ppo"),
        ("matrix_brps", "regret"),
        ("first_sealed_auction", "ppo"),
        ("kuhn_poker(players=3)", "ppo"),
        ("tiny_hanabi", "ppo"),
        ("connect_four", "ppo"),
        ("tic_tac_toe", "ppo"),
        ("markov_soccer(horizon=100)", "ppo"),
        ("catch", "ppo"),
    ],
)
def test_the_side_of_openspiels_games(game, learner):
    pytest.importorskip("pyspiel")
    chosen = default_settings(f"openspiel:{game}", iterations=10)
    assert chosen.learning.policy == learner


def test_the_size_of_a_traversal_is_estimated_without_making_one():
    """The same as the moves of real traversals of uniform play, for the seat that makes more."""

    def moves(seat):
        spec = registry.spec_of("leduc")
        traverser = Traverser(lambda slots: registry.make("leduc", slots=slots), spec, Branching())
        made = traverser.traverse(seat, 0, 2000, uniform, np.random.default_rng(seat))
        traverser.close()
        own = int(made.regrets.mask.sum())
        return (made.decisions - len(made.regrets) + own) / 2000

    expected = max(moves(0), moves(1))
    assert traversal_of("leduc", {}) == pytest.approx(expected, rel=0.15)


def test_a_traversal_that_is_too_large_is_not_played_to_its_end():
    whole = traversal_of("phantom_ttt", {})
    assert 4000 < traversal_of("phantom_ttt", {}, most=4000.0) < whole / 2


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        ((), True),
        (("seed=3", "evaluation.every=5", "learning.lr=1e-3", "rollouts.matches=9"), True),
        (("learning.regret.steps=5", "network.width=64", "learning.policy=regret"), True),
        (("mark=nash_conv<=0.1",), True),
        (("learning.policy=ppo",), False),
        (("learning.terms.entropy=0.1",), False),
        (("rollouts.workers=2",), False),
        (("network.kind=lstm",), False),
        (("league.round=5",), False),
        (("replay.size=64",), False),
    ],
)
def test_who_asks_for_what_regrets_have_no_use_for_has_ppo(words, fits):
    assert leaves_regrets(words) == fits


def test_a_script_that_sets_a_term_has_ppo():
    values = {"game": "kuhn", "iterations": 4}
    assert run_settings(None, values, Path("k.safetensors")).learning.policy == "regret"
    values["learning"] = {"epochs": 3}
    assert run_settings(None, values, Path("k.safetensors")).learning.epochs == 3


def test_without_regrets_the_settings_are_ppos():
    assert default_settings("leduc", regrets=False).learning.policy == "ppo"
    assert default_recipe("leduc", regrets=False)["stages"]["rl"]["learning"]["policy"] == "ppo"


def test_the_summary_says_how_regrets_are_learned_and_no_terms():
    text = summary(default_settings("kuhn", iterations=20))
    assert "  algorithm      regret\n" in text
    assert "  sampling       external; 10 steps on regrets, 10 on the average\n" in text
    assert "terms" not in text


def test_a_search_around_regrets_varies_what_they_read():
    chosen = default_settings("kuhn", iterations=20)
    space = default_space(chosen)
    assert {"learning.regret.steps", "learning.regret.average_steps", "rollouts.matches"} <= {
        *space
    }
    assert leaves_regrets(space)
    apply_overrides(chosen, [f"{key}={scope.ends()[0]}" for key, scope in space.items()])


def test_the_plain_command_learns_a_hidden_game_in_python(tmp_path):
    """In a few CPU seconds; to uniform play of it best responses gain 0.667."""
    game, output = tmp_path / "bid.py", tmp_path / "bid.safetensors"
    game.write_text(BID)
    words = ["rl", "--game", f"{game}", "--iterations", "120", "--cpu", "--output", f"{output}"]
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        assert main(words) == 0
    assert "  algorithm      regret\n" in errors.getvalue()
    policy = load_policy(output)
    learned = exact_nash_conv(str(game), probabilities(policy.policy))
    assert exact_nash_conv(str(game), uniform) == pytest.approx(2 / 3)
    assert learned < 0.1


def test_the_seed_of_a_run_does_not_change_how_it_learns():
    assert len({default_settings("liars_dice", seed=seed).rollouts for seed in range(3)}) == 1
