"""Trees of information states, held against OpenSpiel's own numbers and against hand counts."""

from typing import Any

import numpy as np
import pytest

from lanista.games.contract import Facts, GameError
from lanista.games.python_game import PythonGame, View
from lanista.games.trees.chance import ListedStream, outcomes
from lanista.games.trees.exact import exact_nash_conv, information_tree, profile_of, values
from lanista.games.trees.from_hooks import tree_of_hooks


def random_policy(seed: int) -> Any:
    """Return a policy that is a function of views: weights of a random projection."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(400, 40))

    def policy(observation: Any, mask: Any) -> Any:
        width, choices = observation.shape[1], mask.shape[1]
        logits = np.asarray(observation, float) @ drawn[:width, :choices]
        weights = np.exp(logits) * mask
        return weights / weights.sum(1, keepdims=True)

    return policy


def by_openspiel(name: str, policy: Any) -> float:
    """Return NashConv by OpenSpiel's solver, fed through its own information states."""
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game(name)
    table, waiting = {}, [game.new_initial_state()]
    while waiting:
        state = waiting.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            row = np.asarray(state.information_state_tensor(), np.float32)[None]
            mask = np.asarray(state.legal_actions_mask(), bool)[None]
            shares = policy(row, mask)[0]
            table[state.information_state_string()] = [
                (action, float(shares[action])) for action in state.legal_actions()
            ]
        waiting += [state.child(action) for action in state.legal_actions()]
    return float(pyspiel.nash_conv(game, table))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("kuhn", "kuhn_poker"),
        ("leduc", "leduc_poker"),
        ("openspiel:kuhn_poker(players=3)", "kuhn_poker(players=3)"),
        ("openspiel:leduc_poker(suit_isomorphism=True)", "leduc_poker(suit_isomorphism=True)"),
        ("openspiel:liars_dice(dice_sides=3)", "liars_dice(dice_sides=3)"),
        ("openspiel:tiny_hanabi", "tiny_hanabi"),
    ],
)  # fmt: skip
def test_nash_conv_of_any_policy_is_that_of_openspiel(ours: str, theirs: str) -> None:
    policy = random_policy(3)
    assert exact_nash_conv(ours, policy) == pytest.approx(by_openspiel(theirs, policy), abs=1e-9)


@pytest.mark.slow
def test_nash_conv_in_liars_dice_is_that_of_openspiel() -> None:
    policy = random_policy(4)
    assert exact_nash_conv("liars_dice", policy) == pytest.approx(
        by_openspiel("liars_dice", policy), abs=1e-9
    )


# Counted by hand: Kuhn has 2 seats x 3 cards x 2 moments and 6 deals of 5 ends; Leduc's 936
# information states are in the literature; liar's dice: 6 faces x 2**12 sets of bids, less those
# that end the match, which leaves 4096 for each face.
@pytest.mark.parametrize(
    ("game", "states", "ends"),
    [("kuhn", 12, 30), ("leduc", 936, 5880), ("liars_dice", 24576, 147420)],
)
def test_a_tree_has_the_known_number_of_states(game: str, states: int, ends: int) -> None:
    tree = information_tree(game)
    assert tree.states == states
    assert tree.end_utility.shape[1] == ends
    assert tree.end_utility.sum(0) == pytest.approx(0)


def test_states_come_after_those_that_lead_to_them() -> None:
    for seat in information_tree("leduc").seats:
        assert (seat.parent < seat.first[:-1]).all()


def test_the_value_of_kuhns_equilibrium_is_minus_one_eighteenth() -> None:
    # By alpha = 0 of Kuhn's family (1950): bets, calls by card.
    bet = {(0, 0): 0, (0, 1): 0, (0, 2): 0, (1, 0): 1 / 3, (1, 1): 0, (1, 2): 1}
    call = {(0, 0): 0, (0, 1): 1 / 3, (0, 2): 1, (1, 0): 0, (1, 1): 1 / 3, (1, 2): 1}

    def policy(observation: Any, mask: Any) -> Any:
        out = []
        for view in observation:
            seat, card = int(view[:2].argmax()), int(view[2:5].argmax())
            moves = int(view[5:].sum())
            faces_bet = moves == 2 or (moves == 1 and view[6])
            share = (call if faces_bet else bet)[seat, card]
            out.append([1 - share, share])
        return np.array(out)

    tree = information_tree("kuhn")
    assert values(tree, profile_of(tree, policy)) == pytest.approx([-1 / 18, 1 / 18])


class Coin(PythonGame):
    """A coin is shown to seat 0, who bets 1 or 2; seat 1 guesses, seeing the bet alone."""

    facts = Facts(seats=2, longest=2, hidden=True, chance=True, zero_sum=True)
    observation = 4
    moves = 2
    dtype = "uint8"

    def deal(self, rng: Any) -> dict[str, int]:
        return {"coin": rng.choice([0, 1, 1])}

    def apply(self, state: Any, moves: Any, rng: Any) -> Any:
        if "bet" not in state:
            state["bet"] = moves[0]
            return None
        paid = (1 + state["bet"]) * (1 if moves[1] != state["coin"] else -1)
        return [paid, -paid]

    def view(self, state: Any, seat: int) -> View | None:
        if seat != ("bet" in state):
            return None
        return View([seat, 1 - seat, state["coin"] * (1 - seat), state.get("bet", 0)], [0, 1])


