"""Beasty Bar in C; rules.pxd says what is here. The rulebook's readable form is reference.py."""

from libc.string cimport memcpy, memmove


# Steps 1 to 4 of a turn, on the line alone.

cdef void resolve(
    Turn* turn, const uint8_t* line, int count, uint8_t card, int acts_as, int choice
) noexcept nogil:
    """Play `card` on a line of `count` cards and let the turn run to the five-animal check."""
    cdef int i
    for i in range(count):
        turn.card[i] = line[i]
        turn.species[i] = <uint8_t>species_of(line[i])
        turn.line[i] = <uint8_t>i
    turn.card[count] = card
    turn.species[count] = <uint8_t>acts_as
    turn.line[count] = <uint8_t>count
    turn.count = <uint8_t>(count + 1)
    turn.leaving = turn.entering = 0
    act(turn, count, acts_as, choice)
    turn.species[count] = <uint8_t>species_of(card)
    recur(turn, count)
    if turn.count == LINE:
        turn.entered[0], turn.entered[1] = turn.card[turn.line[0]], turn.card[turn.line[1]]
        turn.entering = 2
        remove(turn, 4)
        turn.line[0], turn.line[1] = turn.line[2], turn.line[3]
        turn.count = 2


cdef void recur(Turn* turn, int newcomer) noexcept nogil:
    """Step 3: hippos, crocodiles and giraffes act once each, in the order they stood in."""
    cdef uint8_t actors[LINE]
    cdef int i, number = 0, place, species
    for i in range(turn.count):
        species = turn.species[turn.line[i]]
        if (species == HIPPO or species == CROCODILE or species == GIRAFFE) and turn.line[i] != newcomer:
            actors[number] = turn.line[i]
            number += 1
    for i in range(number):
        place = place_of(turn, actors[i])
        if place >= 0:
            act_at(turn, place, turn.species[actors[i]], NO_CHOICE)


cdef inline int place_of(const Turn* turn, int animal) noexcept nogil:
    cdef int i
    for i in range(turn.count):
        if turn.line[i] == animal:
            return i
    return -1


cdef inline void act(Turn* turn, int animal, int species, int choice) noexcept nogil:
    act_at(turn, place_of(turn, animal), species, choice)


cdef void act_at(Turn* turn, int place, int species, int choice) noexcept nogil:
    """Let the animal at `place` do what `species` does."""
    if species == LION:
        lion(turn, place)
    elif species == HIPPO:
        while place > 0 and yields(turn, place - 1, HIPPO):
            move(turn, place, place - 1)
            place -= 1
    elif species == CROCODILE:
        while place > 0 and yields(turn, place - 1, CROCODILE):
            remove(turn, place - 1)
            place -= 1
    elif species == SNAKE:
        snake(turn)
    elif species == GIRAFFE:
        if place > 0 and turn.species[turn.line[place - 1]] < GIRAFFE:
            move(turn, place, place - 1)
    elif species == SEAL:
        reverse(turn, 0, turn.count)
    elif species == MONKEY:
        monkey(turn, place)
    elif species == KANGAROO:
        move(turn, place, place - choice if choice < place else 0)
    elif species == PARROT:
        if choice != NO_CHOICE:
            remove(turn, choice)
    elif species == SKUNK:
        skunk(turn)


cdef inline bint yields(const Turn* turn, int place, int species) noexcept nogil:
    """Whether the animal at `place` gives way to a hippo or crocodile."""
    cdef int other = turn.species[turn.line[place]]
    return other < species and other != ZEBRA


cdef inline void move(Turn* turn, int place, int to) noexcept nogil:
    """Move the animal at `place` forward to `to`."""
    cdef uint8_t animal = turn.line[place]
    while place > to:
        turn.line[place] = turn.line[place - 1]
        place -= 1
    turn.line[to] = animal


cdef inline void remove(Turn* turn, int place) noexcept nogil:
    """Send the animal at `place` to THAT'S IT."""
    turn.out[turn.leaving] = turn.card[turn.line[place]]
    turn.leaving += 1
    turn.count -= 1
    while place < turn.count:
        turn.line[place] = turn.line[place + 1]
        place += 1


