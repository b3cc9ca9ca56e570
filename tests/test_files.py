"""A reader sees the old file or the new one, whatever happens to the writer."""

from __future__ import annotations

import fnmatch
import gc
import glob
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from lanista.errors import LanistaError, RefusedError
from lanista.files import (
    Kind,
    filling,
    refuse_other,
    remove_leftovers,
    replacing,
    write_bytes,
    write_text,
)

WRITER = """
import sys
from lanista.files import write_bytes
path, size = sys.argv[1], int(sys.argv[2])
number = 0
while True:
    number += 1
    write_bytes(path, (f"{number:08d}" * (size // 8)).encode())
    if number == 1:
        print("writing", flush=True)
"""


def kill_while_writing(path, size, after):
    """Kill a process that writes `path` again and again, `after` seconds after its first file."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(size)], stdout=subprocess.PIPE
    )
    try:
        assert writer.stdout.readline() == b"writing\n"
        time.sleep(after)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
    return writer.pid


def whole(data, size):
    return len(data) == size and data == data[:8] * (size // 8)


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_a_killed_writer_leaves_a_whole_file(tmp_path, kills):
    path, size = tmp_path / "state.json", 1 << 20
    for number in range(kills):
        kill_while_writing(path, size, after=0.003 * (number % 10))
        assert whole(path.read_bytes(), size)
    # What the killed writers left is theirs alone, and goes.
    left = [entry.name for entry in tmp_path.iterdir() if entry != path]
    assert remove_leftovers(tmp_path) == len(left)
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_a_reader_never_sees_a_mixture_while_a_writer_runs(tmp_path):
    path, size = tmp_path / "state.json", 1 << 18
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(size)], stdout=subprocess.PIPE
    )
    try:
        assert writer.stdout.readline() == b"writing\n"
        seen = set()
        while len(seen) < 20:
            data = path.read_bytes()
            assert whole(data, size)
            seen.add(data[:8])
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


def names_while_writing(path):
    with replacing(path) as file:
        file.write(b"x")
        return [entry.name for entry in path.parent.iterdir()]


@pytest.mark.parametrize(
    "pattern", ["*.json", "*.gz", "*.jsonl.gz", "*.npz", "*.safetensors", "[!.]*"]
)
def test_a_temporary_name_matches_no_readers_pattern(tmp_path, pattern):
    (temporary,) = names_while_writing(tmp_path / "state.json")
    assert not fnmatch.fnmatch(temporary, pattern)


def test_a_shell_star_does_not_see_a_temporary_file(tmp_path):
    with replacing(tmp_path / "state.json"):
        assert glob.glob("*", root_dir=tmp_path) == []  # noqa: PTH207 - pathlib's star differs.
        command = ["sh", "-c", 'for f in *; do echo "$f"; done']
        listed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert listed.stdout == "*\n"


def test_a_file_appears_only_when_the_block_has_ended(tmp_path):
    path = tmp_path / "new.json"
    with replacing(path) as file:
        file.write(b"content")
        assert not path.exists()
    assert path.read_bytes() == b"content"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failed_write_keeps_the_old_file_and_leaves_nothing(tmp_path, error):
    path = tmp_path / "state.json"
    write_text(path, "old")

    def fail():
        with replacing(path) as file:
            file.write(b"half of the ne")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_written_as_utf8_without_changing_line_ends(tmp_path):
    write_text(tmp_path / "note", "löwe\r\nλ\n")
    assert (tmp_path / "note").read_bytes() == b"l\xc3\xb6we\r\n\xce\xbb\n"


def test_missing_folders_are_made(tmp_path):
    write_bytes(tmp_path / "a" / "b" / "c", b"1")
    assert (tmp_path / "a" / "b" / "c").read_bytes() == b"1"


def test_a_folder_in_the_way_is_an_error_and_stays(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        write_bytes(tmp_path / "taken", b"1")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


def test_a_replaced_file_is_readable_by_others_as_any_new_file_is(tmp_path):
    write_bytes(tmp_path / "ours", b"1")
    (tmp_path / "plain").write_bytes(b"1")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def dead_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_only_what_dead_writers_left_is_removed(tmp_path):
    dead = f".tmp-{dead_process()}-{'0' * 16}.part"
    kept = {
        f".tmp-1-{'2' * 16}.part": "the first process, which always runs",
        f".tmp-{dead_process()}-short.part": "not a name that we make",
        f"tmp-{dead_process()}-{'3' * 16}.part": "a user's",
        "notes.part": "a user's",
        "state.json": "a result",
    }
    for name in [dead, *kept]:
        (tmp_path / name).write_text("x")
    assert remove_leftovers(tmp_path) == 1
    assert {entry.name for entry in tmp_path.iterdir()} == set(kept)


def test_what_is_being_written_here_is_not_removed(tmp_path):
    with replacing(tmp_path / "state.json") as file:
        file.write(b"x")
        assert remove_leftovers(tmp_path) == 0
    assert (tmp_path / "state.json").read_bytes() == b"x"


def test_what_an_earlier_process_of_our_number_left_is_removed(tmp_path):
    (tmp_path / f".tmp-{os.getpid()}-{'0' * 16}.part").write_text("x")
    assert remove_leftovers(tmp_path) == 1


def test_a_folder_is_there_when_all_of_it_is(tmp_path):
    home = tmp_path / "a" / "b"
    with filling(home / "teams") as place:
        write_text(place / "1.txt", "one")
        assert not (home / "teams").exists()
        write_text(place / "2.txt", "two")
    assert sorted(path.name for path in (home / "teams").iterdir()) == ["1.txt", "2.txt"]
    assert [path.name for path in home.iterdir()] == ["teams"]


def test_a_folder_that_was_not_finished_or_is_empty_leaves_nothing(tmp_path):
    def fail():
        with filling(tmp_path / "teams") as place:
            write_text(place / "1.txt", "one")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with filling(tmp_path / "teams"):
        pass
    assert [*tmp_path.iterdir()] == []


FILLER = """
import sys, time
from lanista.files import filling, write_text
with filling(sys.argv[1]) as place:
    write_text(place / "1.txt", "one")
    print("begun", flush=True)
    time.sleep(600)
