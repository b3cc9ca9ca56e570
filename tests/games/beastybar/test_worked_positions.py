"""The worked positions and edge cases of the rules page, for both engines.

The card played belongs to seat 1, so that it can be told from those in line.
"""

import pytest

from lanista.games.beastybar.puzzles import resolve

# line before, card, copy, choice, line after, to the bar, to THAT'S IT
WORKED = [
    ("lion giraffe", "hippo", None, None, "lion hippo:1 giraffe", "", ""),
    ("zebra parrot", "hippo", None, None, "zebra hippo:1 parrot", "", ""),
    ("hippo hippo:2", "kangaroo", None, 2, "hippo hippo:2 kangaroo:1", "", ""),
    ("parrot crocodile", "kangaroo", None, 2, "crocodile", "", "parrot kangaroo:1"),
    ("monkey lion", "lion", None, None, "monkey lion", "", "lion:1"),
    ("hippo monkey crocodile", "monkey", None, None, "monkey:1 monkey", "", "hippo crocodile"),
    ("lion monkey", "monkey", None, None, "monkey:1 monkey lion", "", ""),
    ("lion seal", "chameleon", "lion", None, "lion seal", "", "chameleon:1"),
    ("monkey hippo", "chameleon", "monkey", None, "chameleon:1 monkey", "", "hippo"),
    ("skunk lion hippo", "chameleon", "skunk", None, "skunk chameleon:1", "", "lion hippo"),
    ("hippo seal", "chameleon", "hippo", None, "hippo chameleon:1 seal", "", ""),
    ("chameleon", "chameleon", None, None, "chameleon chameleon:1", "", ""),
    ("hippo crocodile zebra", "seal", None, None, "seal:1 zebra hippo crocodile", "", ""),
    ("crocodile zebra kangaroo", "seal", None, None, "seal:1 kangaroo zebra crocodile", "", ""),
    ("lion lion:2 seal", "skunk", None, None, "skunk:1", "", "lion lion:2 seal"),
    ("chameleon skunk", "skunk", None, None, "skunk skunk:1", "", "chameleon"),
    ("lion hippo crocodile", "skunk", None, None, "crocodile skunk:1", "", "lion hippo"),
    ("", "parrot", None, None, "parrot:1", "", ""),
    ("seal zebra crocodile", "parrot", None, 1, "crocodile parrot:1", "", "zebra seal"),
    ("zebra", "giraffe", None, None, "giraffe:1 zebra", "", ""),
    ("giraffe", "giraffe", None, None, "giraffe giraffe:1", "", ""),
    ("crocodile zebra monkey", "snake", None, None, "crocodile snake:1 zebra monkey", "", ""),
    ("snake seal kangaroo zebra", "crocodile", None, None,
     "kangaroo zebra", "snake seal", "crocodile:1"),
    ("seal giraffe kangaroo giraffe:2", "zebra", None, None,
     "giraffe:2 kangaroo", "giraffe seal", "zebra:1"),
]  # fmt: skip

