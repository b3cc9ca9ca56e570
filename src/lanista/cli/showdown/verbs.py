"""`lanista showdown`: Pokémon Showdown's simulator and real servers. A table of its verbs."""

from __future__ import annotations

from lanista.cli.showdown.evaluate import Evaluate
from lanista.cli.showdown.import_logs import ImportLogs
from lanista.cli.showdown.play import Play
from lanista.cli.showdown.serve import Install, Serve
from lanista.cli.showdown.teams import MakeTeams
from lanista.cli.usage import Group

SHOWDOWN = Group(
    "Install Pokémon Showdown's simulator and run real servers on this machine.",
    {
        "install": Install,
        "serve": Serve,
        "play": Play,
        "evaluate": Evaluate,
        "import-logs": ImportLogs,
        "teams": MakeTeams,
    },
)
