"""A database that is a link or no file: refused before SQLite opens it."""

import os
import sqlite3

import pytest

from lanista.errors import RefusedError
from lanista.runs.database import RunDatabase
from lanista.runs.sqlite_files import opened_to_read


@pytest.fixture
def foreign(tmp_path):
    """A database of somebody else, and what is in it."""
    path = tmp_path / "foreign.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE theirs (x)")
    database.close()
    return path, path.read_bytes()


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder"])
@pytest.mark.parametrize("opened", [opened_to_read, RunDatabase])
def test_what_is_no_file_of_its_own_is_refused_and_nothing_is_written(
    ending, kind, opened, foreign, tmp_path
):
    theirs, before = foreign
    here = tmp_path / "run"
    here.mkdir()
    place = here / f"run.db{ending}"
    if ending:
        RunDatabase(here / "run.db").close()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(theirs if kind == "link" else tmp_path / "made.db")
    with pytest.raises(RefusedError, match=rf"run\.db{ending} is (a link|no regular file)"):
        opened(here / "run.db")
    assert theirs.read_bytes() == before
    assert not (tmp_path / "made.db").exists()


def test_a_database_with_a_second_name_is_read_and_not_written(tmp_path):
    RunDatabase(tmp_path / "run.db").close()
    (tmp_path / "backup.db").hardlink_to(tmp_path / "run.db")
    before = (tmp_path / "backup.db").read_bytes()
    with pytest.raises(RefusedError, match="a hard link"):
        RunDatabase(tmp_path / "run.db")
    assert (tmp_path / "backup.db").read_bytes() == before
    opened_to_read(tmp_path / "run.db").close()


def test_a_link_to_the_folder_is_the_users_own_word(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to("run")
    RunDatabase(tmp_path / "link" / "run.db").close()
    opened_to_read(tmp_path / "link" / "run.db").close()
