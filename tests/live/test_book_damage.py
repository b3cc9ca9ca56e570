"""A learner's book that is not what was written is refused, and no game ever counts twice."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from practice import Bench, quick, settings_of

from lanista.cli.main import main
from lanista.errors import RefusedError
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.background_learner import BackgroundLearner
from lanista.live.learner.ledger import NAME, GameRow, Ledger, reading
from lanista.runs.checkpoints import write_state

SETTINGS = settings_of(quick(every=4, share=0.5), batch_games=4)
TABLES = ("games", "batches", "metrics", "policies", "events")


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return folders in which a learner worked, was stopped, and began again."""
    bench = Bench(tmp_path_factory.mktemp("learned"), SETTINGS)
    for _ in range(3):
        with bench.start() as learner:
            bench.play(*[1, -1] * 8)
            bench.learn(learner)
            bench.duel(8, 1, 0)
            bench.learn(learner)
    return bench.path


def book_of(path: Path) -> Path:
    return path / "policy" / "learner" / NAME


def rows_of(path: Path) -> dict[str, list[Any]]:
    """Return all that a book says, asked of SQLite itself."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        return {
            table: sorted(map(repr, database.execute(f"SELECT * FROM {table}").fetchall()))
            for table in TABLES
        }


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def page_bits(data: bytes, drawn: random.Random) -> Iterator[int]:
    """Yield a bit of each page's head, of its middle and of its last bytes."""
    size = int.from_bytes(data[16:18], "big")
    for start in range(0, len(data), size):
        for at in (drawn.randrange(12), drawn.randrange(12, size), size - 1 - drawn.randrange(200)):
            yield 8 * (start + at) + drawn.randrange(8)


def refusal_of(book: Path) -> str:
    """Return with what sentence a book is refused; nothing if it is not."""
    try:
        with reading(book):
            return ""
    except RefusedError as error:
        return str(error)


