"""Faults of earlier live bots, kept out: what is saved is what a new process plays, and recording,
rollout and live client show a policy the same vector of the same state."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from toy import HERE, agent_of, files_of, folder_of, only, policy_bytes, view

from lanista.data.replays import expand, read_replays
from lanista.errors import LanistaError
from lanista.games import make, make_bot
from lanista.live.agent.policy_watcher import Current
from lanista.live.files.game_file import GameFile, read
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.nets.files import policy_file
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout import Table, play
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor, Choice
from lanista.rollout.replay_recorder import Recorder
from lanista.rollout.schedule import Schedule

# The same state gives the same vector, whoever looks at it.

GAMES: Mapping[str, Mapping[str, Any]] = {
    "arena": {"duration": 4.0},
    "beastybar": {},
}
SEED, MATCH = 5, 7
Answers = dict[tuple[int, int], Any]
"""What was played, by seat and turn."""


@dataclass(frozen=True)
class Played:
    """A match that was played live in seat 0: what the bot was shown, and all that was played."""

    file: GameFile
    shown: list[bytes]
    answers: Answers


def saved_policy(path: Path, game: str) -> Policy:
    """Publish a new policy for a game; return it."""
    spec = make(game, **GAMES[game]).spec
    torch.manual_seed(3)
    policy = Policy(spec, Network("mlp", width=16, layers=2))
    torch.nn.init.orthogonal_(policy.head.weight, 2.0)
    folder = PolicyFolder(path)
    folder.publish(folder.add(policy_file.policy_bytes(policy, spec)))
    return policy


def played_live(path: Path, name: str) -> Played:
    """Play one match with an agent in seat 0 and a bot in seat 1."""
    game = make(name, slots=1, seed=SEED, **GAMES[name])
    bot = make_bot(name, "random", game.spec, SEED)
    shown, answers = [], {}
    game.start([0], [MATCH])
    with agent_of(path, spec=game.spec) as agent:
        live = agent.game("the match")
        while not game.done[0].all():
            decisions = game.decisions()
            rows = np.arange(len(decisions))
            actions = bot.act(decisions, rows)
            for row in np.flatnonzero(decisions.seat == 0):
                shown.append(decisions.observation[row].tobytes())
                actions[row] = live.act(decisions.observation[row], decisions.mask[row])
            for row in rows:
                key = int(decisions.seat[row]), int(decisions.turn[row])
                answers[key] = actions[row].copy()
            game.act(rows, actions)
        live.end(float(game.returns[0, 0]))
    (file,) = Spool(path / "spool").waiting()
    return Played(read(file), shown, answers)


class Repeats:
    """Plays again what was played."""

    name, digest = "repeats", "0" * 64

    def __init__(self, answers: Answers) -> None:
        self.answers = answers

    def act(self, decisions: Any, rows: Any) -> Any:
        places = zip(decisions.seat[rows], decisions.turn[rows], strict=True)
        return np.array([self.answers[int(seat), int(turn)] for seat, turn in places], np.int32)


class Repeating(Actor):
    """Judges with its policy, and plays again what was played."""

    answers: Answers

    def choose(self, decisions: Any, rows: Any, privileged: Any = None) -> Choice:
        judged = super().choose(decisions, rows, privileged)
        action = Repeats(self.answers).act(decisions, rows)
        chosen = self.policy.heads.joint(
            torch.from_numpy(judged.log_probs), torch.from_numpy(action).long()
        )
        return Choice(action, chosen.numpy(), judged.log_probs, judged.value, judged.state)


def recorded(path: Path, name: str, answers: Answers) -> Any:
    """Play the match again, record it as a replay, and return what its reader makes of it."""
    game = make(name, slots=1, seed=SEED, **GAMES[name])
    players = (Repeats(answers),)
    seating = np.zeros((1, game.spec.seats), np.int32)
    results = play(
        [Table(game, players)],
        Schedule(np.array([MATCH]), np.array([MATCH]), seating),
        record=True,
    )
    return expand(read_replays(Recorder(path / "replays", game, players).write(results)))


def collected(name: str, policy: Policy, answers: Answers) -> Any:
    """Play the match again for a learner in seat 0, and return its unrolls."""
    game = make(name, slots=1, seed=SEED, **GAMES[name])
    actor = Repeating(policy, SEED)
    actor.answers = answers
    seating = np.arange(game.spec.seats, dtype=np.int32)[None]
    collector = Collector(
        game,
        actor,
        [Repeats(answers)] * (game.spec.seats - 1),
        lambda matches: np.repeat(seating, len(matches), 0),
        unroll_length=16,
        first_match=MATCH,
    )
    return collector.whole_matches(1)


@pytest.mark.parametrize("name", GAMES)
def test_recording_rollout_and_live_client_give_the_same_vector_of_the_same_state(
    tmp_path: Path, name: str
) -> None:
    policy = saved_policy(tmp_path / "policy", name)
    played = played_live(tmp_path, name)
    live, columns = played.file, recorded(tmp_path, name, played.answers)
    unrolls = collected(name, policy, played.answers)
    mine, order = columns.seat == 0, np.argsort(unrolls.turn)
    assert len(played.shown) > 5
    assert len(set(played.shown)) > 5
    assert [row.tobytes() for row in live.observations] == played.shown
    for seen, legal, actions in (
        (columns.observation[mine], columns.mask[mine], columns.actions[mine]),
        (unrolls.observation[order], unrolls.mask[order], unrolls.action[order]),
    ):
        assert seen.dtype == live.observations.dtype
        assert [row.tobytes() for row in seen] == played.shown
        assert np.array_equal(legal, live.legal)
        assert np.array_equal(actions, live.actions)
    # The weights in the learner's hands find what the bot did as likely as the bot did.
    np.testing.assert_allclose(live.log_probs, unrolls.log_prob[order], atol=1e-5)


@pytest.mark.parametrize("name", GAMES)
def test_a_vector_of_another_length_is_refused_by_every_path(tmp_path: Path, name: str) -> None:
    saved_policy(tmp_path / "policy", name)
    spec = make(name, **GAMES[name]).spec
    length, dtype = spec.observation.length, spec.observation.dtype
    with agent_of(tmp_path) as agent, agent.game("other lengths") as game:
        for wrong in (length - 4, length + 4, 15, 19, 0):
            with pytest.raises(LanistaError, match=f"needs {length} numbers"):
                game.act(np.zeros(wrong, dtype))
        assert game.decisions == 0


def test_the_layouts_of_one_game_are_not_taken_for_each_other(tmp_path: Path) -> None:
    saved_policy(tmp_path / "policy", "arena")
    classic = make("arena", slots=1, **GAMES["arena"], observation="classic19")
    rich = make("arena", **GAMES["arena"]).spec
    assert (classic.spec.observation.length, rich.observation.length) == (19, 74)
    with pytest.raises(LanistaError, match="'classic19'"):
        agent_of(tmp_path, spec=classic.spec)
    with agent_of(tmp_path, spec=rich) as agent:
        game = agent.game("of the rich layout")
        classic.start([0], [0])
        with pytest.raises(LanistaError, match="needs 74 numbers"):
            game.act(classic.decisions().observation[0])
        game.end(None)
    (file,) = Spool(tmp_path / "spool").waiting()
    other = policy_file.PolicyHeader.of(classic.spec, Network())
    with pytest.raises(LanistaError, match="'classic19'"):
        read(file, other)
    folder = PolicyFolder(tmp_path / "policy")
    foreign = policy_file.policy_bytes(Policy(classic.spec, Network(width=8)), classic.spec)
    with pytest.raises(LanistaError, match="'classic19'"):
        folder.publish(folder.add(foreign))


# What was saved is what a new process plays.

PLAYER = """
import sys
sys.path.insert(0, {here!r})
from toy import view
from lanista.live import Agent
with Agent({policy!r}, {spool!r}, seed=11) as agent:
    game = agent.game("the same")
    for step in range(30):
        game.act(view(step), [True, step % 2 == 0, True, True, True])
    game.end(1)
    print(game.policy)
