"""Policy files: the same bytes for the same policy, whole or refused, and never a pickle."""

import hashlib
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors
import safetensors.numpy
import torch
import warm_python
from positions import KINDS, anything, eager_policy, small, spec_of

from lanista.games.contract import Facts, Field, Head, Observation
from lanista.nets.files.policy_file import (
    PolicyFileError,
    load_policy,
    policy_bytes,
    read_header,
    save_policy,
)
from lanista.nets.policy import Policy
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network


@pytest.fixture(scope="module")
def kuhn_file() -> bytes:
    spec = spec_of("kuhn")
    return policy_bytes(eager_policy(spec, small("mlp")), spec, name="first", step=12)


def refusal(path: Path, data: bytes) -> str:
    """Return the sentence with which a file of these bytes is refused, by torch and by NumPy."""
    path.write_bytes(data)
    said = []
    for load in (load_policy, load_portable):
        with pytest.raises(PolicyFileError) as caught:
            load(path)
        said.append(str(caught.value))
    assert said[0].endswith(".")
    assert "\n" not in said[0]
    assert str(path) in said[0]
    return said[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["beastybar", "arena", "kuhn"])
def test_a_loaded_policy_says_the_same_to_the_last_bit(
    tmp_path: Path, name: str, kind: str
) -> None:
    spec = spec_of(name)
    policy = eager_policy(spec, small(kind))
    path = tmp_path / "policy.pt"
    digest = save_policy(path, policy, spec)
    loaded = load_policy(path, spec)
    assert digest == loaded.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    seen = torch.from_numpy(anything(spec))
    state = torch.randn(len(seen), policy.state_size)
    for mine, theirs in zip(policy.step(seen, state), loaded.policy.step(seen, state), strict=True):
        assert torch.equal(mine, theirs)
    assert all(parameter.requires_grad for parameter in loaded.policy.parameters())


def test_the_header_tells_what_the_policy_is(tmp_path: Path) -> None:
    spec = spec_of("beastybar", seats=3)
    policy = eager_policy(spec, Network("mlp", "s"))
    about: dict[str, Any] = {"name": "clone", "parents": ["ab", "cd"], "step": 7}
    save_policy(tmp_path / "p", policy, spec, **about, extra={"made by": "a test"})
    header = read_header(tmp_path / "p")
    assert (header.game, header.seats, header.step) == ("beastybar", 3, 7)
    assert (header.name, header.parents, header.extra) == (
        "clone",
        ("ab", "cd"),
        {"made by": "a test"},
    )
    assert header.settings == spec.settings
    assert header.observation == spec.observation
    assert [(head.name, head.size) for head in header.heads] == [("play", spec.choices)]
    assert header.network == Network("mlp", "s", width=128, layers=2)


def test_the_file_is_safetensors_whatever_its_suffix(tmp_path: Path, kuhn_file: bytes) -> None:
    for suffix in ("pt", "safetensors", "policy"):
        path = tmp_path / f"p.{suffix}"
        path.write_bytes(kuhn_file)
        tensors = safetensors.numpy.load(path.read_bytes())
        assert set(tensors) == set(load_policy(path).policy.state_dict())
        with safetensors.safe_open(path, "np") as file:
            about = json.loads(file.metadata()["lanista"])
        assert (about["format"], about["game"], about["step"]) == (1, "kuhn", 12)


def test_the_same_policy_is_the_same_bytes_and_another_is_not(kuhn_file: bytes) -> None:
    spec = spec_of("kuhn")
    policy = eager_policy(spec, small("mlp"))
    assert policy_bytes(policy, spec, name="first", step=12) == kuhn_file
    assert policy_bytes(policy, spec, name="first", step=13) != kuhn_file
    with torch.no_grad():
        policy.head.bias[0] = torch.nextafter(policy.head.bias[0], torch.tensor(1.0))
    assert policy_bytes(policy, spec, name="first", step=12) != kuhn_file


def test_loading_draws_no_random_number(tmp_path: Path) -> None:
    spec = spec_of("beastybar")
    for kind in KINDS:
        save_policy(tmp_path / "p", eager_policy(spec, small(kind)), spec)
        before = torch.get_rng_state()
        load_policy(tmp_path / "p", spec)
        assert torch.equal(before, torch.get_rng_state())


def test_a_new_process_loads_what_was_saved(tmp_path: Path) -> None:
    spec = spec_of("leduc")
    policy = eager_policy(spec, small("lstm"))
    path = tmp_path / "p.safetensors"
    save_policy(path, policy, spec)
    seen = anything(spec, 9)
    seen.tofile(tmp_path / "seen")
    code = (
        "import sys, numpy as np, torch\n"
        "from lanista.nets.files.policy_file import load_policy\n"
        "torch.set_num_threads(1)\n"
        "seen = np.fromfile(sys.argv[2], np.uint8).reshape(9, -1)\n"
        "with torch.no_grad():\n"
        "    load_policy(sys.argv[1]).policy(torch.from_numpy(seen)).numpy().tofile(sys.argv[3])\n"
    )
    out = tmp_path / "out"
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "seen"), str(out)]
    warm_python.run(command, check=True)
    with torch.no_grad():
        assert out.read_bytes() == policy(torch.from_numpy(seen)).numpy().tobytes()


