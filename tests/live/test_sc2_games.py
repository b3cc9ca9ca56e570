"""Whole games of burnysc2's BotAI against the stand-in, over its websocket.

Nothing here was played on StarCraft II: results are of the stand-in.
"""

from __future__ import annotations

import asyncio
import importlib.util
import socket
from pathlib import Path

import numpy as np
import pytest

from lanista.live.files import game_file
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.sc2 import INTERVAL, Strategy, features, first_policy, situation_of
from lanista.nets.files import policy_format

pytest.importorskip("sc2", reason="burnysc2 is not installed")

from aiohttp import ClientSession
from loguru import logger
from s2clientprotocol import sc2api_pb2 as api
from sc2.controller import Controller
from sc2.data import AIBuild, Difficulty, Race, Result
from sc2.main import _play_game, _setup_host_game
from sc2.maps import Map
from sc2.player import Bot, Computer

from lanista.live.sc2_stand_in.server import Session, StandIn

# burnysc2 tells of every change of status, and of crashes that are meant here.
logger.disable("sc2")

_PATH = Path(__file__).parents[2] / "examples" / "my_sc2_bot.py"
_spec = importlib.util.spec_from_file_location("my_sc2_bot", _PATH)
example = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(example)

STEP = 22
"""Loops between two steps of a bot: about a second."""
REQUESTS = {
    "ping", "create_game", "join_game", "data", "game_info", "observation", "step", "action",
    "query", "leave_game", "quit",
}  # fmt: skip


class Plain(example.ZergBot):
    """A BotAI without anything of Lanista's: it follows one strategy."""

    def __init__(self, strategy):
        super().__init__()
        self.chosen = strategy

    async def on_start(self):
        self.client.game_step = STEP

    async def on_step(self, iteration):
        await self.follow(self.chosen)


class Learning(example.MyBot):
    """The example's bot with the mix-in, which writes down what it shows the policy."""

    macro_interval = INTERVAL  # More decisions in a game than the example's own.

    def __init__(self, folder):
        super().__init__()
        self.macro_policies, self.macro_spool = folder / "policies", folder / "spool"
        self.shown = []

    async def on_start(self):
        self.client.game_step = STEP

    def _observe(self):
        self.shown.append(features(situation_of(self)))
        return super()._observe()


async def play(server, bot, build, seed=0, limit=None):
    """Play one game as burnysc2 does once the program runs; return its result."""
    players = [Bot(Race.Zerg, bot), Computer(Race.Zerg, Difficulty.Medium, build)]
    async with ClientSession() as session, session.ws_connect(server.url, max_msg_size=0) as socket:
        program = Controller(socket, None)
        await program.ping()
        field = Map(Path("stand-in.SC2Map"))
        client = await _setup_host_game(program, field, players, False, seed)
        result = await _play_game(players[0], client, False, game_time_limit=limit)
        await client.leave()
        await client.quit()
        return result


def games(*arrangements):
    """Play games one after another; return their results and the stand-in's sessions."""

    async def all_of_them():
        async with StandIn() as server:
            results = [await play(server, *arrangement) for arrangement in arrangements]
            return results, server.sessions

    return asyncio.run(all_of_them())


def saved(bot):
    """Close a bot and return its games by id."""
    bot.macro_close()
    read = [game_file.read(path) for path in (Path(bot.macro_spool) / "new").glob("*.npz")]
    return {game.header.game_id: game for game in read}


def always(strategy, folder):
    """Publish a policy that picks one strategy; return its digest."""
    first_policy(folder)
    place = PolicyFolder(folder)
    content = policy_format.read(place.path_of(place.pointer().stable))
    arrays = dict(content.arrays) | {"head.bias": np.full(5, -50, np.float32)}
    arrays["head.bias"][strategy] = 50
    return place.publish(place.add(policy_format.encode(content.header, arrays))).stable


def test_an_unmodified_bot_plays_whole_games_and_wins_and_loses():
    results, sessions = games(
        (Plain(Strategy.AGGRESSIVE), AIBuild.Macro), (Plain(Strategy.ECONOMY), AIBuild.Rush)
    )
    assert results == [Result.Victory, Result.Defeat]
    for session in sessions:
        assert set(session.requests) == REQUESTS
        steps = session.requests.count("step")
        assert session.requests.count("game_info") >= steps > 100
        assert session.requests[-2:] == ["leave_game", "quit"]


