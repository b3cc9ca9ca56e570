"""Many writers of one policy folder: no change is lost, and each sees the one before it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest
import warm_python
from toy import HERE, folder_of, policy_bytes

from lanista.errors import LanistaError, RefusedError
from lanista.live.files.policy_folder import Change, Pointer, PolicyFolder
from lanista.lock import holding

WRITER = """
import os, sys
sys.path.insert(0, {here!r})
from toy import policy_bytes
from lanista.errors import RefusedError
from lanista.live.files.policy_folder import PolicyFolder

os.fsync = lambda handle: None  # what a power cut would leave is not the subject
folder, mine = PolicyFolder({policy!r}), {number}
print("ready", flush=True)
sys.stdin.readline()
for count in range({changes}):
    reason = f"{{mine}}/{{count}}"
    digest = folder.add(policy_bytes(mine, step=count % 7))
    kind = count % 5
    if kind == 0:
        folder.publish(digest, reason)
    elif kind == 1:
        folder.try_out(digest, 0.25, reason)
    elif kind == 2:
        folder.withdraw(reason)
    elif kind == 3:
        folder.publish(digest, reason, watch_share=0.1)
    else:
        try:
            folder.roll_back(reason)
        except RefusedError:  # the others went back to the first one
            folder.publish(digest, reason)
