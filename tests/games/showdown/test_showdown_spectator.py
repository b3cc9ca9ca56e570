"""Orders read off logs written by hand: what a line proves, and what it does not."""

from __future__ import annotations

import pytest
from showdown_logs import came, heard, more, of, opening, ordered, turn

from lanista.games.showdown.formats import format_named
from lanista.games.showdown.protocol.requests import FORCED, PREVIEW, TURN
from lanista.games.showdown.spectating.logs import TIE, LogError, read_log
from lanista.games.showdown.spectating.spectator import (
    Bring,
    Move,
    Pass,
    Revive,
    Switch,
    Unknown,
)
from lanista.games.showdown.spectating.witness import witness

START = opening("Indeedee-F", "Dondozo", "Amoonguss", "Raichu")
UNSEEN = Unknown("did not act")
AIM = Unknown("aim not shown")


def test_moves_with_their_targets_switches_and_tera_are_read() -> None:
    told = heard(
        START,
        turn(
            1,
            came("p2b", "Comfey"),
            "|-terastallize|p1b: Dondozo|Grass",
            "|move|p1a: Indeedee-F|Psychic|p2a: Amoonguss",
            "|move|p2a: Amoonguss|Spore|p1a: Indeedee-F",
            "|move|p1b: Dondozo|Earthquake|p1a: Indeedee-F|[spread] p1a,p2a,p2b",
        ),
    )
    assert ordered(told, 0)[0] == [Move("psychic", 1), Move("earthquake", 0, tera=True)]
    assert ordered(told, 1)[0] == [Move("spore", 1), Switch(2)]


def test_a_move_at_the_ally_and_one_at_oneself_have_their_own_targets() -> None:
    told = heard(
        START,
        turn(
            1,
            "|move|p1a: Indeedee-F|Heal Pulse|p1b: Dondozo",
            "|move|p1b: Dondozo|Curse|p1b: Dondozo",
        ),
    )
    assert ordered(told, 0)[0] == [Move("healpulse", -2), Move("curse")]


def test_who_never_came_to_act_has_unknown_orders() -> None:
    told = heard(
        START,
        turn(
            1,
            "|move|p2b: Raichu|Fake Out|p1a: Indeedee-F",
            "|-damage|p1a: Indeedee-F|90/100",
            "|cant|p1a: Indeedee-F|flinch",
            "|move|p2a: Amoonguss|Sludge Bomb|p1b: Dondozo",
            "|-damage|p1b: Dondozo|0 fnt",
            "|faint|p1b: Dondozo",
        ),
    )
    assert ordered(told, 0)[0] == [Unknown("kept from moving"), UNSEEN]


def test_what_kept_it_from_moving_may_name_the_move() -> None:
    told = heard(
        START,
        turn(
            1,
            "|cant|p1a: Indeedee-F|move: Taunt|Protect",
            "|cant|p1b: Dondozo|Disable|Liquidation",
            "|cant|p2a: Amoonguss|slp",
            "|move|p2a: Amoonguss|Sleep Talk|p2a: Amoonguss",
            "|move|p2a: Amoonguss|Spore|p1a: Indeedee-F|[from] move: Sleep Talk",
        ),
    )
    assert ordered(told, 0)[0] == [Move("protect"), AIM]
    assert ordered(told, 1)[0][0] == Move("sleeptalk")


def test_a_redirected_move_does_not_tell_its_aim() -> None:
    told = heard(
        START,
        turn(
            1,
            "|move|p2a: Amoonguss|Rage Powder|p2a: Amoonguss",
            "|-singleturn|p2a: Amoonguss|move: Rage Powder",
            "|move|p1a: Indeedee-F|Psychic|p2a: Amoonguss",
            "|move|p1b: Dondozo|Wave Crash|p2b: Raichu",
        ),
    )
    assert ordered(told, 0)[0] == [AIM, Move("wavecrash", 2)]


def test_lightning_rod_draws_a_move_that_was_aimed_elsewhere() -> None:
    lines = ("|move|p1a: Indeedee-F|Thunderbolt|p2b: Raichu",)
    drawn = (*lines, "|-activate|p2b: Raichu|ability: Lightning Rod")
    assert ordered(heard(START, turn(1, *lines)), 0)[0][0] == Move("thunderbolt", 2)
    assert ordered(heard(START, turn(1, *drawn)), 0)[0][0] == AIM


