"""A bot's handle: what it plays with, what it writes, and what it never does."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import CHOICES, SPEC, files_of, folder_of, header_of, policy_bytes, spec_of, view

from lanista import files
from lanista.errors import LanistaError
from lanista.games.streams import uniforms
from lanista.live import Agent, current, writer
from lanista.live.agent import stream_of
from lanista.live.deciding import Decider, load
from lanista.live.folder import POINTER, PolicyFolder
from lanista.live.game_files import GameFile
from lanista.live.spool import Spool

HERE = Path(__file__).parent
STARTS = np.array([0, 3])
"""Where the choices of each head begin."""


@pytest.fixture
def folder(tmp_path: Path) -> PolicyFolder:
    return folder_of(tmp_path / "policy")


def agent_of(tmp_path: Path, **given: Any) -> Agent:
    return Agent(tmp_path / "policy", tmp_path / "spool", **given)


def only(tmp_path: Path) -> GameFile:
    (game,) = files_of(tmp_path / "spool").values()
    return game


# What is written.


def test_each_reward_lies_on_the_action_that_caused_it(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    with agent_of(tmp_path) as agent:
        game = agent.game("two steps")
        game.act(view(0))
        game.reward(1.0)
        game.act(view(1))
        game.reward(-2.0)
        game.reward(-0.5)
        game.end(-1)
    played = only(tmp_path)
    assert played.rewards.tolist() == [1.0, -2.5]
    assert played.outcome.tolist() == [-1.0]
    assert played.header.early_reward == 0.0


def test_a_reward_before_the_first_action_belongs_to_none(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    with agent_of(tmp_path) as agent:
        game = agent.game("early")
        game.reward(3.0)
        game.act(view(0))
        game.reward(1.0)
        game.end(1)
        without = agent.game("no action at all")
        without.reward(5.0)
        without.end(0)
    games = files_of(tmp_path / "spool")
    assert (games["early"].header.early_reward, games["early"].rewards.tolist()) == (3.0, [1.0])
    assert games["no action at all"].header.early_reward == 5.0
    assert games["no action at all"].outcome.tolist() == [0.0]


def test_what_was_overruled_is_environment(tmp_path: Path, folder: PolicyFolder) -> None:
    with agent_of(tmp_path) as agent:
        game = agent.game("overruled")
        game.act(view(0))
        game.overrule((0, 1))  # nothing before it: what it brings belongs to no action
        game.reward(10.0)
        kept = game.act(view(1))
        game.reward(1.0)
        game.act(view(2))
        game.reward(2.0)  # before it is known that the rules play
        game.overrule()
        game.reward(4.0)
        game.act(view(3))
        game.overrule((2, 0))
        game.reward(8.0)
        game.act(view(4))
        game.reward(16.0)
        game.end(1)
        assert (agent.report().decisions, agent.report().overruled) == (5, 3)
    played = only(tmp_path)
    assert played.overruled.tolist() == [True, False, True, True, False]
    assert played.rewards.tolist() == [0.0, 15.0, 0.0, 0.0, 16.0]
    assert played.header.early_reward == 10.0
    assert played.actions[[0, 2, 3]].tolist() == [[0, 1], [-1, -1], [2, 0]]
    assert tuple(played.actions[1]) == kept
    assert (played.log_probs == 0).tolist() == [True, False, True, True, False]
    assert played.decisions.tolist() == [1, 4]


def test_what_was_seen_is_recorded_bit_for_bit_though_the_bot_reuses_its_arrays(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    seen, legal = np.zeros(6, np.float32), np.zeros(CHOICES, np.bool_)
    wanted: list[tuple[Any, Any]] = []
    drawn = np.random.default_rng(5)
    with agent_of(tmp_path) as agent:
        game = agent.game("reused")
        for step in range(50):
            seen[:] = view(step)
            legal[:] = drawn.random(CHOICES) < 0.5
            legal[[drawn.integers(3), 3 + drawn.integers(2)]] = True
            wanted.append((seen.copy(), legal.copy()))
            first, second = game.act(seen, legal)  # type: ignore[misc]
            assert legal[first]
            assert legal[3 + second]
            seen[:], legal[:] = -7, False
        game.end(None)
    played = only(tmp_path)
    assert (played.observations == [row for row, _ in wanted]).all()
    assert (played.legal == [row for _, row in wanted]).all()


def test_a_game_can_be_explained_from_its_file_and_its_policy(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    with agent_of(tmp_path, seed=9) as agent:
        game = agent.game("explained")
        shown = [game.act(view(step)) for step in range(40)]
        game.end(1)
    played = only(tmp_path)
    assert [tuple(row) for row in played.actions.tolist()] == shown
    policy = load(folder.path_of(played.header.policy), played.header.policy)
    for step in range(40):
        drawn = uniforms(9, np.array([stream_of("explained")]), np.zeros(1), np.array([step]), 2)
        choice = policy.decide(
            played.observations[step][None], played.legal[step][None], policy.start, drawn[0]
        )
        assert choice.action.tolist() == played.actions[step].tolist()
        assert choice.log_prob == pytest.approx(float(played.log_probs[step]), abs=1e-6)


def test_actions_are_drawn_as_often_as_the_policy_says(folder: PolicyFolder) -> None:
    stable = folder.pointer().stable
    policy = load(folder.path_of(stable), stable)
    legal = np.array([[True, False, True, True, True]])
    log_probs, _ = policy._run(view(3)[None], legal, policy.start)
    counts = np.zeros(CHOICES)
    rows = 4000
    drawn = np.random.default_rng(1).random((rows, 2), np.float32)
    total = 0.0
    for number in range(rows):
        choice = policy.decide(view(3)[None], legal, policy.start, drawn[number])
        counts[choice.action + STARTS] += 1
        total += choice.log_prob
    wanted = np.exp(log_probs[0])
    assert counts[1] == 0
    # Five standard deviations of a share.
    assert (np.abs(counts / rows - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / rows) + 1e-9).all()
    entropy = -(wanted[legal[0]] * log_probs[0][legal[0]]).sum()
    assert -total / rows == pytest.approx(float(entropy), abs=0.1)


def test_the_ends_of_the_unit_interval_give_a_legal_choice(folder: PolicyFolder) -> None:
    stable = folder.pointer().stable
    policy = load(folder.path_of(stable), stable)
    highest = np.float32(1) - np.float32(2.0**-24)
    for legal in ([0, 1, 0, 0, 1], [1, 1, 0, 1, 0], [1, 1, 1, 1, 1]):
        for point in (0.0, highest):
            mask = np.array([legal], np.bool_)
            drawn = np.full(2, point, np.float32)
            first, second = policy.decide(view()[None], mask, policy.start, drawn).action
            assert mask[0, first]
            assert mask[0, 3 + second]


def test_several_games_at_once_do_not_touch_each_other(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    def play(game: Any, number: int, steps: int) -> list[Any]:
        shown = []
        for step in range(steps):
            shown.append(game.act(view(step, number)))
            game.reward(number + step / 64)
        return shown

    apart, together = tmp_path / "apart", tmp_path / "together"
    for spool, at_once in ((apart, False), (together, True)):
        with Agent(tmp_path / "policy", spool) as agent:
            games = [agent.game(f"game {number}") for number in range(6)]
            if at_once:
                for step in range(30):
                    for number, game in enumerate(games):
                        game.act(view(step, number))
                        game.reward(number + step / 64)
            else:
                for number, game in enumerate(games):
                    play(game, number, 30)
            for number, game in enumerate(games):
                game.end(number - 3)
    one, other = files_of(apart), files_of(together)
    assert len(one) == 6
    for name in one:
        for column in ("observations", "actions", "log_probs", "rewards", "outcome"):
            assert (getattr(one[name], column) == getattr(other[name], column)).all()
    assert len({game.actions.tobytes() for game in one.values()}) == 6


def test_games_in_threads_are_all_written(tmp_path: Path, folder: PolicyFolder) -> None:
    with agent_of(tmp_path) as agent:

        def play(thread: int) -> None:
            for number in range(10):
                with agent.game(f"{thread}/{number}") as game:
                    for step in range(20):
                        game.act(view(step, thread))
                        game.reward(1.0)
                    game.end(1.0 if number % 2 else -1.0)

        threads = [threading.Thread(target=play, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    report = agent.report()
    assert (report.started, report.running, report.decisions) == (80, 0, 1600)
    assert (report.games.written, report.games.dropped, report.games.waiting) == (80, 0, 0)
    games = files_of(tmp_path / "spool")
    assert len(games) == 80
    assert all(game.rewards.tolist() == [1.0] * 20 for game in games.values())


def test_one_head_answers_with_a_number(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy", spec=spec_of(heads=(CHOICES,)))
    with agent_of(tmp_path) as agent, agent.game("one head") as game:
        action = game.act(view(), [0, 0, 1, 0, 0])
        assert (type(action), action) == (int, 2)
        game.overrule(4)


# What ends how.


def test_a_game_without_result_is_cut_off_and_never_a_loss(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    with agent_of(tmp_path) as agent:
        for name, leave in (("said", True), ("left", False)):
            with agent.game(name) as game:
                game.act(view())
                game.reward(-1.0)
                if leave:
                    game.end(None)
        with pytest.raises(ZeroDivisionError), agent.game("raised"):
            1 / 0  # noqa: B018
        agent.game("never ended").act(view())
    games = files_of(tmp_path / "spool")
    assert set(games) == {"said", "left", "raised", "never ended"}
    assert all(game.header.cut_off and not len(game.outcome) for game in games.values())
    assert not any(game.header.crashed for game in games.values())


def test_calls_out_of_order_are_refused_and_change_nothing(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    with agent_of(tmp_path) as agent:
        game = agent.game("order")
        with pytest.raises(LanistaError, match="no action to overrule"):
            game.overrule()
        game.act(view(0))
        with pytest.raises(LanistaError, match="is being played"):
            agent.game("order")
        game.overrule((1, 1))
        with pytest.raises(LanistaError, match="no action to overrule"):
            game.overrule()
        game.act(view(1))
        with pytest.raises(LanistaError, match="heads do not have"):
            game.overrule((3, 0))
        with pytest.raises(LanistaError, match="one number for each head"):
            game.overrule(1)
        game.end(1)
        for call in (game.end, lambda: game.act(view()), lambda: game.reward(1), game.overrule):
            with pytest.raises(LanistaError, match="has ended"):
                call()
        agent.game("order").end(None)  # the id is free again
        for name in ("", "x" * 201, "line\nbreak", 7, None):
            with pytest.raises(LanistaError, match="game id"):
                agent.game(name)  # type: ignore[arg-type]
    with pytest.raises(LanistaError, match="is closed"):
        agent.game("after")
    assert only_named(tmp_path, "order", steps=2).overruled.tolist() == [True, False]


def only_named(tmp_path: Path, name: str, steps: int) -> GameFile:
    games = [game for game in files_all(tmp_path) if game.header.game_id == name]
    (found,) = [game for game in games if game.header.steps == steps]
    return found


def files_all(tmp_path: Path) -> list[GameFile]:
    from lanista.live.game_files import read

    return [read(path, header_of()) for path in Spool(tmp_path / "spool").waiting()]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 1e10, "1", True, None, [1, 2]])
def test_amounts_that_are_none_are_refused(
    tmp_path: Path, folder: PolicyFolder, wrong: Any
) -> None:
    with agent_of(tmp_path) as agent, agent.game("amounts") as game:
        game.act(view())
        with pytest.raises(LanistaError, match="A reward is"):
            game.reward(wrong)
        if wrong is not None:
            with pytest.raises(LanistaError, match="An outcome is"):
                game.end(wrong)
        game.reward(np.float32(0.5))
        game.end(np.int64(1))  # type: ignore[arg-type]
    assert only(tmp_path).rewards.tolist() == [0.5]


@pytest.mark.parametrize(
    ("observation", "said"),
    [
        (np.zeros(5), "needs 6 numbers"),
        (np.zeros((1, 6)), "needs 6 numbers"),
        (["a"] * 6, "needs 6 numbers"),
        ([0, 1, 2, float("nan"), 4, 5], "'numbers', entry 2"),
        ([0, 1, 2, 3, 4, float("inf")], "'numbers', entry 4"),
        ([0, 1e300, 2, 3, 4, 5], "'numbers', entry 0"),
        ([4, 0, 0, 0, 0, 0], "a category below 4"),
        ([-1, 0, 0, 0, 0, 0], "a category below 4"),
        ([0.5, 0, 0, 0, 0, 0], "a category below 4"),
    ],
)
def test_observations_that_the_policy_cannot_mean_are_refused(
    tmp_path: Path, folder: PolicyFolder, observation: Any, said: str
) -> None:
    with agent_of(tmp_path) as agent, agent.game("views") as game:
        with pytest.raises(LanistaError, match=said):
            game.act(observation)
        assert game.decisions == 0


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ([True] * 4, "needs 5 flags"),
        ([0.5] * 5, "needs 5 flags"),
        ([1, 1, 1, 0, 0], "'part1' without"),
        ([0, 0, 0, 1, 1], "'part0' without"),
    ],
)
def test_masks_without_a_choice_are_refused(
    tmp_path: Path, folder: PolicyFolder, mask: Any, said: str
) -> None:
    with (
        agent_of(tmp_path) as agent,
        agent.game("masks") as game,
        pytest.raises(LanistaError, match=said),
    ):
        game.act(view(), mask)


# Which policy plays.


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
        assert digest == (candidate if pointer.gives_candidate(name) else stable)
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
            # As a careless hand would: the folder itself refuses to publish it.
            text = (folder.folder / POINTER).read_text()
            files.write_text(folder.folder / POINTER, text.replace(first, digest))

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


# Disks.


def test_a_disk_that_hangs_never_stops_a_game(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    hanging = threading.Event()

    def hang(handle: int) -> None:
        hanging.set()
        go_on.wait()

    agent = agent_of(tmp_path)
    monkeypatch.setattr(files.os, "fsync", hang)
    # Would wait for ever here if any call waited for the disk.
    for number in range(30):
        game = agent.game(f"game {number}")
        for step in range(10):
            game.act(view(step))
            game.reward(1)
        game.end(1)
    assert hanging.wait(60)
    report = agent.report()
    assert (report.games.written, report.games.waiting) == (0, 30)
    go_on.set()
    assert agent.close(60).games.written == 30
    assert len(files_of(tmp_path / "spool")) == 30


def test_what_waits_is_bounded_and_drops_are_counted(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(writer, "MOST_WAITING", 4)
    agent = agent_of(tmp_path)
    monkeypatch.setattr(files.os, "fsync", lambda handle: go_on.wait())
    for number in range(10):
        agent.game(f"game {number}").end(1)
    assert agent.report().games.waiting == 4
    go_on.set()
    games = agent.close(60).games
    assert (games.written, games.dropped) == (4, 6)
    assert "too many games wait" in games.problem
    assert not list(Spool(tmp_path / "spool").open.iterdir())


def test_a_game_that_no_file_could_hold_is_dropped_and_costs_no_more_memory(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lanista.live import journal

    monkeypatch.setattr(journal, "MOST_BYTES", 2000)
    with agent_of(tmp_path) as agent:
        game = agent.game("endless")
        for step in range(200):
            game.act(view(step))
        assert game._recording.size < 2100
        game.end(1)
    games = agent.report().games
    assert (games.written, games.dropped) == (0, 1)
    assert "grew beyond" in games.problem


FULL_DISK = """
import resource, sys, signal
from pathlib import Path
sys.path.insert(0, {here!r})
from toy import view
from lanista.live import Agent
agent = Agent({policy!r}, {spool!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.RLIM_INFINITY))
for number, steps in enumerate((5, 2000, 5, 2000, 5)):
    game = agent.game(f"game {{number}}")
    for step in range(steps):
        game.act(view(step))
        game.reward(1)
    game.end(1)
