"""Whole matches played in a browser: by clicks, by keyboard, and the arena by keys."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lanista.data import read_replays, resimulate
from lanista.nets.files.champions import policy_file

OUTCOMES = ("You win!", "You lose.", "A draw.")


MORE = "document.querySelectorAll('.log li').length > n"


def begin(page: Any, opponent: str) -> None:
    page.wait_for_selector(".opponent")
    page.select_option(".opponent", opponent)
    page.click("#start")
    page.wait_for_selector(".board > *")


def outcome(page: Any) -> str:
    return str(page.inner_text("#outcome"))


def test_a_whole_game_of_beasty_bar_is_played_by_clicks(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    visitor = visit(tmp_path, token=True)
    page = visitor.go("/play?game=beastybar")
    begin(page, "champion:beastybar")
    page.click("#hint")
    page.wait_for_selector(".likely .share")
    moves = 0
    while moves < 40:
        page.wait_for_selector(".bb-seat button.target, #outcome")
        if page.query_selector("#outcome"):
            break
        before = page.locator(".log li").count()
        page.locator(".bb-seat button.target").first.click()
        # A card that leaves a choice waits for a click on the line or on a move in words.
        page.wait_for_function(f"n => document.querySelector('#all-moves') || {MORE}", arg=before)
        if page.query_selector("#all-moves"):
            page.locator(".legal button").first.click()
            page.wait_for_function(f"n => {MORE}", arg=before)
        moves += 1
    assert outcome(page).startswith(OUTCOMES)
    (file,) = (tmp_path / "played").glob("*.jsonl.gz")
    resimulate(read_replays(file))
    page.click("#look")
    page.wait_for_selector(".transport")
    assert page.inner_text("h1") == "human – champion:beastybar"
    assert visitor.complaints == []


def test_a_whole_game_of_connect_four_is_played_by_clicks_and_again_with_seats_swapped(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    visitor = visit(tmp_path, token=True)
    page = visitor.go("/play?game=openspiel:connect_four")
    begin(page, "random")
    for _ in range(30):
        page.wait_for_selector("button.cell.target, #outcome")
        if page.query_selector("#outcome"):
            break
        before = page.locator(".log li").count()
        page.locator("button.cell.target").nth(0).click()
        page.wait_for_function(f"n => {MORE}", arg=before)
    assert outcome(page).startswith(OUTCOMES)
    page.click("#rematch")
    page.wait_for_selector("button.cell.target")
    assert "seat 1: you" in page.inner_text(".lead")
    assert visitor.complaints == []


def test_a_match_goes_on_after_a_reload_and_moves_are_made_and_taken_back_by_keyboard(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    visitor = visit(tmp_path, token=True)
    page = visitor.go("/play?game=openspiel:tic_tac_toe")
    begin(page, "random")
    page.keyboard.press("5")
    page.wait_for_function("() => document.querySelectorAll('.log li').length === 2")
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    page.wait_for_function("() => document.querySelectorAll('.log li').length === 2")
    page.keyboard.press("u")
    page.wait_for_function("() => document.querySelectorAll('.log li').length === 0")
    assert page.locator("button.cell.target").count() == 9
    assert visitor.complaints == []


def test_a_match_of_the_arena_is_played_by_keys(tmp_path: Path, visit: Callable[..., Any]) -> None:
    visitor = visit(tmp_path, token=True)
    page = visitor.go("/play?game=arena&opponent=hunter")
    page.wait_for_selector(".opponent")
    words = page.locator(".opponent option").evaluate_all("all => all.map((one) => one.value)")
    begin(page, next(word for word in ("hunter", "rusher", "kiter", *words) if word in words))
    page.keyboard.down("w")
    page.wait_for_function(
        "() => parseFloat(document.querySelector('.arena .quiet-text').textContent) > 0.4"
    )
    page.keyboard.up("w")
    page.keyboard.down(" ")
    page.wait_for_selector("#outcome", timeout=120_000)
    assert outcome(page).startswith(OUTCOMES)
    (file,) = (tmp_path / "played").glob("*.jsonl.gz")
    (record,) = read_replays(file).records
    # Upwards while W was held: the middle bin of move_y is 5.
    assert (record.actions[0::2, 1] == 10).any()
    assert visitor.complaints == []


def test_without_the_token_the_page_asks_for_it(tmp_path: Path, visit: Callable[..., Any]) -> None:
    page = visit(tmp_path).go("/play?game=kuhn")
    page.wait_for_selector(".opponent")
    page.click("#start")
    page.wait_for_selector("dialog input[type=password]")


def test_a_phone_plays_without_scrolling_sideways(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    policy = tmp_path / "a run with a long name" / f"{'0123456789abcdef' * 4}.safetensors"
    policy.parent.mkdir()
    shutil.copy(policy_file("champion:beastybar"), policy)
    visitor = visit(tmp_path, token=True, width=390, dark=True)
    for game in ("beastybar", "liars_dice", "openspiel:connect_four"):
        page = visitor.go(f"/play?game={game}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        begin(page, "random")
        page.wait_for_selector(".legal button")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visitor.complaints == []
