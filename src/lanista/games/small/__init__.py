"""Small games with exact answers: Kuhn poker, Leduc poker, liar's dice, phantom tic-tac-toe.

Observations are laid out as OpenSpiel's information-state tensors, so that its exact solver can
score our policies.
"""

from lanista.games.registry import Entry
from lanista.games.small.kuhn import Kuhn

KUHN = Entry("kuhn", Kuhn, about="Three cards, one bet: the smallest poker with bluffing.")
