"""Battle logs in the kinds of file that users have, and rows made of them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from showdown_logs import came, more, opening, turn
from showdown_play import needs_simulator
from showdown_spectating import bot_battles

from lanista.games.contract import Spec
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import describe
from lanista.games.showdown.protocol.vocabulary import UNKNOWN, dex
from lanista.games.showdown.sim.process import Worker
from lanista.games.showdown.sim.views import SEATS, lines_for
from lanista.games.showdown.spectating.logs import (
    Log,
    LogError,
    find_logs,
    identity,
    read_log,
    read_logs,
)
from lanista.games.showdown.spectating.rows import Battle, read_battle
from lanista.games.streams import Stream

FORMAT = format_named("gen9vgc2025regi")
SPEC: Spec = describe(FORMAT, "mirror", "", "")
LINES = [
    *opening("Indeedee-F", "Dondozo", "Amoonguss", "Raichu"),
    *turn(
        1,
        came("p2b", "Comfey"),
        "|-terastallize|p1b: Dondozo|Grass",
        "|move|p1a: Indeedee-F|Psychic|p2a: Amoonguss",
        "|-damage|p2a: Amoonguss|40/100",
        "|-heal|p2a: Amoonguss|46/100|[from] item: Leftovers",
        "|move|p2a: Amoonguss|Spore|p1a: Indeedee-F",
        "|move|p1b: Dondozo|Earthquake|p1a: Indeedee-F|[spread] p1a,p2a,p2b",
    ),
    *turn(
        2,
        "|move|p2b: Comfey|U-turn|p1b: Dondozo",
        ends=False,
    ),
    *more(
        came("p2b", "Sableye", "[from] U-turn"),
        "|move|p1a: Indeedee-F|Protect|p1a: Indeedee-F",
        "|move|p2a: Amoonguss|Protect|p2a: Amoonguss",
        "|move|p1b: Dondozo|Earthquake|p1a: Indeedee-F|[spread] p1a,p2a,p2b",
        *("|", "|upkeep", "|turn|3"),
    ),
    *("|", "|-message|Bob forfeited.", "|", "|win|Ann"),
]
TEXT = "\n".join(LINES)


def battle(lines: list[str] = LINES) -> Battle:
    return read_battle(read_log("\n".join(lines), "b"), FORMAT, SPEC, None)


def seen(row: Any, field: str) -> list[int]:
    found: list[int] = row.observation[SPEC.observation.slice_of(field)].tolist()
    return found


def page(text: str) -> str:
    return (
        '<!DOCTYPE html><meta charset="utf-8" /><input type="hidden" name="replayid" '
        'value="gen9vgc2025regi-7" /><script type="text/plain" class="battle-log-data">'
        f"{text.replace('/', chr(92) + '/')}</script><script>let x = 1</script>"
    )


@pytest.mark.parametrize(
    ("name", "text", "called"),
    [
        ("a.log", TEXT, "a"),
        ("a.txt", TEXT.replace("\n", "\r\n"), "a"),
        ("a.json", json.dumps({"id": "x-1", "formatid": "gen9ou", "log": TEXT}), "x-1"),
        ("a.json", json.dumps({"roomid": "x-2", "log": LINES}), "x-2"),
        ("a.html", page(TEXT), "gen9vgc2025regi-7"),
    ],
)
def test_every_kind_of_file_gives_the_same_battle(
    tmp_path: Path, name: str, text: str, called: str
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8", newline="")
    ((_, found),) = read_logs(file)
    assert isinstance(found, Log)
    assert (found.name, found.format, found.players) == (called, FORMAT.name, ("Ann", "Bob"))
    assert (found.ratings, found.winner) == ((1510, 1490), 0)
    assert found.lines == tuple(LINES)


def test_what_was_said_in_a_battle_does_not_end_its_page() -> None:
    odd = tuple(line.replace("good luck", "<b>&#124;</b></script>") for line in LINES)
    assert read_log(page("\n".join(odd)), "p").lines == odd


def test_a_file_of_many_gives_each_and_names_those_it_cannot_read(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    good = json.dumps({"id": "x", "log": TEXT})
    file.write_text(f"{good}\n\nnot json\n{good[:-9]}\n{good}\n")
    found = list(read_logs(file))
    assert [type(each) for _, each in found] == [Log, LogError, LogError, Log]
    assert [name for name, _ in found] == ["many-1", "many-3", "many-4", "many-5"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no protocol"),
        ("hello", "no protocol"),
        ("{}", "without a battle"),
        ('{"log": 5}', "without a battle"),
        ("[1]", "no protocol"),
        ("<html></html>", "page without"),
        (TEXT.replace("|tier|", "|x|"), "format"),
        (TEXT.replace("|player|p2|Bob", "|player|p2|"), "two players"),
        (TEXT.replace("|win|Ann", ""), "ended"),
        (TEXT.replace("|win|Ann", "|win|Eve"), "did not play"),
        (TEXT.replace("|win|Ann", "|win|"), "did not play"),
        (TEXT.replace("|win|Ann", "|win"), "did not play"),
        (f"|player\n{TEXT.replace('|win|Ann', '')}", "ended"),
    ],
)
def test_what_is_no_battle_log_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(LogError, match=why):
        read_log(text, "x")


def test_a_folder_is_searched_for_what_looks_like_a_log(tmp_path: Path) -> None:
    for name in ("b/one.html", "two.log", "b/c/three.json", "four.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [path.name for path in find_logs([tmp_path, tmp_path / "two.log"])]
    assert found == ["three.json", "one.html", "two.log"]


def test_a_servers_own_log_is_read_as_a_spectator_saw_it() -> None:
    hidden = TEXT.replace(
        "|-damage|p2a: Amoonguss|40/100",
        "|split|p2\n|-damage|p2a: Amoonguss|88/221\n|-damage|p2a: Amoonguss|40/100",
    )
    assert read_log(hidden, "x").lines == tuple(LINES)


def test_a_side_is_seen_as_the_end_reveals_it_and_unknown_where_it_does_not() -> None:
    own = next(row for row in battle().rows if row.seat == 0)
    moves, numbers = dex().moves, seen(own, "mon.species")
    assert numbers[:2] == [dex().species[name].number for name in ("indeedeef", "dondozo")]
    assert numbers[2:4] == [UNKNOWN, UNKNOWN]
    assert numbers[4:6] == [0, 0]
    assert seen(own, "mon.move1")[:2] == [moves["psychic"].number, moves["earthquake"].number]
    assert seen(own, "mon.move2")[:3] == [moves["protect"].number, UNKNOWN, UNKNOWN]
    assert seen(own, "mon.item")[:4] == [UNKNOWN] * 4
    assert seen(own, "mon.tera")[:2] == [UNKNOWN, dex().types["grass"]]
    assert seen(own, "mon.hp_points")[:4] == [0] * 4
    # The opponent is what had been seen by then.
    assert set(seen(own, "mon.move1")[6:]) == {UNKNOWN}
    assert seen(own, "mon.item")[6] == UNKNOWN


def test_a_side_knows_from_the_start_what_it_held_all_along() -> None:
    own = next(row for row in battle().rows if row.seat == 1)
    assert seen(own, "mon.item")[0] == dex().items["leftovers"]


def test_a_mask_names_what_showed_and_holds_what_was_done() -> None:
    rows = battle().rows
    assert [row.step for row in rows if row.seat == 0] == [1, 2]
    for row in rows:
        heads = (row.mask[:90], row.mask[90:])
        assert all(mask[choice] for mask, choice in zip(heads, row.action, strict=True))
        assert heads[row.step == 0].sum() == 1
    first = next(row for row in rows if row.seat == 0).mask[90:].reshape(45, 45)
    orders = np.flatnonzero(first.any(axis=1)).tolist()
    # Psychic at either foe or the ally, Protect, and both with tera; nobody is left to come in.
    assert orders == [0, 3, 4, 7, 20, 23, 24, 27]


def test_an_older_log_does_not_say_how_many_were_brought_and_four_were() -> None:
    older = [line for line in LINES if line not in ("|teamsize|p1|4", "|teamsize|p2|4")]
    for row, same in zip(battle(older).rows, battle().rows, strict=True):
        np.testing.assert_array_equal(row.observation, same.observation)
        np.testing.assert_array_equal(row.mask, same.mask)


def test_decisions_that_are_known_in_part_are_counted() -> None:
    found = battle()
    # Ann's team preview is unknown, since two never showed, and so is what a forfeit cut short.
    assert (found.fully_known, found.partly, found.unknown) == (6, 0, 3)
    assert found.reasons == {"not all showed themselves": 1, "did not act": 4}


def test_a_side_in_disguise_gives_no_row() -> None:
    told = [line.replace("Dragonite", "Zoroark") for line in LINES]
    found = battle(told)
    assert {row.seat for row in found.rows} == {1}
    assert found.reasons["Illusion"] == 7


def test_spoiled_logs_are_refused_and_never_break_the_reader() -> None:
    stream = Stream.keyed(5, 0, 0, "chance")
    refused = 0
    for _ in range(300):
        lines = list(LINES)
        for _ in range(1 + stream.below(4)):
            at = stream.below(len(lines))
            parts = lines[at].split("|")
            parts[stream.below(len(parts))] = stream.choice(
                ("", "p1a: Nobody", "p9z", "-1", "99999999999", "L999999", "switch", "turn", "|")
            )
            lines[at] = "|".join(parts)
            if stream.below(3) == 0:
                del lines[stream.below(len(lines))]
        try:
            battle(lines)
        except LogError:
            refused += 1
    assert 0 < refused < 300


@needs_simulator
def test_players_and_spectators_of_a_real_battle_have_logs_with_one_identity() -> None:
    found = []
    with closing(Worker()) as worker:
        for setup, said in bot_battles("gen9randomdoublesbattle", ("random", "random"), 3):
            update = worker.ask({"do": "start", "battles": [setup.message()]})["updates"][0]
            log = list(update["log"])
            for seat, text in said:
                choice = [(setup.slot, seat, text)]
                for update in worker.ask({"do": "choose", "choices": choice})["updates"]:
                    log += update["log"]
            views = ["\n".join(lines_for(log, seat)) for seat in (*range(SEATS), SEATS)]
            assert len(set(views)) == SEATS + 1
            found.append({identity(read_log(view, "b")) for view in views})
    assert all(len(each) == 1 for each in found)
    assert len(set.union(*found)) == 3


def test_half_a_character_in_a_log_is_no_obstacle() -> None:
    log = read_log(TEXT.replace("p2b: Comfey", "p2b: \ud83d"), "b")
    assert identity(log) != identity(read_log(TEXT, "b"))
