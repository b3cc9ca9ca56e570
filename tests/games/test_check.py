"""Each check of `check_game` is shown a game that breaks what it is there to find."""

from __future__ import annotations

from dataclasses import replace

import pytest
from faulty_games import FAULTS, Generous, NeverEnds, WrongPlaces
from more_faulty_games import MORE_FAULTS, CountsFromOne, CutOffForOne
from sound_games import Duel, OneTurn, Signals

from lanista.games import Abilities, GameError, Option, Step, check_game
from lanista.games import check as module
from lanista.games.check import CHECKS, GameCheckError
from lanista.games.registry import BUILT_IN


def alone(check, game, **how):
    """Return what one check finds, without those before and after it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHECKS", {check: CHECKS[check]})
        return check_game(game, raise_on_failure=False, **how)[check]


def together(check, game, **how):
    """Return what a check finds among the others."""
    return check_game(game, raise_on_failure=False, **how)[check]


@pytest.mark.parametrize("found_by", [alone, pytest.param(together, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("check", "game", "evidence"), [*FAULTS, *MORE_FAULTS], ids=lambda v: getattr(v, "__name__", v)
)
def test_a_planted_fault_fails_its_named_check(check, game, evidence, found_by):
    # What real play rules out takes many matches to know.
    effort = 40_000 if check == "recall" else 5_000
    found = found_by(check, game, matches=16, effort=effort)
    assert found.outcome == "failed", found
    assert evidence in found.evidence


def test_every_check_has_a_planted_fault():
    assert {check for check, _, _ in FAULTS} == set(CHECKS)


@pytest.mark.parametrize("game", [Duel, Signals, OneTurn])
def test_a_sound_game_passes_every_check(game):
    checkup = check_game(game)
    assert checkup.passed
    applicable = {check.name for check in checkup.checks if check.outcome == "passed"}
    silent = {"symmetry"} if game is Duel else {"hidden", "recall"}
    assert applicable == set(CHECKS) - silent - {"paid_alike"}


def test_a_game_without_a_privileged_view_is_judged_by_what_the_others_see():
    class Plain(Duel):
        privileged_fields = ()

    assert alone("hidden", Plain).outcome == "passed"


def test_a_game_that_hides_nothing_may_redraw_nothing():
    class Harmless(Signals):
        def resample(self, state, seat, rng):
            pass

    assert alone("hidden", Harmless).outcome == "passed"


def test_failures_are_raised_with_a_sentence_each():
    class Twice(WrongPlaces, Generous):
        pass

    with pytest.raises(GameCheckError) as raised:
        check_game(Twice)
    lines = str(raised.value).splitlines()
    assert lines[0] == "twice breaks its contract."
    assert [line.partition(":")[0] for line in lines[1:]] == ["zero_sum", "places"]
    assert isinstance(raised.value, GameError)


def test_a_game_that_cannot_be_saved_or_seeded_is_not_judged_by_it():
    class Live(Duel):
        abilities = Abilities(seedable=False, restorable=False, replayable=False)

    checkup = check_game(Live)
    silent = {check.name for check in checkup.checks if check.outcome == "not applicable"}
    assert silent == {
        "determinism",
        "chance",
        "deals",
        "order",
        "legal",
        "hidden",
        "recall",
        "save",
        "symmetry",
        "paid_alike",
    }


def test_a_game_that_pays_its_seats_alike_passes_where_its_facts_say_so():
    class Together(Duel):
        facts = replace(Duel.facts, zero_sum=False, paid_alike=True)

        def apply(self, state, moves, rng):
            step = super().apply(state, moves, rng)
            same = lambda paid: None if paid is None else [paid[0]] * 2  # noqa: E731
            return Step(rewards=same(step.rewards), returns=same(step.returns))

    class Unsaid(Together):
        facts = replace(Duel.facts, zero_sum=False)

    assert alone("paid_alike", Together).outcome == "passed"
    unsaid = alone("paid_alike", Unsaid)
    assert unsaid.outcome == "not applicable"
    assert "say paid_alike" in unsaid.evidence


def test_cut_off_matches_are_accepted_when_that_is_asked_for():
    assert alone("length", NeverEnds, cut_off_allowed=True).outcome == "passed"


def test_a_match_cut_off_for_one_seat_alone_has_no_result_to_judge():
    checkup = check_game(CutOffForOne, matches=8, effort=500, raise_on_failure=False)
    assert checkup["ends"].outcome == "failed"
    assert checkup["zero_sum"].outcome == "not applicable"
    assert checkup["places"].outcome == "not applicable"


def test_a_game_that_no_match_could_be_played_of_fails_only_what_was_seen_of_it():
    checkup = check_game(CountsFromOne, matches=8, effort=500, raise_on_failure=False)
    failed = {check.name for check in checkup.checks if check.outcome == "failed"}
    assert failed == {"description", "length"}


def test_the_symmetry_check_plays_as_many_matches_as_the_effort_has_decisions_for():
    slots_made = []

    def made(slots, seed):
        slots_made.append(slots)
        return OneTurn(slots, seed)

    # Both seats decide once.
    found = check_game(made, matches=4, effort=1200)["symmetry"]
    assert "over 600 matches" in found.evidence
    assert max(slots_made) <= 256, "more matches at once than a large game has memory for"


def test_the_symmetry_check_gives_the_standard_error_of_a_mean():
    """Of 400 matches each seat wins half: √(400 / 399) / √400 = 0.05006."""

    class TakesTurns(OneTurn):
        def _finish(self, slot, match, step):
            won = 1 if match.id // 2 % 2 else -1
            super()._finish(slot, match, replace(step, returns=[won, -won]))

    found = check_game(TakesTurns, matches=4, effort=100, raise_on_failure=False)["symmetry"]
    assert found.evidence == (
        "the largest mean advantage of 2 seats over 400 matches is +0.0000, standard error 0.0501"
    )


def test_an_option_that_favours_a_seat_does_not_make_a_game_asymmetric():
    class Handicapped(OneTurn):
        def __init__(self, slots=1, seed=0):
            super().__init__(slots, seed)
            self.spec = replace(self.spec, options=(Option("handicap", 0, 0, 1),))
            self.handicap = [0] * slots

        def start(self, slots, match_ids, options=None):
            super().start(slots, match_ids, options)
            for slot in slots:
                self.handicap[slot] = (options or {}).get("handicap", 0)

        def _finish(self, slot, match, step):
            returns = [-1, 1] if self.handicap[slot] else step.returns
            super()._finish(slot, match, replace(step, returns=returns))

    found = check_game(Handicapped, matches=4, effort=100, raise_on_failure=False)["symmetry"]
    assert found.outcome == "passed", found


def test_a_factory_and_a_name_with_settings_can_be_checked():
    class Sized(Duel):
        def __init__(self, slots=1, seed=0, size=0):
            self.size = size
            super().__init__(slots, seed, size=size)

    little = {"matches": 8, "effort": 2_000}
    assert check_game(lambda slots, seed: Sized(slots, seed, 3), **little).passed
    assert check_game(Sized, settings={"size": 2}, **little).passed


def test_what_is_not_a_game_is_refused():
    with pytest.raises(GameError, match="give a name, a class or a factory"):
        check_game(Duel())
    with pytest.raises(GameError, match="matches is 0"):
        check_game(Duel, matches=0)
    with pytest.raises(GameError, match="did you mean 'kuhn'"):
        check_game("khun")


ELSEWHERE = ("openspiel", "pettingzoo", "microrts", "showdown")
COMPILED = [name for name in BUILT_IN if name not in ELSEWHERE]


@pytest.mark.parametrize("share", [0.25, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_game_of_ours_obeys_the_contract(name, share):
    # Arena's matches are long, so that fewer show as much.
    matches, effort = (4, 4_000) if name == "arena" else (int(32 * share), 40_000)
    settings = {"duration": 20.0} if name == "arena" and share < 1 else {}
    check_game(name, matches=matches, effort=int(effort * share), settings=settings)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_game_of_ours_obeys_the_contract_for_long(name):
    check_game(name, matches=32 if name == "arena" else 200, seed=1, effort=100_000)
