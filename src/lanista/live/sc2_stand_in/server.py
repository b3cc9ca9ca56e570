"""A stand-in for the StarCraft II program: its protocol over a websocket on loopback.

What answers is the small world of `world`, not StarCraft, and what is measured on it is said to
be of the stand-in. One participant of race Zerg plays against the stand-in's own player; the
setup's AI build chooses that player's schedule and the difficulty its income.
"""

from __future__ import annotations

from collections.abc import Callable
from math import dist
from types import TracebackType

import numpy as np
from aiohttp import WSMsgType, web
from s2clientprotocol import sc2api_pb2 as api

from lanista.games.streams import Stream
from lanista.live.sc2_stand_in.computer import BEAT, BUILDS, Computer
from lanista.live.sc2_stand_in.messages import (
    ORDERS,
    ability_of,
    answer_of,
    catalogue,
    map_information,
    unit_message,
    units_in_sight,
    upgrade_numbers,
    visibility,
)
from lanista.live.sc2_stand_in.world import Place, World

LAUNCHED, INIT_GAME, IN_GAME, ENDED, QUIT = 1, 2, 3, 5, 6
ZERG = 2
PLAYER = 1
OVER = "Not supported if game has already ended"
RESULTS = {None: 3, 0: 1, 1: 2}
"""Victory, defeat or tie of side 0 by who won."""
Answer = Callable[["Session", api.Request, api.Response], None]


class RefusedRequestError(Exception):
    """A request that the program would answer with an error."""


