"""Files that are broken, foreign or meant to do harm: one sentence each, and no harm."""

import gzip
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from recording import record

from lanista.data import ReplayError, read_replays, write_replays
from lanista.data.datasets import check_dataset
from lanista.data.lines import LONGEST_LINE
from lanista.text import printable, quoted


def lines_of(matches=3):
    """Return the lines of a good file as JSON values."""
    import tempfile

    replays = record("kuhn", matches)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.jsonl.gz"
        write_replays(path, replays.header, replays.records)
        return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


GOOD = lines_of()


def packed(lines) -> bytes:
    return gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def refusal(tmp_path, content: bytes) -> str:
    path = tmp_path / "one.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(ReplayError) as problem:
        read_replays(path)
    sentence = str(problem.value)
    assert str(path) in sentence
    assert sentence.isprintable()
    assert len(sentence) < 600
    return sentence


def changed(line: int, **change) -> bytes:
    lines = [dict(one) for one in GOOD]
    lines[line].update(change)
    return packed(lines)


def test_the_good_file_that_the_others_are_made_from_is_read(tmp_path):
    path = tmp_path / "one.jsonl.gz"
    path.write_bytes(packed(GOOD))
    assert len(read_replays(path)) == 3


def test_files_of_another_kind_are_refused(tmp_path):
    for content, said in (
        (b"", "empty"),
        (gzip.compress(b""), "empty"),
        (b"not gzip at all", "not a gzip file"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + b"garbage" * 9, "damaged"),
        (json.dumps(GOOD[0]).encode() + b"\n", "not a gzip file"),
        (gzip.compress(b"\x00" * 100), "has no end"),
        (gzip.compress(b"hello\n"), "line 1: it is not JSON"),
        (gzip.compress(b"\xff\xfe\n"), "line 1: it is not UTF-8"),
        (gzip.compress(b"\n\n\n"), "line 1: it is not JSON"),
        (gzip.compress(b"[1, 2]\n"), "not a JSON object"),
        (gzip.compress(b'"text"\n'), "not a JSON object"),
        (gzip.compress(b'{"format": "other", "version": 1}\n'), "something else"),
        (gzip.compress(b"{}\n"), "something else"),
    ):
        assert said in refusal(tmp_path, content)


def test_every_cut_through_a_file_is_noticed(tmp_path):
    content = packed(GOOD)
    for length in range(1, len(content)):
        refusal(tmp_path, content[:length])


def test_every_flipped_byte_after_the_gzip_header_is_noticed(tmp_path):
    content = packed(GOOD)
    for place in range(10, len(content)):
        broken = bytearray(content)
        broken[place] ^= 0x40
        refusal(tmp_path, bytes(broken))


def test_a_wrong_checksum_is_refused(tmp_path):
    content = bytearray(packed(GOOD))
    content[-6] ^= 1
    assert "damaged" in refusal(tmp_path, bytes(content))


def test_a_file_cut_between_two_lines_is_refused(tmp_path):
    for kept in range(1, len(GOOD)):
        assert "cut short" in refusal(tmp_path, packed(GOOD[:kept]))


def test_lines_that_are_missing_doubled_or_added_are_refused(tmp_path):
    header, one, two, three, end = GOOD
    for lines, said in (
        ([header, one, two, end], "counts 3 matches, but 2"),
        ([header, one, two, three, one, end], "match 0 is in the file twice"),
        ([header, header, one, end], "no 'match'"),
        ([header, one, two, three, end, end], "something follows"),
        ([header, one, two, three, end, one], "something follows"),
        ([one, two, three, end], "something else"),
        ([end], "something else"),
        ([header, one, two, three, {"end": 1, "matches": 3}], "end is 1"),
        ([header, one, two, three, {"end": True, "matches": -3}], "matches is -3"),
        ([header, one, two, three, {"end": True, "matches": 10**30}], "matches is 1"),
        ([header, one, two, three, {"end": True, "matches": True}], "matches is True"),
    ):
        assert said in refusal(tmp_path, packed(lines))


def test_bytes_behind_the_end_are_refused(tmp_path):
    for tail in (b"tail", b"\x00\x00\x00", gzip.compress(b"{}\n"), gzip.compress(b"x")):
        refusal(tmp_path, packed(GOOD) + tail)


@pytest.mark.parametrize("line", [0, 1, 4])
def test_a_missing_or_unknown_key_is_refused(tmp_path, line):
    for key in GOOD[line]:
        lines = [dict(one) for one in GOOD]
        del lines[line][key]
        assert f"line {line + 1}: " in refusal(tmp_path, packed(lines))
    assert "unknown key 'extra'" in refusal(tmp_path, changed(line, extra=1))


WRONG = [None, True, -1, 1.5, "x", "x" * 300, [], [[]], {}, {"a": []}, 10**25, [1, 2, 3, 4, 5]]
HEADER_RIGHT = {
    "settings": [{}],
    "game": ["x"],
    "simulator": ["x"],
    "simulator_version": ["x"],
    "format": [],
    "version": [],
}


