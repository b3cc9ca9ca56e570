// How a match ended, and what can be done then.

import { h } from "../dom.js";
import { withQuery, write } from "../server.js";

/** Return the parts of the banner of a match that is over. */
export function ending(session, enter) {
  const { places, score, cut_off: cutOff } = session.result;
  const first = places.filter((place) => place === 1).length;
  const mine = places[session.seat] === 1;
  const outcome = cutOff ? "It was broken off." : mine && first > 1 ? "A draw." : mine ? "You win!" : "You lose.";
  const scores = score.map((one) => Number(one.toFixed(1))).join(" : ");
  const again = h("button", { type: "button", id: "rematch", class: "primary", onclick: () => rematch() }, "Rematch, seats swapped");
  const look = session.saved ? h("a", { class: "button", id: "look", href: withQuery("/match", { place: session.saved, match: 0, eyes: String(session.seat) }) }, "Look into this match") : null;
  const refused = h("span", { role: "alert" });
  async function rematch() {
    again.disabled = true;
    try {
      enter(await write("/api/play/rematch", { id: session.id }));
    } catch (refusal) {
      refused.textContent = refusal.message;
      again.disabled = false;
    }
  }
  const given = session.given ? h("span", {}, "The learner has it.") : null;
  const problem = session.problem ? h("span", {}, session.problem) : null;
  return [h("span", { id: "outcome" }, `${outcome} ${scores}`), again, look, h("a", { class: "button", href: "/play" }, "Another game"), given, problem, refused].filter(Boolean);
}
