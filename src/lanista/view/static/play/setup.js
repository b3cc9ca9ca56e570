// What is played, against whom, how strong, and with which help.

import { fill, h, say } from "../dom.js";
import { ask, write } from "../server.js";

const HUMAN = "human";

/** Show the form; `enter(session)` is called with the match that begins. */
export async function setup(enter, address, notice = "") {
  const { games } = await ask("/api/play/games");
  const wanted = address.get("game");
  const game = h("select", { id: "game", onchange: () => choose() }, [...new Set([...(wanted ? [wanted] : []), ...games])].map((name) => h("option", { value: name }, name)), h("option", { value: "" }, "another of OpenSpiel…"));
  const other = h("input", { type: "text", id: "other", placeholder: "openspiel:NAME", hidden: true, onchange: () => choose(), "aria-label": "Name of the game" });
  if (wanted) game.value = wanted;
  const about = h("p", { class: "quiet-text" });
  const rest = h("div", { class: "setup" });
  const refused = h("p", { class: "notice bad", role: "alert", hidden: !notice }, notice);
  const start = h("button", { type: "submit", class: "primary", id: "start" }, "Begin");
  const form = h("form", { class: "setup", onsubmit: (event) => submit(event) }, refused, h("fieldset", {}, h("legend", {}, "Game"), row("Game", game), other, about), rest, h("div", {}, start));
  let wish = () => ({});

  async function choose() {
    other.hidden = game.value !== "";
    const name = game.value || other.value.trim();
    if (!name) return;
    try {
      const choices = await ask("/api/play/opponents", { game: name });
      refused.hidden = true;
      say(about, choices.about);
      wish = fields(rest, name, choices, address);
    } catch (refusal) {
      tell(refusal);
      rest.replaceChildren();
    }
  }

  function tell(refusal) {
    refused.textContent = refusal.message;
    refused.hidden = false;
  }

  async function submit(event) {
    event.preventDefault();
    start.disabled = true;
    try {
      enter(await write("/api/play/start", wish()));
    } catch (refusal) {
      tell(refusal);
    }
    start.disabled = false;
  }

  fill(h("h1", {}, "Play"), h("p", { class: "lead" }, "You against a bot, a policy from this folder or a champion. The match is saved as a replay and can be looked into afterwards."), form);
  await choose();
}

function fields(rest, game, choices, address) {
  const seats = h("select", { id: "seats", onchange: () => arrange() }, choices.seats.map((count) => h("option", { value: count }, String(count))));
  const own = h("select", { id: "seat" });
  const opponents = h("div", { class: "setup" });
  const temperature = range("temperature", 0.1, 3, 0.1, 1);
  const handicap = range("handicap", 0, 1, 0.05, 0, (value) => `${Math.round(value * 100)} %`);
  const greedy = check("greedy", "Always its likeliest move (no sampling)");
  const hints = check("hints", "Hints: the policy's likeliest moves with their probabilities", true);
  const undo = check("undo", "Moves can be taken back", !choices.clocked);
  const give = check("give", "Give the game to the live learner (played as it is, without moves taken back)");

  function arrange() {
    const count = Number(seats.value);
    own.replaceChildren(...Array.from({ length: count }, (_, at) => h("option", { value: at }, `seat ${at}${at === 0 ? " (first)" : ""}`)), h("option", { value: "any" }, "by chance"));
    opponents.replaceChildren(...Array.from({ length: count - 1 }, (_, at) => row(count > 2 ? `Opponent ${at + 1}` : "Opponent", players(choices, count, at, address.get("opponent")))));
  }

  rest.replaceChildren(
    h("fieldset", {}, h("legend", {}, "Who plays"), choices.seats.length > 1 ? row("Seats", seats) : null, row("You take", own), opponents),
    h("fieldset", {}, h("legend", {}, "Strength"), row("Temperature of a policy", temperature.input, temperature.output), greedy.label, row("Random moves instead of its own", handicap.input, handicap.output)),
    h("fieldset", {}, h("legend", {}, "Help"), hints.label, undo.label, choices.live.length ? give.label : null),
  );
  arrange();
  if (address.get("seat")) own.value = address.get("seat");
  return () => {
    const words = [...opponents.querySelectorAll("select")].map((one) => one.value);
    const at = own.value === "any" ? Math.floor(Math.random() * (words.length + 1)) : Number(own.value);
    words.splice(at, 0, HUMAN);
    return { game, seats: words, temperature: Number(temperature.input.value), handicap: Number(handicap.input.value), greedy: greedy.input.checked, hints: hints.input.checked, undo: undo.input.checked, give: give.input.checked };
  };
}

function players(choices, count, at, wanted) {
  const group = (label, words, prefix = "") => (words.length ? h("optgroup", { label }, words.map((word) => h("option", { value: prefix + word }, word))) : null);
  const bots = [...choices.bots].reverse();
  const select = h("select", { class: "opponent", "aria-label": `Opponent ${at + 1}` }, group("Champion", choices.champions[count] ?? []), group("Policies in this folder", choices.policies[count] ?? []), group("Live learners", choices.live, "live:"), group("Bots", bots));
  if (wanted) select.value = wanted;
  return select;
}

function row(name, ...controls) {
  return h("label", {}, h("span", {}, name), ...controls);
}

function range(id, low, high, step, value, words = (number) => number.toFixed(1)) {
  const output = h("output", { for: id }, words(value));
  const input = h("input", { type: "range", id, min: low, max: high, step, value, oninput: () => say(output, words(Number(input.value))) });
  return { input, output };
}

function check(id, words, checked = false) {
  const input = h("input", { type: "checkbox", id, checked });
  return { input, label: h("label", { class: "check" }, input, h("span", {}, words)) };
}
