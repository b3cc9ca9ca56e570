"""The pages in a real browser: a run that goes on and is killed, comparisons, a live bot."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from live_folder import live_folder, published
from made_runs import made_run, numbers, real_run, until

from lanista.live.files.policy_folder import PolicyFolder
from lanista.runs.database import RunDatabase
from lanista.view.server import serving

Visit = Callable[..., Any]
LONG = 120_000
"""Milliseconds that a busy machine may take."""
NASTY = '<img src=x onerror="document.title=1"><script>document.title=2</script>&amp;'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs in every state, two seeds of one arm, and a live bot."""
    place = tmp_path_factory.mktemp("pages")
    scores = {"random": 0.8, "tough": 0.3}
    made_run(place / "done", scores=scores)
    made_run(place / "halted", updates=8)
    made_run(place / "killed", updates=9, saved=3)
    for seed in (1, 2):
        settings = {"seed": seed, "learning": {"lr": 0.5}}
        made_run(place / "arm" / f"seed-{seed}", settings=settings, scores=scores)
    live_folder(place / "bot")
    return place


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of a few updates, with evaluations."""
    place = tmp_path_factory.mktemp("evaluated")
    words = ["rl", "--game", "kuhn", "--iterations", "3", "--cpu", "--output", str(place / "kuhn")]
    subprocess.run([sys.executable, "-m", "lanista", *words], check=True, capture_output=True)
    return place


def texts(page: Any, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_text_contents()]


def wait_for(page: Any, script: str) -> None:
    """Wait until an expression is true; Playwright's own way is to evaluate, which pages forbid."""
    until(lambda: bool(page.evaluate(script)))


def test_an_empty_folder_says_what_to_do_and_notices_the_first_run(
    visit: Visit, tmp_path: Path
) -> None:
    visitor = visit(tmp_path)
    page = visitor.go()
    assert "There are no runs here yet" in page.inner_text("main")
    assert "lanista run beastybar-quick" in page.inner_text("main")
    made_run(tmp_path / "first")
    page.wait_for_selector("text=first", timeout=LONG)
    assert texts(page, "tbody .badge") == ["finished"]
    assert visitor.complaints == []


def test_every_run_is_listed_with_its_state_sorted_and_filtered(visit: Visit, folder: Path) -> None:
    visitor = visit(folder)
    page = visitor.go()
    states = dict(zip(texts(page, "td.name a"), texts(page, "td .badge"), strict=True))
    assert states == {
        "done": "finished", "halted": "stopped", "killed": "crashed", "bot": "stopped",
        "arm/seed-1": "finished", "arm/seed-2": "finished",
    }  # fmt: skip
    page.get_by_role("button", name="Run", exact=True).click()
    assert texts(page, "td.name a") == [
        "arm/seed-1",
        "arm/seed-2",
        "bot",
        "done",
        "halted",
        "killed",
    ]
    page.get_by_role("button", name="Run", exact=True).click()
    assert texts(page, "td.name a")[0] == "killed"
    page.get_by_label("Filter by name or game").fill("arm kuhn")
    assert texts(page, "td.name a") == ["arm/seed-2", "arm/seed-1"]
    page.get_by_label("State").select_option("crashed")
    assert "Nothing here fits the filter." in page.inner_text("main")
    assert visitor.complaints == []


def test_a_run_is_watched_while_it_goes_on_and_its_death_is_said(
    visit: Visit, tmp_path: Path
) -> None:
    with real_run(tmp_path) as process:
        visitor = visit(tmp_path)
        page = visitor.go()
        page.wait_for_selector("td .badge.running", timeout=LONG)
        page.click("td.name a")
        page.wait_for_selector("main .badge.running")
        update = "document.querySelector('dl.facts > div:nth-child(2) dd').textContent"
        wait_for(page, f"{update} !== '—' && {update} !== '0 of 100,000'")
        first = page.evaluate(update)
        wait_for(page, f"{update} !== {first!r}")
        page.wait_for_selector("#loss-terms", timeout=LONG)
        page.locator("#loss-terms").scroll_into_view_if_needed()  # Charts are drawn when seen.
        page.wait_for_selector("#loss-terms .chart .main-svg", timeout=LONG)
        points = "document.querySelector('#loss-terms .chart').data[0].x.length"
        count = page.evaluate(points)
        wait_for(page, f"{points} > {count}")  # The curve grows before one's eyes.
        process.kill()
        process.wait()
        page.wait_for_selector("main .title .badge.crashed", timeout=LONG)
    assert "ended without saving" in page.inner_text(".title")
    assert "is crashed now" in page.inner_text("#status")
    assert visitor.complaints == []


