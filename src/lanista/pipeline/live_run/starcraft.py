"""StarCraft II: a bot of burnysc2 on the stand-in, or on the program where a map is named."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from lanista.errors import LanistaError, nearest
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.settings import LiveSettings, settings_for
from lanista.live.players import starcraft as player
from lanista.live.sc2 import SPEC, first_policy
from lanista.pipeline.live_run.venue import Ground, Say, Setup, nothing_to_start


class Starcraft:
    """One bot that asks its policy for a strategy every few seconds of game time."""

    policy_game = SPEC.name
    module = "lanista.live.players.starcraft"
    defaults: Mapping[str, str | int | None] = {
        "opponent": ",".join(player.BUILDS),
        "seed": 0,
        "bot": None,
        "map": None,
        "difficulty": "Medium",
        "race": "Zerg",
    }

    def refuse(self, setup: Setup) -> None:
        """Refuse where burnysc2, the program or its map is missing, and builds it does not have."""
        player.refuse_without_burnysc2()
        facts = setup.facts
        real = facts["map"] is not None
        builds = (*player.STAND_IN_BUILDS, "RandomBuild") if real else player.STAND_IN_BUILDS
        for build in setup.opponent.split(","):
            if build not in builds:
                raise LanistaError(
                    f"--opponent names the build {build!r}; {nearest(build, builds)}"
                )
        for name, allowed in (("difficulty", player.DIFFICULTIES), ("race", player.RACES)):
            if facts[name] not in allowed:
                text = str(facts[name])
                raise LanistaError(f"--{name} is {text!r}; {nearest(text, allowed)}")
        if not real and facts["race"] != "Zerg":
            raise LanistaError(
                f"--race is {facts['race']}, and the stand-in plays Zerg alone; name a --map of "
                "StarCraft II, or leave --race out."
            )
        if real:
            player.refuse_without_program(str(facts["map"]))
        player.bot_class(_word(facts["bot"]))

    def settings(self, seed: int) -> LiveSettings:
        """Return those for some 150 games in a night."""
        from dataclasses import replace

        return replace(settings_for(SPEC.name), seed=seed)

    def first_policy(self, setup: Setup, say: Say) -> tuple[bytes, str]:
        """Make a policy that holds all strategies alike."""
        with tempfile.TemporaryDirectory(dir=setup.folder, prefix="first-") as work:
            place = PolicyFolder(Path(work) / "policy")
            digest = first_policy(place.folder, setup.seed).stable
            return place.path_of(digest).read_bytes(), "the first policy"

    def words(self, setup: Setup, number: int) -> list[str]:
        """Return the opponents, the bot, and where they play."""
        flags = ("opponent", "bot", "map", "difficulty", "race")
        given = {flag: setup.facts[flag] for flag in flags if setup.facts[flag] is not None}
        return [word for flag, value in given.items() for word in (f"--{flag}", str(value))]

    def ground(self, setup: Setup, say: Say) -> Iterator[Ground]:
        """Start nothing: the player brings the stand-in, burnysc2 starts the program."""
        return nothing_to_start(setup, say)


def _word(value: str | int | None) -> str | None:
    return None if value is None else str(value)
