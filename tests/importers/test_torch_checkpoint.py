"""Checkpoints of other programs: every tensor as torch has it, and nothing of them is run."""

from __future__ import annotations

import io
import pickle
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.games import registry
from lanista.importers.pickle_reading import Call, PickleReadingError, read_pickle
from lanista.importers.torch_checkpoint import CheckpointError, TorchCheckpoint
from lanista.importers.weight_mapping import WeightMapping, mapped_policy, read_mapping
from lanista.nets.files.policy_file import load_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network

SPEC = registry.spec_of("kuhn")


@dataclass
class TheirConfig:
    """A class of the other program, which the reader does not have."""

    hidden_dim: int = 256


def saved(value: Any, path: Path) -> TorchCheckpoint:
    torch.save(value, path)
    return TorchCheckpoint(path)


TENSORS = {
    "float": torch.randn(3, 4),
    "double": torch.randn(3).double(),
    "half": torch.randn(5).half(),
    "bfloat16": torch.randn(5).bfloat16(),
    "long": torch.arange(10)[2:7:2],
    "int": torch.arange(4, dtype=torch.int32),
    "bytes": torch.arange(4, dtype=torch.uint8),
    "truth": torch.tensor([True, False]),
    "turned": torch.randn(3, 4).t(),
    "expanded": torch.randn(1, 4).expand(3, 4),
    "one": torch.tensor(2.5),
    "none": torch.zeros(0, 3),
    "parameter": nn.Parameter(torch.randn(2)),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_is_read_as_torch_has_it(name: str, tmp_path: Path) -> None:
    with saved({"x": TENSORS[name]}, tmp_path / "c.pt") as checkpoint:
        numbers = checkpoint.tensor("x")
        assert checkpoint.shapes == {"x": tuple(TENSORS[name].shape)}
    wanted = TENSORS[name].detach()
    assert numbers.shape == tuple(wanted.shape)
    assert np.array_equal(numbers.astype(np.float64), wanted.double().numpy())


def test_tensors_of_a_whole_training_state_have_dotted_names(tmp_path: Path) -> None:
    network = nn.Sequential(nn.Linear(3, 4), nn.TransformerEncoderLayer(4, 2))
    optimiser = torch.optim.Adam(network.parameters())
    network[0](torch.randn(2, 3)).sum().backward()
    optimiser.step()
    state = {
        "model_state_dict": network.state_dict(),
        "optimizer_state_dict": optimiser.state_dict(),
        "config": TheirConfig(),
        "iteration": 600,
        "rates": np.arange(3.0),
        "where": Path("v4"),
    }
    with saved(state, tmp_path / "final.pt") as checkpoint:
        for name, tensor in network.state_dict().items():
            assert np.array_equal(checkpoint.tensor(f"model_state_dict.{name}"), tensor.numpy())
        assert "optimizer_state_dict.state.0.exp_avg" in checkpoint.shapes


def test_a_network_that_was_saved_whole_is_read_without_its_class(tmp_path: Path) -> None:
    network = nn.Linear(3, 4)
    with saved(network, tmp_path / "net.pt") as checkpoint:
        weight = checkpoint.tensor("_parameters.weight")
    assert np.array_equal(weight, network.weight.detach().numpy())


class Bomb:
    """Leaves a file behind where somebody unpickles it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def test_what_would_run_when_it_is_unpickled_does_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    with saved({"bomb": Bomb(mark), "x": torch.ones(2)}, tmp_path / "c.pt") as checkpoint:
        assert checkpoint.tensor("x").tolist() == [1.0, 1.0]
    assert not mark.exists()
    torch.load(tmp_path / "c.pt", weights_only=False)
    assert mark.exists(), "the bomb is none, so this test shows nothing"


def rewritten(path: Path, change: Any, compression: int = zipfile.ZIP_STORED) -> Path:
    """Write the archive again with `change(name, data)` in place of each entry."""
    source, out = zipfile.ZipFile(path), io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name in source.namelist():
            if (data := change(name, source.read(name))) is not None:
                archive.writestr(name, data)
    path.write_bytes(out.getvalue())
    return path


def only(suffix: str, make: Any) -> Any:
    return lambda name, data: make(data) if name.endswith(suffix) else data


FIVE = b"K\x05\x85"
MANY = b"\x8a\x05" + (1 << 34).to_bytes(5, "little") + b"\x85"
SHARED = b")" + b"2\x86" * 200
"""A tuple of two, both of them the tuple before: nothing may go through all of its parts."""
LAUGHS = pickle.dumps((lambda row: [row := [row, row] for _ in range(60)][-1])([0]))
HOSTILE = {
    "no pickle": (only("data.pkl", lambda data: None), "holds no data.pkl"),
    "half a pickle": (only("data.pkl", lambda data: data[: len(data) // 2]), "pickle"),
    "other bytes": (only("data.pkl", lambda data: b"\xff" * 9), "pickle is damaged"),
    "no numbers": (only("data/0", lambda data: None), "it lacks 'data/0'"),
    "few numbers": (only("data/0", lambda data: data[:4]), "beyond its own numbers"),
    "many values": (only("data.pkl", lambda data: LAUGHS), "more than 500,000 values"),
    "a list of itself": (
        only("data.pkl", lambda data: b"]q\x00(" + b"h\x00" * 9_000 + b"e."),
        "more than 500,000 values",
    ),
    "a parameter of a number": (
        only("data.pkl", lambda data: calling("_rebuild_parameter", b"K\x05")),
        "a parameter of it is described in another way",
    ),
    "a tensor of a number": (
        only("data.pkl", lambda data: calling("_rebuild_tensor_v2", b"K\x05")),
        "a tensor of it is described in another way",
    ),
    "a tensor whose shape is nested": (
        only("data.pkl", lambda data: tensor_of(SHARED + b"\x85", b"K\x00\x85")),
        "no small numbers",
    ),
    "a tensor of many axes": (
        only("data.pkl", lambda data: tensor_of(b"(" + b"K\x01" * 99 + b"t", b"K\x00\x85")),
        "99 axes and 1 strides",
    ),
    "a tensor whose numbers have a nested name": (
        only("data.pkl", lambda data: tensor_of(FIVE, FIVE, key=SHARED)),
        "numbers that lie elsewhere",
    ),
    "five numbers repeated without end": (
        only("data.pkl", lambda data: tensor_of(MANY, b"K\x00\x85")),
        "repeats 5 numbers",
    ),
    "a name of a million letters": (
        only("data.pkl", lambda data: pickle.dumps({"x" * 10**6: 1})),
        "name that is too long",
    ),
}


def calling(function: str, arguments: bytes) -> bytes:
    """A pickle of a dictionary whose x is what one of torch's functions would make."""
    return b"}\x8c\x01xctorch._utils\n" + function.encode() + b"\n" + arguments + b"Rs."


def tensor_of(shape: bytes, strides: bytes, key: bytes = b"\x8c\x010") -> bytes:
    storage = b"(\x8c\x07storagectorch\nFloatStorage\n" + key + b"\x8c\x03cpuK\x05tQ"
    return calling("_rebuild_tensor_v2", b"(" + storage + b"K\x00" + shape + strides + b"t")


@pytest.mark.parametrize("case", HOSTILE)
def test_a_damaged_or_hostile_file_is_refused_in_a_sentence(case: str, tmp_path: Path) -> None:
    torch.save({"x": torch.ones(5)}, tmp_path / "c.pt")
    change, sentence = HOSTILE[case]
    rewritten(tmp_path / "c.pt", change)
    with (
        pytest.raises(CheckpointError, match=rf"c\.pt.*({sentence})"),
        TorchCheckpoint(tmp_path / "c.pt") as checkpoint,
    ):
        checkpoint.tensor("x")


def test_an_entry_that_says_it_is_larger_than_its_file_is_refused(tmp_path: Path) -> None:
    torch.save({"x": torch.ones(5)}, tmp_path / "c.pt")
    with TorchCheckpoint(tmp_path / "c.pt") as checkpoint:
        about = next(one for one in checkpoint._archive.infolist() if "data/0" in one.filename)
        about.file_size = about.compress_size = 1 << 39
        with pytest.raises(CheckpointError, match="larger than"):
            checkpoint.tensor("x")


def test_packed_numbers_are_refused(tmp_path: Path) -> None:
    torch.save({"x": torch.zeros(100_000)}, tmp_path / "c.pt")
    rewritten(tmp_path / "c.pt", lambda name, data: data, zipfile.ZIP_DEFLATED)
    with pytest.raises(CheckpointError, match="is packed"):
        TorchCheckpoint(tmp_path / "c.pt")


def test_files_that_are_no_such_archive_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="There is no checkpoint"):
        TorchCheckpoint(tmp_path / "missing.pt")
    torch.save({"x": torch.ones(1)}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(CheckpointError, match=r"since version 1\.6: load an older one there"):
        TorchCheckpoint(tmp_path / "old.pt")


PLAIN = {"a": (1, [2.5, None, {"b": True}], b"x"), 7: "seven"}


@pytest.mark.parametrize(
    ("value", "protocol"),
    [*((PLAIN, number) for number in (2, 3, 4, 5)), ({1, 2}, 4), (frozenset("ab"), 5)],
)
def test_plain_values_come_out_of_a_pickle_as_they_went_in(value: Any, protocol: int) -> None:
    read = read_pickle(pickle.dumps(value, protocol))
    if protocol == 2:  # It has no bytes: they are a call of codecs.encode.
        assert isinstance(read["a"][2], Call)
        return
    assert read == value


KEYS = {
    "nested": b")" + b"\x85" * 150_000,
    "shared": SHARED,
    "stored": b"K\x01" + b"Q" * 5_000,
}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_not_gone_through(key: str) -> None:
    # What hashes a nested key leaves Python's own stack, or never ends.
    (value,) = read_pickle(b"}" + KEYS[key] + b"K\x07s.").values()
    assert value == 7
    assert len(read_pickle(b"\x8f(" + KEYS[key] + b"\x90.")) == 1


def test_a_key_with_too_many_digits_to_be_written_is_passed_over(tmp_path: Path) -> None:
    with saved({10**6_000: 1, "x": torch.ones(5)}, tmp_path / "c.pt") as checkpoint:
        assert checkpoint.shapes == {"x": (5,)}


def test_keys_that_are_not_plain_stay_apart() -> None:
    assert sorted(read_pickle(pickle.dumps({(n, n): n for n in range(99)})).values()) == [
        *range(99)
    ]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (SHARED + b"2\x93.", "something else than two short texts"),
        (pickle.dumps("x" * 2_000)[:-1] + b"2\x93.", "something else than two short texts"),
        (b"\x8f" + SHARED + b"2s.", "what is no dictionary"),
        (b"K\x01t.", "damaged"),
    ],
)
def test_what_no_program_writes_is_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(PickleReadingError, match=sentence):
        read_pickle(data)


