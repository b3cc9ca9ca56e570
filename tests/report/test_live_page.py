"""The page of a live bot against a book that was written by hand."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.ledger import NAME, BatchRow, GameRow, Ledger, reading
from lanista.live.sc2 import first_policy
from lanista.report.live_record import read_live
from lanista.report.pages.live_page import headline, live_page, live_summary

T_8 = 2.30600
"""Student's t for 8 degrees of freedom, 97.5 %."""
LETTERS = {"W": 1.0, "D": 0.0, "L": -1.0, "-": None}
SCORES = {"W": 1.0, "D": 0.5, "L": 0.0}


class Bot:
    """A policy folder with three policies, whose games are written down letter by letter."""

    def __init__(self, path: Path) -> None:
        self.folder = PolicyFolder(path / "policy")
        self.digests = []
        for seed in range(3):
            made = PolicyFolder(path / f"made-{seed}")
            content = made.path_of(first_policy(made.folder, seed).stable).read_bytes()
            self.digests.append(self.folder.add(content))
        self.folder.publish(self.digests[0], "the first")
        (self.folder.folder / "learner").mkdir()
        self.path = self.folder.folder / "learner" / NAME
        self.ledger = Ledger(self.path, write=True)
        self.ledger.add_policy(0, self.digests[0], None)
        self.count = 0

    def play(self, update: int, policy: int, letters: str, *, candidate: bool = False) -> None:
        rows = []
        for letter in letters:
            self.count += 1
            rows.append(
                GameRow(
                    update_number=update, content=f"{self.count:064d}", game_id=f"{self.count}",
                    policy=self.digests[policy], serial=1, candidate=candidate,
                    outcome=LETTERS[letter], crashed=False, steps=4, overruled=0, reward=0.0,
                    log_prob=-1.0, staleness=0, use="learned", predicted=None, came=None,
                    at=float(self.count),
                )
            )  # fmt: skip
        self.ledger.add_games(rows)

    def update(self, number: int, games: int, loss: float) -> None:
        self.ledger.add_batch(
            BatchRow(number, games, games, 4 * games, 2, loss, 0, 1.0, 0.5, 0, float(self.count))
        )
        self.ledger.add_metrics(number, {"loss": loss, "policy/entropy": 1.0 / number})


def written(path: Path) -> Bot:
    """Return a bot whose second policy was published after 20 games, its third not."""
    bot = Bot(path)
    bot.play(1, 0, "WWWDDLLLL-")
    bot.update(1, 10, 0.5)
    bot.ledger.add_policy(1, bot.digests[1], bot.digests[0])
    bot.ledger.add_event(1, "candidate", digest=bot.digests[1], said="nothing against it")
    bot.play(2, 1, "WWWWWWLL", candidate=True)
    bot.play(2, 0, "WL")
    bot.update(2, 10, 0.25)
    facts = {"games": 10, "difference": 0.25, "low": 0.01, "high": 0.6}
    bot.ledger.add_event(2, "published", digest=bot.digests[1], reason="better", **facts)
    bot.folder.publish(bot.digests[1], "better", watch_share=0.2)
    bot.play(3, 0, "LL", candidate=True)
    bot.play(3, 1, "WL" * 50)
    bot.update(3, 102, 0.125)
    bot.ledger.add_policy(3, bot.digests[2], bot.digests[1])
    bot.ledger.add_event(3, "candidate", digest=bot.digests[2], said="nothing against it")
    bot.play(4, 2, "LLL", candidate=True)
    bot.update(4, 3, 0.5)
    bot.ledger.add_event(4, "rejected", digest=bot.digests[2], reason="futile", games=3)
    return bot


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Bot]:
    made = written(tmp_path)
    yield made
    made.ledger.close()


def interval(letters: str, t: float) -> tuple[float, float, float]:
    """Return the mean of scores with Student's interval, from its formula."""
    values = [SCORES[letter] for letter in letters]
    half = t * stdev(values) / math.sqrt(len(values))
    return mean(values), max(0.0, mean(values) - half), min(1.0, mean(values) + half)


