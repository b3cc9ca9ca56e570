"""The one reader of YAML: bombs, double keys, pipes and what is no text."""

import os
import signal

import pytest
import yaml

from lanista import yaml_text
from lanista.errors import LanistaError
from lanista.yaml_text import MOST_BYTES, MOST_DEPTH, MOST_VALUES, parse_yaml, read_yaml


@pytest.fixture(autouse=True)
def _ends():
    """End a test that would compute for ever, by its own CPU seconds."""

    def end(*_):
        raise AssertionError("the reader was still computing after 20 CPU seconds")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, 20)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def laughs(levels, width=9, merge=False):
    """Return lists (or maps that are merged) of aliases of lists of aliases."""
    lines = ["a0: &a0 {x0: 1}" if merge else "a0: &a0 [lol]"]
    for level in range(1, levels):
        inside = ", ".join([f"*a{level - 1}"] * width)
        value = f"{{<<: [{inside}], x{level}: 1}}" if merge else f"[{inside}]"
        lines.append(f"a{level}: &a{level} {value}")
    return "\n".join(lines)


@pytest.mark.parametrize("merge", [False, True])
def test_aliases_of_aliases_are_refused_before_they_are_written_out(merge):
    with pytest.raises(LanistaError, match=r"more than 50,000 values .*\(line 6, column "):
        parse_yaml(laughs(9, merge=merge), "It")


def test_aliases_that_come_to_little_are_read_as_yaml_says():
    text = "base: &base {lr: 1, width: 2}\none: {<<: *base, lr: 3}\ntwo: [*base, *base]\n"
    assert parse_yaml(text, "It") == yaml.safe_load(text)


def test_the_bound_on_values_counts_what_aliases_come_to():
    values = "[" + ", ".join(["0"] * 99) + "]"  # A hundred values with the list itself.
    some = (MOST_VALUES - 102) // 100  # The map, its two keys; the list of aliases.
    text = f"a: &a {values}\nb: [{', '.join(['*a'] * (some - 1))}]"
    assert len(parse_yaml(text, "It")["b"]) == some - 1
    with pytest.raises(LanistaError, match="values with its aliases written out"):
        parse_yaml(f"a: &a {values}\nb: [{', '.join(['*a'] * (some + 1))}]", "It")


@pytest.mark.parametrize("text", ["&a [*a]", "a: &a {b: {c: [*a]}}", "&a {<<: *a}"])
def test_what_lies_inside_itself_is_refused(text):
    with pytest.raises(LanistaError, match="an alias inside what it stands for"):
        parse_yaml(text, "It")


@pytest.mark.parametrize(
    ("text", "key", "lines"),
    [
        ("seed: 1\ngame: kuhn\nseed: 2\n", "seed", "1 and 3"),
        ("a: {b: 1, b: 1}", "b", "1 and 1"),
        ("- {x: 1}\n- y: 1\n  'y': 2\n", "y", "2 and 3"),
        ("1: a\n'1': b\n", "1", "1 and 2"),
        ("yes: a\ntrue: b\n", "True", "1 and 2"),
        ("a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", "<<", "3 and 4"),
        ("a: &a {x: 1, x: 2}\nb: {<<: *a}\n", "x", "1 and 1"),
    ],
)
def test_a_key_that_stands_twice_is_named_with_both_lines(text, key, lines):
    with pytest.raises(LanistaError, match=f"the key '{key}' twice, in lines {lines}; keep one"):
        parse_yaml(text, "It")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_depth_is_bounded_on_both_sides(opening):
    closing = {"[": "]", "{a: ": "}", "- ": ""}[opening]
    end = "" if opening == "- " else "1"
    fits = opening * MOST_DEPTH + end + closing * MOST_DEPTH
    assert parse_yaml(fits, "It") == yaml.safe_load(fits)
    for deep in (MOST_DEPTH + 1, 100_000):
        with pytest.raises(LanistaError, match=f"more than {MOST_DEPTH} deep"):
            parse_yaml(opening * deep + end + closing * deep, "It")


def test_aliases_cannot_be_used_to_go_deeper():
    lines = ["a0: &a0 [1]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 5000)]
    with pytest.raises(LanistaError, match="deep with its aliases written out"):
        parse_yaml("\n".join(lines), "It")


@pytest.mark.parametrize("number", ["1" + ":59" * 100_000, "9" * 5000, "1" + ":5" * 200 + ".5"])
def test_a_number_without_end_is_a_sentence(number):
    with pytest.raises(LanistaError, match=r"a number of [\d,]+ characters \(line 1, column 7\)"):
        parse_yaml(f"seed: {number}", "It")


@pytest.mark.parametrize(
    "text", ["!!python/object/apply:os.system [true]", "!!python/name:os.system", "!secret x"]
)
def test_a_tag_that_would_make_an_object_is_refused(text):
    with pytest.raises(LanistaError, match="could not determine a constructor"):
        parse_yaml(text, "It")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"a: 1\n" * (MOST_BYTES // 5 + 1), f"more than {MOST_BYTES:,} bytes"),
        (b"a: \xff\xfe", "is no text in UTF-8"),
        (b"a: \x00", "is no YAML"),
        (b"a: 1\n---\nb: 2\n", "is no YAML: expected a single document"),
        (b"? [a]\n: 1\n", "is no YAML: .*unhashable key"),
        (b"a: 2001-99-99", "is no YAML: month must be in 1..12"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_in_a_sentence(data, sentence, tmp_path):
    path = tmp_path / "s.yaml"
    path.write_bytes(data)
    with pytest.raises(LanistaError, match=sentence) as caught:
        read_yaml(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).count("\n") == 0


def test_a_pipe_a_device_and_a_folder_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    for path in (tmp_path / "pipe.yaml", "/dev/zero", tmp_path):
        with pytest.raises(LanistaError, match=r"no regular file|is a directory"):
            read_yaml(path)


def test_a_missing_file_and_a_name_that_is_none_are_sentences(tmp_path):
    for name in ("absent.yaml", "nul\0.yaml", "x" * 300):
        with pytest.raises(LanistaError, match="cannot be read"):
            read_yaml(tmp_path / name)


def test_a_link_to_a_settings_file_is_followed(tmp_path):
    (tmp_path / "real.yaml").write_text("a: 1")
    (tmp_path / "link.yaml").symlink_to("real.yaml")
    assert read_yaml(tmp_path / "link.yaml") == {"a": 1}


def test_an_empty_text_is_nothing():
    assert parse_yaml("# only a comment\n", "It") is None


def test_the_reader_in_python_refuses_the_same(monkeypatch):
    monkeypatch.setattr(yaml_text, "_Loader", yaml.SafeLoader)
    for text, sentence in [
        (laughs(9), "more than 50,000 values"),
        ("a: 1\na: 2", "in lines 1 and 2"),
        ("[" * 100_000, f"more than {MOST_DEPTH} deep"),
        ("&a [*a]", "inside what it stands for"),
    ]:
        with pytest.raises(LanistaError, match=sentence):
            parse_yaml(text, "It")
    assert parse_yaml("a: &a {x: 1}\nb: {<<: *a, y: 2}", "It")["b"] == {"x": 1, "y": 2}
