"""Shared memory: what is written in one process is read in another, and nothing stays behind."""

import gc
import os
import signal
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from lanista.errors import LanistaError
from lanista.rollout.launchers.shared_memory import (
    ALIGN,
    Inbox,
    Outbox,
    Segment,
    needed,
    read,
    write,
)

CONTEXT = get_context("spawn")
KINDS = {
    "flags": np.array([[True, False, True]]),
    "bytes": np.arange(7, dtype=np.uint8),
    "ints": np.arange(12, dtype=np.int64).reshape(3, 4) - 6,
    "floats": np.linspace(0, 1, 5, dtype=np.float32),
    "single": np.array(2.5),
    "none": np.empty((0, 3), np.float32),
    "every_third": np.arange(30, dtype=np.int32)[::3],
    "turned": np.arange(6, dtype=np.float64).reshape(2, 3).T,
}


def same(found, expected):
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype, name
        assert found[name].shape == array.shape, name
        assert np.array_equal(found[name], array), name


def started(work, *arguments):
    """Return a process that runs `work` at the other end of a pipe."""
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=work, args=(there, *arguments), daemon=True)
    process.start()
    there.close()
    return process, here


def ended(process, pipe):
    pipe.close()
    process.join()


def open_files():
    gc.collect()  # What other tests left.
    return len(list(Path("/proc/self/fd").iterdir()))


def doubling(pipe):
    """Double every number in a segment, between messages; then send one the other way."""
    assert pipe.recv() == "before"
    with_numbers = Segment.receive(pipe)
    layout = pipe.recv()
    for array in read(with_numbers, layout).values():
        array *= 2
    pipe.send("doubled")
    assert pipe.recv() == "and yours"
    mine = Segment.create(needed(KINDS))
    mine.send(pipe)
    pipe.send(write(mine, KINDS))
    mine.close()
    pipe.recv()


def echoing(pipe):
    """Send everything back until nobody asks."""
    outbox, inbox = Outbox(pipe), Inbox(pipe)
    while True:
        try:
            arrays, note = inbox.receive()
        except EOFError:
            return
        outbox.send(arrays, note)


def holding(pipe):
    """Take over a segment, say so, and wait to be killed."""
    segment = Segment.receive(pipe)
    segment.buffer[:] = 7
    pipe.send(os.getpid())
    pipe.recv()


def holding_own(pipe):
    """Send a segment as its only owner, and wait to be killed."""
    segment = Segment.create(1 << 20)
    segment.buffer[:] = 9
    segment.send(pipe)
    pipe.send("sent")
    pipe.recv()


def sending_without_end(pipe):
    outbox = Outbox(pipe)
    for size in range(1000, 10**9, 1000):
        outbox.send({"numbers": np.zeros(size)})


def test_arrays_are_read_as_they_were_written():
    segment = Segment.create(needed(KINDS))
    same(read(segment, write(segment, KINDS)), KINDS)


def test_every_array_begins_at_a_whole_cache_line():
    segment = Segment.create(needed(KINDS))
    for name, array in read(segment, write(segment, KINDS)).items():
        assert array.ctypes.data % ALIGN == 0, name


def test_what_is_read_is_the_memory_itself():
    segment = Segment.create(100)
    layout = write(segment, {"numbers": np.zeros(3)})
    read(segment, layout)["numbers"][1] = 5
    assert read(segment, layout)["numbers"].tolist() == [0, 5, 0]


def test_what_does_not_fit_is_refused_and_nothing_written():
    segment = Segment.create(64)
    with pytest.raises(ValueError, match="128 bytes do not fit"):
        write(segment, {"few": np.ones(8), "more": np.ones(1)})
    assert not segment.buffer.any()


def test_only_plain_numbers_are_written():
    segment = Segment.create(1000)
    for array in (np.array([{}]), np.zeros(2, [("x", "i4")])):
        with pytest.raises(ValueError, match="array odd"):
            write(segment, {"odd": array})


