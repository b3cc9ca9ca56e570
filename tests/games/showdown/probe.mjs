// Tries choices on the simulator itself, for tests: which does `Side.choose` take, and as what?
//
//     node probe.mjs FOLDER < positions.json
//
// positions.json: a list of {format, seed, players, choices, seat, texts}. For each, plays
// `choices`, then tries each of `texts` for `seat`. Prints a JSON list of lists: what the simulator
// understood each text as, or null if it refused.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(`${process.argv[2]}/package.json`);
const { Battle } = require('pokemon-showdown');
const FLAGS = ['switchFlag', 'trapped', 'maybeTrapped', 'maybeDisabled', 'maybeLocked'];

function reach({ format, seed, players, choices }) {
	const battle = new Battle({ formatid: format, seed });
	players.forEach((player, seat) => battle.setPlayer(`p${seat + 1}`, player));
	for (const [seat, text] of choices) {
		battle.choose(`p${seat + 1}`, text);
		battle.sentLogPos = battle.log.length;
	}
	return battle;
}

function attempt(side, text) {
	try {
		return side.choose(text) && side.isChoiceDone() ? side.getChoice() : null;
	} catch {
		return null;
	}
}

function probe(wanted) {
	const side = reach(wanted).sides[wanted.seat];
	const request = structuredClone(side.activeRequest);
	const flags = side.active.map(pokemon => FLAGS.map(flag => pokemon?.[flag]));
	return wanted.texts.map(text => {
		if (side.activeRequest.update) side.activeRequest = structuredClone(request);
		side.active.forEach((pokemon, at) => {
			if (pokemon) FLAGS.forEach((flag, i) => { pokemon[flag] = flags[at][i]; });
		});
		side.clearChoice();
		return attempt(side, text);
	});
}

const wanted = JSON.parse(readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(wanted.map(probe)));
