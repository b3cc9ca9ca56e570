"""Which policy plays: taken up between games, refused when it does not fit."""

from __future__ import annotations

import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import (
    SPEC,
    STARTS,
    agent_of,
    files_all,
    files_of,
    folder_of,
    policy_bytes,
    spec_of,
    view,
)

from lanista import files
from lanista.errors import LanistaError
from lanista.live.agent import policy_watcher
from lanista.live.agent.inference import load
from lanista.live.files.policy_folder import POINTER, Pointer, PolicyFolder
from lanista.live.files.sealed_json import sealed


@pytest.fixture
def folder(tmp_path: Path) -> PolicyFolder:
    return folder_of(tmp_path / "policy")


def test_a_new_policy_is_taken_up_between_games_and_never_within_one(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    first = folder.pointer().stable
    with agent_of(tmp_path) as agent:
        running = agent.game("running")
        running.act(view(0))
        second = folder.add(policy_bytes(1))
        folder.publish(second)
        later = agent.game("later")
        for step in range(1, 20):
            running.act(view(step))
            later.act(view(step))
        assert (running.policy, later.policy) == (first, second)
        running.end(1)
        later.end(1)
        assert agent.report().stable == second
    for name, digest in (("running", first), ("later", second)):
        played = files_of(tmp_path / "spool")[name]
        policy = load(folder.path_of(digest), digest)
        wanted, _ = policy._run(played.observations, played.legal, policy.start)
        chosen = np.take_along_axis(wanted, played.actions + STARTS, 1).sum(1)
        assert played.header.policy == digest
        assert played.log_probs == pytest.approx(chosen, abs=1e-5)


def test_candidate_and_stable_share_the_games_by_their_ids(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    stable, candidate = folder.pointer().stable, folder.add(policy_bytes(1))
    pointer = folder.try_out(candidate, 0.25)
    with agent_of(tmp_path) as agent:
        played = {}
        for number in range(200):
            game = agent.game(f"id {number}")
            played[game.id] = game.policy
            assert game.candidate == (game.policy == candidate)
            game.end(None)
    assert set(played.values()) == {stable, candidate}
    for name, digest in played.items():
        assert digest == (candidate if pointer.chosen(name) else stable)
    for game in files_of(tmp_path / "spool").values():
        assert (game.header.serial, game.header.policy) == (2, played[game.header.game_id])
        assert game.header.candidate == (game.header.policy == candidate)


def refusal(tmp_path: Path, folder: PolicyFolder, spoil: Any) -> str:
    """Return why what `spoil` did to the folder was refused; the old policy must play on."""
    first = folder.pointer().stable
    with agent_of(tmp_path) as agent:
        agent.game("before").end(None)
        spoil()
        for number in range(3):
            game = agent.game(f"after {number}")
            game.act(view())
            assert game.policy == first
            game.end(1)
        report = agent.report()
        assert report.refused == 1  # once, however many games begin
        folder.publish(folder.add(policy_bytes(7)))
        assert agent.game("repaired").policy == folder.pointer().stable
        return report.refusals[0]


def spoiled(folder: PolicyFolder, change: Any) -> Any:
    def spoil() -> None:
        digest = folder.add(policy_bytes(5))
        folder.publish(digest)
        change(folder.path_of(digest))

    return spoil


def test_a_damaged_policy_is_refused_and_the_old_one_kept(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[-5] ^= 1
        path.write_bytes(bytes(data))

    said = refusal(tmp_path, folder, spoiled(folder, flip))
    assert "SHA-256" in said


def test_a_policy_that_is_cut_short_missing_or_another_is_refused(tmp_path: Path) -> None:
    for number, (change, word) in enumerate(
        (
            (lambda path: path.write_bytes(path.read_bytes()[:-40]), "bytes"),
            (lambda path: path.unlink(), "no policy file"),
            (lambda path: path.write_bytes(policy_bytes(6)), "name does not say"),
            (lambda path: path.write_bytes(b"PK\x03\x04 a pickle"), "pickle"),
        )
    ):
        here = tmp_path / str(number)
        folder = folder_of(here / "policy")
        assert word in refusal(here, folder, spoiled(folder, change))


def test_a_policy_for_another_game_or_layout_is_refused(tmp_path: Path) -> None:
    for number, (spec, word) in enumerate(
        (
            (spec_of("other"), "its game is 'other'"),
            (spec_of(version=2), "observation version is 2"),
            (spec_of(heads=(2, 3)), "its heads is"),
        )
    ):
        here = tmp_path / str(number)
        folder = folder_of(here / "policy")
        first = folder.pointer().stable

        def foreign(folder: PolicyFolder = folder, spec: Any = spec, first: str = first) -> None:
            digest = folder.add(policy_bytes(1, spec))
            # As another program might: the folder itself refuses to publish it.
            assert folder.pointer() == Pointer(first, serial=1)
            told = asdict(Pointer(digest, serial=1))
            files.write_text(folder.folder / POINTER, sealed(told))

        with agent_of(here) as agent:
            foreign()
            game = agent.game("after")
            assert game.policy == first
            game.act(view())
            assert word in agent.report().refusals[0]


def test_a_damaged_candidate_leaves_its_games_to_the_stable_policy(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    stable, candidate = folder.pointer().stable, folder.add(policy_bytes(1))
    with agent_of(tmp_path) as agent:
        folder.try_out(candidate, 1.0)
        whole = folder.path_of(candidate).read_bytes()
        folder.path_of(candidate).write_bytes(whole[:-1])
        assert agent.game("while damaged").policy == stable
        files.write_bytes(folder.path_of(candidate), whole)
        assert agent.game("repaired").policy == candidate


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"format": 1}', "\xff", "[" * 60000, '{"format": 2, "stable": "x"}'],
)
def test_a_pointer_that_says_nonsense_is_refused_and_the_old_policy_kept(
    tmp_path: Path, folder: PolicyFolder, text: str
) -> None:
    assert POINTER in refusal(
        tmp_path, folder, lambda: spoil_pointer(folder, text.encode("latin-1"))
    )


def test_a_pointer_with_one_bit_flipped_is_refused_said_and_the_old_policies_play_on(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    folder.try_out(folder.add(policy_bytes(5)), 0.5)
    path = folder.folder / POINTER
    with agent_of(tmp_path) as agent:
        for old, new in ((b'"share": 0.5', b'"share": 0.7'), (b'"serial": 2', b'"serial": 3')):
            good = path.read_bytes()
            path.write_bytes(good.replace(old, new))
            assert path.read_bytes() != good
            game = agent.game(f"while damaged {new!r}")
            game.act(view())
            game.end(1)
            assert POINTER in agent.report().refusals[-1]
            path.write_bytes(good)
        agent.game("afterwards").end(None)
    assert {game.header.serial for game in files_all(tmp_path)} == {2}


def spoil_pointer(folder: PolicyFolder, data: bytes) -> None:
    good = (folder.folder / POINTER).read_bytes()
    (folder.folder / POINTER).write_bytes(data)
    folder.found = lambda: restore(folder, good)  # type: ignore[method-assign]


def restore(folder: PolicyFolder, good: bytes) -> Any:
    """Put the good pointer back at the next publish, as its owner would."""
    (folder.folder / POINTER).write_bytes(good)
    del folder.found
    return folder.pointer()


def test_without_a_usable_policy_no_agent_is_made(tmp_path: Path) -> None:
    with pytest.raises(LanistaError, match="publish a policy"):
        agent_of(tmp_path)
    folder = folder_of(tmp_path / "policy")
    with pytest.raises(LanistaError, match="its game is 'toy', and this bot's is 'other'"):
        agent_of(tmp_path, spec=spec_of("other"))
    agent_of(tmp_path, spec=SPEC).close()
    folder.path_of(folder.pointer().stable).unlink()
    with pytest.raises(LanistaError, match="no policy file"):
        agent_of(tmp_path)


def test_a_policy_folder_that_does_not_answer_delays_no_game(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agent_of(tmp_path, patience=0.01) as agent:
        answer = threading.Event()
        pointer = PolicyFolder.pointer

        def slow(self: PolicyFolder) -> Any:
            answer.wait()
            return pointer(self)

        monkeypatch.setattr(PolicyFolder, "pointer", slow)
        first = agent.game("while it hangs")
        first.act(view())
        first.end(1)
        assert agent.report().late == 1
        answer.set()


def test_the_policy_thread_answers_whatever_happens(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agent_of(tmp_path) as agent:
        monkeypatch.setattr(policy_watcher.Current, "_look", lambda self: 1 / 0)
        agent.game("during").end(None)
        monkeypatch.undo()
        folder.publish(folder.add(policy_bytes(3)))
        assert agent.game("after").policy == folder.pointer().stable
        assert "ZeroDivisionError" in agent.report().refusals[0]
