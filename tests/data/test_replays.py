"""Replay files: what is written is read, and nothing half-written can be."""

import gzip
import json
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from recording import record

from lanista.data import Header, PlayerInfo, Record, ReplayError, read_replays, write_replays
from lanista.data.lines import LARGEST_RATIO
from lanista.data.replays import open_replays
from lanista.games import make, make_bot


def same(one: Record, other: Record) -> bool:
    return one.actions.tobytes() == other.actions.tobytes() and all(
        getattr(one, name) == getattr(other, name)
        for name in ("match", "deal", "options", "seating", "returns", "place", "cut_off")
    )


def test_what_is_written_is_read(tmp_path):
    replays = record("kuhn", 50)
    path = tmp_path / "one.jsonl.gz"
    write_replays(path, replays.header, replays.records)
    read = read_replays(path)
    assert read.header == replays.header
    assert len(read) == 50
    for one, other in zip(read.records, replays.records, strict=True):
        assert same(one, other)
        assert one.actions.dtype == np.int32
        assert one.actions.shape == other.actions.shape


def test_all_fields_survive_with_several_heads_and_odd_names(tmp_path):
    header = Header(
        game="somewhere",
        settings={"fast": True, "name": "ü[", "scale": 0.1, "seats": 3, "none": None},
        rules_version=4,
        observation_version=2,
        simulator="elsewhere",
        simulator_version="0.9",
        seed=2**63 - 1,
        players=(PlayerInfo("\x1b[31m{[", "d1"), PlayerInfo("b", "d2")),
    )
    written = Record(
        match=2**62,
        deal=7,
        options={"opening": -3},
        seating=(1, 0, 1),
        actions=np.arange(12, dtype=np.int32).reshape(4, 3),
        returns=(float(np.float32(0.1)), -0.25, 0.0),
        place=(1, 3, 2),
        cut_off=True,
    )
    path = tmp_path / "one.jsonl.gz"
    write_replays(path, header, [written])
    read = read_replays(path)
    assert read.header == header
    assert same(read.records[0], written)


def test_the_same_matches_give_the_same_bytes(tmp_path):
    replays = record("kuhn", 20)
    for name in ("a", "b"):
        write_replays(tmp_path / f"{name}.jsonl.gz", replays.header, iter(replays.records))
    first = (tmp_path / "a.jsonl.gz").read_bytes()
    assert first == (tmp_path / "b.jsonl.gz").read_bytes()
    assert first[4:8] == bytes(4), "the time in the gzip header must be 0"


def test_the_file_is_gzipped_json_lines_as_documented(tmp_path):
    replays = record("kuhn", 2)
    path = tmp_path / "one.jsonl.gz"
    write_replays(path, replays.header, replays.records)
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert lines[0]["format"] == "lanista-replay"
    assert lines[0]["version"] == 1
    assert lines[0]["game"] == "kuhn"
    assert lines[1]["actions"] == [replays.records[0].actions[:, 0].tolist()]
    assert lines[-1] == {"end": True, "matches": 2}


def test_a_header_names_the_game_and_who_played_it():
    game = make("kuhn", seed=3)
    bot = make_bot("kuhn", "random", game.spec, 3)
    header = Header.of(game.spec, 3, [bot, bot])
    assert (header.game, header.seed) == ("kuhn", 3)
    assert header.rules_version == game.spec.facts.rules_version
    assert header.players == (PlayerInfo("random", bot.digest),) * 2


def test_a_file_without_matches_is_whole(tmp_path):
    path = tmp_path / "none.jsonl.gz"
    write_replays(path, record("kuhn", 1).header, [])
    assert len(read_replays(path)) == 0


