// Runs many battles in one Node process for a Python parent.
//
//     node worker.mjs FOLDER [plain]
//
// FOLDER holds node_modules with the simulator; `plain` leaves its speed-ups out. Every line on
// standard input is a JSON object with `do`; every one is answered by exactly one JSON line on
// standard output, in order. The first line out is a greeting. The end of standard input ends the
// process, so nothing is left behind when the parent is killed. process.py is the other side.

import { readSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { TeamMaker } from './generating.mjs';
import { speedUp } from './speedups.mjs';

const [folder, mode] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const simulator = require('pokemon-showdown');
const { Battle, Dex, PRNG, Teams, TeamValidator } = simulator;
const { version } = require('pokemon-showdown/package.json');

const SIDES = ['p1', 'p2'];
const NAMES = ['Player 1', 'Player 2'];

/** One battle and how much of its log has been handed over. */
class Running {
	constructor({ slot, format, seed, players }) {
		this.slot = slot;
		this.read = 0;
		this.refused = ['', ''];
		this.chosen = [false, false];
		this.battle = new Battle({
			formatid: format,
			seed,
			send: (kind, data) => this.hear(kind, data),
		});
		for (const [seat, { changes, ...player }] of players.entries()) {
			if (changes) player.team = this.changed(this.battle.getTeam(player), changes);
			this.battle.setPlayer(SIDES[seat], { name: NAMES[seat], ...player });
		}
	}

	/** A team with other words in some of its sets: [place in the team, {teraType, ...}]. */
	changed(team, changes) {
		for (const [at, words] of changes) if (team[at]) Object.assign(team[at], words);
		return team;
	}

	/** Keep what the simulator says about a choice it did not take. */
	hear(kind, data) {
		if (kind !== 'sideupdate') return;
		const [side, line] = data.split('\n');
		if (line.startsWith('|error|')) this.refused[SIDES.indexOf(side)] = line.slice(7);
	}

	choose(seat, text) {
		const { battle } = this;
		this.refused[seat] = '';
		this.chosen[seat] = battle.choose(SIDES[seat], text);
		if (!this.chosen[seat] && !this.refused[seat].startsWith('[Unavailable choice]')) {
			throw new Error(`choice ${JSON.stringify(text)} of ${SIDES[seat]}: ${this.refused[seat]}`);
		}
	}

	/** What a seat is asked; a seat that has chosen waits while the other is asked again. */
	request(seat) {
		const request = this.battle.sides[seat].activeRequest;
		return this.chosen[seat] ? { wait: true, side: request.side } : request;
	}

	/** What happened since the last call, or null if the battle still waits for a choice. */
	update() {
		const { battle } = this;
		const refused = this.refused.some(Boolean);
		if (battle.log.length === this.read && !refused) return null;
		if (battle.log.length > this.read) this.chosen = [false, false];
		// The time of day is not part of a battle.
		const log = battle.log.slice(this.read).filter(line => !line.startsWith('|t:|'));
		this.read = battle.log.length;
		battle.sentLogPos = this.read; // Without it the simulator suspects an endless loop.
		const update = { slot: this.slot, log };
		if (battle.ended) {
			update.ended = true;
			update.winner = NAMES.indexOf(battle.winner);
		} else {
			update.requests = [this.request(0), this.request(1)];
		}
		if (refused) {
			update.refused = this.refused;
			this.refused = ['', ''];
		}
		return update;
	}
}

const running = new Map();

/** Do something with one battle; if the simulator throws, that battle alone is cut off. */
function attempt(slot, updates, action) {
	try {
		const update = action();
		if (!update) return;
		updates.push(update);
		if (update.ended) running.delete(slot);
	} catch (error) {
		running.delete(slot);
		updates.push({ slot, error: String(error?.stack ?? error).split('\n').slice(0, 3).join(' ') });
	}
}

const COMMANDS = {
	start({ battles }) {
		const updates = [];
		for (const wanted of battles) {
			attempt(wanted.slot, updates, () => {
				const battle = new Running(wanted);
				running.set(wanted.slot, battle);
				for (const [seat, text] of wanted.choices ?? []) battle.choose(seat, text);
				return battle.update();
			});
		}
		return { updates };
	},

	choose({ choices }) {
		const updates = [];
		const touched = new Set();
		for (const [slot, seat, text] of choices) {
			const battle = running.get(slot);
			if (!battle) continue; // Cut off by an earlier choice of this very line.
			touched.add(slot);
			attempt(slot, updates, () => battle.choose(seat, text));
		}
		for (const slot of touched) {
			const battle = running.get(slot);
			if (battle) attempt(slot, updates, () => battle.update());
		}
		return { updates };
	},

	drop({ slots }) {
		for (const slot of slots) running.delete(slot);
		return {};
	},

	/** Throw other dice from now on: [slot, seed]. */
	reseed({ seeds }) {
		for (const [slot, seed] of seeds) {
			const found = running.get(slot);
			if (found) found.battle.prng = new PRNG(seed);
		}
		return {};
	},

	/** Teams in PokePaste text: packed, and what the validator has against them. */
	validate({ format, teams }) {
		const validator = TeamValidator.get(format);
		return {
			teams: teams.map(text => {
				const team = Teams.import(text);
				if (!team?.length) return { packed: '', problems: ['No Pokémon was found in it.'] };
				return { problems: validator.validateTeam(team) ?? [], packed: Teams.pack(team) };
			}),
		};
	},

	/** Randomly composed teams, one a seed: as PokePaste text, and what stands in them. */
	generate({ format, seeds, withCore }) {
		return { teams: new TeamMaker(simulator, format).generate(seeds, withCore) };
	},

	/** What has been used so far, for benchmarks. */
	usage() {
		const { user, system } = process.cpuUsage();
		return { cpu_seconds: (user + system) / 1e6, rss: process.memoryUsage.rss() };
	},
};

function write(message) {
	const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
	for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at);
}

function answer(line) {
	const message = JSON.parse(line);
	const command = COMMANDS[message.do];
	if (!command) return { error: `There is no command ${message.do}.` };
	try {
		return command(message);
	} catch (error) {
		return { error: String(error?.stack ?? error).split('\n').slice(0, 3).join(' ') };
	}
}

/** Yield the lines of standard input; blocking, for there is nothing else to do meanwhile. */
function* lines() {
	const chunk = Buffer.alloc(1 << 16);
	let parts = [];
	for (;;) {
		const size = readSync(0, chunk);
		if (size === 0) return;
		let from = 0;
		for (let end; (end = chunk.indexOf(10, from)) !== -1 && end < size; from = end + 1) {
			parts.push(Buffer.from(chunk.subarray(from, end)));
			yield Buffer.concat(parts).toString();
			parts = [];
		}
		parts.push(Buffer.from(chunk.subarray(from, size)));
	}
}

if (mode !== 'plain') speedUp(simulator);
Dex.includeFormats();
write({ ready: true, simulator: version, node: process.version });
for (const line of lines()) write(answer(line));
