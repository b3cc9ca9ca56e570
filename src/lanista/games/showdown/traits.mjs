// Writes what moves, items and abilities do as numbers and flags, and what Pokémon usually bring.
//
//     node traits.mjs FOLDER > traits.json
//
// FOLDER holds node_modules with the simulator. Everything is read off the simulator's own data:
// fields, which callbacks an effect has, and the words of their sources. What Pokémon bring is
// counted over teams of its own generator for random doubles. traits.py reads the file.

import { createRequire } from 'node:module';

const [folder] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const { Dex, PRNG, Teams } = require('pokemon-showdown');
const { version } = require('pokemon-showdown/package.json');

const TEAMS = 6000;
const toID = name => Dex.toID(name);
const isPlayed = entry => !entry.isNonstandard;
const round = number => Math.round(number * 1000) / 1000;

/** Rows by id, each with what is not zero alone. */
function rows(entries, traits) {
	const all = {};
	for (const entry of entries.filter(isPlayed).sort((a, b) => (a.id < b.id ? -1 : 1))) {
		const row = {};
		for (const [name, value] of Object.entries(traits(entry))) {
			if (value) row[name] = value === true ? 1 : round(Number(value));
		}
		all[entry.id] = row;
	}
	return all;
}

// Moves.

const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];
const FLAGS = ['contact', 'sound', 'powder', 'protect', 'charge', 'recharge'];
const STATUSES = ['brn', 'par', 'slp', 'frz', 'psn'];
const WEATHERS = { raindance: 'rain', sunnyday: 'sun', sandstorm: 'sand', snowscape: 'snow' };
const TERRAINS = ['electricterrain', 'grassyterrain', 'mistyterrain', 'psychicterrain'];
const VOLATILES = ['confusion', 'flinch', 'taunt', 'encore', 'disable', 'torment', 'leechseed', 'yawn',
	'substitute', 'healblock', 'partiallytrapped', 'saltcure', 'helpinghand'];
const SCREENS = ['reflect', 'lightscreen', 'auroraveil'];
const HAZARDS = ['stealthrock', 'spikes', 'toxicspikes', 'stickyweb'];
const GUARDS = ['wideguard', 'quickguard', 'matblock', 'craftyshield'];

const fraction = pair => (pair ? pair[0] / pair[1] : 0);

/** What a move may bring about: its own effect, and its secondary ones with their chance. */
function effects(move) {
	const all = [{ chance: 1, status: move.status, volatile: move.volatileStatus, boosts: move.boosts,
		self: move.self }];
	if (move.selfBoost) all.push({ chance: 1, self: { boosts: move.selfBoost.boosts } });
	for (const one of move.secondaries ?? []) {
		all.push({ chance: (one.chance ?? 100) / 100, status: one.status, volatile: one.volatileStatus,
			boosts: one.boosts, self: one.self });
	}
	return all;
}

function hits(move) {
	if (!move.multihit) return 1;
	if (!Array.isArray(move.multihit)) return move.multiaccuracy && move.multihit > 3 ? 6 : move.multihit;
	return 3.1; // Two to five: 35, 35, 15 and 15 of 100.
}

