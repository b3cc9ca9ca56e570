"""Slow bots that think in threads beside a worker: the same answers, and only for compiled ones."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

from lanista.games import registry
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout import bot_threads as module
from lanista.rollout.bot_threads import BotThreads, Pace, bot_threads, paces_of
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.opponent_sampler import seating_of
from lanista.runs.serialise import SettingsError
from lanista.runs.settings import load_settings, may_change


def decisions_of(game_name: str, slots: int) -> Any:
    game = registry.make(game_name, slots=slots, seed=3)
    game.start(np.arange(slots), np.arange(slots))
    return game, game.decisions()


@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize(
    ("game_name", "bot"), [("beastybar", "outcome"), ("beastybar", "noisy"), ("arena", "kiter")]
)
def test_a_bot_answers_in_threads_as_it_does_alone(game_name: str, bot: str, count: int) -> None:
    game, decisions = decisions_of(game_name, 7)
    player = registry.make_bot(game_name, bot, game.spec, 5)
    for rows in (np.arange(7), np.array([4]), np.array([6, 1, 2])):
        threads = BotThreads(count)
        answer = threads.ask(Pace(player), decisions, rows)()
        assert np.array_equal(answer, player.act(decisions, rows))


def test_a_bot_is_slow_by_what_it_took_last_time() -> None:
    game, decisions = decisions_of("beastybar", 6)
    quick, slow = (registry.make_bot("beastybar", b, game.spec, 0) for b in ("random", "outcome"))
    paces = Pace(quick), Pace(slow)
    for pace in paces:
        assert not pace.slow(1000)  # Nobody knows yet.
        pace.act(decisions, np.arange(6))
    assert paces[1].seconds > 3 * paces[0].seconds
    paces[1].seconds = 1.0
    assert paces[1].slow(2)
    assert not paces[1].slow(1)  # One row cannot be shared.


BOTS = ("random", "outcome", "heuristic")
"""Somebody quick comes before and after the slow one."""


class Written:
    """A bot in Python."""

    name, digest = "written", "written"

    def act(self, decisions: Any, rows: Any) -> Any:
        return np.zeros((len(rows), 1), np.int32)


def test_only_our_compiled_bots_are_asked_by_several_threads() -> None:
    game, _ = decisions_of("beastybar", 1)
    bot = registry.make_bot("beastybar", "outcome", game.spec, 0)
    paces = paces_of([bot, Written()])
    assert isinstance(paces[0], Pace)
    assert paces[1] is None


@pytest.mark.parametrize("slow", ["everybody", "outcome"])
@pytest.mark.parametrize("keep_frozen", [False, True])
def test_a_collector_plays_the_same_matches_with_bots_in_threads(
    keep_frozen: bool, slow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if slow == "everybody":
        monkeypatch.setattr(module, "_SLOW", 0.0)
    else:
        monkeypatch.setattr(Pace, "slow", lambda self, rows: self.player.name == slow and rows > 1)
    asked: set[str] = set()
    act = Pace.act

    def noted(self: Pace, decisions: Any, rows: Any) -> Any:
        asked.add(threading.current_thread().name.partition("_")[0])
        return act(self, decisions, rows)

    monkeypatch.setattr(Pace, "act", noted)
    played = []
    for threads in (None, BotThreads(3)):
        game = registry.make("beastybar", slots=24, seed=2)
        torch.manual_seed(0)
        policy = Policy(game.spec, Network(width=8, layers=1))
        bots = [registry.make_bot("beastybar", b, game.spec, 0) for b in BOTS]
        seating = seating_of([0, 1, 2, 3], [1.0, 1.0, 1.0, 1.0], 2, 4)
        collector = Collector(
            game, Actor(policy, 1), bots, seating, unroll_length=12,
            keep_frozen=keep_frozen, bot_threads=threads,
        )  # fmt: skip
        played.append(collector.whole_matches(30))
    assert ("bots" in asked) is not keep_frozen
    for name in ("observation", "action", "reward", "match", "log_prob"):
        assert np.array_equal(getattr(played[0], name), getattr(played[1], name)), name


def test_the_setting_is_refused_below_one_and_may_change_on_a_resume() -> None:
    assert load_settings({"rollouts": {}}).rollouts.bot_threads is None
    with pytest.raises(SettingsError, match=r"rollouts\.bot_threads is 0; give 1 to"):
        load_settings({"rollouts": {"bot_threads": 0}})
    assert may_change("rollouts.bot_threads")
    assert bot_threads(2) is bot_threads(2)
