"""Checkpoint folders: what was written is read back, and anything else is noticed."""

import errno
import hashlib
import io
import json
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch

from lanista.runs import checkpoints
from lanista.runs.checkpoints import CheckpointError, Checkpoints, read_state, write_state

STATE = {
    "weights": {"layer.0.weight": torch.arange(6.0).reshape(2, 3), "step": torch.tensor(3.0)},
    "shared": torch.ones(4)[:2],
    "half": torch.ones(2, dtype=torch.bfloat16),
    "arrays": {"mask": np.array([True, False]), "ids": np.arange(3, dtype=np.int64)},
    "nothing": {},
    "numbers": {0: [1, 2.5], 7: {"exp_avg": torch.zeros(2)}},
    "big": 2**100 + 1,
    "fraction": 0.1 + 0.2,
    "none": None,
    "word": "a/b $tensor",
    "flag": True,
}


def same(one, other):
    """Say whether two states are the same to the last bit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and one == other


@pytest.fixture
def folder(tmp_path):
    return Checkpoints(tmp_path / "checkpoints")


def test_a_state_is_read_back_to_the_last_bit(folder):
    path = folder.save(12, STATE)
    assert path.name == "000012"
    assert same(read_state(path), STATE)
    assert folder.numbers() == [12]
    assert [p.name for p in folder.folder.iterdir()] == ["000012"]


@pytest.mark.parametrize("value", [object(), np.array([object()]), {1, 2}])
def test_what_needs_pickle_is_refused_and_leaves_nothing(value, folder):
    with pytest.raises(TypeError, match="cannot hold"):
        folder.save(1, {"bad": value})
    assert list(folder.folder.iterdir()) == []


def test_every_flipped_bit_is_noticed(folder):
    path = folder.save(1, STATE)
    flips = 0
    for file in sorted(path.iterdir()):
        data = file.read_bytes()
        for place in range(0, len(data), max(1, len(data) // 40)):
            wrong = bytearray(data)
            wrong[place] ^= 1 << (place % 8)
            file.write_bytes(wrong)
            with pytest.raises(CheckpointError, match="000001 is damaged"):
                read_state(path)
            flips += 1
        file.write_bytes(data)
    assert flips > 120
    read_state(path)


def test_every_truncation_and_missing_file_is_noticed(folder):
    path = folder.save(1, STATE)
    for file in sorted(path.iterdir()):
        data = file.read_bytes()
        for length in (0, 1, len(data) // 2, len(data) - 1):
            file.write_bytes(data[:length])
            with pytest.raises(CheckpointError, match="damaged"):
                read_state(path)
        file.unlink()
        with pytest.raises(CheckpointError, match=f"{file.name} is missing"):
            read_state(path)
        file.write_bytes(data)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe is a Unix thing")
@pytest.mark.parametrize("name", ["manifest.json", "values.json", "tensors.safetensors"])
def test_a_pipe_in_a_files_place_is_noticed_and_not_waited_for(folder, name):
    place = folder.save(1, STATE) / name
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(CheckpointError, match=f"{name} is not a file"):
        read_state(folder.path(1))


def test_files_of_two_checkpoints_do_not_mix(folder):
    one, other = folder.save(1, STATE), folder.save(2, {**STATE, "big": 1})
    (one / checkpoints.VALUES).write_bytes((other / checkpoints.VALUES).read_bytes())
    with pytest.raises(CheckpointError, match="not what was written"):
        read_state(one)


def test_the_newest_good_one_is_taken_and_the_damaged_are_named(folder):
    for number in (1, 2, 3):
        folder.save(number, {"n": number})
    (folder.path(3) / checkpoints.TENSORS).write_bytes(b"")
    (folder.path(2) / checkpoints.MANIFEST).unlink()
    number, state, said = folder.newest_good()
    assert (number, state) == (1, {"n": 1})
    assert ["000003" in said[0], "000002" in said[1], len(said)] == [True, True, 2]


def test_without_a_good_one_nothing_is_begun_anew(folder):
    folder.save(1, STATE)
    (folder.path(1) / checkpoints.ARRAYS).unlink()
    with pytest.raises(CheckpointError, match="not started over") as error:
        folder.newest_good()
    assert error.value.exit_code == 3
    with pytest.raises(CheckpointError):
        Checkpoints(folder.folder / "elsewhere").newest_good()


def test_keep_last_and_keep_every_decide_what_stays(folder):
    for number in range(0, 24, 2):
        folder.save(number, {})
    removed = folder.keep(last=3, every=8)
    assert folder.numbers() == [0, 8, 16, 18, 20, 22]
    assert removed == [2, 4, 6, 10, 12, 14]
    folder.keep(last=1, every=0)
    assert folder.numbers() == [22]


def test_a_failed_save_leaves_the_old_one_of_the_same_number(folder, monkeypatch):
    folder.save(5, {"n": 1})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoints, "write_bytes", full)
    with pytest.raises(OSError, match="space"):
        folder.save(5, {"n": 2})
    assert read_state(folder.path(5)) == {"n": 1}
    assert [p.name for p in folder.folder.iterdir()] == ["000005"]


def test_leftovers_of_a_killed_writer_are_no_checkpoints_and_are_removed(folder):
    folder.save(1, STATE)
    left = folder.folder / ".tmp-000002.part"
    left.mkdir()
    (left / checkpoints.TENSORS).write_bytes(b"half")
    assert folder.numbers() == [1]
    assert folder.remove_leftovers() == 1
    assert folder.numbers() == [1]
    assert not left.exists()


def test_a_leftover_that_is_a_link_is_removed_and_what_it_leads_to_is_not(folder, tmp_path):
    folder.save(1, STATE)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("mine")
    left = folder.folder / ".tmp-000002.part"
    left.symlink_to(elsewhere, target_is_directory=True)
    file = folder.folder / ".tmp-000003.part"
    file.write_text("half")
    assert folder.remove_leftovers() == 2
    assert not left.is_symlink()
    assert not file.exists()
    assert (elsewhere / "kept").read_text() == "mine"


def test_no_file_is_larger_than_may_be_and_the_parts_make_the_state_again(folder, monkeypatch):
    monkeypatch.setattr(checkpoints, "LARGEST", 500)
    state = {
        **STATE,
        "one large tensor": torch.arange(1000),
        "one large array": np.arange(700),
        "plain": list(range(400)),
    }
    path = folder.save(3, state)
    files = {file.name: file.stat().st_size for file in path.iterdir()}
    manifest = files.pop(checkpoints.MANIFEST)
    assert manifest < 15_000_000
    assert max(files.values()) == 500
    for name in (checkpoints.TENSORS, checkpoints.ARRAYS, checkpoints.VALUES):
        parts = sorted(file for file in files if file.startswith(name))
        assert parts == [f"{name}.{number:04d}" for number in range(1, len(parts) + 1)]
        assert len(parts) > 3
    assert same(read_state(path), state)


@pytest.mark.parametrize("size", [499, 500, 501])
def test_what_just_fits_is_one_file(size, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "LARGEST", 500)
    written: list[str] = []
    with checkpoints._Cut(tmp_path / "a", written) as file:
        file.write(b"x" * size)
    assert written == (["a"] if size <= 500 else ["a.0001", "a.0002"])
    assert sum((tmp_path / name).stat().st_size for name in written) == size


def test_a_damaged_or_missing_part_is_noticed(folder, monkeypatch):
    monkeypatch.setattr(checkpoints, "LARGEST", 500)
    path = folder.save(1, {"large": torch.arange(300), "array": np.arange(300)})
    for file in sorted(path.iterdir()):
        data = file.read_bytes()
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(CheckpointError, match="damaged"):
            read_state(path)
        file.unlink()
        with pytest.raises(CheckpointError, match=f"{file.name} is missing"):
            read_state(path)
        file.write_bytes(data)
    read_state(path)


def npy(shape: str, data: bytes = b"", dtype: str = "<f8") -> bytes:
    """Return an array's file that says it has this shape, as text."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def npz(shape: str, data: bytes = b"", packing: int = zipfile.ZIP_STORED, **more: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        archive.writestr("a.npy", npy(shape, data, **more))
    return out.getvalue()


