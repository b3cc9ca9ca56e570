"""What a reader finds in the picture of a position."""

from lanista.games.beastybar.animals import CROCODILE, HIPPO, LION, SEAL, SKUNK, ZEBRA
from lanista.games.beastybar.draw import draw


def test_picture_shows_line_hands_bar_and_out_of_each_seat():
    picture = draw(
        [(LION, 0), (HIPPO, 1)],
        [[ZEBRA, SEAL], None],
        [(SKUNK, 1), (CROCODILE, 1)],
        [(SEAL, 1)],
        1,
        piles=[3, 0],
        turn=7,
    )
    assert picture.splitlines() == [
        "7 turns played, seat 1 to play",
        "Gate ▸ lion:0  hippo:1  ·  ·  · ◂ exit",
        "  seat 0  hand       seal, zebra (+3 to draw)",
        "          bar        — = 0 points",
        "          THAT'S IT  —",
        "▸ seat 1  hand       not shown",
        "          bar        skunk, crocodile = 7 points",
        "          THAT'S IT  seal",
    ]


def test_picture_of_a_finished_match_says_so():
    assert draw([], [[], []], [], [], None).startswith("the match is over\n")
