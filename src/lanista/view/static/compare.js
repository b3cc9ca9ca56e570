// Runs side by side: what was set otherwise, curves, how each ended.

import { announce, fill, h, say } from "./dom.js";
import { contents, update } from "./sections.js";
import { ask, withQuery } from "./server.js";
import { badge } from "./state.js";

const AXES = { decisions: "Decisions", cpu_seconds: "CPU seconds", update: "Updates" };
const words = new URLSearchParams(location.search);
let ids = words.getAll("id");
let metric = words.get("metric") ?? "";
let axis = words.get("axis") ?? "decisions";

const picker = h("fieldset", { class: "picker" }, h("legend", {}, "Runs"));
const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter runs", oninput: () => narrow() });
const all = h("button", { type: "button", onclick: () => chooseShown() }, "Choose all shown");
const experiment = h("select", { "aria-label": "Choose an experiment", onchange: () => chooseFolder() }, h("option", { value: "" }, "An experiment…"));
const number = h("select", { "aria-label": "Number to compare", onchange: () => choose({ metric: number.value }) });
const axes = h("div", { class: "segments", role: "group", "aria-label": "Drawn against" });
const trouble = h("p", { class: "notice", role: "alert", hidden: true });
const links = h("nav", { class: "contents", "aria-label": "Sections" });
const result = h("div", { class: "slot" });
const controls = h("div", { class: "controls", hidden: true }, h("label", {}, "Number ", number), axes);

for (const [key, title] of Object.entries(AXES)) {
  axes.append(h("button", { type: "button", "data-axis": key, onclick: () => choose({ axis: key }) }, title));
}

const { runs } = await ask("/api/runs");

const choices = runs.filter((line) => line.kind === "run");
const experiments = folders(choices.map((line) => line.id));
experiment.append(...experiments.map(([name, size]) => h("option", { value: name }, `${name} (${size} runs)`)));
if (!choices.length) picker.append(h("p", { class: "lead" }, "There are no runs here yet; they appear once one has begun."));
for (const line of choices) {
  const box = h("input", {
    type: "checkbox",
    value: line.id,
    checked: ids.includes(line.id),
    onchange: () => choose({ ids: chosen() }),
  });
  picker.append(h("label", { "data-text": `${line.name} ${line.game}`.toLowerCase() }, box, " ", h("span", {}, line.name), " ", badge(line.state)));
}

fill(
  h("h1", {}, "Compare"),
  h("p", { class: "lead" }, "Choose two to twenty runs. Runs whose settings differ in nothing but the seed are drawn as one, with a band over seeds."),
  h("details", { open: ids.length < 2, class: "choose-runs" }, h("summary", {}, "Choose runs"), h("div", { class: "controls" }, experiments.length ? experiment : null, filter, all), picker),
  trouble,
  controls,
  links,
  result,
);

function choose(change) {
  if (change.metric !== undefined) metric = change.metric;
  if (change.axis !== undefined) axis = change.axis;
  if (change.ids !== undefined) ids = change.ids;
  history.replaceState(null, "", withQuery("/compare", { id: ids, metric: metric || null, axis }));
  compare();
}

let latest = 0;

async function compare() {
  const question = (latest += 1);
  for (const button of axes.children) button.setAttribute("aria-pressed", String(button.dataset.axis === axis));
  if (ids.length < 2) {
    controls.hidden = true;
    trouble.hidden = true;
    links.replaceChildren();
    update(result, []);
    return;
  }
  try {
    const body = await ask("/api/compare", { id: ids, metric: metric || null, axis });
    if (question !== latest) return; // Something else was asked for meanwhile.
    trouble.hidden = true;
    controls.hidden = false;
    if ([...number.options].map((option) => option.value).join() !== body.metrics.join()) {
      number.replaceChildren(...body.metrics.map((name) => h("option", { value: name }, name)));
    }
    number.value = body.metric;
    update(result, body.sections);
    links.replaceChildren(...contents(body.sections));
    announce(`${ids.length} runs compared by ${body.metric}.`);
  } catch (refusal) {
    if (question !== latest) return;
    if (metric) {
      metric = "";
      compare();
      return;
    }
    trouble.hidden = false;
    say(trouble, refusal.message);
  }
}

function narrow() {
  const text = filter.value.toLowerCase();
  for (const label of picker.querySelectorAll("label")) label.hidden = !label.dataset.text.includes(text);
}

/** Return the folders that hold two runs or more, each with how many: an experiment is such a folder. */
function folders(places) {
  const sizes = new Map();
  for (const place of places) {
    const names = place.split("/");
    for (let depth = 1; depth < names.length; depth += 1) {
      const folder = names.slice(0, depth).join("/");
      sizes.set(folder, (sizes.get(folder) ?? 0) + 1);
    }
  }
  return [...sizes].filter(([, size]) => size > 1).sort();
}

function chooseFolder() {
  if (!experiment.value) return;
  for (const box of picker.querySelectorAll("input")) box.checked = box.value.startsWith(`${experiment.value}/`);
  choose({ ids: chosen() });
}

function chooseShown() {
  for (const label of picker.querySelectorAll("label:not([hidden])")) label.querySelector("input").checked = true;
  choose({ ids: chosen() });
}

function chosen() {
  return [...picker.querySelectorAll("input:checked")].map((one) => one.value);
}

compare();