def test_two_runs_and_a_band_of_seeds_are_compared(visit: Visit, folder: Path) -> None:
    visitor = visit(folder)
    page = visitor.go()
    for name in ("done", "arm/seed-1", "arm/seed-2"):
        page.get_by_label(f"Compare {name}", exact=True).check()
    page.get_by_role("button", name="Compare 3").click()
    page.wait_for_selector("#curves .chart .main-svg", timeout=LONG)
    assert "learning.lr" in page.inner_text("#settings")
    assert "arm (2 seeds)" in page.inner_text("#curves")
    assert "0.300 [0.250, 0.350]" in page.inner_text("#final-scores")
    page.get_by_label("Number to compare").select_option("policy/loss")
    page.get_by_role("button", name="CPU seconds").click()
    wait_for(
        page,
        "document.querySelector('#curves .lead').textContent === 'policy/loss by CPU seconds.'",
    )
    assert "axis=cpu_seconds" in page.url
    page = visitor.go("/compare")
    page.get_by_label("Filter runs").fill("arm/")
    page.get_by_role("button", name="Choose all shown").click()
    page.wait_for_selector("#settings:has-text('nothing but the seed')", timeout=LONG)
    page = visitor.go("/compare?id=done")
    page.get_by_label("Choose an experiment").select_option("arm")
    page.wait_for_selector("#settings:has-text('nothing but the seed')", timeout=LONG)
    assert parse_qs(urlsplit(page.url).query)["id"] == ["arm/seed-1", "arm/seed-2"]
    assert visitor.complaints == []


def test_a_late_answer_does_not_replace_what_was_asked_for_after_it(
    visit: Visit, folder: Path
) -> None:
    page = visit(folder).go()
    for name in ("done", "arm/seed-1"):
        page.get_by_label(f"Compare {name}", exact=True).check()
    page.get_by_role("button", name="Compare 2").click()
    page.wait_for_selector("#curves .chart .main-svg", timeout=LONG)
    held: list[Any] = []
    page.route("**/api/compare*", lambda route: route.continue_() if held else held.append(route))
    lead = "document.querySelector('#curves .lead').textContent"
    page.get_by_label("Number to compare").select_option("policy/loss")
    until(lambda: bool(held) or bool(page.evaluate("false")))
    page.get_by_role("button", name="CPU seconds").click()
    wait_for(page, f"{lead} === 'policy/loss by CPU seconds.'")
    with page.expect_response("**/api/compare*", timeout=LONG):
        held[0].continue_()
    page.evaluate("new Promise((done) => setTimeout(done, 300))")
    assert page.evaluate(lead) == "policy/loss by CPU seconds."


def test_a_policy_is_rolled_back_after_a_question_and_the_token(
    visit: Visit, tmp_path: Path, folder: Path
) -> None:
    shutil.copytree(folder / "bot", tmp_path / "bot")
    first, second = published(tmp_path / "bot")
    visitor = visit(tmp_path, token=True)
    page = visitor.go("/live?id=bot")
    row = f"tr[data-digest='{first}']"
    page.click(f"{row} button")
    assert f"Roll back to {first[:12]}?" in page.inner_text("dialog")
    page.get_by_role("button", name="Cancel").click()
    assert PolicyFolder(tmp_path / "bot").pointer().stable == second
    page.click(f"{row} button")
    page.get_by_label("Why (optional)").fill(NASTY)
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    page.wait_for_selector("text=Done:", timeout=LONG)
    page.wait_for_selector(f"{row} .badge:has-text('stable')", timeout=LONG)
    change = PolicyFolder(tmp_path / "bot").history()[-1]
    assert change.pointer.stable == first
    assert change.reason.startswith("rolled back by hand in lanista view: <img")
    assert NASTY.split("&")[0] in page.inner_text("#history")
    assert visitor.complaints == []


