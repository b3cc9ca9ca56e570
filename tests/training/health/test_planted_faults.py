"""Faults planted in small real runs are said while these go on; sound runs are left in peace."""

from contextlib import closing, suppress

import pytest
from pipeline_runs import SMALL, KilledError, Killer, Listener, settings_of

from lanista.cli.main import main
from lanista.report.diagnosis import examine_run
from lanista.report.reading import read_run
from lanista.report.summary import summarise
from lanista.runs.folder import folder_of
from lanista.runs.reader import RunReader
from lanista.runs.schema import EventRow
from lanista.training.loop import train

KUHN = {
    "game": "kuhn",
    "iterations": 20,
    "network": SMALL,
    "learning": {"lr": 0.003},
    "rollouts": {"matches": 64},
    "evaluation": {"every": 10},
    "checkpoints": {"save_every": 20},
}
BOTS = {"every": 10, "exact": "never", "bots": ["random"], "matches": 200}
"""Kuhn poker as if nobody could measure NashConv of it."""
CHORES = """
from lanista.games import Facts, PythonBot, PythonGame, View

class Diligent(PythonBot):
    name = "diligent"
    def choose(self, observation, legal, stream):
        return 1

class Idle(PythonBot):
    name = "idle"
    def choose(self, observation, legal, stream):
        return 0

class Chores(PythonGame):
    \"\"\"Whoever works more often wins: too often for a learner that does not learn.\"\"\"
    name = "chores"
    facts = Facts(2, 16, zero_sum=True, simultaneous=True)
    observation = 1
    moves = 2
    bots = {"diligent": Diligent, "idle": Idle}

    def deal(self, rng):
        return [0, 0, 0]

    def view(self, state, seat):
        return View([state[2] / 16], (0, 1))

    def apply(self, state, moves, rng):
        for seat, move in moves.items():
            state[seat] += move
        state[2] += 1
        lead = state[0] - state[1]
        return None if state[2] < 16 else [(lead > 0) - (lead < 0), (lead < 0) - (lead > 0)]
"""


def trained(output, values, **changes):
    """Train, and return what the run itself and the doctor afterwards have to say."""
    listener = Listener()
    assert train(settings_of(values, **changes), output, observers=[listener]) == 0
    with closing(RunReader(folder_of(output) / "run.db")) as tables:
        events = [event for event in tables.rows(EventRow) if event.kind == "finding"]
    record = read_run(folder_of(output))
    findings = examine_run(record).findings
    for event in events:
        assert event.body["name"] in {finding.name for finding in findings}
    for finding in findings:
        notices = [words for words in listener.sentences if finding.remedy in words]
        if finding.name != "one_opponent":
            assert len(notices) == 1, f"{finding.name} was said {len(notices)} times"
    assert [row["name"] for row in summarise(record)["findings"]] == [f.name for f in findings]
    return {finding.name: finding for finding in findings}


@pytest.fixture(scope="module")
def capable(tmp_path_factory):
    """Return a policy that beats random play at Kuhn poker."""
    output = tmp_path_factory.mktemp("capable") / "p.pt"
    learning = {"lr": 0.03, "terms": {"policy": 1.0, "value": 0.5, "entropy": 0.2}}
    rollouts = {"matches": 64, "opponents": ["random"]}
    train(settings_of(KUHN, learning=learning, rollouts=rollouts, evaluation={}), output)
    return output


def test_sound_runs_have_no_finding(tmp_path):
    assert trained(tmp_path / "kuhn.pt", KUHN, iterations=60) == {}
    damped = {
        "lr": 0.01,
        "epochs": 2,
        "minibatches": 2,
        "critic_sees": "privileged",
        "normalise_advantages": False,
        "average_share": 0.2,
        "terms": {"policy": 1.0, "value": 0.5, "behaviour": 0.1, "magnet": 0.5},
    }
    leduc = {**KUHN, "game": "leduc", "rollouts": {"matches": 128}, "learning": damped}
    assert trained(tmp_path / "leduc.pt", leduc) == {}


def test_a_sound_run_from_a_capable_policy_has_no_finding(tmp_path, capable):
    changes = {"supervised_checkpoint": str(capable), "network": {}, "evaluation": BOTS}
    assert trained(tmp_path / "p.pt", KUHN, **changes) == {}