def tensors(shape: list[int]) -> bytes:
    text = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(text)) + text + b"\0" * 4


HOSTILE = {
    "an array of a hundred dimensions": ("arrays.npz", npz(f"({'1, ' * 100})", b"\0" * 8)),
    "an array without end": ("arrays.npz", npz(f"({10**13},)")),
    "an array below zero": ("arrays.npz", npz("(-1,)")),
    "a packed array": ("arrays.npz", npz("(10000000,)", b"\0" * 80_000_000, zipfile.ZIP_DEFLATED)),
    "an array of objects": ("arrays.npz", npz("(1,)", b"\0" * 8, dtype="|O")),
    "an archive that is none": ("arrays.npz", b"PK\x03\x04" + b"\0" * 50),
    "a tensor of a hundred dimensions": ("tensors.safetensors", tensors([1] * 100)),
    "a tensor without end": ("tensors.safetensors", tensors([2**31] * 100)),
    "values that are no state": ("values.json", b"[]"),
    "values without end": ("values.json", b"[" * 100_000),
    "a tensor that is not there": ("values.json", b'{"a": {"$tensor": []}}'),
}


def vouched(path, name, data):
    """Put a file into a checkpoint with hashes that fit, as whoever wrote it would see to."""
    (path / name).write_bytes(data)
    body = json.loads((path / "manifest.json").read_text())
    del body["manifest"]
    body["files"][name] = hashlib.sha256(data).hexdigest()
    body["manifest"] = checkpoints._own_hash(body)
    (path / "manifest.json").write_text(json.dumps(body))


