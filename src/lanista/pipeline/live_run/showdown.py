"""Pokémon Showdown: a policy battles a bot on a real server of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from lanista.errors import LanistaError
from lanista.games.showdown.local_servers.pool import Servers
from lanista.games.showdown.local_servers.server import refuse_unready
from lanista.games.showdown.observation.description import NAME
from lanista.live.learner.settings import LiveSettings, settings_for
from lanista.live.showdown.extra import refuse_without_poke_env
from lanista.nets.files.champions import policy_file
from lanista.pipeline.live_run.venue import Ground, Say, Setup

CHAMPION = f"champion:{NAME}"


class Showdown:
    """Accounts of ours on a server that ends with this process."""

    policy_game = NAME
    module = "lanista.live.players.showdown"
    defaults: Mapping[str, str | int | None] = {
        "opponent": "heuristic",
        "seed": 0,
        "team-pool": None,
    }

    def refuse(self, setup: Setup) -> None:
        """Refuse where poke-env, Node or the simulator is missing, and players it does not know."""
        refuse_without_poke_env()
        refuse_unready([])
        from lanista.live.players.showdown import opponent_of
        from lanista.live.showdown.casting import read_teams, who_is

        folder = (setup.policy / "current.json").exists()
        who = who_is(str(setup.policy) if folder else setup.first or CHAMPION)
        if who.kind == "bot":
            raise LanistaError(f"--policy is {setup.first!r}, a bot; name a policy file.")
        opponent_of(setup.opponent, who)
        if setup.facts["team-pool"] is not None:
            read_teams(
                who.format, pool=str(setup.facts["team-pool"]), belief_pool=who.belief_pool(None)
            )

    def settings(self, seed: int) -> LiveSettings:
        """Return the usual ones."""
        return replace(settings_for(NAME), seed=seed)

    def first_policy(self, setup: Setup, say: Say) -> tuple[bytes, str]:
        """Take the policy that comes with the project."""
        return policy_file(CHAMPION).read_bytes(), CHAMPION

    def words(self, setup: Setup, number: int) -> list[str]:
        """Return the opponent, and the teams."""
        pool = setup.facts["team-pool"]
        teams = [] if pool is None else ["--team-pool", str(pool)]
        return ["--opponent", setup.opponent, "--number", str(number), *teams]

    def ground(self, setup: Setup, say: Say) -> Iterator[Ground]:
        """Start a server on a free port; one that ends is started again there."""
        say("Starting a Showdown server on 127.0.0.1; some seconds …")
        with Servers(1, 0, setup.folder / "servers", say=say) as servers:
            url = servers.posts[0].server.url
            say(f"The server is {url}.")
            yield Ground(("--server", url), servers.look)
