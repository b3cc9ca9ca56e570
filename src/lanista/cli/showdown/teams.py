"""`lanista showdown teams`: a pool of legal teams, composed at random."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from lanista.cli.common.flags import number
from lanista.cli.common.outputs import EMPTY, Writes
from lanista.errors import LanistaError


@dataclass(frozen=True)
class MakeTeams:
    """Make legal teams from the simulator's random doubles sets, as a team pool.

    Each has six different species and items, and the format's validator accepts it. The same seed
    gives the same teams.
    """

    number: Annotated[int, tyro.conf.arg(metavar="N", help_behavior_hint="(required)")]
    """How many teams."""
    output: Annotated[Path, tyro.conf.arg(metavar="DIR"), Writes(EMPTY)]
    """Where team-0001.txt and so on go; a new or empty folder."""
    format: Annotated[str, tyro.conf.arg(metavar="FORMAT")] = "gen9vgc2025regi"
    """The format in which they are legal; one to which teams are brought."""
    seed: Annotated[int, number(0)] = 0
    """Random seed; another gives other teams."""
    core_share: Annotated[float, tyro.conf.arg(metavar="SHARE")] = 0.0
    """Share of the teams, from 0 to 1, built around Pokémon that go together: a weather or terrain
    and who lives on it, Trick Room and the slow, Dondozo and its Commander."""

    def run(self) -> int:
        """Make the teams, say how various they are, and return 0."""
        if self.number < 1:
            raise LanistaError(f"--number is {self.number}; give 1 or more.")
        if not 0 <= self.core_share <= 1:
            raise LanistaError(f"--core-share is {self.core_share}; give a share from 0 to 1.")
        from lanista.cli.common.paths import refuse_unwritable_folder
        from lanista.cli.common.progress import progress_of
        from lanista.games.showdown.teams import random_teams

        random_teams.refuse_teamless(self.format)
        random_teams.refuse_filled(self.output)
        refuse_unwritable_folder("--output", self.output)
        with progress_of(self.number, "teams") as progress:
            teams = random_teams.make_teams(
                self.format, self.number, self.seed, progress, core_share=self.core_share
            )
        random_teams.write_teams(self.output, teams)
        sets = [pokemon for team in teams for pokemon in team.sets]
        species = len({pokemon.species for pokemon in sets})
        items = len({pokemon.item for pokemon in sets})
        moves = len({move for pokemon in sets for move in pokemon.moves})
        print(f"{self.output}: {len(teams)} teams legal in {self.format}")
        print(f"{species} species, {moves} moves, {items} items")
        return 0