class Session:
    """One connection: what one running program would hold."""

    def __init__(self) -> None:
        self.status = LAUNCHED
        self.setup = api.RequestCreateGame()
        self.world = World(0)
        self.computer: Computer | None = None
        self.requests: list[str] = []
        """The kinds of all requests, in order."""
        self._explored = np.zeros((0, 0), bool)
        self._met: set[int] = set()

    def answer(self, request: api.Request) -> api.Response:
        """Return the response to a request, with the status after it."""
        kind = str(request.WhichOneof("request"))
        self.requests.append(kind)
        response = api.Response(id=request.id)
        try:
            if kind not in ANSWERS:
                raise RefusedRequestError(f"The stand-in has no answer to {kind}.")
            needed, reply = ANSWERS[kind]
            if self.status not in needed:
                raise RefusedRequestError(OVER if self.status == ENDED else "Not in a game")
            reply(self, request, response)
        except RefusedRequestError as error:
            response.error.append(str(error))
        response.status = self.status
        return response

    def ping(self, request: api.Request, response: api.Response) -> None:
        response.ping.game_version = "stand-in"
        response.ping.base_build = 75689
        response.ping.data_build = 75689

    def create_game(self, request: api.Request, response: api.Response) -> None:
        kinds = sorted(player.type for player in request.create_game.player_setup)
        if kinds != [api.Participant, api.Computer]:
            response.create_game.error = api.ResponseCreateGame.InvalidPlayerSetup
            response.create_game.error_details = "one participant against one computer"
            return
        self.setup = request.create_game
        response.create_game.SetInParent()
        self.status = INIT_GAME

    def join_game(self, request: api.Request, response: api.Response) -> None:
        if request.join_game.race != ZERG:
            raise RefusedRequestError("The stand-in plays Zerg only.")
        seed = self.setup.random_seed
        foe = self._foe
        self.world = World(seed, (1.0, 0.7 + 0.1 * foe.difficulty))
        build = api.AIBuild.Name(foe.ai_build)
        if build not in BUILDS:
            build = Stream.keyed(seed, 0, 1, "think").choice(sorted(BUILDS))
        self.computer = Computer(self.world, 1, BUILDS[build])
        self._explored, self._met = np.zeros((0, 0), bool), set()
        response.join_game.player_id = PLAYER
        self.status = IN_GAME

    @property
    def _foe(self) -> api.PlayerSetup:
        return next(p for p in self.setup.player_setup if p.type == api.Computer)

    def data(self, request: api.Request, response: api.Response) -> None:
        response.data.CopyFrom(catalogue())

    def game_info(self, request: api.Request, response: api.Response) -> None:
        response.game_info.CopyFrom(map_information(self.world.starts[1], self._foe.difficulty))

    def observation(self, request: api.Request, response: api.Response) -> None:
        world, seen = self.world, response.observation
        if self.status == ENDED:
            theirs = None if world.winner is None else 1 - world.winner
            seen.player_result.add(player_id=PLAYER, result=RESULTS[world.winner])
            seen.player_result.add(player_id=2, result=RESULTS[theirs])
        observation = seen.observation
        observation.game_loop = world.loop
        self._common(observation.player_common)
        raw = observation.raw_data
        raw.player.upgrade_ids.extend(upgrade_numbers(world))
        for thing, shown in units_in_sight(world, self._met, self.setup.disable_fog):
            raw.units.append(unit_message(world, thing, shown))
        raw.event.dead_units.extend(world.dead)
        world.dead.clear()
        self._explored = visibility(world, self._explored, raw.map_state)

    def _common(self, common: api.PlayerCommon) -> None:
        world = self.world
        used, room = world.supply(0)
        drones = world.own(0, "DRONE")
        army = world.own(0, "ZERGLING", "ROACH")
        common.player_id = PLAYER
        common.minerals, common.vespene = (int(amount) for amount in world.stock[0])
        common.food_cap, common.food_used = int(room), int(used)
        common.food_army = int(sum(t.kind.supply for t in army))
        common.food_workers = len(drones)
        common.idle_worker_count = sum(not t.verb for t in drones)
        common.army_count = len(army)
        common.larva_count = len(world.own(0, "LARVA"))

    def step(self, request: api.Request, response: api.Response) -> None:
        end = self.world.loop + max(1, request.step.count)
        while self.world.loop < end and not self.world.over:
            if self.world.loop % BEAT == 0 and self.computer:
                self.computer.play()
            self.world.advance(min(end - self.world.loop, BEAT - self.world.loop % BEAT))
        response.step.simulation_loop = self.world.loop
        if self.world.over:
            self.status = ENDED

    def action(self, request: api.Request, response: api.Response) -> None:
        for action in request.action.actions:
            command = action.action_raw.unit_command
            if not action.action_raw.HasField("unit_command"):
                response.action.result.append(answer_of("Success"))
                continue
            target: int | Place | None = None
            if command.HasField("target_unit_tag"):
                target = command.target_unit_tag
            elif command.HasField("target_world_space_pos"):
                place = command.target_world_space_pos
                target = (place.x, place.y)
            verb, what = ORDERS.get(command.ability_id, ("", ""))
            for tag in command.unit_tags:
                result = self.world.order(0, tag, verb, what, target) if verb else "NotSupported"
                response.action.result.append(answer_of(result))

    def query(self, request: api.Request, response: api.Response) -> None:
        query, world = request.query, self.world
        for path in query.pathing:
            here: Place | None = (path.start_pos.x, path.start_pos.y)
            if path.HasField("unit_tag"):
                here = world.place_of(path.unit_tag)
            there = (path.end_pos.x, path.end_pos.y)
            # The ground is open everywhere; 0 means that there is no way.
            response.query.pathing.add(distance=dist(here, there) if here else 0.0)
        for placed in query.placements:
            verb, what = ORDERS.get(placed.ability_id, ("", ""))
            place = (placed.target_pos.x, placed.target_pos.y)
            fits = verb == "build" and world.free(what, place, 0)
            answer = "Success" if fits else "CantFindPlacementLocation"
            response.query.placements.add(result=answer_of(answer))
        for unit in query.abilities:
            self._abilities(unit.unit_tag, query.ignore_resource_requirements, response)

    def _abilities(self, tag: int, ignore: bool, response: api.Response) -> None:
        thing = self.world.things.get(tag)
        listed = response.query.abilities.add(unit_tag=tag)
        if thing is None or thing.side != 0:
            return
        listed.unit_type_id = unit_message(self.world, thing, 1).unit_type
        for verb, what in ability_of(thing):
            if not what or ignore or self.world.affordable(0, what) == "Success":
                number = next(k for k, order in ORDERS.items() if order == (verb, what))
                listed.abilities.add(ability_id=number)

    def debug(self, request: api.Request, response: api.Response) -> None:
        response.debug.SetInParent()

    def leave_game(self, request: api.Request, response: api.Response) -> None:
        response.leave_game.SetInParent()
        self.status = LAUNCHED

    def quit(self, request: api.Request, response: api.Response) -> None:
        response.quit.SetInParent()
        self.status = QUIT


_ANY = (LAUNCHED, INIT_GAME, IN_GAME, ENDED)
_PLAYED = (IN_GAME, ENDED)
ANSWERS: dict[str, tuple[tuple[int, ...], Answer]] = {
    "ping": (_ANY, Session.ping),
    "create_game": ((LAUNCHED, ENDED), Session.create_game),
    "join_game": ((INIT_GAME,), Session.join_game),
    "data": (_PLAYED, Session.data),
    "game_info": (_PLAYED, Session.game_info),
    "observation": (_PLAYED, Session.observation),
    "step": ((IN_GAME,), Session.step),
    "action": ((IN_GAME,), Session.action),
    "query": (_PLAYED, Session.query),
    "debug": ((IN_GAME,), Session.debug),
    "leave_game": (_PLAYED, Session.leave_game),
    "quit": (_ANY, Session.quit),
}
"""By kind of request: the statuses in which it is answered, and by what."""


class StandIn:
    """The server, as an async context: it has a free port inside, and gives it back after."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.port = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/sc2api"

    async def __aenter__(self) -> StandIn:
        app = web.Application()
        app.router.add_get("/sc2api", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(request)
        session = Session()
        self.sessions.append(session)
        async for message in socket:
            if message.type is not WSMsgType.BINARY:
                break
            response = session.answer(api.Request.FromString(message.data))
            await socket.send_bytes(response.SerializeToString())
            if session.status == QUIT:
                break
        await socket.close()
        return socket