if {room}:
    import time
    while agent.report().games.written < 3 or "waits" not in agent.report().games.problem:
        time.sleep(0.01)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(agent.close(60).games)
"""


def full_disk(tmp_path: Path, room: bool) -> str:
    code = FULL_DISK.format(
        here=str(HERE), policy=str(tmp_path / "policy"), spool=str(tmp_path / "spool"), room=room
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100
    )
    return done.stdout + done.stderr


def test_a_full_disk_costs_the_games_it_has_no_room_for_and_says_so(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    said = full_disk(tmp_path, room=False)
    assert "written=3" in said
    assert "dropped=2" in said
    assert "file too large" in said
    assert set(files_of(tmp_path / "spool")) == {"game 0", "game 2", "game 4"}
    spool = Spool(tmp_path / "spool")
    assert not list(spool.open.iterdir())
    assert not list(spool.new.glob(".*"))


def test_games_wait_until_the_disk_has_room_again(tmp_path: Path, folder: PolicyFolder) -> None:
    said = full_disk(tmp_path, room=True)
    assert "written=5" in said
    assert "dropped=0" in said
    assert len(files_of(tmp_path / "spool")) == 5


# Kills.

PLAYER = """
import sys
sys.path.insert(0, {here!r})
from toy import view
from lanista.live import Agent, writer
writer.JOURNAL_SECONDS = 0.001
agent = Agent({policy!r}, {spool!r})
done = 0
games = [agent.game(f"{run}/{{number}}") for number in range(4)]
while True:
    for number, game in enumerate(games):
        game.act(view(game.decisions, number))
        game.reward(game.decisions)
        if game.decisions >= 30 + 10 * number:
            game.end(1)
            done += 1
            games[number] = agent.game(f"{run}/{{number + 4 * done}}")
            if done == 3:
                print("playing", flush=True)