def test_many_marks_over_many_values_are_read_in_one_go() -> None:
    # Looking through the whole stack for each mark would take 10^11 looks.
    many = 300_000
    assert read_pickle(b"(" + b"K\x01" * many + b"(t" * many + b"l.") == [1] * many + [()] * many


# A policy from a checkpoint.


class TheirNet(nn.Module):
    """A network as another program may have it: other names, actions in another order."""

    def __init__(self) -> None:
        super().__init__()
        inputs = SPEC.observation.length
        self.fc1 = nn.Linear(inputs, 8)
        self.fc2_t = nn.Parameter(torch.randn(8, 8))  # Multiplied from the other side, no bias.
        self.actor = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(torch.relu(self.fc1(x)) @ self.fc2_t)
        return self.actor(hidden)[:, [1, 0]]


MAPPING = """
game: kuhn
prefix: model_state_dict
network: {kind: mlp, width: 8, layers: 2}
tensors:
  torso.layers.0.weight: fc1.weight
  torso.layers.0.bias: fc1.bias
  torso.layers.1.weight: {from: fc2_t, transpose: true}
  torso.layers.1.bias: {fill: 0}
  head.weight: {from: actor.weight, rows: [1, 0]}
  head.bias: {from: actor.bias, rows: [1, 0]}
"""


