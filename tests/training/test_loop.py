"""Runs on disk: what is refused, what is said, and what a fault costs."""

import errno
import hashlib
import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
import warm_python
from pipeline_runs import (
    ARENA,
    KUHN,
    SMALL,
    Listener,
    killed,
    last_state,
    metrics,
    same,
    settings_of,
    untrained,
)

from lanista.errors import LanistaError, RefusedError
from lanista.league.population import Population
from lanista.learn.learner import BrokenLossError
from lanista.nets.files.policy_file import load_policy, read_header
from lanista.runs import checkpoints as checkpoints
from lanista.runs.database import RunDatabase
from lanista.runs.folder import Run, folder_of, saved_settings
from lanista.runs.resume import resumed_settings
from lanista.training.learner_loop import LearnerLoop
from lanista.training.loop import train
from lanista.training.progress_view import SHOWN

HELPERS = Path(__file__).parents[1] / "helpers"

QUICK = {**KUHN, "evaluation": {}, "iterations": 4, "checkpoints": {"save_every": 2}}


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out" / "policy.pt"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_run_leaves_a_policy_at_exactly_its_path_and_a_folder_beside_it(output):
    assert train(settings_of(QUICK), output) == 0
    header = read_header(output)
    assert (header.game, header.step) == ("kuhn", 4)
    assert names(output.parent) == ["policy.pt", "policy.pt.run"]
    folder = output.parent / "policy.pt.run"
    assert names(folder) == ["checkpoints", "config.yaml", "policies", "run.db"]
    assert names(folder / "checkpoints") == ["000000", "000002", "000004"]
    assert saved_settings(folder_of(output)).iterations == 4


def test_metrics_have_a_row_for_each_update_and_name(output):
    train(settings_of(KUHN), output)
    with closing(sqlite3.connect(output.parent / "policy.pt.run" / "run.db")) as database:
        rows = dict(
            database.execute("SELECT name, value FROM metrics WHERE update_number = 8").fetchall()
        )
        (mode,) = database.execute("PRAGMA journal_mode").fetchone()
    assert mode == "wal"
    wanted = {
        "decisions", "cpu_seconds", "wall_seconds", "exact/nash_conv", "score/random",
        "score_low/random", "score_high/random", "policy/loss", "value/loss", "lr",
    }  # fmt: skip
    assert wanted <= rows.keys()
    assert rows["score_low/random"] < rows["score/random"] < rows["score_high/random"]
    assert rows["matches"] == 8 * 32
    assert rows["decisions"] == last_state(output)["decisions"] > 0


def test_the_exact_measure_is_that_of_the_averaged_policy(output):
    from lanista.evaluation.evaluator import probabilities
    from lanista.games.trees.exact import exact_nash_conv

    train(settings_of(KUHN), output)
    found = [value for _, name, value in metrics(output) if name == "exact/nash_conv"]
    assert exact_nash_conv("kuhn", probabilities(load_policy(output).policy)) == found[-1]


def test_an_existing_run_is_refused_and_left_alone(output):
    train(settings_of(QUICK), output)
    before = output.read_bytes()
    with pytest.raises(RefusedError, match="--resume"):
        train(settings_of(QUICK, seed=1), output)
    assert output.read_bytes() == before
    shutil.rmtree(output.parent / "policy.pt.run")
    with pytest.raises(RefusedError, match="belongs to no run"):
        train(settings_of(QUICK), output)


def test_resuming_what_is_not_there_is_an_error(output):
    with pytest.raises(LanistaError, match=r"no run .* to resume"):
        resumed_settings(folder_of(output), settings_of(QUICK))


def test_a_finished_run_that_is_resumed_changes_nothing(output):
    train(settings_of(QUICK), output)
    before, rows = output.read_bytes(), metrics(output)
    output.unlink()
    assert train(settings_of(QUICK), output, resume=True) == 0
    assert (output.read_bytes(), metrics(output)) == (before, rows)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"learning": {"lr": 1.0}}, "learning"),
        ({"seed": 3}, "seed"),
        ({"rollouts": {"matches": 31, "slots": 10}}, "rollouts.matches"),
    ],
)
def test_a_run_is_not_resumed_with_other_settings(change, key, output):
    train(settings_of(QUICK), output)
    with pytest.raises(RefusedError, match=key):
        resumed_settings(folder_of(output), settings_of(QUICK, **change))


