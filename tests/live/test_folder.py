"""The policy folder: which policies play, and how that changes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from toy import folder_of, policy_bytes, spec_of

from lanista import files
from lanista.errors import LanistaError, RefusedError
from lanista.live.files.policy_folder import POINTER, Pointer, PolicyFolder, PolicyFolderError

HERE = Path(__file__).parent


def with_policies(path: Path, count: int) -> tuple[PolicyFolder, list[str]]:
    folder = PolicyFolder(path)
    return folder, [folder.add(policy_bytes(number)) for number in range(count)]


def test_publishing_names_a_policy_and_counts_on(tmp_path: Path) -> None:
    folder, (one, two) = with_policies(tmp_path, 2)
    assert folder.found() is None
    assert folder.publish(one) == Pointer(one, None, 0.0, 1)
    assert folder.publish(two) == Pointer(two, None, 0.0, 2)
    told = json.loads((tmp_path / POINTER).read_text())
    check = told.pop("check")
    assert told == {"format": 2, "stable": two, "candidate": None, "share": 0.0, "serial": 2}
    assert check == hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    assert folder.pointer() == PolicyFolder(tmp_path).pointer()


def test_a_candidate_is_tried_beside_the_stable_policy_and_withdrawn(tmp_path: Path) -> None:
    folder, (one, two) = with_policies(tmp_path, 2)
    folder.publish(one)
    assert folder.try_out(two, 0.5) == Pointer(one, two, 0.5, 2)
    assert folder.withdraw() == Pointer(one, None, 0.0, 3)
    folder.try_out(two, 0.5)
    assert folder.publish(two) == Pointer(two, None, 0.0, 5)


def test_rolling_back_goes_back_one_stable_policy_each_time(tmp_path: Path) -> None:
    folder, (one, two, three, never) = with_policies(tmp_path, 4)
    folder.publish(one)
    folder.publish(two)
    folder.try_out(never, 0.3)
    folder.withdraw()
    folder.publish(three)
    assert folder.roll_back().stable == two
    assert folder.roll_back().stable == one
    with pytest.raises(RefusedError, match="knows no policy before"):
        folder.roll_back()
    folder.publish(three)
    assert folder.roll_back().stable == one
    assert [change.pointer.serial for change in folder.history()] == list(range(1, 10))


def test_publishing_the_stable_policy_again_keeps_the_way_back(tmp_path: Path) -> None:
    folder, (one, two) = with_policies(tmp_path, 2)
    folder.publish(one)
    folder.publish(two)
    folder.publish(two)
    assert folder.roll_back("worse").stable == one
    assert folder.history()[-1].reason == "worse"


def test_a_change_that_was_killed_half_way_did_not_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, (one, two, three) = with_policies(tmp_path, 3)
    folder.publish(one)
    write = files.write_text

    def killed(path: Path, text: str) -> None:
        if Path(path).name == POINTER:
            raise KeyboardInterrupt
        write(path, text)

    monkeypatch.setattr("lanista.live.files.policy_folder.write_text", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.publish(two)
    monkeypatch.undo()
    assert folder.pointer().stable == one
    assert [change.pointer.stable for change in folder.history()] == [one]
    folder.publish(three)
    assert [change.pointer.stable for change in folder.history()] == [one, three]
    assert folder.roll_back().stable == one


def test_what_is_no_policy_is_not_taken_in(tmp_path: Path) -> None:
    folder = PolicyFolder(tmp_path)
    good = policy_bytes()
    for data in (b"", b"nonsense", good[:-1], good + b"\0", good[:-1] + b"\x01"):
        with pytest.raises(LanistaError):
            folder.add(data)
    assert list(folder.policies.glob("*")) == []
    assert folder.add(good) == folder.add(good)


def test_a_policy_that_bots_could_not_take_up_is_not_published(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    before = folder.pointer()
    for spec in (spec_of("other"), spec_of(version=2), spec_of(heads=(2, 3))):
        other = folder.add(policy_bytes(1, spec))
        with pytest.raises(RefusedError, match="is not published"):
            folder.publish(other)
        with pytest.raises(RefusedError, match="is not published"):
            folder.try_out(other, 0.5)
    for digest in ("0" * 64, "../../etc/passwd", "", "A" * 64):
        with pytest.raises(LanistaError):
            folder.publish(digest)
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(LanistaError, match="share"):
            folder.try_out(before.stable, share)
    assert folder.pointer() == before


def test_a_lost_stable_policy_does_not_stand_in_the_way_of_its_repair(tmp_path: Path) -> None:
    folder, (one, two) = with_policies(tmp_path, 2)
    folder.publish(one)
    folder.path_of(one).unlink()
    assert folder.publish(two).stable == two


def test_rolling_back_to_a_policy_that_is_gone_is_refused(tmp_path: Path) -> None:
    folder, (one, two) = with_policies(tmp_path, 2)
    folder.publish(one)
    folder.publish(two)
    folder.path_of(one).unlink()
    with pytest.raises(LanistaError, match="no policy file"):
        folder.roll_back()
    assert folder.pointer().stable == two


@pytest.mark.parametrize("key", ["format", "stable", "candidate", "share", "serial"])
def test_a_pointer_with_a_wrong_value_is_refused(tmp_path: Path, key: str) -> None:
    folder = folder_of(tmp_path)
    told = json.loads((tmp_path / POINTER).read_text()) | {"format": 1}
    del told["check"]
    (tmp_path / POINTER).write_text(json.dumps(told))
    assert folder.pointer().serial == 1
    for value in (True, -1, 1.5, "x", [], {}, "../x", "Z" * 64, None, 10**30, "9" * 63):
        if key == "candidate" and value is None:
            continue
        (tmp_path / POINTER).write_text(json.dumps(told | {key: value}))
        with pytest.raises(LanistaError, match="is refused"):
            folder.pointer()
    rest = {name: value for name, value in told.items() if name != key}
    for text in (json.dumps(rest), json.dumps(told | {"more": 1}), json.dumps(told) + " " * 70000):
        (tmp_path / POINTER).write_text(text)
        with pytest.raises(LanistaError, match="is refused"):
            folder.pointer()


def test_games_are_shared_out_by_their_ids_and_anew_for_each_candidate() -> None:
    ids = [f"ladder {number}" for number in range(4000)]
    one, other = Pointer("a" * 64, "b" * 64, 0.3), Pointer("a" * 64, "c" * 64, 0.3)
    first = [one.chosen(name) is not None for name in ids]
    second = [other.chosen(name) is not None for name in ids]
    # Five standard deviations of a share of 0.3, and of 0.09 for both.
    assert abs(sum(first) / 4000 - 0.3) < 0.037
    both = sum(a and b for a, b in zip(first, second, strict=True)) / 4000
    assert abs(both - 0.09) < 0.023
    assert first == [one.chosen(name) is not None for name in ids]
    more = [Pointer("a" * 64, "b" * 64, 0.6).chosen(name) for name in ids]
    assert all(after for before, after in zip(first, more, strict=True) if before)
    assert not any(Pointer("a" * 64, "b" * 64, 0.0).chosen(name) for name in ids)
    assert all(Pointer("a" * 64, "b" * 64, 1.0).chosen(name) for name in ids)
    assert not any(Pointer("a" * 64).chosen(name) for name in ids)


def test_pruning_keeps_what_plays_and_the_way_back(tmp_path: Path) -> None:
    folder, digests = with_policies(tmp_path, 8)
    for digest in digests[:6]:
        folder.publish(digest)
    folder.try_out(digests[6], 0.5)
    assert folder.prune(2) == 5
    left = {path.stem for path in folder.policies.iterdir()}
    assert left == {digests[4], digests[5], digests[6]}
    assert folder.roll_back().stable == digests[4]
    assert folder.prune(0) == 2
    assert {path.stem for path in folder.policies.iterdir()} == {digests[4]}


# Many readers.

READER = """
import sys, threading
sys.path.insert(0, {here!r})
from toy import view
from lanista.live import Agent
from lanista.live.files.spool import Spool