def test_without_the_token_a_page_asks_for_it(visit: Visit, tmp_path: Path, folder: Path) -> None:
    shutil.copytree(folder / "bot", tmp_path / "bot")
    first, _ = published(tmp_path / "bot")
    visitor = visit(tmp_path)
    page = visitor.go("/live?id=bot")
    page.click(f"tr[data-digest='{first}'] button")
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    page.get_by_role("textbox", name="Token").fill("wrong")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_selector("text=That is not the token.", timeout=LONG)
    assert len(PolicyFolder(tmp_path / "bot").history()) == 2


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_no_page_is_wider_than_its_window(
    visit: Visit, folder: Path, width: int, dark: bool
) -> None:
    visitor = visit(folder, width=width, dark=dark)
    for path in (
        "/", "/run?id=done", "/compare", "/compare?id=done&id=arm/seed-1", "/live", "/live?id=bot",
        "/nothing",
    ):  # fmt: skip
        page = visitor.go(path)
        page.wait_for_load_state("networkidle") if "id=" not in path else None
        wide, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= window, path
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (colour == "rgb(255, 255, 255)") is not dark, path
    # The last page is one that is not there, which a browser's console notes.
    assert all("404" in complaint for complaint in visitor.complaints)


def test_everything_is_reached_by_keyboard_alone(visit: Visit, folder: Path) -> None:
    page = visit(folder).go()
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name = page.evaluate(
            "((one) => one.getAttribute('aria-label') || one.textContent)(document.activeElement)"
        )
        reached.append(name.strip())
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", name
        if name == "done":
            break
    assert reached[0] == "Skip to content"
    for name in ("Runs", "Live bots", "Filter by name or game", "State", "Compare done", "done"):
        assert name in reached
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('done')", timeout=LONG)


def test_a_screen_reader_hears_names_for_everything_that_can_be_used(
    visit: Visit, folder: Path
) -> None:
    visitor = visit(folder)
    for path in ("/", "/run?id=done", "/compare?id=done&id=killed", "/live?id=bot"):
        page = visitor.go(path)
        nameless = page.evaluate(
            """[...document.querySelectorAll('button, a, input, select, [role=img], [role=region]')]
              .filter((one) => !(one.getAttribute('aria-label') || one.textContent.trim()
                || one.closest('label')))
              .map((one) => one.outerHTML)"""
        )
        assert nameless == []
        landmarks = page.evaluate(
            "['header', 'nav', 'main'].map((n) => !!document.querySelector(n))"
        )
        assert landmarks == [True, True, True]
        assert page.locator("h1").count() == 1


def test_nothing_jumps_while_numbers_come_in(visit: Visit, tmp_path: Path) -> None:
    folder = made_run(tmp_path / "run", updates=5, saved=5)
    visitor = visit(tmp_path)
    page = visitor.go("/run?id=run")
    page.wait_for_selector("#loss-terms .chart .main-svg", timeout=LONG)
    page.evaluate(
        """() => { window.shifts = [];
          new PerformanceObserver((list) => window.shifts.push(...list.getEntries()))
            .observe({ type: 'layout-shift' }); }"""
    )
    database = RunDatabase(folder / "run.db")
    for update in (6, 7):
        database.add(update, numbers(update))
        database.flush()
        text = f"document.querySelector('dl.facts').textContent.includes('{update} of 20')"
        wait_for(page, text)
        wait_for(
            page, f"document.querySelector('#loss-terms .chart').data[0].x.length === {update}"
        )
    database.close()
    assert page.evaluate("window.shifts.reduce((sum, entry) => sum + entry.value, 0)") < 0.01