def test_a_run_can_be_made_longer_and_says_so_in_its_folder(output):
    train(settings_of(QUICK), output)
    longer = resumed_settings(folder_of(output), settings_of(QUICK, iterations=6))
    assert train(longer, output, resume=True) == 0
    assert saved_settings(folder_of(output)).iterations == 6
    assert last_state(output)["iteration"] == 6


def test_every_number_that_the_screen_shows_is_one_that_a_run_gives(output):
    train(settings_of(QUICK), output)
    given = {row[1] for row in metrics(output)}
    assert set(SHOWN) <= given


def test_a_run_is_not_resumed_to_fewer_iterations_than_it_has_done(output):
    train(settings_of(QUICK), output)
    done = last_state(output)["iteration"]
    with pytest.raises(RefusedError, match=f"has done {done} iterations"):
        train(settings_of(QUICK, iterations=done - 1), output, resume=True)
    assert saved_settings(folder_of(output)).iterations == done


def test_settings_of_a_run_that_another_process_works_on_are_left_alone(output):
    train(settings_of(QUICK), output)
    before = saved_settings(folder_of(output))
    with Run(output), pytest.raises(RefusedError, match="Another process"):
        train(settings_of(QUICK, iterations=99), output, resume=True)
    assert saved_settings(folder_of(output)) == before


def test_a_damaged_checkpoint_is_said_and_the_one_before_it_used(output):
    settings = settings_of(KUHN, checkpoints={"save_every": 2})
    train(settings, output)
    rows, end, policy = metrics(output), last_state(output), output.read_bytes()
    file = output.parent / "policy.pt.run" / "checkpoints" / "000008" / checkpoints.TENSORS
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)
    listener = Listener()
    assert train(settings, output, resume=True, observers=[listener]) == 0
    assert any("000008 is damaged" in sentence for sentence in listener.sentences)
    assert listener.updates == [7, 8]
    assert metrics(output) == rows
    assert same(last_state(output), end)
    assert output.read_bytes() == policy


def test_with_every_checkpoint_damaged_the_run_refuses_to_start_over(output):
    train(settings_of(QUICK), output)
    for folder in (output.parent / "policy.pt.run" / "checkpoints").iterdir():
        (folder / checkpoints.VALUES).write_bytes(b"{}")
    before = output.read_bytes()
    with pytest.raises(RefusedError, match="not started over"):
        train(settings_of(QUICK), output, resume=True)
    assert output.read_bytes() == before


def test_a_damaged_database_is_refused(output):
    train(settings_of(QUICK), output)
    (output.parent / "policy.pt.run" / "run.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(RefusedError, match=r"run\.db is damaged"):
        train(settings_of(QUICK, iterations=5), output, resume=True)


def test_two_processes_cannot_work_on_one_run(output):
    train(settings_of(QUICK), output)
    with Run(output), pytest.raises(RefusedError, match="Another process"):
        train(settings_of(QUICK), output, resume=True)


def test_a_full_disk_costs_a_checkpoint_and_a_sentence(output, monkeypatch):
    settings = settings_of(KUHN, checkpoints={"save_every": 2, "keep_last": 9})
    write, calls = checkpoints.write_bytes, []

    def sometimes_full(path, data):
        if "000004" in str(path) and path.name == checkpoints.VALUES:
            calls.append(path)
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    monkeypatch.setattr(checkpoints, "write_bytes", sometimes_full)
    listener = Listener()
    assert train(settings, output, observers=[listener]) == 0
    assert len(calls) == 1
    assert [s for s in listener.sentences if "Iteration 4 could not be saved: no space" in s]
    folder = output.parent / "policy.pt.run" / "checkpoints"
    assert names(folder) == ["000000", "000002", "000006", "000008"]


def test_files_larger_than_allowed_cost_checkpoints_and_the_run_goes_on(output):
    """The system itself refuses to write: the metrics wait in memory, the old checkpoint stays."""
    program = f"""
import resource, signal
from pathlib import Path
from pipeline_runs import KUHN, Listener, settings_of
from lanista.training.learner_loop import LearnerLoop
from lanista.training.loop import train
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
settings = settings_of(KUHN, network={{"width": 64, "layers": 1}}, checkpoints={{"save_every": 2}})
listener = Listener()
def stop():
    if len(listener.updates) == 3:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
    if len(listener.updates) == 6:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    return False
assert train(settings, Path({str(output)!r}), stop=stop, observers=[listener]) == 0
print(sorted(listener.sentences))
"""
    done = warm_python.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HELPERS)},
    )
    assert done.returncode == 0, done.stderr
    assert "Iteration 4 could not be saved" in done.stdout
    assert last_state(output)["iteration"] == 8
    assert {row[0] for row in metrics(output)} == {*range(1, 9)}


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_checkpoint(
    output, monkeypatch
):
    update = LearnerLoop.iterate

    def poisoned(self):
        if self.iteration == 3:
            with torch.no_grad():
                next(self.learner.critic.parameters()).fill_(float("nan"))
        return update(self)

    monkeypatch.setattr(LearnerLoop, "iterate", poisoned)
    with pytest.raises(BrokenLossError, match=r"loss term \w+ is nan.*checkpoint is .*000002") as e:
        train(settings_of(QUICK), output)
    assert e.value.exit_code == 1
    assert last_state(output)["iteration"] == 2
    monkeypatch.undo()
    assert train(settings_of(QUICK), output, resume=True) == 0


