// Parts that several boards share.

import { h } from "../dom.js";

/** Return a seat's name with its colour. */
export function chip(look, seat, moves = false) {
  const name = look.names[seat] || "";
  return h("span", { class: `chip seat-${seat}${moves ? " to-move" : ""}` }, `Seat ${seat}${name ? ` · ${name}` : ""}${moves ? " · to move" : ""}`);
}

/** Return a part of a board: a button where a move can begin with it, otherwise a plain element. */
export function pick(look, target, { class: name, label, ...rest }, ...children) {
  const open = target !== null && target !== undefined && look.targets.has(target);
  const chosen = look.chosen.includes(target) ? " chosen" : "";
  if (!open) return h("div", { class: `${name}${chosen}`, role: "img", "aria-label": label, ...rest }, children);
  return h("button", { type: "button", class: `${name} target${chosen}`, "aria-label": label, "data-target": target, onclick: () => look.pick(target), ...rest }, children);
}

/** Return the look of a board that nobody plays on. */
export function onlooker(names, seat = null) {
  return { names, seat, targets: new Set(), chosen: [], pick: () => {}, actions: {} };
}

/** Return a colour of the page's theme. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
