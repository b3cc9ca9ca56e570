"""A bot's handle on a policy: asks it for actions, and tells the learner what came of them.

Imports neither torch nor the learner. No call waits for a disk: policies are looked at and games
written by threads beside the bot's own. Knows nothing of how a policy improves.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import math
import os
import secrets
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games.contract import Spec
from lanista.games.streams import uniforms
from lanista.live.agent.courier import Courier, Sent
from lanista.live.agent.game_writer import Writer, Written
from lanista.live.agent.inference import Decider, DecisionError
from lanista.live.agent.journal import EARLY, END, OVERRULED, RESULT, Recording, Rows
from lanista.live.agent.policy_watcher import Current
from lanista.live.agent.server_connection import Address, ServerConnection
from lanista.live.files.game_header import (
    ALL_PROBABILITIES,
    GameHeader,
    Layout,
    refuse_id,
    refuse_opponent,
)
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool, refuse_one_folder
from lanista.nets.files.policy_format import PolicyHeader
from lanista.nets.settings import Network
from lanista.text import quoted
from lanista.web.hosts import is_loopback

Action = int | tuple[int, ...]
"""A number for a policy with one head, a number for each head otherwise."""
MOST_AMOUNT = 1e9
CLOSE_SECONDS = 10.0
COPY, OUTBOX = Path("live-bot/policy"), Path("live-bot/spool")
"""Where an agent of a server keeps its policies and games unless it is told otherwise."""
_log = logging.getLogger("lanista.live")


class AgentError(LanistaError):
    """A bot asked for something out of order."""


@dataclass(frozen=True)
class Report:
    """What an agent did so far."""

    stable: str
    """Digest of the policy that plays now."""
    candidate: str | None
    serial: int
    runner: str
    """What computes the stable policy: numpy or onnxruntime."""
    started: int
    """Games begun."""
    running: int
    decisions: int
    overruled: int
    games: Written
    """What became of games that ended."""
    refused: int
    """Policies and pointers that were not loaded."""
    refusals: tuple[str, ...]
    """The last of them, a sentence each."""
    late: int
    """Games that began with the policy in memory because the policy folder did not answer."""
    server: Sent | None = None
    """What went to the server of a learner elsewhere; None without one."""


class Agent:
    """Plays games with the policy that a folder names, and leaves them in a spool.

    With a `server` the folders are this bot's own: a copy of the server's policies, and the games
    that are still to be sent. A thread keeps the one up to date and sends the others.
    """

    def __init__(
        self,
        policy_folder: str | Path | None = None,
        spool_folder: str | Path | None = None,
        *,
        server: str | None = None,
        token: str | None = None,
        certificate: str | Path | None = None,
        spec: Spec | None = None,
        seed: int = 0,
        patience: float = 1.0,
    ) -> None:
        """Load the policy that plays now.

        With `spec` a policy for any other game is refused; without, one unlike the first.
        `seed` and a game's id name the random numbers it is played with. `patience` is how many
        seconds the beginning of a game may wait for the policy folder. `server` is the address of
        `lanista live serve`, `token` its token, `certificate` a file to trust where its own is
        not signed by an authority that this machine knows.
        """
        if type(seed) is not int or not 0 <= seed < 1 << 63:
            raise AgentError(f"An agent's seed is {seed!r}; give a whole number from 0 to 2^63-1.")
        if server is None and (policy_folder is None or spool_folder is None):
            raise AgentError("An agent needs a policy folder and a spool, or a server; name them.")
        policy_folder, spool_folder = policy_folder or COPY, spool_folder or OUTBOX
        refuse_one_folder(Path(spool_folder), Path(policy_folder))
        layout = None if spec is None else Layout.of(PolicyHeader.of(spec, Network()))
        folder, spool = PolicyFolder(policy_folder), Spool(spool_folder)
        self._courier = _courier(server, token, certificate, folder, spool)
        self._current = Current(folder, layout)
        spool.create()
        self._writer = Writer(spool, None if self._courier is None else self._courier.notify)
        if self._courier is not None:
            self._courier.start()
        self._seed = seed
        self._patience = patience
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._running: dict[str, Game] = {}
        self._started = self._decisions = self._overruled = 0
        self._rows: Rows | None = None
        self._closed = False
        # Not the agent: what waits must be written even if the bot has let go of it by then.
        atexit.register(self._writer.close, CLOSE_SECONDS)

    def game(self, game_id: str, opponent: str = "") -> Game:
        """Begin a game, against `opponent`; the policy that plays now plays it to its end."""
        refuse_id(game_id)
        refuse_opponent(opponent)
        if self._closed or os.getpid() != self._process:
            raise AgentError(
                "This agent is closed, or was made in another process; make one where it plays."
            )
        lineup = self._current.lineup(self._patience)
        decider, candidate = lineup.choose(game_id)
        header = GameHeader(
            game_id=game_id,
            play=secrets.token_hex(8),
            policy=decider.digest,
            layout=decider.layout,
            seed=self._seed,
            serial=lineup.pointer.serial,
            candidate=candidate,
            opponent=opponent,
            version=decider.layout.newest_version,
        )
        with self._lock:
            if game_id in self._running:
                raise AgentError(f"A game {game_id!r} is being played; give each an id of its own.")
            self._rows = self._rows or Rows(decider.layout, header.version)
            recording = Recording(header, self._rows)
            game = Game(self, decider, recording)
            self._running[game_id] = game
            self._started += 1
        self._writer.begin(recording)
        return game

    def report(self) -> Report:
        """Return what was played, written, dropped and refused so far."""
        lineup = self._current.seen()
        with self._lock:
            return Report(
                stable=lineup.pointer.stable,
                candidate=lineup.pointer.candidate,
                serial=lineup.pointer.serial,
                runner=lineup.stable.by,
                started=self._started,
                running=len(self._running),
                decisions=self._decisions + sum(g.decisions for g in self._running.values()),
                overruled=self._overruled + sum(g.overruled for g in self._running.values()),
                games=self._writer.counts(),
                refused=self._current.refused,
                refusals=tuple(self._current.refusals),
                late=self._current.late,
                server=None if self._courier is None else self._courier.counts(),
            )

    def close(self, seconds: float = CLOSE_SECONDS) -> Report:
        """Cut off what is being played, write what waits for at most `seconds`, and report.

        What is left of the seconds is for sending; what is not sent then is sent at the next start.
        """
        if not self._closed and os.getpid() == self._process:
            self._closed = True
            until = time.monotonic() + seconds
            for game in list(self._running.values()):
                game.end(None)
            self._writer.close(seconds)
            if self._courier is not None:
                self._courier.close(max(0.0, until - time.monotonic()))
            self._current.close()
            atexit.unregister(self._writer.close)
        return self.report()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ended(self, game: Game, recording: Recording) -> None:
        with self._lock:
            self._running.pop(game.id, None)
            self._decisions += game.decisions
            self._overruled += game.overruled
        self._writer.end(recording)


class Game:
    """One game, played by one thread at a time."""

    def __init__(self, agent: Agent, decider: Decider, recording: Recording) -> None:
        header = recording.header
        self.id = header.game_id
        self.policy = header.policy
        """Digest of the policy that plays this game."""
        self.candidate = header.candidate
        """Whether that policy is on trial."""
        self.decisions = self.overruled = 0
        self._agent = agent
        self._decider = decider
        self._recording = recording
        self._match = np.array([stream_of(self.id)], np.int64)
        self._seed = header.seed
        self._heads = len(header.layout.heads)
        self._all_probabilities = header.version == ALL_PROBABILITIES
        self._all_legal = np.packbits(decider.all_legal).tobytes()
        self._state = decider.start
        self._step: _Step | None = None
        self._early = 0.0
        self._over = False

    def act(self, observation: Any, mask: Any = None) -> Action:
        """Return the policy's action for what the bot sees; without a mask, all is legal."""
        self._refuse_over()
        decider = self._decider
        row = decider.seen(observation)
        if mask is None:
            legal, packed = decider.all_legal, self._all_legal
        else:
            legal = decider.legal(mask)
            packed = np.packbits(legal).tobytes()
        drawn = uniforms(self._seed, self._match, _SEAT, np.array([self.decisions]), self._heads)[0]
        choice = decider.decide(row[None], legal[None], self._state, drawn)
        if not math.isfinite(choice.log_prob):
            raise DecisionError("The policy's answer to this observation is no probability.")
        self._close_step()
        self._state = choice.state
        chances = choice.probabilities.tobytes() if self._all_probabilities else b""
        self._step = _Step(choice.action, choice.log_prob, packed, row.tobytes() + chances)
        self.decisions += 1
        return tuple(choice.action.tolist()) if self._heads > 1 else int(choice.action[0])

    def overrule(self, action: Action | None = None) -> None:
        """Say that the bot's rules did not play the last action, and what they played instead.

        The step counts as environment: what it brings goes to the policy's action before it.
        """
        self._refuse_over()
        if self._step is None or self._step.flags & OVERRULED:
            raise AgentError(f"Game {self.id!r} has no action to overrule; ask for one first.")
        unnamed = np.full(self._heads, -1, "<i4")
        self._step.action = unnamed if action is None else self._decider.named(action)
        self._step.flags |= OVERRULED
        self._step.log_prob = 0.0
        self.overruled += 1

    def reward(self, amount: float) -> None:
        """Add to what the last action brought."""
        self._refuse_over()
        amount = _amount("A reward", amount)
        if self._step is None:
            self._early += amount
        else:
            self._step.reward += amount

    def end(self, outcome: float | None = None) -> None:
        """End the game: above 0 it was won, below 0 lost; None: it was cut off and says nothing."""
        self._refuse_over()
        result = None if outcome is None else _amount("An outcome", outcome)
        self._close_step()
        recording = self._recording
        flags = END if result is None else END | RESULT
        recording.add(recording.format.pack(flags, 0.0, result or 0.0))
        self._over = True
        self._agent._ended(self, recording)

    def __enter__(self) -> Game:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._over:
            self.end(None)

    def _close_step(self) -> None:
        """Keep the last step, now that all it brought is known."""
        recording, step = self._recording, self._step
        if step is not None:
            rest = step.action.tobytes() + step.mask + step.seen
            row = recording.format.pack(step.flags, step.log_prob, step.reward, rest)
            recording.add(row)
        elif self._early:
            recording.add(recording.format.pack(EARLY, 0.0, self._early))
        self._step = None

    def _refuse_over(self) -> None:
        if self._over:
            raise AgentError(f"Game {self.id!r} has ended; begin another.")


