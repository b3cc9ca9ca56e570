"""Live feedback: what is written is read bit for bit, and what does not fit is refused."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from live_client import CLIENT, lines_of, play_live, rewrite

from lanista.data import lines
from lanista.data.datasets import DatasetError
from lanista.data.demonstrations import UNKNOWN, DemonstrationError
from lanista.data.feedback import (
    MANIFEST,
    STREAM,
    FeedbackError,
    FeedbackWriter,
    append_outcome,
    read_feedback,
    read_stream,
)
from lanista.data.gathering import gather
from lanista.games import make


def refusal(path) -> str:
    with pytest.raises(FeedbackError) as problem:
        read_stream(path)
    assert str(problem.value).startswith(f"{path} is refused: ")
    return str(problem.value)


@pytest.mark.parametrize(
    ("game", "settings"),
    [("kuhn", {}), ("beastybar", {}), ("arena", {"observation": "classic19", "duration": 2.0})],
)
def test_a_stream_gives_back_what_the_client_was_given_bit_for_bit(tmp_path, game, settings):
    spec, seen = play_live(tmp_path, game=game, **settings)
    stream = read_stream(tmp_path / "monday" / STREAM)
    assert len(stream) == len(seen)
    assert stream.observation.dtype == np.dtype(spec.observation.dtype)
    for row, (observation, mask, action) in enumerate(seen):
        assert stream.observation[row].tobytes() == observation.tobytes()
        assert (stream.mask[row] == mask).all()
        assert (stream.action[row] == action).all()
    assert stream.matches == ["m0", "m1"]
    assert stream.extras["fps"][0] == 30.0
    assert stream.extras["banner"][0] == "step 0"
    assert not stream.unfinished


def test_a_step_without_mask_seat_and_extras_means_all_legal_seat_0_and_nothing_measured(tmp_path):
    play_live(tmp_path)
    header, *steps = lines_of(tmp_path)
    for step in steps:
        del step["mask"], step["extras"], step["seat"]
    stream = read_stream(rewrite(tmp_path, [header, *steps]))
    assert stream.mask.all()
    assert (stream.seat == 0).all()
    assert stream.extras == {}


def test_interleaved_matches_come_out_one_after_another(tmp_path):
    play_live(tmp_path, matches=3)
    header, *steps = lines_of(tmp_path)
    one = dict(steps[0], match="a", step=0)
    mixed = [dict(one, match=name, step=step) for step in (0, 4) for name in ("b", "a")]
    stream = read_stream(rewrite(tmp_path, [header, *mixed]))
    assert stream.matches == ["b", "a"]
    assert stream.match.tolist() == [0, 0, 1, 1]
    assert stream.step.tolist() == [0, 4, 0, 4]


CHANGED_HEADERS = [
    ({"format": "other"}, "does not say 'lanista-feedback'"),
    ({"version": 2}, "version 2"),
    ({"version": True}, "version True"),
    ({"game": "kuhm"}, "is not installed"),
    ({"game": "../evil.py"}, "not plainly an installed one"),
    ({"settings": {"seats": 2}}, "has no setting"),
    ({"rules_version": 99}, "rules version 99"),
    ({"observation_version": 99}, "observation version 99"),
    ({"observation_length": 15}, "observations of length 15; here 11"),
    ({"heads": [{"name": "move", "size": 3}]}, "heads"),
    ({"heads": []}, "heads is []"),
    ({"session": ""}, "session is ''"),
    ({"session": "a\x1b[2J"}, "printable"),
    ({"player": {"name": "x"}}, "has no 'digest'"),
    ({"surprise": 1}, "unknown key 'surprise'"),
]


@pytest.mark.parametrize(("change", "reason"), CHANGED_HEADERS)
def test_a_header_that_does_not_fit_is_refused(tmp_path, change, reason):
    play_live(tmp_path)
    header, *steps = lines_of(tmp_path)
    assert reason in refusal(rewrite(tmp_path, [{**header, **change}, *steps]))


CHANGED_STEPS = [
    ({"observation": [0] * 15}, "has 15 numbers; one of kuhn with these settings has 11"),
    ({"observation": "0" * 11}, "has no numbers"),
    ({"observation": [0.5] * 11}, "fit uint8"),
    ({"observation": [-1] * 11}, "fit uint8"),
    ({"observation": [300] * 11}, "fit uint8"),
    ({"observation": [True] * 11}, "finite numbers only"),
    ({"observation": [1e300] * 11}, "finite numbers only"),
    ({"observation": [10**400] * 11}, "finite numbers only"),
    ({"action": [2]}, "the choice of head"),
    ({"action": [0, 0]}, "a list of 1"),
    ({"action": [-1]}, "the choice of head"),
    ({"action": 0}, "a list of 1"),
    ({"mask": "1"}, "mask"),
    ({"mask": "12"}, "mask"),
    ({"mask": [1, 1]}, "mask"),
    ({"mask": "10", "action": [1]}, "is not legal by its mask"),
    ({"seat": 2}, "seat is 2"),
    ({"step": -1}, "step is -1"),
    ({"step": 1.5}, "step is 1.5"),
    ({"time": "now"}, "time is 'now'"),
    ({"match": 7}, "match is 7"),
    ({"match": ""}, "match is ''"),
    ({"extras": {"a": [1]}}, "extra 'a'"),
    ({"extras": {"a": True}}, "extra 'a'"),
    ({"extras": {"time": 1}}, "called 'time'"),
    ({"extras": {f"n{i}": 1 for i in range(65)}}, "at most 64"),
    ({"reward": 1}, "unknown key 'reward'"),
]


@pytest.mark.parametrize(("change", "reason"), CHANGED_STEPS)
def test_a_step_that_does_not_fit_is_refused_with_its_line(tmp_path, change, reason):
    play_live(tmp_path)
    header, *steps = lines_of(tmp_path)
    said = refusal(rewrite(tmp_path, [header, {**steps[0], **change}]))
    assert "line 2: " in said
    assert reason in said


@pytest.mark.parametrize("key", ["match", "step", "time", "observation", "action"])
def test_a_step_without_a_required_key_is_refused(tmp_path, key):
    play_live(tmp_path)
    header, first, *_ = lines_of(tmp_path)
    del first[key]
    assert f"has no '{key}'" in refusal(rewrite(tmp_path, [header, first]))


def test_a_category_outside_its_classes_is_refused(tmp_path):
    spec, _ = play_live(tmp_path, game="beastybar")
    header, first, *_ = lines_of(tmp_path)
    assert spec.observation.fields[0].classes == 13
    first["observation"][0] = 13
    assert "line species in the observation" in refusal(rewrite(tmp_path, [header, first]))


def test_steps_that_do_not_rise_are_refused(tmp_path):
    play_live(tmp_path)
    header, first, *_ = lines_of(tmp_path)
    assert "must rise" in refusal(rewrite(tmp_path, [header, first, first]))


def test_an_extra_stays_a_number_or_a_text(tmp_path):
    play_live(tmp_path)
    header, first, *_ = lines_of(tmp_path)
    later = {**first, "step": 9, "extras": {"fps": "fast"}}
    assert "of one kind" in refusal(rewrite(tmp_path, [header, first, later]))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not json", "not JSON"),
        ('{"match":1,"match":2}', "no usable JSON"),
        ('{"time":NaN}', "no usable JSON"),
        ("[1]", "not a JSON object"),
        ("[" * 2000, "nests more"),
        ("", "not JSON"),
        ('{"step":' + "9" * 5000 + "}", "no usable JSON"),
    ],
)
def test_lines_that_are_no_plain_objects_are_refused(tmp_path, line, reason):
    play_live(tmp_path)
    header = lines_of(tmp_path)[0]
    assert reason in refusal(rewrite(tmp_path, [header, line]))


def test_an_unfinished_last_line_is_left_out_and_told(tmp_path):
    play_live(tmp_path)
    path = tmp_path / "monday" / STREAM
    whole = read_stream(path)
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    cut = read_stream(path)
    assert cut.unfinished
    assert len(cut) == len(whole) - 1
    path.write_bytes(data[:20])
    assert "first line has no end" in refusal(path)


def test_hostile_files_are_refused_and_never_waited_on(tmp_path, monkeypatch):
    play_live(tmp_path)
    good = tmp_path / "monday" / STREAM
    link = tmp_path / "link" / STREAM
    link.parent.mkdir()
    link.symlink_to(good)
    assert "it is a link" in refusal(link)
    pipe = tmp_path / "pipe" / STREAM
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    assert "not a regular file" in refusal(pipe)
    monkeypatch.setattr(lines, "LONGEST_LINE", 100)
    assert "longer than 100 bytes" in refusal(good)
    monkeypatch.setattr(lines, "LONGEST_LINE", 4 << 20)
    monkeypatch.setattr(lines, "LARGEST_CONTENT", 200)
    assert "longer than 200 bytes" in refusal(good)


def test_the_writer_refuses_what_could_not_be_read_and_a_second_session_in_one_folder(tmp_path):
    spec, seen = play_live(tmp_path)
    observation, mask, action = seen[0]
    with pytest.raises(FeedbackError, match="of its own"):
        FeedbackWriter(tmp_path / "monday", spec, "again", CLIENT)
    writer = FeedbackWriter(tmp_path / "other", spec, "other", CLIENT)
    for wrong in (
        {"observation": observation[:-1]},
        {"action": [5]},
        {"extras": {"a": float("nan")}},
        {"mask": ~mask},
    ):
        given = {"observation": observation, "action": action, **wrong}
        with pytest.raises(FeedbackError, match="cannot be written"):
            writer.step("m", 0, 0.0, **given)
    writer.step("m", 3, 0.0, observation, action)
    with pytest.raises(FeedbackError, match="must rise"):
        writer.step("m", 3, 1.0, observation, action)
    writer.close()
    assert len(lines_of(tmp_path, "other")) == 2


def outcomes_of(tmp_path) -> list[int]:
    found = []
    read_feedback(
        tmp_path / "feedback",
        tmp_path / "live",
        take=lambda file, stream, outcome: found.extend(outcome.tolist()),
    )
    return found


@pytest.mark.parametrize(
    "word",
    [
        "monday",
        f"monday/{STREAM}",
        f"reports/feedback_training/monday/{STREAM}",
        f"reports\\feedback_training\\monday\\{STREAM}",
    ],
)
def test_outcomes_are_linked_by_session_or_by_the_streams_path(tmp_path, word):
    play_live(tmp_path / "feedback", matches=3)
    append_outcome(tmp_path / "live", word, "loss", match="m2", time=5.0, info={"map": "x"})
    append_outcome(tmp_path / "live", word, "draw", match="m0")
    assert outcomes_of(tmp_path) == [1, UNKNOWN, 2]


def test_an_outcome_without_a_match_belongs_to_the_only_one(tmp_path):
    play_live(tmp_path / "feedback", matches=1)
    append_outcome(tmp_path / "live", "monday", "win")
    assert outcomes_of(tmp_path) == [0]


def test_an_outcome_without_a_match_is_refused_where_there_are_several(tmp_path):
    play_live(tmp_path / "feedback", matches=2)
    append_outcome(tmp_path / "live", "monday", "win")
    summary = read_feedback(tmp_path / "feedback", tmp_path / "live")
    assert "without naming the match" in summary.broken[0].reason


def test_an_outcome_told_twice_is_refused(tmp_path):
    play_live(tmp_path / "feedback")
    for folder in ("a", "b"):
        append_outcome(tmp_path / "live" / folder, "monday", "win", match="m0")
    summary = read_feedback(tmp_path / "feedback", tmp_path / "live")
    assert [str(one.file) for one in summary.broken] == [f"b/{MANIFEST}"]
    assert "a second time" in summary.broken[0].reason


def test_outcomes_without_feedback_are_counted_and_named(tmp_path):
    play_live(tmp_path / "feedback")
    append_outcome(tmp_path / "live", "tuesday", "win", match="m0")
    append_outcome(tmp_path / "live", "monday", "win", match="m9")
    summary = read_feedback(tmp_path / "feedback", tmp_path / "live")
    assert summary.linked == 0
    assert len(summary.unlinked) == 2
    assert "'tuesday'" in summary.unlinked[0]
    assert "'m9'" in summary.unlinked[1]
    assert not summary.broken


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "version 2"),
        ({"outcome": "won"}, "win, draw or loss"),
        ({"outcome": ["win"]}, "win, draw or loss"),
        ({"runtime_feedback": 3}, "runtime_feedback is 3"),
        ({"score": 3}, "unknown key 'score'"),
        ({"seat": -1}, "seat is -1"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused_and_the_rest_goes_on(tmp_path, change, reason):
    play_live(tmp_path / "feedback")
    append_outcome(tmp_path / "live" / "good", "monday", "win", match="m0")
    line = {"version": 1, "runtime_feedback": "monday", "outcome": "loss", "match": "m1"}
    bad = tmp_path / "live" / "bad" / MANIFEST
    bad.parent.mkdir()
    bad.write_text(json.dumps({**line, **change}) + "\n")
    summary = read_feedback(tmp_path / "feedback", tmp_path / "live")
    assert [str(one.file) for one in summary.broken] == [f"bad/{MANIFEST}"]
    assert reason in summary.broken[0].reason
    assert summary.linked == 1


def test_two_streams_of_one_session_are_refused(tmp_path):
    play_live(tmp_path)
    rewrite(tmp_path, lines_of(tmp_path), session="copy")
    summary = read_feedback(tmp_path)
    assert len(summary.broken) == 1
    assert "is that of" in summary.broken[0].reason


def test_folders_without_feedback_or_reports_are_noted(tmp_path):
    empty, missing, feedback = (tmp_path / name for name in ("empty", "missing", "feedback"))
    empty.mkdir()
    play_live(feedback)
    for folders, sentences in [
        ((empty,), [f"Nothing comes from {empty}: it holds no feedback, whose files are called"]),
        ((missing,), [f"Nothing comes from {missing}: it does not exist."]),
        ((feedback, empty), [f"Nothing comes from {empty}: it holds no reports, whose files are"]),
        ((missing, missing), [f"Nothing comes from {missing}: it does not exist."] * 2),
        ((feedback,), []),
    ]:
        summary = read_feedback(*folders)
        assert len(summary.notices) == len(sentences)
        for notice, sentence in zip(summary.notices, sentences, strict=True):
            assert notice.startswith(sentence)
        assert bool(summary.decisions) == (folders[0] == feedback)
        assert summary.as_json()["notices"] == summary.notices
    with pytest.raises(DatasetError, match="is not a folder"):
        read_feedback(feedback / "monday" / STREAM)
    with pytest.raises(DemonstrationError, match=r"learn from\. Nothing comes from"):
        gather(feedback=missing)


def test_feedback_is_gathered_with_outcomes_extras_and_unknown_ends(tmp_path):
    _, seen = play_live(tmp_path / "feedback", matches=3)
    append_outcome(tmp_path / "live", "monday", "win", match="m1")
    data, summary = gather(None, tmp_path / "feedback", tmp_path / "live")
    assert summary.linked == 1
    assert data.outcome.tolist() == [UNKNOWN, 0, UNKNOWN]
    assert data.teachers == (CLIENT,)
    unrolls = data.unrolls(np.arange(3))
    assert unrolls.observation.tobytes() == b"".join(one.tobytes() for one, _, _ in seen)
    assert set(unrolls.extras) == {"fps", "banner", "time"}
    assert unrolls.extras["banner"][0] == "step 0"
    assert unrolls.extras["fps"][0] == 30.0
    last = unrolls.reward[unrolls.ended]
    assert np.isnan(last).tolist() == [True, False, True]
    assert last[1] == 1.0


def test_broken_feedback_stops_a_gathering_with_a_sentence_for_each_file(tmp_path):
    play_live(tmp_path)
    rewrite(tmp_path, ["{}"], session="bad")
    rewrite(tmp_path, ["[]"], session="worse")
    with pytest.raises(DemonstrationError) as problem:
        gather(None, tmp_path)
    assert f"bad/{STREAM}: line 1" in str(problem.value)
    assert f"worse/{STREAM}: line 1" in str(problem.value)


def test_feedback_in_another_layout_than_the_replays_is_refused(tmp_path):
    from recording import record

    from lanista.data import write_replays

    replays = record("arena", 2, duration=2.0)
    write_replays(tmp_path / "data" / "a.jsonl.gz", replays.header, replays.records)
    play_live(tmp_path / "feedback", game="arena", observation="classic19", duration=2.0)
    with pytest.raises(DemonstrationError, match=r"observation=classic19.*observation=rich"):
        gather(tmp_path / "data", tmp_path / "feedback")


def test_a_live_client_the_recorder_and_the_rollout_see_one_vector(tmp_path):
    """The same matches through feedback, replay and game give the same observations."""
    from lanista.data import Header, Record, write_replays
    from lanista.games import make_bot

    settings = {"observation": "classic19", "duration": 2.0}
    _, seen = play_live(tmp_path / "feedback", matches=1, game="arena", **settings)
    game = make("arena", seed=4, **settings)
    bot = make_bot("arena", "random", game.spec, 4)
    game.start([0], [0])
    actions = []
    while not game.done[0].all():
        decisions = game.decisions()
        chosen = bot.act(decisions, np.arange(len(decisions)))
        actions.extend(chosen.tolist())
        game.act(np.arange(len(decisions)), chosen)
    record = Record(
        0, 0, {}, (0, 1), np.array(actions, np.int32),
        tuple(game.returns[0].tolist()), tuple(game.place[0].tolist()),
        bool(game.cut_off[0].any()),
    )  # fmt: skip
    write_replays(tmp_path / "data" / "a.jsonl.gz", Header.of(game.spec, 4, [bot] * 2), [record])
    data, _ = gather(tmp_path / "data", tmp_path / "feedback")
    lengths = np.diff(data.first)
    assert data.seat.tolist() == [0, 1, 0]
    replayed, live = data.rows(np.array([0])), data.rows(np.array([2]))
    assert lengths[0] == lengths[2] == len(seen)
    assert data.observation[replayed].tobytes() == data.observation[live].tobytes()
    assert data.observation[live].tobytes() == b"".join(one.tobytes() for one, _, _ in seen)


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "feedback.md"


def blocks(kind: str) -> list[str]:
    fenced = PAGE.read_text().split("```")[1::2]
    return [text.partition("\n")[2] for text in fenced if text.partition("\n")[0] == kind]


def test_the_examples_on_the_page_are_a_stream_and_its_manifest(tmp_path):
    (stream, event), (manifest,) = blocks("json"), blocks("jsonl")
    stream += event
    for path, text in (("feedback/monday/" + STREAM, stream), ("live/" + MANIFEST, manifest)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    summary = read_feedback(tmp_path / "feedback", tmp_path / "live")
    assert not summary.broken
    assert (summary.decisions, summary.outcomes, summary.linked) == (3, 2, 1)
    assert summary.streams[0].unknown == {"ping": 1}


def test_the_code_on_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    codec, stream = blocks("python")
    exec(codec, {})
    assert capsys.readouterr().out.startswith("[7, 5, 5, 0, 1, 0, 0] Action(move_x=0.4, ")
    exec(stream, {})
    assert capsys.readouterr().out == "1 (1, 19) ['ROUND 1']\n"
    assert read_feedback("feedback", "live").linked == 1
