"""What a page is made of, and how it becomes one HTML file that needs nothing else.

Sections of charts, panels, tables and text in, HTML out. All text is plain and escaped here, once.
Knows nothing of runs or of what the charts show.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files

from lanista.report.pages.charts import Figure
from lanista.text import without_controls


def policy(scripts: Sequence[str]) -> str:
    """Return what a browser may do with a page: run these scripts alone, and load nothing.

    Plotly has code that could load maps and fonts.
    """
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in scripts)
    allowed = " ".join(f"'sha256-{mark.decode()}'" for mark in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"
    )


def shown(text: str) -> str:
    """Return text as HTML; an interval and a percentage are not broken over two lines."""
    joined = re.sub(r"(?<=\d) (?=[%\[])", "\u00a0", without_controls(text))
    return escape(re.sub(r"(\[[-−\d.]+,) (?=[-−\d.]+\])", "\\1\u00a0", joined))


@dataclass(frozen=True)
class Chart:
    """One figure over the whole width."""

    figure: Figure
    says: str
    """What it shows, for those who cannot see it."""
    caption: str = ""
    least_width: int = 0
    """Below this width, in pixels, it scrolls sideways instead of shrinking."""


@dataclass(frozen=True)
class Panels:
    """Small charts side by side, each with a title and a number."""

    panels: Sequence[tuple[str, str, Figure]]
    """Title, what it came to, figure."""


@dataclass(frozen=True)
class Table:
    """Cells of text; every column but the first is of numbers, unless `words` names it."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[int] = (0,)


@dataclass(frozen=True)
class Swatches:
    """What colours mean: names with theirs."""

    names: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Words:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Folded:
    """Text that is shown when it is asked for."""

    title: str
    text: str


@dataclass(frozen=True)
class Bars:
    """Shares of a whole as bars, each with its words; drawn by the page alone, without a script."""

    title: str
    bars: Sequence[tuple[str, float, bool]]
    """Words, a share from 0 to 1, and whether it is marked."""
    note: str = ""


Element = Chart | Panels | Table | Swatches | Facts | Words | Folded | Bars


@dataclass(frozen=True)
class Section:
    """A part of the page with a title of its own."""

    title: str
    elements: Sequence[Element]
    lead: str = ""

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass
class _Writer:
    """Collects figures while HTML is written."""

    figures: list[Figure] = field(default_factory=list)

    def section(self, section: Section) -> str:
        lead = f'<p class="lead">{shown(section.lead)}</p>\n' if section.lead else ""
        body = "\n".join(self.element(element) for element in section.elements)
        title = shown(section.title)
        return f'<section id="{section.anchor}">\n<h2>{title}</h2>\n{lead}{body}\n</section>'

    def element(self, element: Element) -> str:
        if isinstance(element, Chart):
            return self._chart(element)
        if isinstance(element, Panels):
            return self._panels(element)
        if isinstance(element, Table):
            return _table(element)
        if isinstance(element, Swatches):
            marks = (
                f'<span><i style="background:{c}"></i>{shown(n)}</span>' for n, c in element.names
            )
            return f'<p class="swatches">{"".join(marks)}</p>'
        if isinstance(element, Facts):
            pairs = (f"<dt>{shown(k)}</dt><dd>{shown(v)}</dd>" for k, v in element.pairs)
            return f"<dl>{''.join(f'<div>{pair}</div>' for pair in pairs)}</dl>"
        if isinstance(element, Words):
            return f"<p>{shown(element.text)}</p>"
        if isinstance(element, Bars):
            return _bars(element)
        return (
            f"<details><summary>{shown(element.title)}</summary>"
            f"<pre>{escape(element.text)}</pre></details>"
        )

    def _place(self, figure: Figure, says: str, width: int = 0) -> str:
        self.figures.append(figure)
        height = figure["layout"]["height"]
        style = f"height:{height}px" + (f";min-width:{width}px" if width else "")
        return (
            f'<div class="chart" id="chart-{len(self.figures)}" role="img" '
            f'aria-label="{escape(says)}" style="{style}"></div>'
        )

    def _chart(self, chart: Chart) -> str:
        caption = f"<figcaption>{shown(chart.caption)}</figcaption>" if chart.caption else ""
        place = self._place(chart.figure, chart.says, chart.least_width)
        return f'<figure><div class="scroll">{place}</div>{caption}</figure>'

    def _panels(self, panels: Panels) -> str:
        cells = []
        for title, note, figure in panels.panels:
            place = self._place(figure, f"{title}: {note}")
            head = f"<h3>{shown(title)} <span>{shown(note)}</span></h3>"
            cells.append(f'<div class="panel">{head}{place}</div>')
        return f'<div class="panels">{"".join(cells)}</div>'


def _bars(bars: Bars) -> str:
    rows = []
    for words, share, marked in bars.bars:
        kind = ' class="marked"' if marked else ""
        width = f"{100 * min(max(share, 0.0), 1.0):.1f}%"
        rows.append(
            f'<li{kind}><span class="share">{share:.3f}</span><span class="bar">'
            f'<i style="width:{width}"></i></span><span>{shown(words)}</span></li>'
        )
    note = f'<p class="lead">{shown(bars.note)}</p>' if bars.note else ""
    return f'<h3>{shown(bars.title)}</h3><ol class="bars">{"".join(rows)}</ol>{note}'


def _table(table: Table) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        texts = []
        for number, cell in enumerate(row):
            kind = "" if number in table.words else ' class="number"'
            texts.append(f"<{tag}{kind}>{shown(cell)}</{tag}>")
        return f"<tr>{''.join(texts)}</tr>"

    head = cells("th", table.columns)
    rows = "\n".join(cells("td", row) for row in table.rows)
    return f'<div class="scroll"><table><thead>{head}</thead>\n<tbody>{rows}</tbody></table></div>'


GENERATOR = '<meta name="generator" content="lanista">'
"""How a page of ours is known."""


def document(
    title: str, headline: Sequence[str], top: Sequence[Element], body: Sequence[Section]
) -> str:
    """Return the page: a title, sentences, what stands above the first section, and sections."""
    writer = _Writer()
    above = "\n".join(writer.element(element) for element in top)
    sections = "\n".join(writer.section(section) for section in body)
    links = " ".join(f'<a href="#{s.anchor}">{shown(s.title)}</a>' for s in body)
    sentences = "\n".join(f"<p>{shown(sentence)}</p>" for sentence in headline)
    scripts = [*([_plotly()] if writer.figures else []), f"\n{_data('page.js')}"]
    code = "\n".join(f"<script>{script}</script>" for script in scripts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy(scripts)}">
{GENERATOR}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{shown(title)}</title>
<link rel="icon" href="data:,">
<style>
{_data("page.css")}</style>
</head>
<body>
<main>
<header>
<h1>{shown(title)}</h1>
<div class="headline">
{sentences}
</div>
{above}
<nav aria-label="Sections">{links}</nav>
</header>
<noscript><p class="notice">The charts are drawn by this page's own script; allow it to see them.
The tables are there without it.</p></noscript>
{sections}
</main>
<script type="application/json" id="figures">{_json(writer.figures)}</script>
{code}
</body>
</html>
"""


def _json(figures: Sequence[Figure]) -> str:
    """Return JSON that cannot end the script it stands in."""
    written = json.dumps(figures, allow_nan=False, separators=(",", ":"))
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(name: str) -> str:
    return (files("lanista.report.pages") / name).read_text(encoding="utf-8")


def _plotly() -> str:
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    return str(get_plotlyjs())
