"""The game file: what goes in comes out, and whatever else a file is, it is refused cheaply."""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archives import entries_of, kept, npy, packed
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import HERE, LENGTH, game_of, header_of, spec_of

from lanista.live.agent.journal import folded
from lanista.live.files.game_file import ARRAYS, GameFile, GameFileError, encode, read
from lanista.live.files.game_header import header_bytes, parse_header


def refusal(tmp_path: Path, data: bytes) -> str:
    path = kept(tmp_path / "one.npz", data)
    with pytest.raises(GameFileError) as problem:
        read(path, header_of())
    said = str(problem.value)
    assert "'one.npz' is refused" in said
    assert said.isprintable()
    assert len(said) < 400
    return said


def content_of(path: Path) -> str | None:
    """Return a file's content, or None where it is refused."""
    try:
        return read(path, header_of()).content
    except GameFileError:
        return None


# What goes in comes out.


@pytest.mark.parametrize("steps", [0, 1, 2, 300])
@pytest.mark.parametrize("cut_off", [False, True])
def test_a_game_comes_out_as_it_went_in(tmp_path: Path, steps: int, cut_off: bool) -> None:
    game = game_of(steps, cut_off=cut_off)
    again = read(kept(tmp_path / "one.npz", encode(game)), header_of())
    assert again.header == game.header
    for name in ARRAYS:
        one, other = getattr(game, name), getattr(again, name)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()
    assert again.content == game.content


KEPT = {
    "game_won_of_version_1.npz": "c0e6f87c8cfaa394b3f00220f81102d5e28b067a38ffd8318e96f881eaa8a043",
    "game_cut_off_of_version_1.npz": (
        "3a573301af1329e5c1a27bd7140a9e5209493925e6bdc9eb7978a6556aaf739e"
    ),
}
"""Files that an agent of 0.1.0 wrote, and what a learner's book calls them."""


@pytest.mark.parametrize("name", KEPT)
def test_a_game_of_0_1_0_is_read_and_has_the_content_it_had(name: str) -> None:
    assert read(HERE / name, header_of()).content == KEPT[name]


def test_a_kept_game_has_its_actions_rewards_and_outcome() -> None:
    game = read(HERE / "game_won_of_version_1.npz", header_of())
    assert (game.header.game_id, game.header.opponent) == ("ladder-0017", "ann")
    assert (game.header.early_reward, game.outcome.tolist()) == (0.25, [1.0])
    assert game.actions.tolist() == [[1, 1], [-1, -1], [1, 1], [0, 1], [1, 1]]
    assert game.rewards.tolist() == [1.0, 0.0, 5.0, 0.0, 4.0]
    assert game.overruled.tolist() == [False, True, False, True, False]
    assert not game.legal[0, 2]
    assert game.legal[1, 2]


def test_numpy_reads_a_game_without_objects(tmp_path: Path) -> None:
    path = kept(tmp_path / "one.npz", encode(game_of()))
    with np.load(path, allow_pickle=False) as arrays:
        assert set(arrays) == {"header", *ARRAYS}
        told = json.loads(arrays["header"].tobytes())
        assert (told["policy"], told["game_id"]) == ("ab" * 32, "a game")
        assert (told["layout"]["rules_version"], told["version"]) == (1, 1)
        assert arrays["observations"].shape == (4, LENGTH)


def test_the_same_game_is_the_same_bytes_and_another_is_another() -> None:
    game = game_of()
    assert encode(game) == encode(game_of())
    contents = {game.content, game_of(play="1" * 16).content, game_of(3).content}
    for name in ("rewards", "log_probs", "outcome"):
        changed = replace(game, **{name: np.where(game_mask(game, name), -2, 0).astype("<f4")})
        contents.add(changed.content)
    assert len(contents) == 6


def game_mask(game: GameFile, name: str) -> Any:
    return ~game.overruled if name != "outcome" else np.ones(1, np.bool_)


