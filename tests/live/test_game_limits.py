"""How large a game's file and its numbers may be: the last value that is taken, the first refused.

And that looking at a file that is refused costs neither memory nor open files.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archives import entries_of, kept, npy, packed
from toy import game_of, header_of, spec_of

from lanista.live.files import game_file
from lanista.live.files.game_file import ARRAYS, GameFileError, encode, read
from lanista.live.files.game_header import Layout, header_bytes, parse_header, refuse_nonsense


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are asked of /proc")
def test_what_is_refused_leaves_no_file_open(tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe.npz", tmp_path / "large.npz"
    os.mkfifo(pipe)
    kept(large, b"")
    os.truncate(large, 2**26 + 1)
    damaged = kept(tmp_path / "damaged.npz", b"not a game, and long enough to be looked at")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in (pipe, tmp_path, large, damaged):
        with pytest.raises(GameFileError):
            read(path)
    read(kept(tmp_path / "sound.npz", encode(game_of())))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize(("size", "said"), [(2**26, "its end"), (2**26 + 1, "67,108,865 bytes")])
def test_a_file_of_64_mebibytes_is_looked_at_and_none_larger(
    tmp_path: Path, size: int, said: str
) -> None:
    path = kept(tmp_path / "large.npz", b"")
    os.truncate(path, size)
    with pytest.raises(GameFileError, match=said):
        read(path)


@pytest.mark.parametrize(
    ("rows", "width", "parts"),
    [(0, 5, 0), (1, 5, 1), (2, 2**20, 2), (3, 2**19, 2), (4, 2**19, 2), (3, 2**21, 3),
     (2**20 // 5 + 1, 5, 2)],
)  # fmt: skip
def test_rows_are_looked_at_in_parts_of_a_mebibyte(rows: int, width: int, parts: int) -> None:
    slices = list(game_file._parts(rows, width))
    assert len(slices) == parts
    assert [row for part in slices for row in range(part.start, part.stop)] == list(range(rows))
    assert all((part.stop - part.start) * width <= max(2**20, width) for part in slices)


def test_an_action_that_is_forbidden_is_refused_in_whichever_part_it_lies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(game_file, "_CHUNK", 10)  # Two rows of five choices.
    encode(game_of(7))
    for step in (0, 2, 3, 6):
        game = game_of(7)
        masks = game.masks.copy()
        masks[step] = 0b11011000
        with pytest.raises(GameFileError, match="its mask forbids"):
            encode(replace(game, masks=masks))


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [("rewards", 1e15, 1.1e15), ("rewards", -1e15, -1.1e15), ("outcome", 1e15, 1.1e15),
     ("log_probs", 0.00099, 0.0011), ("log_probs", -1e6, -1.1e6)],
)  # fmt: skip
def test_a_number_of_a_game_has_bounds(name: str, right: float, wrong: float) -> None:
    game = game_of()
    for value, refused in ((right, False), (wrong, True)):
        array = getattr(game, name).copy()
        array[0] = value
        changed = replace(game, **{name: array})
        if refused:
            with pytest.raises(GameFileError, match=name):
                encode(changed)
        else:
            encode(changed)


@pytest.mark.parametrize("category", [0, 3])
def test_every_category_of_a_policy_is_taken(tmp_path: Path, category: int) -> None:
    game = game_of()
    game.observations[:, 0] = category
    read(kept(tmp_path / "one.npz", encode(game)), header_of())


def test_a_header_of_more_than_a_quarter_mebibyte_is_refused(tmp_path: Path) -> None:
    text = header_bytes(game_of().header)
    entries = entries_of(game_of())
    for length, said in ((2**18 - 200, "not JSON"), (2**18 + 1, "its header has")):
        entries["header.npy"] = npy(np.frombuffer(text.ljust(length, b"!"), np.uint8))
        with pytest.raises(GameFileError, match=said):
            read(kept(tmp_path / "one.npz", packed(entries)))


def test_a_game_of_one_choice_and_one_number_is_a_game(tmp_path: Path) -> None:
    """Heads of one choice are played where a game's others are locked."""
    layout = Layout.of(header_of(spec_of(heads=(1, 2))))
    header = replace(game_of().header, layout=replace(layout, length=1, heads=(("a", 1),)))
    assert parse_header(header_bytes(header)) == header


