// Imported by each process of a Showdown server before anything else: no name is looked up.
//
// Unasked the server would fetch lists of addresses and ladders from public sites at every start,
// as it does for a public server. It finds them missing, as on a machine without a network.

import dns from 'node:dns';
import { isIP } from 'node:net';

const { lookup } = dns;
dns.lookup = (name, ...rest) => (isIP(name) ? lookup(name, ...rest) : refuse(name, rest));
dns.reverse = (name, done) => refuse(name, [done]);

function refuse(name, rest) {
	const error = new Error(`${name} is not looked up: this server asks nobody outside.`);
	process.nextTick(rest.at(-1), Object.assign(error, { code: 'ENOTFOUND' }));
}