def test_a_copy_packed_anew_has_the_same_content(tmp_path: Path) -> None:
    game = game_of()
    entries = entries_of(game)
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries):
            archive.writestr(name, entries[name])
    again = read(kept(tmp_path / "copy.npz", stored.getvalue()))
    assert again.content == game.content


def test_rewards_are_folded_as_a_slow_twin_does_it() -> None:
    drawn = np.random.default_rng(0)
    for steps in (0, 1, 2, 7, 40):
        for _ in range(20):
            rewards, overruled = drawn.normal(size=steps), drawn.random(steps) < 0.6
            early, owner, wanted = 0.0, None, [0.0] * steps
            for step in range(steps):
                owner = step if not overruled[step] else owner
                if owner is None:
                    early += rewards[step]
                else:
                    wanted[owner] += rewards[step]
            given, unowned = folded(rewards, overruled)
            assert given == pytest.approx(np.array(wanted), abs=1e-5)
            assert unowned == pytest.approx(early)


# Whatever else a file is.


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK",
        b"not a zip file at all, but long enough to be one",
        b"\0" * 1000,
        b"\x80\x04" * 99,
    ],
)
def test_other_kinds_of_file_are_refused(tmp_path: Path, data: bytes) -> None:
    assert "empty" in refusal(tmp_path, data) or "no npz" in refusal(tmp_path, data)


def test_every_cut_through_a_file_is_refused(tmp_path: Path) -> None:
    data = encode(game_of(2))
    for length in range(0, len(data), 7):
        refusal(tmp_path, data[:length])


def test_a_flipped_bit_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    game = game_of(3)
    data = encode(game)
    for place in range(0, len(data), 7):
        broken = bytearray(data)
        broken[place] ^= 1 << (place % 8)
        # Times, versions and attributes of an archive's entries are nobody's content.
        assert content_of(kept(tmp_path / "one.npz", bytes(broken))) in (None, game.content)


def test_objects_are_refused_and_never_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "ran"),)

    for name in (*ARRAYS, "header"):
        entries = entries_of(game_of())
        entries[f"{name}.npy"] = npy(np.array([Trap()], object), allow_pickle=True)
        assert name in refusal(tmp_path, packed(entries))
    entries = entries_of(game_of())
    entries["trap.npy"] = npy(np.array([Trap()], object), allow_pickle=True)
    assert "each once" in refusal(tmp_path, packed(entries))
    assert not (tmp_path / "ran").exists()


def test_arrays_that_are_missing_added_doubled_or_elsewhere_are_refused(tmp_path: Path) -> None:
    entries = entries_of(game_of())
    for name in entries:
        rest = {key: data for key, data in entries.items() if key != name}
        assert "each once" in refusal(tmp_path, packed(rest))
        for trick in (f"../{name}", f"/{name}", f"C:\\{name}", f"./{name}", name.upper(), "x" * 99):
            assert "each once" in refusal(tmp_path, packed({**rest, trick: entries[name]}))
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as archive:
        for key, data in entries.items():
            archive.writestr(key, data)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("rewards.npy", entries["rewards.npy"])
    assert "each once" in refusal(tmp_path, twice.getvalue())


@pytest.mark.parametrize("name", ARRAYS)
def test_wrong_shapes_dtypes_and_orders_are_refused(tmp_path: Path, name: str) -> None:
    game = game_of()
    good = getattr(game, name)
    wrong = [
        good[:-1],
        np.concatenate([good, good[:1]]),
        good[..., None],
        good.reshape(-1)[: good.size - 1],
        good.astype("<f8"),
        good.astype(">f4"),
        good.astype("<i8"),
        good.astype(str),
        good.astype("S4"),
        good.astype("<c8"),
        np.zeros((), good.dtype),
    ]
    if good.ndim == 2 and good.shape[1] > 1:
        wrong.append(np.asfortranarray(good))
    for array in wrong:
        entries = entries_of(game) | {f"{name}.npy": npy(array)}
        assert name in refusal(tmp_path, packed(entries))
    for start in (b"\x93NUMPY\x02\x00", b"\x93NUMPX\x01\x00", b""):
        data = entries_of(game)[f"{name}.npy"]
        entries = entries_of(game) | {f"{name}.npy": start + data[len(start) :] if start else b""}
        assert name in refusal(tmp_path, packed(entries))


