"""Games with faults that seldom show: rare leaks, and redraws that contradict what was seen.

Each comes with a sound twin that must pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sound_games import CARDS, Duel

from lanista.games import Facts, Field, PythonGame, Step, View
from lanista.games.contract import Option

DECK = 10
ROUNDS = 4


@dataclass
class Trick:
    hands: list[list[int]]
    played: list[tuple[int, int]] = field(default_factory=list)
    hinted: bool = False


class Tricks(PythonGame):
    """A sound game. Two seats hold four of ten cards each and lay one in turn; one may ask first.

    A seat sees its own hand, the last card laid and how many were laid. Action DECK asks, which is
    legal only for a seat that holds both lowest cards and only once.
    """

    facts = Facts(seats=2, longest=2 * ROUNDS + 2, hidden=True, chance=True, zero_sum=True)
    observation = (
        Field("hand", DECK, 2),
        Field("last", 1, DECK + 1),
        Field("laid", 1, 9),
        Field("hint", 1, 2),
    )
    moves = DECK + 1
    dtype = "uint8"

    def deal(self, rng):
        cards = list(range(DECK))
        rng.shuffle(cards)
        return Trick([sorted(cards[:ROUNDS]), sorted(cards[ROUNDS : 2 * ROUNDS])])

    def turn(self, state):
        return len(state.played) % 2

    def apply(self, state, moves, rng):
        ((seat, move),) = moves.items()
        if move == DECK:
            state.hinted = True
            return None
        state.hands[seat].remove(move)
        state.played.append((seat, move))
        if len(state.played) < 2 * ROUNDS:
            return None
        totals = [0, 0]
        for first in range(0, 2 * ROUNDS, 2):
            (one, a), (other, b) = state.played[first : first + 2]
            totals[one if a > b else other] += 1
        lead = totals[0] - totals[1]
        return Step(returns=[lead, -lead])

    def view(self, state, seat):
        if self.turn(state) != seat:
            return None
        hand = state.hands[seat]
        legal = [*hand, DECK] if {0, 1} <= set(hand) and not state.hinted else [*hand]
        held = [int(card in hand) for card in range(DECK)]
        last = state.played[-1][1] + 1 if state.played else 0
        return View([*held, last, len(state.played), self.hint(state, seat)], legal)

    def hint(self, state, seat):
        return 0

    def resample(self, state, seat, rng):
        gone = {card for _, card in state.played} | set(state.hands[seat])
        rest = [card for card in range(DECK) if card not in gone]
        rng.shuffle(rest)
        other = 1 - seat
        state.hands[other] = sorted(rest[: len(state.hands[other])])


class LeaksAfterARareAction(Tricks):
    """Whoever asked sees for the rest of the match whether the other holds the highest card."""

    def hint(self, state, seat):
        return int(state.hinted and DECK - 1 in state.hands[1 - seat])


class LeaksWithARareHand(Tricks):
    """Leaks where seat 1 was dealt the four highest cards: one deal in 210."""

    def hint(self, state, seat):
        mine = {card for who, card in state.played if who == 1} | set(state.hands[1])
        best = mine == set(range(DECK - ROUNDS, DECK))
        return int(seat == 1 and best and 0 in state.hands[0])


class LeaksAtTheEnd(Tricks):
    """Leaks to seat 1 alone, in its last two turns, whether the other's lowest is the lowest."""

    def hint(self, state, seat):
        late = len(state.played) >= 2 * ROUNDS - 3
        return int(seat == 1 and late and min(state.hands[0], default=9) < 1)


class LeaksAfterAHabit(Tricks):
    """Leaks once a seat laid its cards from the highest down three times in a row."""

    def hint(self, state, seat):
        laid = [card for who, card in state.played if who == seat]
        falling = len(laid) >= 3 and laid == sorted(laid, reverse=True) and min(laid) >= 5
        return int(falling and 4 in state.hands[1 - seat])


class Optional(Duel):
    """A duel whose matches have an option."""

    def _describe(self, settings):
        from dataclasses import replace

        spec = super()._describe(settings)
        return replace(spec, options=(Option("stakes", 0, 0, 3, "what a match is about"),))

    def start(self, slots, match_ids, options=None):
        super().start(slots, match_ids, {k: v for k, v in (options or {}).items() if k == "deal"})
        for slot in slots:
            self._started(slot).state.stakes = (options or {}).get("stakes", 0)