def test_after_a_foe_fell_a_move_may_have_been_meant_for_it() -> None:
    told = heard(
        START,
        turn(
            1,
            "|move|p1a: Indeedee-F|Psychic|p2a: Amoonguss",
            "|-damage|p2a: Amoonguss|0 fnt",
            "|faint|p2a: Amoonguss",
            "|move|p1b: Dondozo|Wave Crash|p2b: Raichu",
        ),
        turn(2, "|move|p1b: Dondozo|Wave Crash|p2b: Raichu"),
    )
    first, second = ordered(told, 0)[:2]
    assert first == [Move("psychic", 1), AIM]
    # Now nobody stands beside it, and an aim at the empty place does the same.
    assert second[1] == Move("wavecrash", 2)
    assert ordered(told, 1)[1][0] == Pass()


@pytest.mark.parametrize("move", ["Dragon Darts", "Expanding Force", "Tera Starstorm"])
def test_moves_that_bend_do_not_tell_their_aim(move: str) -> None:
    told = heard(START, turn(1, f"|move|p1a: Indeedee-F|{move}|p2b: Raichu"))
    assert ordered(told, 0)[0][0] == AIM


def test_moves_that_others_brought_about_are_no_orders() -> None:
    told = heard(
        opening("Indeedee-F", "Oricorio", "Amoonguss", "Raichu"),
        turn(
            1,
            "|move|p2b: Raichu|Quiver Dance|p2b: Raichu",
            "|move|p1b: Oricorio|Quiver Dance|p1b: Oricorio|[from] ability: Dancer",
            "|move|p1a: Indeedee-F|Copycat|p1a: Indeedee-F",
            "|move|p1a: Indeedee-F|Quiver Dance|p1a: Indeedee-F|[from] move: Copycat",
            "|move|p1b: Oricorio|Revelation Dance|p2a: Amoonguss",
        ),
    )
    assert ordered(told, 0)[0] == [Move("copycat"), Move("revelationdance", 1)]


def test_a_move_that_was_instructed_is_no_order() -> None:
    told = heard(
        START,
        turn(1, "|move|p1b: Dondozo|Liquidation|p2a: Amoonguss"),
        turn(
            2,
            "|move|p1a: Indeedee-F|Instruct|p1b: Dondozo",
            "|-singleturn|p1b: Dondozo|move: Instruct|[of] p1a: Indeedee-F",
            "|move|p1b: Dondozo|Liquidation|p2a: Amoonguss",
            "|move|p1b: Dondozo|Wave Crash|p2b: Raichu",
        ),
    )
    assert ordered(told, 0)[1] == [Move("instruct", -2), Move("wavecrash", 2)]


def test_a_pivot_is_an_order_and_then_a_choice_of_who_comes() -> None:
    told = heard(
        START,
        turn(1, "|move|p2b: Raichu|Volt Switch|p1b: Dondozo", ends=False),
        more(
            came("p2b", "Comfey", "[from] Volt Switch"),
            "|move|p1b: Dondozo|Wave Crash|p2b: Comfey",
            *("|", "|upkeep", "|turn|2"),
        ),
        turn(2),
    )
    turn_one, forced = of(told, 1)[1:3]
    assert (turn_one.kind, turn_one.orders[1]) == (TURN, Move("voltswitch", 2))
    assert (forced.kind, forced.orders) == (FORCED, [Pass(), Switch(2)])
    assert forced.segment == 2
    assert [each.kind for each in of(told, 0)] == [PREVIEW, TURN, TURN, TURN]
    assert ordered(told, 0)[0][1] == Move("wavecrash", 2)


def test_an_eject_button_takes_an_order_away_unseen() -> None:
    told = heard(
        START,
        turn(
            1,
            "|move|p1a: Indeedee-F|Psychic|p2b: Raichu",
            "|-enditem|p2b: Raichu|Eject Button",
            ends=False,
        ),
        more(came("p2b", "Comfey"), "|", "|upkeep", "|turn|2"),
    )
    first, forced = ordered(told, 1)[:2]
    assert first[1] == UNSEEN
    assert forced == [Pass(), Switch(2)]