"""


def killed_player(tmp_path: Path, run: int, extra: float) -> None:
    code = PLAYER.format(
        here=str(HERE), policy=str(tmp_path / "policy"), spool=str(tmp_path / "spool"), run=run
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as player:
        assert player.stdout is not None
        assert player.stdout.readline() == b"playing\n"
        try:
            player.wait(extra)
        except subprocess.TimeoutExpired:
            player.send_signal(signal.SIGKILL)


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize(
    "kills", [4, pytest.param(60, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_a_killed_bot_leaves_games_cut_off_never_lost_or_half_written(
    tmp_path: Path, folder: PolicyFolder, kills: int
) -> None:
    for run in range(kills):
        killed_player(tmp_path, run, 0.013 * run)
    spool = Spool(tmp_path / "spool")
    left = sum(path.stat().st_size > 0 for path in spool.open.iterdir())
    with agent_of(tmp_path) as agent:
        agent.game("the next bot").end(None)
    assert agent.report().games.recovered == left
    assert not list(spool.open.iterdir())
    assert not list(spool.bad.iterdir())
    assert not list(spool.new.glob(".*"))
    games = files_all(tmp_path)
    assert len({game.header.game_id for game in games}) == len(games)  # none twice
    crashed = [game for game in games if game.header.crashed]
    assert crashed
    for game in games:
        steps = game.header.steps
        assert game.rewards.tolist() == list(range(1, steps + 1))
        seed = int(game.header.game_id.split("/")[-1]) % 4 if "/" in game.header.game_id else 0
        for step in range(steps):
            assert (game.observations[step] == view(step, seed)).all()
        if game.header.crashed:
            assert game.header.cut_off
        elif "/" in game.header.game_id:
            assert game.outcome.tolist() == [1.0]


def test_a_game_on_the_disk_is_not_told_again_by_its_journal(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if killed after the file had its name, before the journal was gone."""
    from lanista.live.journal import Journal

    monkeypatch.setattr(writer, "JOURNAL_SECONDS", 0.001)
    monkeypatch.setattr(Journal, "remove", Journal.leave)
    with agent_of(tmp_path) as agent:
        game = agent.game("once")
        for step in range(20):
            game.act(view(step))
        while game._recording.journal is None or game._recording.unsaved:
            pass
        game.end(-1)
    spool = Spool(tmp_path / "spool")
    (before,) = spool.waiting()
    assert len(list(spool.open.iterdir())) == 1
    monkeypatch.undo()
    assert spool.recover().games == 1
    assert spool.waiting() == [before]
    assert only(tmp_path).outcome.tolist() == [-1.0]


