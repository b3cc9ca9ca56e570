"""Faults that would leave somebody waiting for ever, or two players in one battle."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("poke_env")

from showdown_field import FORMAT, SPEC, connected, opponent, packed_team, player_of, proxied, run
from showdown_play import needs_simulator

from lanista.games.registry import make, make_bot
from lanista.games.showdown.teams.pool import Team
from lanista.live.showdown import gauntlet
from lanista.live.showdown.batching import Batcher
from lanista.live.showdown.battle import Battle
from lanista.live.showdown.connection import ServerError
from lanista.live.showdown.gauntlet import Setting, fixed_bouts, play_bouts
from lanista.live.showdown.player import ServerPlayer
from lanista.live.showdown.players import Fixed, Hand
from lanista.live.showdown.session import Aim, Session
from lanista.live.showdown.table import Result, Table

pytestmark = needs_simulator


@pytest.fixture(scope="module")
def team() -> str:
    return packed_team()


def first_message() -> list[str]:
    """Return what a seat is told before its first decision."""
    game = make("showdown", format=FORMAT.name)
    try:
        game.start([0], [0])
        (view,) = game.decisions().transcripts[0].views  # type: ignore[attr-defined]
    finally:
        game.close()
    return [*view.lines, f"|request|{json.dumps(view.request | {'rqid': 1})}"]


def test_a_battle_that_is_told_again_while_its_player_is_fetched_has_one_player(
    tmp_path: Path,
) -> None:
    message = first_message()

    class Slow:
        def __init__(self) -> None:
            self.hands: list[Hand] = []
            self.ready = asyncio.Event()

        async def begin(self, tag: str, opponent: str, match: int | None) -> Hand:
            await self.ready.wait()
            self.hands.append(Hand(player_of(tmp_path), 0))
            return self.hands[-1]

    async def told_twice() -> None:
        source, sent = Slow(), list[tuple[str, str, Any]]()
        battle = Battle("battle-1", FORMAT, "Player 1")
        table = Table(battle, source, Batcher(), lambda *words: sent.append(words), lambda _: None)
        table.hear(message)
        await asyncio.sleep(0)  # The first is on its way.
        table.begin_again()
        table.hear(message)
        await asyncio.sleep(0)
        source.ready.set()
        while not sent:
            await asyncio.sleep(0.001)
        table.finish(cut_off=True)
        assert len(source.hands) == 1
        assert [(words[0][:13], words[2]) for words in sent] == [("/choose team ", 1)]
        assert (await table.over).given_up == ""

    run(told_twice())


def test_a_battle_whose_room_is_closed_is_cut_off(
    showdown_url: str, team: str, tmp_path: Path
) -> None:
    closed: list[str] = []

    def close(message: str) -> str | None:
        """Close the room at the second turn; nothing is heard from it afterwards."""
        room, _, rest = message.partition("\n")
        if "|turn|2" in rest:
            closed.append(room)
            return f"{room}\n|deinit"
        return None if room in closed else message

    async def play() -> None:
        async with (
            proxied(showdown_url) as proxy,
            connected(player_of(tmp_path), proxy.url, "put out") as ours,
            opponent(showdown_url, "keeps the room", team) as theirs,
        ):
            proxy.inward = close
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 1))
            result = await ours.challenge(theirs.username, team)
            waiting.cancel()
            assert (result.outcome, result.given_up) == (None, "")
            assert ours.playing == 0

    run(play())


def test_what_breaks_a_connection_from_within_is_told_and_not_waited_for(
    showdown_url: str, team: str, tmp_path: Path
) -> None:
    def tell(words: str) -> None:
        raise ZeroDivisionError(words)

    async def play() -> None:
        async with (
            proxied(showdown_url) as proxy,
            connected(player_of(tmp_path), proxy.url, "hard to tell", tell=tell) as ours,
        ):
            proxy.inward = lambda message: "|popup|Good day." if "popup" in message else message
            with pytest.raises(ServerError, match="ZeroDivisionError"):
                await ours.challenge("nobody at all", team)

    run(play())


def test_a_result_that_cannot_be_kept_ends_the_session(
    showdown_url: str, team: str, tmp_path: Path
) -> None:
    reported: list[Result] = []

    def report(result: Result) -> None:
        reported.append(result)
        if len(reported) == 1:
            raise OSError("the disk is full")

    async def play() -> None:
        bot = Fixed(make_bot("showdown", "heuristic", SPEC, 0))
        ours = ServerPlayer(bot, FORMAT, showdown_url, "diarist")
        async with opponent(showdown_url, "diarists friend", team, at_once=2) as theirs:
            aim = Aim("challenge", 12, theirs.username)
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 12))
            with pytest.raises(OSError, match="the disk is full"):
                await Session(ours, aim, team, report, concurrency=2).run()
            waiting.cancel()
        assert len(reported) <= 2

    run(play())


def test_who_is_stopped_in_a_battle_plays_it_to_its_end_and_asks_for_no_other(
    showdown_url: str, team: str
) -> None:
    asked: list[str] = []
    results: list[Result] = []

    async def play() -> None:
        bot = Fixed(make_bot("showdown", "heuristic", SPEC, 0))
        async with (
            proxied(showdown_url) as proxy,
            opponent(showdown_url, "one is enough", team) as theirs,
        ):
            ours = ServerPlayer(bot, FORMAT, proxy.url, "not today")
            session = Session(ours, Aim("challenge", 5, theirs.username), team, results.append)

            def stop_at_the_first_turn(message: str) -> str:
                if "|turn|1" in message and not session.interrupts:
                    session.interrupt()
                return message

            def note(message: str) -> str:
                if "/challenge" in message:
                    asked.append(message)
                return message

            proxy.inward, proxy.outward = stop_at_the_first_turn, note
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 5))
            await session.run()
            waiting.cancel()

    run(play())
    assert len(asked) == 1
    assert [result.outcome is not None for result in results] == [True]


def test_an_opponent_who_accepts_nothing_ends_the_evaluation(
    showdown_url: str, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Deaf(gauntlet.RandomPlayer):  # type: ignore[misc]
        async def accept_challenges(self, *told: Any) -> None:
            await asyncio.Event().wait()

    monkeypatch.setitem(gauntlet.OPPONENTS, "random", Deaf)
    monkeypatch.setattr(gauntlet, "STALLED", 0.5)
    monkeypatch.setattr(gauntlet, "LINGERS", 0.5)

    async def play() -> None:
        bot = make_bot("showdown", "heuristic", SPEC, 0)
        setting = Setting([showdown_url], Fixed(bot), FORMAT, None, Batcher(), print, [])
        with pytest.raises(ServerError, match="against random on ws:"):
            await play_bouts(setting, fixed_bouts(["random"], [Team("any", team)], 1), 1)

    run(play())