@pytest.fixture
def theirs(tmp_path: Path) -> TheirNet:
    torch.manual_seed(4)
    network = TheirNet()
    torch.save({"model_state_dict": network.state_dict()}, tmp_path / "final.pt")
    (tmp_path / "map.yaml").write_text(MAPPING)
    return network


def imported(folder: Path, *more: str) -> int:
    words = ["policy", "import", str(folder / "final.pt"), *more]
    return main(words)


def test_a_mapped_policy_says_what_the_other_program_s_network_says(
    theirs: TheirNet, tmp_path: Path
) -> None:
    output = tmp_path / "p.safetensors"
    assert not imported(tmp_path, "--mapping", str(tmp_path / "map.yaml"), "--output", str(output))
    policy = load_policy(output, SPEC).policy
    view = torch.randint(0, 2, (50, SPEC.observation.length)).float()
    with torch.no_grad():
        torch.testing.assert_close(policy(view), theirs(view))


def test_without_a_mapping_the_tensors_are_listed(
    theirs: TheirNet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(tmp_path) == 0
    assert "model_state_dict.actor.weight [2, 8]" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("fc1.weight", "fc1.wait", "no tensor 'model_state_dict.fc1.wait'"),
        ("  head.bias: {from: actor.bias, rows: [1, 0]}\n", "", "no line for 'head.bias'"),
        ("head.bias:", "head.bia:", "no tensor 'head.bia'; did you mean 'head.bias'"),
        (", transpose: true", ", columns: [0]", "shape [8, 1] as mapped"),
        ("rows: [1, 0]}\n  head", "rows: [1, 7]}\n  head", "cannot become head.weight"),
        ("{fill: 0}", "{fill: 0, from: fc1.bias}", "either `from` or `fill`"),
        ("transpose: true", "transposed: true", "transpose"),
        ("width: 8", "width: 16", "needs [16,"),
        ("prefix: model_state_dict", "prefix: model", "no tensor 'model.fc1.weight'"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused_and_names_both_sides(
    theirs: TheirNet, tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    assert old in MAPPING
    (tmp_path / "map.yaml").write_text(MAPPING.replace(old, new, 1))
    with TorchCheckpoint(tmp_path / "final.pt") as checkpoint, pytest.raises(LanistaError) as error:
        mapped_policy(read_mapping(tmp_path / "map.yaml"), checkpoint.shapes, checkpoint.tensor)
    assert sentence in str(error.value)


def test_our_own_weights_come_back_through_a_checkpoint(tmp_path: Path) -> None:
    network = Network("transformer", width=16, layers=1)
    policy = Policy(SPEC, network)
    torch.save(policy.state_dict(), tmp_path / "c.pt")
    names = {name: name for name in policy.state_dict()}
    with TorchCheckpoint(tmp_path / "c.pt") as checkpoint:
        mapping = WeightMapping("kuhn", network, names)
        again, _ = mapped_policy(mapping, checkpoint.shapes, checkpoint.tensor)
    assert all(torch.equal(policy.state_dict()[name], again.state_dict()[name]) for name in names)
