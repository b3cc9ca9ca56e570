"""`lanista showdown usage`: what players bring, counted from team sheets and teams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.outputs import Writes, numbers_of, write_json
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.games.showdown.teams.sets import Set


@dataclass(frozen=True)
class CountUsage:
    """Count what players bring, from open team sheets in battle logs or from folders of teams.

    The file has the form of Showdown's monthly statistics (chaos JSON); either is what a policy can
    take others' sets from. Logs without sheets say too little of a set and are left out.
    """

    sources: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="PATH ...")]
    """Battle logs and folders of them; with --teams, folders of PokePaste files."""
    output: Annotated[Path, tyro.conf.arg(metavar="FILE"), Writes(numbers_of("showdown usage"))]
    """Where the statistics go, as JSON."""
    teams: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """PATH are team pools (folders, or the names of those that come along), not logs."""
    format: Annotated[str, tyro.conf.arg(metavar="FORMAT")] = "gen9vgc2025regi"
    """The format of the logs, or in which the teams are legal."""

    def run(self) -> int:
        """Count, write, say how much that was, and return 0."""
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.games.showdown.formats import format_named
        from lanista.games.showdown.protocol.usage import count_usage

        if not self.sources:
            raise LanistaError("Nothing was given to count; name battle logs or folders.")
        format_named(self.format)
        refuse_unwritable("--output", self.output)
        sets = list(self._pool_sets() if self.teams else self._sheet_sets())
        if not sets:
            raise LanistaError(
                f"No team of {self.format} could be read; logs need open team sheets "
                "(`showteam` lines), as best-of-three battles have them."
            )
        write_json(self.output, "showdown usage", count_usage(sets))
        species = len({one.species for one in sets})
        print(f"{self.output}: {len(sets):,} sets of {species:,} species")
        return 0

    def _pool_sets(self) -> Iterator[Set]:
        from lanista.games.showdown.sim.battles import Battles
        from lanista.games.showdown.teams.pool import load_pool, pool_folder
        from lanista.games.showdown.teams.sets import unpack

        with Battles(1) as battles:
            for path in self.sources:
                for team in load_pool(pool_folder(str(path)), self.format, battles).teams:
                    yield from unpack(team.packed)

    def _sheet_sets(self) -> Iterator[Set]:
        from lanista.games.showdown.spectating.logs import LogError, find_logs, identity, read_logs
        from lanista.games.showdown.spectating.sheets import sheet_sets

        contents: set[bytes] = set()
        for file in find_logs(self.sources):
            for _, log in read_logs(file):
                if isinstance(log, LogError) or identity(log) in contents:
                    continue
                contents.add(identity(log))
                yield from sheet_sets(log, self.format)