FORECAST = {"forecast": ["bets"], "terms": {"policy": 1.0, "value": 0.5, "forecast": 0.1}}


@pytest.mark.parametrize("network", ["policy", "critic", "forecast"])
def test_weights_that_are_no_numbers_are_never_saved(output, monkeypatch, network):
    values = {**QUICK, "game": "leduc", "learning": {**QUICK.get("learning", {}), **FORECAST}}
    step = LearnerLoop.iterate

    def poisoned(self):
        yield from step(self)
        if self.iteration == 4:
            with torch.no_grad():
                next(getattr(self.learner, network).parameters()).fill_(float("inf"))

    monkeypatch.setattr(LearnerLoop, "iterate", poisoned)
    with pytest.raises(BrokenLossError, match="no longer finite"):
        train(settings_of(values), output)
    assert last_state(output)["iteration"] == 2


ANCHORED = {
    **QUICK,
    "learning": {"terms": {"policy": 1.0, "value": 0.5, "anchor_forward": 0.5}, "lr": 0.01},
}


def test_the_anchor_is_fixed_when_the_run_begins_and_stays(tmp_path, output):
    first = untrained(ANCHORED | {"learning": {}}, tmp_path / "sup.pt")
    digest = hashlib.sha256(first.read_bytes()).hexdigest()
    settings = settings_of(ANCHORED, supervised_checkpoint=str(first))
    train(settings, tmp_path / "unbroken" / "p.pt")
    killed(settings, output, 3)
    # Somebody puts another policy, even the newest one, where the first one was.
    first.write_bytes(untrained(QUICK, tmp_path / "other.pt", seed=6).read_bytes())
    going_on = resumed_settings(folder_of(output), settings)
    assert going_on.supervised_digest == digest
    train(going_on, output, resume=True)
    assert same(last_state(output), last_state(tmp_path / "unbroken" / "p.pt"))
    assert read_header(output).parents == (digest,)
    kept = output.parent / "policy.pt.run" / "policies" / f"{digest}.safetensors"
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == digest


def test_a_run_begins_from_the_supervised_policy_and_has_its_network(tmp_path):
    first = untrained(QUICK, tmp_path / "sup.pt")
    settings = settings_of({**QUICK, "network": {}}, supervised_checkpoint=str(first))
    output = tmp_path / "p.pt"
    train(settings, output)
    assert saved_settings(folder_of(output)).network.resolved_width == SMALL["width"]
    begun = checkpoints.read_state(tmp_path / "p.pt.run" / "checkpoints" / "000000")
    given = load_policy(first).policy.state_dict()
    assert same(dict(begun["learners"]["main"]["learner"]["policy"]), dict(given))


