"""Signals for two who win together: one sees which of twelve pictures is meant, one must find it.

The speaker has four words and says two of them, one after the other; the finder then points at a
picture. Both are paid when it is the right one. Nothing says what a word means.
"""

from dataclasses import dataclass, field

from lanista.games import Facts, Field, PythonGame, View

PICTURES, WORDS, SPEECHES = 12, 4, 2
NOBODY = PICTURES


@dataclass
class Talk:
    picture: int
    words: list[int] = field(default_factory=list)


class Signals(PythonGame):
    """A speaker (seat 0) and a finder (seat 1)."""

    facts = Facts(2, SPEECHES + 1, hidden=True, chance=True, paid_alike=True)
    observation = (
        Field("picture", classes=PICTURES + 1),
        Field("first word", classes=WORDS + 1),
        Field("second word", classes=WORDS + 1),
    )
    moves = PICTURES

    def deal(self, rng):
        return Talk(rng.below(PICTURES))

    def view(self, talk, seat):
        speaks = len(talk.words) < SPEECHES
        if seat != (0 if speaks else 1):
            return None
        words = [*talk.words, *[WORDS] * (SPEECHES - len(talk.words))]
        picture = talk.picture if seat == 0 else NOBODY
        return View([picture, *words], legal=range(WORDS if speaks else PICTURES))

    def apply(self, talk, moves, rng):
        (move,) = moves.values()
        if len(talk.words) < SPEECHES:
            talk.words.append(move)
            return None
        paid = float(move == talk.picture)
        return [paid, paid]
