"""A first-price auction with private values: three bidders, two lots one after the other.

The highest bid wins and pays itself; equal bids are drawn by lot. Profit counts, so one bidder's
loss is not another's gain.
"""

from dataclasses import dataclass, field

from lanista.games import Facts, Field, Head, PythonGame, View

BIDDERS, LOTS, RICHEST = 3, 2, 12


@dataclass
class Sale:
    values: list[int]
    lot: int = 0
    profit: list[int] = field(default_factory=lambda: [0] * BIDDERS)
    last_price: int = 0


class SealedBids(PythonGame):
    """Three bidders who know only what the lot is worth to themselves."""

    facts = Facts(BIDDERS, LOTS, hidden=True, chance=True, simultaneous=True)
    observation = (
        Field("value", classes=RICHEST + 1),
        Field("lot", classes=LOTS),
        Field("last price", classes=RICHEST + 1),
    )
    moves = (Head("bid", RICHEST + 1),)

    def deal(self, rng):
        return Sale([rng.below(RICHEST + 1) for _ in range(BIDDERS)])

    def view(self, sale, seat):
        numbers = [sale.values[seat], sale.lot, sale.last_price]
        return View(numbers, legal=range(RICHEST + 1))

    def apply(self, sale, bids, rng):
        highest = max(bids.values())
        tied = [seat for seat, bid in bids.items() if bid == highest]
        winner = tied[rng.below(len(tied))]
        sale.profit[winner] += sale.values[winner] - highest
        sale.last_price, sale.lot = highest, sale.lot + 1
        if sale.lot == LOTS:
            return [profit / RICHEST for profit in sale.profit]
        sale.values = [rng.below(RICHEST + 1) for _ in range(BIDDERS)]
        return None