@pytest.mark.skipif(sys.platform != "linux", reason="counts through /proc")
def test_a_segment_that_nobody_holds_is_closed():
    before = open_files()
    view = read(Segment.create(64), (("numbers", "<f8", (8,), 0),))["numbers"]
    assert open_files() == before + 1  # The view's own hold on the memory.
    del view
    assert open_files() == before


def test_a_view_outlives_its_segment():
    segment = Segment.create(1 << 20)
    numbers = read(segment, write(segment, {"numbers": np.arange(1000)}))["numbers"]
    segment.close()
    segment.close()
    assert numbers.sum() == 499500


def test_segments_go_both_ways_between_messages():
    process, pipe = started(doubling)
    numbers = {"a": np.arange(5.0), "b": np.array([3, 4])}
    segment = Segment.create(needed(numbers))
    pipe.send("before")
    segment.send(pipe)
    pipe.send(write(segment, numbers))
    assert pipe.recv() == "doubled"
    assert read(segment, segment_layout(numbers))["a"].tolist() == [0, 2, 4, 6, 8]
    assert read(segment, segment_layout(numbers))["b"].tolist() == [6, 8]
    pipe.send("and yours")
    theirs = Segment.receive(pipe)
    same(read(theirs, pipe.recv()), KINDS)
    pipe.send("thanks")
    ended(process, pipe)
    assert process.exitcode == 0
    same(read(theirs, segment_layout(KINDS)), KINDS)


def segment_layout(arrays):
    """Return where `write` says that `arrays` lie."""
    return write(Segment.create(needed(arrays)), arrays)


def test_boxes_grow_with_what_is_sent_and_say_so_once():
    process, pipe = started(echoing)
    outbox, inbox = Outbox(pipe), Inbox(pipe)
    rng = np.random.default_rng(0)
    # Up and down again, over several borders of a power of two, more often than there are slots.
    for count, size in enumerate((0, 10, 9000, 100, 20000, 70000, 3, 70001, 200000, 1)):
        arrays = {"numbers": rng.normal(size=size), "flags": rng.random(size) < 0.5}
        outbox.send(arrays, {"count": count})
        found, note = inbox.receive()
        same(found, arrays)
        assert note == {"count": count}
    before = open_files() if sys.platform == "linux" else 0
    for _ in range(20):
        outbox.send(KINDS)
        same(inbox.receive()[0], KINDS)
    if sys.platform == "linux":
        assert open_files() == before
    outbox.close()
    inbox.close()
    ended(process, pipe)
    assert process.exitcode == 0


def test_what_was_sent_stays_until_every_slot_was_used_again():
    here, there = CONTEXT.Pipe()
    outbox, inbox = Outbox(here, slots=3), Inbox(there)
    found = []
    for count in range(4):
        outbox.send({"count": np.array([count])})
        found.append(inbox.receive()[0]["count"])
    assert [int(array[0]) for array in found] == [3, 1, 2, 3]


def test_a_grown_slot_leaves_what_was_read_before_alone():
    here, there = CONTEXT.Pipe()
    outbox, inbox = Outbox(here, slots=1), Inbox(there)
    outbox.send({"numbers": np.arange(10)})
    first = inbox.receive()[0]["numbers"]
    outbox.send({"numbers": np.zeros(1 << 20)})
    inbox.receive()
    assert first.tolist() == list(range(10))


@pytest.mark.skipif(sys.platform != "linux", reason="counts through /proc")
def test_closed_boxes_leave_no_file_open():
    here, there = CONTEXT.Pipe()
    before = open_files()
    for _ in range(3):
        outbox, inbox = Outbox(here), Inbox(there)
        for size in (1, 100_000, 1_000_000):
            outbox.send({"numbers": np.zeros(size)})
            inbox.receive()
        outbox.close()
        inbox.close()
    assert open_files() == before


