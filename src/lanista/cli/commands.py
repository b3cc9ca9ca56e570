"""The table of commands: where each one lives, its family and its summary.

The overview is made from this table alone, so `lanista --help` imports no command. Knows nothing
of what the commands do.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A command that is imported when it is used."""

    place: str
    """Where its class is: module below `lanista.cli`, colon, name."""
    summary: str
    """Its line in the overview."""

    def load(self) -> type[Any]:
        """Import and return the command's class."""
        module, _, name = self.place.partition(":")
        command: type[Any] = getattr(importlib.import_module(f"lanista.cli.{module}"), name)
        return command


@dataclass(frozen=True)
class Group:
    """A command that is made of commands: `lanista policy list`."""

    summary: str
    commands: Mapping[str, Entry]


Commands = Mapping[str, Entry | Group]

POLICY = Group(
    "Show which policies live bots play, publish one, roll back, import one from torch.",
    {
        "list": Entry("live.policy:PolicyList", "Show which policies live bots play."),
        "publish": Entry("live.policy:PolicyPublish", "Publish a policy for live bots."),
        "rollback": Entry("live.policy:PolicyRollback", "Return to an earlier policy."),
        "import": Entry("live.policy_import:PolicyImport", "Import a torch checkpoint."),
        "finish": Entry("live.policy_finish:PolicyFinish", "Drop rare choices, round the rest."),
        "ready": Entry("live.policy_ready:Ready", "Say whether a policy is ready to publish."),
    },
)

LIVE = Group(
    "Run live bots and the learner beside them, or a server for bots elsewhere.",
    {
        "run": Entry("live.live_run:LiveRun", "Run live bots and their learner together."),
        "serve": Entry("live.live_serve:LiveServe", "Take games of bots on other machines."),
    },
)

SHOWDOWN = Group(
    "Install Pokémon Showdown's simulator and run real servers on this machine.",
    {
        "install": Entry("showdown.serve:Install", "Install the simulator with npm."),
        "serve": Entry("showdown.serve:Serve", "Run real servers on this machine."),
        "play": Entry("showdown.play:Play", "Play a policy on a server."),
        "evaluate": Entry("showdown.evaluate:Evaluate", "Measure a policy on real servers."),
        "import-logs": Entry("showdown.import_logs:ImportLogs", "Turn battle logs into data."),
        "encode": Entry("showdown.encode:Encode", "Show what a policy sees of a battle."),
        "teams": Entry("showdown.teams:MakeTeams", "Make a pool of legal teams."),
        "usage": Entry("showdown.usage:CountUsage", "Count what players bring."),
    },
)

CLUSTER = Group(
    "Start a Ray cluster, or add this machine to one.",
    {
        "start": Entry("tools.cluster:ClusterStart", "Make this machine a cluster's first."),
        "join": Entry("tools.cluster:ClusterJoin", "Add this machine to a cluster."),
    },
)

FAMILIES: Mapping[str, Commands] = {
    "Play and look": {
        "games": Entry("play.games:Games", "List the games, their settings and bots."),
        "play": Entry("play.play:Play", "Play bots and policies against each other."),
        "watch": Entry("play.watch:Watch", "Show a recorded match turn by turn."),
        "view": Entry("play.view:View", "Serve pages over runs: watch, compare, live bots."),
        "replay": Entry("play.replay:Replay", "Play a run's match again and compare."),
    },
    "Train": {
        "run": Entry("train.run:RunCommand", "Run a whole pipeline from a recipe."),
        "imitate": Entry("train.imitate:Imitate", "Clone recorded players, or a bot."),
        "rl": Entry("train.rl:RL", "Train a policy by reinforcement learning."),
        "league": Entry("train.league:LeagueCommand", "Train a league with exploiters."),
        "tune": Entry("train.tune:Tune", "Search settings by time to strength."),
        "solve": Entry("train.solve:Solve", "Compute an equilibrium, for small games."),
    },
    "Measure": {
        "evaluate": Entry("measure.evaluate:Evaluate", "Measure a player against others."),
        "roundrobin": Entry("measure.roundrobin:RoundRobin", "Print a game's cross table of bots."),
        "exploit": Entry("measure.exploit:Exploit", "Train a best response to a frozen player."),
        "exact": Entry("measure.exact:ExactCommand", "Compute NashConv, for small games."),
        "experiment": Entry(
            "measure.experiment:ExperimentCommand", "Run arms and seeds, and compare them."
        ),
        "doctor": Entry("measure.doctor:Doctor", "Say why nothing is learning."),
        "report": Entry("measure.report:Report", "Write a run's numbers, exports and page."),
    },
    "Live": {
        "learn": Entry("live.learn:Learn", "Learn from live games in the background."),
        "live": LIVE,
        "live-demo": Entry("live.live_demo:LiveDemo", "Show live learning in one command."),
        "policy": POLICY,
    },
    "Showdown": {"showdown": SHOWDOWN},
    "Tools": {
        "check": Entry("tools.check:Check", "Check that a game obeys the contract."),
        "cluster": CLUSTER,
        "completion": Entry("tools.completion:Completion", "Print a shell's completion script."),
        "config": Entry("tools.config:Config", "Write, compare and import settings files."),
        "data": Entry("tools.data:Data", "Check recorded play."),
        "export": Entry("tools.export:Export", "Write a policy for ONNX Runtime or NumPy."),
        "profile": Entry("tools.profile:ProfileCommand", "Measure where a recipe's time goes."),
    },
}
"""What people do, and the commands for it; the folders of `cli/` are named after these."""

COMMANDS: Commands = {name: entry for family in FAMILIES.values() for name, entry in family.items()}


def every_command(commands: Commands = COMMANDS) -> Iterator[tuple[str, Entry]]:
    """Yield each command with its words, groups spelt out: `policy list`."""
    for name, entry in commands.items():
        if isinstance(entry, Group):
            for verb, inner in entry.commands.items():
                yield f"{name} {verb}", inner
        else:
            yield name, entry
