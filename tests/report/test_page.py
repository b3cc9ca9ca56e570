from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from invented_run import BOTS, EMPTY, EVERY, MATCHES, NASTY, UPDATES, digest, invented

from lanista.report.pages import learning
from lanista.report.pages.charts import Line, thinned
from lanista.report.pages.charts_league import apart
from lanista.report.pages.html import Table
from lanista.report.pages.run_page import page
from lanista.report.pages.strength import spread
from lanista.report.run_record import Lineup, Match, Member, RunRecord
from lanista.report.summary import summarise
from lanista.runs.schema import EventRow

SECTIONS = {
    "score against each bot": "Score against each bot",
    "ratings": "Ratings",
    "payoff": "Who beats whom",
    "exploitability": "Exploitability",
    "family tree": "Family tree",
    "matchmaking weights": "Matchmaking",
    "win rate by category": "Win rate by category",
    "loss terms": "Loss terms",
    "entropy and KL": "Entropy and KL",
    "critic and staleness": "Critic and staleness",
    "schedules": "Schedules",
    "compute": "Where the compute went",
    "events and notices": "Events and notices",
    "settings": "Settings",
}


class Outline(HTMLParser):
    """What an HTML file holds: its tags with their attributes, and the charts of each section."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.charts: dict[str, list[int]] = {}
        self.titles: list[str] = []
        self._section, self._tag = "", ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.tags.append((tag, found))
        self._tag = tag
        name = str(found.get("id", ""))
        if tag == "section":
            self._section = name
        if re.fullmatch(r"chart-\d+", name):
            self.charts.setdefault(self._section, []).append(int(name[6:]) - 1)

    def handle_data(self, data: str) -> None:
        if self._tag == "h2" and data.strip():
            self.titles.append(data)
        self._tag = ""


@pytest.fixture(scope="module")
def record() -> RunRecord:
    return invented()


@pytest.fixture(scope="module")
def summary(record: RunRecord) -> dict[str, Any]:
    return summarise(record)


@pytest.fixture(scope="module")
def html(record: RunRecord, summary: dict[str, Any]) -> str:
    return page(record, summary)


def figures(html: str) -> list[dict[str, Any]]:
    """Return all figures of a page."""
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', html, re.S)
    assert found is not None
    return list(json.loads(found[1]))


def charts(html: str, section: str) -> list[dict[str, Any]]:
    """Return the figures that stand in a section."""
    known = figures(html)
    return [known[number] for number in Outline(html).charts.get(section, [])]


def own_part(html: str) -> str:
    """Return the page without plotly's script, which holds addresses that it never asks for."""
    from plotly.offline import get_plotlyjs

    assert get_plotlyjs() in html
    return html.replace(get_plotlyjs(), "")


def test_everything_measured_has_a_section(html: str) -> None:
    assert Outline(html).titles == list(SECTIONS.values())
    assert "Not measured" not in html


def test_nothing_measured_is_said_and_shows_no_empty_section() -> None:
    html = page(EMPTY, summarise(EMPTY))
    assert Outline(html).titles == ["What is not here"]
    assert f"Not measured: {', '.join(SECTIONS)}." in html
    assert figures(html) == []


def test_findings_stand_first_with_their_remedies(
    record: RunRecord, summary: dict[str, Any]
) -> None:
    terms = {"policy/weight": 1.0, "value/weight": 0.0}
    weights = {name: tuple((update, w) for update in range(20)) for name, w in terms.items()}
    faulty = dataclasses.replace(record, metrics={**record.metrics, **weights})
    html = page(faulty, summarise(faulty))
    assert Outline(html).titles[0] == "Findings"
    assert "learning.terms.value" in html
    assert "critic_untrained" not in page(record, summary)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("family tree", {"players": ()}),
        ("matchmaking weights", {"matchmaking": ()}),
        ("settings", {"settings": "\n"}),
        ("events and notices", {"events": (), "notices": ()}),
        ("loss terms", {"metrics": {}}),
        ("compute", {"compute": {}, "metrics": {}}),
    ],
)
def test_a_part_without_data_is_named_instead_of_shown(
    name: str, changes: dict[str, Any], record: RunRecord, summary: dict[str, Any]
) -> None:
    html = page(dataclasses.replace(record, **changes), summary)
    assert SECTIONS[name] not in Outline(html).titles
    said = re.search(r"Not measured: ([^.]*)\.", html)
    assert said is not None
    assert name in said[1].split(", ")


