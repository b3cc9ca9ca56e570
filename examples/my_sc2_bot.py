"""A Zerg bot that learns which of five strategies to follow; one class with one method to write.

The policy picks a strategy every few seconds of game time. What a strategy means is written here,
in plain burnysc2. With StarCraft II installed, in the folder that holds policies and games:

    python my_sc2_bot.py --map AcropolisLE --games 5

See docs/guides/starcraft.md for the learner that runs beside it.
"""

import argparse

from sc2.bot_ai import BotAI
from sc2.ids.unit_typeid import UnitTypeId as Unit
from sc2.ids.upgrade_id import UpgradeId as Upgrade

from lanista.live.sc2 import MacroAgent, Strategy, first_policy

ARMY = {Unit.ZERGLING, Unit.ROACH}
UPGRADES = [Upgrade.ZERGMISSILEWEAPONSLEVEL1, Upgrade.ZERGGROUNDARMORSLEVEL1]
DRONES = {
    Strategy.ECONOMY: 36,
    Strategy.AGGRESSIVE: 14,
    Strategy.DEFENSIVE: 22,
    Strategy.TECH: 28,
    Strategy.ALL_IN: 0,
}
"""How many a strategy wants; it stops making them there."""
BASES = {Strategy.ECONOMY: 3, Strategy.DEFENSIVE: 2, Strategy.TECH: 2}
FIGHTERS = {Strategy.ECONOMY: 2, Strategy.DEFENSIVE: 8}
ATTACK_AT = {Strategy.AGGRESSIVE: 4, Strategy.TECH: 30, Strategy.ALL_IN: 1}
"""Supply of the army at which it goes out; a strategy that is not named stays at home."""


