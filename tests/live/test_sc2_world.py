"""In the stand-in's world a strategy wins or loses for a reason. It is not StarCraft."""

from __future__ import annotations

import pytest

from lanista.live.sc2_stand_in.computer import PLANS, play_out
from lanista.live.sc2_stand_in.kinds import KINDS
from lanista.live.sc2_stand_in.world import LONGEST, SECOND, World

SEEDS = (0, 1)


def only(*names):
    """Return the schedules of sides that never change their strategy."""
    return tuple(((0.0, name),) for name in names)


def state(world):
    """Return all that matters of a world."""
    return (
        world.loop,
        world.winner,
        world.stock,
        [(t.tag, t.kind.name, t.side, t.x, t.y, t.hp, t.done) for t in world.things.values()],
    )


def test_the_same_seed_is_the_same_match_and_another_seed_another():
    ends = [state(play_out(seed, only("aggressive", "all_in"))) for seed in (3, 3, 4)]
    assert ends[0] == ends[1]
    assert ends[0] != ends[2]


def test_a_match_does_not_depend_on_how_time_is_cut():
    worlds = [World(5) for _ in range(2)]
    larva = worlds[0].own(0, "LARVA")[0].tag
    for world, step in zip(worlds, (1, 24), strict=True):
        assert world.order(0, larva, "train", "DRONE") == "Success"
        for _ in range(960 // step):
            world.advance(step)
    assert state(worlds[0]) == state(worlds[1])


def test_sides_begin_with_the_same_and_in_opposite_corners():
    world = World(0)
    names = [sorted(t.kind.name for t in world.own(side)) for side in (0, 1)]
    assert names[0] == names[1]
    assert names[0].count("DRONE") == 12
    assert world.starts[0] != world.starts[1]
    assert {World(seed).starts[0] for seed in range(20)} == set(world.starts)


def test_each_drone_at_the_minerals_brings_its_share():
    world = World(0)
    world.advance(240)
    before, loop = world.stock[0][0], world.loop
    world.advance(240)
    gained = world.stock[0][0] - before
    assert gained == pytest.approx(12 * 0.95 * (world.loop - loop) / SECOND)


def test_what_cannot_be_paid_fed_or_known_is_refused():
    world = World(0)
    larvae = [t.tag for t in world.own(0, "LARVA")]
    drone = world.own(0, "DRONE")[0].tag
    assert world.order(0, larvae[0], "train", "ZERGLING") == "TechRequirementsNotMet"
    assert world.order(0, larvae[0], "train", "OVERLORD") == "NotEnoughMinerals"
    assert world.order(0, drone, "train", "DRONE") == "NotSupported"
    assert world.order(1, larvae[0], "train", "DRONE") == "Error"
    world.stock[0][0] = 1000.0
    answers = [world.order(0, tag, "train", "DRONE") for tag in larvae]
    assert answers == ["Success", "Success", "NotEnoughFood"]
    assert world.stock[0][0] == 900.0
    assert world.order(0, drone, "build", "HATCHERY", world.starts[0]) == (
        "CantFindPlacementLocation"
    )


def test_a_building_costs_its_drone_and_stands_after_its_time():
    world = World(0)
    world.stock[0][0] = 200.0
    drone = world.own(0, "DRONE")[0]
    place = (44.0, 44.0)
    assert world.order(0, drone.tag, "build", "SPAWNINGPOOL", place) == "Success"
    while not world.own(0, "SPAWNINGPOOL"):
        world.advance(8)
    begun = world.seconds
    assert len(world.own(0, "DRONE")) == 11
    while not world.ready(0, "SPAWNINGPOOL"):
        world.advance(8)
    assert world.seconds - begun == pytest.approx(KINDS["SPAWNINGPOOL"].seconds, abs=1)


def test_economy_grows_income_over_all_others():
    drones = {}
    for name in PLANS:
        world = play_out(0, only(name, "economy"), 140 if name != "all_in" else 90)
        drones[name] = len(world.own(0, "DRONE"))
    assert max(drones, key=drones.__getitem__) == "economy"
    assert drones["economy"] > 1.5 * drones["aggressive"]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("greedy", ["economy", "tech"])
def test_aggressive_comes_before_the_greedy_are_ready(seed, greedy):
    world = play_out(seed, only("aggressive", greedy))
    assert world.winner == 0
    assert world.seconds < 300


@pytest.mark.parametrize("attack", ["aggressive", "all_in"])
def test_defensive_holds_what_comes_early(attack):
    world = play_out(0, only("defensive", attack), 320)
    assert world.winner is None
    assert world.own(0, "SPINECRAWLER")
    assert len(world.own(0, "DRONE")) > len(world.own(1, "DRONE"))


@pytest.mark.parametrize("slow", ["economy", "defensive"])
def test_tech_is_late_but_strong(slow):
    world = play_out(0, only("tech", slow))
    assert world.winner == 0
    assert world.seconds > 240
    assert world.own(0, "ROACH")


def test_all_in_trades_everything():
    won = play_out(0, only("all_in", "economy"))
    assert won.winner == 0
    assert won.seconds < 240
    held = play_out(0, only("all_in", "defensive"), 320)
    assert held.winner is None
    assert len(held.own(0, "DRONE")) < 6


def test_a_match_that_nobody_wins_is_a_draw_at_the_limit():
    world = World(0)
    world.loop = int((LONGEST - 1) * SECOND)
    world.advance(2 * 23)
    assert world.over
    assert world.winner is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
def test_the_reasons_hold_on_more_seeds(seed):
    assert play_out(seed, only("aggressive", "economy")).winner == 0
    assert play_out(seed, only("aggressive", "tech")).winner == 0
    assert play_out(seed, only("tech", "economy")).winner == 0
    assert play_out(seed, only("tech", "defensive")).winner == 0
    assert play_out(seed, only("all_in", "economy")).winner == 0
    assert play_out(seed, only("defensive", "aggressive"), 320).winner is None
    assert play_out(seed, only("defensive", "all_in"), 320).winner is None
