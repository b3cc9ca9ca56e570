"""The match pages in a browser: by keyboard, what is hidden, and names that stay text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from match_folders import HOSTILE, recorded

from lanista.games import registry
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network


def step_of(page: Any) -> int:
    return int(page.inner_text(".transport [role=status]").split()[0])


def test_a_match_is_gone_through_by_keyboard(tmp_path: Path, visit: Callable[..., Any]) -> None:
    place = recorded(tmp_path, "beastybar")
    visitor = visit(tmp_path)
    page = visitor.go(f"/match?place={place}&match=0")
    last = int(page.inner_text(".transport [role=status]").split()[-1])
    assert (step_of(page), last) == (1, 25)
    for key, expected in (
        ("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", last),
        ("ArrowRight", last), ("PageUp", last - 10), ("Home", 1),
    ):  # fmt: skip
        page.keyboard.press(key)
        page.wait_for_function(
            "n => document.querySelector('.transport [role=status]').textContent.startsWith(n)",
            arg=f"{expected} of",
        )
    page.keyboard.press("Space")
    page.wait_for_function(
        "() => parseInt(document.querySelector('.transport [role=status]').textContent) > 2"
    )
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("button[aria-label=Play]")
    assert page.locator(".moves [aria-current=step]").count() == 1
    assert visitor.complaints == []


def test_hidden_cards_are_not_in_the_page_until_they_are_chosen(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    place = recorded(tmp_path, "leduc")
    page = visit(tmp_path).go(f"/match?place={place}&match=0")
    assert page.locator(".playing-card.back").count() == 1
    assert page.locator(".felt-seat [aria-label^='card']").count() == 1
    page.select_option("#eyes", "all")
    page.wait_for_function("() => document.querySelectorAll('.playing-card.back').length === 0")
    assert page.locator(".hand [aria-label^='card']").count() == 2


def test_a_policy_judges_and_mistakes_are_jumped_to(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    place = recorded(tmp_path, "beastybar")
    visitor = visit(tmp_path)
    page = visitor.go(f"/match?place={place}&match=0&policy=champion:beastybar")
    page.wait_for_selector(".mistakes button")
    page.locator(".mistakes button").first.click()
    page.wait_for_selector(".likely .played")
    shares = page.locator(".side .likely .share").all_inner_texts()
    assert len(shares) >= 1
    assert all(text.endswith("%") for text in shares)
    page.click("text=Judge the moves")
    page.wait_for_selector("text=play-outs of each move")
    assert page.locator("svg.chart polyline").count() >= 1
    assert visitor.complaints == []


def test_all_moves_of_a_match_are_judged_and_the_costliest_is_first(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    torch.manual_seed(0)
    spec = registry.spec_of("openspiel:tic_tac_toe")
    policy = Policy(spec, Network("mlp", width=8, layers=1))
    save_policy(tmp_path / "p.safetensors", policy, spec)
    place = recorded(tmp_path, "openspiel:tic_tac_toe")
    visitor = visit(tmp_path)
    page = visitor.go(f"/match?place={place}&match=0&policy=p.safetensors")
    page.click("#judge-all")
    page.wait_for_selector("text=All moves are judged")
    costs = page.locator(".mistakes .price").all_inner_texts()
    numbers = [float(text.replace("−", "-")) for text in costs if text.startswith("−")]
    assert numbers == sorted(numbers)
    assert numbers[0] < 0
    page.locator(".mistakes button").first.click()
    page.wait_for_selector("text=the move made cost")
    assert visitor.complaints == []


def test_names_with_markup_stay_text(tmp_path: Path, visit: Callable[..., Any]) -> None:
    place = recorded(tmp_path, "kuhn", name=HOSTILE)
    visitor = visit(tmp_path)
    for address in ("/matches", f"/matches?place={place}", f"/match?place={place}&match=0"):
        page = visitor.go(address)
        page.wait_for_function("text => document.body.innerText.includes(text)", arg=HOSTILE)
        assert page.locator("main img, main b b, h1 b").count() == 0
        assert page.evaluate("window.attacked") is None
    assert visitor.complaints == []


def test_the_arena_is_drawn_and_moves(tmp_path: Path, visit: Callable[..., Any]) -> None:
    place = recorded(tmp_path, "arena")
    visitor = visit(tmp_path)
    page = visitor.go(f"/match?place={place}&match=0&eyes=all")
    page.wait_for_selector(".arena canvas")
    drawn = "() => document.querySelector('canvas').toDataURL()"
    before = page.evaluate(drawn)
    page.keyboard.press("Space")
    page.wait_for_function(
        "() => parseInt(document.querySelector('.transport [role=status]').textContent) > 4"
    )
    assert page.evaluate(drawn) != before
    assert visitor.complaints == []


def test_a_phone_shows_a_match_without_scrolling_sideways(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    for game in ("beastybar", "openspiel:connect_four", "leduc", "arena"):
        recorded(tmp_path, game)
    visitor = visit(tmp_path, width=390, dark=True)
    for place in sorted(path.name for path in tmp_path.glob("*.jsonl.gz")):
        page = visitor.go(f"/match?place={place}&match=0&policy=none&eyes=all")
        page.wait_for_selector(".board > *")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, place
    assert visitor.complaints == []


UNNAMED = """
() => [...document.querySelectorAll("button, select, input, canvas, [role=img]")]
  .filter((one) => !one.getAttribute("aria-label") && !one.textContent.trim())
  .filter((one) => !one.labels?.length)
  .map((one) => one.outerHTML.slice(0, 120))
"""


def test_everything_that_can_be_used_or_seen_has_a_name_for_a_screen_reader(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    places = [recorded(tmp_path, game) for game in ("beastybar", "leduc", "openspiel:tic_tac_toe")]
    visitor = visit(tmp_path, token=True)
    addresses = ["/matches", "/play?game=beastybar", "/play?game=arena"]
    addresses += [f"/match?place={place}&match=0&eyes=all" for place in places]
    for address in addresses:
        page = visitor.go(address)
        page.wait_for_selector("h1")
        assert page.evaluate(UNNAMED) == [], address
        assert page.locator("h1").count() == 1
        assert page.get_attribute("main", "aria-busy") == "false"
    assert visitor.complaints == []


def test_a_match_is_reached_and_shown_by_keyboard_alone(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    recorded(tmp_path, "openspiel:tic_tac_toe")
    page = visit(tmp_path).go("/matches")
    page.locator("main table a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("main table a[href^='/match?']")
    page.locator("main table a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".transport")
    page.keyboard.press("End")
    page.wait_for_selector("text=The end")
