"""The demonstration's bot: which seat it plays, what it is paid, and when it ends."""

from __future__ import annotations

from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lanista.live.players import arena as demo_player
from lanista.live.players.arena import _matches, _parser, play


class Scripted:
    """A game of three rounds for two seats that act at once, an agent and a bot, in one."""

    name = "kiter"

    def __init__(self, order: tuple[int, int]) -> None:
        self.seats = np.array(order)
        self.spec = SimpleNamespace(heads=("move", "aim"))
        self.shaping = np.zeros((1, 2))
        self.returns = np.array([[0.25, -0.75]])
        self.played: list[Any] = []
        self.paid: list[float] = []
        self.ended: list[float] = []
        self.opened: list[Any] = []

    def start(self, slots: list[int], matches: list[int]) -> None:
        self.opened.append((slots, matches))

    def decisions(self) -> Any:
        seen = [f"seen by {seat}" for seat in self.seats]
        masks = [f"mask of {seat}" for seat in self.seats]
        return SimpleNamespace(seat=self.seats, observation=seen, mask=masks)

    def act(self, first: Any, second: Any) -> Any:
        if isinstance(first, str):
            assert first[-1] == second[-1]
            return int(first[-1]), 7  # The agent: by what it saw.
        if isinstance(first, SimpleNamespace):
            return np.array([[90 + first.seat[second[0]], 9]])  # The bot.
        self.played.append(second.tolist())
        self.shaping = np.array([[1.0, 10.0], [0.0, 0.0], [2.0, 20.0]])[None, len(self.played) - 1]
        return [0] if len(self.played) == 3 else []

    def game(self, name: str, opponent: str) -> Any:
        self.opened.append((name, opponent))
        return self

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.append("closed")

    def reward(self, amount: float) -> None:
        self.paid.append(amount)

    def end(self, outcome: float) -> None:
        self.ended.append(outcome)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("match", [6, 7])
@pytest.mark.parametrize("hints", [0.5, 0.0])
def test_a_match_is_played_in_one_seat_and_paid_for_that_seat(
    order: tuple[int, int], match: int, hints: float
) -> None:
    both: Any = Scripted(order)
    play(both, both, both, match, hints, lambda: False)
    seat = match % 2
    row = [[seat, 7], [91 - seat, 9]]
    assert both.played == [row if order[0] == seat else row[::-1]] * 3
    hint = (1.0, 10.0)[seat]
    assert both.paid == ([0.5 * hint, 0.5 * 2 * hint] if hints else [])
    assert both.ended == [(0.25, -0.75)[seat]]
    assert both.opened[0] == ([0], [match])
    assert both.opened[1] == (f"{demo_player._RUN}-{match}", "kiter")
    assert both.opened[2:] == ["closed"]


def test_a_match_that_is_broken_off_has_no_result() -> None:
    both: Any = Scripted((0, 1))
    play(both, both, both, 0, 1.0, lambda: len(both.played) >= 2)
    assert (len(both.played), both.ended, both.opened[-1]) == (2, [], "closed")


def test_matches_follow_each_other_from_an_even_number_that_is_another_every_time() -> None:
    one, other = list(islice(_matches(), 3)), next(_matches())
    assert one == [one[0], one[0] + 1, one[0] + 2]
    assert one[0] % 2 == other % 2 == 0
    assert one[0] != other
    assert 0 <= one[0] < 1 << 41


def test_what_a_player_does_that_is_told_the_folders_alone() -> None:
    given = vars(_parser().parse_args(["--policy", "p", "--spool", "s"]))
    assert given == {
        "policy": "p", "spool": "s", "opponent": "kiter", "seed": 0, "hints": 1.0, "parent": None,
    }  # fmt: skip
