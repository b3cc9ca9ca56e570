"""Open team sheets in battle logs: both sides' sets are known from the start."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from showdown_logs import opening, turn
from showdown_play import needs_simulator
from showdown_spectating import Watched, bot_battles, watch

from lanista.games.showdown.formats import FORMATS, format_named, format_of_log
from lanista.games.showdown.observation.description import describe
from lanista.games.showdown.protocol.vocabulary import dex, to_id
from lanista.games.showdown.sim.battles import Setup
from lanista.games.showdown.sim.process import Worker
from lanista.games.showdown.spectating.logs import read_log
from lanista.games.showdown.spectating.rows import read_battle

FORMAT = format_named("gen9vgc2025regi")
SPEC = describe(FORMAT, "mirror", "", "", 2)
SHEET = "Pawmot||focussash|ironfist|icepunch,fakeout,revivalblessing,protect||||||50|,,,,,Fire"


class OpenSheets(Setup):
    """A battle whose players see each other's sheets."""

    def message(self) -> dict[str, Any]:
        """Return what the worker is told."""
        return super().message() | {"format": f"{self.format}@@@Force Open Team Sheets"}


@pytest.fixture(scope="module")
def watched() -> list[Watched]:
    battles = list(bot_battles(FORMAT.name, ("heuristic", "damage"), 3))
    with closing(Worker()) as worker:
        return [watch(worker, OpenSheets(**vars(setup)), said) for setup, said in battles]


@needs_simulator
def test_a_side_knows_its_own_sets_and_the_opponents_from_the_first_decision(
    watched: list[Watched],
) -> None:
    compared = 0
    for one in watched:
        battle = read_battle(one.log(), FORMAT, SPEC, None)
        assert battle.open_sheets
        for row in battle.rows:
            # The first request of either side has all six as they were brought.
            own, theirs = (one.of(seat)[0].request for seat in (row.seat, 1 - row.seat))
            sets = {mon["ident"]: mon for mon in own["side"]["pokemon"]}
            for mon in row.request["side"]["pokemon"]:
                truth = sets.get(mon["ident"])
                if truth is not None and (row.step == 0 or mon["item"] == truth["item"]):
                    compared += 1
                    assert mon["moves"] == truth["moves"]
                    assert mon["item"] == truth["item"]
                    assert to_id(mon["teraType"]) == to_id(truth["teraType"])
            if row.request.get("teamPreview"):
                foes = row.observation[SPEC.observation.slice_of("foe.item")].tolist()
                brought = [dex().items[mon["item"]] for mon in theirs["side"]["pokemon"]]
                assert sorted(foes) == sorted(brought)
    assert compared > 20


@needs_simulator
def test_with_sheets_more_can_be_named_and_what_is_claimed_stays_true(
    watched: list[Watched],
) -> None:
    for one in watched:
        log = one.log()
        closed = replace(
            log, lines=tuple(line for line in log.lines if not line.startswith("|showteam|"))
        )
        opened, spectated = (read_battle(each, FORMAT, SPEC, None) for each in (log, closed))
        assert not spectated.open_sheets
        assert opened.fully_known >= spectated.fully_known
        assert [row.decision for row in opened.rows] == [row.decision for row in spectated.rows]
        for mine, theirs in zip(opened.rows, spectated.rows, strict=True):
            assert mine.mask.sum() >= theirs.mask.sum()


def test_a_move_that_was_never_used_can_be_chosen_where_the_sheet_has_it() -> None:
    lines = [
        *opening("Dragonite", "Pawmot", "Raichu", "Urshifu"),
        *turn(
            1,
            "|move|p1a: Dragonite|Extreme Speed|p2a: Raichu",
            "|move|p1b: Pawmot|Ice Punch|p2b: Urshifu",
            "|move|p2a: Raichu|Thunderbolt|p1a: Dragonite",
            "|move|p2b: Urshifu|Detect|p2b: Urshifu",
        ),
        "|win|Ann",
    ]
    at = lines.index("|teampreview|4") + 1
    sheets = [f"|showteam|p1|{SHEET}", "|showteam|p2|"]
    bo3 = [line.replace("Reg I", "Reg I (Bo3)") for line in [*lines[:at], *sheets, *lines[at:]]]
    log = read_log("\n".join(bo3), "b")
    assert log.format == "gen9vgc2025regibo3"
    row = read_battle(log, FORMAT, SPEC, None, (0,)).rows[-1]
    offered = [move["id"] for move in row.request["active"][1]["moves"]]
    assert offered == ["icepunch", "fakeout", "revivalblessing", "protect"]
    pawmot = row.request["side"]["pokemon"][1]
    assert (pawmot["item"], pawmot["baseAbility"], pawmot["teraType"]) == (
        *("focussash", "ironfist"), "fire",
    )  # fmt: skip


def test_a_best_of_three_battle_is_one_of_its_format() -> None:
    for name, format in FORMATS.items():
        assert format_of_log(name) is format
        assert format_of_log(f"{name}bo3") is format
    assert format_of_log("gen9oubo3") is None
