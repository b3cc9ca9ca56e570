// A live bot: who plays and why, what is tested, how it fares; promote and roll back.

import { announce, fill, h, pageData, say } from "./dom.js";
import { UNKNOWN, count, estimate } from "./format.js";
import { contents, update } from "./sections.js";
import { Refusal, ask, dialog, follow, write } from "./server.js";
import { badge, setBadge } from "./state.js";

const first = pageData();
const { line } = first;
const id = line.id;
let serial = null;

const state = badge(line.state);
const words = h("div", { class: "headline" });
const answer = h("p", { class: "notice", role: "status", hidden: true });
const trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
const policies = h("tbody");
const changes = h("tbody");
const health = h("div", { class: "slot" }, h("p", { class: "lead waiting" }, "Looking at spool and learner…"));
const sections = h("div", { class: "slot" });
const links = h("nav", { class: "contents", "aria-label": "Sections" });

function table(columns, body, label) {
  const cells = columns.map(([name, number, wide]) => h("th", { scope: "col", class: `${number ? "number" : ""}${wide ? " wide-only" : ""}` || false }, name));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "wide" }, h("thead", {}, h("tr", {}, cells)), body));
}

fill(
  h("p", { class: "crumbs" }, h("a", { href: "/live" }, "Live bots"), " / ", line.name),
  h("div", { class: "title" }, h("h1", {}, line.name), h("span", { class: "quiet-text" }, "learner"), state),
  trouble,
  answer,
  words,
  links,
  h("section", { id: "policies" }, h("h2", {}, "Policies"), table([["policy"], ["role"], ["updates", 1, 1], ["games", 1], ["won", 1, 1], ["drawn", 1, 1], ["lost", 1, 1], ["score", 1], [""]], policies, "Policies")),
  h("section", { id: "health" }, h("h2", {}, "Spool and learner"), health),
  sections,
  h("section", { id: "history" }, h("h2", {}, "History"), table([["change", 1], ["time"], ["stable"], ["beside it"], ["reason"]], changes, "History")),
);

const short = (digest) => digest.slice(0, 12);

function who(view) {
  const stable = short(view.stable);
  const second = [view.candidate, ...view.others].filter(Boolean).map(short);
  if (!second.length) return `${stable} plays alone.`;
  const share = `${Math.round(view.share * 100)} %`;
  if (view.watched) return `${stable} is new and watched; ${second.join(", ")}, stable before, plays ${share} of the games.`;
  return `${stable} plays; on trial in ${share} of the games: ${second.join(", ")}.`;
}

async function change(verb, digest) {
  const promoting = verb === "promote";
  const title = promoting ? `Promote ${short(digest)}?` : `Roll back to ${short(digest)}?`;
  const field = h("input", { type: "text", maxlength: "200", placeholder: "Why (optional)", "aria-label": "Why (optional)" });
  const content = [h("p", {}, "All bots of this folder play it from their next game on, and a trial that runs ends. It is written into the history."), promoting ? h("p", {}, "The gate has not decided this: you do.") : null];
  const seenSerial = serial;
  const why = await dialog(title, content.filter(Boolean), promoting ? "Promote" : "Roll back", field);
  if (why === null) return;
  try {
    const done = await write("/api/live/change", { id, verb, digest, serial: seenSerial, reason: why });
    tell(`Done: ${short(done.stable)} plays from the next game on (change ${done.serial}).`);
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    tell(refusal.message);
  }
}

function tell(sentence) {
  answer.hidden = false;
  say(answer, sentence);
}

function actions(policy, view, once) {
  if (policy.role === "stable" || policy.trouble) return null;
  if (policy.role === "on trial") return h("button", { type: "button", onclick: () => change("promote", policy.digest) }, "Promote");
  if (once.has(policy.digest)) return h("button", { type: "button", onclick: () => change("roll_back", policy.digest) }, "Roll back to this");
  return null;
}

function take(data) {
  trouble.hidden = !data.error;
  if (data.error) {
    say(trouble, data.error);
    return;
  }
  const { view } = data;
  setBadge(state, data.line.state);
  if (serial !== null && serial !== view.serial) announce(who(view));
  serial = view.serial;
  words.replaceChildren(...[who(view), ...data.headline].map((sentence) => h("p", {}, sentence)));
  const once = new Set(view.history.flatMap((one) => [one.stable, one.before]));
  const shown = view.policies.filter((policy) => policy.role || once.has(policy.digest)).slice(0, 12);
  replace(policies, shown, (policy) =>
    h(
      "tr",
      { "data-digest": policy.digest },
      h("td", {}, h("code", { title: policy.digest }, short(policy.digest))),
      h("td", {}, policy.role ? badge(policy.role) : null, policy.trouble ? h("span", { class: "quiet-text" }, ` ${policy.trouble}`) : null),
      h("td", { class: "number wide-only" }, count(policy.step)),
      h("td", { class: "number" }, count(policy.games)),
      ...[policy.wins, policy.draws, policy.losses].map((value) => h("td", { class: "number wide-only" }, policy.games === null ? UNKNOWN : count(value))),
      h("td", { class: "number" }, estimate(policy.score)),
      h("td", { class: "number" }, actions(policy, view, once)),
    ),
  );
  replace(changes, [...view.history].reverse(), (one) =>
    h(
      "tr",
      {},
      h("td", { class: "number" }, String(one.serial)),
      h("td", {}, one.at ? new Date(one.at * 1000).toLocaleString("sv-SE") : UNKNOWN),
      h("td", {}, h("code", {}, short(one.stable))),
      h("td", {}, h("code", {}, [one.candidate, ...one.others].filter(Boolean).map(short).join(", ") || UNKNOWN)),
      h("td", {}, one.reason),
    ),
  );
  update(sections, data.sections.filter((section) => section.anchor !== "policies-in-service"));
  links.replaceChildren(...contents([{ anchor: "policies", title: "Policies" }, { anchor: "health", title: "Spool and learner" }, ...data.sections.filter((section) => section.anchor !== "policies-in-service"), { anchor: "history", title: "History" }]));
}

/** Replace rows only where they changed, so that a button keeps the focus. */
function replace(body, items, make) {
  const text = JSON.stringify(items);
  if (body.text === text) return;
  body.text = text;
  const focused = document.activeElement?.closest?.("tr")?.dataset.digest;
  body.replaceChildren(...items.map(make));
  if (focused) body.querySelector(`tr[data-digest="${CSS.escape(focused)}"] button`)?.focus();
}

async function examine() {
  let wait = 20;
  try {
    const checkup = await ask("/api/live/health", { id });
    wait = checkup.again_in;
    const rows = checkup.findings.map((one) => h("tr", {}, h("td", {}, h("span", { class: `badge ${one.gravity === "doubt" ? "warn" : "bad"}` }, one.name.replaceAll("_", " "))), h("td", {}, `${one.sentence} ${one.meaning}`), h("td", {}, one.remedy)));
    const body = h("tbody", {}, rows);
    health.replaceChildren(
      rows.length ? table([["finding"], ["what is the case"], ["remedy"]], body, "Findings") : h("p", {}, h("span", { class: "badge good" }, "healthy"), " The doctor finds nothing wrong."),
      h("details", {}, h("summary", {}, "What was looked at"), h("ul", {}, checkup.facts.map((fact) => h("li", {}, fact)))),
    );
  } catch (refusal) {
    health.replaceChildren(h("p", { class: "lead" }, refusal.message));
  }
  setTimeout(examine, 1000 * Math.max(5, wait));
}

take(first);
follow("/events/live", { id }, take);
examine();
