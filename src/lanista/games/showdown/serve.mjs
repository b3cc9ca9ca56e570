// Runs one Showdown server for a Python parent.
//
//     node --import offline.mjs serve.mjs FOLDER PORT [temporary]
//
// FOLDER is what server_folder.py lays out; with PORT 0 the system picks one. The port is written
// to FOLDER/port once the server listens. The end of standard input ends the process, and the
// server's own children, which inherit `--import`, end with it, so nothing is left behind when
// the parent is killed; a temporary FOLDER goes too. server.py is the other side.

import cluster from 'node:cluster';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [folder, , temporary] = process.argv.slice(2);

function end() {
	try {
		// Removes the links, not what they lead to; again where a file was just being written.
		if (temporary) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
	} finally {
		process.exit(0);
	}
}

process.stdin.resume();
process.stdin.on('end', end);
process.stdin.on('error', end);
cluster.on('listening', (worker, { port }) => {
	// Under another name first: whoever sees the file sees all of it.
	writeFileSync(`${folder}/port.new`, `${port}\n`);
	renameSync(`${folder}/port.new`, `${folder}/port`);
});

process.chdir(folder);
createRequire(`${folder}/package.json`)('./dist/server/index.js');
