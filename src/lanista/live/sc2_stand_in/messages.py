"""How the stand-in's world looks in StarCraft II's protocol: numbers of abilities and units, and
the messages about them.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from s2clientprotocol import common_pb2 as common
from s2clientprotocol import data_pb2, raw_pb2
from s2clientprotocol import sc2api_pb2 as api
from sc2.data import ActionResult
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId
from sc2.ids.upgrade_id import UpgradeId

from lanista.live.sc2_stand_in.kinds import KINDS, UPGRADES, Kind
from lanista.live.sc2_stand_in.world import SECOND, SIZE, Place, Thing, World

STRUCTURE = data_pb2.Structure
VISIBLE, SNAPSHOT = 1, 2
SELF, NEUTRAL, ENEMY = 1, 3, 4
_RESEARCH = {
    "ZERGLINGMOVEMENTSPEED": AbilityId.RESEARCH_ZERGLINGMETABOLICBOOST,
    "ZERGMELEEWEAPONSLEVEL1": AbilityId.RESEARCH_ZERGMELEEWEAPONSLEVEL1,
    "ZERGMISSILEWEAPONSLEVEL1": AbilityId.RESEARCH_ZERGMISSILEWEAPONSLEVEL1,
    "ZERGGROUNDARMORSLEVEL1": AbilityId.RESEARCH_ZERGGROUNDARMORLEVEL1,
}
_PLAIN = {
    "move": (AbilityId.MOVE_MOVE, AbilityId.MOVE),
    "attack": (AbilityId.ATTACK_ATTACK, AbilityId.ATTACK),
    "stop": (AbilityId.STOP_STOP, AbilityId.STOP),
    "gather": (AbilityId.HARVEST_GATHER_DRONE, AbilityId.HARVEST_GATHER),
}
"""The exact ability of an order, and the general one that a bot may name instead."""

# What an ability is aimed at: 1 nothing, 2 a point, 3 a unit, 4 a point or a unit.
_TARGETS = {"move": 4, "attack": 4, "gather": 3, "build": 2, "EXTRACTOR": 3}


def _creation(kind: Kind) -> AbilityId | None:
    if kind.name in ("MINERALFIELD", "VESPENEGEYSER", "LARVA", "EGG"):
        return None
    return AbilityId[("ZERGBUILD_" if kind.structure else "LARVATRAIN_") + kind.name]


def _orders() -> dict[int, tuple[str, str]]:
    table = {}
    for verb, (exact, general) in _PLAIN.items():
        table[exact.value] = table[general.value] = (verb, "")
    for kind in KINDS.values():
        ability = _creation(kind)
        if ability is not None:
            table[ability.value] = ("build" if kind.structure else "train", kind.name)
    for name, ability in _RESEARCH.items():
        table[ability.value] = ("research", name)
    return table


ORDERS = _orders()
"""What the world is told for each ability: verb, and what is to be made."""
_ABILITIES = {order: number for number, order in reversed(ORDERS.items())}


def answer_of(name: str) -> int:
    """Return the number of an order's answer."""
    return int(ActionResult[name].value)


def ability_of(thing: Thing) -> list[tuple[str, str]]:
    """Return the orders that a thing takes at all."""
    name = thing.kind.name
    if thing.done < 1 or name == "EGG":
        return []
    if name == "LARVA":
        return [order for order in ORDERS.values() if order[0] == "train"]
    listed = [("research", key) for key, upgrade in UPGRADES.items() if upgrade.maker == name]
    if thing.kind.speed:
        listed += [("move", ""), ("stop", "")] + ([("attack", "")] if thing.kind.dps else [])
    if name == "DRONE":
        builds = [order for order in ORDERS.values() if order[0] == "build"]
        listed += [("gather", ""), *builds]
    return listed


