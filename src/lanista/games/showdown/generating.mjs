// Composes teams at random, legal in a format to which teams are brought.
//
// The simulator's own generator for random doubles deals the sets; here they get level 50, effort
// for what they do, and an item that nobody else in the team holds. The format's validator says
// what may stand in a team; nothing of a format's rules is written here.

const SOURCE = 'gen9randomdoublesbattle';
const SIZE = 6;
const MOST_DEALS = 100;
const TOO_FEW = /^You must bring at least /; // Said of every team that is not full yet.

/** Moves that are learnt under another name than a battle shows. */
const LEARNT_AS = { behemothblade: 'ironhead', behemothbash: 'ironhead' };

/** Items that many sets would hold, and what else serves; other items belong to their set. */
const HITTING = ['Life Orb', 'Choice Band', 'Choice Specs', 'Choice Scarf', 'Focus Sash',
	'Expert Belt', 'Clear Amulet'];
const LASTING = ['Sitrus Berry', 'Leftovers', 'Assault Vest', 'Rocky Helmet', 'Covert Cloak',
	'Safety Goggles', 'Lum Berry', 'Mental Herb'];
const FORBIDS_MOVES = /^(Choice|Assault)/; // For sets that the generator gave them to.

/** Roles that the generator names and that want to last; the others want to be fast. */
const LASTING_ROLES = /Bulky|Support/;
const SUPPORT_ROLES = /Support|Bulky Protect/;
const SLOW = 60;
const FAST = 90;
const TRICK_ROOM_SPEED = 50; // Base speed of who is slower than nearly everybody, and so first there.

const able = (...names) => ({ ability }) => names.includes(ability);
const knows = (...ids) => ({ moves }) => ids.some(id => moves.includes(id));
const named = name => ({ species }) => species === name;
const either = (...tests) => set => tests.some(test => test(set));
const slow = ({ species }, dex) => dex.species.get(species).baseStats.spe <= TRICK_ROOM_SPEED;

/** What teams are built around: who brings it, and `mates` who live on it. */
const CORES = [
	{ brings: able('Drizzle'), mates: 2,
		lives: either(able('Swift Swim', 'Rain Dish', 'Hydration'), knows('hurricane', 'thunder', 'weatherball')) },
	{ brings: able('Drought', 'Orichalcum Pulse'), mates: 2,
		lives: able('Chlorophyll', 'Solar Power', 'Protosynthesis', 'Harvest', 'Flower Gift') },
	{ brings: able('Sand Stream'), mates: 2, lives: able('Sand Rush', 'Sand Force', 'Sand Veil') },
	{ brings: able('Snow Warning'), mates: 2,
		lives: either(able('Slush Rush', 'Snow Cloak', 'Ice Body'), knows('blizzard')) },
	{ brings: able('Electric Surge', 'Hadron Engine'), mates: 2, lives: able('Quark Drive', 'Surge Surfer') },
	{ brings: able('Psychic Surge'), mates: 2, lives: knows('expandingforce', 'psychic', 'psyshock') },
	{ brings: able('Grassy Surge'), mates: 2, lives: knows('grassyglide', 'woodhammer', 'leafstorm') },
	{ brings: knows('trickroom'), mates: 2, lives: slow },
	// The generator never deals the ability, which nobody else lives on.
	{ brings: named('Dondozo'), mates: 1, lives: named('Tatsugiri'), ability: 'Commander' },
];

export class TeamMaker {
	constructor({ Dex, PRNG, Teams, TeamValidator }, format) {
		Object.assign(this, { PRNG, Teams, format });
		this.dex = Dex.forFormat(format);
		this.validator = TeamValidator.get(format);
		this.boosters = new Map();
		for (const item of this.dex.items.all()) {
			const type = /^Holder's (\w+)-type attacks have 1\.2x power\.$/.exec(item.shortDesc)?.[1];
			if (type && !item.isNonstandard) this.boosters.set(type, item.name);
		}
	}

	/** Make the team that belongs to a seed, around Pokémon that go together or not. */
	make(seed, withCore) {
		const prng = new this.PRNG(seed);
		const generator = this.Teams.getGenerator(SOURCE, prng);
		let team = withCore ? this.core(generator, prng) : [];
		for (let deal = 0; deal < MOST_DEALS; deal++) {
			for (const dealt of generator.getTeam()) {
				team = this.joined(team, dealt, prng);
				if (team.length === SIZE) return team;
			}
		}
		throw new Error(`no legal team of ${this.format} came of ${MOST_DEALS} dealt ones`);
	}