def test_a_page_asks_for_nothing_from_elsewhere(html: str) -> None:
    own = own_part(html)
    assert re.findall(r"https?://|//cdn|@import|url\(", own) == []
    outline = Outline(html)
    assert [a for t, a in outline.tags if "src" in a or "srcset" in a or "data" in a] == []
    links = [str(a["href"]) for t, a in outline.tags if "href" in a]
    assert [link for link in links if not link.startswith(("#", "data:,"))] == []


def test_the_browser_is_told_to_load_nothing(html: str) -> None:
    policies = [a for t, a in Outline(html).tags if a.get("http-equiv")]
    assert len(policies) == 1
    assert str(policies[0]["content"]).startswith("default-src 'none';")


def test_names_and_settings_cannot_become_tags(html: str) -> None:
    own = own_part(html)
    assert NASTY not in own
    assert escape(NASTY) in own
    outline = Outline(html)
    assert "b" not in {tag for tag, _ in outline.tags}
    assert [tag for tag, _ in outline.tags].count("script") == 3
    assert "&lt;/pre&gt;&lt;script&gt;alert(1)" in own


def test_text_in_figures_cannot_end_their_script_or_become_markup(html: str) -> None:
    written = re.search(r'id="figures">(.*?)</script>', html, re.S)
    assert written is not None
    assert not set("<>&") & set(written[1])
    labels = charts(html, "who-beats-whom")[0]["data"][0]["x"]
    assert escape(NASTY, quote=False) in labels


def test_every_figure_is_one_that_plotly_knows(html: str) -> None:
    graph_objects = pytest.importorskip("plotly.graph_objects")
    for figure in figures(html):
        graph_objects.Figure(figure)  # Refuses unknown keys and values.


def test_the_same_story_gives_the_same_page(
    record: RunRecord, summary: dict[str, Any], html: str
) -> None:
    assert page(record, summary) == html


def score(record: RunRecord, me: str, other: str) -> float:
    """Return (wins + ½ draws) / games, counted from the matches."""
    points, games = 0.0, 0
    for match in record.matches:
        if {me, other} == set(match.lineup.names):
            mine = match.lineup.names.index(me)
            ahead, behind = match.places[mine], match.places[1 - mine]
            points += 1.0 if ahead < behind else 0.5 if ahead == behind else 0.0
            games += 1
    assert games == MATCHES
    return points / games


def test_the_curve_against_a_bot_is_the_score_of_its_matches(record: RunRecord, html: str) -> None:
    panels = charts(html, "score-against-each-bot")
    assert len(panels) == len(BOTS)
    last = f"main/{UPDATES:06d}"
    hardest = min(BOTS, key=lambda bot: score(record, last, bot))
    curve = panels[0]["data"][-1]
    assert curve["name"] == hardest
    assert curve["x"] == list(range(EVERY, UPDATES + 1, EVERY))
    for update, value in zip(curve["x"], curve["y"], strict=True):
        assert value == pytest.approx(score(record, f"main/{int(update):06d}", hardest))


def test_the_map_is_the_same_seen_from_either_side(record: RunRecord, html: str) -> None:
    figure = charts(html, "who-beats-whom")[0]["data"][0]
    names, cells = figure["y"], figure["z"]
    fixed = {escape(p.name, quote=False) for p in record.players if p.kind != "learner"}
    assert set(names) == fixed == set(figure["x"])
    assert sum(cell is not None for row in cells for cell in row) > len(names)
    for i in range(len(names)):
        for j in range(len(names)):
            if cells[i][j] is None:
                assert cells[j][i] is None
            else:
                assert cells[i][j] + cells[j][i] == pytest.approx(1)