def test_a_game_in_python_is_walked_with_the_chance_it_draws() -> None:
    tree = tree_of_hooks(Coin(), 1000)
    # Three outcomes, two of which look alike to seat 0; each has two bets and two guesses.
    assert [len(seat) for seat in tree.seats] == [2, 2]
    assert tree.end_utility.shape[1] == 12
    always_two = profile_of(tree, lambda rows, mask: np.array([[0.0, 1.0]] * len(rows)))
    # Seat 1 guesses 1 always, and two coins of three are 1: seat 0 pays 2 · (2/3 - 1/3).
    assert values(tree, always_two) == pytest.approx([-2 / 3, 2 / 3])


class Gauss(Coin):
    def deal(self, rng: Any) -> dict[str, int]:
        return {"coin": int(rng.normal() > 0)}


def test_chance_without_a_list_of_outcomes_is_refused_with_the_remedy() -> None:
    with pytest.raises(GameError, match=r"gauss has no exact NashConv.*below\(\), choice\(\)"):
        tree_of_hooks(Gauss(), 1000)


class Forgetful(Coin):
    """Seat 0 chooses twice, and its second view does not tell what it chose."""

    facts = Facts(seats=2, longest=3, hidden=True, chance=False, zero_sum=True)

    def deal(self, rng: Any) -> dict[str, int]:
        return {"coin": 0}

    def apply(self, state: Any, moves: Any, rng: Any) -> Any:
        state.setdefault("made", []).append(moves[0])
        if len(state["made"]) < 2:
            return None
        paid = 1 if state["made"][0] == state["made"][1] else -1
        return [paid, -paid]

    def view(self, state: Any, seat: int) -> View | None:
        return View([0, 0, 0, len(state.get("made", []))], [0, 1]) if seat == 0 else None


def test_a_best_response_remembers_what_a_view_does_not_tell() -> None:
    tree = tree_of_hooks(Forgetful(), 1000)
    assert [len(seat) for seat in tree.seats] == [3, 0]


class Unclear(Forgetful):
    """Whether 1 is legal hangs on a coin that nobody sees."""

    def deal(self, rng: Any) -> dict[str, int]:
        return {"coin": rng.below(2)}

    def view(self, state: Any, seat: int) -> View | None:
        return View([0, 0, 0, 0], [0, 1][: 1 + state["coin"]]) if seat == 0 else None


def test_a_view_that_does_not_tell_what_is_legal_is_refused() -> None:
    with pytest.raises(GameError, match="seat 0 sees the same where it may choose other things"):
        tree_of_hooks(Unclear(), 1000)


class Patience(Coin):
    """Seats wait in turn for a thousand turns; whoever stops loses."""

    facts = Facts(seats=2, longest=1000, zero_sum=True)

    def deal(self, rng: Any) -> dict[str, int]:
        return {"turn": 0}

    def apply(self, state: Any, moves: Any, rng: Any) -> Any:
        ((seat, stops),) = moves.items()
        state["turn"] += 1
        if stops or state["turn"] == 1000:
            return [-1, 1] if seat == 0 else [1, -1]
        return None

    def view(self, state: Any, seat: int) -> View | None:
        turn = state["turn"]
        return View([seat, turn // 256, turn % 256, 0], [0, 1]) if turn % 2 == seat else None


def test_matches_of_many_turns_are_walked() -> None:
    tree = tree_of_hooks(Patience(), 10_000)
    assert [len(seat) for seat in tree.seats] == [500, 500]
    assert tree.end_utility.shape[1] == 1001
    with pytest.raises(GameError, match="more than 100 histories"):
        tree_of_hooks(Patience(), 100)


def test_a_listed_stream_goes_through_every_outcome_once() -> None:
    def draw(rng: ListedStream) -> tuple[int, ...]:
        items = [0, 1, 2]
        rng.shuffle(items)
        return (*items, rng.below(2)) if items[0] else tuple(items)

    drawn = list(outcomes(draw))
    assert len({result for _, result in drawn}) == len(drawn) == 2 + 4 * 2
    assert sum(chance for chance, _ in drawn) == pytest.approx(1)
    assert {chance for chance, result in drawn if len(result) == 4} == {1 / 12}


def test_imperfect_recall_in_openspiel_is_refused() -> None:
    pytest.importorskip("pyspiel")
    with pytest.raises(GameError, match="perfect recall"):
        exact_nash_conv("openspiel:dark_hex_ir(board_size=2)", random_policy(1))


def test_a_game_that_does_not_list_its_deals_is_refused() -> None:
    with pytest.raises(GameError, match="beastybar has no exact NashConv: it does not list"):
        information_tree("beastybar")