	/** Some Pokémon that go together, all of them legal in one team. */
	core(generator, prng) {
		for (const { brings, lives, mates, ability } of shuffled(CORES, prng)) {
			const bringing = this.having(brings, 1, [], generator, prng);
			if (!bringing.length) continue;
			const team = this.having(lives, 1 + mates, bringing, generator, prng, ability);
			if (team.length === 1 + mates) return team;
		}
		throw new Error(`no Pokémon of ${this.format} go together`);
	}

	/** The team, filled up to `size` with sets of the generator that pass a test. */
	having(test, size, team, generator, prng, ability) {
		for (const species of shuffled(Object.keys(generator.randomDoublesSets), prng)) {
			if (team.length === size) break;
			const dealt = generator.randomSet(species, {}, false, true);
			if (!test(dealt, this.dex)) continue;
			team = this.joined(team, ability ? { ...dealt, ability } : dealt, prng);
		}
		return team;
	}

	/** The team with one more set, or as it was where no form of the set may join it. */
	joined(team, dealt, prng) {
		const held = new Set(team.map(set => set.item));
		const set = this.fitted(dealt);
		if (held.has(set.item)) set.item = this.substitute(set, held, prng);
		if (!set.item) return team;
		// Some Pokémon were only ever given away with a certain attack value.
		for (const ivs of [set.ivs, { ...set.ivs, atk: 31 }]) {
			const larger = [...team, { ...set, ivs }];
			if (this.isLegal(larger)) return larger;
		}
		return team;
	}

	isLegal(team) {
		// The validator writes into what it is given.
		const problems = this.validator.validateTeam(structuredClone(team)) ?? [];
		return problems.every(problem => TOO_FEW.test(problem));
	}

	/** A dealt set at level 50, with effort and nature by what its moves do. */
	fitted({ species, gender, moves, ability, item, teraType, ivs, role }) {
		moves = moves.map(id => this.dex.moves.get(LEARNT_AS[id] ?? id));
		const { evs, nature } = this.spread(this.dex.species.get(species), moves, role);
		return {
			name: '', species, gender, item, ability, level: 50, teraType, nature, evs,
			ivs: { ...ivs }, moves: moves.map(move => move.name),
		};
	}

	/** 252 in two values and 4 in a third, and the nature that suits them. */
	spread({ baseStats }, moves, role) {
		const power = { atk: 0, spa: 0, def: 0 };
		for (const move of moves) {
			const stat = move.overrideOffensiveStat ?? (move.category === 'Special' ? 'spa' : 'atk');
			if (!move.overrideOffensivePokemon) power[stat] += move.basePower * baseStats[stat];
		}
		const best = Object.keys(power).reduce((one, other) => power[other] > power[one] ? other : one);
		const weaker = baseStats.def <= baseStats.spd ? 'def' : 'spd';
		const late = moves.some(move => ['trickroom', 'gyroball'].includes(move.id));
		const supports = !power[best] || SUPPORT_ROLES.test(role);
		const lasts = supports || late || LASTING_ROLES.test(role) || baseStats.spe < SLOW;
		const first = supports ? weaker : best;
		const second = lasts ? 'hp' : 'spe';
		const third = ['spd', 'def', 'hp'].find(stat => stat !== first && stat !== second);
		const plus = !lasts && baseStats.spe >= FAST ? 'spe' : first;
		const idle = ['atk', 'spa'].find(stat => !power[stat]);
		const minus = late ? 'spe' : idle ?? (plus === 'spd' ? 'def' : 'spd');
		const nature = this.dex.natures.all().find(each => each.plus === plus && each.minus === minus);
		return { evs: { [first]: 252, [second]: 252, [third]: 4 }, nature: nature.name };
	}

	/** Another item of the same use that is free, or null where the item belongs to the set. */
	substitute({ item, moves }, held, prng) {
		const use = [HITTING, LASTING].find(items => items.includes(item));
		if (!use) return null;
		const free = use.filter(each => !held.has(each) && !FORBIDS_MOVES.test(each));
		if (use === HITTING) {
			const hits = moves.map(name => this.dex.moves.get(name)).filter(move => move.basePower);
			for (const { type } of hits) {
				const booster = this.boosters.get(type);
				if (booster && !held.has(booster)) free.push(booster);
			}
		}
		return free.length ? prng.sample(free) : null;
	}

	/** The teams of some seeds: each as PokePaste text, and what stands in it. */
	generate(seeds, withCore) {
		return seeds.map((seed, at) => {
			const team = this.make(seed, withCore[at]);
			return {
				text: `${this.Teams.export(team).trim()}\n`,
				sets: team.map(({ species, item, moves }) => ({ species, item, moves })),
			};
		});
	}
}

function shuffled(list, prng) {
	const copy = [...list];
	prng.shuffle(copy);
	return copy;
}
