// One match, forwards and backwards: the board, what the seat saw, what a policy thinks, mistakes.

import { boardFrame } from "../boards/board.js";
import { onlooker } from "../boards/parts.js";
import { announce, fill, h } from "../dom.js";
import { ask } from "../server.js";
import { chart } from "./chart.js";
import { Film } from "./film.js";
import { likely, percent, signed, worth } from "./opinions.js";

const PACE = 900;
const address = new URLSearchParams(location.search);
const query = { place: address.get("place"), match: address.get("match") || 0, eyes: address.get("eyes") || "0", policy: address.get("policy") || "auto" };
const page = { at: Number(address.get("step")) || 0, playing: false, judged: new Map(), film: null };
const frame = boardFrame();
const parts = {
  slider: h("input", { type: "range", min: 0, value: 0, "aria-label": "Step", oninput: () => go(Number(parts.slider.value)) }),
  play: h("button", { type: "button", onclick: () => toggle(), "aria-label": "Play" }, "▶"),
  where: h("span", { class: "quiet-text", role: "status" }),
  decisions: h("div", {}),
  moves: h("ol", { class: "moves", "aria-label": "Moves" }),
  mistakes: h("ol", { class: "mistakes", "aria-label": "Worst mistakes" }),
  chart: h("div", {}),
};
let drawing = { at: () => {} };

open();

async function open() {
  stop();
  try {
    const film = await new Film(query).open();
    page.at = Math.min(page.at, film.about.steps - 1);
    await film.step(page.at);
    page.film = film;
  } catch (refusal) {
    fill(h("h1", {}, "This match cannot be shown"), h("p", { class: "notice bad" }, refusal.message), h("p", {}, h("a", { href: "/matches" }, "All matches")));
    return;
  }
  page.judged = new Map();
  lay();
  await go(page.at);
}

function lay() {
  const { about } = page.film;
  parts.slider.max = about.steps - 1;
  const step = (words, label, action) => h("button", { type: "button", "aria-label": label, onclick: action }, words);
  document.title = `${about.players.join(" – ")} · ${about.game} · Lanista`;
  fill(
    h("p", {}, h("a", { href: `/matches?place=${encodeURIComponent(query.place)}` }, query.place)),
    h("h1", {}, about.players.join(" – ")),
    h("p", { class: "lead" }, `${about.game}, match ${query.match}${about.source ? `, source ${about.source}` : ""}. `, h("span", { class: "result" }, result(about))),
    h("div", { class: "controls" }, eyesChoice(about), policyChoice(about)),
    h(
      "div",
      { class: "match" },
      h("div", {}, frame.element,
        h("div", { class: "transport", role: "group", "aria-label": "Steps" }, step("«", "First step", () => go(0)), step("‹", "Previous step", () => go(page.at - 1)), parts.play, step("›", "Next step", () => go(page.at + 1)), step("»", "Last step", () => go(about.steps - 1)), parts.slider, parts.where),
        h("p", { class: "keys" }, h("kbd", {}, "←"), " ", h("kbd", {}, "→"), " step, ", h("kbd", {}, "Home"), " ", h("kbd", {}, "End"), ", ", h("kbd", {}, "Space"), " play, ", h("kbd", {}, "M"), " next mistake"),
        parts.chart),
      h("div", { class: "side" }, h("section", {}, parts.decisions), h("section", {}, h("h2", {}, "Worst mistakes"), parts.mistakes, judgeAll(about)), h("section", {}, h("h2", {}, "Moves"), parts.moves)),
    ),
  );
  refreshLists();
}

function refreshLists() {
  const { about } = page.film;
  drawing = chart(about, page.judged, (step) => go(step));
  parts.chart.replaceChildren(drawing.element);
  drawing.at(page.at);
  parts.moves.replaceChildren(...about.decisions.slice(0, 3000).map((one) => h("li", {}, h("button", { type: "button", class: `seat-${one.seat}`, "data-step": one.step, onclick: () => go(one.step) }, h("span", { class: "turn" }, String(one.step + 1)), h("span", { class: "who", role: "img", "aria-label": `seat ${one.seat}` }), h("span", { class: "words" }, one.words ?? "hidden")))));
  const worst = mistakes();
  parts.mistakes.replaceChildren(...(worst.length ? worst.map((one) => h("li", {}, h("button", { type: "button", onclick: () => go(one.step) }, h("span", { class: "turn" }, String(one.step + 1)), h("span", {}, `seat ${one.seat}: ${one.words}${one.best ? `; the policy likes ${one.best}` : ""}`), h("span", { class: "price" }, price(one))))) : [h("li", { class: "quiet-text" }, "None is known. Choose a policy above, or judge moves one by one.")]));
}

