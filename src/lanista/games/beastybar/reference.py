"""Beasty Bar as the rulebook tells it, to be read beside the rulebook.

The oracle that the compiled engine is tested against: one small function for each animal, no
regard for speed. Knows nothing of slots, masks or bots, and the compiled engine never runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from lanista.games.beastybar.animals import (
    ACTIONS,
    CHAMELEON,
    CROCODILE,
    GIRAFFE,
    HIPPO,
    KANGAROO,
    LION,
    MONKEY,
    NUMBER,
    PARROT,
    POINTS,
    SEAL,
    SKUNK,
    SNAKE,
    SPECIES,
    ZEBRA,
    Play,
)
from lanista.games.contract import GameError, Spec
from lanista.games.streams import Stream

HAND = 4
SCORINGS = ("points", "count", "count_points")


@dataclass(frozen=True)
class Rules:
    """What editions and house rules differ in."""

    seats: int = 2
    scoring: str = "points"
    """By printed points ("points"); by most animals, equals by the lower total strength ("count")
    or by more points ("count_points")."""
    kangaroo_may_stay: bool = False
    parrot_may_decline: bool = False
    chameleon_may_decline: bool = False

    def __post_init__(self) -> None:
        if self.seats not in (2, 3, 4):
            raise GameError(f"Beasty Bar has 2 to 4 seats, not {self.seats}.")
        if self.scoring not in SCORINGS:
            raise GameError(f"scoring is {self.scoring!r}; choose from {', '.join(SCORINGS)}.")


@dataclass(eq=False)
class Card:
    """One card. Equal to itself only: two hippos of one owner are two cards."""

    species: int
    owner: int
    guise: int | None = None
    """The species that a chameleon copies, during its own action."""

    @property
    def acts_as(self) -> int:
        return self.species if self.guise is None else self.guise

    @property
    def strength(self) -> int:
        return self.acts_as + 1


Line = list[Card]
"""The animals in line, Gate first."""


# The animals. Each function is the action of `me`, which stands in `line`: it changes the line and
# returns the cards that went to THAT'S IT, in order. Only kangaroo and parrot use `choice`.


def lion(line: Line, me: Card, choice: int | None) -> Line:
    """Leaves if a lion is there already; else chases all monkeys away and goes first."""
    if any(other.acts_as == LION for other in line if other is not me):
        return _leave(line, [me])
    monkeys = _leave(line, [card for card in line if card.acts_as == MONKEY])
    line.remove(me)
    line.insert(0, me)
    return monkeys


def hippo(line: Line, me: Card, choice: int | None) -> Line:
    """Pushes past every weaker animal until one as strong, or a zebra, stops it."""
    while (other := _ahead_of(line, me)) is not None and not _stops(other, me):
        _step_over(line, me, other)
    return []


def crocodile(line: Line, me: Card, choice: int | None) -> Line:
    """Eats the weaker animals ahead, one after another, until one as strong, or a zebra."""
    eaten: Line = []
    while (other := _ahead_of(line, me)) is not None and not _stops(other, me):
        eaten += _leave(line, [other])
    return eaten


def snake(line: Line, me: Card, choice: int | None) -> Line:
    """Sorts the whole line, the strongest at the Gate; equals keep their order."""
    line.sort(key=lambda card: -card.strength)
    return []


def giraffe(line: Line, me: Card, choice: int | None) -> Line:
    """Steps over the one animal ahead if that is weaker."""
    other = _ahead_of(line, me)
    if other is not None and other.strength < me.strength:
        _step_over(line, me, other)
    return []


def zebra(line: Line, me: Card, choice: int | None) -> Line:
    """Has no action; it stops hippos and crocodiles."""
    return []


def seal(line: Line, me: Card, choice: int | None) -> Line:
    """Swaps Gate and exit."""
    line.reverse()
    return []


def chameleon(line: Line, me: Card, choice: int | None) -> Line:
    """Has no action of its own; `act` gives it the guise of the animal it copies."""
    return []


def monkey(line: Line, me: Card, choice: int | None) -> Line:
    """With another monkey: hippos and crocodiles leave, the new monkey leads the monkeys first."""
    older = [card for card in line if card.acts_as == MONKEY and card is not me]
    if not older:
        return []
    gone = _leave(line, [card for card in line if card.acts_as in (HIPPO, CROCODILE)])
    rest = [card for card in line if card.acts_as != MONKEY]
    line[:] = [me, *reversed(older), *rest]
    return gone


def kangaroo(line: Line, me: Card, choice: int | None) -> Line:
    """Jumps over the last `choice` animals."""
    line.remove(me)
    line.insert(len(line) - (choice or 0), me)
    return []


def parrot(line: Line, me: Card, choice: int | None) -> Line:
    """Sends the animal in place `choice` away, if one was chosen."""
    return [] if choice is None else _leave(line, [line[choice]])


def skunk(line: Line, me: Card, choice: int | None) -> Line:
    """Sends all animals of the two strongest species away; skunks do not count."""
    species = {card.acts_as for card in line} - {SKUNK}
    strongest = sorted(species)[-2:]
    return _leave(line, [card for card in line if card.acts_as in strongest])


Action = Callable[[Line, Card, int | None], Line]

ACTION_OF: dict[int, Action] = {
    LION: lion,
    HIPPO: hippo,
    CROCODILE: crocodile,
    SNAKE: snake,
    GIRAFFE: giraffe,
    ZEBRA: zebra,
    SEAL: seal,
    CHAMELEON: chameleon,
    MONKEY: monkey,
    KANGAROO: kangaroo,
    PARROT: parrot,
    SKUNK: skunk,
}

RECURRING = (HIPPO, CROCODILE, GIRAFFE)


def _ahead_of(line: Line, me: Card) -> Card | None:
    place = line.index(me)
    return line[place - 1] if place > 0 else None


def _stops(other: Card, me: Card) -> bool:
    """Say whether `other` stops the hippo or crocodile `me`."""
    return other.strength >= me.strength or other.acts_as == ZEBRA


def _step_over(line: Line, me: Card, other: Card) -> None:
    line.remove(me)
    line.insert(line.index(other), me)


def _leave(line: Line, going: Line) -> Line:
    for card in going:
        line.remove(card)
    return going


# A turn.


def play_turn(line: Line, card: Card, play: Play) -> tuple[Line, Line]:
    """Play `card` on `line`: steps 1 to 4. Return who entered the bar and who went out."""
    line.append(card)
    out = act(line, card, play)
    out += recur(line, card)
    entered, bounced = check_five(line)
    return entered, out + bounced


def act(line: Line, card: Card, play: Play) -> Line:
    """Step 2: the action of the animal just played."""
    card.guise = play.copy
    out = ACTION_OF[card.acts_as](line, card, play.choice)
    card.guise = None
    return out


def recur(line: Line, played: Card) -> Line:
    """Step 3: hippos, crocodiles and giraffes act again, each once, from the Gate back.

    Who acts is fixed before the first acts: an animal that is overtaken must not act twice.
    """
    out: Line = []
    acting = [card for card in line if card.species in RECURRING and card is not played]
    for card in acting:
        if card in line:
            out += ACTION_OF[card.species](line, card, None)
    return out


def check_five(line: Line) -> tuple[Line, Line]:
    """Step 4: of five animals two enter the bar and the last is bounced."""
    if len(line) < 5:
        return [], []
    entered, bounced = line[:2], line[4:]
    line[:] = line[2:4]
    return entered, bounced


# A match.


@dataclass(eq=False)
class State:
    """A position, all of it; what a seat may see is `observation`."""

    rules: Rules
    line: Line
    hands: list[Line]
    piles: list[Line]
    """The next card to draw is the first."""
    bar: Line
    """In order of entering."""
    out: Line
    """In order of leaving."""
    turn: int
    """Turns played so far."""
    to_move: int


def deal(rules: Rules, stream: Stream, first: int = 0) -> State:
    """Return the start of a match; `first` is the seat that begins, -1 draws one."""
    if first not in range(-1, rules.seats):
        raise GameError(f"first is {first}; give a seat from 0 to {rules.seats - 1}, or -1.")
    hands, piles = [], []
    for seat in range(rules.seats):
        order = list(range(12))
        stream.shuffle(order)
        cards = [Card(species, seat) for species in order]
        hands.append(cards[:HAND])
        piles.append(cards[HAND:])
    if first == -1:
        first = stream.below(rules.seats)
    return State(rules, [], hands, piles, [], [], turn=0, to_move=first)


def state_from(spec: Spec, values: Mapping[str, Any]) -> State:
    """Return a match of the compiled game, as its `state(slot)` tells it, as a position of ours.

    The compiled game knows who is in the bar and out, not in which order they got there.
    """
    rules = Rules(**{field.name: spec.settings[field.name] for field in fields(Rules)})
    by_seat = {
        name: [[Card(species, seat) for species in row] for seat, row in enumerate(values[name])]
        for name in ("hands", "piles", "bar", "out")
    }
    return State(
        rules,
        line=[Card(species, seat) for species, seat in values["line"]],
        hands=by_seat["hands"],
        piles=by_seat["piles"],
        bar=[card for cards in by_seat["bar"] for card in cards],
        out=[card for cards in by_seat["out"] for card in cards],
        turn=values["turn"],
        to_move=values["to_move"],
    )


def plays_of(line: Line, species: int, rules: Rules) -> Iterator[Play]:
    """Yield every way to play a card of `species` on `line`."""
    if species != CHAMELEON:
        for choice in choices_of(line, species, rules):
            yield Play(species, None, choice)
        return
    copyable = {card.species for card in line} - {CHAMELEON}
    if not copyable or rules.chameleon_may_decline:
        yield Play(CHAMELEON)
    for copied in copyable:
        for choice in choices_of(line, copied, rules):
            yield Play(CHAMELEON, copied, choice)


def choices_of(line: Line, species: int, rules: Rules) -> list[int | None]:
    """Return what a player can choose for the action of `species`, played on `line`."""
    if species == KANGAROO:
        jumps: list[int | None] = [jump for jump in (1, 2) if jump <= len(line)]
        return [0, *jumps] if not line or rules.kangaroo_may_stay else jumps
    if species == PARROT:
        targets: list[int | None] = list(range(len(line)))
        return [None, *targets] if not line or rules.parrot_may_decline else targets
    return [None]


def legal(state: State) -> list[int]:
    """Return the numbers of all legal actions, ascending; none once the match is over."""
    hand = state.hands[state.to_move]
    return sorted(
        NUMBER[play] for card in hand for play in plays_of(state.line, card.species, state.rules)
    )


def apply(state: State, action: int) -> None:
    """Play one turn, all five steps, changing `state`."""
    if action not in legal(state):
        raise GameError(f"Action {action} is not legal for seat {state.to_move}; see legal(state).")
    play = ACTIONS[action]
    hand, pile = state.hands[state.to_move], state.piles[state.to_move]
    card = next(card for card in hand if card.species == play.species)
    hand.remove(card)
    entered, out = play_turn(state.line, card, play)
    state.bar += entered
    state.out += out
    if pile:
        hand.append(pile.pop(0))
    state.turn += 1
    state.to_move = (state.to_move + 1) % state.rules.seats


def over(state: State) -> bool:
    """Say whether every seat has played all its cards."""
    return state.turn == len(SPECIES) * state.rules.seats


# The end.


def scores(state: State) -> list[tuple[int, ...]]:
    """Return a tuple for each seat: the higher is better.

    Its first number is the one a player reads off the board: points, or animals in the bar.
    """
    return [_score(state, seat) for seat in range(state.rules.seats)]


def _score(state: State, seat: int) -> tuple[int, ...]:
    own = [card.species for card in state.bar if card.owner == seat]
    points = sum(POINTS[species] for species in own)
    if state.rules.scoring == "points":
        return (points,)
    if state.rules.scoring == "count_points":
        return (len(own), points)
    return (len(own), -sum(species + 1 for species in own))


def returns(state: State) -> list[float]:
    """Return each seat's mean result against the others: 1 better, 0 level, -1 worse."""
    final = scores(state)
    others = state.rules.seats - 1
    return [sum((own > s) - (own < s) for s in final) / others for own in final]


