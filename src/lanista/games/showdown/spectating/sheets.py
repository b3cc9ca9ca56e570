"""Open team sheets in battle logs: what both players brought, without their stats."""

from __future__ import annotations

from lanista.games.showdown.formats import format_of_log
from lanista.games.showdown.spectating.logs import Log
from lanista.games.showdown.teams.sets import Set, unpack

SHEET = "|showteam|"


def has_sheets(log: Log, players: int) -> bool:
    """Return whether a log shows the sheets of so many players."""
    return len({line.split("|")[2] for line in log.lines if line.startswith(SHEET)}) == players


def sheet_sets(log: Log, format: str) -> list[Set]:
    """Return the sets on the sheets of a battle of `format`; none where it is of another."""
    played = format_of_log(log.format)
    if played is None or played.name != format:
        return []
    sheets = {line.split("|")[2]: line for line in log.lines if line.startswith(SHEET)}
    sets: list[Set] = []
    for line in sheets.values():
        try:
            sets += unpack(line.split("|", 3)[3])
        except (ValueError, LookupError):  # A line that no server writes.
            continue
    return sets