"""


def test_a_new_process_plays_the_published_policy_to_the_last_bit(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "policy")
    digest = folder.publish(folder.add(policy_bytes(4))).stable
    here, there = (
        PLAYER.format(here=str(HERE), policy=str(folder.folder), spool=str(tmp_path / where))
        for where in ("here/spool", "there/spool")
    )
    exec(here, {})
    done = subprocess.run(
        [sys.executable, "-c", there], capture_output=True, text=True, check=True, timeout=900
    )
    assert done.stdout == f"{digest}\n"
    ours, theirs = only(tmp_path / "here"), only(tmp_path / "there")
    for name in ("observations", "masks", "actions", "log_probs", "rewards", "outcome"):
        assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes(), name
    assert ours.header.policy == theirs.header.policy == digest


@pytest.mark.parametrize("kind", ["mlp", "residual", "lstm", "transformer"])
def test_a_bot_says_what_the_weights_said_before_they_were_saved(tmp_path: Path, kind: str) -> None:
    spec = make("leduc").spec
    torch.manual_seed(2)
    policy = Policy(spec, Network(kind, width=16, layers=1)).eval()
    torch.nn.init.orthogonal_(policy.head.weight, 2.0)
    folder = PolicyFolder(tmp_path / "policy")
    folder.publish(folder.add(policy_file.policy_bytes(policy, spec)))
    drawn = np.random.default_rng(0)
    classes = np.repeat(
        [field.classes or 2 for field in spec.observation.fields],
        [field.size for field in spec.observation.fields],
    )
    views = drawn.integers(0, classes, (12, len(classes))).astype(spec.observation.dtype)
    with agent_of(tmp_path, spec=spec) as agent:
        game = agent.game("said")
        for row in views:
            game.act(row)
        game.end(0)
    (path,) = Spool(tmp_path / "spool").waiting()
    file = read(path)
    state = torch.zeros(1, policy.state_size)
    legal = torch.ones(1, spec.choices, dtype=torch.bool)
    with torch.no_grad():
        for step, row in enumerate(views):
            logits, _, state = policy.step(torch.from_numpy(row[None]), state)
            log_probs = policy.heads.log_probs(logits, legal)
            action = torch.from_numpy(file.actions[step][None]).long()
            wanted = float(policy.heads.joint(log_probs, action))
            assert file.log_probs[step] == pytest.approx(wanted, abs=1e-5)


PUBLISHER = """
import sys
sys.path.insert(0, {here!r})
from toy import policy_bytes
from lanista.live.files.policy_folder import PolicyFolder
folder = PolicyFolder({policy!r})
number = 0
while True:
    number += 1
    if number == 2:
        print("published", flush=True)
    digest = folder.add(policy_bytes(number % 5, step=number))
    folder.publish(digest, watch_share=0.5 * (number % 2))
    if number % 7 == 0:
        folder.prune(3)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a Unix signal")
