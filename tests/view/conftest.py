"""A real browser and a real server for the tests of the pages.

Chromium is the system's own, driven by Playwright; where either is missing the tests that need it
are skipped by name. Each process of a parallel run has a browser of its own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lanista.view.context import Limits
from lanista.view.server import serving

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def chromium() -> str | None:
    """Return where the system's browser is; None: there is none."""
    given = os.environ.get("LANISTA_CHROMIUM")
    return given or next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The browser, once for a process."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium: the tests of the pages in a browser are skipped")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


class Visitor:
    """A browser window on a server; remembers what the pages complained about."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address
        self.complaints: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "console",
            lambda message: message.type == "error" and self.complaints.append(message.text),
        )

    def go(self, path: str = "/") -> Any:
        """Open a page and wait until its script has drawn it."""
        self.page.goto(self.address.rstrip("/") + path)
        self.page.wait_for_selector("html[data-ready=true]")
        return self.page


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visitor]]:
    """Serve a folder and open a window on it: `visit(folder, width=390, token=True)`.

    With `token` the window holds the server's token, as one that was opened by the printed address.
    A visitor's `page` is Playwright's page.
    """
    with ExitStack() as stack:

        def visiting(
            folder: Path, *, width: int = 1280, height: int = 900, token: bool = False,
            dark: bool = False, limits: Limits | None = None,
        ) -> Visitor:  # fmt: skip
            _, address = stack.enter_context(serving(folder, limits=limits))
            return stack.enter_context(
                window(browser, address, width=width, height=height, token=token, dark=dark)
            )

        yield visiting


class window:  # noqa: N801 - A context manager, used like a function.
    """A window of its own, with cookies of its own, on a server that runs."""

    def __init__(
        self, browser: Any, address: str, *, width: int = 1280, height: int = 900,
        token: bool = False, dark: bool = False,
    ) -> None:  # fmt: skip
        size = {"width": width, "height": height}
        scheme = "dark" if dark else "light"
        self.context = browser.new_context(viewport=size, color_scheme=scheme)
        self.page = self.context.new_page()
        self.bare = address.split("?")[0]
        if token:
            self.page.goto(address)

    def __enter__(self) -> Visitor:
        return Visitor(self.page, self.bare)

    def __exit__(self, *_: object) -> None:
        self.context.close()
