"""The page of a battle: how often players chose as a policy would, and what is left out."""

from lanista.report.pages.battle_page import Choice, Judged, Step, battle_page


def page(*decisions: Judged, top: int = 2) -> str:
    return battle_page("a – b", [("format", "x")], [Step("1. Turn", ["a moves"], decisions)], top)


def test_agreement_counts_free_choices_that_showed() -> None:
    agrees = Judged("Ann", 1, [Choice("one", 0.75, True), Choice("two", 0.25, False)])
    differs = Judged("Ann", 2, [Choice("one", 0.75, False), Choice("two", 0.25, True)])
    forced = Judged("Ann", 3, [Choice("only", 1.0, True)])
    unseen = Judged("Ann", 4, [Choice("one", 0.5, False), Choice("two", 0.5, False)])
    html = page(agrees, differs, forced, unseen)
    numbers = ">4<", ">3<", ">1 of 2<", ">0.500<"
    assert all(number in html for number in numbers)


def test_a_choice_below_the_listed_ones_is_listed_too_and_the_rest_is_summed() -> None:
    shares = (0.4, 0.3, 0.2, 0.06, 0.04)
    choices = [Choice(f"choice {at}", share, at == 3) for at, share in enumerate(shares)]
    html = page(Judged("Ann", 1, choices))
    assert ["choice 0" in html, "choice 2" in html, "choice 3" in html] == [True, False, True]
    assert "2 more choices have 0.240 together." in html


def test_what_did_not_show_is_said() -> None:
    html = page(Judged("Ann", 1, [Choice("one", 1.0, False)]))
    assert "What was chosen did not show." in html
    assert ">0 of 0<" in html
    assert ">—<" in html