def test_every_flipped_bit_is_noticed(tmp_path: Path, kuhn_file: bytes) -> None:
    path = tmp_path / "p"
    start = 8 + struct.unpack("<Q", kuhn_file[:8])[0]
    # Every byte of the header, one of its bits each; and bytes all over the tensors.
    places = [*range(start), *range(start, len(kuhn_file), 97)]
    unnoticed = []
    for place in places:
        damaged = bytearray(kuhn_file)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        try:
            load_portable(path)
            unnoticed.append(place)
        except PolicyFileError:
            pass
    assert not unnoticed


def test_truncated_and_lengthened_files_are_refused(tmp_path: Path, kuhn_file: bytes) -> None:
    for length in (0, 1, 7, 8, 9, 100, len(kuhn_file) // 2, len(kuhn_file) - 1):
        refusal(tmp_path / "p", kuhn_file[:length])
    assert "bytes" in refusal(tmp_path / "p", kuhn_file + b"\0")


def test_a_real_torch_pickle_is_refused_by_name_and_never_opened(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "ran",))

    path = tmp_path / "model.pt"
    for zipped in (True, False):
        torch.save(
            {"weights": torch.zeros(3), "bomb": Bomb()}, path, _use_new_zipfile_serialization=zipped
        )
        assert "torch.save" in refusal(path, path.read_bytes())
    assert "pickle" in refusal(path, pickle.dumps(Bomb()))
    assert not (tmp_path / "ran").exists()


def _with_header(change: Callable[[dict[str, Any]], Any], data: bytes) -> bytes:
    """Return a file with its own header changed and sealed as if by hand."""
    length = struct.unpack("<Q", data[:8])[0]
    table = json.loads(data[8 : 8 + length])
    changed = change(table)
    text = json.dumps(table if changed is None else changed).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


def _about(**values: Any) -> Callable[[dict[str, Any]], None]:
    def change(table: dict[str, Any]) -> None:
        about = json.loads(table["__metadata__"]["lanista"]) | values
        table["__metadata__"]["lanista"] = json.dumps(about)

    return change


FOREIGN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no metadata": lambda table: table.pop("__metadata__") and None,
    "other metadata": lambda table: table.update(__metadata__={"format": "pt"}),
    "a number": lambda table: table["__metadata__"].update(lanista="7"),
    "no JSON": lambda table: table["__metadata__"].update(lanista="{"),
    "NaN": lambda table: table["__metadata__"].update(lanista='{"format": NaN}'),
    "deep": lambda table: table["__metadata__"].update(lanista="[" * 50_000),
    "deep settings": lambda table: table["__metadata__"].update(
        lanista='{"format":1,"settings":' + '{"a":' * 900 + "1" + "}" * 901
    ),
    "a list": lambda table: [1, 2],
    "newer format": _about(format=2),
    "a format in words": _about(format="1"),
    "negative step": _about(step=-1),
    "name of control codes": _about(name="\x1b[2J"),
    "huge network": _about(network={"kind": "mlp", "width": 16384, "layers": 256}),
    "endless network": _about(network={"kind": "mlp", "width": 10**12}),
    "unknown kind": _about(network={"kind": ["mlp"]}),
    "network of another size": _about(network={"kind": "mlp", "width": 17, "layers": 2}),
    "no observation": _about(observation=None),
    "odd dtype": _about(observation={"dtype": "object", "fields": [["x", 11]]}),
    "endless observation": _about(observation={"dtype": "uint8", "fields": [["x", 10**15]]}),
    "scale of nothing": _about(observation={"dtype": "uint8", "fields": [["x", 11, 0, 0.0]]}),
    "no heads": _about(heads=[]),
    "heads without names": _about(heads=[[1, 2]]),
    "half precision": lambda table: table["head.bias"].update(dtype="F16"),
    "no shape": lambda table: table["head.bias"].update(shape=None),
    "negative shape": lambda table: table["head.bias"].update(shape=[-2, -1]),
    "boundless shape": lambda table: table["head.bias"].update(shape=[10**30]),
    "overlap": lambda table: table["head.bias"].update(data_offsets=[0, 4]),
    "tensor renamed": lambda table: table.update(other=table.pop("head.bias")),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_headers_that_no_policy_has_are_refused(
    tmp_path: Path, kuhn_file: bytes, what: str
) -> None:
    refusal(tmp_path / "p", _with_header(FOREIGN[what], kuhn_file))


@pytest.mark.parametrize(
    "data",
    [
        b"not a policy",
        b"\0" * 64,
        b"\xff" * 64,
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 1 << 40) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 4) + b"{\xff\xfe}",
    ],
)
def test_foreign_bytes_are_refused(tmp_path: Path, data: bytes) -> None:
    refusal(tmp_path / "p", data)