function moveTraits(move) {
	const row = { hits: move.category === 'Status' ? 0 : hits(move) };
	const add = (name, value) => { row[name] = (row[name] ?? 0) + value; };
	const selfTargets = ['self', 'allies', 'adjacentAllyOrSelf', 'adjacentAlly'].includes(move.target);
	for (const { chance, status, volatile, boosts, self } of effects(move)) {
		if (status) add(status === 'tox' ? 'psn' : status, chance);
		for (const name of [volatile, self?.volatileStatus]) if (VOLATILES.includes(name)) add(name, chance);
		for (const [stat, stages] of Object.entries(boosts ?? {})) {
			if (STATS.includes(stat)) add(`${selfTargets ? 'raise' : 'change'}_${stat}`, chance * stages);
			else add('aim', chance * Math.abs(stages));
		}
		for (const [stat, stages] of Object.entries(self?.boosts ?? {})) {
			if (STATS.includes(stat)) add(`raise_${stat}`, chance * stages);
		}
		if (self?.volatileStatus === 'mustrecharge') row.recharge = 1;
		if (self?.volatileStatus === 'lockedmove') row.locks = 1;
	}
	const side = move.sideCondition ?? move.self?.sideCondition;
	const source = String(move.onHit ?? '') + String(move.onHitField ?? '') + String(move.onAfterHit ?? '') +
		String(move.onTryHit ?? '') + String(move.onHitSide ?? '');
	const healing = fraction(move.heal) || (/Math\.ceil|this\.heal\(/.test(source) && move.flags.heal ? 0.5 : 0);
	return {
		...row,
		...Object.fromEntries(FLAGS.map(name => [name, name in move.flags])),
		...Object.fromEntries(Object.entries(WEATHERS).map(([id, name]) => [name, toID(move.weather) === id])),
		...Object.fromEntries(TERRAINS.map(name => [name, move.terrain === name])),
		crit: move.willCrit ? 3 : (move.critRatio ?? 1) - 1,
		healing, drain: fraction(move.drain), recoil: fraction(move.recoil) + (move.mindBlownRecoil ? 0.5 : 0),
		falls: Boolean(move.selfdestruct), guard: move.stallingMove && move.volatileStatus !== 'endure',
		side_guard: GUARDS.includes(side), screen: SCREENS.includes(side), hazard: HAZARDS.includes(side),
		tailwind: side === 'tailwind', trickroom: move.pseudoWeather === 'trickroom',
		room: Boolean(move.pseudoWeather) && move.pseudoWeather !== 'trickroom',
		safeguard: side === 'safeguard' || side === 'mist',
		clears: ['rapidspin', 'defog', 'mortalspin', 'tidyup', 'icespinner', 'steelroller'].includes(move.id),
		breaks_screens: /removeSideCondition\("?'?(reflect|lightscreen)/.test(source + String(move.onTryHit)),
		redirect: ['followme', 'ragepowder', 'spotlight'].includes(move.volatileStatus),
		first_turn: /activeMoveActions > 1/.test(String(move.onTry)),
		pivot: Boolean(move.selfSwitch), forces_switch: Boolean(move.forceSwitch),
		through_guard: Boolean(move.breaksProtect) || (move.category !== 'Status' && !('protect' in move.flags)),
		ignores_ability: Boolean(move.ignoreAbility), takes_item: /takeItem/.test(source),
		perish: move.id === 'perishsong', revives: move.slotCondition === 'revivalblessing',
		needs_foes_attack: ['suckerpunch', 'thunderclap', 'upperhand'].includes(move.id),
		later: Boolean(move.flags.futuremove), against_defense: move.overrideDefensiveStat === 'def',
		changes_foe: /setType|addType|setAbility|baseAbility/.test(source),
		cures: /cureStatus|clearStatus/.test(source), clears_stages: /clearBoosts/.test(source),
	};
}

// Items and abilities: what their callbacks are called, and what their sources say.

const source = effect => Object.values(effect).concat(Object.values(effect.condition ?? {}))
	.filter(value => typeof value === 'function').map(String).join('\n');
const has = (effect, ...names) =>
	names.some(name => name in effect || (effect.condition && name in effect.condition));
const begins = (effect, stem) => Object.keys(effect).some(name => name.startsWith(stem));

function callbacks(effect) {
	const text = source(effect);
	return {
		attack: has(effect, 'onModifyAtk'), special_attack: has(effect, 'onModifySpA'),
		defense: has(effect, 'onModifyDef'), special_defense: has(effect, 'onModifySpD'),
		speed: has(effect, 'onModifySpe'), power: has(effect, 'onBasePower', 'onModifyDamage'),
		softens: has(effect, 'onSourceModifyDamage', 'onSourceModifyAtk', 'onSourceModifySpA'),
		survives: has(effect, 'onDamage'), hits_back: has(effect, 'onDamagingHit'),
		each_turn: has(effect, 'onResidual'), heals: /\.heal\(/.test(text),
		hurts: /\.damage\(/.test(text), boosts: /\.boost\(/.test(text),
		lowers_foes: /boost\(\{ ?\w+: -\d/.test(text) && has(effect, 'onStart'),
		on_entry: has(effect, 'onStart', 'onSwitchIn'), on_exit: has(effect, 'onSwitchOut'),
		blocks: has(effect, 'onTryHit', 'onAllyTryHitSide'), status_proof: has(effect, 'onSetStatus', 'onAllySetStatus'),
		cures: /cureStatus|clearStatus|removeVolatile/.test(text), stages_proof: has(effect, 'onTryBoost', 'onAllyTryBoost'),
		effects_proof: has(effect, 'onModifySecondaries'), accuracy: has(effect, 'onModifyAccuracy', 'onSourceModifyAccuracy',
			'onAnyModifyAccuracy', 'onAnyAccuracy'),
		crits: has(effect, 'onModifyCritRatio', 'onCriticalHit'), priority: has(effect, 'onModifyPriority', 'onFractionalPriority'),
		stops_priority: has(effect, 'onFoeTryMove'), traps: has(effect, 'onFoeTrapPokemon', 'onTrapPokemon'),
		changes_move: has(effect, 'onModifyMove', 'onModifyType', 'onModifySTAB'),
		after_knockout: has(effect, 'onSourceAfterFaint'), weather_proof: has(effect, 'onImmunity'),
		for_ally: begins(effect, 'onAlly'), for_all: begins(effect, 'onAny'), needs_weather: has(effect, 'onWeather') ||
			/isWeather|effectiveWeather/.test(text), needs_terrain: /isTerrain|'\w+terrain'/.test(text),
	};
}

function itemTraits(item) {
	const boosted = /Holder's (\w+)-type attacks have 1\.[12]x power/.exec(item.shortDesc)?.[1];
	return {
		...callbacks(item), choice: Boolean(item.isChoice), berry: item.isBerry,
		type_power: Boolean(boosted) || Boolean(item.onPlate), sash: item.id === 'focussash',
		vest: item.id === 'assaultvest', scarf: item.id === 'choicescarf', used_up: Boolean(item.onEat) || item.isGem,
		resists: Boolean(item.isBerry) && has(item, 'onSourceModifyDamage'), balloon: item.id === 'airballoon',
		goggles: item.id === 'safetygoggles', boots: item.id === 'heavydutyboots', booster: item.id === 'boosterenergy',
		policy: item.id === 'weaknesspolicy',
		herb: /herb$/.test(item.id), longer: /lasts? (8|longer)|8 turns/.test(item.shortDesc ?? ''),
		forme: Boolean(item.forcedForme), orb: ['flameorb', 'toxicorb'].includes(item.id),
	};
}

const SETS_WEATHER = { rain: /setWeather\(["']raindance/, sun: /setWeather\(["']sunnyday/,
	sand: /setWeather\(["']sandstorm/, snow: /setWeather\(["']snow/, primal: /setWeather\(["'](primordialsea|desolateland|deltastream)/ };

function abilityTraits(ability) {
	const text = source(ability);
	return {
		...callbacks(ability),
		...Object.fromEntries(Object.entries(SETS_WEATHER).map(([name, words]) => [`sets_${name}`, words.test(text)])),
		...Object.fromEntries(TERRAINS.map(name => [`sets_${name}`, new RegExp(`setTerrain\\(["']${name}`).test(text)])),
		intimidate: ability.id === 'intimidate', intimidate_proof: ability.id !== 'intimidate' && /Intimidate/.test(text),
		redirects: has(ability, 'onAnyRedirectTarget'), ruin: /ofruin$/.test(ability.id), contrary: has(ability, 'onChangeBoost'),
		no_weather: Boolean(ability.suppressWeather), ignored: Boolean(ability.flags?.breakable),
		absorbs: has(ability, 'onTryHit') && /move\.type/.test(text), regenerates: has(ability, 'onSwitchOut') && /heal/.test(text),
		disguise: ['illusion', 'disguise', 'iceface'].includes(ability.id), ignores: /ignoreAbility/.test(text),
		skin: has(ability, 'onModifyType'), items: /takeItem|setItem|useItem|eatItem/.test(text),
		prankster: ability.id === 'prankster', friend_guard: ability.id === 'friendguard',
		levitates: ability.id === 'levitate', paradox: ['protosynthesis', 'quarkdrive'].includes(ability.id),
		weakens: ['defeatist', 'slowstart', 'truant'].includes(ability.id),
	};
}

// What Pokémon bring.

function usage() {
	const prng = new PRNG([1, 2, 3, 4]);
	const generator = Teams.getGenerator('gen9randomdoublesbattle', prng);
	const all = {};
	const count = (counts, name) => { counts[name] = (counts[name] ?? 0) + 1; };
	for (let team = 0; team < TEAMS; team++) {
		for (const set of generator.getTeam()) {
			const species = Dex.species.get(set.species);
			const row = (all[species.id] ??= { sets: 0, items: {}, abilities: {}, teras: {}, moves: {} });
			row.sets++;
			count(row.items, toID(set.item));
			count(row.abilities, toID(set.ability));
			count(row.teras, toID(set.teraType));
			for (const move of set.moves) count(row.moves, toID(move));
		}
	}
	const sorted = counts => Object.fromEntries(
		Object.entries(counts).sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)));
	return Object.fromEntries(Object.keys(all).sort().map(id => [id, Object.fromEntries(
		Object.entries(all[id]).map(([name, value]) => [name, name === 'sets' ? value : sorted(value)]))]));
}

const names = table => [...new Set(Object.values(table).flatMap(row => Object.keys(row)))].sort();
const tables = {
	moves: rows(Dex.moves.all(), moveTraits),
	items: rows(Dex.items.all(), itemTraits),
	abilities: rows(Dex.abilities.all(), abilityTraits),
};
const weights = Object.fromEntries(Dex.species.all().filter(isPlayed)
	.map(one => [one.id, one.weightkg]).sort(([a], [b]) => (a < b ? -1 : 1)));
const lines = table => `{\n${Object.entries(table)
	.map(([id, row]) => `${JSON.stringify(id)}: ${JSON.stringify(row)}`).join(',\n')}\n}`;
process.stdout.write(`{
"simulator": ${JSON.stringify(version)},
"names": ${JSON.stringify(Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, names(table)])))},
"moves": ${lines(tables.moves)},
"items": ${lines(tables.items)},
"abilities": ${lines(tables.abilities)},
"weights": ${JSON.stringify(weights)},
"usage": ${lines(usage())}
}
`);
