"""What a run shows: plain lines where there is no terminal, a table where there is one."""

import io

import pytest

from lanista.runs.settings import Evaluation, RunSettings
from lanista.training import progress_view
from lanista.training.progress_view import LastEvaluation, Lines, Live, display, number

SETTINGS = RunSettings(iterations=40)
VALUES = {"decisions": 1234567.0, "policy/loss": -0.012345, "cpu_seconds": 2.0, "lr": 0.1}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Time that stands still unless it is set."""
    now = [0.0]
    monkeypatch.setattr(progress_view.time, "monotonic", lambda: now[0])
    return now


def test_without_a_terminal_there_are_lines_and_few_of_them(clock):
    stream = io.StringIO()
    shown = display(stream)
    assert isinstance(shown, Lines)
    shown.started(SETTINGS, 0)
    for update in range(1, 21):
        shown.updated(update, VALUES)
    shown.message("Something happened.")
    shown.updated(21, {**VALUES, "exact/nash_conv": 0.25, "score/random": 0.75})
    shown.ended()
    assert stream.getvalue().splitlines() == [
        "update 0 of 40",
        "Something happened.",
        "update 21 of 40: decisions 1,234,567, policy/loss -0.01235, exact/nash_conv 0.25, "
        "score/random 0.75",
    ]


def test_a_line_says_how_long_the_rest_takes_by_the_pace_since_the_run_went_on(clock):
    stream = io.StringIO()
    shown = Lines(stream)
    shown.started(SETTINGS, 20)
    clock[0] = 60.0
    shown.updated(25, VALUES)  # Five of twenty in a minute.
    clock[0] = 240.0
    shown.updated(40, VALUES)
    lines = stream.getvalue().splitlines()
    assert lines[1].startswith("update 25 of 40, about 3 min left: ")
    assert lines[2].startswith("update 40 of 40: ")


def test_the_last_evaluation_is_told_with_its_matches_and_intervals():
    last = LastEvaluation()
    last.started(RunSettings(evaluation=Evaluation(matches=400)), 0)
    last.updated(1, VALUES)
    assert last.sentence == ""
    last.updated(2, {"score/random": 0.2, "score_low/random": 0.1, "score_high/random": 0.3})
    bounds = {"score_low/a": 0.5, "score_high/a": 0.625}
    last.updated(30, {"score/a": 0.5625, **bounds, "score/b": 1.0, "exact/nash_conv": 0.25})
    last.updated(31, VALUES)
    assert last.sentence == (
        "last evaluation, update 30: score in 400 matches each: a 0.562 [0.500, 0.625], b 1.000, "
        "NashConv 0.2500"
    )


def test_the_last_update_is_shown_once():
    stream = io.StringIO()
    shown = Lines(stream)
    shown.started(SETTINGS, 3)
    shown.updated(4, VALUES)
    shown.ended()
    shown.ended()
    assert stream.getvalue().count("update 4 of 40") == 1


def test_on_a_terminal_there_is_a_table_with_the_last_numbers():
    stream = Terminal()
    shown = display(stream)
    assert isinstance(shown, Live)
    shown.message("Before the start.")
    shown.started(SETTINGS, 0)
    shown.updated(1, {**VALUES, "score/random": 0.5})
    shown.updated(2, VALUES)
    shown.message("In between [bold]is no markup[/bold].")
    shown.ended()
    text = stream.getvalue()
    assert "Before the start." in text
    assert "[bold]is no markup[/bold]" in text
    assert "2 of 40" in text
    assert "score/random" in text
    assert "617,284" in text  # Decisions per CPU second.


def test_numbers_are_short():
    assert [number(v) for v in (3.0, 1234567.0, 0.123456, float("inf"), float("nan"))] == [
        "3", "1,234,567", "0.1235", "inf", "nan",
    ]  # fmt: skip