class LeaksWithAnOption(Optional):
    """Shows the other's card in matches with the highest stakes."""

    def view(self, state, seat):
        view = super().view(state, seat)
        if view is None or getattr(state, "stakes", 0) < 3:
            return view
        shown = [*view.observation[:-1], int(state.cards[1 - seat] > CARDS // 2)]
        return View(shown, view.legal)


RARE_LEAKS = [
    LeaksAfterARareAction, LeaksWithARareHand, LeaksAtTheEnd, LeaksAfterAHabit,
]  # fmt: skip


class GivesBackLaidCards(Tricks):
    """Redraws without the cards that were laid before the last one: they may come back."""

    def resample(self, state, seat, rng):
        gone = set(state.hands[seat]) | {card for _, card in state.played[-1:]}
        rest = [card for card in range(DECK) if card not in gone]
        rng.shuffle(rest)
        other = 1 - seat
        state.hands[other] = sorted(rest[: len(state.hands[other])])


class Peek(PythonGame):
    """A sound game. Seat 0 is shown the card that seat 1 will draw, and forgets it at once.

    Turn by turn: seat 0 looks, seat 0 bets, seat 1 draws and bets, seat 0 bets again.
    """

    facts = Facts(seats=2, longest=4, hidden=True, chance=True, zero_sum=True)
    observation = (Field("shown", 1, CARDS + 1), Field("turn", 1, 5), Field("own", 1, 3))
    moves = 2
    dtype = "uint8"

    def deal(self, rng):
        deck = list(range(CARDS))
        rng.shuffle(deck)
        return {"deck": deck, "turn": 0, "bets": [], "own": [rng.below(3), rng.below(3)]}

    def apply(self, state, moves, rng):
        state["bets"] += moves.values()
        state["turn"] += 1
        if state["turn"] < 4:
            return None
        lead = (state["deck"][0] >= CARDS // 2) * 2 - 1
        return Step(returns=[lead * sum(state["bets"]), -lead * sum(state["bets"])])

    def view(self, state, seat):
        turn = state["turn"]
        if seat != (turn == 2):
            return None
        # Seat 0 looks at the top card at first; seat 1 holds it in its turn.
        shown = state["deck"][0] + 1 if turn in (0, 2) else 0
        return View([shown, turn, state["own"][seat]], [0, 1])

    def resample(self, state, seat, rng):
        top, rest = state["deck"][0], state["deck"][1:]
        rng.shuffle(rest)
        state["deck"] = [top, *rest]
        state["own"][1 - seat] = rng.below(3)


class ForgetsThePeek(Peek):
    """Redraws the card that the seat was shown, once it is not shown any more."""

    def resample(self, state, seat, rng):
        if state["turn"] in (0, 2):
            super().resample(state, seat, rng)
        else:
            rng.shuffle(state["deck"])
            state["own"][1 - seat] = rng.below(3)


class Follow(PythonGame):
    """A sound game. A card of two suits is led by seat 0, and seat 1 must follow suit if it can.

    Three tricks; a seat sees its hand's suits and what was laid in this trick. Seat 0 leads always.
    """

    facts = Facts(seats=2, longest=6, hidden=True, chance=True, zero_sum=True)
    observation = (
        Field("held", 2, 4),
        Field("led", 1, 3),
        Field("answer", 1, 3),
        Field("laid", 1, 7),
    )
    moves = 2
    dtype = "uint8"

    def deal(self, rng):
        return {"held": [[rng.below(4)], [rng.below(4)]], "led": [], "answers": []}

    def held(self, state, seat):
        gone = (state["led"], state["answers"])[seat]
        first = state["held"][seat][0]
        return [first - gone.count(0), 3 - first - gone.count(1)]

    def apply(self, state, moves, rng):
        ((seat, suit),) = moves.items()
        (state["led"], state["answers"])[seat].append(suit)
        if len(state["answers"]) < 3:
            return None
        lead = sum(one == two for one, two in zip(state["led"], state["answers"], strict=True)) - 1
        return Step(returns=[lead, -lead])

    def view(self, state, seat):
        led, answers = state["led"], state["answers"]
        if seat != (len(led) > len(answers)):
            return None
        held = self.held(state, seat)
        legal = [suit for suit in (0, 1) if held[suit]]
        if seat and led[-1] in legal:
            legal = [led[-1]]
        shown = led[-1] + 1 if seat else 0
        last = answers[-1] + 1 if answers else 0
        return View([*held, shown, last, len(led) + len(answers)], legal)

    def fits(self, state, seat, first):
        """Whether a seat that began with `first` cards of suit 0 could have laid what it laid."""
        if seat == 0:
            return state["led"].count(0) <= first and state["led"].count(1) <= 3 - first
        held = [first, 3 - first]
        for led, answer in zip(state["led"], state["answers"], strict=False):
            if not held[answer] or (answer != led and held[led]):
                return False
            held[answer] -= 1
        return True

    def resample(self, state, seat, rng):
        other = 1 - seat
        able = [first for first in range(4) if self.fits(state, other, first)]
        state["held"][other][0] = rng.choice(able)


class ForgetsWhoCouldNotFollow(Follow):
    """Redraws a hand that has what was laid, though it could have followed suit."""

    def fits(self, state, seat, first):
        laid = (state["led"], state["answers"])[seat]
        return laid.count(0) <= first and laid.count(1) <= 3 - first


CONTRADICTIONS = [GivesBackLaidCards, ForgetsThePeek, ForgetsWhoCouldNotFollow]
SOUND = [Tricks, Peek, Follow]