class Kept:
    """What a device may read, by where it begins."""

    def __init__(self):
        self.now, self.ever = [], 0

    def pin(self, segment):
        self.now.append(segment.buffer.ctypes.data)
        self.ever += 1

    def unpin(self, segment):
        self.now.remove(segment.buffer.ctypes.data)


def test_every_segment_is_pinned_while_it_is_mapped_and_no_longer():
    here, there = CONTEXT.Pipe()
    kept, outbox = Kept(), Outbox(there, 2)
    inbox = Inbox(here, kept)
    for rows in (10, 10, 10, 100_000, 100_000, 10):
        outbox.send({"rows": np.arange(rows)})
        assert len(inbox.receive()[0]["rows"]) == rows
    assert (len(kept.now), kept.ever) == (2, 4)
    inbox.close()
    assert kept.now == []


def test_a_segment_that_cannot_be_pinned_is_not_kept():
    class Full(Kept):
        def pin(self, segment):
            raise LanistaError("no room")

    here, there = CONTEXT.Pipe()
    kept, outbox = Full(), Outbox(there, 2)
    inbox = Inbox(here, kept)
    outbox.send({"rows": np.arange(10)})
    with pytest.raises(LanistaError, match="no room"):
        inbox.receive()
    inbox.close()  # Nothing is unpinned that never was pinned.


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_killed_processes_leave_nothing_behind():
    # The resource tracker and the like are opened once, by whatever comes first.
    ended(*started(echoing))
    files = open_files()
    for _ in range(2):
        process, pipe = started(holding)
        segment = Segment.create(1 << 20)
        segment.send(pipe)
        os.kill(pipe.recv(), signal.SIGKILL)
        ended(process, pipe)
        assert process.exitcode == -signal.SIGKILL
        assert (segment.buffer == 7).all()
        segment.close()
        process.close()
    assert open_files() == files


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_segment_has_no_name_in_any_folder():
    segment = Segment.create(10)
    start = f"{segment.buffer.ctypes.data:x}-"
    lines = Path("/proc/self/maps").read_text().splitlines()
    (mapped,) = [line for line in lines if line.startswith(start)]
    assert mapped.endswith("(deleted)")
    assert not [path for path in Path("/dev/shm").iterdir() if "lanista" in path.name]


def test_a_segment_outlives_the_process_that_made_it():
    process, pipe = started(holding_own)
    segment = Segment.receive(pipe)
    assert pipe.recv() == "sent"
    process.kill()
    process.join()
    assert (segment.buffer == 9).all()


def test_a_reader_learns_that_the_writer_was_killed():
    process, pipe = started(sending_without_end)
    inbox = Inbox(pipe)
    inbox.receive()
    process.kill()
    process.join()
    with pytest.raises((EOFError, ConnectionError)):
        list(iter(inbox.receive, None))  # What lies in the pipe still comes; then it ends.


def test_a_writer_learns_that_the_reader_is_gone():
    process, pipe = started(echoing)
    outbox, inbox = Outbox(pipe), Inbox(pipe)
    outbox.send(KINDS)
    inbox.receive()
    process.kill()
    process.join()
    with pytest.raises(ConnectionError):
        outbox.send({"numbers": np.zeros(1 << 20)})


def test_too_many_open_files_are_named():
    resource = pytest.importorskip("resource")
    here, there = CONTEXT.Pipe()
    segment = Segment.create(10)
    segment.send(here)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = os.dup(0)
    os.close(spare)
    # One more is needed to look at the pipe, and the next one is not to be had.
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare + 1, hard))
    try:
        with pytest.raises(LanistaError, match="ulimit -n"):
            Segment.receive(there)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_other_systems_use_an_unlinked_file(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    segment = Segment.create(needed(KINDS))
    same(read(segment, write(segment, KINDS)), KINDS)
    assert list(Path(tmp_path).iterdir()) == []


def test_windows_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(LanistaError, match="use threads or serial"):
        Segment.create(1)
