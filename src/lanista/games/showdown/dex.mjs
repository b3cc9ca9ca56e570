// Writes the part of the simulator's dex that an observation is numbered by, as JSON.
//
//     node dex.mjs FOLDER [OLD] > dex.json
//
// FOLDER holds node_modules with the simulator. OLD is a file this program wrote before: what it
// lists keeps its place and what is new goes to the end, so that numbers in saved policies keep
// their meaning. vocabulary.py reads the file.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [folder, old] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const { Dex } = require('pokemon-showdown');
const { version } = require('pokemon-showdown/package.json');
const before = old ? JSON.parse(readFileSync(old, 'utf8')) : {};

// What decides who acts first, apart from the Speed stat itself.
const ORDER = ['onModifySpe', 'onModifyPriority', 'onFractionalPriority'];
const changesOrder = effect =>
	ORDER.some(name => name in effect || (effect.condition && name in effect.condition));

const toID = name => Dex.toID(name);
const isPlayed = entry => !entry.isNonstandard;
const idOf = row => (Array.isArray(row) ? row[0] : row);

/** Rows of one table: known ones first in their old order, then new ones by name. */
function table(name, entries, row) {
	const rows = new Map(entries.map(entry => [entry.id, row(entry)]));
	const known = (before[name] ?? []).map(idOf).filter(id => rows.has(id));
	const fresh = [...rows.keys()].filter(id => !known.includes(id)).sort();
	return [...known, ...fresh].map(id => rows.get(id));
}

const species = Dex.species.all().filter(isPlayed);
const abilities = Dex.abilities.all().filter(isPlayed);
const items = Dex.items.all().filter(isPlayed);
const types = Dex.types.all();

const tables = {
	// id, id of the base species, types, abilities, base stats
	species: table('species', species.filter(one => !one.isCosmeticForme), one => [
		one.id,
		toID(one.baseSpecies),
		one.types.map(toID),
		Object.values(one.abilities).map(toID),
		Object.values(one.baseStats),
	]),
	// id, type, category, power, accuracy (0: cannot miss), priority, priority can change
	moves: table('moves', Dex.moves.all().filter(isPlayed), move => [
		move.id,
		toID(move.type),
		move.category,
		move.basePower,
		move.accuracy === true ? 0 : move.accuracy,
		move.priority,
		'onModifyPriority' in move ? 1 : 0,
	]),
	items: table('items', items, item => item.id),
	abilities: table('abilities', abilities, ability => ability.id),
	// id, and the types whose attacks it takes doubly, by half and not at all
	types: table('types', types, type => [
		type.id,
		...[1, 2, 3].map(how => types.filter(by => type.damageTaken[by.name] === how).map(by => by.id)),
	]),
};

const cosmetic = {};
for (const one of species) {
	if (one.isCosmeticForme) cosmetic[one.id] = toID(one.baseSpecies);
	for (const name of one.cosmeticFormes ?? []) cosmetic[toID(name)] = one.id;
}
// By what a player must aim at: the moves of that kind.
const targets = {};
for (const [id] of tables.moves) (targets[Dex.moves.get(id).target] ??= []).push(id);
const order = [...items, ...abilities].filter(changesOrder).map(effect => effect.id).sort();

const lines = rows => `[\n${rows.map(row => JSON.stringify(row)).join(',\n')}\n]`;
const parts = Object.entries(tables).map(([name, rows]) => `"${name}": ${lines(rows)}`);
process.stdout.write(`{
"simulator": ${JSON.stringify(version)},
${parts.join(',\n')},
"targets": ${JSON.stringify(targets)},
"order": ${JSON.stringify(order)},
"cosmetic": ${JSON.stringify(cosmetic)}
}
`);