EDGES = {
    "lion goes first on an empty line": ("", "lion", None, None, "lion:1", "", ""),
    "lion chases all monkeys and passes a zebra":
        ("zebra monkey seal monkey:2", "lion", None, None,
         "lion:1 zebra seal", "", "monkey monkey:2"),
    "lion of the same colour is refused too":
        ("lion:1 monkey", "lion", None, None, "lion:1 monkey", "", "lion:1"),
    "chameleon in line is no lion":
        ("chameleon seal", "lion", None, None, "lion:1 chameleon seal", "", ""),
    "hippo cannot pass a lion just played":
        ("hippo seal", "lion", None, None, "lion:1 hippo seal", "", ""),
    "hippo stops at a hippo": ("hippo seal", "hippo", None, None, "hippo hippo:1 seal", "", ""),
    "hippo passes crocodiles":
        ("crocodile snake", "hippo", None, None, "hippo:1 crocodile snake", "", ""),
    "hippo does not act again in the step of recurring animals":
        ("seal hippo", "hippo", None, None, "hippo seal hippo:1", "", ""),
    "crocodile stops at a crocodile":
        ("crocodile seal skunk", "crocodile", None, None,
         "crocodile crocodile:1", "", "skunk seal"),
    "crocodile eats neither hippo nor lion":
        ("lion hippo seal", "crocodile", None, None, "lion hippo crocodile:1", "", "seal"),
    "crocodile eats what stands behind a zebra, and a line of five that shrank stays shut":
        ("seal zebra parrot skunk", "crocodile", None, None,
         "seal zebra crocodile:1", "", "skunk parrot"),
    "crocodile does not act again in the step of recurring animals":
        ("seal hippo", "crocodile", None, None, "hippo seal crocodile:1", "", ""),
    "crocodile spares what is behind it":
        ("crocodile skunk", "zebra", None, None, "crocodile skunk zebra:1", "", ""),
    "four hippos keep their order":
        ("hippo hippo:2 hippo:3", "hippo", None, None, "hippo hippo:2 hippo:3 hippo:1", "", ""),
    "giraffe steps over one animal only":
        ("skunk parrot", "giraffe", None, None, "skunk giraffe:1 parrot", "", ""),
    "older giraffe steps once a turn":
        ("skunk parrot giraffe", "zebra", None, None, "skunk giraffe parrot zebra:1", "", ""),
    "two giraffes pass the same animal in order":
        ("kangaroo giraffe giraffe:2", "zebra", None, None,
         "giraffe giraffe:2 kangaroo zebra:1", "", ""),
    "giraffe acts before the hippo that overtakes it":
        ("seal parrot giraffe hippo", "monkey", None, None,
         "giraffe parrot", "hippo seal", "monkey:1"),
    "zebra stops no kangaroo":
        ("zebra lion", "kangaroo", None, 2, "kangaroo:1 zebra lion", "", ""),
    "zebra protects nobody from monkeys":
        ("crocodile zebra monkey", "monkey", None, None,
         "monkey:1 monkey zebra", "", "crocodile"),
    "zebra is removed by a skunk":
        ("monkey zebra seal", "skunk", None, None, "monkey skunk:1", "", "zebra seal"),
    "hippo passes a zebra sorted behind it":
        ("zebra hippo", "snake", None, None, "hippo snake:1 zebra", "", ""),
    "hippo set free by a seal acts on the reversed line, whose front two enter":
        ("parrot zebra hippo skunk", "seal", None, None,
         "skunk zebra", "hippo seal:1", "parrot"),
    "crocodile looks the other way after a seal":
        ("crocodile skunk zebra", "seal", None, None, "seal:1 zebra crocodile", "", "skunk"),
    "seal reverses before the line opens":
        ("skunk parrot kangaroo monkey", "seal", None, None,
         "kangaroo parrot", "seal:1 monkey", "skunk"),
    "seal is first on an empty line": ("", "seal", None, None, "seal:1", "", ""),
    "snake stands behind older snakes, chameleons count five":
        ("monkey chameleon snake seal", "snake", None, None,
         "seal chameleon", "snake snake:1", "monkey"),
    "snake keeps the order of equals":
        ("seal:2 parrot seal parrot:3", "snake", None, None,
         "seal parrot", "snake:1 seal:2", "parrot:3"),
    "skunk with one other species removes that":
        ("seal skunk seal:2", "skunk", None, None, "skunk skunk:1", "", "seal seal:2"),
    "skunk with skunks alone removes nothing":
        ("skunk", "skunk", None, None, "skunk skunk:1", "", ""),
    "skunk removes a chameleon as a five":
        ("chameleon monkey parrot", "skunk", None, None,
         "parrot skunk:1", "", "chameleon monkey"),
    "skunk removes every animal of both species":
        ("parrot kangaroo parrot:2 kangaroo:2", "skunk", None, None,
         "skunk:1", "", "parrot kangaroo parrot:2 kangaroo:2"),
    "one monkey does nothing": ("hippo", "monkey", None, None, "hippo monkey:1", "", ""),
    "older monkeys line up reversed":
        ("monkey seal monkey:2 hippo", "monkey", None, None,
         "monkey:1 monkey:2 monkey seal", "", "hippo"),
    "chameleon in line makes no pair with a monkey":
        ("hippo chameleon", "monkey", None, None, "hippo chameleon monkey:1", "", ""),
    "kangaroo alone stays": ("", "kangaroo", None, None, "kangaroo:1", "", ""),
    "kangaroo with one ahead jumps it": ("lion", "kangaroo", None, None, "kangaroo:1 lion", "", ""),
    "kangaroo may jump one of several":
        ("lion zebra", "kangaroo", None, 1, "lion kangaroo:1 zebra", "", ""),
    "kangaroo jumps before the line opens":
        ("lion zebra seal monkey", "kangaroo", None, 2,
         "kangaroo:1 seal", "lion zebra", "monkey"),
    "kangaroo is passed again by the hippo it jumped":
        ("zebra hippo", "kangaroo", None, 1, "zebra hippo kangaroo:1", "", ""),
    "parrot removes a lion and keeps its place":
        ("lion seal", "parrot", None, 0, "seal parrot:1", "", "lion"),
    "parrot removes its owner's animal":
        ("lion:1 seal", "parrot", None, 0, "seal parrot:1", "", "lion:1"),
    "parrot as fifth animal keeps the line shut":
        ("lion hippo zebra seal", "parrot", None, 3, "lion hippo zebra parrot:1", "", "seal"),
    "parrot removing a zebra frees a hippo":
        ("seal zebra hippo", "parrot", None, 1, "hippo seal parrot:1", "", "zebra"),
    "chameleon alone does nothing": ("", "chameleon", None, None, "chameleon:1", "", ""),
    "chameleon as lion spares the monkeys":
        ("monkey lion", "chameleon", "lion", None, "monkey lion", "", "chameleon:1"),
    "chameleon as monkey reverses the others":
        ("monkey monkey:2 crocodile", "chameleon", "monkey", None,
         "chameleon:1 monkey:2 monkey", "", "crocodile"),
    "chameleon as monkey makes no monkey of another chameleon":
        ("chameleon seal monkey", "chameleon", "monkey", None,
         "chameleon:1 monkey chameleon seal", "", ""),
    "chameleon as hippo is eaten by the crocodile it passed":
        ("hippo crocodile", "chameleon", "hippo", None, "hippo crocodile", "", "chameleon:1"),
    "chameleon as hippo stops at a zebra":
        ("hippo zebra seal", "chameleon", "hippo", None,
         "hippo zebra chameleon:1 seal", "", ""),
    "chameleon as crocodile eats up to the crocodile":
        ("crocodile seal skunk", "chameleon", "crocodile", None,
         "crocodile chameleon:1", "", "skunk seal"),
    "chameleon as giraffe steps over one weaker animal":
        ("giraffe seal zebra", "chameleon", "giraffe", None,
         "giraffe seal chameleon:1 zebra", "", ""),
    "chameleon as giraffe does not pass a giraffe":
        ("seal giraffe", "chameleon", "giraffe", None, "giraffe seal chameleon:1", "", ""),
    "chameleon as zebra does nothing":
        ("zebra lion", "chameleon", "zebra", None, "zebra lion chameleon:1", "", ""),
    "chameleon that copied a zebra protects nobody":
        ("zebra chameleon", "hippo", None, None, "zebra hippo:1 chameleon", "", ""),
    "chameleon as seal reverses":
        ("seal lion", "chameleon", "seal", None, "chameleon:1 lion seal", "", ""),
    "chameleon as snake counts nine, behind the snakes":
        ("skunk snake zebra snake:2", "chameleon", "snake", None,
         "chameleon:1 zebra", "snake snake:2", "skunk"),
    "chameleon as snake is a five again when the giraffe acts":
        ("giraffe snake", "chameleon", "snake", None, "snake giraffe chameleon:1", "", ""),
    "chameleon as kangaroo jumps one":
        ("kangaroo lion", "chameleon", "kangaroo", 1, "kangaroo chameleon:1 lion", "", ""),
    "chameleon as kangaroo jumps two":
        ("kangaroo lion", "chameleon", "kangaroo", 2, "chameleon:1 kangaroo lion", "", ""),
    "chameleon as parrot chooses":
        ("parrot lion", "chameleon", "parrot", 1, "parrot chameleon:1", "", "lion"),
    "chameleon as parrot may choose that parrot":
        ("parrot lion", "chameleon", "parrot", 0, "lion chameleon:1", "", "parrot"),
    "chameleon as skunk is safe and another chameleon is not":
        ("skunk chameleon lion", "chameleon", "skunk", None,
         "skunk chameleon:1", "", "chameleon lion"),
    "line of five that a skunk shortened stays shut":
        ("lion zebra zebra:2 seal", "skunk", None, None,
         "seal skunk:1", "", "lion zebra zebra:2"),
    "fifth animal opens the line":
        ("lion hippo zebra monkey", "zebra", None, None,
         "zebra monkey", "lion hippo", "zebra:1"),
}  # fmt: skip