class ZergBot(BotAI):
    """Carries out a strategy that somebody else has chosen."""

    async def follow(self, strategy):
        if not self.townhalls:
            for unit in self.units(ARMY) | self.workers:
                unit.attack(self.prey())
            return
        if self.state.game_loop % 4 == 0 and strategy is not Strategy.ALL_IN:
            await self.distribute_workers()
        self.fight(strategy)
        await self.spend(strategy)

    async def spend(self, strategy):
        """Buy the first thing that is wanted; money for it is not spent on what comes after."""
        drones = len(self.workers) + self.already_pending(Unit.DRONE)
        crowded = self.supply_cap < 200 and self.supply_left < 1 + 3 * len(self.townhalls)
        if crowded and not self.already_pending(Unit.OVERLORD) and not self.grow(Unit.OVERLORD):
            return
        if drones < min(DRONES[strategy], 12 if strategy is Strategy.DEFENSIVE else 14):
            self.grow(Unit.DRONE)
            return
        if not await self.build_up(strategy, drones):
            return
        army = len(self.units(ARMY)) + self.already_pending(Unit.ZERGLING)
        fighters = FIGHTERS.get(strategy, 200)
        balance = drones < 3 * army + 14
        if drones < DRONES[strategy] and (army >= fighters or balance):
            self.grow(Unit.DRONE)
        elif army < fighters and self.structures(Unit.SPAWNINGPOOL).ready:
            while self.grow(self.fighter()):
                pass

    async def build_up(self, strategy, drones):
        """Put up what the strategy needs; False while money is kept for it."""
        if not self.count(Unit.SPAWNINGPOOL):
            return await self.put(Unit.SPAWNINGPOOL)
        if not self.structures(Unit.SPAWNINGPOOL).ready:
            return True
        if strategy is Strategy.DEFENSIVE and self.count(Unit.SPINECRAWLER) < 5:
            return await self.put(Unit.SPINECRAWLER)
        if strategy is Strategy.TECH:
            if self.count(Unit.EXTRACTOR) < 2:
                return await self.put_extractor()
            for building in (Unit.ROACHWARREN, Unit.EVOLUTIONCHAMBER):
                if not self.count(building):
                    return await self.put(building)
            for upgrade in UPGRADES:
                if self.already_pending_upgrade(upgrade) == 0 and self.research(upgrade):
                    return True
        if self.count(Unit.HATCHERY) < BASES.get(strategy, 1) and drones >= 16:
            if not self.can_afford(Unit.HATCHERY):
                return False
            await self.expand_now()
        return True

    def count(self, building):
        """Return how many there are, those that a drone is on its way to build included."""
        return len(self.structures(building)) + self.worker_en_route_to_build(building)

    def grow(self, unit):
        """Make a unit from a larva; False if there is no larva, or not enough for it."""
        return bool(self.larva and self.can_afford(unit) and self.train(unit))

    def fighter(self):
        roaches = self.structures(Unit.ROACHWARREN).ready and self.vespene >= 25
        return Unit.ROACH if roaches else Unit.ZERGLING

    async def put(self, building):
        if not self.can_afford(building):
            return False
        near = self.townhalls.first.position.towards(self.game_info.map_center, 6)
        return await self.build(building, near=near, random_alternative=False)

    async def put_extractor(self):
        if not self.can_afford(Unit.EXTRACTOR):
            return False
        occupied = {building.position for building in self.gas_buildings}
        for geyser in self.vespene_geyser.closer_than(10, self.townhalls.first):
            if geyser.position not in occupied:
                return await self.build(Unit.EXTRACTOR, near=geyser)
        return True

    def fight(self, strategy):
        army = self.units(ARMY)
        threat = self.threat()
        going = self.supply_army >= ATTACK_AT.get(strategy, 1000)
        if strategy is Strategy.ALL_IN and going:
            army = army | self.workers
        home = self.townhalls.first.position.towards(self.game_info.map_center, 5)
        for unit in army:
            if threat:
                unit.attack(threat.position)
            elif going:
                unit.attack(self.prey())
            elif unit.distance_to(home) > 8:
                unit.move(home)

    def threat(self):
        """Return an enemy near one of our buildings, if there is one."""
        near = [enemy for enemy in self.enemy_units if enemy.can_attack]
        near = [enemy for enemy in near if self.structures.closer_than(12, enemy)]
        return near[0] if near else None

    def prey(self):
        """Return where to attack: what is known to stand, else where nobody has looked."""
        if self.enemy_structures:
            return self.enemy_structures.closest_to(self.start_location).position
        start = self.enemy_start_locations[0]
        if not self.is_visible(start):
            return start
        hidden = [place for place in self.expansion_locations_list if not self.is_visible(place)]
        return min(hidden, key=start.distance_to, default=start)


class MyBot(MacroAgent, ZergBot):
    """The same bot with a policy that chooses."""

    macro_policies = "sc2/policies"
    macro_spool = "sc2/spool"
    # Few choices that last are easier to learn from in few games than many short ones.
    macro_interval = 15.0

    async def on_step(self, iteration):
        strategy = self.macro_strategy()
        if len([enemy for enemy in self.enemy_units if enemy.can_attack]) > 8 and self.threat():
            strategy = self.macro_overrule(Strategy.DEFENSIVE)
        await self.follow(strategy)


def main():
    from sc2 import maps
    from sc2.data import AIBuild, Difficulty, Race
    from sc2.main import run_game
    from sc2.player import Bot, Computer

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--map", default="AcropolisLE")
    parser.add_argument("--games", type=int, default=1)
    parser.add_argument("--difficulty", default="Medium", choices=[d.name for d in Difficulty])
    options = parser.parse_args()
    first_policy(MyBot.macro_policies)
    opponent = Computer(Race.Zerg, Difficulty[options.difficulty], AIBuild.RandomBuild)
    bot = MyBot()
    for number in range(options.games):
        result = run_game(maps.get(options.map), [Bot(Race.Zerg, bot), opponent], realtime=False)
        print(f"game {number + 1} of {options.games}: {result}")


if __name__ == "__main__":
    main()