def places(state: State) -> list[int]:
    """Return each seat's place: 1 is best, equals share."""
    final = scores(state)
    return [1 + sum(s > own for s in final) for own in final]


# What a seat sees.

TO_COME, IN_LINE, IN_BAR, OUT = range(4)


def observation(state: State, seat: int) -> list[int]:
    """Return all that `seat` can know, seats counted from its own: 0 is the seat itself."""
    seats = state.rules.seats
    from_here = [(seat + i) % seats for i in range(seats)]
    empty = [0] * (4 - len(state.line))
    hand = {card.species for card in state.hands[seat]}
    own_bar = [[card.species for card in state.bar if card.owner == s] for s in from_here]
    return [
        *(card.species + 1 for card in state.line),
        *empty,
        *((card.owner - seat) % seats + 1 for card in state.line),
        *empty,
        *(int(species in hand) for species in range(12)),
        *(place for s in from_here for place in _whereabouts(state, s)),
        state.turn,
        *(sum(POINTS[species] for species in bar) for bar in own_bar),
        *(len(bar) for bar in own_bar),
    ]


def _whereabouts(state: State, seat: int) -> list[int]:
    """Return where each of a seat's twelve animals is; hand and pile look alike."""
    where = [TO_COME] * 12
    for place, cards in ((IN_LINE, state.line), (IN_BAR, state.bar), (OUT, state.out)):
        for card in cards:
            if card.owner == seat:
                where[card.species] = place
    return where
