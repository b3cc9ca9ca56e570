"""Three instruments behind one call."""

from pathlib import Path

import pytest

from lanista.errors import LanistaError
from lanista.evaluate.meter import Instrument
from lanista.exploit import instruments
from lanista.exploit.best_response import ResponseSettings
from lanista.exploit.instruments import Exact, Learned, Pool
from lanista.exploit.response_play import TEST
from lanista.rollout import play

MY_BOT = Path(__file__).parents[2] / "examples" / "my_bot.py"
HOLES = Path(__file__).parents[1] / "league" / "planted" / "leduc_holes.py"


def test_one_player_is_read_by_three_instruments(tmp_path):
    pytest.importorskip("pyspiel")
    asked = ResponseSettings(
        "kuhn", train_steps=6000, games=4000, selection_games=1000, points=6, unit="gain",
        device="cpu",
    )  # fmt: skip
    instruments: dict[str, Instrument] = {
        "exact": Exact("kuhn"),
        "learned": Learned(asked, tmp_path),
        "pool": Pool("kuhn", ["random", str(MY_BOT)], matches=2000),
    }
    readings = {name: each.read("random") for name, each in instruments.items()}
    assert [reading.instrument for reading in readings.values()] == list(instruments)
    assert len({reading.digest for reading in readings.values()}) == 1
    # NashConv is the sum over both seats of what the learned response earns on average.
    assert readings["learned"].value == pytest.approx(readings["exact"].value / 2, rel=0.2)
    apart = [Pool("kuhn", [one], matches=2000).read("random") for one in ("random", str(MY_BOT))]
    lowest = min(apart, key=lambda reading: reading.value)
    assert (readings["pool"].value, readings["pool"].against) == (lowest.value, lowest.against)


def test_a_reading_that_was_taken_is_not_trained_for_again(tmp_path):
    asked = ResponseSettings(
        "kuhn", train_steps=500, games=100, selection_games=50, points=2, device="cpu"
    )
    first = Learned(asked, tmp_path).read("random")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("checkpoints/*")}
    assert Learned(asked, tmp_path).read("random") == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("checkpoints/*")} == before


def test_two_players_are_read_into_one_folder_without_meeting_there(tmp_path):
    asked = ResponseSettings(
        "kuhn", train_steps=300, games=20, selection_games=20, points=1, device="cpu"
    )
    instrument = Learned(asked, tmp_path)
    first, second = instrument.read("random"), instrument.read(MY_BOT)
    assert first.digest != second.digest
    assert {path.name for path in tmp_path.glob("*.safetensors")} == {
        f"{reading.digest[:16]}.safetensors" for reading in (first, second)
    }
    assert instrument.read("random") == first


def test_a_pool_plays_on_deals_that_no_run_is_trained_or_judged_on(monkeypatch):
    seen = []

    def watched(tables, schedule):
        seen.append(schedule)
        return play(tables, schedule)

    monkeypatch.setattr(instruments, "play", watched)
    Pool("kuhn", ["random", str(MY_BOT)], matches=20).read("random")
    assert len(seen) == 2
    for schedule in seen:
        assert schedule.deal.min() == schedule.match.min() == TEST
        assert len(schedule) == 20


def test_a_bot_that_tells_how_it_chooses_is_read_exactly_and_another_is_refused():
    pytest.importorskip("pyspiel")
    timid, sound = (Exact("leduc").read(f"{HOLES}:{name}") for name in ("Reckless", "Sound"))
    assert timid.weaker_than(sound)
    with pytest.raises(LanistaError, match="cannot tell how it chooses"):
        Exact("kuhn").read(MY_BOT)


def test_games_of_openspiel_are_read_as_their_twins_here_are():
    pytest.importorskip("pyspiel")
    ours, theirs = Exact("kuhn").read("random"), Exact("openspiel:kuhn_poker").read("random")
    assert ours.value == pytest.approx(theirs.value) == pytest.approx(11 / 12)
    with pytest.raises(LanistaError, match="needs moves in turn"):
        Exact("openspiel:goofspiel").read("random")


def test_a_pools_unknown_member_is_refused():
    with pytest.raises(LanistaError, match="nobody"):
        Pool("kuhn", ["nobody"]).read("random")
