"""A person against players in the terminal: the board as text, moves by number or by words.

Reads lines and prints lines, so that a pipe can play too. Knows nothing of how a match is played.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.evaluation.lineup import Lineup
    from lanista.games.scenes import Choice
    from lanista.insight.opinions import Adviser
    from lanista.insight.person_match import PersonMatch

MOST_SHOWN = 60
"""Legal moves that are listed; the rest are found by typing words of theirs."""
KEYS = "a number or words of a move; h: hint, u: take back, q: quit"
BAR = 24


class LeftError(Exception):
    """The person has had enough."""


def play_person(
    lineup: Lineup, handicap: float, record: Path | None, advised_by: str | None
) -> int:
    """Play one match with a person in it; return the exit code."""
    from contextlib import closing

    from lanista.games import registry
    from lanista.insight.opponents import seat_everybody
    from lanista.insight.person_match import PersonMatch

    _refuse_by_clock(lineup)
    with closing(registry.make(lineup.game, seed=lineup.seed, **lineup.settings)) as game:
        match = PersonMatch(game, seat_everybody(lineup, handicap), lineup.options)
        seat = _Seat(match, lineup, advised_by)
        try:
            seat.play()
        except LeftError:
            print("\nThe match was left before its end; nothing is recorded.")
            return 0
        _say_result(match)
        if record is not None:
            print(f"replay: {match.record(record)}")
    return 0


def _refuse_by_clock(lineup: Lineup) -> None:
    from lanista.games.scenes import board_of

    if board_of(lineup.spec).live:
        raise LanistaError(
            f"{lineup.game} goes on by the clock and is played with keys held; play it in a "
            "browser with lanista view."
        )


@dataclass
class _Seat:
    """What a person is shown and asked."""

    match: PersonMatch
    lineup: Lineup
    advised_by: str | None
    shown: int = 0
    """Entries of the log that were printed."""
    _advisers: dict[str, Adviser] = field(default_factory=dict)

    def play(self) -> None:
        from lanista.text import printable

        names = [printable(player.name, 60) for player in self.match.players]
        print(f"{self.lineup.game}, seed {self.lineup.seed}: {' against '.join(names)}")
        print(f"You are seat {self.match.seat}. Type {KEYS}.")
        while not self.match.over:
            self._show()
            action = self._ask()
            if action is not None:
                self.match.play(action)
        self._show()

    def _show(self) -> None:
        from lanista.games.scenes import seen_words
        from lanista.insight.scene_text import scene_text

        match = self.match
        for seat, words in match.log[self.shown :]:
            print(f"  seat {seat}: {words or 'something that you do not see'}")
        self.shown = len(match.log)
        text = scene_text(match.scene())
        print(f"\n{text}" if text else "")
        if not text and match.row is not None:
            seen = seen_words(match.board, match.spec, match.decisions.observation[match.row])
            print("\n".join(f"{name}: {value}" for name, value in seen))

    def _ask(self) -> list[int] | None:
        """Return the person's move; None: something else was asked for, so look again."""
        action = []
        heads = self.match.spec.heads
        for head, choices in zip(heads, self.match.legal(), strict=True):
            if len(choices) == 1 and len(heads) > 1:
                action.append(choices[0].choice)
                continue
            choice = self._choose(head.name, choices)
            if choice is None:
                return None
            action.append(choice)
        return action

    def _choose(self, head: str, choices: Sequence[Choice]) -> int | None:
        _list(choices)
        while True:
            word = _line(f"{head}> ")
            if word in _COMMANDS:
                return _COMMANDS[word](self)
            if (choice := _meant(word, choices)) is not None:
                return choice

    def quit(self) -> None:
        """Leave the match."""
        raise LeftError

    def undo(self) -> None:
        """Take back the person's last move."""
        try:
            self.match.undo()
        except LanistaError as problem:
            print(problem)
        self.shown = min(self.shown, len(self.match.log))

    def hint(self) -> None:
        """Print what a policy thinks."""
        try:
            opinion = self.match.hint(self._adviser())
        except LanistaError as problem:
            print(problem)
            return
        print_opinion(opinion.plain())

    def _adviser(self) -> Adviser:
        from lanista.insight.advisers import adviser_word
        from lanista.insight.opinions import Adviser

        word = adviser_word(self.lineup, self.advised_by)
        if word not in self._advisers:
            self._advisers[word] = Adviser(word, self.match.spec)
        return self._advisers[word]


_COMMANDS: dict[str, Callable[[_Seat], None]] = {
    "q": _Seat.quit,
    "u": _Seat.undo,
    "h": _Seat.hint,
}


def print_opinion(opinion: dict[str, object], indent: str = "  ") -> None:
    """Print a policy's likeliest choices as bars, and its value."""
    choices = opinion["choices"]
    assert isinstance(choices, list)
    for one in choices:
        bar = "#" * round(one["probability"] * BAR)
        print(f"{indent}{one['probability']:6.1%} {bar:<{BAR}} {one['words']}")
    if opinion["value"] is not None:
        print(f"{indent}value {opinion['value']:+.3f}")


def _line(prompt: str) -> str:
    try:
        return input(prompt).strip().lower()
    except EOFError:
        raise LeftError from None


def _list(choices: Sequence[Choice]) -> None:
    for number, one in enumerate(choices[:MOST_SHOWN], start=1):
        print(f"{number:4d}  {one.words}")
    if len(choices) > MOST_SHOWN:
        print(f"      and {len(choices) - MOST_SHOWN} more: type words of the move")


def _meant(word: str, choices: Sequence[Choice]) -> int | None:
    """Return the choice that a number or words name; say what is missing where they name none."""
    if word.isdecimal() and 1 <= int(word) <= len(choices):
        return choices[int(word) - 1].choice
    exact = [one for one in choices if one.words.lower() == word]
    similar = exact or [one for one in choices if word and word in one.words.lower()]
    if len(similar) == 1:
        return similar[0].choice
    if not similar:
        print(f"{word!r} is none of them; type {KEYS}.")
        return None
    for one in similar[:MOST_SHOWN]:
        print(f"{list(choices).index(one) + 1:4d}  {one.words}")
    return None


def _say_result(match: PersonMatch) -> None:
    from lanista.text import printable

    place, returns = match.game.place[0], match.game.returns[0]
    print("\nthe end")
    for seat, player in enumerate(match.players):
        who = "you" if seat == match.seat else printable(player.name, 60)
        print(f"  seat {seat}, {who}: place {place[seat]}, return {returns[seat]:+g}")
    first = place == 1
    shared = int(first.sum()) > 1
    mine = bool(first[match.seat])
    print("A draw." if mine and shared else "You win." if mine else "You lose.")
