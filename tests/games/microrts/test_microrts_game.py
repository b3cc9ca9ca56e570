"""MicroRTS through our contract, beside the engine's own word on every rule."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from microrts_matches import fingerprint, needs_engine, play, player, step

from lanista.games import GameError, check_game
from lanista.games.microrts import MicroRTS
from lanista.games.microrts.layout import (
    AIMS,
    ATTACK,
    CHOICES,
    HARVEST,
    LABELS,
    MAKE,
    MOVE,
    OFFSETS,
    ORDER_OF,
    RETURN,
    TURNED,
    WAIT,
    targets,
)

pytestmark = needs_engine


def choice_of(unit: Any, action: Any) -> int:
    """Return the engine's action as one of our choices, by the engine's constants."""
    way = action.getDirection()
    sort = str(action.getActionName())
    if sort == "produce":
        return LABELS.index(
            f"make {str(action.getUnitType().name).lower()} {('up', 'right', 'down', 'left')[way]}"
        )
    if sort == "attack_location":
        aim = (action.getLocationX() - unit.getX(), action.getLocationY() - unit.getY())
        return ATTACK + AIMS.index(aim)
    return {"wait": WAIT, "move": MOVE + way, "harvest": HARVEST + way, "return": RETURN + way}[
        sort
    ]


def hold_masks_against_engine(game: MicroRTS) -> None:
    for slot, match in enumerate(game._matches):
        if match is None or not match.playing:
            continue
        state, wanted = match.engine.state, np.zeros_like(game.boards.mask[slot])
        wanted[:, :, WAIT] = True
        for unit in state.getUnits():
            seat = int(unit.getPlayer())
            if seat < 0 or state.getActionAssignment(unit) is not None:
                continue
            cell = int(unit.getY()) * game.side + int(unit.getX())
            for action in unit.getUnitActions(state):
                if state.isUnitActionAllowed(unit, action):
                    choice = choice_of(unit, action)
                    at = game.side**2 - 1 - cell if seat else cell
                    wanted[seat, at, TURNED[choice] if seat else choice] = True
        assert (game.boards.mask[slot] == wanted).all()


@pytest.mark.parametrize(
    ("names", "side", "turns"),
    [
        (("random", "random"), 8, 400),
        (("coac", "ranged_rush"), 8, 400),
        (("rojo", "coac"), 16, 250),
    ],
)
def test_the_mask_is_what_the_engine_lists_and_allows(names, side, turns):
    play(names, slots=2, side=side, turns=turns, look=hold_masks_against_engine)


def hold_orders_against_engine(game: MicroRTS) -> None:
    board = game.boards
    for slot, match in enumerate(game._matches):
        state = match.engine.state
        busy = {}
        for unit in state.getUnits():
            given = state.getActionAssignment(unit)
            if given is not None:
                cell = int(unit.getY()) * game.side + int(unit.getX())
                choice = choice_of(unit, given.action)
                busy[cell] = (choice, given.time + given.action.ETA(unit))
        mine = {
            int(cell): (int(board.order[slot, cell]), int(board.until[slot, cell]))
            for cell in np.flatnonzero(board.until[slot])
        }
        assert mine == busy
        assert int(state.getTime()) == board.time[slot]


def test_orders_under_way_and_their_ends_are_the_engines():
    # Random seats meet in the middle often enough for both to want one cell.
    play(("random", "random"), slots=4, turns=500, look=hold_orders_against_engine)


def test_two_seats_that_want_one_cell_both_lose_the_time():
    game = MicroRTS()
    game.start([0], [0])
    board = game.boards
    cell = 27
    for seat, at in ((0, cell - 1), (1, cell + 1)):
        board.units_now[0, :, at] = (1, 0, 1 + seat, 4)
    row = np.zeros((2, 64), np.int16)
    row[0, cell - 1] = LABELS.index("move right")
    row[1, 63 - (cell + 1)] = LABELS.index("move right")  # Turned: the engine's left.
    board.give(0, {0: row[0], 1: row[1]})
    for at in (cell - 1, cell + 1):
        assert board.order[0, at] == WAIT
        assert board.until[0, at] == 10


def test_an_order_that_clashes_with_ones_own_is_a_wait():
    game = MicroRTS()
    game.start([0], [0])
    board = game.boards
    board.units_now[0, :, :-1] = 0
    for at in (20, 22, 36):
        board.units_now[0, :, at] = (1, 0, 1, 4)
    board.stock[0] = 5
    row = np.zeros(64, np.int16)
    row[20], row[22] = LABELS.index("move right"), LABELS.index("move left")
    told = board.give(0, {0: row})
    assert told == {0: [(20, LABELS.index("move right"))]}
    board.begin(0)
    row[:] = 0
    row[20], row[36] = LABELS.index("make barracks up"), LABELS.index("make barracks up")
    assert board.give(0, {0: row}) == {0: [(20, LABELS.index("make barracks up"))]}


@pytest.mark.slow
def test_the_contract_is_kept_for_whole_matches():
    check_game(MicroRTS, matches=6, seed=1, effort=20_000)


@pytest.mark.parametrize("side", [8, 16])
def test_the_contract_is_kept(side):
    check_game(
        MicroRTS,
        matches=2,
        effort=1500 if side == 8 else 600,
        settings={"side": side, "longest": 200 if side == 8 else 60},
    )


def test_seat_1_sees_at_the_start_what_seat_0_sees():
    game = MicroRTS()
    game.start([0], [0])
    first, second = game.decisions().observation
    assert (first == second).all()
    assert (game.boards.mask[0, 0] == game.boards.mask[0, 1]).all()


def test_seats_that_swap_swap_the_match():
    ends = [
        play(names, longest=400)
        for names in (("worker_rush", "light_rush"), ("light_rush", "worker_rush"))
    ]
    assert ends[0].returns[0].tolist() == ends[1].returns[0, ::-1].tolist()
    assert ends[0].returns[0].tolist() == [1.0, -1.0]


def test_the_last_unit_gone_ends_the_match():
    game = play(("worker_rush", "passive"))
    assert game.returns.tolist() == [[1.0, -1.0]]
    assert game.place.tolist() == [[1, 2]]
    assert game.reward.tolist() == [[1.0, -1.0]]
    assert not game.cut_off.any()
    assert (game.boards.units_now[0, 2] != 2).all()
    assert game.boards.time[0] < game.longest


def test_a_game_without_matches_shows_no_decision():
    game = MicroRTS(2)
    assert len(game.decisions()) == 0
    game.act([], np.zeros((0, 64), np.int32))
    over = play(("worker_rush", "passive"))
    assert over.decisions().mask.shape == (0, 64 * CHOICES)


def test_the_longest_match_is_a_draw_with_a_result():
    game = play(("passive", "passive"), longest=50)
    assert game.returns.tolist() == [[0.0, 0.0]]
    assert game.place.tolist() == [[1, 1]]
    assert game.done.all()
    assert not game.cut_off.any()
    assert game.boards.time.tolist() == [50]
    assert game.score.tolist() == [[16.0, 16.0]]  # A base, a worker and five in store.


def test_shaping_is_the_growth_of_the_material_lead():
    game = MicroRTS(longest=300)
    players = (player(game, "coac"), player(game, "random"))
    game.start([0], [0])
    total = np.zeros(2)
    while not game.done.all():
        # A seat collects at its own decisions, and at the end.
        asked = game.decisions().seat
        total[asked] += game.shaping[0, asked]
        step(game, players)
    total += game.shaping[0]
    lead = game.score[0] - game.score[0, ::-1]
    assert total == pytest.approx(lead / 20, abs=1e-4)
    assert lead[0] > 1


def test_threads_play_the_same_matches():
    def one(_: int) -> list[Any]:
        return fingerprint(play(("rojo", "naive_mcts"), slots=2, longest=40))

    alone = one(0)
    with ThreadPoolExecutor(3) as pool:
        for other in pool.map(one, range(3)):
            assert other == alone


def test_the_picture_shows_both_bases():
    game = MicroRTS()
    game.start([0], [0])
    lines = game.draw(0).splitlines()
    assert lines[0] == "tick 0 of 2000   stores 5 and 5"
    assert lines[1:9] == [
        *("$.......", ".WB.....", "........", "........"),
        *("........", "........", ".....bw.", ".......$"),
    ]


@pytest.mark.parametrize(
    ("settings", "message"), [({"side": 9}, "choose from 8, 16"), ({"longest": 0}, "from 1 to")]
)
def test_a_wrong_setting_is_refused(settings, message):
    with pytest.raises(GameError, match=message):
        MicroRTS(**settings)


def test_a_choice_turned_by_half_twice_is_itself():
    assert (TURNED[TURNED] == np.arange(CHOICES)).all()
    assert (OFFSETS[TURNED] == -OFFSETS).all()
    assert (ORDER_OF[TURNED] == ORDER_OF).all()
    at = targets(8)
    turned = np.append(np.arange(64)[::-1], 64)
    assert (turned[at[turned[:64]][:, TURNED]] == at).all()


def test_labels_name_the_choices():
    assert len(LABELS) == CHOICES == 65
    assert LABELS[MAKE] == "make base up"
    assert LABELS[ATTACK + AIMS.index((1, 0))] == "attack +1,+0"
