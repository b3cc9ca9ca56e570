"""Who decides in battles on a server: one player for all, or the policy that a folder names.

A folder is asked when a battle begins and never within one, and its games go to a spool, in the
files that `lanista learn` takes. Knows nothing of servers.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from lanista.games.bots import Player
from lanista.games.contract import Spec
from lanista.live.agent.agent import CLOSE_SECONDS, stream_of
from lanista.live.agent.game_writer import Writer, Written
from lanista.live.agent.journal import END, OVERRULED, RESULT, Recording, Rows
from lanista.live.agent.policy_watcher import Current
from lanista.live.files.game_header import ALL_PROBABILITIES, LONGEST_ID, GameHeader, Layout
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool, refuse_one_folder
from lanista.live.showdown.batching import Answer
from lanista.live.showdown.battle import Question
from lanista.nets.files.policy_file import load_policy
from lanista.nets.files.policy_format import PolicyHeader
from lanista.nets.settings import Network
from lanista.rollout.inference.policy_players import PolicyPlayer, policy_player
from lanista.text import printable

PATIENCE = 1.0
"""Seconds that the beginning of a battle may wait for the policy folder."""


@dataclass(eq=False)
class Hand:
    """Who decides in one battle, and what is written down of it."""

    player: Player
    match: int
    """With the player's seed and a decision's number it names the stream of its choices."""
    recorded: Recorded | None = None

    def took(self, answer: Answer, question: Question) -> None:
        """Write a decision down."""
        if self.recorded is not None:
            self.recorded.step(answer, question)

    def overrule(self) -> None:
        """Say that the last decision could not be played."""
        if self.recorded is not None:
            self.recorded.overrule()

    def end(self, outcome: float | None) -> None:
        """End the battle; None where it has no result that tells of the player."""
        if self.recorded is not None:
            self.recorded.end(outcome)


class Source(Protocol):
    """Gives every battle somebody who decides."""

    async def begin(self, tag: str, opponent: str, match: int | None) -> Hand:
        """Return who decides in a battle, from its first decision to its last."""
        ...


class Fixed:
    """One player for every battle."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self._begun = 0

    async def begin(self, tag: str, opponent: str, match: int | None) -> Hand:
        """Return the player; battles without a number are counted."""
        self._begun += 1
        return Hand(self.player, self._begun - 1 if match is None else match)


class Folder:
    """The policies of a policy folder; their games go to a spool."""

    def __init__(
        self,
        policies: str | Path,
        spool: str | Path | None,
        spec: Spec,
        seed: int = 0,
        *,
        greedy: bool = False,
        temperature: float = 1.0,
    ) -> None:
        """Load the policy that plays now; without a spool no game is kept."""
        layout = Layout.of(PolicyHeader.of(spec, Network()))
        self._folder = PolicyFolder(policies)
        self._current = Current(self._folder, layout)
        self._spec, self._seed = spec, seed
        self._greedy, self._temperature = greedy, temperature
        self._session = secrets.token_hex(4)
        self._players: dict[str, PolicyPlayer] = {}
        self._rows = Rows(layout, layout.newest_version)
        self._writer: Writer | None = None
        if spool is not None:
            refuse_one_folder(Path(spool), Path(policies))
            place = Spool(spool)
            place.create()
            self._writer = Writer(place)

    async def begin(self, tag: str, opponent: str, match: int | None) -> Hand:
        """Return the policy that plays now; it plays the battle to its end."""
        loop = asyncio.get_running_loop()
        lineup = await loop.run_in_executor(None, self._current.lineup, PATIENCE)
        # Servers count their battles from 1 when they start; the session tells ours apart.
        game_id = printable(f"{self._session}-{tag}", LONGEST_ID)
        decider, candidate = lineup.choose(game_id)
        hand = Hand(self._player(decider.digest), stream_of(game_id))
        if self._writer is not None:
            header = GameHeader(
                game_id=game_id,
                play=secrets.token_hex(8),
                policy=decider.digest,
                layout=decider.layout,
                seed=self._seed,
                serial=lineup.pointer.serial,
                candidate=candidate,
                opponent=printable(opponent, LONGEST_ID),
                version=self._rows.version,
            )
            hand.recorded = Recorded(header, self._rows, self._writer)
        return hand

    def close(self) -> Written | None:
        """Write what waits; return what became of the games, None where none was kept."""
        self._current.close()
        if self._writer is None:
            return None
        self._writer.close(CLOSE_SECONDS)
        return self._writer.counts()

    def _player(self, digest: str) -> PolicyPlayer:
        """Return a policy in torch, which computes many rows at once."""
        if digest not in self._players:
            loaded = load_policy(self._folder.path_of(digest))
            # Battles that still play an older policy hold it themselves.
            self._players = dict([*self._players.items()][-7:])
            self._players[digest] = policy_player(
                loaded,
                self._spec,
                self._seed,
                greedy=self._greedy,
                temperature=self._temperature,
                block=0,
            )
        return self._players[digest]


class Recorded:
    """One battle on its way to a game file."""

    def __init__(self, header: GameHeader, rows: Rows, writer: Writer) -> None:
        self._recording = Recording(header, rows)
        self._writer = writer
        self._step: tuple[int, float, bytes] | None = None
        writer.begin(self._recording)

    def step(self, answer: Answer, question: Question) -> None:
        """Keep a decision of the policy."""
        assert answer.log_prob is not None
        self._keep()
        mask = np.packbits(question.mask).tobytes()
        action = np.array(answer.action, "<i4").tobytes()
        observation = question.observation.astype(question.observation.dtype.newbyteorder("<"))
        seen = observation.tobytes()
        if self._recording.format.version == ALL_PROBABILITIES:
            assert answer.probabilities is not None
            seen += answer.probabilities.tobytes()
        self._step = 0, answer.log_prob, action + mask + seen

    def overrule(self) -> None:
        """Say that the last decision was not played."""
        if self._step is not None:
            unnamed = np.full(len(self._recording.header.layout.heads), -1, "<i4").tobytes()
            self._step = OVERRULED, 0.0, unnamed + self._step[2][len(unnamed) :]

    def end(self, outcome: float | None) -> None:
        """End the game and hand it to the writer."""
        self._keep()
        flags = END if outcome is None else END | RESULT
        self._recording.add(self._recording.format.pack(flags, 0.0, outcome or 0.0))
        self._writer.end(self._recording)

    def _keep(self) -> None:
        if self._step is not None:
            flags, log_prob, rest = self._step
            self._recording.add(self._recording.format.pack(flags, log_prob, 0.0, rest))
        self._step = None
