"""The page in a real browser, offline: charts are drawn, nothing fails, nothing is asked for.

The README's picture is the top of a real run's page, made with the same browser:

    lanista report RUN
    chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars \
        --virtual-time-budget=20000 --window-size=1280,1500 \
        --screenshot=docs/images/report.png file://$PWD/RUN/report/report.html
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from invented_run import EMPTY, NASTY, invented

from lanista.report.pages.run_page import page
from lanista.report.summary import summarise

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")


class _Charts(HTMLParser):
    """Finds what plotly drew into each chart's place, and the text that is seen."""

    VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.inside: str | None = None
        self.drawn: dict[str, list[str]] = {}
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        name, kind = found.get("id") or "", found.get("class") or ""
        if re.fullmatch(r"chart-\d+", name):
            self.inside, self.depth = name, len(self.open)
            self.drawn[name] = []
        elif self.inside is not None:
            self.drawn[self.inside].append(kind or tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass
        if self.inside is not None and len(self.open) <= self.depth:
            self.inside = None

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.text.append(data)


Opened = tuple[_Charts, str]
# What the page asked for itself; what the browser asks for on its own account is not in it.
ASKED = """addEventListener("load", () => {
  const names = performance.getEntriesByType("resource").map((entry) => entry.name);
  document.body.append("asked for " + JSON.stringify(names));
})"""


def _with_script(text: str, script: str) -> str:
    """Return the page with a script of the test's, which its policy allows; others it does not."""
    mark = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = text.replace("script-src ", f"script-src 'sha256-{mark}' ", 1)
    return text.replace("</body>", f"<script>{script}</script></body>")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Open the page once: what stands in it then, and what was said of it."""
    record = invented()
    text = _with_script(page(record, summarise(record)), ASKED)
    return _opened(text, tmp_path_factory.mktemp("browser"))


def _opened(text: str, folder: Path) -> Opened:
    (folder / "report.html").write_text(text, encoding="utf-8")
    done = _browse(folder, "--dump-dom")
    charts = _Charts()
    charts.feed(done.stdout)
    return charts, done.stderr


def _browse(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    assert BROWSER is not None
    command = [
        BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--no-first-run", "--disable-component-update", "--disable-background-networking",
        "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=20000", *options,
        (folder / "report.html").as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=True)


def _console(said: str) -> list[str]:
    return [line for line in said.splitlines() if "CONSOLE" in line]


def test_every_chart_is_drawn(opened: Opened) -> None:
    drawn = opened[0].drawn
    assert len(drawn) > 20
    for name, parts in drawn.items():
        assert "main-svg" in parts, f"{name} is empty"
        assert any("trace" in part or part == "hm" for part in parts), f"{name} has no curve"


def test_the_console_says_nothing(opened: Opened) -> None:
    assert _console(opened[1]) == []


def test_nothing_else_is_asked_for(opened: Opened) -> None:
    assert "asked for []" in "".join(opened[0].text)


def test_a_page_that_asked_for_more_would_be_refused_and_noticed(tmp_path: Path) -> None:
    text = page(EMPTY, summarise(EMPTY))
    more = '<img src="http://192.0.2.1/picture.png">'
    said = _console(_opened(text.replace("</main>", f"{more}</main>"), tmp_path)[1])
    assert any("Content Security Policy" in line for line in said)


def test_names_are_shown_letter_by_letter(opened: Opened) -> None:
    shown = "".join(opened[0].text)
    assert NASTY in shown
    assert "<script>alert(1)</script>" in shown


@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_is_no_wider_than_its_window(width: int, tmp_path: Path) -> None:
    record = invented()
    measure = "document.title=document.documentElement.scrollWidth+' in '+innerWidth"
    text = _with_script(page(record, summarise(record)), measure)
    # Chromium's own window is never narrower than 500 pixels; a frame can be.
    frame = f'<iframe src="page.html" style="width:{width}px;height:900px;border:0"></iframe>'
    ask = "<script>onload=()=>{document.title=frames[0].document.title}</script>"
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    (tmp_path / "report.html").write_text(f"<body>{frame}{ask}", encoding="utf-8")
    done = _browse(tmp_path, "--allow-file-access-from-files", "--dump-dom")
    found = re.search(r"<title>(\d+) in (\d+)</title>", done.stdout)
    assert found is not None
    assert int(found[1]) <= int(found[2]) == width


def test_a_script_that_is_not_the_pages_own_does_not_run(tmp_path: Path) -> None:
    record = invented()
    strange = "<script>document.title='strange'</script></body>"
    text = page(record, summarise(record)).replace("</body>", strange)
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    done = _browse(tmp_path, "--dump-dom")
    assert "<title>strange</title>" not in done.stdout
    assert 'data-drawn="' in done.stdout
