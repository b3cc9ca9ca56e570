// Makes the simulator find its event handlers faster, without changing what it finds.
//
// For every event the simulator asks each effect on the field (status, volatiles, ability, item,
// species, side and field conditions) for a callback, and nearly all have none. The effects that do
// define a callback are known beforehand: they are the dex. So each dex gets a table
// callback name -> effects that define it, and only those are asked. The order of the answers, and
// with it every battle, stays the same: tests compare logs with and without.

const EACH_EVENTS = new Set(['BeforeTurn', 'Update', 'Weather', 'WeatherChange', 'TerrainChange']);

/** Who defines one callback: ids of abilities, of items, of conditions; whether any species does. */
class Definers {
	abilities = null;
	items = null;
	conditions = null;
	species = false;

	add(kind, id) {
		this[kind] ??= new Set();
		this[kind].add(id);
	}
}

function callbackNames(effect) {
	const names = [];
	for (const key in effect) {
		if (!key.startsWith('on') || effect[key] === undefined) continue;
		names.push(key);
		// `getCallback` lets abilities and items answer SwitchIn with their onStart.
		if (key === 'onStart') names.push('onSwitchIn');
	}
	return names;
}

function conditionIds(data) {
	const ids = new Set([...Object.keys(data.Conditions), ...Object.keys(data.Rulesets)]);
	for (const kind of [data.Moves, data.Abilities, data.Items]) {
		for (const id in kind) {
			if (kind[id].condition) ids.add(id);
		}
	}
	return ids;
}

/** The table of one dex: what defines each callback, and the five names of each event. */
class Callbacks {
	constructor(dex) {
		this.definers = new Map();
		this.events = new Map();
		for (const ability of dex.abilities.all()) this.register(ability, 'abilities');
		for (const item of dex.items.all()) this.register(item, 'items');
		for (const id of conditionIds(dex.data)) {
			this.register(dex.conditions.getByID(id), 'conditions', id);
		}
		for (const species of dex.species.all()) {
			for (const name of callbackNames(species)) this.get(name).species = true;
		}
	}

	register(effect, kind, id = effect.id) {
		for (const name of callbackNames(effect)) this.get(name).add(kind, id);
	}

	get(name) {
		let found = this.definers.get(name);
		if (!found) this.definers.set(name, found = new Definers());
		return found;
	}

	/** The callback names of an event, null where nothing can define one. */
	names(event) {
		let found = this.events.get(event);
		if (!found) {
			const known = name => (this.definers.has(name) ? name : null);
			const prefixed = EACH_EVENTS.has(event) ? () => null : known;
			this.events.set(event, found = {
				own: `on${event}`, // The format is asked by this name, whoever else defines it.
				on: known(`on${event}`),
				ally: prefixed(`onAlly${event}`),
				any: prefixed(`onAny${event}`),
				foe: prefixed(`onFoe${event}`),
				source: prefixed(`onSource${event}`),
			});
		}
		return found;
	}
}

const tables = new WeakMap();

function tableOf(dex) {
	let table = tables.get(dex);
	if (!table) tables.set(dex, table = new Callbacks(dex));
	return table;
}

