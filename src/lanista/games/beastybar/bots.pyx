"""Beasty Bar's scripted players, compiled.

Each is given a seat's view and nothing else: `read_view` rebuilds what the view says, and a bot
that looks ahead draws the rest itself. What a bot likes is a `Taste`, numbers per point of an
animal; how it thinks is its class.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t

import numpy as np

from lanista.games.beastybar.distilled cimport best_by_weight
from lanista.games.beastybar.game cimport rules_of
from lanista.games.beastybar.observation cimport draw_unseen, read_view, write_view
from lanista.games.beastybar.rules cimport (
    ACTS_AS, ALL_ACTIONS, CHAMELEON, CHAMELEON_NONE, CHOICE, CROCODILE, GIRAFFE, HIPPO, IN_BAR, LINE, LION,
    PARROT, PLAYED, POINTS, POINTS_OF, SKUNK, SPECIES_COUNT, ZEBRA, Match, Rules, Turn,
    apply_action, is_over, legal_actions, legal_bits, lowest, ones, owner_of, resolve, species_of,
)
from lanista.games.rows cimport rows_fit
from lanista.games.streams cimport THINK, below, normal, stream_key

from lanista.games.bots import bot_digest, foreign_decisions

cdef enum:
    SAMPLES = 16          # worlds that `outcome` plays each move in
    MOST_VIEW = 96        # bytes of a view, with room to spare

cdef double NEVER = -1e9

cdef struct Taste:
    double bar            # an animal in the bar
    double gate           # an animal at the Gate
    double back           # an animal in the fifth place; those between lie on the line
    double out            # an animal in THAT'S IT (a cost)
    double hand           # a card kept in hand
    double rival          # how much an opponent's animal counts against one's own
    double skunk          # how much more a skunk and what it does count
    double noise          # standard deviation of what is added to each move's score


cdef struct Mind:
    # What a bot knows before its first decision.
    Rules rules
    Taste taste
    int actions
    double worth[SPECIES_COUNT]


cdef double worth_in_line(int species) noexcept nogil:
    """What an animal in line is worth beyond its points, since it will act again or protect."""
    if species == CROCODILE:
        return 0.4
    if species == HIPPO:
        return 0.3
    if species == GIRAFFE or species == ZEBRA:
        return 0.2
    return 0.0


cdef double judge(const Mind* mind, const Turn* turn, int seat, int species, bint by_skunk) noexcept nogil:
    """Score a turn for `seat` by where it leaves the animals it moved."""
    cdef const Taste* taste = &mind.taste
    cdef double total = -taste.hand * mind.worth[species]
    cdef double step = (taste.gate - taste.back) / (LINE - 1), weight, side
    cdef int i, animal
    cdef uint8_t card
    for i in range(turn.count):
        card = turn.card[turn.line[i]]
        animal = species_of(card)
        side = 1.0 if owner_of(card) == seat else -taste.rival
        total += side * ((taste.gate - step * i) * mind.worth[animal] + worth_in_line(animal))
    for i in range(turn.entering):
        card = turn.entered[i]
        side = 1.0 if owner_of(card) == seat else -taste.rival
        total += side * taste.bar * mind.worth[species_of(card)]
    weight = taste.out * (taste.skunk if by_skunk else 1.0)
    for i in range(turn.leaving):
        card = turn.out[i]
        side = 1.0 if owner_of(card) == seat else -taste.rival
        total -= side * weight * mind.worth[species_of(card)]
    return total


cdef double try_action(const Mind* mind, const Match* match, int action, Turn* turn) noexcept nogil:
    """Play an action on the line and score it for the seat to move."""
    cdef int seat = match.to_move
    resolve(turn, match.line, match.count, <uint8_t>(PLAYED[action] | (seat << 4)),
            ACTS_AS[action], CHOICE[action])
    return judge(mind, turn, seat, PLAYED[action], ACTS_AS[action] == SKUNK)


cdef int greedy(const Mind* mind, const Match* match, const uint8_t* mask) noexcept nogil:
    """Return the action with the best score one turn ahead; the first of equals."""
    cdef int action, best = -1
    cdef double score, highest = NEVER
    cdef Turn turn
    for action in range(mind.actions):
        if mask[action]:
            score = try_action(mind, match, action, &turn)
            if score > highest:
                highest, best = score, action
    return best


cdef int any_of(uint64_t legal, uint64_t* stream) noexcept nogil:
    """Return one of the legal actions, which have a bit each, each as likely."""
    cdef int skip = <int>below(stream, <unsigned int>ones(legal))
    while skip > 0:
        legal &= legal - 1
        skip -= 1
    return lowest(legal)


cdef class BeastyBot:
    """A bot that takes the best move one turn ahead, by its taste."""

    cdef readonly str name
    cdef readonly str digest
    cdef uint64_t seed
    cdef int view_bytes
    cdef Mind mind

    def __init__(self, name, version, spec, seed, taste):
        self.name = name
        self.digest = bot_digest(spec.name, name, version)
        self.seed = seed
        self.view_bytes = spec.observation.length
        self.mind.rules = rules_of(spec.settings)
        self.mind.taste = taste
        self.mind.actions = spec.heads[0].size
        cdef int species
        for species in range(SPECIES_COUNT):
            points = POINTS_OF[species] if self.mind.rules.scoring == POINTS else 3.0
            doubled = self.mind.taste.skunk if species == SKUNK else 1.0
            self.mind.worth[species] = points * doubled

    def act(self, decisions, rows):
        """Return the actions, `[rows, 1]`, for `rows` of `decisions`."""
        cdef const int64_t[::1] row = np.ascontiguousarray(rows, dtype=np.int64)
        cdef const int32_t[::1] seat = decisions.seat
        cdef const int64_t[::1] match = decisions.match
        cdef const int32_t[::1] turn = decisions.turn
        cdef const uint8_t[:, ::1] view = decisions.observation
        cdef const uint8_t[:, ::1] mask = decisions.mask.view(np.uint8)
        actions = np.empty((row.shape[0], 1), np.int32)
        cdef int32_t[:, ::1] out = actions
        cdef Py_ssize_t i
        cdef int64_t r
        cdef uint64_t stream
        cdef Match known
        if (view.shape[1] != self.view_bytes or mask.shape[1] != self.mind.actions
                or not rows_fit(row, view.shape[0])):
            raise foreign_decisions(self, decisions)
        with nogil:
            for i in range(row.shape[0]):
                r = row[i]
                stream = stream_key(self.seed, match[r], seat[r], THINK, turn[r])
                read_view(&view[r, 0], &self.mind.rules, &known)
                out[i, 0] = self.choose(&known, &mask[r, 0], &stream)
        return actions

    cdef int choose(self, const Match* known, const uint8_t* mask, uint64_t* stream) noexcept nogil:
        return greedy(&self.mind, known, mask)


cdef class BiasedBot(BeastyBot):
    """Takes the best move one turn ahead, with something added to each score."""

    cdef int choose(self, const Match* known, const uint8_t* mask, uint64_t* stream) noexcept nogil:
        cdef int action, best = -1
        cdef double score, highest = NEVER
        cdef Turn turn
        for action in range(self.mind.actions):
            if mask[action]:
                score = try_action(&self.mind, known, action, &turn)
                score += self.bias(known, action, &turn, stream)
                if score > highest:
                    highest, best = score, action
        return best

    cdef double bias(
        self, const Match* known, int action, const Turn* turn, uint64_t* stream
    ) noexcept nogil:
        return 0.0


cdef class NoisyBot(BiasedBot):
    """Errs in each score."""

    cdef double bias(
        self, const Match* known, int action, const Turn* turn, uint64_t* stream
    ) noexcept nogil:
        return self.mind.taste.noise * normal(stream)


cdef class OnlineBot(BiasedBot):
    """Tracks the cards and waits for the moment of each.

    The crocodile and the chameleon are held for each other, the skunk until it nets points, the
    lion until no other lion can be there before it, and the parrot strikes near the Gate.
    """

    cdef double bias(
        self, const Match* known, int action, const Turn* turn, uint64_t* stream
    ) noexcept nogil:
        cdef int species = PLAYED[action], acts_as = ACTS_AS[action]
        cdef bint chameleon_held = (known.hand[0] >> CHAMELEON) & 1
        cdef double net
        if species == CHAMELEON:
            net = self.net_out(turn)
            if action == CHAMELEON_NONE or (net <= 0 and turn.entering == 0):
                return -3.0
            return 1.0 if acts_as == CROCODILE and net > 0 else 0.0
        if species == CROCODILE:
            net = self.net_out(turn)
            return 1.0 if chameleon_held and net > 2 else -1.0 if net <= 0 else 0.0
        if species == SKUNK:
            net = self.net_out(turn)
            return 0.5 * net if net > 0 else -4.0
        if species == LION:
            return 1.5 if self.lions_to_come(known) == 0 else -0.5
        if species == PARROT:
            return 1.0 if CHOICE[action] == 0 or CHOICE[action] == 1 else 0.0
        return 0.0

    cdef double net_out(self, const Turn* turn) noexcept nogil:
        """Points the turn costs the others, less those it costs the bot."""
        cdef int i
        cdef double total = 0
        for i in range(turn.leaving):
            if owner_of(turn.out[i]) == 0:
                total -= POINTS_OF[species_of(turn.out[i])]
            else:
                total += POINTS_OF[species_of(turn.out[i])]
        return total

    cdef int lions_to_come(self, const Match* known) noexcept nogil:
        """How many opponents may still play a lion."""
        cdef int seat, i, total = 0
        for seat in range(1, self.mind.rules.seats):
            for i in range(known.drawn[seat], SPECIES_COUNT):
                total += known.deck[seat][i] == LION
        return total


cdef class OutcomeBot(BeastyBot):
    """Judges each move by playing on to the next opening, in worlds drawn from what it knows.

    Everybody plays at random on the way: it supposes nothing about who sits opposite.
    """

    cdef int choose(self, const Match* known, const uint8_t* mask, uint64_t* stream) noexcept nogil:
        cdef double total[ALL_ACTIONS]
        cdef int action, sample, best = -1, legal = 0
        cdef Match world, trial
        for action in range(self.mind.actions):
            total[action] = 0
            if mask[action]:
                legal += 1
                best = action
        if legal == 1:
            return best
        for sample in range(SAMPLES):
            # Every move is tried in the same worlds, so that luck does not choose.
            world = known[0]
            draw_unseen(&world, &self.mind.rules, 0, stream)
            for action in range(self.mind.actions):
                if mask[action]:
                    trial = world
                    total[action] += self.play_on(&trial, action, stream)
        best = -1
        for action in range(self.mind.actions):
            if mask[action] and (best < 0 or total[action] > total[best]):
                best = action
        return best

    cdef double play_on(self, Match* world, int action, uint64_t* stream) noexcept nogil:
        """Play until the bot has seen enough; return the balance."""
        cdef int before = self.entered(world)
        apply_action(world, &self.mind.rules, action)
        while not is_over(world, &self.mind.rules):
            if world.to_move == 0 and self.has_seen_enough(world, before):
                break
            apply_action(world, &self.mind.rules, self.reply(world, stream))
        return self.balance(world)

    cdef bint has_seen_enough(self, const Match* world, int before) noexcept nogil:
        """Whether the line has opened since `before` animals were in the bar."""
        return self.entered(world) != before

    cdef int reply(self, const Match* world, uint64_t* stream) noexcept nogil:
        """Return what whoever is to move does on the way."""
        return any_of(legal_bits(world, &self.mind.rules), stream)

    cdef int entered(self, const Match* world) noexcept nogil:
        cdef int seat, total = 0
        for seat in range(self.mind.rules.seats):
            total += world.animals[seat]
        return total

    cdef double balance(self, const Match* world) noexcept nogil:
        """Weigh a position for the bot: bar, line, and cards still to be played."""
        cdef const Taste* taste = &self.mind.taste
        cdef double total = 0, side, step = (taste.gate - taste.back) / (LINE - 1)
        cdef int seat, i, n, rivals = self.mind.rules.seats - 1
        for seat in range(self.mind.rules.seats):
            side = 1.0 if seat == 0 else -1.0 / rivals
            for i in range(SPECIES_COUNT):
                if world.where[seat][i] == IN_BAR:
                    total += side * taste.bar * self.mind.worth[i]
        if is_over(world, &self.mind.rules):
            return total
        for i in range(world.count):
            n = species_of(world.line[i])
            side = 1.0 if owner_of(world.line[i]) == 0 else -1.0 / rivals
            total += side * ((taste.gate - step * i) * self.mind.worth[n] + worth_in_line(n))
        for i in range(SPECIES_COUNT):
            if (world.hand[0] >> i) & 1:
                total += taste.hand * self.mind.worth[i]
        return total


cdef class DistilledBot(BeastyBot):
    """A linear policy fitted to a strong agent's choices.

    It was fitted to two seats and printed points; it plays other rules by the same weights.
    """

    cdef int choose(self, const Match* known, const uint8_t* mask, uint64_t* stream) noexcept nogil:
        return best_by_weight(known, &self.mind.rules, mask, self.mind.actions)


cdef class DistilledOutcomeBot(OutcomeBot):
    """Judges each move by how matches end in which everybody plays on as `distilled` does.

    Everybody goes by what that seat would see.
    """

    cdef bint has_seen_enough(self, const Match* world, int before) noexcept nogil:
        return False

    cdef int reply(self, const Match* world, uint64_t* stream) noexcept nogil:
        cdef uint8_t view[MOST_VIEW]
        cdef uint8_t mask[ALL_ACTIONS]
        cdef Match seen
        cdef int i
        for i in range(self.mind.actions):
            mask[i] = 0
        legal_actions(world, &self.mind.rules, mask)
        write_view(world, &self.mind.rules, world.to_move, view)
        read_view(view, &self.mind.rules, &seen)
        return best_by_weight(&seen, &self.mind.rules, mask, self.mind.actions)


def _taste(**changes):
    taste = {
        "bar": 2.0, "gate": 1.1, "back": 0.3, "out": 0.5, "hand": 0.1, "rival": 1.0,
        "skunk": 1.0, "noise": 0.0,
    }
    return taste | changes


# Aggression is how much an opponent's animals count: 0.6 more than the number itself.
_TASTES = {
    "heuristic": _taste(),
    "aggressive": _taste(bar=3.0, rival=0.6 + 0.8),
    "defensive": _taste(bar=1.0, rival=0.6 + 0.2),
    "queue": _taste(gate=2.0),
    "skunk": _taste(skunk=2.0),
    "noisy": _taste(noise=1.5),
    "online": _taste(),
    "outcome": _taste(),
    "distilled": _taste(),
    "distilled_outcome": _taste(),
}
_CLASSES = {
    "noisy": NoisyBot, "online": OnlineBot, "outcome": OutcomeBot, "distilled": DistilledBot,
    "distilled_outcome": DistilledOutcomeBot,
}
_VERSIONS = dict.fromkeys(_TASTES, 1) | {"noisy": 2}

NAMES = tuple(name for name in _TASTES if name != "distilled_outcome")


def make_bot(name, spec, seed):
    """Make one of Beasty Bar's bots."""
    return _CLASSES.get(name, BeastyBot)(name, _VERSIONS[name], spec, seed, _TASTES[name])
