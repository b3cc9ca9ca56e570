"""The league's family tree: who came from whom, who was reset, who was trained to beat whom.

Players and events in, a section out. Of results it knows what an exploiter's own entry says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanista.report.pages.charts import count
from lanista.report.pages.charts_league import Edge, Node, family_tree
from lanista.report.pages.html import Chart, Element, Section, Table
from lanista.report.run_record import Member, RunRecord
from lanista.runs.schema import EventRow

UNKNOWN = "—"


def family(record: RunRecord) -> Section | None:
    """Return the tree and the list of exploiters; None for a run without descendants."""
    parents = {name for player in record.players for name in player.parents}
    if not parents:
        return None
    # Those of no category were met in a test and never joined.
    joined = [p for p in record.players if p.kind == "policy" and p.category]
    members = [*joined, *(p for p in record.players if p.name in parents and p not in joined)]
    nodes = [_node(player) for player in _by_lane(members)]
    nodes += [_reset(event, number) for number, event in _resets(record, members)]
    figure = family_tree(nodes, [*_descent(record, members), *_victims(members)])
    elements: list[Element] = [
        Chart(figure, "Family tree of the league's players", least_width=520)
    ]
    exploiters = [player for player in members if _victim(player)]
    if exploiters:
        elements.append(_exploiters(exploiters))
    lead = (
        "Each mark is a player that entered the pool, at the update it entered; a line leads to it "
        "from its parent, a dotted one from it to the player it was trained to beat."
    )
    return Section("Family tree", elements, lead)


def _lane(player: Member) -> str:
    """Return whose line of descent a player stands in: `main` for `main/000120`."""
    return player.name.rpartition("/")[0] or player.name


def _by_lane(members: list[Member]) -> list[Member]:
    order = {"imitation": 0, "start": 0, "self": 1, "past": 1, "exploiter": 2}
    roles = {"main": 0, "main_exploiter": 1, "league_exploiter": 2, "exploiter": 3}

    def key(player: Member) -> tuple[int, int, str, int]:
        role = roles.get(player.role, 0)
        first = 1 if player.role and not role else order.get(player.category, 1)
        return first, role, _lane(player), player.update

    return sorted(members, key=key)


def _style(player: Member) -> str:
    if player.category in ("imitation", "start"):
        return player.category
    if player.role in ("main", "main_exploiter", "league_exploiter", "exploiter"):
        return player.role.replace("_", " ")
    return "exploiter" if player.category == "exploiter" else "other"


def _node(player: Member) -> Node:
    says = [f"entered at update {player.update}"]
    if player.parents:
        says.append(f"from {', '.join(player.parents)}")
    if decisions := player.body.get("decisions"):
        says.append(f"{count(float(decisions))} decisions")
    if victim := _victim(player):
        says.append(f"against {victim}: {_result(player.body)}")
    return Node(player.name, _lane(player), float(player.update), _style(player), "\n".join(says))


def _resets(record: RunRecord, members: list[Member]) -> list[tuple[int, EventRow]]:
    lanes = {_lane(player) for player in members}
    resets = [event for event in record.events if event.kind == "reset" and event.player in lanes]
    return list(enumerate(resets))


def _reset(event: EventRow, number: int) -> Node:
    # A name no player can have, since a player's is never empty before its slash.
    to = str(event.body.get("to", "")) or UNKNOWN
    says = f"{event.player} at update {event.update}\nto {to}"
    return Node(f"reset {number + 1}", event.player, float(event.update), "reset", says)


def _descent(record: RunRecord, members: list[Member]) -> list[Edge]:
    """Return edges from parents to children.

    The first snapshot after a reset comes from what its learner was reset to, not from the
    snapshot before.
    """
    entered = {player.name: player.update for player in members}
    starts = [player.name for player in members if player.category in ("imitation", "start")]
    starts.sort(key=lambda name: name != "start")  # Clones may be among the opponents too.
    edges = []
    for player in members:
        for parent in player.parents:
            since = entered.get(parent, 0)
            resets = [
                str(event.body.get("to", ""))
                for event in record.events
                if event.kind == "reset" and event.player == _lane(player)
                if since <= event.update < player.update
            ]
            if resets and parent.startswith(f"{_lane(player)}/"):
                parent = next(iter(starts), "") if resets[-1] == "imitation" else resets[-1]
            edges.append(Edge(parent, player.name, "parent"))
    return edges


def _victims(members: list[Member]) -> list[Edge]:
    names = {player.name for player in members}
    by_digest = {player.digest: player.name for player in members}
    edges = []
    for player in members:
        victim = _victim(player)
        if victim and victim not in names:
            victim = by_digest.get(str(player.body.get("victim_digest", "")), "")
        if victim:
            edges.append(Edge(player.name, victim, "victim"))
    return edges


def _victim(player: Member) -> str:
    return str(player.body.get("victim") or "")


def _result(body: Mapping[str, Any]) -> str:
    score, low, high = (body.get(name) for name in ("score", "low", "high"))
    if score is None:
        return UNKNOWN
    interval = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
    return f"{score:.3f}{interval}"


def _exploiters(players: list[Member]) -> Table:
    rows = []
    for player in players:
        budget, games = (player.body.get(name) for name in ("budget_decisions", "games"))
        rows.append(
            (
                player.name,
                _victim(player),
                str(player.update),
                UNKNOWN if budget is None else count(float(budget)),
                UNKNOWN if games is None else count(float(games)),
                _result(player.body),
            )
        )
    columns = ("exploiter", "victim", "update", "decisions", "games", "score against it")
    return Table(columns, rows, words=(0, 1))
