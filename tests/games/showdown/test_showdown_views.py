"""Who sees which line of a battle."""

from __future__ import annotations

from lanista.games.showdown.sim.views import View, lines_for

LOG = [
    "|turn|1",
    "|split|p1",
    "|-damage|p1a: A|50/200",
    "|-damage|p1a: A|25/100",
    "|split|p2",
    "|-hint|only for p2",
    "",
    "|upkeep",
]


def test_each_player_sees_own_secrets_and_the_others_public_face() -> None:
    own = ("|turn|1", "|-damage|p1a: A|50/200", "|upkeep")
    assert lines_for(LOG, 0) == own
    other = ("|turn|1", "|-damage|p1a: A|25/100", "|-hint|only for p2", "|upkeep")
    assert lines_for(LOG, 1) == other


def test_a_player_waits_when_told_to_or_when_it_is_over() -> None:
    assert View((), None).waits
    assert View((), {"wait": True, "side": {}}).waits
    assert not View((), {"active": [], "side": {}}).waits
