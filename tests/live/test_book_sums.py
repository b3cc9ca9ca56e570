"""The sums that seal a learner's book, from their definition: SHA-256 of each row, added up."""

from __future__ import annotations

import hashlib
import math
import sqlite3
from pathlib import Path

import pytest

from lanista.live.learner.ledger_check import AFTERWARDS, RowSums, checked, damaged, is_damage, seal

TABLES = "CREATE TABLE games (name TEXT); CREATE TABLE events (n INTEGER, at REAL, kind TEXT);"
ROWS = [(f"game {number}", number) for number in range(9)]


def hashed(table: str, *row: object) -> int:
    text = repr((table, *row)).encode()
    return int(hashlib.sha256(text).hexdigest(), 16)


def test_the_sum_of_rows_is_that_of_their_hashes_modulo_two_to_the_256() -> None:
    sums, total = RowSums(), 0
    for row in ROWS:
        sums.add("games", [row])
        total += hashed("games", *row)
        assert sums.vouched == total % 2**256
        assert sums.total == f"{total % 2**256:064x}"
    assert total > 2**257
    assert sums.afterwards == 0


def test_rows_count_out_again_in_any_order_and_portions() -> None:
    sums = RowSums()
    sums.add("games", ROWS)
    before = sums.copy()
    other = RowSums()
    other.add("games", ROWS[4:])
    other.add("games", reversed(ROWS[:4]))
    assert other.total == sums.total
    sums.add("games", ROWS[3:5], -1)
    rest = RowSums()
    rest.add("games", [*ROWS[:3], *ROWS[5:]])
    assert (sums.total, before.total) == (rest.total, other.total)
    sums.add("games", [*ROWS[:3], *ROWS[5:]], sign=-1)
    assert sums.total == "0" * 64


@pytest.mark.parametrize("kind", [*AFTERWARDS, "candidate", "published"])
def test_what_is_noted_after_a_checkpoint_is_summed_apart(kind: str) -> None:
    sums, row = RowSums(), (3, 0.5, kind, "{}")
    sums.add("events", [row, row])
    value = 2 * hashed("events", *row) % 2**256
    apart = kind in ("started", "stopped", "lost", "broken", "dropped")
    assert (sums.vouched, sums.afterwards) == ((0, value) if apart else (value, 0))
    assert sums.copy().total == sums.total == f"{value:064x}"
    games = RowSums()
    games.add("games", [row])
    assert games.afterwards == 0


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (-0.0, 0.0, True), (math.nan, None, True), (True, 1, True), (False, 0, True),
        (2.0, 2, True), (2.5, 2, False), (1, "1", False), (None, 0, False), (0.5, 0.25, False),
    ],
)  # fmt: skip
def test_a_value_counts_as_it_is_read_back_from_the_book(
    one: object, other: object, alike: bool
) -> None:
    sums = [RowSums(), RowSums()]
    for part, value in zip(sums, (one, other), strict=True):
        part.add("games", [("x", value)])
    assert (sums[0].total == sums[1].total) == alike


def test_a_book_is_what_was_sealed_or_is_damaged(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "learn.db", isolation_level=None)
    database.executescript(TABLES)
    database.execute("INSERT INTO games VALUES ('one')")
    sums, sealed = checked(database, TABLES, ("games", "events"))
    assert not sealed
    assert sums.total == f"{hashed('games', 'one'):064x}"
    database.execute(
        "CREATE TABLE sums (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
    )
    seal(database, sums)
    assert checked(database, TABLES, ("games", "events"))[1]
    assert not database.in_transaction
    database.execute("BEGIN")
    assert checked(database, TABLES, ("games", "events"))[1]
    assert database.in_transaction  # Somebody else's, which goes on.
    database.execute("INSERT INTO games VALUES ('two')")
    with pytest.raises(sqlite3.DatabaseError, match="not those that were written"):
        checked(database, TABLES, ("games", "events"))
    database.execute("ROLLBACK")
    database.execute("CREATE TABLE more (name TEXT)")
    with pytest.raises(sqlite3.DatabaseError, match="its tables are not those"):
        checked(database, TABLES, ("games", "events"))
    assert not database.in_transaction
    database.close()


@pytest.mark.parametrize(
    ("code", "damage"),
    [(sqlite3.SQLITE_BUSY, False), (sqlite3.SQLITE_LOCKED, False), (sqlite3.SQLITE_PERM, False),
     (sqlite3.SQLITE_READONLY, False), (sqlite3.SQLITE_IOERR, False), (sqlite3.SQLITE_FULL, False),
     (sqlite3.SQLITE_IOERR_READ, False), (sqlite3.SQLITE_CANTOPEN, False), (None, True),
     (sqlite3.SQLITE_NOMEM, False), (sqlite3.SQLITE_AUTH, False), (sqlite3.SQLITE_CORRUPT, True),
     (sqlite3.SQLITE_NOTADB, True), (sqlite3.SQLITE_ERROR, True)],
)  # fmt: skip
def test_an_error_about_getting_at_a_file_is_no_damage(code: int | None, damage: bool) -> None:
    error = sqlite3.OperationalError("something")
    if code is not None:
        error.sqlite_errorcode = code
    assert is_damage(error) == damage


def test_the_refusal_of_a_damaged_book_names_it_and_why() -> None:
    sentence = str(damaged(Path("a\nb.db"), "w" * 300))
    assert sentence.startswith(r"a\nb.db is damaged: www")
    assert sentence.count("w") < 220
