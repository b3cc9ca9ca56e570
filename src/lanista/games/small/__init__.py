"""Small games with exact answers: three that OpenSpiel has, phantom tic-tac-toe, and a cyclic one.

Observations of the first four are laid out as OpenSpiel's information-state tensors, so that its
exact solver can score our policies. card_rps is our own, made for strategies that beat each other
in a circle.
"""

from lanista.games.registry import Entry
from lanista.games.small import scenes
from lanista.games.small.card_rps import CardRps
from lanista.games.small.card_rps_bots import BOTS as CARD_RPS_BOTS
from lanista.games.small.kuhn import Kuhn
from lanista.games.small.leduc import Leduc
from lanista.games.small.liars_dice import LiarsDice
from lanista.games.small.phantom_ttt import PhantomTicTacToe

KUHN = Entry(
    "kuhn", Kuhn, about="Three cards, one bet: the smallest poker with bluffing.", board=scenes.KUHN
)
LEDUC = Entry(
    "leduc", Leduc, about="Six cards, two rounds of betting, one public card.", board=scenes.LEDUC
)
LIARS_DICE = Entry(
    "liars_dice",
    LiarsDice,
    about="One hidden die each; bids rise until one is doubted.",
    board=scenes.LIARS_DICE,
)
PHANTOM_TTT = Entry(
    "phantom_ttt",
    PhantomTicTacToe,
    about="Tic-tac-toe in which nobody sees the other's marks.",
    board=scenes.PHANTOM_TTT,
)
CARD_RPS = Entry(
    "card_rps",
    CardRps,
    about="Rock, paper, scissors three times; a hidden card makes one throw worth more.",
    bots=CARD_RPS_BOTS,
    board=scenes.CARD_RPS,
)
