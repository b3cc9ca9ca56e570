"""`lanista watch`: shows a recorded match in the terminal, turn by turn."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import GAMES, optional, switch
from lanista.cli.common.outputs import Writes
from lanista.cli.common.paths import refuse_unwritable
from lanista.errors import LanistaError
from lanista.files import Kind, write_text

if TYPE_CHECKING:
    from lanista.data.records import Header, Record
    from lanista.data.replays import Replays
    from lanista.data.resimulation import Referee
    from lanista.games import Decisions, Game
    from lanista.games.contract import Animation
    from lanista.insight.opinions import Adviser

_REMARK = "<!-- Made by lanista watch. -->"
ANIMATION = Kind("an animation of `lanista watch`", b"^" + _REMARK.encode())


@dataclass(frozen=True)
class Watch:
    """Show a recorded match turn by turn, with who played what and the result.

    The match is played again as it is shown; one that does not go as recorded is refused.
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """The replay file."""
    match: Annotated[int | None, optional("ID")] = None
    """The id of the match; the file's first one unless given."""
    delay: Annotated[float, tyro.conf.arg(metavar="SECONDS")] = 0.5
    """Seconds between turns, on a terminal."""
    step: Annotated[bool, switch()] = False
    """Wait for Enter before each turn instead; q and Enter leave."""
    animate: Annotated[Path | None, optional("FILE.svg"), Writes(ANIMATION)] = None
    """Draw the match as an animated SVG into this file instead of showing it here; for games that
    can be animated (arena)."""
    game: Annotated[str | None, optional("GAME"), GAMES] = None
    """The game of a replay that was recorded from a Python file, as `examples/my_game.py`."""

    policy: Annotated[str | None, optional("POLICY")] = None
    """Also show what this policy would have done: a file or champion:GAME, with the probability of
    its likeliest choices in every seat, and its value where there is a value file."""

    def run(self) -> int:
        """Show the match and return the exit code."""
        from lanista.data import ReplayError, read_replays
        from lanista.data.resimulation import refereeing
        from lanista.text import printable

        if not 0 <= self.delay <= 3600:
            raise LanistaError(f"--delay is {self.delay}; give seconds from 0 to 3600.")
        if self.file.is_dir():
            raise _folder_named(self.file)
        replays = read_replays(self.file)
        record = self._choose(replays)
        try:
            with refereeing(replays.header, slots=1, game=self.game) as referee:
                if self.animate is not None:
                    self._animate(referee, replays.header, record)
                    return 0
                show = _Show(replays.header, record, self._pause(), self._adviser(referee))
                show.opening()
                referee.play([record], show)
        except _LeftError:
            return 0
        except ReplayError as problem:
            raise ReplayError(f"{printable(self.file)} is refused: {problem}") from problem
        return 0

    def _adviser(self, referee: Referee) -> Adviser | None:
        if self.policy is None:
            return None
        from lanista.insight.opinions import Adviser

        return Adviser(self.policy, referee.spec)

    def _animate(self, referee: Referee, header: Header, record: Record) -> None:
        from lanista.games import registry
        from lanista.text import printable

        assert self.animate is not None
        refuse_unwritable("--animate", self.animate)
        animate = registry.entry(self.game or header.game).animate
        if animate is None:
            raise LanistaError(
                f"--animate is given, and {printable(header.game)} has no animation; leave it out "
                "to watch the match here."
            )
        names = [header.players[player].name for player in record.seating]
        film = _Film(animate(referee.spec, names))
        referee.play([record], film)
        write_text(self.animate, f"{_REMARK}\n{film.animation.svg()}", ANIMATION)
        print(f"animation: {self.animate}")

    def _choose(self, replays: Replays) -> Record:
        from lanista.text import printable

        for record in replays.records:
            if self.match in (None, record.match):
                return record
        if not replays.records:
            raise LanistaError(f"{printable(self.file)} holds no matches.")
        ids = [record.match for record in replays.records]
        raise LanistaError(
            f"{printable(self.file)} has no match {self.match}; "
            f"it has {len(ids)}, with ids from {min(ids)} to {max(ids)}."
        )

    def _pause(self) -> _Pause:
        if not sys.stdout.isatty():
            return _Pause(0.0, asking=False)
        return _Pause(self.delay, asking=self.step and sys.stdin.isatty())