def test_both_places_that_were_emptied_are_filled_by_one_choice() -> None:
    told = heard(
        START,
        turn(
            1,
            "|move|p2b: Raichu|Explosion|p1a: Indeedee-F|[spread] p1a,p1b",
            *("|faint|p2b: Raichu", "|faint|p1a: Indeedee-F", "|faint|p1b: Dondozo"),
            *("|", "|upkeep"),
            ends=False,
        ),
        more(came("p1a", "Pawmot"), came("p2b", "Comfey"), came("p1b", "Tatsugiri"), "|turn|2"),
    )
    assert ordered(told, 0)[1] == [Switch(3), Switch(2)]
    assert ordered(told, 1)[1] == [Pass(), Switch(2)]


def test_whoever_was_dragged_in_was_not_chosen() -> None:
    told = heard(
        START,
        turn(
            1,
            "|move|p1b: Dondozo|Dragon Tail|p2a: Amoonguss",
            "|drag|p2a: Comfey|Comfey, L50|100/100",
        ),
    )
    assert ordered(told, 1)[0] == [UNSEEN, UNSEEN]
    assert [each.kind for each in of(told, 1)] == [PREVIEW, TURN, TURN]


def test_ally_switch_moves_the_actor_and_hides_aims() -> None:
    told = heard(
        START,
        turn(
            1,
            "|move|p1a: Indeedee-F|Ally Switch|p1a: Indeedee-F",
            "|swap|p1a: Indeedee-F|1|[from] move: Ally Switch",
            "|move|p1a: Dondozo|Wave Crash|p2a: Amoonguss",
            "|move|p2b: Raichu|Thunderbolt|p1a: Dondozo",
        ),
        turn(2, "|move|p1a: Dondozo|Wave Crash|p2b: Raichu"),
    )
    assert ordered(told, 0)[0] == [Move("allyswitch"), Move("wavecrash", 1)]
    assert ordered(told, 1)[0][1] == AIM
    assert ordered(told, 0)[1] == [Move("wavecrash", 2), UNSEEN]


def test_encore_overrules_in_its_own_turn_alone() -> None:
    told = heard(
        START,
        turn(1, "|move|p1b: Dondozo|Rest|p1b: Dondozo"),
        turn(
            2,
            "|move|p2b: Raichu|Encore|p1b: Dondozo",
            "|-start|p1b: Dondozo|Encore",
            "|move|p1b: Dondozo|Rest|p1b: Dondozo",
        ),
        turn(3, "|move|p1b: Dondozo|Rest|p1b: Dondozo"),
    )
    assert [orders[1] for orders in ordered(told, 0)[:3]] == [
        Move("rest"),
        Unknown("overruled"),
        Move("rest"),
    ]


def test_a_charge_hides_its_aim_and_then_leaves_no_choice() -> None:
    told = heard(
        opening("Dragonite", "Dondozo", "Amoonguss", "Raichu"),
        turn(1, "|move|p1a: Dragonite|Fly||[still]", "|-prepare|p1a: Dragonite|Fly"),
        turn(2, "|move|p1a: Dragonite|Fly|p2b: Raichu|[from] lockedmove"),
    )
    assert [orders[0] for orders in ordered(told, 0)[:2]] == [AIM, Move("fly", alone=True)]


def test_old_logs_write_their_tags_without_a_space() -> None:
    lines = [
        *opening("Dragonite", "Dondozo", "Amoonguss", "Raichu"),
        *turn(1, "|move|p1a: Dragonite|Outrage|p2b: Raichu"),
        *turn(2, "|move|p1a: Dragonite|Outrage|p2b: Raichu|[from]lockedmove"),
        "|win|Ann",
    ]
    told = witness(format_named("gen9vgc2025regi"), read_log("\n".join(lines), "old").lines)
    assert ordered(told, 0)[1][0] == Move("outrage", alone=True)


def test_a_recharge_is_the_only_thing_to_do_even_unseen() -> None:
    told = heard(
        opening("Dragonite", "Dondozo", "Amoonguss", "Raichu"),
        turn(
            1,
            "|move|p1a: Dragonite|Hyper Beam|p2b: Raichu",
            "|-mustrecharge|p1a: Dragonite",
        ),
        turn(2, "|move|p2b: Raichu|Thunderbolt|p1a: Dragonite", "|faint|p1a: Dragonite"),
    )
    assert ordered(told, 0)[1][0] == Move("recharge", alone=True)


