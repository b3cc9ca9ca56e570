"""The charts of a league: who beats whom, ratings over time, the family tree.

Numbers and names in, figures for plotly out. Knows nothing of runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanista.report.pages.charts import (
    GREY,
    INK,
    Figure,
    Line,
    Number,
    axis,
    clean,
    dotted,
    figure,
    rated,
    text,
)
from lanista.report.plot import COLOURS

# Worse than even is orange, better is blue: a pair that colour-blind readers tell apart.
AGAINST = [
    [0.0, "#b04a00"],
    [0.25, "#eeb183"],
    [0.5, "#f7f7f5"],
    [0.75, "#8dbbe0"],
    [1.0, "#00558c"],
]
MOST_WRITTEN = 26
"""Players up to which a heat map's numbers fit into its cells."""


@dataclass(frozen=True)
class Level:
    """A horizontal line with a name, such as a bot's rating."""

    name: str
    value: float
    low: Number = None
    high: Number = None


@dataclass(frozen=True)
class Node:
    """One player in the family tree."""

    name: str
    lane: str
    x: float
    style: str
    """One of STYLES."""
    says: str = ""
    """What is shown when it is pointed at."""


@dataclass(frozen=True)
class Edge:
    """From a node to another, by name; `kind` is parent or victim."""

    start: str
    end: str
    kind: str


STYLES = {
    "imitation": ("star", COLOURS[4]),
    "start": ("star", COLOURS[4]),
    "main": ("circle", COLOURS[0]),
    "main exploiter": ("diamond", COLOURS[1]),
    "league exploiter": ("square", COLOURS[3]),
    "exploiter": ("triangle-up", COLOURS[1]),
    "reset": ("circle-open", INK),
    "other": ("circle-open", GREY),
}
EDGES = {
    "parent": ("descent", GREY, "solid", 0.0),
    "victim": ("trained to beat", COLOURS[1], "dot", 0.03),
}
"""By kind: what the legend calls them, their colour, dash and bow, a share of the width."""


