"""Headers that lie: whatever a number of theirs says, a load works or is refused, and stays small.

The files are sealed as their author would seal them, so that no SHA-256 stands in the way.
"""

import copy
import hashlib
import json
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from grid_games import grid_spec
from positions import GAMES, IDS, KINDS, eager_policy, small, spec_of

from lanista.games.contract import Facts, Field, Group, Head, Observation, References, Role, Spec
from lanista.nets.encoders import FlatEncoder
from lanista.nets.files.policy_file import PolicyFileError, load_policy, policy_bytes, read_header
from lanista.nets.files.tensor_shapes import tensor_shapes
from lanista.nets.policy import Policy
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network

SPEC = Spec(
    "toy",
    Facts(seats=2, longest=1),
    Observation(
        (
            Field("suit", 2, 4, table="card"),
            Field("rank", 2, 3, table="card"),
            Field("place", 3, 2, group="line"),
            Field("worth", 3, 0, 2.0, "line"),
            Field("turn", 2),
        ),
        "int16",
    ),
    (Head("order", 6, parts=(2, 3)), Head("aim", 3)),
    settings={"deck": 6, "named": {"list": [1, 2.5, None, True, "text"]}},
)

LINE = References((Role("moved", "line", (0, 2)),), ("march", "rest"))
AIM = References((Role("aimed at", "line", (1, -1, 2)), Role("moved", "line", (-1, 0, 1))))
DESCRIBED = replace(
    SPEC,
    observation=replace(SPEC.observation, groups=(Group("line", (0, 0, 1)),)),
    heads=(Head("order", 6, parts=(2, 3), references=(LINE, AIM)), Head("aim", 3)),
)
POINTER = Network("transformer", width=8, layers=1, readout="pointer")
CELLS = Network("unet", width=8, layers=1, readout="cells")

NUMBERS: list[Any] = [
    *(10**6, 10**9, 10**10, 10**12, 10**18, 2**31, 2**63 - 1, 2**63, 10**400),
    *(-1, -(10**18), 0, 1, 7, 0.5, -0.0, 1e308, 1e999, -1e999, True, False, None),
    *("", "7", "\x1b[2J", [], {}, [[]] * 1000, [10**6] * 1000, {"a": [1]}, [1] * 100),
    [["x", 10**6, 10**6]] * 1000,
]


def compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def sealed(about: dict[str, Any], table: dict[str, Any], data: bytes) -> bytes:
    """Return a policy file with a seal that fits, made as docs/reference/policies.md says."""
    about = {name: value for name, value in about.items() if name != "sha256"}
    seal = hashlib.sha256(compact(about).encode())
    start = 0
    for name in sorted(table):
        shape = table[name]["shape"]
        end = table[name]["data_offsets"][1]
        seal.update(compact([name, "F32", shape]).encode())
        seal.update(data[start:end])
        start = end
    meta = {"__metadata__": {"lanista": compact(about | {"sha256": seal.hexdigest()})}}
    text = compact(table | meta).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def opened(data: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Return a policy file's header, its table of tensors and their bytes."""
    end = 8 + struct.unpack("<Q", data[:8])[0]
    table = json.loads(data[8:end])
    return json.loads(table.pop("__metadata__")["lanista"]), table, data[end:]


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """Return the way to everything inside a JSON value, containers included."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in list(entries):
        yield (key,)
        if isinstance(entry, dict | list):
            yield from ((key, *rest) for rest in places(entry))


def changed(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    out = copy.deepcopy(value)
    inside = out
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = new
    return out


def mutants(kind: str) -> Iterator[bytes]:
    """Return files in which one number of the header or of the table says something else."""
    file = policy_bytes(eager_policy(SPEC, small(kind)), SPEC, name="toy")
    yield from changed_files(file, ("head.weight", "head.bias"))


def changed_files(file: bytes, tensors: tuple[str, ...]) -> Iterator[bytes]:
    about, table, data = opened(file)
    assert sealed(about, table, data) == file
    for place in places(about):
        for number in NUMBERS:
            yield sealed(changed(about, place, number), table, data)
    for name in tensors:
        for number in (*NUMBERS, [1] * 100, [1] * 100_000, [2] * 5000):
            other = changed(table, (name, "shape"), number)
            yield sealed(about, other, data)


CHILD = """
import resource, struct, sys
from pathlib import Path
from lanista.errors import LanistaError
from lanista.nets.files.policy_file import load_policy, read_header
from lanista.nets.portable.runtime import load_portable
from lanista.live.agent.inference import load
import hashlib, torch
torch.set_num_threads(1)
loads = (read_header, load_portable, load_policy)
packed, place = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2])
def files():
    at = 0
    while at < len(packed):
        size = struct.unpack("<Q", packed[at:at + 8])[0]
        yield packed[at + 8:at + 8 + size]
        at += 8 + size