@pytest.mark.parametrize("what", HOSTILE)
def test_shapes_that_lie_are_refused_in_a_sentence_and_take_no_memory(folder, what):
    path = folder.save(1, STATE)
    vouched(path, *HOSTILE[what])
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError) as caught:
            read_state(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600
    assert peak < 40_000_000


def test_what_a_checkpoint_is_refused_for_is_cut_to_300_characters(folder):
    path, out = folder.save(1, STATE), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a" * 1000 + ".npy", npy("(1,)", b"\0" * 8))
    vouched(path, "arrays.npz", out.getvalue())
    with pytest.raises(CheckpointError) as caught:
        read_state(path)
    why = str(caught.value).partition("cannot be read: ")[2]
    assert why == "a" * 299 + "…."


@pytest.mark.parametrize(("dimensions", "taken"), [(32, True), (33, False)])
def test_an_array_has_at_most_32_dimensions(folder, dimensions, taken):
    path = folder.save(1, {"a": np.zeros(1)})
    kept, out = np.load(path / "arrays.npz").files[0], io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(f"{kept}.npy", npy(f"({'1, ' * dimensions})", b"\0" * 8))
    vouched(path, "arrays.npz", out.getvalue())
    if taken:
        assert read_state(path)["a"].ndim == 32
        return
    with pytest.raises(CheckpointError, match=f"{kept}.npy has 33 dimensions"):
        read_state(path)


def test_tensors_that_share_memory_and_names_that_look_like_ours_come_back(folder):
    weights = torch.arange(8.0)
    state = {
        "whole": weights,
        "again": weights,
        "part": weights[2:5],
        "$tensor": {"$array": 3, "$items": [1]},
        "turned": torch.arange(6.0).reshape(2, 3).T,
    }
    assert same(read_state(folder.save(1, state)), state)


def test_a_manifest_of_another_format_is_refused_though_it_vouches_for_itself(folder):
    path = folder.save(1, STATE)
    body = json.loads((path / checkpoints.MANIFEST).read_bytes())
    del body["manifest"]
    body["format"] += 1
    body["manifest"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    (path / checkpoints.MANIFEST).write_text(json.dumps(body))
    with pytest.raises(CheckpointError, match="another version"):
        read_state(path)


def test_a_checkpoint_set_aside_is_one_no_more(folder):
    folder.save(1, {"number": 1})
    folder.save(2, {"number": 2})
    aside = folder.set_aside(2)
    assert folder.numbers() == [1]
    assert same(read_state(aside), {"number": 2})
    assert folder.newest_good()[0] == 1


@pytest.mark.parametrize(
    "name", ["../secret", "/dev/zero", "values.json/../../secret", "values.json.00001", "pipe"]
)
def test_a_manifest_that_names_other_files_is_refused_before_they_are_read(tmp_path, name):
    (tmp_path / "secret").write_text("of somebody else")
    folder = tmp_path / "000001"
    folder.mkdir()
    write_state(folder, {"a": 1})
    os.mkfifo(folder / "pipe")  # Whoever opened it would wait for ever.
    body = json.loads((folder / "manifest.json").read_text())
    del body["manifest"]
    body["files"] = {name: "0" * 64, **body["files"]}
    body["manifest"] = checkpoints._own_hash(body)  # The manifest vouches for itself.
    (folder / "manifest.json").write_text(json.dumps(body))
    with pytest.raises(CheckpointError, match="its manifest names"):
        read_state(folder)


def test_a_file_of_a_checkpoint_has_at_most_15_million_bytes(folder):
    state = {"a": np.zeros(15_000_100, np.uint8)}
    path = folder.save(1, state)
    sizes = [file.stat().st_size for file in path.iterdir()]
    assert max(sizes) == 15_000_000
    assert np.array_equal(read_state(path)["a"], state["a"])
