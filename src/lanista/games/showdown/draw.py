"""Draws a battle of Showdown as text: each side's Pokémon, those on the field first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanista.games.showdown.sim.match import Match


def picture(match: Match) -> str:
    """Return both sides of a battle as their players know them."""
    lines = [f"{match.setup.format}, turn {match.turn}{'' if match.playing else ', over'}"]
    for seat, request in enumerate(match.requests):
        lines.append(f"seat {seat}")
        for mon in request["side"]["pokemon"]:
            sign = "*" if mon["active"] else " "
            lines.append(f"  {sign} {mon['details']:<32} {mon['condition']}")
    return "\n".join(lines)