@pytest.mark.parametrize("key", list(GOOD[0]))
def test_a_header_value_of_the_wrong_type_is_refused(tmp_path, key):
    for value in WRONG:
        if value not in HEADER_RIGHT.get(key, []):
            assert "line 1: " in refusal(tmp_path, changed(0, **{key: value}))


@pytest.mark.parametrize("key", list(GOOD[1]))
def test_a_match_value_of_the_wrong_type_is_refused(tmp_path, key):
    for value in WRONG:
        fits = (key == "options" and value == {}) or (key == "cut_off" and value is True)
        if key == "actions" and value == [[]]:
            continue  # A match without decisions is for the referee to refuse.
        if not fits:
            assert "line 2: " in refusal(tmp_path, changed(1, **{key: value}))


def test_values_out_of_range_are_refused(tmp_path):
    for change, said in (
        ({"actions": [[0, True]]}, "whole numbers only"),
        ({"actions": [[0, 1.0]]}, "whole numbers only"),
        ({"actions": [[0, None]]}, "whole numbers only"),
        ({"actions": [[0, "1"]]}, "whole numbers only"),
        ({"actions": [[0, -1]]}, "an action is"),
        ({"actions": [[0, 2**31]]}, "an action is"),
        ({"actions": [[0, 10**40]]}, "an action is"),
        ({"actions": [[0, 1], [0]]}, "all of one length"),
        ({"seating": [0, 2]}, "a player in seating"),
        ({"seating": [0, -1]}, "a player in seating"),
        ({"seating": [0, True]}, "a player in seating"),
        ({"place": [1, 3]}, "a place"),
        ({"returns": [10**300, 0]}, "a return"),
        ({"options": {"a": 1.0}}, "option 'a'"),
        ({"match": 2**63}, "match is"),
    ):
        assert said in refusal(tmp_path, changed(1, **change))


def raw(line: int, text: bytes) -> bytes:
    lines = [json.dumps(one).encode() for one in GOOD]
    lines[line] = text
    return gzip.compress(b"\n".join(lines) + b"\n")


def test_json_that_python_alone_would_take_is_refused(tmp_path):
    good = json.dumps(GOOD[1])
    for text in (
        good.replace('"deal": 1', '"deal": NaN'),
        good.replace('"deal": 1', '"deal": Infinity'),
        good.replace('"deal": 1', '"deal": -Infinity'),
        good.replace('"deal": 1', '"deal": 1, "deal": 2'),
        good.replace('"deal": 1', '"deal": 1e999'),
        good.replace('"deal": 1', '"deal": ' + "9" * 100_000),
    ):
        assert text != good
        assert "line 2: " in refusal(tmp_path, raw(1, text.encode()))


def test_deep_nesting_is_refused(tmp_path):
    for text in (
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 1000 + b"]" * 1000,
        b'{"match":' + b"[" * 990 + b"]" * 990 + b"}",
        b"[" * 2_000_000 + b"]" * 2_000_000,
    ):
        assert "line 2: " in refusal(tmp_path, raw(1, text))
        refusal(tmp_path, raw(0, text))


def test_a_giant_line_is_refused(tmp_path):
    text = b'{"match": "' + b"x" * (LONGEST_LINE + 1) + b'"}'
    assert "longer than" in refusal(tmp_path, raw(1, text))


def test_a_million_small_objects_are_refused_before_they_are_made(tmp_path):
    text = b'{"match": [' + b"{}," * 1_000_000 + b"{}]}"
    assert "nests more" in refusal(tmp_path, raw(1, text))