@pytest.mark.parametrize(
    ("name", "place", "value", "said"),
    [
        ("observations", (2, 3), np.nan, "observations hold numbers that are not finite"),
        ("observations", (0, 1), np.inf, "observations hold numbers that are not finite"),
        ("observations", (0, 0), 4, "categories of 'phase'"),
        ("observations", (0, 0), -1, "categories of 'phase'"),
        ("observations", (0, 0), 0.5, "categories of 'phase'"),
        ("rewards", 0, np.nan, "rewards hold numbers that are not finite"),
        ("rewards", 0, -np.inf, "rewards hold numbers that are not finite"),
        ("rewards", 0, 1e30, "rewards go beyond"),
        ("rewards", 1, 1.0, "steps that were overruled"),
        ("outcome", 0, np.nan, "outcome hold numbers that are not finite"),
        ("log_probs", 0, np.nan, "log_probs hold numbers that are not finite"),
        ("log_probs", 0, 0.5, "no logarithms"),
        ("log_probs", 0, -1e30, "no logarithms"),
        ("log_probs", 1, -1.0, "steps that were overruled"),
        ("actions", (0, 0), 3, "actions that its heads do not have"),
        ("actions", (0, 0), -1, "actions that its heads do not have"),
        ("actions", (0, 1), 2**31 - 1, "actions that its heads do not have"),
        ("actions", (1, 0), 2, "actions that its heads do not have"),
        ("masks", (0, 0), 0b11011000, "its mask forbids"),
        ("masks", (3, 0), 0b11100000, "nothing was legal"),
        ("masks", (3, 0), 0b11111001, "longer than its choices"),
    ],
)
def test_values_that_no_game_has_are_refused(
    tmp_path: Path, name: str, place: Any, value: float, said: str
) -> None:
    game = game_of()
    array = getattr(game, name).copy()
    array[place] = value
    entries = entries_of(game) | {f"{name}.npy": npy(array)}
    assert said in refusal(tmp_path, packed(entries))
    if "phase" not in said:  # what a category is, only a policy can say
        with pytest.raises(GameFileError):
            encode(replace(game, **{name: array}))


def test_flags_that_are_neither_true_nor_false_are_refused(tmp_path: Path) -> None:
    entries = entries_of(game_of())
    data = entries["overruled.npy"]
    entries["overruled.npy"] = data[:-1] + b"\x02"
    assert "neither true nor false" in refusal(tmp_path, packed(entries))


def headed(change: Any) -> bytes:
    """Return a file whose header's JSON was changed."""
    entries = entries_of(game_of())
    told = json.loads(header_bytes(game_of().header))
    text = json.dumps(change(told), sort_keys=True, separators=(",", ":")).encode()
    entries["header.npy"] = npy(np.frombuffer(text, np.uint8))
    return packed(entries)


WRONG = [None, True, -1, 1.5, "x", "x" * 300, [], {}, 1e400, 10**25, "../../etc", "a\nb", [[]]]


@pytest.mark.parametrize("key", sorted(json.loads(header_bytes(game_of().header))))
def test_a_header_value_of_the_wrong_kind_is_refused(tmp_path: Path, key: str) -> None:
    right = json.loads(header_bytes(game_of().header))[key]
    for value in WRONG:
        if value == right or (key in ("game_id", "lanista", "opponent") and value == "x"):
            continue
        if key in ("game_id", "opponent") and value == "../../etc":
            continue  # a name like any other: no path is ever made of it unchanged
        if (key == "crashed" and value is True) or (key == "candidate" and value is True):
            continue
        if key == "early_reward" and value == 1.5:
            continue
        refusal(tmp_path, headed(lambda told, key=key, value=value: told | {key: value}))


