// Beasty Bar: the line from the gate to THAT'S IT, hands, the bar.

import { h } from "../dom.js";
import { face } from "./animals.js";
import { chip, pick } from "./parts.js";

export function beastybar() {
  const element = h("div", { class: "bb" });
  return { element, update: (scene, look) => element.replaceChildren(line(scene, look), ...sides(scene, look)) };
}

function line(scene, look) {
  const places = Array.from({ length: 5 }, (_, at) => {
    const animal = scene.line[at];
    if (!animal) return h("div", { class: "bb-place", role: "listitem", "aria-label": `place ${at + 1}, empty` });
    return h("div", { class: "bb-place", role: "listitem" }, card(animal, animal.owner, look, [`line:${at}`, `copy:${animal.species}`, `jump:${at + 1}`].find((one) => look.targets.has(one)), `place ${at + 1}`));
  });
  return h(
    "div",
    { class: "bb-line", role: "list", "aria-label": "The line, from the gate" },
    h("div", { class: "bb-end gate", role: "presentation" }, "BAR ◂ gate"),
    ...places,
    h("div", { class: "bb-end exit", role: "presentation" }, "THAT'S IT"),
  );
}

function sides(scene, look) {
  const order = scene.seats.map((_, seat) => seat);
  if (look.seat !== null) order.sort((a, b) => (a === look.seat) - (b === look.seat));
  return order.map((seat) => side(scene, seat, look));
}

function side(scene, seat, look) {
  const own = scene.seats[seat];
  const hand = own.hand
    ? own.hand.map((animal) => card(animal, seat, look, look.seat === seat || look.seat === null ? `card:${animal.species}` : null))
    : Array.from({ length: own.cards }, () => h("div", { class: "animal back", "aria-hidden": "true" }));
  return h(
    "div",
    { class: `bb-seat seat-${seat}` },
    h("div", { class: "bb-row" }, chip(look, seat, scene.to_move === seat), h("span", { class: "quiet-text" }, `${own.points} points · ${own.pile} to draw${own.hand ? "" : ` · ${own.cards} in hand`}`)),
    h("div", { class: `bb-hand${own.hand ? "" : " hidden"}`, role: "group", "aria-label": `hand of seat ${seat}${own.hand ? "" : ", hidden"}` }, hand),
    h("div", { class: "bb-rows" }, row("In the bar", own.bar, seat), row("THAT'S IT", own.out, seat)),
  );
}

function row(title, animals, seat) {
  const cards = animals.map((animal) => h("span", { class: `animal small seat-${seat}` }, face(animal.name), h("span", { class: "name" }, animal.name)));
  return h("div", { class: "bb-row" }, h("b", {}, title), cards.length ? cards : h("span", { class: "quiet-text" }, "—"));
}

function card(animal, seat, look, target = null, place = "") {
  const label = [animal.name, `strength ${animal.strength}`, `${animal.points} points`, `seat ${seat}`, place].filter(Boolean).join(", ");
  return pick(look, target, { class: `animal seat-${seat}`, label }, h("span", { class: "rank" }, String(animal.strength)), face(animal.name), h("span", { class: "name" }, animal.name), h("span", { class: "worth" }, "★".repeat(animal.points)));
}
