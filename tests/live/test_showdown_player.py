"""A policy as a player on a real Showdown server: battles, faults, and what it does about them."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

pytest.importorskip("poke_env")

from showdown_field import (
    LONG,
    connected,
    opponent,
    packed_team,
    player_of,
    proxied,
    run,
)
from showdown_play import needs_simulator

from lanista.games.registry import make_bot
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.local_servers.server import Server
from lanista.games.showdown.observation.description import describe
from lanista.live.showdown.batching import Batcher
from lanista.live.showdown.connection import ServerError
from lanista.live.showdown.player import ServerPlayer
from lanista.live.showdown.players import Fixed

pytestmark = needs_simulator


@pytest.fixture(scope="module")
def team() -> str:
    return packed_team()


def test_a_policy_challenges_and_accepts_and_every_battle_has_a_result(
    showdown_url: str, team: str, tmp_path: Path
) -> None:
    async def play() -> None:
        batcher = Batcher()
        mind = player_of(tmp_path, "transformer")
        async with (
            connected(mind, showdown_url, "both ways", batcher=batcher) as ours,
            opponent(showdown_url, "both ways back", team, at_once=4) as theirs,
        ):
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 4))
            first = await asyncio.gather(*(ours.challenge(theirs.username, team) for _ in range(4)))
            await waiting
            sending = asyncio.create_task(theirs.send_challenges(ours.username, 2))
            second = await asyncio.gather(*(ours.accept(team, theirs.username) for _ in range(2)))
            await sending
        assert [result.seat for result in first] == [0] * 4
        assert [result.seat for result in second] == [1] * 2
        for result in (*first, *second):
            assert result.outcome in (-1.0, 0.0, 1.0)
            assert result.opponent == "both ways back"
            assert result.policy == mind.digest
            assert (result.invalid, result.given_up, result.strange) == (0, "", 0)
            ends = [line for line in result.log if line.startswith("|win|") or line == "|tie"]
            won = ends == ["|win|both ways"]
            assert (result.outcome == 1.0) is won
        assert batcher.decisions == sum(result.decisions for result in (*first, *second))
        assert batcher.calls < batcher.decisions

    run(play())


def test_a_message_that_cannot_be_understood_gives_up_its_battle_and_no_other(
    showdown_url: str, team: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spoiled: list[str] = []

    def spoil(message: str) -> str:
        """Plant a line into the first battle that gets as far as a switch."""
        room, _, rest = message.partition("\n")
        if "|switch|" in rest and room.startswith(">battle") and not spoiled:
            spoiled.append(room[1:])
            return f"{room}\n|switch|p1z: nobody|and nothing\n{rest}"
        return message

    async def play() -> None:
        async with (
            proxied(showdown_url) as proxy,
            connected(player_of(tmp_path), proxy.url, "spoiled") as ours,
            opponent(showdown_url, "unspoiled", team, at_once=3) as theirs,
        ):
            proxy.inward = spoil
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 3))
            results = await asyncio.gather(
                *(ours.challenge(theirs.username, team) for _ in range(3))
            )
            await waiting
        given_up = [result for result in results if result.given_up]
        assert [result.tag for result in given_up] == spoiled
        assert given_up[0].outcome == -1.0  # The server has its own opinion of who forfeits.
        assert "p1z: nobody" in given_up[0].given_up
        assert any("spoiled forfeited" in line for line in given_up[0].log)
        assert sum("forfeited" in line for result in results for line in result.log) == 1

    with caplog.at_level(logging.WARNING, "lanista.live"):
        run(play())
    assert "p1z: nobody|and nothing" in caplog.text


@pytest.mark.parametrize(
    "planted", ["{no json", '{"side":{}}', '{"active":[7],"side":{"id":"p1"}}']
)
def test_a_request_that_cannot_be_read_gives_up_its_battle(
    showdown_url: str, team: str, tmp_path: Path, planted: str
) -> None:
    def spoil(message: str) -> str:
        room, _, rest = message.partition("\n")
        return f"{room}\n|request|{planted}" if rest.startswith('|request|{"active"') else message

    async def play() -> None:
        async with (
            proxied(showdown_url) as proxy,
            connected(player_of(tmp_path), proxy.url, "asked") as ours,
            opponent(showdown_url, "asking", team) as theirs,
        ):
            proxy.inward = spoil
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 2))
            result = await ours.challenge(theirs.username, team)
            assert result.given_up
            assert result.outcome == -1.0
            proxy.inward = lambda message: message
            assert not (await ours.challenge(theirs.username, team)).given_up
            await waiting

    run(play())


def test_a_choice_that_the_server_refuses_is_made_again_otherwise(
    showdown_url: str, team: str, tmp_path: Path
) -> None:
    said: list[str] = []

    def garble(message: str) -> str:
        """Send something illegal in place of the first turn, and again of the second answer."""
        if "/choose move" in message or "/choose switch" in message:
            said.append(message)
            if len(said) < 3:
                room, _, number = message.partition("|")[0], "", message.rpartition("|")[2]
                return f"{room}|/choose move 9, move 9|{number}"
        return message

    async def play() -> None:
        async with (
            proxied(showdown_url) as proxy,
            connected(player_of(tmp_path), proxy.url, "stubborn") as ours,
            opponent(showdown_url, "patient", team) as theirs,
        ):
            proxy.outward = garble
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 1))
            result = await ours.challenge(theirs.username, team)
            await waiting
        assert result.invalid == 2
        assert result.given_up == ""
        assert result.outcome is not None
        assert len(set(said[:3])) == 3  # Never what was refused.
        assert len({message.rpartition("|")[2] for message in said[:3]}) == 1

    run(play())


def test_the_simulator_chooses_where_nothing_is_taken(
    showdown_url: str, team: str, tmp_path: Path
) -> None:
    def garble(message: str) -> str:
        room, _, rest = message.partition("|")
        if rest.startswith("/choose move") or rest.startswith("/choose switch"):
            return f"{room}|/choose move 9, move 9|{message.rpartition('|')[2]}"
        return message

    async def play() -> None:
        async with (
            proxied(showdown_url) as proxy,
            connected(player_of(tmp_path), proxy.url, "unheard") as ours,
            opponent(showdown_url, "hearing", team) as theirs,
        ):
            proxy.outward = garble
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 1))
            result = await ours.challenge(theirs.username, team)
            await waiting
        assert result.defaults > 0
        assert result.invalid >= result.defaults
        assert (result.given_up, result.outcome is not None) == ("", True)

    run(play())


def test_a_battle_goes_on_after_the_connection_was_lost(
    showdown_url: str, team: str, tmp_path: Path
) -> None:
    told: list[str] = []
    turns = 0

    async def play() -> None:
        async with (
            proxied(showdown_url) as proxy,
            connected(player_of(tmp_path), proxy.url, "dropped", tell=told.append) as ours,
            opponent(showdown_url, "held", team) as theirs,
        ):

            def cut_at_the_third_turn(message: str) -> str:
                nonlocal turns
                turns += "\n|turn|" in message
                if turns == 3:
                    turns += 1
                    asyncio.get_running_loop().call_soon(proxy.cut)
                return message

            proxy.inward = cut_at_the_third_turn
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 1))
            result = await ours.challenge(theirs.username, team)
            await waiting
            assert ours.reconnections == 1
        assert result.outcome is not None
        assert result.given_up == ""
        turned = [line for line in result.log if line.startswith("|turn|")]
        assert turned == [f"|turn|{number}" for number in range(1, len(turned) + 1)]

    run(play())
    assert "is lost" in told[0]
    assert "trying again in" in told[0]


def test_a_server_that_is_killed_cuts_battles_off_and_is_found_again(
    team: str, tmp_path: Path
) -> None:
    server = Server(tmp_path / "server")

    async def play() -> None:
        nonlocal server
        told: list[str] = []
        async with connected(player_of(tmp_path), server.url, "survivor", tell=told.append) as ours:
            async with opponent(server.url, "victim", team) as theirs:
                theirs.choose_move = lambda battle: asyncio.Future()  # It thinks for ever.
                accepting = asyncio.create_task(theirs.accept_challenges(ours.username, 1))
                battle = asyncio.create_task(ours.challenge(theirs.username, team))
                while not ours.playing:
                    await asyncio.sleep(0.02)
                port = server.port
                server.process.kill()
                accepting.cancel()
            server.close()
            server = await asyncio.to_thread(Server, tmp_path / "server", port)
            result = await battle
            assert result.outcome is None
            assert ours.reconnections >= 1
            assert told
            async with opponent(server.url, "next one", team) as theirs:
                waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 1))
                assert (await ours.challenge(theirs.username, team)).outcome is not None
                await waiting

    try:
        run(play())
    finally:
        server.close()


def test_an_opponent_who_forfeits_has_lost(showdown_url: str, team: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with (
            connected(player_of(tmp_path), showdown_url, "stays") as ours,
            opponent(showdown_url, "goes", team) as theirs,
        ):

            async def leave(battle: object) -> object:
                await theirs.ps_client.send_message("/forfeit", battle.battle_tag)
                return theirs.choose_default_move()

            theirs.choose_move = leave
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 1))
            result = await ours.challenge(theirs.username, team)
            await asyncio.wait({waiting}, timeout=LONG)
        assert result.outcome == 1.0
        assert any("goes forfeited" in line for line in result.log)

    run(play())


def test_two_who_search_the_ladder_find_each_other(showdown_url: str) -> None:
    singles = format_named("gen9randombattle")
    bot = make_bot("showdown", "heuristic", describe(singles, "mirror", "", "any"), 0)

    async def play() -> None:
        both = [ServerPlayer(Fixed(bot), singles, showdown_url, name) for name in ("up", "down")]
        try:
            await asyncio.gather(*(player.connect() for player in both))
            results = await asyncio.gather(*(player.search(None) for player in both))
        finally:
            await asyncio.gather(*(player.close() for player in both))
        assert [result.opponent for result in results] == ["down", "up"]
        assert sum(result.outcome or 0.0 for result in results) == 0.0
        assert all(result.outcome is not None and not result.given_up for result in results)

    run(play())


def test_it_is_a_player_of_poke_envs_kind_whose_own_ways_to_begin_battles_work(
    showdown_url: str,
) -> None:
    singles = format_named("gen9randombattle")
    bot = make_bot("showdown", "heuristic", describe(singles, "mirror", "", "any"), 0)

    async def play() -> None:
        first, second = (
            ServerPlayer(Fixed(bot), singles, showdown_url, name) for name in ("of a", "kind")
        )
        try:
            await asyncio.gather(first.connect(), second.connect())
            await first.battle_against(second)
            await second.battle_against(first)
            accepting = asyncio.create_task(first.accept(None))
            result = await second.challenge("of a", None)
            assert result.tag == (await accepting).tag  # The third, not one of those before.
        finally:
            await asyncio.gather(first.close(), second.close())

    run(play())


@pytest.mark.slow
def test_an_opponent_who_leaves_loses_by_the_timer(showdown_url: str, tmp_path: Path) -> None:
    singles = format_named("gen9randombattle")
    bot = make_bot("showdown", "heuristic", describe(singles, "mirror", "", "any"), 0)

    async def play() -> None:
        ours = ServerPlayer(Fixed(bot), singles, showdown_url, "waits", timer=True)
        theirs = ServerPlayer(Fixed(bot), singles, showdown_url, "leaves", tell=lambda said: None)
        await asyncio.gather(ours.connect(), theirs.connect())
        accepting = asyncio.create_task(theirs.accept(None))
        battle = asyncio.create_task(ours.challenge("leaves", None))
        while not theirs.batcher.decisions:
            await asyncio.sleep(0.01)
        await theirs.close()
        accepting.cancel()
        result = await battle
        await ours.close()
        assert result.outcome == 1.0
        assert any("inactivity" in line for line in result.log)

    asyncio.run(asyncio.wait_for(play(), 5 * LONG))


def test_a_challenge_that_comes_to_nothing_is_told_in_the_servers_words(
    showdown_url: str, team: str, tmp_path: Path
) -> None:
    async def play() -> None:
        mind = player_of(tmp_path)
        async with (
            connected(mind, showdown_url, "lonely") as ours,
            connected(mind, showdown_url, "busy") as theirs,
        ):
            with pytest.raises(ServerError, match="nobody here"):
                await ours.challenge("nobody here", team)
            with pytest.raises(ServerError, match="team was rejected"):
                await ours.challenge("busy", team.partition("]")[0])
            asked = asyncio.create_task(ours.challenge("busy", team))
            assert await theirs._challenge_queue.get() == "lonely"
            await theirs.connection.say("/reject lonely")
            with pytest.raises(ServerError, match="busy rejected"):
                await asked

    run(play())


def test_a_name_that_is_taken_is_told(showdown_url: str, tmp_path: Path) -> None:
    async def play() -> None:
        mind = player_of(tmp_path)
        async with connected(mind, showdown_url, "the only one"):
            with pytest.raises(ServerError, match="the only one"):
                async with connected(mind, showdown_url, "the only one"):
                    pass

    run(play())