@cache
def catalogue() -> api.ResponseData:
    """Return all that can be known of abilities, units and upgrades beforehand."""
    data = api.ResponseData()
    general = {exact.value: general.value for exact, general in _PLAIN.values()}
    for number in sorted(ORDERS):
        name = AbilityId(number).name
        entry = data.abilities.add(ability_id=number, link_name=name, available=True)
        entry.remaps_to_ability_id = general.get(number, 0)
        verb, what = ORDERS[number]
        entry.target = _TARGETS.get("EXTRACTOR" if what == "EXTRACTOR" else verb, 1)
        if verb == "build":
            entry.is_building, entry.footprint_radius = True, KINDS[what].radius
    for kind in KINDS.values():
        data.units.append(_unit_type(kind))
    for upgrade in UPGRADES.values():
        data.upgrades.add(
            upgrade_id=UpgradeId[upgrade.name].value,
            name=upgrade.name,
            mineral_cost=upgrade.minerals,
            vespene_cost=upgrade.gas,
            research_time=upgrade.seconds * SECOND,
            ability_id=_RESEARCH[upgrade.name].value,
        )
    return data


def _unit_type(kind: Kind) -> data_pb2.UnitTypeData:
    ability = _creation(kind)
    entry = data_pb2.UnitTypeData(
        unit_id=UnitTypeId[kind.name].value,
        name=kind.name.capitalize(),
        available=True,
        ability_id=0 if ability is None else ability.value,
        # As in the program: a building's price holds the drone, and one zergling is half an egg.
        mineral_cost=kind.minerals // kind.litter + 50 * kind.structure,
        vespene_cost=kind.gas,
        food_required=kind.supply,
        food_provided=kind.gives,
        build_time=kind.seconds * SECOND,
        movement_speed=kind.speed / 1.4,
        sight_range=kind.sight,
        race=common.NoRace if ability is None and kind.hp == 1 else common.Zerg,
        has_minerals=kind.name == "MINERALFIELD",
        has_vespene=kind.name in ("VESPENEGEYSER", "EXTRACTOR"),
        tech_requirement=UnitTypeId[kind.needs].value if kind.needs else 0,
        attributes=[STRUCTURE] if kind.structure else [],
    )
    if kind.dps:
        entry.weapons.add(
            type=data_pb2.Weapon.Ground, damage=kind.dps, attacks=1, range=kind.reach, speed=1
        )
    return entry


def _image(grid: NDArray[np.bool_ | np.uint8], bits: bool) -> common.ImageData:
    data = np.packbits(grid) if bits else grid.astype(np.uint8)
    image = common.ImageData(bits_per_pixel=1 if bits else 8, data=data.tobytes())
    image.size.x = image.size.y = SIZE
    return image


@cache
def map_information(enemy_start: Place, difficulty: int) -> api.ResponseGameInfo:
    """Return the map: flat, open, and with the enemy's start named."""
    info = api.ResponseGameInfo(map_name="stand-in", local_map_path="stand-in.SC2Map")
    info.player_info.add(
        player_id=1, type=api.Participant, race_requested=common.Zerg, race_actual=common.Zerg
    )
    info.player_info.add(
        player_id=2, type=api.Computer, race_requested=common.Zerg, difficulty=difficulty
    )
    start, open_ground = info.start_raw, np.ones((SIZE, SIZE), bool)
    start.map_size.x = start.map_size.y = SIZE
    start.pathing_grid.CopyFrom(_image(open_ground, bits=True))
    start.placement_grid.CopyFrom(_image(open_ground, bits=True))
    start.terrain_height.CopyFrom(_image(np.full((SIZE, SIZE), 127), bits=False))
    start.playable_area.p0.x = start.playable_area.p0.y = 0
    start.playable_area.p1.x = start.playable_area.p1.y = SIZE
    start.start_locations.add(x=enemy_start[0], y=enemy_start[1])
    return info


def upgrade_numbers(world: World) -> list[int]:
    """Return the numbers of what side 0 has researched."""
    return sorted(UpgradeId[name].value for name in world.upgrades[0])


