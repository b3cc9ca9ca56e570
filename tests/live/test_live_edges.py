"""Orders that must not depend on a folder's listing, and the ends of what numbers may be."""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from archives import entries_of, kept, packed
from practice import Bench, settings_of
from toy import agent_of, folder_of, game_of, header_of, view

from lanista.live.agent.agent import AgentError
from lanista.live.agent.journal import recovering
from lanista.live.diagnosis import evidence
from lanista.live.diagnosis.drift import drift
from lanista.live.files.game_file import GameFileError, read
from lanista.live.files.game_header import Layout, header_bytes
from lanista.live.files.recorded_games import read_games
from lanista.live.files.spool import Spool
from lanista.live.learner import background_learner
from lanista.live.learner.ledger import Ledger
from lanista.live.promotion.calibration import calibration
from lanista.live.promotion.e_process import CAP, EFFECTS, SPAN, extreme, stakes
from lanista.live.promotion.off_policy import opinion

SHUFFLED = [7, 3, 11, 0, 9, 5, 1, 8, 2, 10, 6, 4]


# Orders.


def test_reasons_of_refused_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for number in SHUFFLED:
        (tmp_path / f"{number:02d}.npz.reason.txt").write_text(f"Reason {number}.\n")
    assert list(evidence._reasons(tmp_path)) == [f"Reason {number}." for number in range(12)]


def test_journals_are_recovered_in_the_order_of_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, order = Spool(tmp_path), []
    spool.create()
    for number in SHUFFLED:
        (spool.open / f"{number:02d}.journal").write_bytes(b"")

    def recovered(path: Path) -> tuple[int, str]:
        order.append(path.name)
        return 0, ""

    monkeypatch.setattr(spool, "_recovered", recovered)
    spool.recover()
    assert order == [f"{number:02d}.journal" for number in range(12)]


def test_entropy_is_summed_over_heads_and_comes_in_the_order_of_updates(tmp_path: Path) -> None:
    with closing(Ledger(tmp_path / "learn.db", write=True)) as ledger:
        ledger.add_metrics(2, {"policy/entropy/0": 0.5})
        ledger.add_metrics(3, {"policy/entropy/0": 0.25, "policy/entropy/1": 0.5, "loss": 9.0})
        ledger.add_metrics(1, {"policy/entropy/1": 0.125})
        assert evidence._entropy(ledger) == ((1, 0.125), (2, 0.5), (3, 0.75))


def test_settings_that_differ_are_named_the_first_by_its_name() -> None:
    names = [f"s{number:02d}" for number in range(40)]
    one, other = (
        replace(game_of().header.layout, settings=dict.fromkeys(names, value)) for value in (1, 2)
    )
    assert one.difference(other) == ("setting s00", "1", "2")


def test_the_newest_games_and_the_oldest_archived_ones_are_read_in_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.create()
    contents = []
    for number in range(8):
        game = game_of(play=f"{number:016x}", game_id=str(number))
        path = spool.write(game)
        os.utime(path, ns=(number, number))
        contents.append(game.content)
        if number != 7:
            (taken,) = spool.take([path])
            spool.put_away(taken, game.content)
    games = read_games(spool, 3)
    assert [game.header.game_id for game in games.newest] == ["5", "6", "7"]
    assert [game.header.game_id for game in games.oldest] == ["0", "1", "2"]
    assert [game.written for game in games.newest] == [5, 6, 7]
    some = read_games(spool, 3, learned=frozenset(contents[1:]))
    assert [game.header.game_id for game in some.oldest] == ["1", "2", "3"]


@pytest.mark.parametrize(("steps", "kept_steps"), [(20, 19), (51, 50), (200, 50)])
def test_of_a_long_game_fifty_decisions_are_kept_from_its_first_to_its_last(
    tmp_path: Path, steps: int, kept_steps: int
) -> None:
    spool = Spool(tmp_path)
    spool.create()
    game = game_of(steps)  # Its step 1 was overruled.
    spool.write(game)
    (recorded,) = read_games(spool, 3).newest
    assert recorded.observations.shape == (kept_steps, 6)
    assert recorded.observations[0].tolist() == game.observations[0].tolist()
    assert recorded.observations[-1].tolist() == game.observations[-1].tolist()
    assert recorded.own == steps - 1
    own = np.delete(np.arange(steps), 1)
    places = [own[int(i * (len(own) - 1) / (kept_steps - 1) + 1e-9)] for i in range(kept_steps)]
    assert (recorded.observations == game.observations[places]).all()


# Files.


def test_a_short_file_of_any_size_is_refused_as_none(tmp_path: Path) -> None:
    for size in range(60):
        with pytest.raises(GameFileError, match="no npz file"):
            read(kept(tmp_path / "short.npz", bytes(size)))


def test_bytes_that_look_like_an_archives_end_may_lie_in_a_game(tmp_path: Path) -> None:
    game = game_of(40)
    game.observations[20, 1] = np.frombuffer(b"PK\x06\x07", "<f4")[0]
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries_of(game).items():
            archive.writestr(name, data)
    assert b"PK\x06\x07" in stored.getvalue()
    assert read(kept(tmp_path / "one.npz", stored.getvalue())).content == game.content