def test_a_huge_file_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 90_000_000))
        file.truncate(1 << 40)
    with pytest.raises(PolicyFileError, match="safetensors"):
        load_policy(path)
    with path.open("r+b") as file:
        file.write(struct.pack("<Q", 16) + b"{" + b" " * 15)
    with pytest.raises(PolicyFileError, match="bytes"):
        load_policy(path)


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("pipe", "not a file"), ("", "not a file"), ("none", "There is no policy")):
        with pytest.raises(PolicyFileError, match=said):
            load_policy(tmp_path / name)
    with pytest.raises(PolicyFileError, match="cannot be read"):
        load_policy("a\0b")


def test_numbers_that_are_not_finite_are_neither_saved_nor_loaded(tmp_path: Path) -> None:
    spec = spec_of("kuhn")
    policy = eager_policy(spec, small("mlp"))
    with torch.no_grad():
        policy.head.weight[0, 0] = float("nan")
    with pytest.raises(PolicyFileError, match=r"'head.weight' holds numbers that are not finite"):
        save_policy(tmp_path / "p", policy, spec)
    assert not (tmp_path / "p").exists()


def test_settings_that_are_not_plain_values_are_refused(tmp_path: Path) -> None:
    spec = replace(spec_of("kuhn"), settings={"deck": object()})
    with pytest.raises(PolicyFileError, match="plain values"):
        save_policy(tmp_path / "p", eager_policy(spec, small("mlp")), spec)


def test_a_policy_is_refused_by_any_other_game(tmp_path: Path) -> None:
    spec = spec_of("beastybar")
    save_policy(tmp_path / "p", eager_policy(spec, small("mlp")), spec)
    facts = spec.facts

    def moved(**values: Any) -> Facts:
        return replace(facts, **values)

    longer = Observation((*spec.observation.fields, Field("more")), "uint8")
    renamed = Observation(
        tuple(replace(field, name="x") for field in spec.observation.fields), "uint8"
    )
    others = {
        "it plays 'beastybar', and this game is 'kuhn'": spec_of("kuhn"),
        "with scoring=points, and this game has scoring=count": replace(
            spec, settings={**spec.settings, "scoring": "count"}
        ),
        "rules version of beastybar is 1, and this game's is 2": replace(
            spec, facts=moved(rules_version=2)
        ),
        "observation version of beastybar is 1, and this game's is 2": replace(
            spec, facts=moved(observation_version=2)
        ),
        "sees 49 numbers of uint8, and beastybar shows 50 of uint8": replace(
            spec, observation=longer
        ),
        "shows 49 of float32": replace(
            spec, observation=Observation(spec.observation.fields, "float32")
        ),
        "another layout": replace(spec, observation=renamed),
        "it chooses play 33, and beastybar asks for play 34": replace(
            spec, heads=(Head("play", 34),)
        ),
    }
    load_policy(tmp_path / "p", spec)
    for said, other in others.items():
        for load in (load_policy, load_portable):
            with pytest.raises(PolicyFileError, match=said):
                load(tmp_path / "p", other)


def test_a_policy_is_not_bound_to_settings_that_the_game_calls_free(tmp_path: Path) -> None:
    spec = spec_of("beastybar")
    save_policy(tmp_path / "p", eager_policy(spec, small("mlp")), spec)
    other = replace(spec, settings={**spec.settings, "scoring": "count"})
    for load in (load_policy, load_portable):
        load(tmp_path / "p", replace(other, free_settings=("scoring",)))
        with pytest.raises(PolicyFileError, match="scoring=count"):
            load(tmp_path / "p", replace(other, free_settings=("seats",)))


def test_the_critic_is_not_in_the_file(kuhn_file: bytes) -> None:
    assert set(safetensors.numpy.load(kuhn_file)) == set(
        Policy(spec_of("kuhn"), small("mlp")).state_dict()
    )


KILLED = """
import sys, torch
from lanista.games import registry
from lanista.nets.policy import Policy
from lanista.nets.files.policy_file import save_policy
from lanista.nets.settings import Network
spec = registry.make("kuhn").spec
policy = Policy(spec, Network("mlp", width=512, layers=3))
step = 0
while True:
    with torch.no_grad():
        policy.head.bias.fill_(float(step))
    save_policy(sys.argv[1], policy, spec, step=step)
    print(step, flush=True)
    step += 1
"""


def _killed_while_saving(path: Path, times: int) -> None:
    spec = spec_of("kuhn")
    for moment in range(times):
        command = [sys.executable, "-c", KILLED, str(path)]
        with warm_python.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(2):
                writer.stdout.readline()
            # The moment of the kill, spread over a save: where it falls is not up to us.
            time.sleep(moment * 0.0037)
            os.kill(writer.pid, signal.SIGKILL)
            last = [int(line) for line in writer.stdout.read().split()]
        loaded = load_policy(path, spec)
        assert loaded.header.step >= max(last, default=1)
        assert (loaded.policy.head.bias == loaded.header.step).all()


def test_killed_while_saving_leaves_the_old_file_or_the_new(tmp_path: Path) -> None:
    _killed_while_saving(tmp_path / "p.safetensors", 3)


@pytest.mark.slow
def test_killed_many_times_while_saving_leaves_the_old_file_or_the_new(tmp_path: Path) -> None:
    _killed_while_saving(tmp_path / "p.safetensors", 40)
