"""Showdown as the registry knows it: its settings and bots."""

from lanista.games.registry import Entry, Setting
from lanista.games.showdown.formats import FORMATS
from lanista.games.showdown.game import DEFAULT_FORMAT, Showdown
from lanista.games.showdown.scene import BOARD
from lanista.games.showdown.scripted.bots import Damage, MaxPower
from lanista.games.showdown.scripted.heuristic import Heuristic
from lanista.games.showdown.scripted.poke_env_bots import BOTS, MISSING, is_installed
from lanista.games.showdown.teams.pool import BUILT_IN, MODES

OURS = (MaxPower, Damage, Heuristic)

ENTRY = Entry(
    "showdown",
    Showdown,
    about="Pokémon Showdown: battles on the real simulator, in doubles from team preview on.",
    settings={
        "format": Setting(DEFAULT_FORMAT, "The simulator's format.", choices=tuple(FORMATS)),
        "team_pool_path": Setting(
            "",
            "A folder of PokePaste files, or a pool that comes along: two (also empty), held-out, "
            "final; several with weights as made=9,two=1.",
            in_files=("", *BUILT_IN),
        ),
        "mode": Setting(
            "mirror", "Whether both seats get one team, each its own, or either.", choices=MODES
        ),
        "observation": Setting(
            1, "What a seat is shown: 1, or 2 with tokens that choices point at.", choices=(1, 2)
        ),
        "workers": Setting(1, "How many Node processes run the battles.", in_files=(1,)),
    },
    bots={bot.name: bot for bot in (*OURS, *(BOTS if is_installed() else ()))},
    missing_bots={} if is_installed() else {bot.name: MISSING for bot in BOTS},
    board=BOARD,
    slots=128,  # More were no faster in the matches we timed, and all of them end late.
)
