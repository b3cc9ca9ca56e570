"""Battle logs that were made to cost time or memory, and what is looked at of them."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from showdown_logs import came, more, opening, turn

from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import describe
from lanista.games.showdown.protocol.battle_state import MOST_EVENTS, MOST_MONS
from lanista.games.showdown.spectating.logs import LONGEST_LINE, MOST_LINES, LogError, read_log
from lanista.games.showdown.spectating.rows import read_battle
from lanista.games.showdown.spectating.witness import MOST_DECISIONS

FORMAT = format_named("gen9vgc2025regi")
SPEC = describe(FORMAT, "mirror", "", "")
LINES = [
    *opening("Indeedee-F", "Dondozo", "Amoonguss", "Raichu"),
    *turn(1, came("p2b", "Comfey"), "|move|p1a: Indeedee-F|Psychic|p2a: Amoonguss"),
    *("|", "|-message|Bob forfeited.", "|", "|win|Ann"),
]
LENGTH = 1 << 20
CPU_SECONDS = 60
"""Ends a hang: a megabyte takes hundredths of a second, and took hours."""
LOG = '<script class="battle-log-data">'
PAGES = {
    "scripts that are not closed": ("<script ", ""),
    "scripts with open values": ('<script class="', ""),
    "scripts whose class goes on": ('<script class="battle-log-data ', ""),
    "scripts of other kinds": ('<script class="x">', ""),
    "logs without an end": (LOG, ""),
    "words of the class": ("battle-log-data ", '<script class="'),
    "spaces in a tag": (" ", "<script"),
    "inputs that are not closed": ('<input name="replayid" ', f"{LOG}|x</script>"),
    "inputs without a value": ('<input name="replayid">', f"{LOG}|x</script>"),
    "names in a tag": (' name="replayid"', f"{LOG}|x</script><input"),
}
CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]),) * 2)
from lanista.games.showdown.spectating.logs import LogError, read_log
try:
    read_log(sys.stdin.read(), "page")
except LogError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_is_read_in_time_that_grows_with_its_length(kind: str) -> None:
    piece, start = PAGES[kind]
    text = "<html>" + start + piece * (LENGTH // len(piece))
    command = [sys.executable, "-c", CHILD, str(CPU_SECONDS)]
    ran = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.strip() in ("is a page without a battle's log", "does not say its format")


def test_a_tags_words_are_told_apart_from_its_values() -> None:
    body = "\n".join(LINES)
    for tag in (
        '<script type="text/plain" class="battle-log-data">',
        '<script class="a battle-log-data b" type="text/plain">',
        '<script async class="battle-log-data">',
        '<script\n class="battle-log-data">',
    ):
        page = f'<p><script class="other">x</script>{tag}{body}</script>'
        assert read_log(page, "p").lines == tuple(LINES)
    for tag in (
        '<script class="battle-log-data-x">',
        '<script data-class="battle-log-data">',
        '<script title=" class=" x="battle-log-data">',
        '<scripts class="battle-log-data">',
    ):
        with pytest.raises(LogError, match="page without"):
            read_log(f"<p>{tag}{body}</script>", "p")


def test_a_pages_battle_is_named_as_the_page_names_it() -> None:
    page = f"<p>{LOG}{chr(10).join(LINES)}</script>"
    named = '<input name="other" value="no"><input type="hidden" name="replayid" value="a&amp;b">'
    assert read_log(named + page, "p").name == "a&b"
    assert read_log('<input value="x" name="replay">' + page, "p").name == "p"


def test_lines_beyond_counting_and_endless_lines_are_refused() -> None:
    body = "\n".join(LINES)
    with pytest.raises(LogError, match=f"more than {MOST_LINES:,} lines"):
        read_log(body + "\n|" * MOST_LINES, "x")
    long = "|c|Ann|" + "x" * (LONGEST_LINE - len("|c|Ann|"))
    assert read_log(f"{long}\n{body}", "x").lines[0] == long
    for text in (f"{long}x\n{body}", f"{body}\n{long}x", f"{body}\n{long}\n{long}x\n|"):
        with pytest.raises(LogError, match=f"more than {LONGEST_LINE:,} letters"):
            read_log(text, "x")
    with pytest.raises(LogError, match="letters"):
        read_log(json.dumps({"log": [f"{long}x", *LINES]}), "x")


def followed(lines: list[str]) -> None:
    read_battle(read_log("\n".join(lines), "x"), FORMAT, SPEC, None)


def test_a_side_with_pokemon_beyond_counting_is_refused() -> None:
    """Every line may look through all of them."""
    strangers = [came("p1a", f"Mew{number}") for number in range(MOST_MONS)]
    with pytest.raises(LogError, match=f"more than {MOST_MONS} Pokémon"):
        followed([*LINES[:-2], *more(*strangers), *LINES[-2:]])
    previewed = ["|poke|p1|Mew, L50|"] * MOST_MONS
    with pytest.raises(LogError, match=f"more than {MOST_MONS} Pokémon"):
        followed([*previewed, *LINES])


def test_a_turn_without_an_end_is_refused() -> None:
    moves = ["|move|p1a: Indeedee-F|Psychic|p2a: Amoonguss"] * (MOST_EVENTS + 1)
    with pytest.raises(LogError, match=f"more than {MOST_EVENTS} events"):
        followed([*LINES[:-2], *more(*moves), *LINES[-2:]])


def test_turns_beyond_counting_give_no_rows() -> None:
    """A turn is eight letters of a log, and its rows are thousands of bytes."""
    with pytest.raises(LogError, match=f"more than {MOST_DECISIONS:,} decisions"):
        followed([*LINES[:-2], *["|turn|2"] * (MOST_DECISIONS // 2), *LINES[-2:]])


def test_files_beyond_any_battle_are_refused_unread(tmp_path: Path) -> None:
    from lanista.games.showdown.spectating.logs import LARGEST, read_logs

    file = tmp_path / "x.html"
    with file.open("wb") as out:
        out.truncate(1 << 40)  # Nothing of it is on the disk.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ((_, found),) = read_logs(file)
    assert str(found) == "is too large for a battle log"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < LARGEST