"""


def test_a_killed_filler_leaves_no_folder_and_the_next_one_removes_what_it_left(tmp_path):
    command = [sys.executable, "-c", FILLER, str(tmp_path / "teams")]
    filler = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert filler.stdout is not None
    assert filler.stdout.readline() == b"begun\n"
    filler.send_signal(signal.SIGKILL)
    filler.wait()
    filler.stdout.close()
    assert not (tmp_path / "teams").exists()
    assert len([*tmp_path.iterdir()]) == 1
    with filling(tmp_path / "teams") as place:
        write_text(place / "2.txt", "two")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.txt")] == ["teams/2.txt"]
    assert len([*tmp_path.iterdir()]) == 1


OURS = Kind("ours", rb"^ours")


def test_a_file_of_its_kind_is_replaced_and_no_other(tmp_path):
    path = tmp_path / "x"
    write_text(path, "ours 1", OURS)
    write_text(path, "ours 2", OURS)
    assert path.read_text() == "ours 2"
    path.write_text("theirs")
    with pytest.raises(RefusedError, match="exists and is not ours, so it is not overwritten"):
        write_text(path, "ours 3", OURS)
    with pytest.raises(RefusedError, match="exists, so it is not overwritten"):
        write_text(path, "ours 3", Kind("new"))
    assert path.read_text() == "theirs"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("links", [True, False])
def test_what_takes_the_name_while_a_file_is_written_stays(tmp_path, monkeypatch, links):
    if not links:

        def no_links(*names):
            raise OSError("no hard links here")

        monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "x"

    def write_slowly():
        with replacing(path, OURS) as file:
            file.write(b"ours")
            path.write_text("theirs")

    with pytest.raises(RefusedError):
        write_slowly()
    assert path.read_text() == "theirs"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def test_what_takes_the_name_in_the_last_moment_stays(tmp_path, monkeypatch):
    path, link = tmp_path / "x", os.link

    def first_somebody_else(source, target):
        path.write_text("theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", first_somebody_else)
    with pytest.raises(RefusedError):
        write_text(path, "ours", OURS)
    assert path.read_text() == "theirs"


def test_nothing_is_written_through_a_link(tmp_path):
    path, target = tmp_path / "x", tmp_path / "target"
    target.write_text("ours 1")
    path.symlink_to(target)
    with pytest.raises(RefusedError, match="is a link to"):
        write_text(path, "ours 2", OURS)
    assert path.is_symlink()
    assert target.read_text() == "ours 1"


def test_whoever_wants_the_name_after_a_file_took_it_finds_it_taken(tmp_path, monkeypatch):
    path, link, others = tmp_path / "x", os.link, []

    def then_somebody_else(source, target):
        try:
            link(source, target)
        finally:
            with suppress(FileExistsError), path.open("x") as file:
                others.append(file.write("theirs"))

    monkeypatch.setattr(os, "link", then_somebody_else)
    write_text(path, "ours", OURS)
    assert path.read_text() == "ours"
    assert others == []


@pytest.fixture
def synced(tmp_path, monkeypatch):
    """What reached the disk: a file's size or the names in a folder, as they were then."""
    synced, fsync = [], os.fsync

    def look(handle):
        fsync(handle)
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        names = [entry.name for entry in tmp_path.iterdir() if entry.name[0] != "."]
        synced.append(names if folder else os.fstat(handle).st_size)

    monkeypatch.setattr(os, "fsync", look)
    return synced