def test_what_waits_is_written_when_the_process_ends_in_good_order(
    tmp_path: Path, folder: PolicyFolder
) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from toy import view
from lanista.live import Agent
def play():
    agent = Agent({str(tmp_path / "policy")!r}, {str(tmp_path / "spool")!r})
    for number in range(5):
        game = agent.game(str(number))
        game.act(view())
        game.end(1)
play()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
    assert len(files_of(tmp_path / "spool")) == 5


# What computes.


def test_the_agent_imports_neither_torch_nor_the_learner(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    code = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from toy import view
from lanista.live import Agent
with Agent({str(tmp_path / "policy")!r}, {str(tmp_path / "spool")!r}) as agent:
    game = agent.game("light")
    game.act(view())
    game.end(1)
heavy = ("torch", "onnxruntime", "lanista.learn", "lanista.pipeline", "lanista.rollout")
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout == "[]\n"


needs_onnx = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime")),
    reason="the extra `onnx` is not installed",
)


@needs_onnx
def test_a_policy_with_memory_runs_in_onnx_runtime_and_says_what_numpy_says(
    tmp_path: Path,
) -> None:
    from lanista.nets.export import onnx_bytes
    from lanista.nets.policy_file import load_policy

    folder, digest = remembering(tmp_path)
    path = folder.path_of(digest)
    exported = onnx_bytes(load_policy(path))
    by_numpy = load(path, digest)
    path.with_suffix(".onnx").write_bytes(exported)
    by_onnx = load(path, digest)
    assert (by_numpy.by, by_onnx.by) == ("numpy", "onnxruntime")
    played = [through(decider) for decider in (by_numpy, by_onnx)]
    assert played[0][0] == played[1][0]
    assert played[0][1] == pytest.approx(played[1][1], abs=1e-4)
    with agent_of(tmp_path) as agent:
        assert agent.report().runner == "onnxruntime"
    # An export that is damaged, or another policy's, is not believed.
    other_folder, other = remembering(tmp_path / "other", seed=1)
    beside = other_folder.path_of(other)
    for data, said in ((exported, "says something else"), (exported[:-100], "is refused")):
        beside.with_suffix(".onnx").write_bytes(data)
        decider = load(beside, other)
        assert decider.by == "numpy"
        assert said in decider.remark