cdef void remove_species(Turn* turn, uint16_t species) noexcept nogil:
    """Send every animal of `species` (a bit each) to THAT'S IT, from the Gate on."""
    cdef int place = 0
    while place < turn.count:
        if (species >> turn.species[turn.line[place]]) & 1:
            remove(turn, place)
        else:
            place += 1


cdef void reverse(Turn* turn, int start, int end) noexcept nogil:
    cdef uint8_t animal
    end -= 1
    while start < end:
        animal = turn.line[start]
        turn.line[start] = turn.line[end]
        turn.line[end] = animal
        start += 1
        end -= 1


cdef void lion(Turn* turn, int place) noexcept nogil:
    cdef int i
    cdef uint8_t me = turn.line[place]
    for i in range(turn.count):
        if i != place and turn.species[turn.line[i]] == LION:
            remove(turn, place)
            return
    remove_species(turn, 1 << MONKEY)
    move(turn, place_of(turn, me), 0)


cdef void snake(Turn* turn) noexcept nogil:
    """Sort by strength, strongest at the Gate; equals keep their order."""
    cdef int i, to
    for i in range(1, turn.count):
        to = i
        while to > 0 and turn.species[turn.line[to - 1]] < turn.species[turn.line[i]]:
            to -= 1
        move(turn, i, to)


cdef void monkey(Turn* turn, int place) noexcept nogil:
    cdef int i, others = 0
    cdef uint8_t me = turn.line[place]
    for i in range(turn.count):
        others += turn.species[turn.line[i]] == MONKEY
    if others < 2:
        return
    remove_species(turn, (1 << HIPPO) | (1 << CROCODILE))
    # Moving each older monkey to the front in turn reverses them; the new one goes last, so first.
    for i in range(turn.count):
        if turn.species[turn.line[i]] == MONKEY and turn.line[i] != me:
            move(turn, i, 0)
    move(turn, place_of(turn, me), 0)


cdef void skunk(Turn* turn) noexcept nogil:
    cdef uint16_t present = 0, doomed = 0
    cdef int i, found = 0
    for i in range(turn.count):
        present |= <uint16_t>1 << turn.species[turn.line[i]]
    i = LION
    while i > SKUNK and found < 2:
        if (present >> i) & 1:
            doomed |= <uint16_t>1 << i
            found += 1
        i -= 1
    remove_species(turn, doomed)


# A whole match.

cdef inline uint64_t plain_plays(unsigned int species) noexcept nogil:
    """Return the plain plays of a set of species; both have a bit each, in the same order."""
    return (species & 1) | (species >> 2 & 2) | (species >> 3 & 0x1FC)


cdef inline uint64_t first_bits(int number) noexcept nogil:
    return (<uint64_t>1 << number) - 1


cdef uint64_t legal_bits(const Match* match, const Rules* rules) noexcept nogil:
    """Return the legal actions of the seat to move, a bit each."""
    cdef uint64_t hand = match.hand[match.to_move], present = 0, legal = plain_plays(hand), one = 1
    cdef int i, count = match.count
    cdef bint stay = rules.kangaroo_may_stay, decline = rules.parrot_may_decline
    if (hand >> KANGAROO) & 1:
        if count == 0 or stay:
            legal |= one << KANGAROO_0
        legal |= first_bits(min(count, 2)) << (KANGAROO_0 + 1)
    if (hand >> PARROT) & 1:
        if count == 0 or decline:
            legal |= one << PARROT_NONE
        legal |= first_bits(count) << (PARROT_NONE + 1)
    if not (hand >> CHAMELEON) & 1:
        return legal
    for i in range(count):
        present |= one << species_of(match.line[i])
    present &= ~(one << CHAMELEON)
    if present == 0 or rules.chameleon_may_decline:
        legal |= one << CHAMELEON_NONE
    legal |= plain_plays(present) << CHAMELEON_PLAIN
    if (present >> KANGAROO) & 1:
        legal |= first_bits(min(count, 2)) << CHAMELEON_KANGAROO_1
        if stay:
            legal |= one << CHAMELEON_STAYS
    if (present >> PARROT) & 1:
        legal |= first_bits(count) << CHAMELEON_PARROT_0
        if decline:
            legal |= one << CHAMELEON_SPARES
    return legal