@pytest.mark.parametrize("kills", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_a_publisher_killed_at_any_moment_leaves_the_old_policy_or_the_new(
    tmp_path: Path, kills: int
) -> None:
    folder = folder_of(tmp_path / "policy")
    program = PUBLISHER.format(here=str(HERE), policy=str(folder.folder))
    moments = np.random.default_rng(1).random(kills) * 0.2
    serial = 1
    for moment in moments:
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as publisher:
            assert publisher.stdout is not None
            assert publisher.stdout.readline() == b"published\n"
            time.sleep(moment)
            publisher.send_signal(signal.SIGKILL)
        pointer = folder.pointer()
        assert pointer.serial >= serial
        assert [change.pointer for change in folder.history()][-1] == pointer
        current = Current(folder)
        lineup = current.seen()
        assert lineup.stable.digest == pointer.stable
        wanted = [] if pointer.candidate is None else [pointer.candidate]
        assert [*lineup.candidates] == wanted
        assert not current.refusals
        current.close()
        # The dead one holds nothing: whoever comes next changes the folder.
        serial = folder.withdraw("after a kill").serial
        assert serial == pointer.serial + 1
    assert serial >= 1 + 2 * kills


def test_a_game_says_which_policy_played_and_not_which_one_plays_now(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "policy")
    first = folder.pointer().stable
    with agent_of(tmp_path) as agent:
        game = agent.game("long")
        game.act(view())
        second = folder.publish(folder.add(policy_bytes(1))).stable
        game.act(view(1))
        game.end(1)
        after = agent.game("next")
        after.act(view())
        after.end(1)
    said = {name: file.header.policy for name, file in files_of(tmp_path / "spool").items()}
    assert said == {"long": first, "next": second}
    assert json.loads((tmp_path / "policy" / "current.json").read_text())["stable"] == second
