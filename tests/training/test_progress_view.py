"""What a run shows: plain lines where there is no terminal, a table where there is one."""

import io

from lanista.runs.settings import RunSettings
from lanista.training.progress_view import Lines, Live, display, number

SETTINGS = RunSettings(iterations=40)
VALUES = {"decisions": 1234567.0, "policy/loss": -0.012345, "cpu_seconds": 2.0, "lr": 0.1}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_without_a_terminal_there_are_lines_and_few_of_them():
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
