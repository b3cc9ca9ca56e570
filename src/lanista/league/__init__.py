"""Who plays whom, and what the results say."""

from lanista.league.differences import Differences, disagreement
from lanista.league.roundrobin import CrossTable, cross_table, meetings
from lanista.league.score import Estimate
from lanista.league.standings import Standing, Summary, summarise

__all__ = [
    "CrossTable",
    "Differences",
    "Estimate",
    "Standing",
    "Summary",
    "cross_table",
    "disagreement",
    "meetings",
    "summarise",
]
