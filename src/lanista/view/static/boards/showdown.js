// Showdown: both sides with their Pokémon, and what happened, drawn by us from the battle's log.

import { h } from "../dom.js";
import { chip } from "./parts.js";

const TYPES = { normal: "#8a8a77", fire: "#d9622b", water: "#3f7fd1", grass: "#4b9e47", electric: "#c79a0a", ice: "#4fa9ad", fighting: "#b23a33", poison: "#8b4fa0", ground: "#a8843e", flying: "#7a77c9", psychic: "#d14f7e", bug: "#839a1e", rock: "#93824a", ghost: "#62508b", dragon: "#5a4bd1", dark: "#5a4a42", steel: "#7d8a97", fairy: "#c16bb0" };

export function showdown() {
  const element = h("div", { class: "sd" });
  return { element, update: (scene, look) => element.replaceChildren(...battle(scene, look)) };
}

function battle(scene, look) {
  const order = look.seat === 0 ? [1, 0] : [0, 1];
  const field = scene.field.length ? ` · ${scene.field.join(", ")}` : "";
  const head = h("div", { class: "quiet-text" }, `${scene.format} · turn ${scene.turn}${field}${scene.over ? " · over" : ""}`);
  const log = scene.log.length ? h("ol", { class: "sd-log", "aria-label": "What happened since the last decision", tabindex: "0" }, scene.log.map((line) => h("li", {}, line))) : null;
  return [head, ...order.map((seat) => side(scene.sides[seat], seat, look)), log].filter(Boolean);
}

function side(own, seat, look) {
  const active = own.mons.filter((mon) => mon.active);
  const bench = own.mons.filter((mon) => !mon.active);
  const conditions = own.conditions.length ? h("span", { class: "quiet-text" }, own.conditions.join(", ")) : null;
  return h(
    "div",
    { class: `sd-side seat-${seat}` },
    h("div", {}, chip(look, seat), " ", conditions),
    h("div", { class: "sd-active", role: "group", "aria-label": "on the field" }, active.map((mon) => pokemon(mon, true))),
    h("div", { class: "sd-bench", role: "group", "aria-label": "on the bench" }, bench.map((mon) => pokemon(mon, false))),
  );
}

function pokemon(mon, large) {
  const fainted = mon.status === "fnt";
  const types = mon.types.map((type) => {
    const badge = h("span", {}, type);
    badge.style.background = TYPES[type] || "#7a7f87";
    return badge;
  });
  const health = h("div", { class: "health", role: "img", "aria-label": `${Math.round(mon.hp * 100)} % HP` }, h("i", {}));
  health.firstChild.style.width = `${Math.max(0, mon.hp * 100)}%`;
  health.firstChild.style.background = mon.hp > 0.5 ? "var(--good)" : mon.hp > 0.2 ? "var(--warn)" : "var(--bad)";
  const facts = [mon.item, mon.ability, mon.terastallized ? `tera ${mon.tera}` : ""].filter(Boolean).join(" · ");
  const status = mon.status ? ` · ${fainted ? "fainted" : mon.status}` : "";
  return h(
    "div",
    { class: `mon${fainted ? " fainted" : ""}` },
    h("span", { class: "name" }, mon.name),
    large ? h("span", { class: "types" }, types) : null,
    health,
    h("span", { class: "small" }, `${mon.points}${status}`),
    large && facts ? h("span", { class: "small" }, facts) : null,
    large && mon.moves.length ? h("span", { class: "small" }, mon.moves.join(", ")) : null,
  );
}
