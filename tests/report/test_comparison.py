"""The table, the plot and the numbers that an experiment ends with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lanista.errors import LanistaError
from lanista.report.comparison import Comparison, read_lines, write_comparison
from lanista.report.curves import Curve, Look
from lanista.report.plot import Axis, Band, Panel, figure, round_step, short
from lanista.report.tables import markdown

SVG = "{http://www.w3.org/2000/svg}"


def made() -> Comparison:
    def curve(seed: int, last: float) -> Curve:
        return Curve(
            seed,
            tuple(
                Look(n, value, {"decisions": 1000.0 * n, "cpu_seconds": float(n)})
                for n, value in ((1, 4.0), (2, 1.0), (3, last))
            ),
        )

    return Comparison(
        "Arms & <legs>",
        "exact/nash_conv",
        {"a": [curve(1, 0.5), curve(2, 0.7), curve(3, 0.9)], "none yet": []},
    )


def test_the_table_has_median_interval_worst_and_what_is_unknown_is_a_dash() -> None:
    rows = made().rows()
    assert rows[0][:3] == ["a", "3", "0.700"]
    assert rows[0][3] == "0.500 to 0.900 (75%)"
    assert rows[0][4] == "0.900"
    assert rows[0][6:] == ["no", "3000", "3.0"]
    assert rows[1] == ["none yet", "0", *["—"] * 7]
    assert len(made().columns()) == len(rows[0]) == len(rows[1])


def test_the_plot_is_one_file_of_its_own_with_a_line_and_a_range_for_each_arm() -> None:
    text = made().plot()
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert len(root.findall(f".//{SVG}polyline")) == 2
    assert len(root.findall(f".//{SVG}polygon")) == 2
    said = [element.text for element in root.iter(f"{SVG}text")]
    assert {"Arms & <legs>", "decisions", "CPU seconds", "exact/nash_conv", "a"} <= set(said)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_points_lie_where_their_values_say() -> None:
    line = Band("a", [0.0, 5.0, 10.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    root = ElementTree.fromstring(figure("t", [Panel("x", "y", [line])]))
    found = root.find(f".//{SVG}polyline")
    assert found is not None
    points = [tuple(map(float, pair.split(","))) for pair in found.attrib["points"].split()]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert x0 < x1 < x2
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11)
    assert y0 > y1 > y2  # Upwards is smaller in SVG.
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.11)
    box = [float(n) for n in root.attrib["viewBox"].split()]
    assert all(0 < x < box[2] and 0 < y < box[3] for x, y in points)


def test_values_over_decades_get_a_logarithmic_axis() -> None:
    line = Band("a", [1.0, 2.0, 3.0], [1.0, 0.1, 0.01], [1.0, 0.1, 0.01], [1.0, 0.1, 0.01])
    text = figure("t", [Panel("x", "y", [line])])
    (points,) = re.findall(r'polyline points="([^"]+)"', text)
    ys = [float(pair.split(",")[1]) for pair in points.split()]
    assert ys[1] - ys[0] == pytest.approx(ys[2] - ys[1], abs=0.11)
    assert ">0.1<" in text


@pytest.mark.parametrize("values", [[2.0, 2.0], [0.0, 0.0], [-3.0, -3.0]])
def test_curves_that_do_not_move_can_be_drawn(values: list[float]) -> None:
    line = Band("a", [0.0, 0.0], values, values, values)
    assert "nan" not in figure("t", [Panel("x", "y", [line])])


def test_nothing_measured_is_said_so() -> None:
    assert "nothing measured yet" in figure("t", [Panel("x", "y", [])])


def test_ticks_are_round_and_within_the_axis() -> None:
    assert Axis(0.0, 10.0, False, 0, 1).ticks() == [0, 2, 4, 6, 8, 10]
    assert Axis(0.09, 2.0, True, 0, 1).ticks() == pytest.approx([0.1, 0.2, 0.5, 1, 2])
    assert [round_step(n) for n in (0.9, 1.1, 3.0, 7.0)] == [1, 2, 5, 10]
    assert [short(n) for n in (0.05, 300, 20_000, 1_500_000, 0)] == [
        "0.05", "300", "20k", "1.5M", "0",
    ]  # fmt: skip


def test_the_numbers_hold_every_look(tmp_path: Path) -> None:
    write_comparison(tmp_path, made(), {"failed": {"x": "why"}})
    found = json.loads((tmp_path / "results.json").read_text())
    first = found["arms"]["a"]["seeds"][0]
    assert first["looks"][1] == {"update": 2, "value": 1.0, "decisions": 2000.0, "cpu_seconds": 2.0}
    assert first["final"] == 0.5
    assert found["failed"] == {"x": "why"}
    assert found["arms"]["a"]["summary"]["rising"] is False
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "plot.svg", "table.md"}


def test_lines_of_other_programs_become_curves(tmp_path: Path) -> None:
    file = tmp_path / "peers.jsonl"
    lines = [
        '{"commit": "abc"}',
        '{"arm": "B", "seed": 2, "update": 9, "m": 0.5, "decisions": null, "cpu_seconds": 3}',
        '{"arm": "B", "seed": 2, "update": 4, "m": 1.5, "cpu_seconds": 1}',
        '{"arm": "A", "seed": 1, "skipped": "not installed"}',
        "",
    ]
    file.write_text("\n".join(lines))
    found = read_lines(file, "m", ["decisions", "cpu_seconds"])
    assert list(found) == ["B"]
    assert [(look.update, look.value, look.x) for look in found["B"][0].looks] == [
        (4, 1.5, {"cpu_seconds": 1.0}), (9, 0.5, {"cpu_seconds": 3.0}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line", ['{"m": 1}', "{", '{"arm": "a", "seed": 0, "update": 1, "m": NaN}']
)
def test_lines_that_do_not_fit_are_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "peers.jsonl"
    file.write_text(line)
    with pytest.raises(LanistaError, match=r"peers.jsonl is no file of measurements"):
        read_lines(file, "m", [])
    with pytest.raises(LanistaError, match="cannot be read"):
        read_lines(tmp_path / "nothing", "m", [])


def test_markdown_keeps_bars_apart() -> None:
    assert markdown(["a|b", "n"], [["x", "1"]]) == "| a\\|b | n |\n| --- | ---: |\n| x | 1 |\n"