def bomb(kind: str) -> bytes:
    """Return a small gzip file that unpacks to a quarter of a gigabyte."""
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    if kind == "zeros":
        block, head = b"\x00" * (1 << 20), b""
    elif kind == "line breaks":
        block, head = b"\n" * (1 << 20), b""
    else:
        head = json.dumps(GOOD[0]).encode() + b"\n"
        # The same match again and again, or one per line that differs in nothing but blanks.
        block = (json.dumps({"end": True, "matches": 0}) + " " * 60_000 + "\n").encode() * 16
        if kind == "matches":
            block = (json.dumps(GOOD[1]) + " " * 60_000 + "\n").encode() * 16
    out = [pack.compress(head)]
    out += [pack.compress(block) for _ in range((1 << 28) // len(block))]
    return b"".join([*out, pack.flush()])


MEASURED = """
import sys, time, tracemalloc
import numpy
from lanista.data.datasets import check_dataset
import lanista.games.small
tracemalloc.start()
began = time.process_time()
summary = check_dataset(sys.argv[1])
print(tracemalloc.get_traced_memory()[1], time.process_time() - began)
print(summary.matches, *[one.reason for one in summary.broken], sep="\\n")
"""


def measured(folder) -> tuple[int, float, list[str]]:
    """Return the peak of memory, the CPU seconds and the lines said about `folder`."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(folder)], capture_output=True, check=True, text=True
    )
    first, *rest = done.stdout.splitlines()
    peak, seconds = first.split()
    return int(peak), float(seconds), rest


@pytest.mark.parametrize("kind", ["zeros", "line breaks", "matches", "ends"])
def test_a_decompression_bomb_takes_little_memory(tmp_path, kind):
    (tmp_path / "bomb.jsonl.gz").write_bytes(bomb(kind))
    (tmp_path / "good.jsonl.gz").write_bytes(packed(GOOD))
    assert (tmp_path / "bomb.jsonl.gz").stat().st_size < 1_000_000
    peak, _, said = measured(tmp_path)
    assert peak < 100_000_000
    assert said[0] == "3"
    assert len(said) == 2


def test_many_distinct_matches_that_unpack_from_little_are_stopped_by_their_size(tmp_path):
    pack = zlib.compressobj(6, zlib.DEFLATED, 31)
    text = (json.dumps(GOOD[1])[:-1] + " " * 4000).encode()
    out = [pack.compress(json.dumps(GOOD[0]).encode() + b"\n")]
    match = text.replace(b'"match": 0', b'"match": %d')
    assert match != text
    out += [pack.compress(match % number + b"}\n") for number in range(20_000)]
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(b"".join([*out, pack.flush()]))
    peak, _, said = measured(tmp_path)
    assert peak < 100_000_000
    assert "too much for its size" in said[1]


def test_the_largest_lines_take_little_memory(tmp_path):
    numbers = b"300," * ((LONGEST_LINE - 1000) // 4)
    text = json.dumps(GOOD[1]).encode().replace(b'"actions": [[', b'"actions": [[' + numbers)
    (tmp_path / "large.jsonl.gz").write_bytes(raw(1, text))
    peak, _, said = measured(tmp_path)
    assert peak < 100_000_000
    assert "more than 3 turns" in said[1]


def test_a_row_of_empty_gzip_members_is_refused(tmp_path):
    content = packed(GOOD[:1]) + gzip.compress(b"") * 10_000
    assert "empty parts" in refusal(tmp_path, content)


def test_things_that_are_no_regular_files_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo.jsonl.gz")
    (tmp_path / "folder.jsonl.gz").mkdir()
    for name in ("fifo", "folder"):
        with pytest.raises(ReplayError, match="not a regular file"):
            read_replays(tmp_path / f"{name}.jsonl.gz")
    with pytest.raises(ReplayError, match="not a regular file"):
        read_replays("/dev/zero")
    with pytest.raises(ReplayError, match="no such file"):
        read_replays(tmp_path / "missing.jsonl.gz")
    with pytest.raises(ReplayError, match="null"):
        read_replays(tmp_path / "a\0.jsonl.gz")


def test_a_folder_of_traps_is_checked_to_its_end(tmp_path):
    outside = tmp_path / "outside.jsonl.gz"
    outside.write_bytes(packed(GOOD))
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "good.jsonl.gz").write_bytes(packed(GOOD))
    os.mkfifo(folder / "fifo.jsonl.gz")
    (folder / "dir.jsonl.gz").mkdir()
    (folder / "link.jsonl.gz").symlink_to(outside)
    (folder / "dangling.jsonl.gz").symlink_to(tmp_path / "nowhere")
    (folder / "loop.jsonl.gz").symlink_to(folder / "loop.jsonl.gz")
    (folder / "up").symlink_to(tmp_path)
    (folder / "empty.jsonl.gz").write_bytes(b"")
    (folder / "notes.txt").write_text("not looked at")
    os.write(
        os.open(os.fsencode(folder) + b"/\xff\x1b[2J.jsonl.gz", os.O_CREAT | os.O_WRONLY), b"x"
    )
    before = sorted(folder.iterdir())
    summary = check_dataset(folder)
    assert summary.matches == 3
    assert summary.files == 8
    reasons = {one.file.name: one.reason for one in summary.broken}
    assert len(reasons) == 7
    for name in ("link", "dangling", "loop"):
        assert "it is a link" in reasons[f"{name}.jsonl.gz"]
    assert "not a regular file" in reasons["fifo.jsonl.gz"]
    assert "not a regular file" in reasons["dir.jsonl.gz"]
    assert sorted(folder.iterdir()) == before


def test_what_is_printed_holds_no_escape_sequences():
    for text in ("\x1b[2Jred", "a\nb", "a\u202eb", "\udcff", "a\x9bm", "\r", "\u2028"):
        assert printable(text).isprintable()
        assert quoted(text).isprintable()
        assert quoted(text).isascii()
    assert printable("plain ü [red]") == "plain ü [red]"
    assert printable("\x1b[2J") == "\\x1b[2J"
    assert len(printable("\x1b" * 10_000)) <= 120
    assert len(printable("x" * 10_000)) == 120
    assert len(quoted({"a": "x" * 10_000})) <= 60


@pytest.mark.parametrize("value", ["\x1b[2J\x07", "\u202e", "\ud800"])
def test_escape_sequences_in_a_file_do_not_reach_a_sentence(tmp_path, value):
    for content in (
        changed(0, game=value + "x" * 300),
        changed(0, **{value: 1}),
        changed(0, settings={value: []}),
        changed(1, options={value: value}),
        changed(1, match=value),
        changed(1, **{value: 1}),
        gzip.compress(json.dumps(value).encode() + b"\n"),
    ):
        refusal(tmp_path, content)
