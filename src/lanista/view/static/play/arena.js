// The arena live: the server's clock drives, the page sends what is held and draws what comes.

import { boardFrame } from "../boards/board.js";
import { announce, fill, h } from "../dom.js";
import { withQuery, write } from "../server.js";
import { ending } from "./ending.js";

const MOVES = { ArrowLeft: [-1, 0], a: [-1, 0], ArrowRight: [1, 0], d: [1, 0], ArrowUp: [0, 1], w: [0, 1], ArrowDown: [0, -1], s: [0, -1] };
const AIM_EVERY = 60;

export function arenaTable(session, enter) {
  const frame = boardFrame();
  const banner = h("div", { class: "banner", role: "status" }, "Get ready…");
  const problem = h("p", { class: "notice bad", role: "alert", hidden: true });
  const look = { names: session.names, seat: session.seat, targets: new Set(), chosen: [], pick: () => {}, actions: {} };
  const state = { now: session, before: null, since: 0, held: new Set(), aim: null, fire: false, sent: "", over: session.over, sending: false };
  const key = (word) => h("kbd", {}, word);

  fill(
    h("h1", {}, session.wish.game),
    h("p", { class: "lead" }, session.names.map((name, seat) => `seat ${seat}: ${name}`).join(" · ")),
    h("div", { class: "table" }, h("div", {}, banner, frame.element, pads()), h("div", { class: "side" }, h("section", {}, problem, h("h2", {}, "Keys"), h("p", { class: "keys" }, key("W"), key("A"), key("S"), key("D"), " or arrows move, mouse aims, ", key("Space"), " or mouse button fires, ", key("Shift"), " dashes, ", key("E"), " shields, ", key("F"), " picks up."), h("p", { class: "quiet-text" }, "Without a mouse you aim at the nearest enemy that you see. Ten decisions a second: what is held then is what you do.")))),
  );
  frame.update(session.scene, look);
  frame.element.setAttribute("tabindex", "0");
  frame.element.focus();
  if (session.over) return over();

  const source = new EventSource(withQuery("/events/play", { id: session.id }));
  source.onmessage = (event) => arrived(JSON.parse(event.data));
  source.onerror = () => {
    if (!state.over && source.readyState === EventSource.CLOSED) tell("The server closed the stream; reload the page to go on.");
  };
  const listeners = new AbortController();
  const listen = (target, name, action) => target.addEventListener(name, action, { signal: listeners.signal });
  listen(document, "keydown", (event) => press(event, true));
  listen(document, "keyup", (event) => press(event, false));
  listen(window, "blur", () => release());
  const canvas = frame.board.canvas;
  listen(canvas, "pointermove", (event) => {
    state.aim = frame.board.at(event);
    later();
  });
  listen(canvas, "pointerdown", (event) => {
    state.aim = frame.board.at(event);
    state.fire = true;
    event.preventDefault();
    send();
  });
  listen(window, "pointerup", () => {
    state.fire = false;
    send();
  });
  requestAnimationFrame(paint);

  function arrived(now) {
    state.before = state.now;
    state.now = now;
    state.since = performance.now();
    if (now.problem) tell(now.problem);
    if (!state.over) banner.textContent = now.turn ? "Fight!" : "Get ready…";
    if (!state.aim || nearest()) send();
    if (now.over) over();
  }

  function paint(time) {
    if (!document.contains(frame.element)) return;
    const share = Math.min(1, (time - state.since) / (state.now.scene.step * 1000));
    if (state.before) frame.update(state.before.scene, look, state.now.scene, share);
    if (!state.over || share < 1) requestAnimationFrame(paint);
  }

  function press(event, down) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.tagName === "BUTTON") return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!(name in MOVES) && ![" ", "Shift", "e", "f"].includes(name)) return;
    event.preventDefault();
    if (down === state.held.has(name)) return;
    if (down) state.held.add(name);
    else state.held.delete(name);
    send();
  }

  function release() {
    state.held.clear();
    state.fire = false;
    send();
  }

  function nearest() {
    const own = state.now.scene.fighters[session.seat];
    if (own?.x === undefined) return null;
    const seen = state.now.scene.fighters.filter((one, seat) => seat !== session.seat && one.alive && one.x !== undefined);
    const far = (one) => Math.hypot(one.x - own.x, one.y - own.y);
    return seen.sort((a, b) => far(a) - far(b))[0] || null;
  }

  function keys() {
    const move = [...state.held].reduce(([x, y], name) => [x + (MOVES[name]?.[0] || 0), y + (MOVES[name]?.[1] || 0)], [0, 0]).map((one) => Math.max(-1, Math.min(1, one)));
    const enemy = state.aim ? null : nearest();
    const aim = state.aim || (enemy ? [enemy.x, enemy.y] : null);
    const ability = state.held.has("Shift") ? "dash" : state.held.has("e") ? "shield" : null;
    return { move, aim, fire: (state.fire || state.held.has(" ")) && aim !== null, ability, interact: state.held.has("f") };
  }

  function later() {
    if (state.timer) return;
    state.timer = setTimeout(() => {
      state.timer = 0;
      send();
    }, AIM_EVERY);
  }

  async function send() {
    if (state.over || state.sending) return;
    const held = keys();
    const text = JSON.stringify(held);
    if (text === state.sent) return;
    state.sending = true;
    state.sent = text;
    try {
      await write("/api/play/keys", { id: session.id, keys: held });
    } catch (refusal) {
      tell(refusal.message);
    }
    state.sending = false;
    if (JSON.stringify(keys()) !== state.sent) later();
  }

  function tell(sentence) {
    problem.textContent = sentence;
    problem.hidden = false;
  }

  function over() {
    state.over = true;
    source?.close?.();
    listeners?.abort?.();
    const now = { ...session, ...state.now };
    const mine = now.result.places[session.seat] === 1;
    const shared = now.result.places.filter((place) => place === 1).length > 1;
    banner.className = `banner${shared ? "" : mine ? " won" : " lost"}`;
    banner.replaceChildren(...ending(now, enter));
    announce("The match is over.");
  }

  function pads() {
    const hold = (sign, key, name) => h("button", { type: "button", "aria-label": name, onpointerdown: () => hand(key, true), onpointerup: () => hand(key, false), onpointerleave: () => hand(key, false) }, sign);
    const hand = (key, down) => {
      if (down) state.held.add(key);
      else state.held.delete(key);
      send();
    };
    const gap = () => h("span", {});
    return h("div", { class: "pads" }, gap(), hold("↑", "ArrowUp", "Up"), hold("F", "f", "Pick up"), hold("←", "ArrowLeft", "Left"), hold("●", " ", "Fire"), hold("→", "ArrowRight", "Right"), hold("E", "e", "Shield"), hold("↓", "ArrowDown", "Down"), hold("⇧", "Shift", "Dash"));
  }
}
