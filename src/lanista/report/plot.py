"""Curves as one small SVG file that needs nothing else: no script, no font, no network.

Knows nothing of runs: panels of bands in, text out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999900")
WIDTH, HEIGHT = 480, 340
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 40, 48
LEGEND_LINE, MOST_TICKS = 18, 6


@dataclass(frozen=True)
class Band:
    """One arm's curve: the median, and the range over its seeds."""

    name: str
    x: Sequence[float]
    median: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    x_label: str
    y_label: str
    bands: Sequence[Band]


@dataclass(frozen=True)
class Axis:
    """A range of values, where they lie, and where ticks are."""

    low: float
    high: float
    log: bool
    start: float
    end: float

    def place(self, value: float) -> float:
        """Return the coordinate of a value."""
        low, high, value = (self._scaled(bound) for bound in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (value - low) / (high - low)

    def _scaled(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    def ticks(self) -> list[float]:
        """Return round values within the range."""
        if self.log:
            return self._log_ticks()
        step = round_step((self.high - self.low) / MOST_TICKS)
        first = math.ceil(self.low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _log_ticks(self) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for steps in ((1, 2, 5), (1,)):
            ticks = [s * 10.0**d for d in decades for s in steps]
            ticks = [value for value in ticks if self.low <= value <= self.high]
            if len(ticks) <= 2 * MOST_TICKS:
                return ticks
        return ticks


def round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(s * power for s in (1, 2, 5, 10) if s * power >= least * (1 - 1e-9))


def figure(title: str, panels: Sequence[Panel]) -> str:
    """Return the SVG of panels side by side with one legend below."""
    names = list(dict.fromkeys(band.name for panel in panels for band in panel.bands))
    colour = {name: COLOURS[n % len(COLOURS)] for n, name in enumerate(names)}
    columns = max(1, min(len(names), 4 * len(panels)))
    rows = -(-len(names) // columns)
    width = WIDTH * max(1, len(panels))
    height = HEIGHT + LEGEND_LINE * rows + 12
    elements = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(width / 2, 20, title, "middle", 'font-size="14" font-weight="bold"'),
    ]
    for number, panel in enumerate(panels):
        elements.append(f'<g transform="translate({number * WIDTH} 0)">')
        elements += _panel(panel, colour)
        elements.append("</g>")
    for number, name in enumerate(names):
        x = LEFT + (width - LEFT - RIGHT) / columns * (number % columns)
        y = HEIGHT + 8 + LEGEND_LINE * (number // columns)
        elements.append(
            f'<rect x="{x:.1f}" y="{y - 4}" width="18" height="4" fill="{colour[name]}"/>'
        )
        elements.append(_text(x + 24, y + 3, name, "start"))
    return "\n".join([*elements, "</svg>"]) + "\n"


def _panel(panel: Panel, colour: dict[str, str]) -> list[str]:
    bands = [band for band in panel.bands if len(band.x)]
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    if not bands:
        return [_text(WIDTH / 2, HEIGHT / 2, "nothing measured yet", "middle")]
    x = _axis([v for band in bands for v in band.x], LEFT, right, log=False, from_zero=True)
    values = [v for band in bands for v in (*band.low, *band.high)]
    log = min(values) > 0 and max(values) > 10 * min(values)
    y = _axis(values, bottom, TOP, log=log)
    elements = [*_grid(x, y, right, bottom)]
    elements.append(_text((LEFT + right) / 2, HEIGHT - 12, panel.x_label, "middle"))
    turned = f'transform="rotate(-90 14 {(TOP + bottom) / 2:.1f})"'
    elements.append(_text(14, (TOP + bottom) / 2, panel.y_label, "middle", turned))
    for band in bands:
        shade = colour[band.name]
        there = _points(x.place, y.place, band.x, band.high)
        back = _points(x.place, y.place, band.x, band.low)[::-1]
        outline = " ".join(there + back)
        elements.append(f'<polygon points="{outline}" fill="{shade}" fill-opacity="0.16"/>')
        line = " ".join(_points(x.place, y.place, band.x, band.median))
        elements.append(
            f'<polyline points="{line}" fill="none" stroke="{shade}" stroke-width="1.8"/>'
        )
    return elements


def _axis(
    values: Sequence[float], start: float, end: float, *, log: bool, from_zero: bool = False
) -> Axis:
    low, high = min(values), max(values)
    if log:
        return Axis(low / 1.1, high * 1.1, True, start, end)
    room = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return Axis(0.0 if from_zero and low >= 0 else low - room, high + room, False, start, end)


def _grid(x: Axis, y: Axis, right: float, bottom: float) -> list[str]:
    elements = []
    for value in x.ticks():
        at = x.place(value)
        elements.append(_line(at, TOP, at, bottom, "#e6e6e6"))
        elements.append(_text(at, bottom + 16, short(value), "middle"))
    for value in y.ticks():
        at = y.place(value)
        elements.append(_line(LEFT, at, right, at, "#e6e6e6"))
        elements.append(_text(LEFT - 6, at + 4, short(value), "end"))
    elements.append(_line(LEFT, bottom, right, bottom, "#555555"))
    elements.append(_line(LEFT, TOP, LEFT, bottom, "#555555"))
    return elements


def short(value: float) -> str:
    """Return a tick's label: 0.05, 300, 20k, 1.5M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e4)):
        if abs(value) >= size:
            return f"{value / (1e3 if unit == 'k' else size):.4g}{unit}"
    return f"{value:.6g}"


def _points(
    place_x: Callable[[float], float],
    place_y: Callable[[float], float],
    xs: Sequence[float],
    ys: Sequence[float],
) -> list[str]:
    return [f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in zip(xs, ys, strict=True)]


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{colour}" stroke-width="1"/>'
    )


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222222"'
        f"{' ' + more if more else ''}>{escape(text)}</text>"
    )
