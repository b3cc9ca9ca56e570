"""Matches from a script: the numbers of the commands, for words, policies and classes of bots."""

import json

import pytest
from pipeline_runs import untrained

import lanista
from lanista.cli.main import main

SMALL = {"game": "kuhn", "network": {"kind": "mlp", "width": 8, "layers": 1}}


class Bets(lanista.PythonBot):
    name = "bets"

    def choose(self, observation, legal, stream):
        return legal[0][-1]


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    file = tmp_path_factory.mktemp("policy") / "small.safetensors"
    untrained(SMALL, file)
    return lanista.load_policy(file)


def written(path, *words):
    assert main([*words, str(path)]) == 0
    return {k: v for k, v in json.loads(path.read_text()).items() if not k.endswith("_seconds")}


def agree(result, there):
    mine = json.loads(json.dumps(result.to_dict()))
    return {k: v for k, v in mine.items() if k in there} == {
        k: there[k] for k in mine if k in there
    }


def test_play_has_the_numbers_of_the_command(tmp_path):
    words = ["--seats", "random,random", "--matches", "60", "--json"]
    there = written(tmp_path / "n", "play", "kuhn", *words)
    result = lanista.play("kuhn", ["random", "random"], matches=60)
    assert agree(result, there)
    assert result.score.value == there["standings"][0]["score"]["value"]
    assert [row["player"] for row in result.rows()] == ["random", "random #2"]
    assert "60 matches" in repr(result)


def test_evaluate_has_the_numbers_of_the_command(tmp_path, policy):
    words = ["--games", "40", "--greedy", "--output"]
    there = written(tmp_path / "n", "evaluate", str(policy.path), *words)
    result = lanista.evaluate(policy, games=40, greedy=True)
    assert agree(result, there)
    assert result["random"].matches == 40
    assert result.lowest.against == result.rows()[0]["opponent"] == "random"
    assert result.score.n == 20


def test_round_robin_has_the_numbers_of_the_command_and_ratings(tmp_path, policy):
    words = ["--bots", f"random,{policy.path}", "--matches", "40", "--json"]
    there = written(tmp_path / "n", "roundrobin", "kuhn", *words)
    result = lanista.round_robin("kuhn", ["random", policy], matches=40)
    assert agree(result, there)
    assert sum(pair.games for pair in result.pairs()) == 40
    ratings = {rating.name: rating for rating in result.ratings(anchor="random")}
    assert ratings["random"].value == 0
    assert ratings[policy.word].games == 40


def test_a_class_of_bots_plays_wherever_a_player_can_be_named():
    won = lanista.play("kuhn", [Bets, "random"], matches=200)
    assert won.rows()[0]["player"] == "Bets"
    assert won.summary.standings[0].margin.value > 0
    assert lanista.evaluate(Bets, "random", game="kuhn", games=20).gauntlet.name == "Bets"
    met = lanista.evaluate("random", [Bets, "random"], game="kuhn", games=20)
    assert [row["opponent"] for row in met.rows()] == ["Bets", "random"]


def test_two_classes_of_one_name_are_two_players():
    other = type("Bets", (lanista.PythonBot,), {"choose": lambda self, o, legal, s: legal[0][0]})
    one, two = lanista.play("kuhn", [Bets, other], matches=20).rows()
    assert (one["player"], two["player"]) == ("Bets", "Bets'")


def test_all_results_can_be_rated_together(policy):
    played = lanista.play("kuhn", [Bets, "random"], matches=20)
    judged = lanista.evaluate(policy, "random", games=20)
    rated = lanista.rate(played, judged, anchor="random")
    assert {rating.name: rating.games for rating in rated} == {
        "Bets": 20, "random": 40, policy.word: 20,
    }  # fmt: skip


def test_settings_and_options_are_those_of_the_game():
    result = lanista.play("beastybar", ["random"] * 3, matches=3, settings={"seats": 3})
    assert len(result.standings) == 3
    with pytest.raises(lanista.LanistaError, match=r"kuhn has no setting or option 'seets'"):
        lanista.play("kuhn", ["random", "random"], settings={"seets": 3})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: lanista.play("kun", ["random"] * 2), "did you mean 'kuhn'"),
        (lambda: lanista.play("kuhn", ["rnd", "random"]), "kuhn has no bot 'rnd'"),
        (lambda: lanista.play("kuhn", ["random"]), "2 seats, and 1 player is named"),
        (lambda: lanista.play("kuhn", [3, "random"]), "A player is 3; give a bot's name"),
        (lambda: lanista.play("kuhn", ["random"] * 2, matches=0), "matches is 0"),
        (lambda: lanista.evaluate("champion:kuhn"), "There is no policy 'champion:kuhn'; known"),
        (lambda: lanista.evaluate("random", game="kuhn", greedy=True), "random is a bot"),
        (lambda: lanista.round_robin("kuhn", ["random"]), "needs two players"),
    ],
)  # fmt: skip
def test_what_cannot_be_played_gets_a_sentence(call, sentence):
    with pytest.raises(lanista.LanistaError, match=sentence):
        call()


def test_an_interrupt_goes_on_once_what_is_complete_was_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr("lanista.rollout.replay_recorder.MOST_MATCHES", 10)
    ended = []

    def interrupting(more):
        ended.append(more)
        if sum(ended) > 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lanista.play("kuhn", ["random"] * 2, matches=40, record=tmp_path, progress=interrupting)
    assert list(tmp_path.glob("*.jsonl.gz"))


def test_a_game_is_made_by_name_and_by_class():
    class Coin(lanista.PythonGame):
        """Both name a side of a coin."""

        facts = lanista.Facts(2, 1, zero_sum=True, simultaneous=True)
        observation = (lanista.Field("nothing"),)
        moves = (lanista.Head("side", 2),)

        def deal(self, rng):
            return None

        def view(self, state, seat):
            return lanista.View([0.0])

        def apply(self, state, moves, rng):
            won = 1.0 if moves[0] == moves[1] else -1.0
            return [won, -won]

    assert lanista.make(Coin, slots=3).slots == 3
    assert lanista.make("kuhn", slots=2, seed=1).seed == 1
    assert "kuhn" in lanista.game_names()
