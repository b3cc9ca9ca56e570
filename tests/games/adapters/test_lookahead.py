"""What OpenSpiel's rules prove of moves: against a full minimax, and where it cannot be shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanista.games import GameError, check_game, make

pyspiel = pytest.importorskip("pyspiel")

NAMES = [
    "tic_tac_toe",
    "connect_four",
    "breakthrough(rows=4,columns=4)",
    "dots_and_boxes(num_rows=1,num_cols=2)",  # Whoever takes a box moves again.
]


def minimax(state: Any, seat: int, plies: int) -> int:
    """Return 1 where `seat` can force a win within `plies`, -1 where the other can; 0 otherwise."""
    if state.is_terminal():
        return int(np.sign(state.player_return(seat)))
    if plies == 0:
        return 0
    values = [minimax(state.child(move), seat, plies - 1) for move in state.legal_actions()]
    return max(values) if state.current_player() == seat else min(values)


def expected(state: Any, plies: int) -> list[int]:
    seat, outcomes = state.current_player(), [0] * state.num_distinct_actions()
    for move in state.legal_actions():
        outcomes[move] = minimax(state.child(move), seat, plies - 1)
    wins_at_once = any(
        after.is_terminal() and after.player_return(seat) > 0
        for after in map(state.child, state.legal_actions())
    )
    if wins_at_once:  # Then nothing else is looked at any further.
        for move in state.legal_actions():
            outcomes[move] = minimax(state.child(move), seat, 0)
    return outcomes


@pytest.mark.parametrize("plies", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_shown_of_moves_is_what_a_full_minimax_proves(name: str, plies: int) -> None:
    slots = 6
    game = make(f"openspiel:{name}", slots=slots, lookahead=plies)
    states = [pyspiel.load_game(name).new_initial_state() for _ in range(slots)]
    game.start(np.arange(slots), np.arange(slots))
    drawn, proved = np.random.default_rng(3), 0
    while len(decisions := game.decisions()):
        moves = []
        for row, slot in enumerate(decisions.slot):
            shown = decisions.observation[row, game.spec.observation.slice_of("lookahead")]
            assert shown.tolist() == expected(states[slot], plies), str(states[slot])
            proved += int(np.abs(shown).sum())
            moves.append(int(drawn.choice(states[slot].legal_actions())))
            states[slot].apply_action(moves[-1])
        game.act(np.arange(len(moves)), np.array(moves)[:, None])
    assert proved > 0


def test_a_move_that_wins_and_one_that_must_block_are_shown() -> None:
    def shown(columns: list[int], plies: int) -> list[float]:
        game = make("openspiel:connect_four", lookahead=plies)
        game.start([0], [0])
        for column in columns:
            game.decisions()
            game.act([0], [[column]])
        row = game.decisions().observation[0]
        return row[game.spec.observation.slice_of("lookahead")].tolist()  # type: ignore[no-any-return]

    assert shown([3, 0, 3, 0, 3, 0], 1) == [0, 0, 0, 1, 0, 0, 0]
    assert shown([3, 0, 3, 0, 3], 2) == [-1, -1, -1, 0, -1, -1, -1]
    assert shown([2, 2, 3, 3], 2) == [0] * 7


def test_without_lookahead_nothing_changes() -> None:
    plain, none = make("openspiel:connect_four"), make("openspiel:connect_four", lookahead=0)
    assert plain.spec == none.spec
    assert plain.spec.settings == {}
    assert make("openspiel:connect_four", lookahead=2).spec.settings == {"lookahead": 2}


@pytest.mark.parametrize("name", ["kuhn_poker", "backgammon", "matrix_rps", "solitaire"])
def test_games_whose_moves_prove_nothing_are_refused(name: str) -> None:
    with pytest.raises(GameError, match="set lookahead to 0"):
        make(f"openspiel:{name}", lookahead=1)


def test_a_depth_that_is_none_is_refused() -> None:
    with pytest.raises(GameError, match="lookahead is 3; choose from 0, 1, 2"):
        make("openspiel:connect_four", lookahead=3)


def test_a_game_that_looks_ahead_obeys_the_contract() -> None:
    check_game("openspiel:tic_tac_toe", settings={"lookahead": 2}, matches=8)