Spool.write = lambda *given: None  # what is written is not the subject
stop = threading.Event()
faults, seen, games = [], set(), 0
threading.excepthook = lambda given: faults.append(repr(given.exc_value))

def play(number):
    global games
    agent = Agent({policy!r}, {spool!r} + f"/{run}-{{number}}", patience=60)
    count = 0
    while not stop.is_set():
        game = agent.game(f"{{number}}/{{count}}")
        decider, before = game._decider, game.policy
        for step in range(3):
            game.act(view(step))
        if game._decider is not decider or game.policy != before or decider.digest != before:
            faults.append("changed within a game")
        seen.add(game.policy)
        game.end(None)
        count += 1
        games += 1
        stop.wait(0.03)
    report = agent.close(60)
    faults.extend(report.refusals)
    if report.games.dropped or report.late:
        faults.append(repr(report))

threads = [threading.Thread(target=play, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.readline()
stop.set()
for thread in threads:
    thread.join()
print(games, len(seen), faults)
"""


@pytest.mark.parametrize(
    "publishes", [300, pytest.param(10_000, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_eight_agents_never_see_a_torn_policy_while_thousands_are_published(
    tmp_path: Path, publishes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a power cut would leave is not the subject here.
    monkeypatch.setattr(files.os, "fsync", lambda handle: None)
    folder = folder_of(tmp_path / "policy")
    readers = [reader(tmp_path, run) for run in range(2)]
    try:
        for process in readers:
            assert process.stdout.readline() == "ready\n"
        publish(folder, publishes)
        for process in readers:
            said, _ = process.communicate("stop\n", timeout=900)
            games, policies, faults = said.split(" ", 2)
            assert faults.strip() == "[]"
            assert int(games) > 20
            assert int(policies) > 5
            assert process.returncode == 0
    finally:
        for process in readers:
            process.kill()
            process.wait()


def publish(folder: PolicyFolder, times: int) -> None:
    for number in range(times):
        digest = folder.add(policy_bytes(number % 7, step=number))
        if number % 3 == 0:
            folder.try_out(digest, 0.5)
        folder.publish(digest, watch_share=0.5 * (number % 2))
        if number % 100 == 99:
            folder.prune(50)


def reader(tmp_path: Path, run: int) -> Any:
    code = READER.format(
        here=str(HERE), policy=str(tmp_path / "policy"), spool=str(tmp_path / "spool"), run=run
    )
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_damaged_pointer_is_replaced_by_a_publication(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    other = folder.publish(folder.add(policy_bytes(1)))
    (tmp_path / "current.json").write_text('{"broken')
    with pytest.raises(PolicyFolderError):
        folder.pointer()
    pointer = folder.publish(folder.add(policy_bytes(2)), "mended")
    assert pointer.serial == other.serial + 1
    assert folder.pointer() == pointer
    assert folder.history()[-1].before == other.stable
    assert folder.roll_back().stable == other.stable


# A changed bit.


def bits_of(data: bytes) -> Iterator[bytes]:
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def test_every_flipped_bit_of_a_pointer_is_refused_or_leaves_it_as_it_was(tmp_path: Path) -> None:
    folder, (one, two) = with_policies(tmp_path, 2)
    folder.publish(one)
    pointer = folder.try_out(two, 0.35)
    path = tmp_path / POINTER
    refused = 0
    for data in bits_of(path.read_bytes()):
        path.write_bytes(data)
        try:
            assert folder.pointer() == pointer, data
        except PolicyFolderError:
            refused += 1
    assert refused > 2000


def test_every_flipped_bit_of_a_change_is_refused_or_leaves_it_as_it_was(tmp_path: Path) -> None:
    folder, (one, two) = with_policies(tmp_path, 2)
    folder.publish(one)
    folder.publish(two, "because", watch_share=0.25)
    path = tmp_path / "history" / "00000002.json"
    changes = folder.history()
    for data in bits_of(path.read_bytes()):
        path.write_bytes(data)
        with suppress(PolicyFolderError):
            assert folder.history() == changes, data


def test_a_pointer_of_format_1_is_read_and_sealed_with_the_next_change(tmp_path: Path) -> None:
    folder, (one, two) = with_policies(tmp_path, 2)
    folder.publish(one)
    for path in (tmp_path / POINTER, *(tmp_path / "history").iterdir()):
        told = json.loads(path.read_text()) | {"format": 1}
        del told["check"]
        path.write_text(json.dumps(told))
    assert folder.pointer() == Pointer(one, None, 0.0, 1)
    assert folder.publish(two).serial == 2
    assert [change.before for change in folder.history()] == [None, one]
    for path in (tmp_path / POINTER, tmp_path / "history" / "00000002.json"):
        told = json.loads(path.read_text())
        assert (told["format"], len(told["check"])) == (2, 64)


def test_publishing_mends_a_pointer_though_the_last_change_is_damaged_too(tmp_path: Path) -> None:
    folder, (one, two, three) = with_policies(tmp_path, 3)
    folder.publish(one)
    folder.publish(two)
    for path in (tmp_path / POINTER, tmp_path / "history" / "00000002.json"):
        path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(PolicyFolderError, match=r"current\.json is refused.*publish a policy"):
        folder.pointer()
    assert folder.publish(three) == Pointer(three, None, 0.0, 3)
    with pytest.raises(PolicyFolderError, match=r"00000002\.json is refused.*move it away"):
        folder.history()
    (tmp_path / "history" / "00000002.json").unlink()
    assert [change.pointer.serial for change in folder.history()] == [1, 3]


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to nothing", "device"])
def test_something_else_in_the_pointers_place_is_refused_and_waits_for_nobody(
    tmp_path: Path, kind: str
) -> None:
    folder = folder_of(tmp_path)
    path = tmp_path / POINTER
    path.unlink()
    {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "link to nothing": lambda: path.symlink_to(tmp_path / "nothing"),
        "device": lambda: path.symlink_to("/dev/zero"),
    }[kind]()
    with pytest.raises(PolicyFolderError):
        folder.pointer()


def test_odd_names_among_the_changes_are_passed_over(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    for name in ("1x.json", "9" * 200 + ".json", "1.json", "00000001.json.json"):
        (tmp_path / "history" / name).write_text("{}")
    assert [change.pointer.serial for change in folder.history()] == [1]
    copied = (tmp_path / "history" / "00000001.json").read_bytes()
    (tmp_path / "history" / "00000000.json").write_bytes(copied)
    with pytest.raises(PolicyFolderError, match="is the change of serial 1"):
        folder.history()