def test_players_who_never_met_have_no_number(html: str) -> None:
    figure = charts(html, "who-beats-whom")[0]["data"][0]
    one, other = figure["y"].index("heuristic"), figure["x"].index("queue")
    assert figure["z"][one][other] is None
    assert figure["text"][one][other] == ""


def test_the_headline_names_the_lowest_score_and_its_opponent(record: RunRecord, html: str) -> None:
    last = f"main/{UPDATES:06d}"
    met = [p.name for p in record.players if p.kind != "learner" and p.name != last]
    lowest = min(met, key=lambda name: score(record, last, name))
    top = html[: html.index("</header>")]
    assert "Worst case: NashConv is 0.1" in top
    assert re.search(
        rf"the lowest score of {last} over {len(met)} players is "
        rf"{score(record, last, lowest):.3f}\u00a0\[[^]]*\], against {lowest}\.",
        top,
    )


def test_the_headline_is_about_the_policy_that_was_saved(record: RunRecord) -> None:
    half = f"main/{UPDATES // 2:06d}"
    promoted = EventRow(UPDATES // 2, "promotion", "main", {"digest": digest(half)})
    told = dataclasses.replace(record, events=(*record.events, promoted))
    html = page(told, summarise(told))
    top = html[: html.index("</header>")]
    assert f"{half}, the policy that was saved, scores from " in top
    assert f"the lowest score of {half} over " in top
    assert f"{half} against everybody it met" in html


def test_those_who_met_only_each_other_are_not_rated_beside_the_rest(record: RunRecord) -> None:
    """An exploiter's test is such an island: the frozen main and the exploiter meet nobody else."""
    lineup = Lineup(120, "exploiter", ("main", "hunter"), ("d" * 64, "e" * 64), 0, 1, 1)
    island = [Match(120, 9000 + n, lineup, n, (1.0, -1.0), (1, 2), False) for n in range(20)]
    hunter = Member("hunter", "e" * 64, "policy", "exploiter", "", (), 1.0, 120, {})
    players, matches = (*record.players, hunter), (*record.matches, *island)
    told = dataclasses.replace(record, players=players, matches=matches)
    html = page(told, summarise(told))
    assert "no chain of matches links them: main@120, hunter." in html
    (figure,) = charts(html, "ratings")
    main = next(trace for trace in figure["data"] if trace["name"] == "main")
    assert 120 not in main["x"]
    # Nor is it a reading over the pool, which the other states of the main were judged by.
    pool = charts(html, "exploitability")[-1]
    assert 120 not in pool["data"][-1]["x"]
    assert charts(html, "who-beats-whom")[0]["data"][0]["y"][-2:] == ["main@120", "hunter"]


def test_the_mixture_over_a_pool_has_its_nash_conv_beside_the_mains() -> None:
    record = invented()
    series = ((20, 0.8), (40, 0.5))
    mixed = dataclasses.replace(
        record, metrics={**record.metrics, "meta_strategy/nash_conv": series}
    )
    exact = charts(page(mixed, summarise(mixed)), "exploitability")[0]["data"]
    (line,) = [trace for trace in exact if trace.get("name") == "mixture over the pool"]
    assert (line["x"], line["y"]) == ([20, 40], [0.8, 0.5])


def test_an_unmeasured_worst_case_is_said() -> None:
    assert "How exploitable it is was not measured." in page(EMPTY, summarise(EMPTY))


def test_a_learned_response_that_may_rise_is_called_a_lower_bound(html: str) -> None:
    section = html[html.index('<section id="exploitability">') :]
    rows = re.findall(r"<tr><td>main</td>.*?</tr>", section)[:4]
    assert [re.sub("<[^>]*>", " ", row).split()[-1] for row in rows] == [
        "ceiling", "ceiling", "bound", "bound",
    ]  # fmt: skip


def test_matchmaking_weights_add_up_at_every_update(html: str) -> None:
    found = charts(html, "matchmaking")
    assert len(found) == 2
    for figure in found:
        for column in zip(*(trace["y"] for trace in figure["data"]), strict=True):
            assert sum(column) == pytest.approx(1, abs=1e-4)


def test_the_tree_has_every_policy_and_a_line_from_its_parent(record: RunRecord, html: str) -> None:
    (figure,) = charts(html, "family-tree")
    marks = [trace for trace in figure["data"] if trace["mode"] == "markers"]
    shown = {re.sub(r"</?b>|<br>.*", "", text) for trace in marks for text in trace["text"]}
    policies = {player.name for player in record.players if player.kind == "policy"}
    assert policies | {"reset 1"} == shown
    lines = {t["name"]: t["x"].count(None) for t in figure["data"] if t["mode"] == "lines"}
    parents = sum(len(player.parents) for player in record.players)
    assert lines == {"descent": parents, "trained to beat": 1}


def test_the_pool_of_a_state_is_who_was_there_before_it(record: RunRecord, html: str) -> None:
    curve = charts(html, "exploitability")[-1]["data"][-1]
    entered = {p.name: p.update for p in record.players if p.kind != "learner"}
    assert len(curve["x"]) > 2
    for update, value in zip(curve["x"], curve["y"], strict=True):
        me = f"main/{int(update):06d}"
        there = [name for name, since in entered.items() if since <= update and name != me]
        assert value == pytest.approx(min(score(record, me, name) for name in there))


@pytest.mark.parametrize(
    ("to", "parent"), [("imitation", "imitation"), ("main/000050", "main"), ("scratch", None)]
)
def test_after_a_reset_descent_is_from_what_it_was_reset_to(
    to: str, parent: str | None, record: RunRecord, summary: dict[str, Any]
) -> None:
    # The snapshot of update 75 names the one of update 25 as its parent, and was reset between.
    players = [
        dataclasses.replace(p, parents=("main_exploiter_1/000025",))
        if p.name == "main_exploiter_1/000075"
        else p
        for p in record.players
    ]
    events = (EventRow(25, "reset", "main_exploiter_1", {"to": to}),)
    html = page(dataclasses.replace(record, players=tuple(players), events=events), summary)
    (figure,) = charts(html, "family-tree")
    lanes = figure["layout"]["yaxis"]["ticktext"]
    (lines,) = [trace for trace in figure["data"] if trace["name"] == "descent"]
    ends = list(zip(lines["x"][2::4], lines["y"][2::4], strict=True))
    child = (75, lanes.index("main_exploiter_1"))
    if parent is None:
        assert child not in ends
    else:
        at = 4 * ends.index(child)
        expected = 0 if parent == "imitation" else 50
        assert (lines["x"][at], lanes[lines["y"][at]]) == (expected, parent)


def test_another_learner_of_the_run_is_not_counted_as_self(html: str) -> None:
    main, exploiter = charts(html, "matchmaking")
    assert "self" in [trace["name"] for trace in main["data"]]
    assert "self" not in [trace["name"] for trace in exploiter["data"]]
    assert "other learner" in [trace["name"] for trace in exploiter["data"]]


def test_an_event_says_its_numbers_and_leaves_long_things_out(record: RunRecord) -> None:
    body = {
        "digest": "ab" * 32, "reading": {"value": 0.25, "low": 0.2, "high": 0.3}, "before": None,
        "scores": {"random": {"value": 1.0}}, "games": 1200, "share": 0.123456,
    }  # fmt: skip
    html = page(dataclasses.replace(record, events=(EventRow(3, "promotion", "main", body),)), {})
    said = "digest abababababab, reading 0.250 [0.200, 0.300], games 1,200, share 0.1235"
    assert f"<td>{said}</td>" in html.replace("\u00a0", " ")


def test_speed_is_what_the_whole_run_decided_per_cpu_second_since_the_update_before(
    record: RunRecord,
) -> None:
    metrics = {
        "decisions": ((1, 100.0), (2, 400.0), (3, 500.0)),
        "cpu_seconds": ((1, 1.0), (2, 4.0), (3, 4.5)),
        "main/decisions": ((1, 50.0), (2, 150.0), (3, 200.0)),
    }
    html = page(dataclasses.replace(record, metrics=metrics, compute={}), {})
    (figure,) = charts(html, "where-the-compute-went")
    assert figure["data"][0]["x"] == [2, 3]
    assert figure["data"][0]["y"] == [100, 200]


def test_compute_has_a_bar_for_each_learner_and_for_what_is_no_learners(record: RunRecord) -> None:
    compute = {
        "cpu_seconds": 60.0, "cpu_seconds/main": 30.0, "cpu_seconds/main_exploiter_1": 20.0,
        "cpu_seconds/exploiter": 10.0,
    }  # fmt: skip
    html = page(dataclasses.replace(record, metrics={}, compute=compute), {})
    (figure,) = charts(html, "where-the-compute-went")
    (bars,) = figure["data"]
    assert dict(zip(bars["y"], bars["x"], strict=True)) == {
        "main": 30, "main_exploiter_1": 20, "exploiter": 10,
    }  # fmt: skip


def test_heads_of_one_decision_are_added_up(record: RunRecord) -> None:
    metrics = {
        "policy/entropy/0": ((1, 0.5), (2, 0.25)), "policy/entropy/1": ((1, 1.0), (2, 0.5)),
    }  # fmt: skip
    html = page(dataclasses.replace(record, metrics=metrics), {})
    (figure,) = charts(html, "entropy-and-kl")
    assert figure["data"][0]["y"] == [1.5, 0.75]


def test_a_long_list_of_events_says_how_much_of_it_is_shown(record: RunRecord) -> None:
    many = tuple(EventRow(n, "snapshot", f"main/{n:06d}", {}) for n in range(500))
    html = page(dataclasses.replace(record, events=many, notices=()), {})
    assert "The newest 200 of 500." in html
    assert "<td>main/000300</td>" in html
    assert "<td>main/000299</td>" not in html


def test_a_long_curve_becomes_means_of_neighbours() -> None:
    y = [None if n % 4 == 0 else float(n) for n in range(1000)]
    line = thinned(Line("loss", [float(n) for n in range(1000)], y), most=100)
    assert len(line.x) == len(line.y) == 100
    assert line.x[0] == pytest.approx(4.5)
    assert line.y[0] == pytest.approx((1 + 2 + 3 + 5 + 6 + 7 + 9) / 7)


def test_a_short_curve_stays_as_it_is() -> None:
    line = Line("loss", [1.0, 2.0], [0.5, None])
    assert thinned(line) is line


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        ([3.0, 1.0], [3.0, 1.0]),
        ([0.0, 0.0], [-0.5, 0.5]),
        ([0.0, 0.4, 5.0], [-0.3, 0.7, 5.0]),
        # The third is too close to the block of the first two, once they have made room.
        ([0.0, 0.0, 1.2], [-0.6, 0.4, 1.4]),
    ],
)
def test_labels_move_apart_around_their_middle(values: list[float], expected: list[float]) -> None:
    assert apart(values, 1.0) == pytest.approx(expected)