def test_without_onnx_runtime_numpy_plays_and_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, digest = remembering(tmp_path)
    folder.path_of(digest).with_suffix(".onnx").write_bytes(b"any")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    decider = load(folder.path_of(digest), digest)
    assert decider.by == "numpy"
    assert "pip install 'lanista[onnx]'" in decider.remark


def through(decider: Decider) -> tuple[list[Any], list[float]]:
    """Return what a policy does in a game of twenty steps, carrying its memory."""
    state, actions, log_probs = decider.start, [], []
    drawn = np.random.default_rng(2).random((20, 2), np.float32)
    for step in range(20):
        choice = decider.decide(view(step)[None], np.ones((1, CHOICES), bool), state, drawn[step])
        state = choice.state
        actions.append(choice.action.tolist())
        log_probs.append(choice.log_prob)
    return actions, log_probs


def remembering(path: Path, seed: int = 0) -> tuple[PolicyFolder, str]:
    """Return a folder in which an LSTM plays, and its digest."""
    import torch

    from lanista.nets.policy import Policy
    from lanista.nets.policy_file import policy_bytes
    from lanista.nets.settings import Network

    torch.manual_seed(seed)
    policy = Policy(SPEC, Network("lstm", width=8, layers=1))
    torch.nn.init.orthogonal_(policy.head.weight, 3.0)
    folder = PolicyFolder(path / "policy")
    digest = folder.add(policy_bytes(policy, SPEC))
    folder.publish(digest)
    return folder, digest