def test_a_policy_that_unlearns_what_it_began_with_falls_below_it_and_below_random(
    tmp_path, capable
):
    findings = trained(
        tmp_path / "p.pt",
        KUHN,
        supervised_checkpoint=str(capable),
        network={},
        learning={"lr": 0.1, "terms": {"policy": -1.0, "value": 0.5}},
        rollouts={"matches": 64, "opponents": ["self", "random"]},
        evaluation=BOTS,
    )
    assert {"score_fell", "below_random"} <= findings.keys()
    fell = findings["score_fell"]
    assert "the policy it began from" in fell.sentence
    assert "learning.lr" in fell.remedy
    assert fell.evidence["first"] > 0.6 > 0.4 > fell.evidence["last"]


def test_entropy_that_a_negative_weight_drives_out_is_said_and_printed(tmp_path, capsys):
    learning = {"lr": 0.1, "terms": {"policy": 1.0, "value": 0.5, "entropy": -1.0}}
    assert "entropy_gone" in trained(tmp_path / "p.pt", KUHN, learning=learning, iterations=30)
    assert main(["doctor", str(tmp_path / "p.pt.run")]) == 1
    assert "learning.terms.entropy" in capsys.readouterr().out


def test_steps_that_go_too_far_show_in_the_kl(tmp_path):
    terms = {"policy": 1.0, "value": 0.5, "entropy": 0.5}
    learning = {"policy": "vtrace", "lr": 1.0, "epochs": 4, "minibatches": 4, "terms": terms}
    evaluation = {**BOTS, "matches": 4}
    findings = trained(
        tmp_path / "p.pt",
        {**KUHN, "game": "liars_dice"},
        learning=learning,
        evaluation=evaluation,
        iterations=10,
    )
    assert "learning.target_kl" in findings["kl_too_large"].remedy


def test_a_critic_without_weight_and_one_that_is_misled_are_told_apart(tmp_path):
    without = {"lr": 0.003, "terms": {"policy": 1.0, "value": 0.0}}
    assert [*trained(tmp_path / "a.pt", KUHN, learning=without)] == ["critic_untrained"]
    misled = {"lr": 0.003, "terms": {"policy": 1.0, "value": -0.5}}
    findings = trained(tmp_path / "b.pt", KUHN, learning=misled, iterations=60)
    assert findings["critic_explains_nothing"].gravity == "spoils"


def test_opponents_that_always_or_never_lose_are_named(tmp_path):
    (tmp_path / "chores.py").write_text(CHORES)
    findings = trained(
        tmp_path / "p.pt",
        KUHN,
        game=str(tmp_path / "chores.py"),
        iterations=6,
        learning={"lr": 1e-9},
        rollouts={"matches": 144, "opponents": ["self", "idle", "diligent"]},
        evaluation={},
        checkpoints={"save_every": 6},
    )
    assert findings.keys() == {"always_beaten", "never_beaten"}
    assert findings["always_beaten"].evidence["opponent"] == "idle"
    assert findings["never_beaten"].evidence["opponent"] == "diligent"


def test_nash_conv_above_that_of_uniform_play_is_said(tmp_path):
    turned = {"kind": "linear", "start": 1.0, "end": -1.0}
    learning = {"lr": 0.02, "terms": {"policy": turned, "value": 0.5, "magnet": 0.1}}
    findings = trained(tmp_path / "p.pt", KUHN, learning=learning, iterations=60)
    rose = findings["nash_conv_rose"]
    assert rose.evidence["nash_conv"] > 1.25 * rose.evidence["reference"]


def test_a_killed_run_says_nothing_twice(tmp_path):
    values = {**KUHN, "learning": {"lr": 0.003, "terms": {"policy": 1.0, "value": 0.0}}}
    settings, output = settings_of(values, checkpoints={"save_every": 10}), tmp_path / "p.pt"
    first, second = Listener(), Listener()
    with suppress(KilledError):
        train(settings, output, observers=[first, Killer(15)])
    assert train(settings, output, resume=True, observers=[second]) == 0
    remedies = ["learning.terms.value" in words for words in first.sentences + second.sentences]
    assert sum(remedies) == 1
