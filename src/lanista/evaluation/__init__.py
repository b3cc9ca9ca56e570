"""How strong players are: scores with intervals, ratings, gauntlets, promotion."""

from lanista.evaluation.differences import Differences, disagreement
from lanista.evaluation.roundrobin import CrossTable, cross_table, meetings
from lanista.evaluation.score import Estimate
from lanista.evaluation.standings import Standing, Summary, summarise

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