def check(engine, line, card, copy, choice, after, entered, out):
    found = resolve(line.split(), f"{card}:1", copy=copy, choice=choice, engine=engine)
    assert found == (after.split(), entered.split(), out.split())


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("position", WORKED, ids=lambda p: f"{p[1]} on {p[0] or 'nothing'}")
def test_worked_position_comes_out_as_the_rules_page_says(engine, position):
    check(engine, *position)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("case", EDGES)
def test_edge_case_comes_out_as_the_rules_page_says(engine, case):
    check(engine, *EDGES[case])


def test_every_worked_position_of_the_rules_page_is_here():
    assert len(WORKED) == 24


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_two_animals_of_one_species_and_owner_stay_two(engine):
    found = resolve(["monkey", "monkey", "seal"], "monkey", engine=engine)
    assert found == (["monkey", "monkey", "monkey", "seal"], [], [])
    found = resolve(["giraffe", "skunk", "giraffe", "skunk"], "parrot", choice=3, engine=engine)
    assert found == (["giraffe", "giraffe", "skunk", "parrot"], [], ["skunk"])


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_no_monkey_pair_follows_a_lion(engine):
    line, _, _ = resolve(["monkey", "hippo"], "lion", engine=engine)
    assert line == ["lion", "hippo"]
    line, _, out = resolve(line, "monkey:1", engine=engine)
    assert (line, out) == (["lion", "hippo", "monkey:1"], [])
