"""A StarCraft II bot that plays on and on: `python -m lanista.live.players.starcraft`.

Without a map it plays on the stand-in, which runs in this process; with one, the program itself.
The bot is a class of MacroAgent and burnysc2's BotAI in a Python file. burnysc2 is entered one call
below its `run_game`, so that a game can be ended in the middle.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import runpy
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError, nearest
from lanista.foreign import read_regular
from lanista.games import registry, trust
from lanista.games.bot_files import split_word
from lanista.installed_files import shared_folders
from lanista.live.players.process import Over, cancelled_when, parser_of, play_until_over
from lanista.live.sc2 import MacroAgent

EXAMPLE = "my_sc2_bot.py"
STEP = 22
"""Game loops between two steps of a bot on the stand-in: about a second."""
BUILDS = ("Timing", "Macro", "Air")
"""What the stand-in plays by turns unless told: against each, one strategy wins and others lose."""
STAND_IN_BUILDS = ("Rush", "Timing", "Power", "Macro", "Air")
DIFFICULTIES = (
    "VeryEasy", "Easy", "Medium", "MediumHard", "Hard", "Harder", "VeryHard", "CheatVision",
    "CheatMoney", "CheatInsane",
)  # fmt: skip
RACES = ("Zerg", "Terran", "Protoss", "Random")


def main(arguments: list[str] | None = None) -> int:
    """Play until told to stop, or until the process that wants it is gone."""
    return play_until_over(_parser().parse_args(arguments), play_on)


def refuse_without_burnysc2() -> None:
    """Refuse to go on where burnysc2 is not installed."""
    if importlib.util.find_spec("sc2") is None:
        raise LanistaError(
            "burnysc2 is not installed, and StarCraft II bots are written with it; install the "
            "extra sc2: pip install '.[sc2]' in a checkout."
        )


def refuse_without_program(map_name: str) -> None:
    """Refuse where StarCraft II or the map is not installed."""
    from loguru import logger
    from sc2 import maps

    logger.disable("sc2")
    try:
        maps.get(map_name)
    except (SystemExit, OSError, ValueError) as error:  # burnysc2 ends the process otherwise.
        raise LanistaError(
            f"--map is {map_name}, and StarCraft II is not installed where burnysc2 looks for it; "
            "set SC2PATH to its folder, or leave --map out to play on the stand-in."
        ) from error
    except KeyError as error:
        raise LanistaError(
            f"--map is {map_name!r}, which is not among StarCraft II's maps; put it there, or name "
            "another."
        ) from error


def bot_class(word: str | None) -> type[Any]:
    """Return the bot of `file.py` or `file.py:Class`; unless named, the example's."""
    if word is None:
        path, name = example(), "MyBot"
        module = runpy.run_path(str(path))  # It comes with the program, so nobody is asked.
    else:
        path, name = split_word(word)
        if not path.is_file():
            raise LanistaError(f"There is no bot file {str(path)!r}; name a Python file.")
        data = read_regular(path, trust.MOST_PYTHON, "bot file")
        module = vars(registry.run_python(path, data))
    kinds = {
        kind.__name__: kind
        for kind in module.values()
        if isinstance(kind, type)
        and issubclass(kind, MacroAgent)
        and kind.__module__ == module["__name__"]
    }
    if not kinds:
        raise LanistaError(
            f"{path} has no bot; write a class of lanista.live.sc2.MacroAgent and BotAI in it."
        )
    if name and name not in kinds:
        raise LanistaError(f"{path} has no bot {name!r}; {nearest(name, kinds)}")
    if not name and len(kinds) > 1:
        raise LanistaError(f"{path} has {len(kinds)} bots; name one: {path}:CLASS.")
    return kinds[name] if name else next(iter(kinds.values()))


def example() -> Path:
    """Return the file of the example's bot."""
    for folder in shared_folders("examples"):
        if (folder / EXAMPLE).is_file():
            return folder / EXAMPLE
    raise LanistaError(f"examples/{EXAMPLE} is not installed; name a bot with --bot FILE.py:CLASS.")


def play_on(options: argparse.Namespace, over: Over) -> None:
    """Play game after game until `over` says so."""
    from loguru import logger

    logger.disable("sc2")  # It tells of every change of status.
    bot = bot_class(options.bot)()
    bot.macro_policies, bot.macro_spool = options.policy, options.spool
    builds = options.opponent.split(",")
    games = _on_stand_in if options.map is None else _on_program
    try:
        asyncio.run(cancelled_when(over, games(bot, builds, options)))
    finally:
        bot.macro_close()


async def _on_stand_in(bot: Any, builds: Sequence[str], options: argparse.Namespace) -> None:
    from aiohttp import ClientSession
    from sc2.controller import Controller
    from sc2.main import _play_game, _setup_host_game
    from sc2.maps import Map

    from lanista.live.sc2_stand_in.server import StandIn

    number = first = secrets.randbelow(1 << 30)
    async with StandIn() as server:
        while True:
            build = builds[(number - first) % len(builds)]
            bot.macro_opponent = f"stand-in, {build}"
            players = _players(bot, build, options)
            async with (
                ClientSession() as session,
                session.ws_connect(server.url, max_msg_size=0) as socket,
            ):
                program = Controller(socket, None)
                await program.ping()
                field = Map(Path("stand-in.SC2Map"))
                client = await _setup_host_game(program, field, players, False, number)
                client.game_step = STEP
                await _play_game(players[0], client, False)
                await client.leave()
                await client.quit()
            server.sessions.clear()
            number += 1


async def _on_program(bot: Any, builds: Sequence[str], options: argparse.Namespace) -> None:
    from sc2 import maps
    from sc2.main import _host_game

    number = 0
    while True:
        build = builds[number % len(builds)]
        bot.macro_opponent = f"{options.difficulty} {build}"
        await _host_game(maps.get(options.map), _players(bot, build, options), realtime=False)
        number += 1


def _players(bot: Any, build: str, options: argparse.Namespace) -> list[Any]:
    from sc2.data import AIBuild, Difficulty, Race
    from sc2.player import Bot, Computer

    computer = Computer(Race.Zerg, Difficulty[options.difficulty], AIBuild[build])
    return [Bot(Race[options.race], bot), computer]


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__.splitlines()[0])
    parser.add_argument("--opponent", default=",".join(BUILDS), help="builds, by turns")
    parser.add_argument("--bot", help="file.py or file.py:Class; unless given, the example's")
    parser.add_argument("--map", help="play StarCraft II itself on this map")
    parser.add_argument("--difficulty", default="Medium", choices=DIFFICULTIES)
    parser.add_argument("--race", default="Zerg", choices=RACES)
    return parser


if __name__ == "__main__":
    sys.exit(main())