def test_the_memory_of_a_policy_is_carried_through_its_game_alone(tmp_path: Path) -> None:
    folder, digest = remembering(tmp_path)
    with agent_of(tmp_path) as agent:
        one, other = agent.game("one"), agent.game("other")
        for step in range(10):
            one.act(view(step))
            other.act(view(step, 1))
            if step == 4:
                one.overrule()  # seen all the same: memory goes through what was overruled
        one.end(1)
        other.end(1)
    policy = load(folder.path_of(digest), digest)
    for played in files_of(tmp_path / "spool").values():
        state = policy.start
        for step in range(10):
            row, legal = played.observations[step][None], played.legal[step][None]
            log_probs, state = policy._run(row, legal, state)
            if not played.overruled[step]:
                chosen = log_probs[0][played.actions[step] + STARTS].sum()
                assert played.log_probs[step] == pytest.approx(float(chosen), abs=1e-5)


def test_the_policy_thread_answers_whatever_happens(
    tmp_path: Path, folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agent_of(tmp_path) as agent:
        monkeypatch.setattr(current.Current, "_look", lambda self: 1 / 0)
        agent.game("during").end(None)
        monkeypatch.undo()
        folder.publish(folder.add(policy_bytes(3)))
        assert agent.game("after").policy == folder.pointer().stable
        assert "ZeroDivisionError" in agent.report().refusals[0]
