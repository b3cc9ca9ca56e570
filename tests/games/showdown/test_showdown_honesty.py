"""Only what that player could know: hidden parts of an opponent's sets leave no trace until shown.

A battle is played again, same seed and same choices, against a team that differs only in what the
player has not seen. Every row must be the same until a line of the battle shows the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from showdown_play import needs_simulator, setups

from lanista.games.showdown.actions.orders import orders_of, preview_text
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import observation_of
from lanista.games.showdown.protocol.belief import Belief
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.sim.battles import Battles, Setup
from lanista.games.showdown.sim.views import Request, View
from lanista.games.streams import Stream

pytestmark = needs_simulator
VGC = "gen9vgc2025regi"
FORMAT = format_named(VGC)
PLAYER, OPPONENT = 0, 1
HIDES = re.compile(r"move [34]|terastallize")
"""Orders that would show what is changed."""
# Places in a packed set.
ITEM, MOVES, EFFORT, EXTRA = 2, 4, 6, 11
Rows = list[tuple[View, NDArray[np.int16]]]
Edit = Callable[[int, list[str]], None]


@pytest.fixture(params=[1, 2])
def observation(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def battles() -> Iterator[Battles]:
    with Battles() as found:
        yield found


def changed(setup: Setup, edit: Edit) -> Setup:
    """Return the setup with every set of the opponent's team edited."""
    assert setup.teams is not None
    sets = [each.split("|") for each in setup.teams[OPPONENT].split("]")]
    for at, parts in enumerate(sets):
        edit(at, parts)
    packed = "]".join("|".join(parts) for parts in sets)
    return replace(setup, teams=(setup.teams[PLAYER], packed))


def pick(seat: int, request: Request, stream: Stream) -> str:
    """Return a random choice; the opponent uses its first two moves and keeps its type."""
    if request.get("teamPreview"):
        # The opponent leaves its last two at home.
        return preview_text(stream.below(90)) if seat == PLAYER else "team 1234"
    orders = orders_of(FORMAT)
    texts = [orders.text(request, int(at)) for at in orders.legal(request).nonzero()[0]]
    quiet = [text for text in texts if not HIDES.search(text)] if seat == OPPONENT else texts
    return stream.choice(quiet or texts)


def play(
    battles: Battles,
    setup: Setup,
    observation: int,
    script: list[tuple[int, str]] | None = None,
) -> tuple[Rows, Rows, list[tuple[int, str]]]:
    """Play a battle, by a script if one is given; return each seat's rows and the choices."""
    length, stream = (
        observation_of(FORMAT, observation).length,
        Stream.keyed(5, setup.slot, 0, "act"),
    )
    assert setup.teams is not None
    belief = Belief.of_teams([setup.teams[PLAYER]])
    trackers = [Tracker(FORMAT, seat, belief, observation) for seat in (PLAYER, OPPONENT)]
    rows: tuple[Rows, Rows] = ([], [])
    made: list[tuple[int, str]] = []
    planned = iter(script or ())
    update = battles.start([setup])[0]
    while not (update.ended or update.cut_off):
        choices = []
        for seat, view in enumerate(update.views):
            tracker = trackers[seat]
            tracker.hear(view.lines)
            assert view.request is not None
            tracker.ask(view.request)
            row = np.zeros(length, np.int16)
            tracker.encode(row)
            rows[seat].append((view, row))
            if not view.waits:
                text = pick(seat, view.request, stream) if script is None else next(planned)[1]
                made.append((seat, text))
                choices.append((setup.slot, seat, text))
        update = battles.choose(choices)[0]
        # A battle that has gone another way cannot follow its script for ever.
        if script is not None and (update.cut_off or len(made) >= len(script)):
            break
    assert script is not None or not update.cut_off, update.reason
    return *rows, made


def same_rows(one: Rows, other: Rows) -> list[bool]:
    return [(a[1] == b[1]).all() for a, b in zip(one, other, strict=False)]


def unseen(at: int, parts: list[str]) -> None:
    """Change moves 3 and 4 and the tera type; of those left at home also everything else."""
    first, second, *_ = parts[MOVES].split(",")
    parts[MOVES] = f"{first},{second},Splash,Growl"
    parts[EXTRA] = ",,,,,Stellar"
    if at >= 4:
        parts[ITEM], parts[EFFORT] = "ironball", "252,,252,,,"


def test_moves_types_and_absent_pokemon_leave_no_trace_in_a_whole_battle(
    battles: Battles, observation: int
) -> None:
    compared = 0
    for setup in setups(battles, VGC, 4, seed=21):
        mine, theirs, script = play(battles, setup, observation)
        if any(seat == OPPONENT and HIDES.search(text) for seat, text in script):
            continue  # It had no other order left.
        again, others, _ = play(battles, changed(setup, unseen), observation, script)
        assert len(again) == len(mine)
        assert all(same_rows(mine, again))
        assert not any(same_rows(theirs, others)), "the change is there for its owner"
        compared += len(mine)
    assert compared > 20


def other_item(at: int, parts: list[str]) -> None:
    """Change every item; the simulator does not mind that all hold the same."""
    parts[ITEM] = "leftovers" if parts[ITEM] != "leftovers" else "brightpowder"


def test_an_item_leaves_no_trace_until_a_line_shows_it(battles: Battles, observation: int) -> None:
    shown = 0
    for setup in setups(battles, VGC, 4, seed=22):
        mine, _, script = play(battles, setup, observation)
        again, _, _ = play(battles, changed(setup, other_item), observation, script)
        equal = same_rows(mine, again)
        views = [a[0] == b[0] for a, b in zip(mine, again, strict=False)]
        first = views.index(False) if False in views else len(views)
        assert all(equal[:first])
        assert first >= 1
        if first < len(equal):
            shown += not equal[first]
    assert shown > 0


def test_an_effort_spread_of_a_pokemon_on_the_bench_leaves_no_trace_until_it_fights(
    battles: Battles, observation: int
) -> None:
    def bulkier(at: int, parts: list[str]) -> None:
        if at in (2, 3):
            parts[EFFORT] = "252,,252,,4,"

    for setup in setups(battles, VGC, 3, seed=23):
        mine, _, script = play(battles, setup, observation)
        again, _, _ = play(battles, changed(setup, bulkier), observation, script)
        bench = {each.partition("|")[0] for each in setup.teams[OPPONENT].split("]")[2:4]}
        came = re.compile("|".join(rf"\|(switch|drag)\|p2.: {re.escape(name)}" for name in bench))
        quiet = 0
        while quiet < len(mine) and not came.search("\n".join(mine[quiet][0].lines)):
            quiet += 1
        assert quiet >= 2
        assert all(same_rows(mine[:quiet], again[:quiet]))


def test_rows_do_not_depend_on_what_the_other_seats_tracker_is_told(
    battles: Battles, observation: int
) -> None:
    setup = setups(battles, VGC, 1, seed=24)[0]
    for seat, rows in enumerate(play(battles, setup, observation)[:2]):
        assert setup.teams is not None
        alone = Tracker(FORMAT, seat, Belief.of_teams([setup.teams[PLAYER]]), observation)
        for view, row in rows:
            alone.hear(view.lines)
            assert view.request is not None
            alone.ask(view.request)
            again = np.zeros_like(row)
            alone.encode(again)
            assert (again == row).all()