def test_play_that_repeats_itself_is_not_taken_for_a_bomb(tmp_path):
    replays = record("kuhn", 1)
    idle = replace(replays.records[0], actions=np.zeros((200_000, 1), np.int32))
    path = tmp_path / "idle.jsonl.gz"
    many = [replace(idle, match=match) for match in range(30)]
    write_replays(path, replays.header, many)
    content = len(gzip.decompress(path.read_bytes()))
    assert content > 10_000_000
    assert content < LARGEST_RATIO * path.stat().st_size
    assert len(read_replays(path)) == 30


def test_matches_can_be_read_one_by_one(tmp_path):
    replays = record("kuhn", 5)
    path = tmp_path / "one.jsonl.gz"
    write_replays(path, replays.header, replays.records)
    with open_replays(path) as (header, records):
        assert header == replays.header
        assert [one.match for one in records] == [0, 1, 2, 3, 4]


def test_parts_hold_each_match_once():
    replays = record("kuhn", 10)
    parts = list(replays.parts(4))
    assert [len(part) for part in parts] == [4, 4, 2]
    assert [one for part in parts for one in part.records] == list(replays.records)


@pytest.mark.parametrize(
    "change",
    [
        {"match": -1},
        {"deal": 2**63},
        {"seating": (0, 2)},
        {"seating": ()},
        {"returns": (1.0,)},
        {"returns": (float("nan"), 0.0)},
        {"returns": (float("inf"), 0.0)},
        {"place": (1, 3)},
        {"actions": np.zeros((2, 1))},
        {"actions": np.zeros(2, np.int32)},
        {"actions": np.array([[-1]], np.int32)},
        {"options": {"a": 2**70}},
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, change):
    replays = record("kuhn", 1)
    path = tmp_path / "one.jsonl.gz"
    with pytest.raises(ReplayError):
        write_replays(path, replays.header, [replace(replays.records[0], **change)])
    assert list(tmp_path.iterdir()) == []


def test_a_match_is_not_written_twice(tmp_path):
    replays = record("kuhn", 1)
    with pytest.raises(ReplayError, match="twice"):
        write_replays(tmp_path / "a.jsonl.gz", replays.header, replays.records * 2)


def test_another_suffix_is_refused(tmp_path):
    with pytest.raises(ReplayError, match=r"\.jsonl\.gz"):
        write_replays(tmp_path / "a.json", record("kuhn", 1).header, [])


def test_a_failing_writer_leaves_the_old_file(tmp_path):
    replays = record("kuhn", 3)
    path = tmp_path / "one.jsonl.gz"
    write_replays(path, replays.header, replays.records)
    before = path.read_bytes()

    def breaks():
        yield replays.records[0]
        raise RuntimeError("the match broke")

    with pytest.raises(RuntimeError):
        write_replays(path, replays.header, breaks())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
from dataclasses import replace
import numpy as np
from recording import record
from lanista.data import write_replays

replays = record("kuhn", 1)
def records():
    # Enough for whole gzip members to have reached the temporary file.
    for match in range(40):
        yield replace(replays.records[0], match=match, actions=np.ones((100_000, 1), np.int32))
    os.kill(os.getpid(), signal.SIGKILL)
write_replays({path!r}, replays.header, records())
"""


@pytest.mark.parametrize("before", [None, 3])
def test_a_writer_killed_half_way_leaves_the_old_file_or_none(tmp_path, before):
    from lanista.data.datasets import DatasetError, check_dataset

    path = tmp_path / "one.jsonl.gz"
    if before:
        replays = record("kuhn", before)
        write_replays(path, replays.header, replays.records)
    here = str(__import__("pathlib").Path(__file__).parent)
    script = KILLED.format(here=here, path=str(path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    left = [one for one in tmp_path.iterdir() if one != path]
    assert left, "the test must kill the writer after it has written something"
    assert left[0].stat().st_size > 0
    with pytest.raises(ReplayError):
        read_replays(left[0])
    if before:
        assert len(read_replays(path)) == before
        assert check_dataset(tmp_path).matches == before
    else:
        assert not path.exists()
        with pytest.raises(DatasetError, match="no replays"):
            check_dataset(tmp_path)