def figures(html: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', html, re.S)
    assert found is not None
    return list(json.loads(found[1]))


def test_scores_in_service_and_as_second_are_kept_apart_with_their_intervals(bot: Bot) -> None:
    first, second, third = read_live(bot.folder.folder).services
    assert [each.digest for each in (first, second, third)] == bot.digests
    assert first.stable is not None
    # Ten games of update 1, of which one has no result, and two of update 2.
    assert (first.stable.n, first.missing) == (11, 1)
    assert first.stable.value == pytest.approx(5 / 11)
    assert first.second is not None
    assert (first.second.value, first.second.n) == (0.0, 2)
    assert second.second is not None
    assert (second.second.value, second.second.n) == (0.75, 8)
    assert second.stable is not None
    assert (second.stable.value, second.stable.n) == (0.5, 100)
    assert third.stable is None
    assert [each.published for each in (first, second, third)] == [True, True, False]
    assert [each.update for each in (first, second, third)] == [0, 1, 3]


def test_an_interval_is_students(tmp_path: Path) -> None:
    bot = Bot(tmp_path)
    bot.play(1, 0, "WWWDDLLLL-")
    (only,) = read_live(bot.folder.folder).services
    bot.ledger.close()
    assert only.stable is not None
    found = (only.stable.value, only.stable.low, only.stable.high)
    assert found == pytest.approx(interval("WWWDDLLLL", T_8), abs=1e-4)


def test_the_summary_holds_the_same_numbers(bot: Bot) -> None:
    found = live_summary(read_live(bot.folder.folder))
    assert (found["games"], found["learned"], found["batches"]) == (125, 125, 4)
    assert (found["samples"], found["publications"]) == (500, 1)
    # The mean over all samples, not over updates.
    assert found["average_loss"] == pytest.approx((10 * 0.5 + 10 * 0.25 + 102 * 0.125 + 1.5) / 125)
    assert found["stable"] == bot.digests[1]
    assert [row["digest"] for row in found["policies"]] == bot.digests
    assert found["policies"][1]["as_second"]["value"] == 0.75
    assert [event["kind"] for event in found["events"]].count("published") == 1


def test_the_curve_has_every_game_once_and_a_line_where_a_policy_was_published(bot: Bot) -> None:
    chart = figures(live_page(read_live(bot.folder.folder)))[0]
    curve = chart["data"][-1]
    letters = "WWWDDLLLL" + "WWWWWWLL" + "WL" + "LL" + "WL" * 50 + "LLL"
    scores = [SCORES[letter] for letter in letters]
    assert len(scores) == 124
    assert curve["y"] == pytest.approx([mean(scores[:62]), mean(scores[62:])])
    # Game 10 has no result, so the first half ends with game 63.
    numbers = [number for number in range(1, 126) if number != 10]
    assert curve["x"] == pytest.approx([mean(numbers[:62]), mean(numbers[62:])], abs=1e-3)
    dashed = [s["x0"] for s in chart["layout"]["shapes"] if s.get("line", {}).get("dash") == "dash"]
    assert dashed == [20]


def test_the_page_needs_nothing_else_and_holds_the_numbers(bot: Bot) -> None:
    from plotly.offline import get_plotlyjs

    html = live_page(read_live(bot.folder.folder)).replace(get_plotlyjs(), "")
    assert re.findall(r'(?:src|href)="(?!#|data:)', html) == []
    assert "default-src 'none'" in html
    text = html.replace("\u00a0", " ")
    for part in (
        "starcraft2-macro", "0.500 [", "(100 games)", "0.750 [", "(8 games)", "+0.250 [+0.010",
        bot.digests[1][:12], "1 that were never in service", "better",
        "Candidates: 2; 1 published, 1 rejected.",
    ):  # fmt: skip
        assert part in text, part


def said(bot: Bot) -> str:
    return " ".join(headline(read_live(bot.folder.folder)))


def test_the_headline_names_the_first_policy_and_the_one_of_now(bot: Bot) -> None:
    assert said(bot).startswith("The first policy scores 0.455 [")
    assert "; the policy in service now, 1 publication later, scores 0.500 [" in said(bot)
    assert "125 games took effect." in said(bot)
    before = bot.digests[1]
    bot.folder.publish(bot.digests[2], "by hand")
    bot.ledger.add_event(5, "changed", serial=3, stable=bot.digests[2], before=before)
    assert "now, 1 publication and 1 change by hand later, has no result yet." in said(bot)
    bot.folder.publish(bot.digests[0], "the first again")
    assert "after 1 publication and 1 change by hand it is the one in service again." in said(bot)


def test_a_bot_at_its_beginning_has_a_page_too(tmp_path: Path) -> None:
    bot = Bot(tmp_path)
    assert said(bot) == "No policy has a result in service yet. 0 games took effect."
    assert "too few games with a result" in live_page(read_live(bot.folder.folder))
    bot.play(1, 0, "WL")
    bot.update(1, 2, 0.5)
    assert "none was better so far. 2 games took effect." in said(bot)
    assert "No candidate was offered yet." in live_page(read_live(bot.folder.folder))
    bot.ledger.close()


def test_policies_stand_in_the_order_they_were_made_though_a_backlog_came_newest_first(
    tmp_path: Path,
) -> None:
    bot = Bot(tmp_path)
    bot.ledger.add_policy(1, bot.digests[1], bot.digests[0])
    bot.folder.publish(bot.digests[1], "better")
    bot.play(2, 1, "WW")
    bot.play(3, 0, "LL")
    bot.play(3, 2, "D")  # Of a policy that the learner never made.
    record = read_live(bot.folder.folder)
    bot.ledger.close()
    assert [(each.digest, each.update) for each in record.services] == [
        (bot.digests[2], None),
        (bot.digests[0], 0),
        (bot.digests[1], 1),
    ]
    assert [each.digest for each in record.ladder] == bot.digests[:2]


def test_a_report_is_written_as_a_user_asks_for_it(bot: Bot, tmp_path: Path, capsys: Any) -> None:
    assert main(["report", str(bot.folder.folder)]) == 0
    told = capsys.readouterr().out
    made = bot.folder.folder / "report"
    assert "The first policy scores 0.455 [" in told
    assert f"{made / 'summary.json'}\n{made / 'report.html'}\n" in told
    assert json.loads((made / "summary.json").read_text())["games"] == 125
    assert main(["report", str(bot.folder.folder), "--output-dir", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "report.html").read_text() == (made / "report.html").read_text()


@pytest.mark.parametrize("what", ["empty", "no book", "no pointer"])
def test_a_folder_without_a_book_is_refused_in_one_sentence(
    tmp_path: Path, capsys: Any, what: str
) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    if what == "no book":
        first_policy(folder)
    elif what == "no pointer":
        (folder / "learner").mkdir()
        Ledger(folder / "learner" / NAME, write=True).close()
    with pytest.raises(LanistaError, match="no policy folder with a learner's book in it"):
        read_live(folder)
    assert main(["report", str(folder)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# Where nobody may write.


@contextmanager
def unwritable(folder: Path) -> Iterator[Path]:
    """Give a copy of a folder into which this process cannot write, root or not."""
    if not hasattr(os, "geteuid"):
        pytest.skip("needs the rights of Unix")
    place = Path(tempfile.mkdtemp())
    copy = place / "copy"
    shutil.copytree(folder, copy)
    for path in (place, copy, *copy.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(65534)
        with pytest.raises(PermissionError):
            (copy / "new").touch()
        yield copy
    finally:
        if root:
            os.seteuid(0)
        for path in (place, copy, *copy.rglob("*")):
            path.chmod(0o755)
        shutil.rmtree(place)


def test_a_book_can_be_read_where_nobody_may_write(bot: Bot) -> None:
    wanted = live_summary(read_live(bot.folder.folder))
    bot.ledger.close()
    assert not bot.path.with_name(f"{NAME}-wal").exists()
    with unwritable(bot.folder.folder) as copy:
        assert live_summary(read_live(copy)) == wanted
        assert sorted(path.name for path in (copy / "learner").iterdir()) == [NAME]


def test_where_nobody_may_write_a_book_is_read_with_its_log(bot: Bot) -> None:
    """The newest rows are in the log; without it a reader would see less than there is."""
    log = bot.path.with_name(f"{NAME}-wal")
    assert log.stat().st_size > 0
    with unwritable(bot.folder.folder) as copy, reading(copy / "learner" / NAME) as ledger:
        assert ledger.count() == bot.count
    bot.path.with_name(f"{NAME}-shm").unlink()  # The index of the log, which a reader makes itself.
    with unwritable(bot.folder.folder) as copy, reading(copy / "learner" / NAME) as ledger:
        assert ledger.count() == bot.count