@pytest.mark.parametrize(
    "flips", [150, pytest.param(20_000, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_a_flipped_bit_in_the_book_is_refused_or_changes_nothing_it_says(
    learned: Path, tmp_path: Path, flips: int
) -> None:
    whole = book_of(learned)
    data, said, drawn = whole.read_bytes(), rows_of(whole), random.Random(flips)
    assert len(data) // int.from_bytes(data[16:18], "big") > 10
    copy = tmp_path / NAME
    noticed = 0
    header = range(800) if flips > 1000 else drawn.sample(range(800), 60)
    random_bits = [drawn.randrange(8 * len(data)) for _ in range(flips)]
    for bit in [*page_bits(data, drawn), *header, *random_bits]:
        copy.write_bytes(flipped(data, bit))
        for suffix in ("-wal", "-shm"):
            copy.with_name(NAME + suffix).unlink(missing_ok=True)
        refusal = refusal_of(copy)
        if refusal:
            assert str(copy) in refusal
            assert "\n" not in refusal
            noticed += 1
            continue
        assert rows_of(copy) == said, f"bit {bit} changed the book, and nothing said so"
    assert noticed > flips / 3


def test_a_name_in_the_schema_that_is_no_text_is_refused(learned: Path, tmp_path: Path) -> None:
    """What SQLite then says of it is no text either."""
    data, copy = book_of(learned).read_bytes(), tmp_path / NAME
    for bit in (8 * (data.index(b"CREATE TABLE games") + at) + 7 for at in range(0, 60, 5)):
        copy.write_bytes(flipped(data, bit))
        assert "is damaged" in refusal_of(copy)


def test_no_flip_in_a_hash_lets_a_game_count_twice(learned: Path, tmp_path: Path) -> None:
    """The case that was met: one bit of a content's hash, and a copy of that game in the spool."""
    data = book_of(learned).read_bytes()
    with reading(book_of(learned)) as ledger:
        rows = ledger.games()
    for row in random.Random(0).sample(rows, 4):
        path = tmp_path / row.content[:16]
        shutil.copytree(learned, path)
        at = data.index(row.content.encode())
        book_of(path).write_bytes(flipped(data, 8 * (at + 9)))
        archived = next((path / "spool" / "archive").rglob(f"{row.content}.npz"))
        shutil.copy(archived, path / "spool" / "new" / "again.npz")
        before = tree_of(path)
        with pytest.raises(RefusedError, match=r"learn\.db is damaged: .*put back a copy, or move"):
            started(path)
        assert tree_of(path) == before
        book_of(path).write_bytes(data)
        with started(path) as learner:
            assert learner.step().repeated == 1
            assert learner.ledger.count() == len(rows)


def tree_of(path: Path) -> dict[str, bytes]:
    """Return every file, but for what SQLite keeps beside an open book."""
    return {
        str(one.relative_to(path)): one.read_bytes()
        for one in path.rglob("*")
        if one.is_file() and not one.name.endswith(("-shm", "-wal"))
    }


def started(path: Path) -> BackgroundLearner:
    return BackgroundLearner(path / "spool", path / "policy", SETTINGS, say=lambda said: None)


@pytest.mark.slow
def test_with_any_flip_in_the_book_a_copy_of_each_game_changes_nothing(
    learned: Path, tmp_path: Path
) -> None:
    data, drawn = book_of(learned).read_bytes(), random.Random(7)
    said = rows_of(book_of(learned))
    games = list((learned / "spool" / "archive").rglob("*.npz"))
    begun = 0
    for number, bit in enumerate(drawn.randrange(8 * len(data)) for _ in range(300)):
        path = tmp_path / str(number)
        shutil.copytree(learned, path)
        book_of(path).write_bytes(flipped(data, bit))
        for game in drawn.sample(games, 5):
            shutil.copy(game, path / "spool" / "new" / f"copy {game.name}")
        with suppress(RefusedError), started(path) as learner:
            begun += 1
            while learner.step() is not None:
                pass
            assert learner.ledger.count() == len(games)
            found = rows_of(book_of(path))
            assert found["games"] == said["games"], f"bit {bit}"
        shutil.rmtree(path)
    assert begun > 10


@pytest.mark.parametrize(
    "flips", [15, pytest.param(400, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_a_flipped_bit_in_what_a_killed_learner_left_unmerged_is_noticed(
    tmp_path: Path, flips: int
) -> None:
    """Frames behind a damaged one are dropped by SQLite without a word."""
    bench = Bench(tmp_path / "first", SETTINGS)
    with bench.start() as learner:
        bench.play(*[1, -1] * 6)
        bench.learn(learner)
        shutil.copytree(bench.path, tmp_path / "killed")
        count = learner.ledger.count()
        contents = sorted(row.content for row in learner.ledger.games())
    wal = book_of(tmp_path / "killed").with_name(f"{NAME}-wal")
    data, drawn, refused = wal.read_bytes(), random.Random(flips), 0
    for number in range(flips):
        path = tmp_path / f"{number}"
        shutil.copytree(tmp_path / "killed", path)
        book_of(path).with_name(wal.name).write_bytes(flipped(data, drawn.randrange(8 * len(data))))
        # What the spool archived is there again: none of it may count a second time.
        for game in (path / "spool" / "archive").rglob("*.npz"):
            shutil.copy(game, path / "spool" / "new" / f"copy {game.name}")
        try:
            with started(path) as learner:
                while learner.step() is not None:
                    pass
                assert sorted(row.content for row in learner.ledger.games()) == contents
                assert learner.ledger.count() == count
        except RefusedError:
            refused += 1
        shutil.rmtree(path)
    assert refused > 0


def test_a_book_of_another_time_with_as_many_games_is_refused(tmp_path: Path) -> None:
    books = []
    for name in ("one", "other"):
        bench = Bench(tmp_path / name, SETTINGS)
        bench.play(1, -1, 1)
        with bench.learn() as learner:
            books.append(learner.ledger.path)
    shutil.copy(books[1], books[0])
    with pytest.raises(RefusedError, match="holds other rows than those of the checkpoint"):
        started(tmp_path / "one")


def test_a_book_with_a_trigger_or_a_foreign_table_is_refused(learned: Path, tmp_path: Path) -> None:
    for number, statement in enumerate(
        (
            "CREATE TRIGGER t AFTER INSERT ON games BEGIN DELETE FROM games; END",
            "CREATE TABLE more (value TEXT)",
            "CREATE VIEW v AS SELECT * FROM games",
            "DROP INDEX games_by_update",
            "PRAGMA user_version=1",
            "PRAGMA user_version=0",
        )
    ):
        path = tmp_path / f"{number}.db"
        shutil.copy(book_of(learned), path)
        with closing(sqlite3.connect(path)) as database:
            database.execute(statement)
        with pytest.raises(RefusedError, match="is damaged"):
            Ledger(path, write=True)


def unsealed(path: Path) -> None:
    """Make of folders what a program without sums would have left."""
    with closing(sqlite3.connect(book_of(path), isolation_level=None)) as database:
        database.execute("DROP TABLE sums")
        database.execute("PRAGMA user_version=1")
    with started(path) as learner:
        number, state, _ = learner.checkpoints.newest_good()
        place = learner.checkpoints.path(number)
    del state["rows"]
    shutil.rmtree(place)
    place.mkdir()
    write_state(place, state)
    with closing(sqlite3.connect(book_of(path), isolation_level=None)) as database:
        database.execute("DROP TABLE sums")
        database.execute("PRAGMA user_version=1")


def test_folders_of_a_program_without_sums_are_read_and_get_them_with_a_notice(
    learned: Path, tmp_path: Path
) -> None:
    path = tmp_path / "old"
    shutil.copytree(learned, path)
    unsealed(path)
    said = rows_of(book_of(path))
    with reading(book_of(path)) as ledger:
        assert ledger.was_unsealed
    bench = Bench(path, SETTINGS)
    bench.count = 1000
    with bench.start() as learner:
        assert [s for s in bench.said if "held no sums of its rows; from now on it does" in s]
        bench.play(1, -1)
        bench.learn(learner)
        assert learner.ledger.count() == len(said["games"]) + 2
    bench.said.clear()
    with bench.start():
        pass
    assert not bench.said
    with closing(sqlite3.connect(book_of(path))) as database, database:
        database.execute("UPDATE games SET reward = reward + 1 WHERE update_number = 1")
    with pytest.raises(RefusedError, match="rows are not those that were written"):
        bench.start()


def test_values_that_the_book_stores_otherwise_are_not_taken_for_damage(tmp_path: Path) -> None:
    path = tmp_path / NAME
    row = GameRow(
        1, "ab" * 32, "a \ud800 name".encode("utf-8", "replace").decode(), "cd" * 32, 2**61, True,
        -0.0, False, 3, 0, -0.0, float("-inf"), -1, "learned", float("nan"), 1.0, 2.0, "日本",
        1e300,
    )  # fmt: skip
    with closing(Ledger(path, write=True)) as ledger:
        ledger.add_games([row])
        ledger.add_metrics(1, {"zero": -0.0, "none": float("nan"), "far": float("inf")})
        ledger.add_policy(1, "ab" * 32, None)
        ledger.add_policy(1, "ab" * 32, None)
        vouched = ledger.vouched(1)
        with suppress(ZeroDivisionError), ledger.writing():
            ledger.add_metrics(2, {"lost": 1.0})
            raise ZeroDivisionError
        ledger.add_event(1, "started", spool="x")
        ledger.add_metrics(2, {"newer": 1.0})
    with closing(Ledger(path, write=True)) as ledger:
        assert ledger.vouched(1) == vouched
        ledger.forget_after(1)
    with reading(path) as ledger:
        assert ledger.vouched(1) == vouched
        assert len(ledger.games()) == 1


def test_commands_that_read_a_damaged_book_refuse_it_in_one_line(
    learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "folders"
    shutil.copytree(learned, path)
    assert PolicyFolder(path / "policy").pointer().serial > 1
    with closing(sqlite3.connect(book_of(path))) as database, database:
        database.execute("UPDATE games SET outcome = 1 WHERE outcome = -1")
    policy, spool = str(path / "policy"), str(path / "spool")
    for command in (
        ["policy", "list", policy],
        ["doctor", policy],
        ["report", policy, "--output-dir", str(tmp_path / "out")],
        ["learn", "--spool", spool, "--policy", policy, "--once"],
    ):
        assert main(command) == 3, command
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "learn.db is damaged" in said