def units_in_sight(
    world: World, met: set[int], everything: bool = False
) -> list[tuple[Thing, int]]:
    """Return what side 0 sees, with how it is shown.

    A building of the enemy that was seen once, and so is in `met`, is shown while it stands.
    """
    mine = world.own(0)
    eyes = np.array([(t.x, t.y) for t in mine]).reshape(-1, 2)
    sights = np.array([t.kind.sight for t in mine])
    shown = [(t, VISIBLE) for t in world.things.values() if t.side != 1]
    for enemy in world.own(1):
        far = np.sqrt(((eyes - (enemy.x, enemy.y)) ** 2).sum(-1))
        if everything or bool((far <= sights).any()):
            met.add(enemy.tag)
            shown.append((enemy, VISIBLE))
        elif enemy.kind.structure and enemy.tag in met:
            shown.append((enemy, SNAPSHOT))
    return shown


def unit_message(world: World, thing: Thing, shown: int) -> raw_pb2.Unit:
    """Return how a thing is told of to side 0."""
    kind = thing.kind
    unit = raw_pb2.Unit(
        display_type=shown,
        alliance={0: SELF, 1: ENEMY}.get(thing.side, NEUTRAL),
        tag=thing.tag,
        unit_type=UnitTypeId[kind.name].value,
        owner={0: 1, 1: 2}.get(thing.side, 16),
        radius=kind.radius,
        build_progress=thing.done,
        health=thing.hp,
        health_max=kind.hp,
        is_active=bool(thing.verb),
    )
    unit.pos.x, unit.pos.y, unit.pos.z = thing.x, thing.y, 10.0
    unit.mineral_contents = 1800 if kind.name == "MINERALFIELD" else 0
    unit.vespene_contents = 2250 if kind.name in ("VESPENEGEYSER", "EXTRACTOR") else 0
    if thing.side != 0:
        return unit
    if thing.verb:
        order = unit.orders.add(ability_id=_ABILITIES[thing.verb, thing.what])
        if isinstance(thing.target, int):
            order.target_unit_tag = thing.target
        elif thing.target is not None:
            order.target_world_space_pos.x, order.target_world_space_pos.y = thing.target
        made = KINDS.get(thing.what) or UPGRADES.get(thing.what)
        order.progress = thing.worked / made.seconds if made and made.seconds else 0.0
    if kind.name in ("HATCHERY", "EXTRACTOR") and thing.done >= 1:
        unit.ideal_harvesters = 16 if kind.name == "HATCHERY" else 3
        unit.assigned_harvesters = _assigned(world, thing)
    return unit


def _assigned(world: World, place: Thing) -> int:
    """Return how many drones work at a base's minerals, or in an extractor."""
    drones = [t for t in world.own(0, "DRONE") if t.verb == "gather"]
    if place.kind.name == "EXTRACTOR":
        return sum(t.target == place.tag for t in drones)
    count = 0
    for drone in drones:
        field = world.place_of(drone.target)
        source = world.things.get(drone.target) if isinstance(drone.target, int) else None
        minerals = source is not None and source.kind.name == "MINERALFIELD"
        count += bool(minerals and field and place.distance(field) <= 9)
    return count


def visibility(
    world: World, explored: NDArray[np.bool_], state: raw_pb2.MapState
) -> NDArray[np.bool_]:
    """Write what side 0 sees of the map, and return what it has ever seen."""
    seen = np.zeros((SIZE, SIZE), bool)
    rows = np.arange(SIZE) + 0.5
    for thing in world.own(0):
        near = (rows[:, None] - thing.y) ** 2 + (rows[None] - thing.x) ** 2
        seen |= near <= thing.kind.sight**2
    explored = seen | explored if explored.size else seen
    state.visibility.CopyFrom(_image(explored.astype(np.uint8) + seen, bits=False))
    state.creep.CopyFrom(_image(np.ones((SIZE, SIZE), bool), bits=True))
    return explored