function mistakes() {
  const judged = [...page.judged.values()].filter((one) => one.cost > 0).sort((a, b) => b.cost - a.cost);
  const seen = new Set(judged.map((one) => `${one.step}:${one.seat}`));
  return [...judged, ...page.film.about.mistakes.filter((one) => !seen.has(`${one.step}:${one.seat}`))].slice(0, 12);
}

function price(one) {
  if (one.cost !== null && one.cost !== undefined) return `−${one.cost.toFixed(2)}`;
  return one.probability === null ? "" : percent(one.probability);
}

function result(about) {
  if (about.cut_off) return "It was broken off.";
  const first = about.places.map((place, seat) => (place === 1 ? seat : -1)).filter((seat) => seat >= 0);
  const scores = about.score.map((score) => Number(score.toFixed(1))).join(" : ");
  return first.length === 1 ? `Seat ${first[0]} (${about.players[first[0]]}) wins, ${scores}.` : `Seats ${first.join(" and ")} share the first place, ${scores}.`;
}

function eyesChoice(about) {
  if (!about.hidden) return h("span", { class: "quiet-text" }, "Nothing is hidden in this game.");
  const seats = about.players.map((name, seat) => ({ value: String(seat), words: `as seat ${seat} saw it` }));
  const options = [...seats, { value: "none", words: "what everybody saw" }, { value: "all", words: "with hidden information" }];
  return h("label", {}, "Shown ", h("select", { id: "eyes", onchange: (event) => change("eyes", event.target.value) }, options.map((one) => h("option", { value: one.value, selected: one.value === query.eyes }, one.words))));
}

function policyChoice(about) {
  const options = [{ value: "auto", words: "by who played, or the champion" }, { value: "none", words: "by nobody" }, ...about.policies.map((word) => ({ value: word, words: `by ${word}` }))];
  return h("label", {}, "Judged ", h("select", { id: "policy", onchange: (event) => change("policy", event.target.value) }, options.map((one) => h("option", { value: one.value, selected: one.value === query.policy }, one.words))));
}

function change(name, value) {
  query[name] = value;
  address.set(name, value);
  history.replaceState(null, "", `?${address}`);
  open();
}

async function go(step) {
  const last = page.film.about.steps - 1;
  page.at = Math.max(0, Math.min(last, step));
  const wanted = page.at;
  const here = page.film.here(wanted) || (await page.film.step(wanted));
  if (wanted !== page.at || !here) return;
  show(here);
  page.film.step(wanted);
}

function look(step) {
  const seat = page.film.about.eyes.length === 1 ? page.film.about.eyes[0] : null;
  const actions = {};
  for (const decision of step.decisions) if (decision.action) actions[decision.seat] = decision.action;
  return { ...onlooker(page.film.about.players, seat), actions };
}

function show(step, share = 0) {
  const next = page.film.here(page.at + 1);
  frame.update(step.scene, look(step), next?.scene, share);
  parts.slider.value = page.at;
  parts.where.textContent = `${page.at + 1} of ${page.film.about.steps}`;
  drawing.at(page.at);
  decide(step);
  mark();
}

function mark() {
  parts.moves.querySelectorAll("[aria-current]").forEach((one) => one.removeAttribute("aria-current"));
  const current = parts.moves.querySelector(`[data-step="${page.at}"]`);
  if (!current) return;
  current.setAttribute("aria-current", "step");
  const list = parts.moves;
  if (current.offsetTop < list.scrollTop + list.offsetTop || current.offsetTop > list.scrollTop + list.offsetTop + list.clientHeight - 30) list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
}

function decide(step) {
  if (!step.decisions.length) {
    parts.decisions.replaceChildren(h("h2", {}, "The end"), h("p", {}, result(page.film.about)));
    return;
  }
  parts.decisions.replaceChildren(...step.decisions.flatMap((one) => decisionPart(one)));
}

function decisionPart(one) {
  const { about } = page.film;
  const title = h("h2", {}, h("span", { class: `chip seat-${one.seat}` }, `Seat ${one.seat} · ${about.players[one.seat]}`));
  const played = h("p", {}, one.words ? ["Played: ", h("strong", {}, one.words)] : "What this seat saw and did is hidden.");
  if (!one.seen) return [title, played, h("p", { class: "quiet-text" }, "Its view is hidden; choose its eyes or all hidden information above.")];
  const known = about.decisions.find((other) => other.step === page.at && other.seat === one.seat);
  const isPlayed = (choice) => one.action.length === 1 ? choice.choice === one.action[0] : one.words.includes(choice.words);
  const value = one.value === null || one.value === undefined ? null : h("p", {}, `Value ${signed(one.value)}${known?.cost === null ? "" : `; by value the move cost ${known.cost.toFixed(2)}`}.`);
  return [
    title,
    played,
    one.choices ? [h("h3", {}, `What ${about.judges[one.seat]} would do`), likely(one.choices, isPlayed)] : null,
    value,
    judging(one),
    h("details", { open: innerWidth > 900 && page.film.here(page.at)?.decisions.length === 1 }, h("summary", {}, "What the seat saw"), h("dl", { class: "seen" }, one.seen.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]))),
  ].flat().filter(Boolean);
}

