"""A card game for three with tricks: eighteen cards of three suits, six each, hearts are trumps.

Suit must be followed. The highest trump, or else the highest card of the suit led, takes the trick
and leads the next. A trick is a point, and the last one two.
"""

from dataclasses import dataclass, field

from lanista.games import Facts, PythonGame, View

SEATS, SUITS, RANKS = 3, 3, 6
CARDS, HAND, TRUMPS = SUITS * RANKS, SUITS * RANKS // SEATS, 0


@dataclass
class Round:
    hands: list[list[int]]
    leader: int
    trick: list[int] = field(default_factory=list)
    played: set[int] = field(default_factory=set)
    points: list[int] = field(default_factory=lambda: [0] * SEATS)


class Tricks(PythonGame):
    """Three hands of six cards."""

    facts = Facts(SEATS, CARDS, hidden=True, chance=True, zero_sum=True)
    observation = 3 * CARDS + 2 * SEATS
    moves = CARDS

    def deal(self, rng):
        cards = list(range(CARDS))
        for at in range(CARDS - 1, 0, -1):
            other = rng.below(at + 1)
            cards[at], cards[other] = cards[other], cards[at]
        hands = [sorted(cards[seat * HAND : (seat + 1) * HAND]) for seat in range(SEATS)]
        return Round(hands, rng.below(SEATS))

    def view(self, game, seat):
        if (game.leader + len(game.trick)) % SEATS != seat:
            return None
        held, trick = game.hands[seat], game.trick
        numbers = [float(card in held) for card in range(CARDS)]
        numbers += [(trick.index(card) + 1) / 2 if card in trick else 0.0 for card in range(CARDS)]
        numbers += [float(card in game.played) for card in range(CARDS)]
        numbers += [game.points[(seat + at) % SEATS] / 4 for at in range(SEATS)]
        numbers += [float((game.leader - seat) % SEATS == at) for at in range(SEATS)]
        following = [card for card in held if trick and card // RANKS == trick[0] // RANKS]
        return View(numbers, legal=following or held)

    def apply(self, game, moves, rng):
        seat, card = next(iter(moves.items()))
        game.hands[seat].remove(card)
        game.trick.append(card)
        game.played.add(card)
        if len(game.trick) < SEATS:
            return None
        lead = game.trick[0] // RANKS
        ranks = [
            (card // RANKS == TRUMPS, card // RANKS == lead, card % RANKS) for card in game.trick
        ]
        game.leader = (game.leader + ranks.index(max(ranks))) % SEATS
        game.points[game.leader] += 1 if game.hands[0] else 2
        game.trick = []
        if game.hands[0]:
            return None
        mean = sum(game.points) / SEATS
        return [points - mean for points in game.points]
