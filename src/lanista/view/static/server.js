// Asks the server: JSON, writes with the token, and a stream of changes.

import { h } from "./dom.js";

/** What the server refused, as the sentence it gave. */
export class Refusal extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

async function answer(response) {
  let body = {};
  try {
    body = await response.json();
  } catch {
    // No JSON: the status has to do.
  }
  if (!response.ok) throw new Refusal(body.error || `The server answered ${response.status}.`, response.status);
  return body;
}

/** Return the JSON at an address; `query` may have lists as values. */
export async function ask(address, query = {}, signal = undefined) {
  return answer(await fetch(withQuery(address, query), { signal }));
}

/** Return `address?name=value&…`. */
export function withQuery(address, query = {}) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined) words.append(name, one);
    }
  }
  const text = words.toString();
  return text ? `${address}?${text}` : address;
}

/** Send JSON; where the server wants its token, ask for it once and send again. */
export async function write(address, body) {
  try {
    return await post(address, body);
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status !== 401) throw refusal;
    const token = await askToken(refusal.message);
    if (token === null) throw refusal;
    await post("/token", { token });
    return post(address, body);
  }
}

async function post(address, body) {
  const headers = { "content-type": "application/json" };
  return answer(await fetch(address, { method: "POST", headers, body: JSON.stringify(body) }));
}

function askToken(sentence) {
  return dialog("Token", [h("p", {}, sentence)], "Continue", h("input", { type: "password", name: "value", autocomplete: "off", "aria-label": "Token" }));
}

/** Ask in a dialog; return the field's text (or true without one), or null where it was left. */
export function dialog(title, content, agree, field = null) {
  return new Promise((resolve) => {
    const box = h(
      "dialog",
      { "aria-labelledby": "dialog-title" },
      h(
        "form",
        { method: "dialog" },
        h("h2", { id: "dialog-title" }, title),
        ...content,
        field,
        h(
          "div",
          { class: "buttons" },
          h("button", { value: "cancel", type: "submit", formnovalidate: true }, "Cancel"),
          h("button", { value: "agree", type: "submit", class: "primary" }, agree),
        ),
      ),
    );
    box.addEventListener("close", () => {
      box.remove();
      if (box.returnValue !== "agree") resolve(null);
      else resolve(field ? field.value : true);
    });
    document.body.append(box);
    box.showModal();
  });
}

const SLOTS = 4;
const POLL = 3000;

/**
 * Call `changed(data)` whenever the server has something new at /events/… .
 *
 * A browser opens few connections to one server, so only some pages hold a stream; the others, and
 * those where it cannot be told how many there are, ask now and then. A hidden page does neither.
 */
export function follow(address, query, changed, lost = () => {}) {
  let stop = () => {};
  let running = false;
  const begin = () => {
    if (running || document.hidden) return;
    running = true;
    stop = navigator.locks ? slotted(address, query, changed, lost) : polled(address, query, changed, lost);
  };
  const end = () => {
    stop();
    running = false;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? end() : begin()));
  window.addEventListener("pagehide", end);
  window.addEventListener("pageshow", begin);
  begin();
  return end;
}

function slotted(address, query, changed, lost) {
  let stop = () => {};
  let over = false;
  (async () => {
    for (let slot = 0; slot < SLOTS && !over; slot += 1) {
      const free = await new Promise((decided) => {
        navigator.locks.request(`lanista-stream-${slot}`, { ifAvailable: true }, (lock) => {
          if (!lock || over) {
            decided(false);
            return undefined;
          }
          return new Promise((release) => {
            const source = streamed(address, query, changed, lost, () => {
              release();
              if (!over) stop = polled(address, query, changed, lost);
            });
            stop = () => {
              source.close();
              release();
            };
            decided(true);
          });
        });
      });
      if (free) return;
    }
    if (!over) stop = polled(address, query, changed, lost);
  })();
  return () => {
    over = true;
    stop();
  };
}

function streamed(address, query, changed, lost, refused) {
  const source = new EventSource(withQuery(address, query));
  source.onmessage = (event) => changed(JSON.parse(event.data));
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) refused();
    else lost();
  };
  return source;
}

function polled(address, query, changed, lost) {
  let timer = 0;
  let over = false;
  let mark = null;
  const look = async () => {
    try {
      const body = await ask(address.replace("/events/", "/api/events/"), { ...query, mark });
      if (!over && body.mark !== mark) {
        mark = body.mark;
        changed(body.data);
      }
    } catch {
      if (!over) lost();
    }
    if (!over) timer = setTimeout(look, POLL);
  };
  look();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}
