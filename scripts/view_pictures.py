"""Makes the pictures of the pages for the docs, with the system's Chromium.

    python scripts/view_pictures.py FOLDER [--output docs/images]

FOLDER is what `lanista view` would be given; it should hold a pipeline, several seeds of a run and
a live bot. Each page is opened as a person would and photographed once it is drawn. The pages of
matches are made from matches of champions that the script plays itself.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import lanista
from lanista.view.server import serving

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars",
]  # fmt: skip
WIDE, PHONE = (1280, 800), (390, 844)


def pages(lines: list[dict[str, Any]]) -> dict[str, str]:
    """Return the address of every page that the folder has something for, by picture."""
    first = {line["kind"]: quote(line["id"]) for line in reversed(lines)}
    runs = [line for line in lines if line["kind"] == "run"]
    runs.sort(key=lambda line: "seed" not in line["id"])  # Seeds make the better comparison.
    addresses = {"view-runs": "/"}
    if "run" in first:
        inside = [line["run"] for line in lines if line.get("run")]  # A pipeline's newest.
        addresses["view-run"] = f"/run?id={quote((inside or [first['run']])[0])}"
    if len(runs) > 1:
        chosen = "&".join(f"id={quote(line['id'])}" for line in runs[:8])
        addresses["view-compare"] = f"/compare?{chosen}&metric=exact/nash_conv"
    if "live" in first:
        addresses["view-live"] = f"/live?id={first['live']}"
    return addresses


def match_pages(folder: Path, address: str, token: str) -> dict[str, str]:
    """Play matches into a folder that is served; return the addresses of pages that show them."""
    for game, opponent in (("beastybar", "heuristic"), ("arena", "kiter")):
        lanista.play(game, [f"champion:{game}", opponent], matches=2, seed=3, record=folder)
    bar, arena = sorted(folder.glob("*.gz"), reverse=True)
    wish = {"game": "beastybar", "seats": ["human", "champion:beastybar"]}
    headers = {"content-type": "application/json", "x-lanista-token": token}
    request = urllib.request.Request(
        f"{address}/api/play/start", json.dumps(wish).encode(), headers
    )
    with urllib.request.urlopen(request) as answer:
        session = json.load(answer)["id"]
    return {
        "view-match": f"/match?place={bar.name}&match=0&step=10",
        "view-arena": f"/match?place={arena.name}&match=0&step=40&eyes=all",
        "view-play": f"/play?session={session}",
    }


def photograph(
    browser: Any, address: str, path: Path, size: tuple[int, int], *, dark: bool
) -> None:
    """Open a page, wait until it is drawn, and keep a picture of it."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("html[data-ready=true]")
    if page.locator(".chart").count():
        page.wait_for_timeout(500)
    page.wait_for_timeout(2500)
    page.screenshot(path=str(path))
    context.close()
    print(f"{path}: {path.stat().st_size // 1024} KiB")


def main() -> int:
    """Make the pictures and return 0."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=Path("docs/images"))
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("There is no Chromium; install it first.", file=sys.stderr)
        return 1
    with serving(given.folder.resolve()) as (_, whole), sync_playwright() as driver:
        address = whole.split("/?")[0]
        with urllib.request.urlopen(f"{address}/api/runs") as answer:
            lines = json.load(answer)["runs"]
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, path in pages(lines).items():
            photograph(browser, address + path, given.output / f"{name}.png", WIDE, dark=False)
        phone = given.output / "view-phone.png"
        photograph(browser, address + "/", phone, PHONE, dark=True)
        photograph_matches(browser, given.output)
        browser.close()
    return 0


def photograph_matches(browser: Any, output: Path) -> None:
    """Make the pictures of the pages of matches."""
    with TemporaryDirectory() as folder, serving(Path(folder)) as (context, whole):
        address = whole.split("/?")[0]
        for name, path in match_pages(Path(folder), address, context.token).items():
            photograph(browser, address + path, output / f"{name}.png", WIDE, dark=False)


if __name__ == "__main__":
    sys.exit(main())
