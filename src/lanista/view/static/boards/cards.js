// Cards and dice: what each seat holds, what lies open, and what was bid.

import { h, svg } from "../dom.js";
import { chip } from "./parts.js";

const PIPS = { 1: [[29, 29]], 2: [[17, 17], [41, 41]], 3: [[15, 15], [29, 29], [43, 43]], 4: [[17, 17], [41, 17], [17, 41], [41, 41]], 5: [[16, 16], [42, 16], [29, 29], [16, 42], [42, 42]], 6: [[17, 14], [41, 14], [17, 29], [41, 29], [17, 44], [41, 44]] };

export function cards() {
  const element = h("div", { class: "felt" });
  return { element, update: (scene, look) => element.replaceChildren(...table(scene, look)) };
}

function table(scene, look) {
  const [first, ...rest] = look.seat === 0 ? scene.seats.map((_, seat) => seat).reverse() : scene.seats.map((_, seat) => seat);
  return [seat(scene, first, look), middle(scene), ...rest.map((one) => seat(scene, one, look))];
}

function middle(scene) {
  const open = scene.public.map(card);
  const dice = scene.seats.some((side) => "dice" in side);
  const bets = scene.log.map((move) => h("li", { class: `seat-${move.seat}` }, `${move.round === 2 ? "② " : ""}${move.words}`));
  return h("div", { class: "felt-seat" }, open.length ? h("div", { class: "hand", role: "group", "aria-label": "open cards" }, open) : null, h("ol", { class: "bets", "aria-label": dice ? "bids" : "bets" }, bets));
}

function seat(scene, at, look) {
  const side = scene.seats[at];
  const dice = "dice" in side;
  const held = dice ? side.dice : side.cards;
  const things = held ? held.map(dice ? die : card) : [dice ? hiddenDie() : h("div", { class: "playing-card back", role: "img", "aria-label": "hidden card" })];
  return h("div", { class: "felt-seat" }, chip(look, at), h("div", { class: "hand" }, things), "stake" in side ? h("span", { class: "stake" }, `${side.stake} in the pot`) : null);
}

function card(name) {
  const red = name.includes("♥") ? " red" : "";
  return h("div", { class: `playing-card${red}`, role: "img", "aria-label": `card ${name}` }, name);
}

function die(number) {
  return svg("svg", { class: "die", viewBox: "0 0 58 58", role: "img", "aria-label": `die ${number}` }, PIPS[number].map(([cx, cy]) => svg("circle", { cx, cy, r: 5 })));
}

function hiddenDie() {
  return h("div", { class: "die playing-card back", role: "img", "aria-label": "hidden die" });
}