first = next(files())
place.write_bytes(first)
for each in loads:
    each(place)
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (192 << 20),) * 2)
taken = refused = 0
for number, data in enumerate(files()):
    place.write_bytes(data)
    results = []
    for each in loads:
        try:
            each(place)
            results.append(True)
        except LanistaError as error:
            assert str(error).isprintable() and len(str(error)) < 2000, (number, str(error)[:300])
            results.append(False)
        except BaseException as error:
            sys.exit(f"{number} {each.__name__}: {type(error).__name__}: {str(error)[:300]}")
    assert results[1] == results[2], (number, results)
    taken, refused = taken + results[2], refused + (not results[2])
    if results[2]:
        load(place, hashlib.sha256(data).hexdigest())
print(taken, refused)
"""


def _loaded_in_a_small_child(folder: Path, step: int) -> None:
    plain = policy_bytes(eager_policy(SPEC, small("mlp")), SPEC)
    every = [data for kind in KINDS for data in mutants(kind)]
    pointing = policy_bytes(Policy(DESCRIBED, POINTER), DESCRIBED, name="toy")
    every += changed_files(pointing, ("head.roles", "head.score"))
    game = grid_spec(2, 5)
    seen = policy_bytes(Policy(game, CELLS), game, name="toy")
    every += changed_files(seen, ("head.at_cells.weight", "torso.into.weight"))
    # The step is no divisor of how many values there are, so that every place meets some of them.
    files = [plain, *every[::step]]
    packed = b"".join(struct.pack("<Q", len(data)) + data for data in files)
    (folder / "packed").write_bytes(packed)
    command = [sys.executable, "-c", CHILD, str(folder / "packed"), str(folder / "p")]
    # The time limit only ends a load that never does.
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    taken, refused = map(int, done.stdout.split())
    assert taken + refused == len(files) > 6000 // step
    # Remarks, steps, settings and the like may be anything; what makes a network may not.
    assert 1 <= taken < 0.3 * len(files)


def test_whatever_a_header_says_a_load_works_or_is_refused_and_takes_little_memory(
    tmp_path: Path,
) -> None:
    assert len(NUMBERS) % 17
    _loaded_in_a_small_child(tmp_path, 17)


@pytest.mark.slow
def test_whatever_any_header_says_a_load_works_or_is_refused_and_takes_little_memory(
    tmp_path: Path,
) -> None:
    _loaded_in_a_small_child(tmp_path, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "settings"), GAMES, ids=IDS)
def test_shapes_worked_out_from_a_header_are_those_of_the_network(
    kind: str, name: str, settings: dict[str, Any]
) -> None:
    for spec in (spec_of(name, **settings), SPEC, DESCRIBED):
        network = POINTER if spec is DESCRIBED else small(kind)
        with torch.device("meta"):
            state = Policy(spec, network).state_dict()
        assert tensor_shapes(spec.observation, spec.heads, network) == {
            name: tuple(tensor.shape) for name, tensor in state.items()
        }


def test_a_shape_of_a_hundred_dimensions_is_refused_in_a_sentence(tmp_path: Path) -> None:
    about, table, data = opened(policy_bytes(eager_policy(SPEC, small("mlp")), SPEC))
    table["head.bias"]["shape"] = [*[1] * 99, 9]
    (tmp_path / "p").write_bytes(sealed(about, table, data))
    for load in (read_header, load_policy, load_portable):
        with pytest.raises(PolicyFileError, match=r"'head.bias' has 100 dimensions, and 8 are"):
            load(tmp_path / "p")


def _calls(spec: Spec, path: Path, readout: Any = None) -> int:
    """Return how many calls of functions it takes to load a transformer for such a game."""
    network = Network("transformer", width=2, layers=1, readout=readout)
    path.write_bytes(policy_bytes(Policy(spec, network), spec))
    count = 0

    def counted(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(counted)
    try:
        load_portable(path)
    finally:
        sys.setprofile(None)
    return count


def test_the_work_of_a_load_grows_with_the_fields_and_not_with_their_square(
    tmp_path: Path,
) -> None:
    def wide(fields: int) -> Spec:
        parts = tuple(Field(f"f{number}", 1, 2, group="g") for number in range(fields))
        heads = tuple(Head(f"h{number}", 1) for number in range(fields))
        return Spec("toy", Facts(2, 1), Observation(parts, "uint8"), heads)

    once, twice = (_calls(wide(fields), tmp_path / "p") for fields in (1000, 2000))
    assert twice < 2.2 * once


def test_what_a_load_takes_is_a_small_multiple_of_the_file(tmp_path: Path) -> None:
    # One unit wide, so that as little as can be pays for each column of the view.
    spec = Spec(
        "toy", Facts(2, 1), Observation((Field("x", 1, 1_000_000),), "int32"), (Head("a", 2),)
    )
    data = policy_bytes(Policy(spec, Network("mlp", width=1, layers=1)), spec)
    (tmp_path / "p").write_bytes(data)
    load_policy(tmp_path / "p")
    tracemalloc.start()
    try:
        load_policy(tmp_path / "p")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * len(data)


def test_columns_of_a_view_are_as_their_formula_says() -> None:
    encoder = FlatEncoder(SPEC.observation)
    # Categories by their number of classes, entries in order, then numbers.
    categories = [(4, 2), (5, 2), (6, 2), (2, 3), (3, 3), (0, 4), (1, 4)]
    entries = [entry for entry, classes in categories for _ in range(classes)]
    values = [value for _, classes in categories for value in range(classes)]
    assert encoder.entries.tolist() == [*entries, 7, 8, 9, 10, 11]
    assert encoder.values.tolist() == values
    np.testing.assert_array_equal(encoder.scale, [0.5, 0.5, 0.5, 1.0, 1.0])
    assert (encoder.hot, encoder.width) == (len(values), len(entries) + 5)


def test_a_group_of_unequal_fields_is_refused_before_a_transformer_is_built() -> None:
    uneven = Observation((Field("a", 2, group="g"), Field("b", 3, group="g")), "uint8")
    spec = Spec("toy", Facts(2, 1), uneven, (Head("a", 2),))
    with pytest.raises(Exception, match=r"'b' has 3 entries in the group 'g'"):
        Policy(spec, small("transformer"))


def test_more_tokens_than_attention_has_memory_for_are_refused() -> None:
    many = Observation((Field("a", 20_000, group="g"),), "uint8")
    spec = Spec("toy", Facts(2, 1), many, (Head("a", 2),))
    with pytest.raises(Exception, match="of 20,000 tokens and 1 attention heads"):
        Policy(spec, Network("transformer", width=2, layers=1))


@pytest.mark.parametrize(
    "settings",
    [{"slots": 10**6}, {"seed": 1}, {"name": "x"}, {"deck": 2**63}, {"deck": [{"a": -(10**30)}]}],
    ids=str,
)
def test_settings_that_are_none_or_that_no_game_can_take_are_refused(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    about, table, data = opened(policy_bytes(eager_policy(SPEC, small("mlp")), SPEC))
    (tmp_path / "p").write_bytes(sealed(about | {"settings": settings}, table, data))
    for load in (read_header, load_policy, load_portable):
        with pytest.raises(PolicyFileError, match=f"its setting '{next(iter(settings))}' is"):
            load(tmp_path / "p")


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (("heads", 0, 3, 0, 0, 0, 2, 0), 3, "'moved' of the head 'order' refers to entry 3"),
        (("heads", 0, 3, 0, 0, 0, 2, 0), -2, "refers to entry -2"),
        (("heads", 0, 3, 0, 0, 0, 2, 0), 10**30, "refers to entry 1000"),
        (("heads", 0, 3, 0, 0, 0, 2), [0], "has 1 entries for 2 choices"),
        (("heads", 0, 3, 0, 0, 0, 1), "turn", "refers to the group 'turn'"),
        (("heads", 0, 3, 0, 2, 0), 2, "a choice is of kind 2, and 2 kinds are named"),
        (("heads", 0, 3), [], "parts of it are missing|no head of this game has references"),
        (("observation", "groups", 0, 1, 2), 2, "'line' has 3 entries and the places"),
        (("observation", "groups", 0, 1, 2), 0, "has shape"),
        (("observation", "groups", 0, 0), "turn", "no field is of it"),
        (("network", "readout"), "points", "readout is 'points'"),
    ],
    ids=str,
)
def test_references_that_no_game_has_are_refused(
    tmp_path: Path, place: tuple[Any, ...], value: Any, reason: str
) -> None:
    about, table, data = opened(policy_bytes(Policy(DESCRIBED, POINTER), DESCRIBED))
    (tmp_path / "p").write_bytes(sealed(changed(about, place, value), table, data))
    for load in (read_header, load_policy, load_portable):
        with pytest.raises(PolicyFileError, match=reason):
            load(tmp_path / "p")


def test_more_rows_than_memory_is_kept_for_are_refused() -> None:
    roles = tuple(Role(f"r{number}", "line", (0,)) for number in range(2100))
    heads = (
        Head("one", 1, references=(References(roles),)),
        Head("many", 2000, references=(References(()),)),
    )
    with pytest.raises(Exception, match="would add up 2,001 choices of 2,102 rows"):
        Policy(replace(DESCRIBED, heads=heads), POINTER)


def test_the_work_of_a_load_grows_with_the_roles_and_not_with_their_square(
    tmp_path: Path,
) -> None:
    def wide(count: int) -> Spec:
        fields = tuple(Field(f"f{number}", 1, group=f"g{number}") for number in range(count))
        groups = tuple(Group(f"g{number}", (0,)) for number in range(count))
        heads = tuple(
            Head(
                f"h{at}", 1, references=(References((Role("r", f"g{at % 9}", (0,)),), (f"{at}",)),)
            )
            for at in range(count)
        )
        return Spec("toy", Facts(2, 1), Observation(fields, "uint8", groups), heads)

    once, twice = (_calls(wide(n), tmp_path / "p", "pointer") for n in (200, 400))
    assert twice < 2.2 * once
