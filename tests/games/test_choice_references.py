"""A game that describes what its choices are about is checked where it is made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lanista.games import make
from lanista.games.beastybar.animals import SPECIES
from lanista.games.contract import (
    Facts,
    Field,
    GameError,
    Group,
    Head,
    Observation,
    References,
    Role,
    Spec,
)

HAND = Observation(
    (Field("card", 3, classes=5, group="hand"), Field("turn")),
    "uint8",
    (Group("hand", (0, 0, 0)),),
)
PLAY = Head("play", 4, references=(References((Role("card", "hand", (0, 1, 2, -1)),)),))


def _spec(head: Head, observation: Observation = HAND) -> Spec:
    return Spec("cards", Facts(2, 9), observation, (head,))


def test_references_and_groups_are_no_part_of_equality() -> None:
    described = _spec(PLAY)
    plain = _spec(Head("play", 4), Observation(HAND.fields, "uint8"))
    assert described == plain
    assert hash(described.heads) == hash(plain.heads)
    assert hash(described.observation) == hash(plain.observation)


@pytest.mark.parametrize("entry", [3, -2, 1.0, True, "1"])
def test_a_role_that_refers_to_no_entry_is_refused(entry: object) -> None:
    role = Role("card", "hand", (0, 1, 2, entry))  # type: ignore[arg-type]
    with pytest.raises(
        GameError, match=r"'card' of the head 'play' refers to entry .* which has 3"
    ):
        _spec(replace(PLAY, references=(References((role,)),)))


def test_a_role_of_an_unknown_group_is_refused() -> None:
    role = Role("card", "table", (0, 1, 2, -1))
    with pytest.raises(GameError, match="'table', which no field has; name one of hand"):
        _spec(replace(PLAY, references=(References((role,)),)))


def test_a_role_must_be_told_for_every_choice() -> None:
    role = Role("card", "hand", (0, 1, 2))
    with pytest.raises(GameError, match="has 3 entries for 4 choices"):
        replace(PLAY, references=(References((role,)),))


def test_kinds_must_be_told_for_every_choice() -> None:
    with pytest.raises(GameError, match="kinds for 2 choices and 4 choices"):
        replace(PLAY, references=(References((), ("play", "pass")),))


def test_each_part_of_a_head_is_described_once() -> None:
    part = References((Role("card", "hand", (0, 1)),))
    pair = Head("pair", 4, parts=(2, 2), references=(part, part))
    assert _spec(pair).heads == (pair,)
    with pytest.raises(GameError, match="1 references for 2 parts"):
        replace(pair, references=(part,))


@pytest.mark.parametrize("places", [(0, 0), (0, 0, 2), (1, 1, 1), (0, 0, 0.0), (0, 0, False)])
def test_places_count_every_entry_without_gaps(places: tuple[int, ...]) -> None:
    with pytest.raises(GameError, match="'hand' has 3 entries and the places"):
        Observation(HAND.fields, "uint8", (Group("hand", places),))


def test_a_group_that_no_field_has_is_refused() -> None:
    with pytest.raises(GameError, match="'line' is described, and no field is of it"):
        Observation(HAND.fields, "uint8", (Group("line", (0,)),))


def test_a_group_is_described_once() -> None:
    with pytest.raises(GameError, match="described twice"):
        Observation(HAND.fields, "uint8", HAND.groups * 2)


@pytest.mark.parametrize("rules", [{}, {"kangaroo_may_stay": True, "parrot_may_decline": True}])
def test_plays_of_beasty_bar_differ_in_what_they_are_about(rules: dict[str, bool]) -> None:
    (head,) = make("beastybar", **rules).spec.heads
    (part,) = head.references
    card, copy, target = (role.entries for role in part.roles)
    assert len({*zip(card, copy, target, part.kinds, strict=True)}) == head.size
    for label, *entries in zip(head.labels, card, copy, target, strict=True):
        words = label.split()
        assert words[0] == SPECIES[entries[0]]
        copied = SPECIES[entries[1]] if entries[1] >= 0 else None
        assert copied == (words[2] if "as" in words else None)
        # A parrot's number is a place in line; a kangaroo's is how far it jumps.
        sent_off = words[-1] if "parrot" in words[-2:] and words[-1].isdigit() else "-1"
        assert str(entries[2]) == sent_off
