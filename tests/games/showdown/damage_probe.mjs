// Asks the simulator what moves take, without the roll and without critical hits, for tests.
//
//     node damage_probe.mjs FOLDER < battle.json
//
// battle.json: {format, seed, teams, previews: [[text, text], ...]}. For each pair of previews,
// prints every move of everybody on the field against every opponent:
// {attacker, target, move, spread, damage, weather, terrain}, fighters in full.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(`${process.argv[2]}/package.json`);
const { Battle, Dex } = require('pokemon-showdown');
const { format, seed, teams, previews } = JSON.parse(readFileSync(0, 'utf8'));

function fighter(pokemon) {
	const { atk, def, spa, spd, spe } = pokemon.storedStats;
	return {
		species: pokemon.species.id, level: pokemon.level, types: pokemon.getTypes(),
		stats: [atk, def, spa, spd, spe], most_hp: pokemon.maxhp, hp: pokemon.hp / pokemon.maxhp,
		boosts: Object.values(pokemon.boosts), item: pokemon.item, ability: pokemon.ability,
		status: pokemon.status,
	};
}

function damage(battle, attacker, target, id, spread) {
	const move = Dex.getActiveMove(id);
	move.willCrit = move.willCrit ?? false;
	move.spreadHit = spread;
	battle.setActiveMove(move, attacker, target);
	battle.randomizer = value => value;
	const taken = battle.actions.getDamage(attacker, target, move, true);
	return typeof taken === 'number' ? taken : 0;
}

function* positions(battle) {
	const { weather, terrain } = battle.field;
	for (const side of battle.sides) {
		for (const attacker of side.active) {
			for (const target of side.foe.active) {
				for (const { id } of attacker.moveSlots) {
					const { category, target: aim } = Dex.moves.get(id);
					if (category === 'Status') continue;
					const spread = aim === 'allAdjacent' || aim === 'allAdjacentFoes';
					yield {
						attacker: fighter(attacker), target: fighter(target), move: id, spread,
						damage: damage(battle, attacker, target, id, spread), weather, terrain,
					};
				}
			}
		}
	}
}

const found = [];
for (const pair of previews) {
	const battle = new Battle({ formatid: format, seed });
	teams.forEach((team, seat) => battle.setPlayer(`p${seat + 1}`, { team }));
	pair.forEach((text, seat) => battle.choose(`p${seat + 1}`, text));
	found.push(...positions(battle));
}
process.stdout.write(JSON.stringify(found));
