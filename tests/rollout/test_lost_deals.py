"""Deals that a learner lost come up again, from the seat in which it lost them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lanista.games import make, make_bot
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import LEARNER, Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.lost_deals import KEPT, LostDeals
from lanista.rollout.opponent_sampler import seating_of
from lanista.runs.serialise import SettingsError
from lanista.runs.settings import load_settings

SPEC = make("leduc").spec
LOSS, WIN = -1.0, 1.0


def lost(*deals: int, seat: int = 0, share: float = 0.5) -> LostDeals:
    """Return what a learner keeps that lost these deals in a seat."""
    keeps = LostDeals(share, LEARNER)
    players = [LEARNER, 3] if seat == 0 else [3, LEARNER]
    returns = [LOSS, WIN] if seat == 0 else [WIN, LOSS]
    for deal in deals:
        keeps.note(np.array([deal]), np.array([players], np.int32), np.array([returns]))
    return keeps


def seatings(count: int) -> Any:
    """Return as many matches, the learner in either seat in turn against player 2."""
    ids = np.arange(1000, 1000 + count)
    seated = np.array([[0, 2], [2, 0]], np.int32)[ids % 2]
    return ids, seated


def test_so_many_matches_as_asked_take_up_a_lost_deal() -> None:
    ids, seated = seatings(4000)
    deals, _ = lost(7, 8, share=0.3).draw(ids, seated)
    again = np.isin(deals, (7, 8))
    assert 0.27 < again.mean() < 0.33
    assert (deals[~again] == ids[~again]).all()


@pytest.mark.parametrize("seat", [0, 1])
def test_a_lost_deal_is_had_from_the_seat_in_which_it_was_lost(seat: int) -> None:
    ids, seated = seatings(400)
    deals, after = lost(7, seat=seat).draw(ids, seated)
    again = deals == 7
    assert (after[again, seat] == LEARNER).all()
    assert (after[again, 1 - seat] == 2).all()
    assert (after[~again] == seated[~again]).all()


def test_a_deal_that_is_won_at_last_is_left() -> None:
    keeps = lost(7, 8)
    keeps.note(np.array([7]), np.array([[LEARNER, 5]], np.int32), np.array([[WIN, LOSS]]))
    assert keeps.save().tolist() == [[8, 0]]


def test_nothing_is_kept_of_matches_against_itself_or_without_the_learner() -> None:
    keeps = LostDeals(0.5, LEARNER)
    players = np.array([[LEARNER, LEARNER], [2, 3]], np.int32)
    keeps.note(np.array([1, 2]), players, np.array([[LOSS, WIN], [LOSS, WIN]]))
    assert not len(keeps.save())


def test_the_oldest_make_room_and_what_is_saved_is_what_is_drawn_from() -> None:
    keeps = lost(*range(KEPT + 10))
    saved = keeps.save()
    assert saved[:, 0].tolist() == list(range(10, KEPT + 10))
    other = LostDeals(0.5, LEARNER)
    other.load(saved)
    ids, seated = seatings(50)
    for one, two in zip(keeps.draw(ids, seated), other.draw(ids, seated), strict=True):
        assert (one == two).all()


def made(**options: Any) -> Collector:
    torch.manual_seed(2)
    policy = Policy(SPEC, Network(width=8, layers=1))
    bot = make_bot("leduc", "random", SPEC, 5)
    game = make("leduc", slots=16, seed=6)
    return Collector(
        game, Actor(policy, 4), [bot], seating_of([1], [1.0], 2, 3), unroll_length=8, **options
    )


class Watched:
    """A game whose starts are put down: match and deal."""

    def __init__(self, game: Any) -> None:
        self.game, self.started = game, list[tuple[int, int]]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.game, name)

    def start(self, slots: Any, ids: Any, options: Any) -> None:
        self.started += zip(ids.tolist(), options["deal"].tolist(), strict=True)
        self.game.start(slots, ids, options)


def test_a_collector_deals_what_was_lost_again_and_goes_on_after_a_save() -> None:
    collector = made(lost_again=0.5)
    collector.game = watched = Watched(collector.game)  # type: ignore[assignment]
    collector.unrolls(200)
    started = watched.started
    again = [deal for match, deal in started[100:] if match != deal]
    assert 0.35 < len(again) / len(started[100:]) < 0.65
    assert set(again) <= {match for match, _ in started}
    saved = collector.save()
    other = made(lost_again=0.5)
    other.load(saved)
    one, two = collector.unrolls(60), other.unrolls(60)
    for name in ("observation", "action", "match", "reward"):
        assert (getattr(one, name) == getattr(two, name)).all(), name


def test_without_it_deals_are_the_matches_own() -> None:
    assert made().lost is None
    assert "deal" not in made().save()


@pytest.mark.parametrize("share", [0.0, 1.0, -0.2])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(SettingsError, match="lost_again"):
        load_settings({"game": "leduc", "rollouts": {"lost_again": share}})
