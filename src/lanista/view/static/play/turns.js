// A match that waits for moves: a board to click, legal moves in words, hints, moves taken back.

import { boardFrame } from "../boards/board.js";
import { announce, fill, h } from "../dom.js";
import { likely, signed } from "../match/opinions.js";
import { write } from "../server.js";
import { ending } from "./ending.js";
import { matching, openTargets, picked } from "./picking.js";

const MANY = 40;

export function turnTable(session, enter) {
  const frame = boardFrame();
  const parts = { banner: h("div", { class: "banner", role: "status" }), legal: h("div", {}), hint: h("div", {}), log: h("ol", { class: "log", "aria-label": "Moves so far" }), buttons: h("div", { class: "controls" }) };
  const state = { session, chosen: [], busy: false, filter: "", half: "" };

  fill(
    h("h1", {}, session.wish.game),
    h("p", { class: "lead" }, session.names.map((name, seat) => `seat ${seat}: ${name}`).join(" · "), strength(session.wish)),
    h("div", { class: "table" }, h("div", {}, frame.element), h("div", { class: "side" }, h("section", {}, parts.banner, parts.legal, parts.buttons, parts.hint), h("section", {}, h("h2", {}, "Moves"), parts.log))),
  );
  draw();

  function heads() {
    return state.session.legal.filter((head) => head.choices.length > 1 || state.session.legal.length === 1);
  }

  function draw() {
    const now = state.session;
    const single = heads().length === 1 ? heads()[0].choices : [];
    const look = { names: now.names, seat: now.seat, targets: state.busy ? new Set() : openTargets(single, state.chosen), chosen: state.chosen, pick: (target) => pick(single, target), actions: {} };
    frame.update(now.scene, look);
    banner(now);
    legal();
    log(now);
    buttons(now);
  }

  function banner(now) {
    const words = now.over ? ending(now, enter) : [state.busy ? "Your opponent thinks…" : "Your move."];
    const mine = now.over ? now.result.places[now.seat] === 1 : null;
    const shared = now.over && now.result.places.filter((place) => place === 1).length > 1;
    parts.banner.className = `banner${now.over && !shared ? (mine ? " won" : " lost") : ""}${state.busy ? " thinking" : ""}`;
    parts.banner.replaceChildren(...words);
  }

  function legal() {
    if (state.session.over) return parts.legal.replaceChildren();
    const open = heads();
    if (open.length === 1) return parts.legal.replaceChildren(...list(open[0].choices));
    parts.legal.replaceChildren(...byHead(open));
  }

  function list(choices) {
    const matched = matching(choices, state.chosen).filter((one) => one.words.toLowerCase().includes(state.filter));
    const narrowed = matched.filter((one) => !state.half || half(one.words) === state.half);
    if (!state.half && !state.filter && narrowed.length > MANY && narrowed.every((one) => half(one.words))) return halves(narrowed);
    const note = (state.chosen.length || state.half) && !state.busy ? h("p", { class: "quiet-text" }, "Choose one of these, or another part of the board. ", h("button", { type: "button", id: "all-moves", onclick: () => clear() }, "All moves")) : null;
    const filter = choices.length > MANY && !state.half ? h("input", { type: "search", placeholder: "words of the move", "aria-label": "Find a move", value: state.filter, oninput: (event) => find(event.target.value) }) : null;
    const rows = narrowed.slice(0, 200).map((one, at) => h("li", {}, h("button", { type: "button", disabled: state.busy, "data-choice": one.choice, "aria-label": one.words, onclick: () => play(one.choice) }, at < 9 ? h("kbd", { "aria-hidden": "true" }, String(at + 1)) : null, state.half ? one.words.slice(state.half.length + 2) : one.words)));
    return [h("h2", {}, "Your moves"), filter, note, h("ul", { class: "legal" }, rows)].filter(Boolean);
  }

  /** Many moves of two parts are chosen part by part. */
  function halves(choices) {
    const first = [...new Set(choices.map((one) => half(one.words)))];
    const rows = first.map((words, at) => h("li", {}, h("button", { type: "button", disabled: state.busy, onclick: () => begin(words) }, at < 9 ? h("kbd", { "aria-hidden": "true" }, String(at + 1)) : null, `${words} …`)));
    return [h("h2", {}, "Your moves: first"), h("ul", { class: "legal" }, rows)];
  }

  function begin(words) {
    state.half = words;
    draw();
    parts.legal.querySelector(".legal button")?.focus();
  }

  function find(text) {
    state.filter = text.toLowerCase();
    const place = parts.legal.querySelector("ul");
    const fresh = list(heads()[0].choices).at(-1);
    place.replaceWith(fresh);
  }

  function byHead(open) {
    const selects = open.map((head) => h("select", { "data-head": head.head, "aria-label": head.head }, head.choices.map((one) => h("option", { value: one.choice }, one.words))));
    const boxes = open.map((head, at) => h("div", { class: "head-choice" }, h("h3", {}, head.head), selects[at]));
    const go = h("button", { type: "button", class: "primary", onclick: () => send(action(selects)) }, "Play this");
    return [h("h2", {}, "Your move"), ...boxes, go];
  }

  function action(selects) {
    const chosen = Object.fromEntries(selects.map((one) => [one.dataset.head, Number(one.value)]));
    return state.session.legal.map((head) => chosen[head.head] ?? head.choices[0].choice);
  }

  function log(now) {
    parts.log.replaceChildren(...now.log.map(([seat, words]) => h("li", { class: `seat-${seat}` }, h("span", {}, words ?? "something that you do not see"))));
    parts.log.scrollTop = parts.log.scrollHeight;
  }

  function buttons(now) {
    const undo = h("button", { type: "button", id: "undo", disabled: !now.can_undo || state.busy, onclick: () => change("/api/play/undo", {}) }, "Take back");
    const hint = now.wish.hints && !now.over ? h("button", { type: "button", id: "hint", disabled: state.busy, onclick: () => showHint() }, "Hint") : null;
    parts.buttons.replaceChildren(...[now.wish.undo && !now.over ? undo : null, hint].filter(Boolean));
  }

  function pick(choices, target) {
    state.chosen = picked(choices, state.chosen, target);
    const left = matching(choices, state.chosen);
    if (left.length === 1) play(left[0].choice);
    else draw();
  }

  function clear() {
    state.chosen = [];
    state.half = "";
    draw();
  }

  function play(choice) {
    const open = heads();
    send(state.session.legal.map((head) => (head === open[0] ? choice : head.choices[0].choice)));
  }

  function send(chosen) {
    return change("/api/play/move", { action: chosen, turn: state.session.turn });
  }

  async function change(path, body) {
    if (state.busy) return;
    state.busy = true;
    const places = [parts.legal, frame.element, parts.buttons];
    const place = places.find((one) => one.contains(document.activeElement));
    parts.hint.replaceChildren();
    draw();
    try {
      const before = state.session.logged;
      state.session = await write(path, { id: state.session.id, ...body });
      const fresh = Math.max(0, state.session.logged - before); // None after a move was taken back.
      const moves = state.session.log.slice(state.session.log.length - fresh).map(([seat, words]) => `seat ${seat}: ${words ?? "hidden"}`);
      announce(state.session.over ? "The match is over." : moves.join("; "));
    } catch (refusal) {
      parts.hint.replaceChildren(h("p", { class: "notice bad", role: "alert" }, refusal.message));
    }
    Object.assign(state, { busy: false, chosen: [], filter: "", half: "" });
    draw();
    // Whoever plays by keyboard goes on where they were.
    if (place) place.querySelector("button:not(:disabled)")?.focus();
  }

  async function showHint() {
    try {
      const hint = await write("/api/play/hint", { id: state.session.id });
      const value = hint.value === null ? null : h("p", { class: "quiet-text" }, `It expects ${signed(hint.value)} for you.`);
      parts.hint.replaceChildren(...[h("h3", {}, `${hint.by} would play`), likely(hint.choices), value].filter(Boolean));
    } catch (refusal) {
      parts.hint.replaceChildren(h("p", { class: "notice bad", role: "alert" }, refusal.message));
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.tagName === "INPUT" || event.target.tagName === "SELECT") return;
    if (!document.contains(parts.legal) || state.busy) return;
    if (event.key === "Escape") clear();
    else if (event.key === "h") parts.buttons.querySelector("#hint")?.click();
    else if (event.key === "u") parts.buttons.querySelector("#undo")?.click();
    else if (/^[1-9]$/.test(event.key)) parts.legal.querySelectorAll(".legal button")[Number(event.key) - 1]?.click();
  });
}

/** The first part of a move's words; nothing where they have one part alone. */
function half(words) {
  const at = words.includes("; ") ? words.indexOf("; ") : words.indexOf(", ");
  return at > 0 ? words.slice(0, at) : "";
}

function strength(wish) {
  const parts = [];
  if (wish.greedy) parts.push("likeliest moves");
  else if (wish.temperature !== 1) parts.push(`temperature ${wish.temperature}`);
  if (wish.handicap) parts.push(`${Math.round(wish.handicap * 100)} % random moves`);
  return parts.length ? ` · ${parts.join(", ")}` : "";
}