def _folder_named(folder: Path) -> LanistaError:
    """Return the refusal of a folder, with a file in it to name instead."""
    from lanista.data.replays import SUFFIX
    from lanista.text import printable

    inside = sorted(folder.rglob(f"*{SUFFIX}"), key=lambda file: (len(file.parts), file))
    if not inside:
        return LanistaError(
            f"{printable(folder)} is a folder, and no replay lies in it; name a file that ends in "
            f"{SUFFIX}."
        )
    return LanistaError(
        f"{printable(folder)} is a folder; name a file in it, such as {printable(inside[0])}."
    )


class _LeftError(Exception):
    """The watcher has seen enough."""


@dataclass(frozen=True)
class _Pause:
    seconds: float
    asking: bool

    def __call__(self) -> None:
        if not self.asking:
            sys.stdout.flush()
            time.sleep(self.seconds)
            return
        try:
            answer = input("-- Enter: next turn, q: leave -- ")
        except EOFError:
            answer = "q"
        if answer.strip().lower() == "q":
            raise _LeftError


class _Film:
    """Looks on while the match is played again, and shows it to an animation."""

    def __init__(self, animation: Animation) -> None:
        self.animation = animation

    def decided(self, game: Game, row: Any, match: Any, decisions: Decisions, actions: Any) -> None:
        """Show the position with the moves made in it."""
        seats = decisions.seat.tolist()
        self.animation.show(game, dict(zip(seats, actions.tolist(), strict=True)))

    def ended(self, game: Game, slots: Any, matches: Any) -> None:
        """Show the last position."""
        self.animation.show(game, {})


class _Show:
    """Looks on while the match is played again, and prints it."""

    def __init__(
        self, header: Header, record: Record, pause: _Pause, adviser: Adviser | None = None
    ) -> None:
        from lanista.text import printable

        self.header, self.record, self.pause = header, record, pause
        players = [header.players[player] for player in record.seating]
        self.names = [printable(player.name, 40) for player in players]
        self.digests = [printable(player.digest[:12]) for player in players]
        self.turns = 0
        self.drawn = True
        self.adviser = adviser

    def opening(self) -> None:
        """Print what is played and by whom."""
        from lanista.text import printable

        record = self.record
        print(
            f"{printable(self.header.game)}, match {record.match}, deal {record.deal}, "
            f"seed {self.header.seed}"
        )
        for option, value in record.options.items():
            print(f"{printable(option)} {value}")
        for seat, (name, digest) in enumerate(zip(self.names, self.digests, strict=True)):
            print(f"seat {seat}: {name} ({digest})")

    def decided(self, game: Game, row: Any, match: Any, decisions: Decisions, actions: Any) -> None:
        """Print the position and the moves made in it."""
        self.pause()
        self.turns = int(decisions.turn[0]) + 1
        print(f"\nturn {self.turns}")
        self._draw(game)
        for number in range(len(decisions)):
            seat = int(decisions.seat[number])
            choices = _said(game, decisions.mask[number], actions[number].tolist())
            print(f"  seat {seat}, {self.names[seat]}: {choices}")
            if self.adviser is not None:
                self._advise(self.adviser, game, decisions, number)

    def _advise(self, adviser: Adviser, game: Game, decisions: Decisions, row: int) -> None:
        from lanista.cli.play.person import print_opinion
        from lanista.games.scenes import board_of

        opinion = adviser.opinion(board_of(game.spec), game, decisions, row)
        print_opinion(opinion.plain(), indent="    ")

    def ended(self, game: Game, slots: Any, matches: Any) -> None:
        """Print the last position and the result."""
        self.pause()
        print("\nthe end")
        self._draw(game)
        how = "cut off" if self.record.cut_off else "over"
        print(f"{how} after {self.turns} turns")
        for seat, name in enumerate(self.names):
            place, amount = int(game.place[0, seat]), float(game.returns[0, seat])
            score = float(game.score[0, seat])
            print(f"  seat {seat}, {name}: place {place}, return {amount:+g}, score {score:g}")

    def _draw(self, game: Game) -> None:
        from lanista.games import GameError

        if not self.drawn:
            return
        try:
            print(game.draw(0))
        except GameError as problem:
            self.drawn = False
            print(f"({problem})")


def _said(game: Game, mask: Any, action: list[int]) -> str:
    """Return the choices of an action by name, less those of heads that had only one."""
    from lanista.data.tallies import label
    from lanista.games.bots import legal_choices

    spec = game.spec
    legal = legal_choices(spec, mask)
    if len(spec.heads) == 1:
        return label(spec.heads[0], action[0])
    choices = [
        f"{head.name} {label(head, choice)}"
        for head, choice, allowed in zip(spec.heads, action, legal, strict=True)
        if len(allowed) > 1
    ]
    return ", ".join(choices) or "no choice"