@pytest.mark.parametrize("name", ["rewards", "observations", "outcome"])
def test_an_array_with_bytes_behind_it_is_longer_than_it_says(tmp_path: Path, name: str) -> None:
    entries = entries_of(game_of())
    entries[f"{name}.npy"] += b"\0" * 3
    with pytest.raises(GameFileError, match=f"its {name} are longer than they say"):
        read(kept(tmp_path / "one.npz", packed(entries)))


@pytest.mark.parametrize(("length", "said"), [(2**18, "is not JSON"), (2**18 + 1, "no header")])
def test_a_journals_header_of_more_than_a_quarter_mebibyte_is_refused(
    tmp_path: Path, length: int, said: str
) -> None:
    text = header_bytes(game_of().header).ljust(length, b"!")
    start = struct.pack("<16sLL", b"lanista-journal\x01", length, zlib.crc32(text))
    path = kept(tmp_path / "a.journal", start + text)
    with pytest.raises(GameFileError, match=said), recovering(path):
        pass


def test_a_layout_is_made_of_settings_in_any_mapping() -> None:
    header = replace(header_of(), settings=MappingProxyType({"a": (1, 2)}))
    assert Layout.of(header).settings == {"a": [1, 2]}


# Numbers.


@pytest.mark.parametrize("sign", [1, -1])
def test_amounts_go_up_to_a_thousand_million_either_way(tmp_path: Path, sign: int) -> None:
    folder_of(tmp_path / "policy")
    with agent_of(tmp_path) as agent, agent.game("a") as game:
        game.act(view())
        game.reward(sign * 1e9)
        for wrong in (sign * 1.001e9, float("nan")):
            with pytest.raises(AgentError, match="give a number within 1e"):
                game.reward(wrong)


@pytest.mark.parametrize(("seed", "refused"), [(0, 0), (2**63 - 1, 0), (-1, 1), (2**63, 1)])
def test_an_agents_seed_has_63_bits(tmp_path: Path, seed: int, refused: bool) -> None:
    folder_of(tmp_path / "policy")
    if refused:
        with pytest.raises(AgentError, match="An agent's seed is"):
            agent_of(tmp_path, seed=seed)
    else:
        agent_of(tmp_path, seed=seed).close()


def test_stakes_are_effect_over_variance_and_capped() -> None:
    wide = stakes(0.5, 100.0, 0.25)
    assert wide == pytest.approx(EFFECTS * 0.5 / 100.0)
    most = CAP / (0.25 + 0.5 * SPAN)
    assert stakes(0.5, 0.0, 0.25) == pytest.approx(np.full(len(EFFECTS), most))
    assert (stakes(0.5, 1.0, 0.25) <= most).all()


@pytest.mark.parametrize("true", [-0.3, 0.0, 0.125, 0.3])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_end_of_an_interval_is_found_to_a_millionth_and_errs_to_the_outside(
    true: float, sign: int
) -> None:
    """Evidence crosses the line −log level exactly at the true end."""
    level = 0.05
    found = extreme(lambda bound: -np.log(level) + sign * (true - bound), level, sign)
    assert 0 <= sign * (true - found) <= 1e-6
    assert extreme(lambda bound: 0.0, level, sign) == -sign


def test_an_interval_of_calibration_is_the_error_give_or_take_its_noise() -> None:
    rng = np.random.default_rng(4)
    chance = rng.random(4000)
    outcome = (rng.random(4000) < np.clip(chance - 0.2, 0, 1)).astype(float)
    found = calibration(chance, outcome)
    assert found is not None
    assert 0 < found.noise < found.error
    assert found.low == pytest.approx(found.error - found.noise)
    assert found.high == pytest.approx(found.error + found.noise)
    one = calibration([0.25, 0.75], [1.0, 0.0], [0, 0])
    assert one is not None
    assert (one.games, one.low, one.high) == (1, 0.0, 1.0)


def test_the_smallest_chance_is_that_of_as_many_exchanges_as_were_made() -> None:
    rng = np.random.default_rng(5)
    old, new = rng.normal(size=(2, 60, 1))
    many = drift(old, np.arange(60), new, np.arange(60), exchanges=99)
    assert many.smallest_chance == pytest.approx(1 / 100)
    few = drift(old[:3], np.arange(3), new[:2], np.arange(2), exchanges=99)
    assert few.smallest_chance == pytest.approx(1 / 10)


def test_one_game_is_no_reason_for_a_veto() -> None:
    found = opinion(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1))
    assert (found.verdict, found.games, found.effective) == ("cannot_tell", 1, 1.0)


def test_decisions_are_told_by_the_update_that_their_weights_were_made_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of weights that nobody knows, by the newest."""
    updates: list[list[int]] = []
    usual = background_learner.unrolls_of

    def unrolls_of(training_games: Any, *given: Any) -> Any:
        updates.append([training_game.update for training_game in training_games])
        return usual(training_games, *given)

    bench = Bench(tmp_path, settings_of(batch_games=1))
    first = bench.stable
    with bench.start() as learner:
        for _ in range(2):
            bench.play(1)
            bench.learn(learner)
        monkeypatch.setattr(background_learner, "unrolls_of", unrolls_of)
        for policy in (first, "ab" * 32):
            bench.play(1, policy=policy)
            bench.learn(learner)
    # Asked once for the distance, once to learn: after two updates, and after three.
    assert updates == [[0], [0], [3], [3]]
