"""How strong players are: scores with intervals, ratings, gauntlets, promotion."""

from lanista.evaluate.differences import Differences, disagreement
from lanista.evaluate.roundrobin import CrossTable, cross_table, meetings
from lanista.evaluate.score import Estimate
from lanista.evaluate.standings import Standing, Summary, summarise

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