def test_the_mix_in_saves_each_game_and_takes_up_the_policy_of_the_next(tmp_path):
    bot = Learning(tmp_path)
    digests = []
    original = bot.on_start

    async def publish_then_start():
        """Begin as ever, with another policy published for each game."""
        strategy = (Strategy.ECONOMY, Strategy.AGGRESSIVE)[len(digests)]
        bot.macro_game_id = f"game {len(digests)}"
        digests.append(always(strategy, bot.macro_policies))
        await original()

    bot.on_start = publish_then_start
    results, _ = games((bot, AIBuild.Air), (bot, AIBuild.Macro))
    files = saved(bot)
    assert results == [Result.Defeat, Result.Victory]
    assert sorted(files) == ["game 0", "game 1"]
    assert [files[name].header.policy for name in sorted(files)] == digests
    assert files["game 0"].outcome.tolist() == [-1.0]
    assert files["game 1"].outcome.tolist() == [1.0]
    seen = np.concatenate([files[name].observations for name in sorted(files)])
    assert np.array_equal(seen, np.array(bot.shown))
    for name, strategy in zip(sorted(files), (Strategy.ECONOMY, Strategy.AGGRESSIVE), strict=True):
        own = files[name].decisions
        assert set(files[name].actions[own, 0]) == {strategy}
        seconds = files[name].observations[own, 8] * 1000
        assert (np.diff(seconds) > bot.macro_interval - 0.01).all()
    # The attack was met by the bot's own rule.
    ruled = files["game 0"].actions[files["game 0"].overruled]
    assert set(ruled[:, 0]) == {Strategy.DEFENSIVE}


def test_every_feature_changes_over_a_game_and_stays_of_its_scale(tmp_path):
    bot = Learning(tmp_path)
    always(Strategy.TECH, bot.macro_policies)
    games((bot, AIBuild.Macro))
    seen = np.array(bot.shown)
    assert np.isfinite(seen).all()
    assert (seen.std(0) > 0).all(), seen.std(0)
    assert np.abs(seen).max() < 3
    bot.macro_close()


def test_the_same_seed_and_names_give_the_same_game_file(tmp_path):
    contents = []
    for copy in ("a", "b"):
        bot = Learning(tmp_path / copy)
        first_policy(bot.macro_policies)
        bot.macro_game_id = "twin"
        games((bot, AIBuild.Rush, 7))
        game = saved(bot)["twin"]
        contents.append([getattr(game, name).tobytes() for name in game_file.ARRAYS])
    assert contents[0] == contents[1]


class Resigning(Learning):
    async def on_step(self, iteration):
        await super().on_step(iteration)
        if iteration == 20:
            await self.client.leave()


class Crashing(Learning):
    async def on_step(self, iteration):
        await super().on_step(iteration)
        if iteration == 20:
            raise ValueError("a bug in the bot")


class BadStart(Learning):
    async def on_start(self):
        self.macro_strategy()
        raise ValueError("a bug in the start")


def test_a_resigned_game_is_lost(tmp_path):
    bot = Resigning(tmp_path)
    first_policy(bot.macro_policies)
    results, _ = games((bot, AIBuild.Macro))
    (game,) = saved(bot).values()
    assert results == [Result.Defeat]
    assert game.outcome.tolist() == [-1.0]


@pytest.mark.parametrize(
    ("kind", "limit", "error"),
    [(Crashing, None, ValueError), (BadStart, None, None), (Learning, 20, None)],
    ids=["crash", "failed start", "time limit"],
)
def test_a_game_without_a_result_of_the_program_is_cut_off(tmp_path, kind, limit, error):
    bot = kind(tmp_path)
    first_policy(bot.macro_policies)
    arrangement = (bot, AIBuild.Macro, 0, limit)
    if error is None:
        games(arrangement)
    else:
        with pytest.raises(error):
            games(arrangement)
    (game,) = saved(bot).values()
    assert game.header.cut_off
    assert game.outcome.size == 0
    assert len(game.actions) > 0


def test_the_port_is_given_back():
    async def port_while_open():
        async with StandIn() as server:
            with socket.create_connection(("127.0.0.1", server.port)):
                return server.port

    port = asyncio.run(port_while_open())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()


def request(**content):
    return api.Request(**content)


def test_requests_out_of_order_are_refused_as_the_program_does():
    session = Session()
    assert list(session.answer(request(step=api.RequestStep(count=1))).error) == ["Not in a game"]
    response = session.answer(request(save_replay=api.RequestSaveReplay()))
    assert response.error
    assert response.status == api.launched


def test_games_that_the_stand_in_cannot_play_are_refused():
    setup = api.RequestCreateGame()
    for _ in range(2):
        setup.player_setup.add(type=api.Participant)
    session = Session()
    response = session.answer(request(create_game=setup))
    assert response.create_game.error == api.ResponseCreateGame.InvalidPlayerSetup
    setup.player_setup[1].type = api.Computer
    assert session.answer(request(create_game=setup)).status == api.init_game
    terran = api.RequestJoinGame(race=1)
    assert "Zerg" in session.answer(request(join_game=terran)).error[0]


def test_the_enemy_is_hidden_until_it_is_seen():
    def shown(disable_fog):
        setup = api.RequestCreateGame(disable_fog=disable_fog)
        setup.player_setup.add(type=api.Participant)
        setup.player_setup.add(type=api.Computer, race=2, difficulty=3, ai_build=5)
        session = Session()
        session.answer(request(create_game=setup))
        session.answer(request(join_game=api.RequestJoinGame(race=2)))
        seen = session.answer(request(observation=api.RequestObservation()))
        return [u for u in seen.observation.observation.raw_data.units if u.alliance == 4]

    assert shown(False) == []
    assert len(shown(True)) == 17