def laid_out(**given: Any) -> Any:
    header = game_of().header
    return replace(header, layout=replace(header.layout, **given))


def headed(**given: Any) -> Any:
    return replace(game_of().header, **given)


MOST = 2**20 - 1


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (laid_out(length=1), laid_out(length=0)),
        (laid_out(length=MOST), laid_out(length=MOST + 1)),
        (laid_out(heads=(("a", MOST),)), laid_out(heads=(("a", MOST + 1),))),
        (laid_out(heads=(("a", 1),)), laid_out(heads=(("a", 0),))),
        (laid_out(heads=(("a", 1), ("b", 2))), laid_out(heads=(("a", 0), ("b", 2)))),
        (laid_out(heads=(("a", MOST - 1), ("b", 1))), laid_out(heads=(("a", MOST), ("b", 1)))),
        (laid_out(heads=(("a", 3),)), laid_out(heads=((1, 3),))),
        (laid_out(heads=(("a", 3),)), laid_out(heads=())),
        (laid_out(game="x" * 200), laid_out(game="x" * 201)),
        (laid_out(seats=0), laid_out(seats=-1)),
        (laid_out(seats=2**63 - 1), laid_out(seats=2**63)),
        (laid_out(rules_version=0), laid_out(rules_version=True)),
        (laid_out(observation_version=0), laid_out(observation_version=1.0)),
        (laid_out(settings={}), laid_out(settings=[])),
        (laid_out(fields="0" * 64), laid_out(fields="0" * 63)),
        *((laid_out(dtype=name), laid_out(dtype=f"{name}x")) for name in
          ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")),
        (headed(steps=2**22), headed(steps=2**22 + 1)),
        (headed(steps=0), headed(steps=-1)),
        (headed(seed=2**63 - 1), headed(seed=2**63)),
        (headed(serial=0), headed(serial=-1)),
        (headed(game_id="x" * 200), headed(game_id="x" * 201)),
        (headed(game_id="x"), headed(game_id="")),
        (headed(opponent=""), headed(opponent="a\nb")),
        (headed(opponent="x" * 200), headed(opponent="x" * 201)),
        (headed(lanista="1.2.3+a-b!c"), headed(lanista="")),
        (headed(lanista="1" * 40), headed(lanista="1" * 41)),
        (headed(play="f" * 16), headed(play="f" * 17)),
        (headed(early_reward=-1e300), headed(early_reward=float("inf"))),
        (headed(cut_off=True, crashed=True), headed(crashed=True)),
    ],
)  # fmt: skip
def test_the_last_value_of_a_header_is_taken_and_the_first_beyond_refused(
    right: Any, wrong: Any
) -> None:
    refuse_nonsense(right)
    with pytest.raises(GameFileError):
        refuse_nonsense(wrong)


def test_the_first_part_of_a_layout_that_differs_is_named_as_here_and_as_there() -> None:
    one = game_of().header.layout
    assert one.difference(one) is None
    other = replace(one, seats=3, length=9)
    assert one.difference(other) == ("seats", "2", "3")
    assert other.difference(one) == ("seats", "3", "2")
    set_up = replace(one, settings={"a": 1, "b": 2})
    assert set_up.difference(replace(one, settings={"a": 1, "b": 3})) == ("setting b", "2", "3")
    assert set_up.difference(replace(one, settings={"a": 1})) == ("setting b", "2", "None")
    assert one.choices == 5


def test_a_game_is_read_in_parts_as_it_is_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = game_of(7)
    path = kept(tmp_path / "one.npz", encode(game))
    whole = read(path)
    for size in (1, 3, 10):
        monkeypatch.setattr(game_file, "_CHUNK", size)
        parts = read(path)
        assert parts.content == whole.content
        for name in ARRAYS:
            assert np.array_equal(getattr(parts, name), getattr(whole, name))