@dataclass(slots=True)
class _Step:
    """The last step, while what it brings is still coming in."""

    action: NDArray[np.int32]
    log_prob: float
    mask: bytes
    seen: bytes
    """The observation, and the probabilities where they are kept."""
    reward: float = 0.0
    flags: int = 0


_SEAT = np.zeros(1, np.int32)


def _courier(
    server: str | None,
    token: str | None,
    certificate: str | Path | None,
    folder: PolicyFolder,
    spool: Spool,
) -> Courier | None:
    """Return what carries games to a server; None without one."""
    if server is None:
        if token is not None or certificate is not None:
            raise AgentError("An agent is given a token or certificate, but no server; name one.")
        return None
    if token is None:
        raise AgentError(f"The server {quoted(server)} needs its token; give it as token=.")
    address = Address.of(server)
    if address.scheme == "http" and not is_loopback(address.host):
        _log.warning("%s is not encrypted: others can read the token and the games.", address)
    trusted = None if certificate is None else Path(certificate)
    return Courier(ServerConnection(address, token, trusted), folder, spool)


def stream_of(game_id: str) -> int:
    """Return the number under which a game's random numbers are known."""
    return int.from_bytes(hashlib.sha256(game_id.encode()).digest()[:8], "big") >> 1


def _amount(quantity: str, value: float) -> float:
    # True and False would be a win and a draw.
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise AgentError(f"{quantity} is {quoted(value)}; give a number.")
    try:
        amount = float(value)
    except (TypeError, ValueError) as error:
        raise AgentError(f"{quantity} is {quoted(value)}; give a number.") from error
    if not abs(amount) <= MOST_AMOUNT:
        raise AgentError(f"{quantity} is {quoted(value)}; give a number within {MOST_AMOUNT:g}.")
    return amount