def heat_map(
    names: Sequence[str], values: Sequence[Sequence[Number]], says: Sequence[Sequence[str]]
) -> Figure:
    """Return scores of rows against columns; `says` is shown when a cell is pointed at."""
    labels = [text(name) for name in names]
    few = len(names) <= MOST_WRITTEN
    cell = 40 if len(names) <= 14 else 28 if few else max(14, 620 // len(names))
    written = [["" if v is None else f"{v:.2f}" for v in row] for row in values]
    data: dict[str, Any] = {
        "type": "heatmap", "x": labels, "y": labels, "z": [clean(row) for row in values],
        "zmin": 0, "zmax": 1, "colorscale": AGAINST, "xgap": 1, "ygap": 1,
        "customdata": [[text(cell_text) for cell_text in row] for row in says],
        "hovertemplate": "%{y} against %{x}<br>%{customdata}<extra></extra>",
        "colorbar": {"title": {"text": "score of the row", "side": "right"}, "thickness": 12,
                     "tickvals": [0, 0.25, 0.5, 0.75, 1], "outlinewidth": 0},
        "hoverongaps": False,
    }  # fmt: skip
    if few:
        data |= {
            "text": written,
            "texttemplate": "%{text}",
            "textfont": {"size": 11 if len(names) <= 14 else 9},
        }
    # Categories are set, or plotly would read names such as 000120 as numbers.
    y = axis(autorange="reversed", type="category", showgrid=False)
    x = axis(side="top", tickangle=-45, type="category", showgrid=False)
    if 14 < len(names) <= 60:
        y["dtick"] = x["dtick"] = 1
        y["tickfont"] = x["tickfont"] = {"size": 10 if len(names) <= 40 else 8}
    margin = {"l": 40, "r": 10, "t": 40, "b": 16}
    unmet = "#e3e5e8"
    return figure(
        [data], 130 + cell * len(names), xaxis=x, yaxis=y, margin=margin, plot_bgcolor=unmet
    )


def ratings(lines: Sequence[Line], levels: Sequence[Level], y_title: str) -> Figure:
    """Return ratings over updates with error bars, and the bots' as lines named at the right."""
    data = [rated(line, place) for place, line in enumerate(lines)]
    heights = [v for line in lines for v in (*line.y, *line.low, *line.high) if v is not None]
    heights += [level.value for level in levels]
    low, high = min(heights), max(heights)
    room = 0.06 * (high - low) or 10.0
    low, high = low - room, high + room
    height = max(380, 17 * len(levels) + 100)
    places = apart([level.value for level in levels], 15 * (high - low) / (height - 70))
    notes = [
        {
            "x": 1, "xref": "paper", "xanchor": "left", "xshift": 4, "y": place, "showarrow": False,
            "text": _label(level), "font": {"size": 11, "color": GREY},
        }
        for level, place in zip(levels, places, strict=True)
    ]  # fmt: skip
    longest = max((len(_shortened(level)) for level in levels), default=0)
    margin = {"l": 56, "r": 16 if not levels else 50 + 7 * longest, "t": 12, "b": 44}
    # Labels that were moved apart must still lie on the axis.
    span = [min([low, *places]) - room / 2, max([high, *places]) + room / 2]
    return figure(
        data, height, xaxis=axis("update"), yaxis=axis(y_title, range=span), margin=margin,
        shapes=[dotted(level.value) for level in levels], annotations=notes,
        showlegend=len(lines) > 1,
    )  # fmt: skip


def _shortened(level: Level) -> str:
    return level.name if len(level.name) <= 18 else level.name[:17] + "…"


def _label(level: Level) -> str:
    value = f"{level.value:.0f}".replace("-", "−")
    return f"{text(_shortened(level))} {value}"


def apart(values: Sequence[float], least: float) -> list[float]:
    """Return places near `values`, in the same order, no two closer than `least`.

    Neighbours that are too close share a block that is centred on their mean.
    """
    order = sorted(range(len(values)), key=lambda at: values[at])
    blocks: list[list[int]] = []

    def centre(block: list[int]) -> float:
        return sum(values[at] for at in block) / len(block)

    for at in order:
        blocks.append([at])
        while len(blocks) > 1:
            gap = centre(blocks[-1]) - centre(blocks[-2])
            if gap >= least * (len(blocks[-1]) + len(blocks[-2])) / 2:
                break
            upper = blocks.pop()
            blocks[-1].extend(upper)
    places = [0.0] * len(values)
    for block in blocks:
        first = centre(block) - least * (len(block) - 1) / 2
        for number, at in enumerate(block):
            places[at] = first + least * number
    return places


def family_tree(nodes: Sequence[Node], edges: Sequence[Edge]) -> Figure:
    """Return players over updates, a lane for each line of descent."""
    lanes = list(dict.fromkeys(node.lane for node in nodes))
    at = {node.name: (node.x, lanes.index(node.lane)) for node in nodes}
    data = [
        _edges(edges, at, "parent"),
        _edges(edges, at, "victim"),
    ]
    for style, (symbol, shade) in STYLES.items():
        chosen = [node for node in nodes if node.style == style]
        size = 20 if style == "reset" else 11  # A ring around the snapshot it came after.
        data.append(
            {
                "type": "scatter", "mode": "markers", "name": style,
                "x": [node.x for node in chosen], "y": [at[node.name][1] for node in chosen],
                "text": [_several(node) for node in chosen],
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {"symbol": symbol, "color": shade, "size": size},
            }
        )  # fmt: skip
    y = axis(
        tickvals=list(range(len(lanes))), ticktext=[text(lane) for lane in lanes],
        range=[len(lanes) - 0.5, -0.5],
    )  # fmt: skip
    shown = [trace for trace in data if trace["x"]]
    return figure(
        shown, 110 + 52 * len(lanes), xaxis=axis("update"), yaxis=y, showlegend=True
    )  # fmt: skip


def _several(node: Node) -> str:
    return "<br>".join([f"<b>{text(node.name)}</b>", *map(text, node.says.splitlines())])


def _edges(edges: Sequence[Edge], at: Mapping[str, tuple[float, int]], kind: str) -> dict[str, Any]:
    """Return all edges of a kind; those to victims are bowed, lest they hide those of descent."""
    name, shade, dash, bow = EDGES[kind]
    width = max(x for x, _ in at.values()) - min(x for x, _ in at.values())
    x: list[Number] = []
    y: list[Number] = []
    for edge in edges:
        if edge.kind == kind and edge.start in at and edge.end in at:
            (x0, y0), (x1, y1) = at[edge.start], at[edge.end]
            x += [x0, (x0 + x1) / 2 + bow * width, x1, None]
            y += [y0, (y0 + y1) / 2, y1, None]
    return {
        "type": "scatter", "mode": "lines", "x": clean(x), "y": y, "name": name,
        "line": {"color": shade, "width": 1.4, "dash": dash, "shape": "spline"},
        "hoverinfo": "skip",
    }  # fmt: skip