/** Replace the search for handlers in `Battle.prototype`. Call once. */
export function speedUp({ Battle, Pokemon, Side }) {
	const original = {
		pokemon: Battle.prototype.findPokemonEventHandlers,
		side: Battle.prototype.findSideEventHandlers,
		field: Battle.prototype.findFieldEventHandlers,
	};

	function addIfDefined(battle, handlers, holder, effect, state, end, name, endCallArgs) {
		const callback = battle.getCallback(holder, effect, name);
		if (callback === undefined) return;
		const listener = { effect, callback, state, end, effectHolder: holder };
		if (endCallArgs) listener.endCallArgs = endCallArgs;
		handlers.push(battle.resolvePriority(listener, name));
	}

	function addPokemon(battle, table, handlers, pokemon, name) {
		if (name === null) return;
		const definers = table.definers.get(name);
		if (!definers) return;
		const { abilities, items, conditions } = definers;
		const add = (effect, state, end, endCallArgs) =>
			addIfDefined(battle, handlers, pokemon, effect, state, end, name, endCallArgs);
		if (conditions !== null) {
			if (pokemon.status !== '' && conditions.has(pokemon.status)) {
				add(pokemon.getStatus(), pokemon.statusState, pokemon.clearStatus);
			}
			for (const id in pokemon.volatiles) {
				if (!conditions.has(id)) continue;
				const volatile = battle.dex.conditions.getByID(id);
				add(volatile, pokemon.volatiles[id], pokemon.removeVolatile);
			}
		}
		if (abilities !== null && abilities.has(pokemon.ability)) {
			add(pokemon.getAbility(), pokemon.abilityState, pokemon.clearAbility);
		}
		if (items !== null && items.has(pokemon.item)) {
			add(pokemon.getItem(), pokemon.itemState, pokemon.clearItem);
		}
		if (definers.species) add(pokemon.baseSpecies, pokemon.speciesState, nothing);
		if (conditions !== null) {
			const { side } = pokemon;
			const slot = side.slotConditions[pokemon.position];
			for (const id in slot) {
				if (!conditions.has(id)) continue;
				const condition = battle.dex.conditions.getByID(id);
				add(condition, slot[id], side.removeSlotCondition, [side, pokemon, condition.id]);
			}
		}
	}

	function addSide(battle, table, handlers, side, name, customHolder) {
		const conditions = name === null ? null : table.definers.get(name)?.conditions;
		if (!conditions) return;
		for (const id in side.sideConditions) {
			if (!conditions.has(id)) continue;
			handlers.push(...original.side.call(battle, side, name, undefined, customHolder));
			return;
		}
	}

	function addField(battle, table, handlers, field, name, customHolder) {
		const conditions = name === null ? null : table.definers.get(name)?.conditions;
		if (!conditions) return;
		let asked = conditions.has(field.weather) || conditions.has(field.terrain);
		if (!asked) {
			for (const id in field.pseudoWeather) {
				if (conditions.has(id)) {
					asked = true;
					break;
				}
			}
		}
		if (!asked) return;
		handlers.push(...original.field.call(battle, field, name, undefined, customHolder));
	}

	function addActives(battle, table, handlers, side, ours, names) {
		for (const active of side.active) {
			addPokemon(battle, table, handlers, active, ours ? names.on : names.foe);
			addPokemon(battle, table, handlers, active, names.any);
		}
	}

	Battle.prototype.findPokemonEventHandlers = function (pokemon, name, getKey) {
		if (getKey) return original.pokemon.call(this, pokemon, name, getKey);
		const handlers = [];
		addPokemon(this, tableOf(this.dex), handlers, pokemon, name);
		return handlers;
	};

	Battle.prototype.findSideEventHandlers = function (side, name, getKey, customHolder) {
		if (getKey) return original.side.call(this, side, name, getKey, customHolder);
		const handlers = [];
		addSide(this, tableOf(this.dex), handlers, side, name, customHolder);
		return handlers;
	};

	Battle.prototype.findFieldEventHandlers = function (field, name, getKey, customHolder) {
		if (getKey) return original.field.call(this, field, name, getKey, customHolder);
		const handlers = [];
		addField(this, tableOf(this.dex), handlers, field, name, customHolder);
		return handlers;
	};

	const searchMany = Battle.prototype.findEventHandlers;
	Battle.prototype.findEventHandlers = function (target, event, source) {
		if (Array.isArray(target)) return searchMany.call(this, target, event, source);
		const table = tableOf(this.dex);
		const names = table.names(event);
		const handlers = [];
		const bubbleDown = target instanceof Side;
		if (target instanceof Pokemon && (target.isActive || source?.isActive)) {
			addPokemon(this, table, handlers, target, names.on);
			if (names.ally !== null || names.any !== null) {
				for (const ally of target.alliesAndSelf()) {
					addPokemon(this, table, handlers, ally, names.ally);
					addPokemon(this, table, handlers, ally, names.any);
				}
			}
			if (names.foe !== null || names.any !== null) {
				for (const foe of target.foes()) {
					addPokemon(this, table, handlers, foe, names.foe);
					addPokemon(this, table, handlers, foe, names.any);
				}
			}
			target = target.side;
		}
		if (source) addPokemon(this, table, handlers, source, names.source);
		if (target instanceof Side) {
			for (const side of this.sides) {
				const ours = side === target || side === target.allySide;
				if (bubbleDown) addActives(this, table, handlers, side, ours, names);
				if (side.n < 2 || !side.allySide) {
					addSide(this, table, handlers, side, ours ? names.on : names.foe);
					addSide(this, table, handlers, side, names.any);
				}
			}
		}
		addField(this, table, handlers, this.field, names.on);
		handlers.push(...this.findBattleEventHandlers(names.own));
		return handlers;
	};
}

function nothing() {}