def test_all_bytes_are_on_the_disk_before_the_name_is_and_then_the_name(tmp_path, synced):
    write_text(tmp_path / "x", "ours")
    assert synced == [4, ["x"]]


def test_the_name_of_a_filled_folder_reaches_the_disk(tmp_path, synced):
    with filling(tmp_path / "teams") as place:
        (place / "1.txt").write_text("one")
    assert synced == [["teams"]]


def open_files():
    gc.collect()  # What other tests left.
    return len([*Path("/proc/self/fd").iterdir()])


@pytest.mark.skipif(sys.platform != "linux", reason="counts through /proc")
def test_writing_leaves_no_file_open(tmp_path):
    before = open_files()
    for number in range(3):
        write_text(tmp_path / "x", f"ours {number}", OURS)
    assert open_files() == before


def test_a_mark_is_looked_for_in_the_first_4096_bytes(tmp_path):
    path, kind = tmp_path / "x", Kind("ours", rb"ours")
    path.write_bytes(b" " * 4092 + b"ours")
    write_text(path, "ours", kind)
    path.write_bytes(b" " * 4093 + b"ours")
    with pytest.raises(RefusedError, match="is not ours"):
        write_text(path, "ours", kind)
    write_text(path, "ours", Kind("ours", rb"ours", within=4097))
    assert path.read_text() == "ours"


@pytest.mark.skipif(sys.platform == "win32", reason="Unix has such files")
@pytest.mark.parametrize("odd", ["a pipe", "a socket", "a device"])
def test_what_is_no_regular_file_is_refused_by_its_kind_and_stays(tmp_path, monkeypatch, odd):
    monkeypatch.chdir(tmp_path)  # The name of a socket must be short.
    path = Path("/dev/null" if odd == "a device" else "x")
    with socket.socket(socket.AF_UNIX) as listening:
        if odd == "a pipe":
            os.mkfifo(path)
        if odd == "a socket":
            listening.bind(str(path))
        before = path.lstat().st_mode
        with pytest.raises(RefusedError) as refused:
            refuse_other(path, OURS)
        assert str(refused.value) == (
            f"{str(path)!r} is {odd}, not a regular file; name another file."
        )
        assert path.lstat().st_mode == before


def test_a_folder_where_a_file_is_named_is_an_error_of_use_and_no_danger(tmp_path):
    with pytest.raises(LanistaError, match="is a folder; name a file") as refused:
        refuse_other(tmp_path, OURS)
    assert not isinstance(refused.value, RefusedError)
    refuse_other(tmp_path / "none", OURS)
    (tmp_path / "file").write_text("x")
    refuse_other(tmp_path / "file" / "none", OURS)


@pytest.mark.skipif(sys.platform == "win32", reason="asks as Unix does")
def test_what_a_process_of_another_user_writes_is_not_removed(tmp_path, monkeypatch):
    def theirs(process, number):
        raise PermissionError

    (tmp_path / f".tmp-{dead_process()}-{'0' * 16}.part").write_text("x")
    monkeypatch.setattr(os, "kill", theirs)
    assert remove_leftovers(tmp_path) == 0
    assert len([*tmp_path.iterdir()]) == 1


def test_unfinished_folders_of_dead_writers_are_removed_and_counted_with_the_files(tmp_path):
    folder = tmp_path / f".tmp-{dead_process()}-{'0' * 16}.part"
    folder.mkdir()
    (folder / "1.txt").write_text("one")
    (tmp_path / f".tmp-{dead_process()}-{'1' * 16}.part").write_text("x")
    assert remove_leftovers(tmp_path) == 2
    assert [*tmp_path.iterdir()] == []