"""


def follows(before: Change, after: Change) -> bool:
    """Whether a change was made by one who had seen the change before it."""
    old, new = before.pointer, after.pointer
    stayed = new.stable == old.stable and after.before == before.before
    published = new.stable != old.stable and after.before == old.stable
    returned = new.candidate is None and new.stable == before.before
    return new.serial == old.serial + 1 and (stayed or published or returned)


def test_four_processes_change_the_pointer_and_no_change_is_lost(tmp_path: Path) -> None:
    policy, writers, changes = tmp_path / "policy", 4, 50
    programs = [
        WRITER.format(here=str(HERE), policy=str(policy), number=number, changes=changes)
        for number in range(writers)
    ]
    running = [
        warm_python.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for program in programs
    ]
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.communicate(timeout=900)[1] for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert said == [""] * writers
    history = PolicyFolder(policy).history()
    assert [change.pointer.serial for change in history] == list(range(1, writers * changes + 1))
    assert PolicyFolder(policy).pointer() == history[-1].pointer
    for number in range(writers):
        mine = [change.reason for change in history if change.reason.startswith(f"{number}/")]
        assert mine == [f"{number}/{count}" for count in range(changes)]
    assert all(follows(before, after) for before, after in pairwise(history))
    times = [change.at for change in history]
    assert None not in times


def test_threads_of_one_process_take_turns_as_well(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    digest = folder.pointer().stable
    threads = [
        threading.Thread(target=lambda: [folder.try_out(digest, 0.5) for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [change.pointer.serial for change in folder.history()] == list(range(1, 82))


def test_nobody_comes_between_changes_that_belong_together(tmp_path: Path) -> None:
    folder, other = folder_of(tmp_path), PolicyFolder(tmp_path)
    gone: list[int] = []
    with folder.changing():
        digest = folder.add(policy_bytes(1))
        thread = threading.Thread(target=lambda: gone.append(other.prune(0)))
        thread.start()
        folder.publish(digest)
    thread.join()
    assert folder.pointer().stable == digest
    assert gone == [0]  # Both are named: the new one, and the way back.


def test_a_folder_that_is_held_is_refused_when_patience_runs_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path)
    before = folder.pointer()
    monkeypatch.setattr("lanista.live.files.policy_folder.PATIENCE", 0.02)
    with holding(tmp_path, "policy folder"):
        changes = (
            lambda: folder.publish(before.stable),
            lambda: folder.try_out(before.stable, 0.5),
            folder.withdraw,
            folder.roll_back,
            lambda: folder.prune(1),
            lambda: folder.add(policy_bytes(1)),
        )
        for change in changes:
            with pytest.raises(RefusedError, match=r"did not finish in 0\.02 seconds"):
                change()
        assert folder.pointer() == before  # Readers need no lock.
    assert folder.withdraw().serial == 2


def test_a_learner_that_holds_its_own_folder_stands_in_nobodys_way(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (tmp_path / "learner").mkdir()
    with holding(tmp_path / "learner", "learner"):
        assert folder.publish(folder.add(policy_bytes(1))).serial == 2


def test_a_new_policy_can_be_watched_beside_the_one_before_it(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    one = folder.pointer().stable
    two = folder.add(policy_bytes(1))
    assert folder.publish(two, watch_share=0.1) == Pointer(two, one, 0.1, 2)
    assert folder.history()[-1].watched
    # The same policy again has nothing before it to be compared with.
    assert folder.publish(two, watch_share=0.1) == Pointer(two, None, 0.0, 3)
    assert not folder.history()[-1].watched
    for candidate in (folder.add(policy_bytes(2)), one):  # Also where it was stable before.
        assert folder.try_out(candidate, 0.5).stable == two
        assert not folder.history()[-1].watched
    assert folder.roll_back().stable == one
    for share in (-0.1, 1.5, float("nan")):
        with pytest.raises(LanistaError, match="share"):
            folder.publish(two, watch_share=share)


def test_a_damaged_policy_before_is_not_put_up_for_comparison(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    folder.path_of(folder.pointer().stable).write_bytes(b"damaged")
    two = folder.add(policy_bytes(1))
    assert folder.publish(two, watch_share=0.1) == Pointer(two, None, 0.0, 2)


def test_the_first_policy_is_published_without_a_watch(tmp_path: Path) -> None:
    folder = PolicyFolder(tmp_path)
    digest = folder.add(policy_bytes())
    assert folder.publish(digest, watch_share=0.1) == Pointer(digest, None, 0.0, 1)


def test_a_damaged_file_is_mended_by_adding_its_policy_again(tmp_path: Path) -> None:
    folder = PolicyFolder(tmp_path)
    digest = folder.add(policy_bytes())
    folder.path_of(digest).write_bytes(policy_bytes()[:-1])
    assert folder.add(policy_bytes()) == digest
    assert folder.path_of(digest).read_bytes() == policy_bytes()


def test_rolling_back_goes_to_any_policy_that_was_stable_once(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    first = folder.pointer().stable
    second, third, never = (folder.add(policy_bytes(number)) for number in (1, 2, 3))
    folder.publish(second)
    folder.publish(third)
    folder.try_out(never, 0.5)
    assert folder.roll_back("much worse", to=first) == Pointer(first, None, 0.0, 5)
    assert folder.history()[-1].reason == "much worse"
    with pytest.raises(RefusedError, match="was never stable"):
        folder.roll_back(to=never)
    with pytest.raises(RefusedError, match="is the stable one already"):
        folder.roll_back(to=first)
    assert folder.roll_back(to=third).stable == third
    assert folder.roll_back().stable == second


def test_a_change_of_a_folder_that_is_not_there_does_not_make_it(tmp_path: Path) -> None:
    folder = PolicyFolder(tmp_path / "none")
    for change in (folder.withdraw, folder.roll_back, lambda: folder.prune(0)):
        with pytest.raises(LanistaError, match="There is no policy folder"):
            change()
    with pytest.raises(LanistaError):
        folder.publish("0" * 64)
    assert not (tmp_path / "none").exists()


def test_history_written_without_a_time_is_read(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (line,) = (tmp_path / "history").iterdir()
    told = json.loads(line.read_text()) | {"format": 1}
    del told["check"]
    text = json.dumps(told)
    (before,) = folder.history()
    assert before.at is not None
    line.write_text(text.replace(f'"at": {before.at!r}, ', ""))
    (after,) = folder.history()
    assert after == Change(before.pointer, None, "published")
    for wrong in ('"x"', "NaN", "true"):
        line.write_text(text.replace(repr(before.at), wrong))
        with pytest.raises(LanistaError, match="its time is"):
            folder.history()