@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_jumps_when_scores_come_long_after_the_curves(
    visit: Visit, evaluated: Path, width: int
) -> None:
    visitor = visit(evaluated, width=width)
    held: list[Any] = []
    visitor.page.route("**/api/run?*part=strength*", lambda route: held.append(route))
    page = visitor.go("/run?id=kuhn.run")
    wait_for(page, "document.querySelector('#loss-terms') !== null")
    page.wait_for_timeout(300)
    assert page.locator("text=Counting matches…").is_visible()
    page.evaluate(
        """() => { window.shifts = [];
          new PerformanceObserver((list) => window.shifts.push(...list.getEntries()))
            .observe({ type: 'layout-shift' }); }"""
    )
    held[0].continue_()
    wait_for(page, "document.querySelector('.slot .waiting') === null")
    page.wait_for_timeout(300)
    assert page.evaluate("window.shifts.reduce((sum, entry) => sum + entry.value, 0)") < 0.01


def test_every_entry_of_the_navigation_is_seen_on_a_phone(visit: Visit, folder: Path) -> None:
    page = visit(folder, width=390).go("/")
    for entry in page.locator(".top nav a").all():
        box, frame = entry.bounding_box(), page.locator(".top nav").bounding_box()
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1, entry.inner_text()


def test_names_with_markup_are_shown_and_never_run(visit: Visit, tmp_path: Path) -> None:
    scores = {NASTY: 0.4}
    made_run(
        tmp_path / NASTY.replace("/", "|"), settings={"game": NASTY}, scores=scores, learner=NASTY,
        updates=8, notice=NASTY,
    )  # fmt: skip
    visitor = visit(tmp_path)
    page = visitor.go()
    assert page.locator("td img, td script").count() == 0
    page.click("td.name a")
    page.wait_for_selector("#events-and-notices", timeout=LONG)
    page.wait_for_selector("#loss-terms .chart .main-svg", timeout=LONG)
    assert page.locator("main img, main script").count() == 0
    assert NASTY in page.inner_text("#events-and-notices")
    assert not page.title().startswith(("1", "2"))
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Report").click()
    report = opened.value
    report.wait_for_selector("html[data-drawn]", timeout=LONG)
    assert report.locator("main img, main script").count() == 0
    assert visitor.complaints == []


def test_a_damaged_database_is_one_sentence_and_the_other_runs_stay(
    visit: Visit, tmp_path: Path
) -> None:
    made_run(tmp_path / "good")
    damaged = made_run(tmp_path / "damaged")
    data = bytearray((damaged / "run.db").read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    (damaged / "run.db").write_bytes(data)
    visitor = visit(tmp_path)
    page = visitor.go()
    assert sorted(texts(page, "td .badge")) == ["finished", "unreadable"]
    page.click("td.name a:text-is('damaged')")
    page.wait_for_selector("[role=alert]:has-text('is damaged')", timeout=LONG)


def test_many_pages_of_one_browser_all_stay_alive(browser: Any, tmp_path: Path) -> None:
    """A browser opens six connections to a server; pages beyond that ask now and then."""
    folder = made_run(tmp_path / "run", updates=5, saved=5)
    with serving(tmp_path) as (_, address):
        context = browser.new_context()
        pages = [context.new_page() for _ in range(8)]
        for page in pages:
            page.goto(address.split("?")[0])
            page.wait_for_selector("html[data-ready=true]")
        database = RunDatabase(folder / "run.db")
        database.add(6, numbers(6))
        database.flush()
        for page in pages:
            wait_for(page, "document.querySelector('td.progress').textContent === '6 of 20'")
        database.close()
        context.close()


def test_plotly_draws_under_the_strict_policy_in_both_themes(visit: Visit, folder: Path) -> None:
    visitor = visit(folder)
    page = visitor.go("/run?id=done")
    page.wait_for_selector("#loss-terms .chart .main-svg", timeout=LONG)
    ink = "getComputedStyle(document.querySelector('#loss-terms .xtick text')).fill"
    light = page.evaluate(ink)
    page.get_by_role("button", name="Switch between light and dark").click()
    wait_for(page, f"{ink} !== {light!r}")
    assert visitor.complaints == []