@pytest.mark.parametrize("key", sorted(json.loads(header_bytes(game_of().header))["layout"]))
def test_a_layout_of_another_kind_is_refused(tmp_path: Path, key: str) -> None:
    right = json.loads(header_bytes(game_of().header))["layout"][key]
    for value in WRONG:
        if value == right:
            continue

        def change(told: Any, value: Any = value) -> Any:
            return told | {"layout": told["layout"] | {key: value}}

        refusal(tmp_path, headed(change))


def test_missing_and_unknown_keys_are_refused(tmp_path: Path) -> None:
    told = json.loads(header_bytes(game_of().header))
    for key in told:
        rest = {name: value for name, value in told.items() if name != key}
        refusal(tmp_path, headed(lambda _, rest=rest: rest))
    assert "other keys" in refusal(tmp_path, headed(lambda told: told | {"more": 1}))
    for text in (b"{}", b"[]", b"[" * 5000, b'{"format":"lanista-game"', b"\xff", b"1" * 5000):
        with pytest.raises(GameFileError):
            parse_header(text)
    text = header_bytes(game_of().header)
    with pytest.raises(GameFileError, match="not written as"):
        parse_header(text.replace(b'"seed":3', b'"seed": 3'))
    with pytest.raises(GameFileError, match="not written as"):
        parse_header(text.replace(b'"seed":3', b'"seed":4,"seed":3'))


def test_a_crash_is_always_a_cut(tmp_path: Path) -> None:
    assert "flags" in refusal(tmp_path, headed(lambda told: told | {"crashed": True}))


def test_a_game_of_another_layout_is_refused_and_what_differs_is_named(tmp_path: Path) -> None:
    path = kept(tmp_path / "one.npz", encode(game_of()))
    for spec, said in (
        (spec_of("other"), "its game is 'toy', and the policy's is 'other'"),
        (spec_of(version=2), "its observation version is 1, and the policy's is 2"),
        (spec_of(heads=(4, 1)), "its heads is"),
    ):
        with pytest.raises(GameFileError, match=said):
            read(path, header_of(spec))
    wider = spec_of()
    field = replace(wider.observation.fields[1], scale=3.0)
    fields = (wider.observation.fields[0], field)
    scaled = replace(wider, observation=replace(wider.observation, fields=fields))
    with pytest.raises(GameFileError, match="its fields is"):
        read(path, header_of(scaled))


def test_links_pipes_folders_and_what_is_not_there_are_refused(tmp_path: Path) -> None:
    good = kept(tmp_path / "good.npz", encode(game_of()))
    link, pipe, loop = tmp_path / "link.npz", tmp_path / "pipe.npz", tmp_path / "loop.npz"
    link.symlink_to(good)
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    for path, said in (
        (link, "symbolic link"),
        (loop, "symbolic link"),
        (pipe, "not a file"),
        (tmp_path, "not a file"),
        (Path("/dev/zero"), "not a file"),
        (tmp_path / "absent.npz", "cannot be read"),
        (tmp_path / ("x" * 300), "cannot be read"),
        (tmp_path / "nul\0.npz", "cannot be read"),
    ):
        with pytest.raises(GameFileError, match=said):
            read(path)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 2000))
def test_bytes_written_over_a_file_never_do_more_than_get_it_refused(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, place: int
) -> None:
    data = bytearray(encode(game_of(3)))
    place %= len(data)
    data[place : place + len(noise)] = noise
    path = kept(tmp_path_factory.mktemp("noise") / "one.npz", bytes(data))
    assert content_of(path) in (None, game_of(3).content)