cdef void legal_actions(const Match* match, const Rules* rules, uint8_t* mask) noexcept nogil:
    """Set the legal actions of the seat to move in `mask`, which holds zeros."""
    cdef uint64_t legal = legal_bits(match, rules)
    while legal:
        mask[lowest(legal)] = 1
        legal &= legal - 1


cdef void apply_action(Match* match, const Rules* rules, int action) noexcept nogil:
    """Play one whole turn of the seat to move."""
    cdef int seat = match.to_move, species = PLAYED[action], i, owner
    cdef uint8_t card
    cdef Turn turn
    match.hand[seat] &= ~(<uint16_t>1 << species)
    match.where[seat][species] = IN_LINE
    resolve(&turn, match.line, match.count, <uint8_t>(species | (seat << 4)),
            ACTS_AS[action], CHOICE[action])
    for i in range(turn.count):
        match.line[i] = turn.card[turn.line[i]]
    for i in range(turn.count, LINE):
        match.line[i] = 0
    match.count = turn.count
    for i in range(turn.entering):
        card = turn.entered[i]
        owner = owner_of(card)
        match.where[owner][species_of(card)] = IN_BAR
        match.points[owner] += POINTS_OF[species_of(card)]
        match.animals[owner] += 1
    for i in range(turn.leaving):
        match.where[owner_of(turn.out[i])][species_of(turn.out[i])] = GONE
    if match.drawn[seat] < SPECIES_COUNT:
        match.hand[seat] |= <uint16_t>1 << match.deck[seat][match.drawn[seat]]
        match.drawn[seat] += 1
    match.turn += 1
    match.to_move = <uint8_t>((seat + 1) % rules.seats)


cdef bint is_over(const Match* match, const Rules* rules) noexcept nogil:
    return match.turn == SPECIES_COUNT * rules.seats


cdef bint is_sound(const Match* match, const Rules* rules) noexcept nogil:
    """Whether a match that is not over can be played on: every card is one, and in one place."""
    cdef int seat, i
    cdef uint16_t seen
    if match.count >= LINE or match.turn >= SPECIES_COUNT * rules.seats or match.to_move >= rules.seats:
        return False
    for i in range(match.count):
        if species_of(match.line[i]) >= SPECIES_COUNT or owner_of(match.line[i]) >= rules.seats:
            return False
        if match.where[owner_of(match.line[i])][species_of(match.line[i])] != IN_LINE:
            return False
    for seat in range(rules.seats):
        # What is in the hand, in the pile or has been played is each species once.
        seen = match.hand[seat]
        if match.drawn[seat] > SPECIES_COUNT or match.hand[seat] >> SPECIES_COUNT:
            return False
        for i in range(match.drawn[seat], SPECIES_COUNT):
            if match.deck[seat][i] >= SPECIES_COUNT or (seen >> match.deck[seat][i]) & 1:
                return False
            seen |= <uint16_t>1 << match.deck[seat][i]
        for i in range(SPECIES_COUNT):
            if match.where[seat][i] > GONE or (match.where[seat][i] == TO_COME) != ((seen >> i) & 1):
                return False
    return match.hand[match.to_move] != 0


cdef void standing(const Match* match, const Rules* rules, float* score) noexcept nogil:
    """Write numbers that order the seats as the scoring does: the higher, the better."""
    cdef int seat, i, strength
    for seat in range(rules.seats):
        if rules.scoring == POINTS:
            score[seat] = match.points[seat]
        elif rules.scoring == COUNT_POINTS:
            score[seat] = match.animals[seat] * 64 + match.points[seat]
        else:
            strength = 0
            for i in range(SPECIES_COUNT):
                strength += (match.where[seat][i] == IN_BAR) * (i + 1)
            score[seat] = match.animals[seat] * 128 - strength


def resolve_line(line, species, seat, action):
    """Play a card on a line of (species, seat); return line, entered and out in the same form."""
    cdef uint8_t cards[LINE]
    cdef Turn turn
    for i, (kind, owner) in enumerate(line):
        cards[i] = kind | (owner << 4)
    resolve(&turn, cards, len(line), species | (seat << 4), ACTS_AS[action], CHOICE[action])
    show = lambda card: (species_of(card), owner_of(card))
    return (
        [show(turn.card[turn.line[i]]) for i in range(turn.count)],
        [show(turn.entered[i]) for i in range(turn.entering)],
        [show(turn.out[i]) for i in range(turn.leaving)],
    )
