"""What a log is said to show is what was chosen, and a side sees what it could see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from showdown_play import needs_simulator, odd_setups, play
from showdown_spectating import (
    Chosen,
    Said,
    Watched,
    bot_battles,
    hides_a_disguise,
    is_true,
    watch,
)

from lanista.games.contract import Spec
from lanista.games.showdown.actions.orders import PREVIEWS
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import describe, observation_of
from lanista.games.showdown.sim.battles import Battles, Setup
from lanista.games.showdown.sim.process import Worker
from lanista.games.showdown.spectating.rows import Battle, Row, read_battle
from lanista.games.showdown.spectating.spectator import (
    Bring,
    Move,
    Order,
    Pass,
    Revive,
    Switch,
    Unknown,
)
from lanista.games.showdown.spectating.witness import witness

pytestmark = needs_simulator
VGC, SINGLES, DOUBLES = "gen9vgc2025regi", "gen9randombattle", "gen9randomdoublesbattle"
BOTS = ("random", "max_power", "damage", "heuristic")


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.close()


def spec_of(format: str) -> Spec:
    return describe(format_named(format), "mirror", "", "")


def judge(watched: Watched, disguise: bool) -> tuple[Counter[str], Battle]:
    """Hold every claim of a log against the truth; return how many there were of each kind."""
    told, count = witness(watched.format, watched.lines), Counter[str]()
    for seat in range(2):
        decisions = [each for each in told.decisions if each.seat == seat]
        chosen = watched.of(seat)
        if told.disguised[seat]:
            continue
        assert len(decisions) == len(chosen)
        for decision, truth in zip(decisions, chosen, strict=True):
            for slot, order in enumerate(decision.orders):
                if isinstance(order, Unknown):
                    count["unknown"] += 1
                elif is_true(order, slot, truth, told):
                    count["right"] += 1
                else:
                    assert disguise, (decision, truth.text, told.segments[decision.segment + 1])
                    count["wrong"] += 1
    battle = read_battle(watched.log(), watched.format, spec_of(watched.format.name), None)
    return count, battle


def check(worker: Worker, battles: Iterator[tuple[Setup, Said]]) -> Counter[str]:
    total = Counter[str]()
    for setup, said in battles:
        watched = watch(worker, setup, said)
        count, battle = judge(watched, hides_a_disguise(setup, worker))
        total += count
        total += Counter(known=battle.fully_known, partly=battle.partly, dark=battle.unknown)
        for row in battle.rows:
            check_row(row, watched.of(row.seat)[row.step])
    return total


def check_row(row: Row, truth: Chosen) -> None:
    """A row's number means its order, is allowed, and the opponent is seen as it was."""
    heads = {1: [0], 2: [0, 90]}[len(row.action)]
    assert all(row.mask[start + choice] for start, choice in zip(heads, row.action, strict=True))
    assert meant(row) == row.decision.orders
    format = format_named({2025 + 90: VGC, 2025: DOUBLES, 14: SINGLES}[len(row.mask)])
    layout = observation_of(format)
    for part in layout.fields:
        here = layout.slice_of(part.name)
        seen, real = row.observation[here], truth.observation[here]
        if part.name.startswith("mon.") and "speed" not in part.name:
            np.testing.assert_array_equal(seen[6:], real[6:], part.name)
        if part.name in ("request", "weather", "terrain", "turn", "own_tailwind", "foe_tailwind"):
            np.testing.assert_array_equal(seen, real, part.name)
        if part.name in ("mon.hp_points", "mon.atk", "mon.pp1"):
            assert not seen[:6].any()


def meant(row: Row) -> list[Order]:
    """Return the orders that a row's number stands for, by the numbering of orders.py."""
    decision, request = row.decision, row.request
    if request.get("teamPreview"):
        chosen = [at - 1 for at in PREVIEWS[row.action[0]]]
        return [Bring(tuple(chosen[:2]), tuple(chosen[2:]))]
    number = row.action[-1]
    singles = len(row.mask) == 14
    numbers = [number] if singles else list(divmod(number, 45))
    names = [mon["ident"].partition(": ")[2] for mon in request["side"]["pokemon"]]
    out: list[Order] = []
    for slot, (one, order) in enumerate(zip(numbers, decision.orders, strict=True)):
        if one == (13 if singles else 44):
            out.append(Pass())
        elif isinstance(order, Switch | Revive):
            at = one - 7 if singles else one - 38 if one >= 40 else 1 - one
            assert names[at] != "unknown"
            out.append(type(order)(order.mon))
        else:
            tera, rest = divmod(one, 4 if singles else 20)
            at, target = (rest, 0) if singles else (rest // 5, rest % 5 - 2)
            moves = request["active"][slot]["moves"]
            out.append(Move(moves[at]["id"], target, bool(tera), alone=len(moves) == 1))
    return out


@pytest.mark.parametrize(("format", "least"), [(VGC, 0.5), (SINGLES, 0.7), (DOUBLES, 0.6)])
def test_what_is_claimed_was_chosen(worker: Worker, format: str, least: float) -> None:
    total = check(worker, bot_battles(format, ("random", "heuristic"), 6, mode="cross"))
    assert total["wrong"] == 0
    assert total["right"] > 50
    assert total["known"] > least * (total["known"] + total["partly"] + total["dark"])


def test_what_is_claimed_was_chosen_in_odd_battles_too(worker: Worker) -> None:
    with Battles() as battles:
        told = play(battles, odd_setups(battles, 12))
        total = check(worker, ((each.setup, each.choices) for each in told))
    assert total["wrong"] == 0
    assert total["right"] > 300


@pytest.mark.slow
@pytest.mark.parametrize("format", [VGC, SINGLES, DOUBLES])
def test_what_is_claimed_was_chosen_by_every_bot(worker: Worker, format: str) -> None:
    total = Counter[str]()
    for at, bots in enumerate(product(BOTS, BOTS)):
        total += check(worker, bot_battles(format, bots, 13, seed=1000 + at, mode="cross"))
    print(format, dict(total))
    # Only a disguise that nobody ever saw through can mislead.
    assert total["wrong"] <= 0.01 * total["right"]


@pytest.mark.slow
def test_what_is_claimed_was_chosen_in_200_odd_battles(worker: Worker) -> None:
    with Battles() as battles:
        told = play(battles, odd_setups(battles, 200))
        total = check(worker, ((each.setup, each.choices) for each in told))
    assert total["wrong"] == 0
