"""Best responses on boards with hidden marks: against a slow twin, and against OpenSpiel."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_boards import PlainBoard

from lanista.errors import RefusedError
from lanista.games import GameError, make
from lanista.games.trees.boards.games import BoardGame, board_game, connected
from lanista.games.trees.boards.kept_values import KeptValues
from lanista.games.trees.boards.measure import BoardMeasure, best_response_value
from lanista.games.trees.boards.rules import BoardRules
from lanista.games.trees.boards.seat_tree import BoardSeatTree
from lanista.games.trees.boards.walk import BoardWalk
from lanista.games.trees.exact import (
    exact_nash_conv,
    mixture_nash_conv,
    nash_conv,
    profile_of,
    seat_gains,
)
from lanista.games.trees.sequence_form import best_value, realise

LINES = (0o700, 0o070, 0o007, 0o444, 0o222, 0o111, 0o421, 0o124)


def random_policy(seed: int) -> Any:
    drawn = np.random.default_rng(seed).normal(size=(162, 9))

    def policy(rows: Any, mask: Any) -> Any:
        logits = np.asarray(rows, float) @ drawn[: rows.shape[1], : mask.shape[1]]
        weights = np.exp(2 * logits) * mask
        return weights / weights.sum(1, keepdims=True)

    return policy


def first_cell(rows: Any, mask: Any) -> Any:
    """Try the lowest cell of which nothing is known."""
    return np.arange(mask.shape[1]) == mask.argmax(1)[:, None]


def hex_game(rows: int, columns: int, abrupt: bool) -> BoardGame:
    version = "adh" if abrupt else "cdh"
    name = f"openspiel:dark_hex(num_rows={rows},num_cols={columns},gameversion={version})"
    game = board_game(name)
    assert game is not None
    return game


def three_in_a_row(seat: int, marks: int) -> bool:
    """Three neighbours win on a board of five cells in a row, on which many matches are drawn."""
    return any(marks & line == line for line in (0b00111, 0b01110, 0b11100))


def most_cells(seat: int, marks: int) -> bool:
    """Three cells of five win, whichever: a full board has a winner."""
    return marks.bit_count() >= 3


def five_cells(wins: Any, abrupt: bool, draws: bool) -> BoardGame:
    rules = BoardRules(5, wins, abrupt=abrupt, draws=draws)
    return BoardGame("five cells", rules, hex_game(2, 3, abrupt).show)


def twin(game: BoardGame, wins: Any) -> PlainBoard:
    rules = game.rules
    return PlainBoard(rules.cells, wins, abrupt=rules.abrupt, draws=rules.draws, show=game.show)


@pytest.mark.parametrize("abrupt", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_nash_conv_is_that_of_the_slow_twin(abrupt: bool, seed: int) -> None:
    for game, wins in [
        (five_cells(three_in_a_row, abrupt, draws=True), three_in_a_row),
        (five_cells(most_cells, abrupt, draws=False), most_cells),
    ]:
        compare(game, wins, random_policy(seed))


@pytest.mark.slow
@pytest.mark.parametrize("abrupt", [False, True])
def test_nash_conv_on_six_cells_is_that_of_the_slow_twin(abrupt: bool) -> None:
    wins = lambda seat, marks: connected(2, 3, seat, marks)  # noqa: E731
    compare(hex_game(2, 3, abrupt), wins, random_policy(3))


def compare(game: BoardGame, wins: Any, policy: Any) -> None:
    tree = twin(game, wins).tree()
    slow = nash_conv(tree, profile_of(tree, policy))
    assert BoardMeasure(game).nash_conv(policy, 1) == pytest.approx(slow, abs=1e-12)
    assert sum(game.rules.histories()) == tree.histories


@pytest.mark.parametrize("abrupt", [False, True])
def test_states_with_a_choice_are_those_of_the_slow_twin(abrupt: bool) -> None:
    game = five_cells(three_in_a_row, abrupt, draws=True)
    tree = twin(game, three_in_a_row).tree()
    for seat in range(2):
        ours, slow = BoardSeatTree(game.rules, seat), tree.seats[seat]
        marks, known = ours.known_cells(0, ours.states)
        rows = game.show(seat, marks, known, ours.attempts(0, ours.states))
        choice = slow.mask.sum(1) > 1
        assert len(rows) == choice.sum()
        assert {row.tobytes() for row in rows} == {row.tobytes() for row in slow.rows[choice]}


@pytest.mark.parametrize("abrupt", [False, True])
def test_nash_conv_of_a_mixture_is_that_of_the_slow_twin(abrupt: bool) -> None:
    game = five_cells(three_in_a_row, abrupt, draws=True)
    policies, shares = [random_policy(1), first_cell, random_policy(2)], [0.5, 0.2, 0.3]
    tree = twin(game, three_in_a_row).tree()
    profiles = [profile_of(tree, policy) for policy in policies]
    plans = [
        sum(
            share * realise(seat.parent, seat.first, profile[number])
            for share, profile in zip(shares, profiles, strict=True)
        )
        for number, seat in enumerate(tree.seats)
    ]
    # What one seat earns the other loses, so that gains are what both best responses earn.
    slow = sum(
        best_value(seat.parent, seat.first, seat_gains(tree, plans, number))
        for number, seat in enumerate(tree.seats)
    )
    mean = lambda rows, mask: sum(  # noqa: E731
        share * policy(rows, mask) for share, policy in zip(shares, policies, strict=True)
    )
    found = BoardMeasure(game).mixture_nash_conv(policies, shares, 1)
    assert found == pytest.approx(slow, abs=1e-12)
    assert abs(found - BoardMeasure(game).nash_conv(mean, 1)) > 1e-3


def test_nash_conv_of_a_mixture_of_one_is_that_of_the_policy() -> None:
    name = "openspiel:dark_hex(board_size=2)"
    found = mixture_nash_conv(name, [random_policy(4), random_policy(5)], [0.0, 1.0])
    assert found == pytest.approx(exact_nash_conv(name, random_policy(5)), abs=1e-12)


# OpenSpiel's name of a classical state tells how often both tried, but not since when, so that on
# larger classical boards a seat forgets; those of abrupt games and of 2 x 2 boards tell all.
@pytest.mark.parametrize(
    "name",
    ["dark_hex(board_size=2)", "dark_hex(board_size=2,gameversion=adh)",
     "dark_hex(num_rows=3,num_cols=2,gameversion=adh)",
     "dark_hex(num_rows=2,num_cols=3,gameversion=adh)"],
)  # fmt: skip
def test_nash_conv_is_that_of_openspiel(name: str) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    policy = random_policy(5)
    game = pyspiel.load_game(name)
    table: dict[str, Any] = {}
    waiting = [game.new_initial_state()]
    while waiting:
        state = waiting.pop()
        if state.is_terminal():
            continue
        key = state.information_state_string()
        if key not in table:
            row = np.asarray(state.information_state_tensor(), np.float32)[None]
            shares = policy(row, np.asarray(state.legal_actions_mask(), bool)[None])[0]
            table[key] = [(cell, float(shares[cell])) for cell in state.legal_actions()]
        waiting += [state.child(cell) for cell in state.legal_actions()]
    theirs = pyspiel.nash_conv(game, table)
    assert exact_nash_conv(f"openspiel:{name}", policy) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(
    "name",
    ["phantom_ttt", "phantom_ttt(gameversion=abrupt)", "dark_hex(board_size=3)",
     "dark_hex(board_size=3,gameversion=adh)", "dark_hex(num_rows=2,num_cols=3)"],
)  # fmt: skip
def test_random_matches_follow_the_rules_and_views_of_openspiel(name: str) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    board = board_game(f"openspiel:{name}")
    assert board is not None
    shape = (2, 3) if "num_rows=2" in name else (3, 3)
    rng = np.random.default_rng(7)
    for _ in range(60):
        state = pyspiel.load_game(name).new_initial_state()
        tries: list[list[tuple[int, bool]]] = [[], []]
        marks, seat, winner = [0, 0], 0, None
        while winner is None:
            assert not state.is_terminal()
            assert state.current_player() == seat
            plain = PlainBoard(
                shape[0] * shape[1], None, abrupt=False, draws=False, show=board.show
            )
            assert plain.row(seat, tries[seat]).tolist() == state.information_state_tensor(seat)
            tried = {cell for cell, _ in tries[seat]}
            legal = [cell for cell in range(plain.cells) if cell not in tried]
            assert legal == state.legal_actions()
            cell = int(rng.choice(legal))
            state.apply_action(cell)
            free = not marks[1 - seat] >> cell & 1
            tries[seat].append((cell, free))
            marks[seat] |= free << cell
            won = (
                connected(*shape, seat, marks[seat])
                if "hex" in name
                else any(marks[seat] & line == line for line in LINES)
            )
            full = marks[0] | marks[1] == (1 << plain.cells) - 1
            winner = (seat + 1) if won else 0 if full else None
            if free or board.rules.abrupt:
                seat = 1 - seat
        assert state.is_terminal()
        assert state.returns()[0] == {0: 0, 1: 1, 2: -1}[winner]


def test_our_own_phantom_tic_tac_toe_shows_the_same_views() -> None:
    board = board_game("phantom_ttt")
    assert board is not None
    tree = BoardSeatTree(board.rules, 0)
    marks, known = tree.known_cells(0, 5000)
    rows = {row.tobytes() for row in board.show(0, marks, known, tree.attempts(0, 5000))}
    game = make("phantom_ttt", slots=1, seed=1)
    game.start([0], [0])
    # Both seats try the first cell they know nothing of: the first states in the tree's order.
    met = 0
    while len(decisions := game.decisions()):
        if decisions.seat[0] == 0 and decisions.mask[0].sum() > 1:
            assert decisions.observation[0].tobytes() in rows
            met += 1
        game.act([0], [[int(decisions.mask[0].argmax())]])
    assert met >= 3


@pytest.mark.parametrize(
    ("name", "wins"),
    [("phantom_ttt", lambda seat, marks: any(marks & line == line for line in LINES)),
     pytest.param("openspiel:phantom_ttt(gameversion=abrupt)",
                  lambda seat, marks: any(marks & line == line for line in LINES),
                  marks=pytest.mark.slow),
     pytest.param("openspiel:dark_hex(gameversion=adh)",
                  lambda seat, marks: connected(3, 3, seat, marks), marks=pytest.mark.slow)],
)  # fmt: skip
def test_at_full_size_the_response_to_fixed_play_is_that_of_the_slow_twin(
    name: str, wins: Any
) -> None:
    # Against play without chance few histories are left, which the twin can walk.
    game = board_game(name)
    assert game is not None
    slow = 0.0
    for seat in range(2):
        policies = [None, None]
        policies[1 - seat] = first_cell
        tree = twin(game, wins).tree(policies)
        gain = np.zeros(int(tree.seats[seat].first[-1]))
        np.add.at(gain, tree.end_sequence[seat], tree.end_utility[seat])
        for state in range(len(tree.seats[seat]) - 1, -1, -1):
            first, last = tree.seats[seat].first[state : state + 2]
            gain[tree.seats[seat].parent[state]] += gain[first:last].max()
        slow += gain[0]
    assert BoardMeasure(game).nash_conv(first_cell, 1) == pytest.approx(slow, abs=1e-12)


def test_pieces_and_threads_change_no_number() -> None:
    game = hex_game(2, 3, True)
    tree = BoardSeatTree(game.rules, 1)
    whole = BoardWalk(tree).value()
    for threads in (1, 3):
        value = best_response_value(tree, threads, lambda *words: None, KeptValues(), "")
        assert value == whole


def test_a_measurement_that_was_killed_goes_on(tmp_path: Path) -> None:
    game, policy, path = hex_game(2, 3, True), random_policy(9), tmp_path / "kept"
    whole = BoardMeasure(game).nash_conv(policy, 1)
    seen: list[str] = []

    class Killed(KeptValues):
        def save(self, now: bool = False) -> None:
            super().save(now=True)
            written = np.concatenate(list(KeptValues(path).values.values()))
            if np.isfinite(written).sum() >= 50:
                raise SystemExit

    with pytest.raises(SystemExit):
        BoardMeasure(game).nash_conv(policy, 1, kept=Killed(path))
    again = BoardMeasure(game).nash_conv(
        policy, 1, lambda what, done, total: seen.append(what), KeptValues(path)
    )
    assert again == whole
    pieces = sum(len(values) for values in KeptValues(path).values.values())
    assert sum("best response" in what for what in seen) <= pieces - 50
    # Another policy has values of its own in the same file.
    other = BoardMeasure(game).nash_conv(random_policy(8), 1, kept=KeptValues(path))
    assert other == BoardMeasure(game).nash_conv(random_policy(8), 1)
    assert len(KeptValues(path).values) == 4


def test_a_damaged_file_of_kept_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    for text in ("", "[]", '{"lanista_exact": 2, "values": {}}', '{"lanista_exact": 1}',
                 '{"lanista_exact": 1, "values": {"a": [[1], [2]]}}',
                 '{"lanista_exact": 1, "values": {"a": [Infinity]}}'):  # fmt: skip
        path.write_text(text)
        with pytest.raises(RefusedError, match="not what `lanista exact` keeps"):
            KeptValues(path)


def test_a_board_of_unknown_kind_or_size_is_left_to_others() -> None:
    for name in ("kuhn", "openspiel:dark_hex(board_size=4)", "openspiel:hex(board_size=3)",
                 "openspiel:phantom_ttt(obstype=reveal-numturns)"):  # fmt: skip
        assert board_game(name) is None


def test_a_board_that_takes_long_is_measured_where_that_is_asked_for() -> None:
    with pytest.raises(GameError, match=r"more than 100,000 histories.*lanista exact"):
        exact_nash_conv("phantom_ttt", random_policy(1), 100_000, boards=False)


def test_progress_tells_how_much_of_what_is_done() -> None:
    told: list[tuple[str, int, int]] = []
    game = hex_game(2, 3, False)
    BoardMeasure(game).nash_conv(random_policy(1), 1, lambda *words: told.append(words))
    labels = {label for label, done, total in told if done == total}
    assert any("policy of seat 0" in label for label in labels)
    assert any("best response to seat 1" in label for label in labels)
