"""The page's charts as plain dictionaries that plotly draws: numbers and names in, figures out.

Knows nothing of runs. Text in a figure is markup to plotly, so every name is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from lanista.report.plot import COLOURS, short
from lanista.text import without_controls

Figure = dict[str, Any]
Number = float | None
GREY, INK, GRID, PAPER = "#6b6f76", "#23262b", "#e7e8ea", "#ffffff"
DASHES = ("solid", "dash", "dot", "dashdot")
MOST_POINTS = 400


@dataclass(frozen=True)
class Line:
    """One curve, with its interval where there is one."""

    name: str
    x: Sequence[float]
    y: Sequence[Number]
    low: Sequence[Number] = ()
    high: Sequence[Number] = ()
    shade: str = ""
    """Its colour; empty: by its name or place."""


CATEGORY_COLOURS = {
    "self": COLOURS[0],
    "imitation": COLOURS[4],
    "start": COLOURS[4],
    "past": COLOURS[5],
    "exploiter": COLOURS[1],
    "bot": COLOURS[2],
    "other learner": COLOURS[3],
}


def text(name: str) -> str:
    """Return a name as plotly shows it letter by letter."""
    return escape(without_controls(name), quote=False)


def colour(name: str, place: int) -> str:
    """Return the colour of a category, or of the line at `place`."""
    return CATEGORY_COLOURS.get(name, COLOURS[place % len(COLOURS)])


def faint(shade: str, opacity: float) -> str:
    """Return `#rrggbb` with an opacity."""
    red, green, blue = (int(shade[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def thinned(line: Line, most: int = MOST_POINTS) -> Line:
    """Return means of neighbours where a curve has more than `most` points.

    A mean over unknown values is over those that are known.
    """
    size = -(-len(line.x) // most) if line.x else 1
    if size <= 1:
        return line

    def means(values: Sequence[Number]) -> list[Number]:
        return [_mean(values[at : at + size]) for at in range(0, len(values), size)]

    x = [value for value in means(line.x) if value is not None]
    return replace(line, x=x, y=means(line.y), low=means(line.low), high=means(line.high))


def _mean(values: Sequence[Number]) -> Number:
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None


def clean(values: Sequence[Number]) -> list[Number]:
    """Return values that JSON can hold; what is unknown leaves a gap."""
    return [
        None if value is None or not math.isfinite(value) else float(f"{value:.6g}")
        for value in values
    ]


def figure(data: list[dict[str, Any]], height: int, **layout: Any) -> Figure:
    base: dict[str, Any] = {
        "height": height,
        "autosize": True,
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "margin": {"l": 56, "r": 16, "t": 12, "b": 44},
        "hoverlabel": {"bgcolor": PAPER, "font": {"color": INK}},
        "showlegend": False,
        "legend": {"orientation": "h", "x": 0, "y": 1.03, "yanchor": "bottom"},
    }
    return {"data": data, "layout": base | layout}


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """Return a quiet axis."""
    quiet = {"gridcolor": GRID, "zeroline": False, "linecolor": "#b5b8bd", "automargin": True}
    named = {"title": {"text": text(title), "standoff": 8}} if title else {}
    return quiet | named | more


def _band(line: Line, shade: str) -> list[dict[str, Any]]:
    """Return the interval as a filled area; parts without one are left open."""
    bounded = [
        (x, low, high)
        for x, low, high in zip(line.x, line.low, line.high, strict=False)
        if low is not None and high is not None
    ]
    if len(bounded) < 2:
        return []
    xs = [x for x, _, _ in bounded] + [x for x, _, _ in reversed(bounded)]
    ys = [high for _, _, high in bounded] + [low for _, low, _ in reversed(bounded)]
    return [
        {
            "type": "scatter", "x": clean(xs), "y": clean(ys), "fill": "toself",
            "fillcolor": faint(shade, 0.18), "line": {"width": 0}, "mode": "lines",
            "hoverinfo": "skip", "showlegend": False,
        }
    ]  # fmt: skip


def _curve(
    line: Line, shade: str, dash: str, digits: str, x_name: str = "update"
) -> dict[str, Any]:
    trace: dict[str, Any] = {
        "type": "scatter", "x": clean(line.x), "y": clean(line.y), "name": text(line.name),
        "mode": "lines", "connectgaps": False,
        "line": {"color": shade, "width": 2, "dash": dash}, "marker": {"size": 5, "color": shade},
        "hovertemplate": f"{x_name} %{{x}}: %{{y:{digits}}}",
    }  # fmt: skip
    if line.low and line.high:
        trace["customdata"] = [
            list(pair) for pair in zip(clean(line.low), clean(line.high), strict=True)
        ]
        trace["hovertemplate"] += f" [%{{customdata[0]:{digits}}}, %{{customdata[1]:{digits}}}]"
    return trace


def dotted(value: float) -> dict[str, Any]:
    return {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": value, "y1": value,
        "line": {"color": GREY, "width": 1, "dash": "dot"}, "layer": "below",
    }  # fmt: skip


def chart(
    lines: Sequence[Line],
    y_title: str = "",
    *,
    height: int = 340,
    share: bool = False,
    even: float | None = None,
    from_zero: bool = False,
    digits: str = ".3g",
    x_range: tuple[float, float] | None = None,
    x_name: str = "update",
) -> Figure:
    """Return curves on one pair of axes; `share` fixes the axis to 0–1, `even` dots a line."""
    data: list[dict[str, Any]] = []
    few = all(len(line.x) <= 30 for line in lines)
    for place, line in enumerate(thinned(one) for one in lines):
        shade = line.shade or colour(line.name, place)
        dash = DASHES[place // len(COLOURS) % len(DASHES)]
        data += [*_band(line, shade), _curve(line, shade, dash, digits, x_name)]
        data[-1]["mode"] = "lines+markers" if few else "lines"
    y = axis(y_title, rangemode="tozero" if from_zero else "normal")
    if share:
        y["range"] = [-0.02, 1.02]
    x = axis(x_name if y_title else "", **({"range": list(x_range)} if x_range else {}))
    shapes = [] if even is None else [dotted(even)]
    legend = len(lines) > 1
    return figure(data, height, xaxis=x, yaxis=y, shapes=shapes, showlegend=legend)


def panel(lines: Sequence[Line], **options: Any) -> Figure:
    """Return one small chart; its title and what its colours mean stand beside it on the page."""
    figure = chart(lines, height=170, **options)
    figure["layout"]["showlegend"] = False
    figure["layout"]["margin"] = {"l": 40, "r": 8, "t": 6, "b": 26}
    figure["layout"]["yaxis"]["nticks"] = figure["layout"]["xaxis"]["nticks"] = 5
    return figure


def stacked(x: Sequence[float], shares: Mapping[str, Sequence[Number]], y_title: str) -> Figure:
    """Return shares that add up to one, as areas over updates."""
    data: list[dict[str, Any]] = []
    for place, (name, values) in enumerate(shares.items()):
        shade, line = colour(name, place), thinned(Line(name, x, values))
        data.append(
            {
                "type": "scatter", "x": clean(line.x), "y": clean(line.y), "name": text(name),
                "stackgroup": "one", "mode": "lines", "fillcolor": faint(shade, 0.75),
                "line": {"width": 0.5, "color": PAPER, "shape": "hv"},
                "hovertemplate": "update %{x}: %{y:.1%}",
            }
        )  # fmt: skip
    y = axis(y_title, range=[0, 1], tickformat=".0%")
    return figure(data, 300, xaxis=axis("update"), yaxis=y, showlegend=True)


def rated(line: Line, place: int) -> dict[str, Any]:
    shade = colour(line.name, place)
    trace = _curve(Line(line.name, line.x, line.y, line.low, line.high), shade, "solid", ".0f")
    trace["mode"], trace["marker"] = "lines+markers", {"size": 7, "color": shade}
    trace["line"]["width"] = 1.2
    bars = [_both(y, low, high) for y, low, high in zip(line.y, line.low, line.high, strict=False)]
    if bars:
        trace["error_y"] = {
            "type": "data", "symmetric": False, "array": [up for up, _ in bars],
            "arrayminus": [down for _, down in bars], "color": shade, "thickness": 1, "width": 3,
        }  # fmt: skip
    return trace


def _both(y: Number, low: Number, high: Number) -> tuple[float, float]:
    """Return how far the interval goes up and down; an unknown one has no length."""
    if y is None or low is None or high is None:
        return 0.0, 0.0
    return high - y, y - low


def points(
    lines: Sequence[Line], y_title: str, *, x_range: tuple[float, float], share: bool = False
) -> Figure:
    """Return single measurements with error bars."""
    data = [rated(line, place) for place, line in enumerate(lines)]
    for trace, symbol in zip(
        data, ("circle", "diamond", "square", "triangle-up") * 9, strict=False
    ):
        trace["mode"], trace["marker"]["symbol"] = "markers", symbol
        trace["hovertemplate"] = trace["hovertemplate"].replace(".0f", ".3f")
    y = axis(y_title, range=[-0.02, 1.02]) if share else axis(y_title, rangemode="tozero")
    x = axis("update", range=list(x_range))
    return figure(data, 280, xaxis=x, yaxis=y, showlegend=len(lines) > 1)


def bars(
    rows: Sequence[str], values_by_name: Mapping[str, Sequence[Number]], x_title: str
) -> Figure:
    """Return one bar a row, made of named parts."""
    data = [
        {
            "type": "bar", "orientation": "h", "y": [text(row) for row in rows],
            "x": clean(values), "name": text(name),
            "marker": {"color": COLOURS[place % len(COLOURS)]}, "hovertemplate": "%{y}: %{x:,.1f}",
        }
        for place, (name, values) in enumerate(values_by_name.items())
    ]  # fmt: skip
    y = axis(autorange="reversed", type="category", showgrid=False)
    return figure(
        data, 110 + 34 * len(rows), barmode="stack", xaxis=axis(x_title), yaxis=y,
        showlegend=len(values_by_name) > 1, bargap=0.35,
    )  # fmt: skip


def count(value: float) -> str:
    """Return a number of things as the page says it: 950, 12,400, 1.5M."""
    return f"{value:,.0f}" if abs(value) < 1e6 else short(value)