def test_struggle_is_alone_unless_moves_are_imprisoned() -> None:
    struggle = "|move|p1b: Dondozo|Struggle|p2a: Amoonguss"
    assert ordered(heard(START, turn(1, struggle)), 0)[0][1] == Move("struggle", alone=True)
    imprisoned = heard(START, turn(1, "|-start|p2b: Raichu|move: Imprison"), turn(2, struggle))
    assert ordered(imprisoned, 0)[1][1] == Unknown("overruled")


def test_who_commands_passes() -> None:
    told = heard(
        opening("Tatsugiri", "Dondozo", "Amoonguss", "Raichu")[:-1],
        ["|-activate|p1a: Tatsugiri|ability: Commander|[of] p1b: Dondozo", "|turn|1"],
        turn(1, "|move|p1b: Dondozo|Order Up|p2b: Raichu"),
    )
    assert ordered(told, 0)[0] == [Pass(), Move("orderup", 2)]


def test_who_is_revived_is_a_choice_of_its_own() -> None:
    told = heard(
        opening("Pawmot", "Dondozo", "Amoonguss", "Raichu"),
        turn(1, "|faint|p1b: Dondozo", "|", "|upkeep", ends=False),
        more(came("p1b", "Tatsugiri"), "|turn|2"),
        turn(2, "|move|p1a: Pawmot|Revival Blessing|p1a: Pawmot", ends=False),
        more("|-heal|p1: Dondozo|50/100|[from] move: Revival Blessing", "|", "|upkeep", "|turn|3"),
    )
    assert ordered(told, 0)[2][0] == Move("revivalblessing")
    assert ordered(told, 0)[3] == [Revive(1), Pass()]


def test_transformed_orders_stay_unknown() -> None:
    told = heard(
        START,
        turn(1, "|-transform|p1a: Indeedee-F|p2b: Raichu"),
        turn(2, "|move|p1a: Indeedee-F|Thunderbolt|p2b: Raichu"),
    )
    assert ordered(told, 0)[1][0] == Unknown("transformed")


def test_a_side_that_may_be_in_disguise_is_known_as_such() -> None:
    told = heard(
        START,
        turn(1, "|replace|p1a: Zoroark|Zoroark, L50", "|-end|p1a: Zoroark|Illusion"),
    )
    assert told.disguised == (True, False)


def test_a_preview_is_known_once_all_four_have_shown_themselves() -> None:
    three = heard(START, turn(1, came("p1a", "Oricorio")))
    four = heard(START, turn(1, came("p1a", "Oricorio"), came("p1b", "Dragonite")))
    assert of(three, 0)[0].orders == [Unknown("not all showed themselves")]
    assert of(four, 0)[0].orders == [Bring((0, 1), (4, 5))]


def test_who_forfeits_had_ordered_something_unknown() -> None:
    lines = [*START, "|", "|-message|Ann forfeited.", "|", "|win|Bob"]
    log = read_log("\n".join(lines), "short")
    assert log.winner == 1
    assert of(witness(format_named("gen9vgc2025regi"), log.lines), 0)[-1].orders == [UNSEEN] * 2


def test_a_tie_has_no_winner() -> None:
    assert read_log("\n".join([*START, "|", "|tie"]), "tie").winner == TIE


def test_what_is_told_before_the_time_may_have_come_of_the_choices() -> None:
    lines = [
        *START,
        *("|c|☆Bob|hm", "|-enditem|p2b: Raichu|Custap Berry|[eat]", "|", "|t:|1700000100"),
        *("|move|p2b: Raichu|Encore|p1a: Indeedee-F", "|", "|upkeep", "|turn|2"),
    ]
    told = witness(format_named("gen9vgc2025regi"), lines)
    assert told.segments[1][-1] == "|turn|1"
    assert told.segments[2][1:3] == ["|-enditem|p2b: Raichu|Custap Berry|[eat]", "|"]


def test_a_log_without_times_is_refused() -> None:
    lines = [line for line in START if not line.startswith("|t:|")]
    with pytest.raises(LogError, match="when choices were made"):
        heard(lines)
