"""The fixed list of games, and what decides whether one was learned. Knows nothing of learners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Measure = Literal["score", "gain", "together"]
GAMES = "bench/untuned/games"


@dataclass(frozen=True)
class Row:
    """One game that nobody tuned for."""

    name: str
    game: str
    """As `--game` takes it."""
    kind: str
    """What sort of game it is, for the table."""
    measure: Measure = "score"
    """`score`: of matches against `random`, or more pay than it; `gain`: what a seat is paid among
    `random` players beyond random play, where one's loss is not another's gain; `together`: what a
    match pays where all seats are the policy's, for one seat or seats that are paid alike."""
    refused: bool = False
    """Whether it cannot be played, and a sentence is expected."""


def _openspiel(name: str, game: str, kind: str, measure: Measure = "score") -> Row:
    return Row(name, f"openspiel:{game}", kind, measure)


def _python(name: str, kind: str, measure: Measure = "score") -> Row:
    return Row(name, f"{GAMES}/{name}.py", kind, measure)


_SHIPS_3 = "board_width=3,board_height=3,ship_sizes=[2],ship_values=[1],num_shots=4"
_SHIPS_4 = "board_width=4,board_height=4,ship_sizes=[2;3],ship_values=[1;1],num_shots=8"
_BIDS = "num_cards=5,imp_info=True,points_order=descending"
_POKER = (
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=2 2,firstPlayer=1 1,numSuits=2,"
    "numRanks=4,numHoleCards=1,numBoardCards=0 1,raiseSize=2 4,maxRaises=1 1)"
)
_HIDDEN, _SEEN = "hidden, two seats", "all seen, two seats"
_MANY, _ALONE = "hidden, several seats", "one seat"
_AT_ONCE, _PAID_ALIKE, _OWN = "at once", "paid alike", "each its own pay"

ROWS = (
    _openspiel("battleship-3", f"battleship({_SHIPS_3})", _HIDDEN),
    _openspiel("battleship-4", f"battleship({_SHIPS_4})", _HIDDEN),
    _openspiel("goofspiel-5", f"goofspiel({_BIDS})", _AT_ONCE),
    _openspiel("liars-dice-2", "liars_dice(numdice=2,dice_sides=4)", _HIDDEN),
    _openspiel("kuhn-3", "kuhn_poker(players=3)", _MANY),
    _openspiel("leduc-3", "leduc_poker(players=3)", _MANY),
    _openspiel("poker", _POKER, _HIDDEN),
    _openspiel("dark-hex-3", "dark_hex(board_size=3)", _HIDDEN),
    _openspiel("gin-rummy", "gin_rummy", _HIDDEN),
    _openspiel("euchre", "euchre", _MANY),
    _openspiel("hearts", "hearts", _MANY, "gain"),
    _openspiel("blotto-3", "blotto(coins=6,fields=3,players=2)", _AT_ONCE),
    _openspiel("oshi-zumo", "oshi_zumo(coins=12,size=2,horizon=20)", _AT_ONCE),
    _openspiel("biased-rps", "matrix_brps", _AT_ONCE),
    _openspiel("sexes", "matrix_bos", _AT_ONCE, "gain"),
    _openspiel("soccer", "markov_soccer(horizon=100)", _AT_ONCE),
    _openspiel("tic-tac-toe", "tic_tac_toe", _SEEN),
    _openspiel("breakthrough", "breakthrough(rows=6,columns=5)", _SEEN),
    _openspiel("hex-5", "hex(board_size=5)", _SEEN),
    _openspiel("othello", "othello", _SEEN),
    _openspiel("oware", "oware", _SEEN),
    _openspiel("nim", "nim", _SEEN),
    _openspiel("go-5", "go(board_size=5)", _SEEN),
    _openspiel("pentago", "pentago", _SEEN),
    _openspiel("lines-of-action", "lines_of_action", _SEEN),
    _openspiel("pig", "pig", "chance, all seen"),
    _openspiel("backgammon", "backgammon", "chance, all seen"),
    _openspiel("hanabi-tiny", "tiny_hanabi", _PAID_ALIKE, "together"),
    _openspiel("box-pushing", "coop_box_pushing", _PAID_ALIKE, "together"),
    _openspiel("negotiation", "negotiation", _OWN, "gain"),
    _openspiel("sheriff", "sheriff", _OWN, "gain"),
    _openspiel("catch", "catch", _ALONE, "together"),
    _openspiel("deep-sea", "deep_sea(size=8)", _ALONE, "together"),
    _openspiel("2048", "2048", _ALONE, "together"),
    _openspiel("solitaire", "solitaire", _ALONE, "together"),
    _python("battleship", _HIDDEN),
    _python("sealed_bids", _OWN, "gain"),
    _python("tricks", _MANY),
    _python("race", "chance, all seen"),
    _python("spy", _MANY, "gain"),
    _python("signals", _PAID_ALIKE, "together"),
    Row("coin-game", "openspiel:coin_game", "no numbers to see", refused=True),
)  # fmt: skip


def row_of(name: str) -> Row:
    """Return the row of this name."""
    for row in ROWS:
        if row.name == name:
            return row
    raise KeyError(f"There is no row {name!r}; choose from {', '.join(row.name for row in ROWS)}.")