def test_a_choice_at_even_steps_keeps_both_ends() -> None:
    names = [str(n) for n in range(100)]
    assert spread(names, 4) == ["0", "33", "66", "99"]
    assert spread(names[:3], 4) == names[:3]


def test_style_and_script_are_installed_with_the_package() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    patterns = tomllib.loads(project.read_text())["tool"]["setuptools"]["package-data"]["*"]
    assert {"*.css", "*.js"} <= set(patterns)


def test_each_opponents_share_is_shown_as_it_was_at_first_and_at_last(record: RunRecord) -> None:
    section = learning.matchmaking(record)
    assert section is not None
    tables = [element for element in section.elements if isinstance(element, Table)]
    learners = {row.learner for row in record.matchmaking}
    assert len(tables) == len(learners)
    for table in tables:
        learner = table.columns[0].removeprefix("opponent of ")
        drawn = [row for row in record.matchmaking if row.learner == learner]
        for column, update in ((2, min), (3, max)):
            at = update(row.update for row in drawn)
            wanted = {row.opponent for row in drawn if row.update == at}
            shown = {row[0]: float(row[column].removesuffix(" %")) for row in table.rows}
            assert {name for name, share in shown.items() if share} <= wanted
            assert sum(shown.values()) == pytest.approx(100, abs=0.1 * len(shown))