def test_a_run_from_a_supervised_policy_may_drop_other_shares_of_units(tmp_path):
    network = {**SMALL, "dropout": 0.3}
    first = untrained({**QUICK, "network": network}, tmp_path / "sup.pt")
    # While the critic learns alone, only dropout lets the policy differ from the one that played.
    still = {**QUICK, "learning": {**QUICK.get("learning", {}), "critic_warm_up": 4}}
    largest_kl = {}
    for rate, described in ((0.0, {**network, "dropout": 0.0}), (0.3, {})):
        output = tmp_path / f"{rate}" / "p.pt"
        train(settings_of(still, network=described, supervised_checkpoint=str(first)), output)
        assert saved_settings(folder_of(output)).network.dropout == rate
        values = [value for _, name, value in metrics(output) if name == "policy/behaviour_kl"]
        largest_kl[rate] = max(map(abs, values))
    assert largest_kl[0.0] < 1e-9 < 1e-7 < largest_kl[0.3]


def test_a_policy_of_another_game_or_network_is_refused(tmp_path, output):
    first = untrained(QUICK, tmp_path / "sup.pt")
    with pytest.raises(LanistaError, match="kuhn"):
        train(settings_of(QUICK, game="leduc", supervised_checkpoint=str(first)), output)
    settings = settings_of(QUICK, network={"width": 24}, supervised_checkpoint=str(first))
    with pytest.raises(LanistaError, match="another network"):
        train(settings, output)
    assert not output.parent.exists()


def test_an_opponent_from_a_file_stays_what_it_was(tmp_path, output):
    other = untrained(ARENA | {"rollouts": {}}, tmp_path / "other.pt")
    settings = settings_of(ARENA, rollouts={**ARENA["rollouts"], "opponents": ["self", str(other)]})
    train(settings, tmp_path / "unbroken" / "p.pt")
    killed(settings, output, 12)
    other.unlink()
    train(settings, output, resume=True)
    assert same(last_state(output), last_state(tmp_path / "unbroken" / "p.pt"))
    assert {n for _, n, _ in metrics(output) if n.startswith("return/")} == {f"return/{other}"}


def test_an_observer_that_fails_is_dropped_with_a_sentence(output):
    class Failing(Listener):
        def updated(self, update, values):
            raise RuntimeError("no connection")

    listener = Listener()
    assert train(settings_of(QUICK), output, observers=[Failing(), listener]) == 0
    assert listener.updates == [1, 2, 3, 4]
    assert [s for s in listener.sentences if "Failing failed" in s and "no connection" in s]


def test_retention_holds_while_a_run_goes_on(output):
    settings = settings_of(
        QUICK, iterations=10, checkpoints={"save_every": 1, "keep_last": 2, "keep_every": 4}
    )
    train(settings, output)
    folder = output.parent / "policy.pt.run" / "checkpoints"
    assert names(folder) == ["000000", "000004", "000008", "000009", "000010"]


def test_an_evaluated_match_can_be_played_again_from_its_row(output):
    from lanista.games import make, make_bot
    from lanista.rollout import Schedule, Table, play
    from lanista.rollout.inference.policy_players import policy_player

    train(settings_of(KUHN), output)
    folder = output.parent / "policy.pt.run"
    with closing(sqlite3.connect(folder / "run.db")) as database:
        found = database.execute(
            "SELECT names, digests, match, deal, returns, cut_off FROM matches JOIN lineups "
            "USING (lineup) ORDER BY match"
        ).fetchall()
    assert len(found) == len({row[2] for row in found}) == 8 * 20
    game, bots = make("kuhn", slots=4, seed=0), {}
    random_bot = make_bot("kuhn", "random", game.spec, 0)
    for who, players, match, deal, returns, cut_off in found[-20:]:
        assert (sorted(json.loads(who)), cut_off) == (["main", "random"], 0)
        digests = json.loads(players)
        for digest in digests:
            file = folder / "policies" / f"{digest}.safetensors"
            bots[digest] = policy_player(file, game.spec, 0) if file.exists() else random_bot
            assert bots[digest].digest == digest
        seating = np.array([[0, 1]], np.int32)
        schedule = Schedule(np.array([match]), np.array([deal]), seating)
        again = play([Table(game, tuple(bots[digest] for digest in digests))], schedule)
        assert again.returns[0].tolist() == json.loads(returns)