function judging(one) {
  const { about } = page.film;
  const key = `${page.at}:${one.seat}`;
  const judged = page.judged.get(key);
  if (judged) return h("div", {}, h("h3", {}, "What the moves were worth"), worth(judged.judgement));
  if (about.unjudged) return about.judges[one.seat] ? h("p", { class: "quiet-text" }, `Moves cannot be judged one by one: ${about.unjudged}.`) : null;
  const place = h("div", {});
  const button = h("button", { type: "button", onclick: () => judge(one, place, button) }, "Judge the moves");
  place.append(button);
  return place;
}

async function judge(one, place, button) {
  button.disabled = true;
  button.textContent = "Judging…";
  try {
    await judged(page.at, one);
    announce("The moves are judged.");
  } catch (refusal) {
    place.replaceChildren(h("p", { class: "notice bad" }, refusal.message));
  }
}

async function judged(at, one) {
  const film = page.film;
  const judgement = await ask("/api/match/judge", { ...query, step: at, seat: one.seat });
  if (film !== page.film) return;
  const value = Math.max(...judgement.moves.map((move) => move.value));
  const best = judgement.moves.find((move) => move.value === value);
  page.judged.set(`${at}:${one.seat}`, { step: at, seat: one.seat, words: one.words, cost: judgement.cost, value, best: best?.played ? null : best?.words, judgement });
  refreshLists();
  if (page.at === at) decide(page.film.here(at));
}

/** A button that judges every decision of the match that is seen, one after another. */
function judgeAll(about) {
  const open = about.decisions.filter((one) => one.probability !== null);
  if (about.unjudged || !open.length) return null;
  const film = page.film;
  let going = false;
  const button = h("button", { type: "button", id: "judge-all", onclick: () => toggleAll() }, "Judge all moves");
  const note = h("span", { class: "quiet-text", role: "status" });
  async function toggleAll() {
    going = !going;
    button.textContent = going ? "Stop" : "Judge all moves";
    for (const [at, one] of open.entries()) {
      if (!going || film !== page.film) return;
      if (page.judged.has(`${one.step}:${one.seat}`)) continue;
      note.textContent = ` ${at + 1} of ${open.length}`;
      try {
        await judged(one.step, one);
      } catch (refusal) {
        note.textContent = ` ${refusal.message}`;
        break;
      }
    }
    if (going) button.textContent = "All moves are judged";
    button.disabled = going;
    going = false;
  }
  return h("p", {}, button, note);
}

function toggle() {
  if (page.playing) stop();
  else start();
}

function stop() {
  page.playing = false;
  parts.play.textContent = "▶";
  parts.play.setAttribute("aria-label", "Play");
}

function start() {
  page.playing = true;
  parts.play.textContent = "❚❚";
  parts.play.setAttribute("aria-label", "Pause");
  if (page.at >= page.film.about.steps - 1) page.at = 0;
  let since = performance.now();
  const turn = async (now) => {
    if (!page.playing) return;
    const step = page.film.here(page.at) || (await page.film.step(page.at));
    const pace = step.scene.kind === "arena" ? step.scene.step * 1000 : PACE;
    const share = (now - since) / pace;
    if (share >= 1) {
      if (page.at >= page.film.about.steps - 1) return stop();
      since = share > 3 ? now : since + pace;
      await go(page.at + 1);
    } else if (step.scene.kind === "arena") {
      frame.update(step.scene, look(step), page.film.here(page.at + 1)?.scene, share);
    }
    requestAnimationFrame(turn);
  };
  requestAnimationFrame(turn);
}

document.addEventListener("keydown", (event) => {
  if (!page.film || event.altKey || event.ctrlKey || event.metaKey) return;
  const tag = event.target.tagName;
  if (tag === "SELECT" || tag === "TEXTAREA" || (tag === "INPUT" && event.target.type !== "range")) return;
  const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
  if (event.key in moves) go(page.at + moves[event.key]);
  else if (event.key === "Home") go(0);
  else if (event.key === "End") go(page.film.about.steps - 1);
  else if (event.key === " " && tag !== "BUTTON" && tag !== "SUMMARY" && tag !== "A") toggle();
  else if (event.key.toLowerCase() === "m") nextMistake();
  else return;
  if (event.key.startsWith("Arrow") && page.playing) stop();
  event.preventDefault();
});

function nextMistake() {
  const steps = mistakes().map((one) => one.step).sort((a, b) => a - b);
  if (steps.length) go(steps.find((step) => step > page.at) ?? steps[0]);
}