def test_training_games_are_counted_by_seating_with_who_really_played(output):
    settings = settings_of(
        QUICK, rollouts={"matches": 40, "slots": 16, "opponents": ["self", "random=3"]}
    )
    train(settings, output)
    with closing(sqlite3.connect(output.parent / "policy.pt.run" / "run.db")) as database:
        found = database.execute(
            "SELECT update_number, seating, digests, matches, pairs, first_match, last_match, "
            "first_update, reason FROM training_games"
        ).fetchall()
        reasons = dict(database.execute("SELECT opponent, reason FROM matchmaking").fetchall())
        (digest,) = database.execute("SELECT digest FROM players WHERE name = 'random'").fetchone()
    games = {}
    for update, seating, digests, matches, pairs, first, last, began, reason in found:
        assert reason == reasons["random" if "random" in seating else "main"] != ""
        games[seating] = games.get(seating, 0) + matches
        assert sum(sum(pair) for pair in json.loads(pairs)) == matches
        assert 40 * (update - 1) <= first <= last < 40 * update
        assert began == update - 1
        wanted = ["learner:main" if who == "main" else digest for who in json.loads(seating)]
        assert json.loads(digests) == wanted
    assert sum(games.values()) == 160
    first, second = games['["main", "random"]'], games['["random", "main"]']
    assert first == second > games['["main", "main"]'] / 2 > 0


def test_a_changed_value_or_missing_row_in_the_database_is_said(output):
    train(settings_of(QUICK), output)
    for change in (
        "UPDATE metrics SET value = value + 1 WHERE update_number = 1 AND name = 'policy/loss'",
        "DELETE FROM metrics WHERE update_number = 2",
    ):
        with closing(sqlite3.connect(output.parent / "policy.pt.run" / "run.db")) as database:
            database.execute(change)
            database.commit()
        listener = Listener()
        assert train(settings_of(QUICK), output, resume=True, observers=[listener]) == 0
        assert any("is not what the run wrote" in sentence for sentence in listener.sentences)


def test_a_number_that_the_database_gives_back_without_its_sign_is_no_damage(tmp_path):
    with closing(RunDatabase(tmp_path / "run.db")) as metrics:
        metrics.add(1, {"nothing": -0.0, "something": -0.5})
        metrics.flush()
        written = metrics.sum
    with closing(RunDatabase(tmp_path / "run.db")) as metrics:
        metrics.forget_after(1)
        assert metrics.sum == written


def test_an_untouched_database_is_not_complained_of(output):
    killed(settings_of(QUICK), output, 3)
    listener = Listener()
    assert train(settings_of(QUICK), output, resume=True, observers=[listener]) == 0
    assert listener.sentences == []


def test_a_changed_settings_file_is_noticed(output):
    train(settings_of(QUICK), output)
    file = output.parent / "policy.pt.run" / "config.yaml"
    file.write_text(file.read_text().replace("gamma: 1.0", "gamma: 0.9"))
    with pytest.raises(RefusedError, match=r"config\.yaml is not what the run was begun with"):
        train(saved_settings(folder_of(output)), output, resume=True)


def test_another_policy_in_the_runs_folder_is_refused(tmp_path, output):
    first = untrained(QUICK, tmp_path / "sup.pt")
    settings = settings_of(ANCHORED, supervised_checkpoint=str(first))
    train(settings, output)
    (kept,) = (output.parent / "policy.pt.run" / "policies").iterdir()
    kept.write_bytes(untrained(QUICK, tmp_path / "other.pt", seed=6).read_bytes())
    with pytest.raises(RefusedError, match="is not the policy the run was begun with"):
        train(settings, output, resume=True)


def test_a_policy_with_memory_is_not_measured_as_one_without(output):
    settings = settings_of(
        QUICK, network={"kind": "lstm", **SMALL}, evaluation={"every": 1, "matches": 10}
    )
    listener = Listener()
    assert train(settings, output, observers=[listener]) == 0
    assert any("NashConv is not measured" in sentence for sentence in listener.sentences)
    assert not any(name == "exact/nash_conv" for _, name, _ in metrics(output))


def test_a_fault_of_the_first_iteration_is_raised_as_itself(output, monkeypatch):
    """Nothing was recorded by then, so there is nothing more to save."""

    def games(self):
        raise ValueError("the table fell over")

    monkeypatch.setattr(Population, "games", games)
    with pytest.raises(ValueError, match="the table fell over"):
        train(settings_of(QUICK), output)
    monkeypatch.undo()
    assert last_state(output)["iteration"] == 0
    assert train(settings_of(QUICK), output, resume=True) == 0
