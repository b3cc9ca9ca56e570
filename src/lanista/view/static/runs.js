// Every run, pipeline and live bot below the folder: sorted, filtered, and kept up to date.

import { announce, fill, h, pageData, say } from "./dom.js";
import { UNKNOWN, ago, count, estimate } from "./format.js";
import { follow } from "./server.js";
import { KINDS, badge, bar, leftText, pageOf, progressText, setBadge, setBar } from "./state.js";

const COLUMNS = [
  { key: "name", title: "Run", words: true, value: (line) => line.name },
  { key: "state", title: "State", words: true, value: (line) => ORDER.indexOf(line.state) },
  { key: "game", title: "Game", words: true, value: (line) => line.game, wide: true },
  { key: "stage", title: "Stage", words: true, value: (line) => line.stage ?? "", wide: true },
  { key: "progress", title: "Progress", words: true, value: (line) => line.progress ?? -1 },
  { key: "left", title: "Left", value: (line) => (line.state === "running" ? line.seconds_left : null) ?? Infinity },
  { key: "speed", title: "Decisions / CPU s", value: (line) => line.per_cpu_second ?? -1, wide: true },
  { key: "score", title: "Lowest score", value: (line) => line.score?.value ?? -1 },
  { key: "changed", title: "Changed", value: (line) => -line.changed, wide: true },
];
const ORDER = ["running", "crashed", "unreadable", "stopped", "finished"];

const rows = new Map();
const chosen = new Set();
let lines = [];
let sorting = { key: "state", down: false };

const body = h("tbody");
const heads = COLUMNS.map((column) =>
  h(
    "th",
    { scope: "col", class: `${column.words ? "" : "number"}${column.wide ? " wide-only" : ""}`.trim() || false },
    h("button", { type: "button", onclick: () => sortBy(column.key) }, column.title),
  ),
);
const search = h("input", { type: "search", placeholder: "Filter by name or game", "aria-label": "Filter by name or game", class: "grow", oninput: () => arrange() });
const states = h("select", { "aria-label": "State", onchange: () => arrange() }, h("option", { value: "" }, "All states"), ORDER.map((state) => h("option", { value: state }, state)));
const compare = h("a", { class: "button", href: "/compare", role: "button" }, "Compare");
const summary = h("p", { class: "lead", id: "summary" });
const nothing = h("p", { class: "lead", hidden: true }, "Nothing here fits the filter.");
const table = h(
  "div",
  { class: "scroll" },
  h("table", { class: "wide runs" }, h("caption", { class: "visually-hidden" }, "Runs"), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "Choose")), heads)), body),
);
const list = [h("div", { class: "controls" }, search, states, compare), table, nothing];

function sortBy(key) {
  sorting = { key, down: sorting.key === key && !sorting.down };
  arrange();
}

function row(line) {
  const choose = h("input", {
    type: "checkbox",
    "aria-label": `Compare ${line.name}`,
    disabled: line.kind === "live",
    onchange: (event) => {
      if (event.target.checked) chosen.add(line.id);
      else chosen.delete(line.id);
      offer();
    },
  });
  const cells = {
    name: h("a", { href: pageOf(line) }, line.name),
    kind: h("span", { class: "quiet-text" }),
    state: badge(line.state),
    bar: bar(line.progress),
    progress: h("span", { class: "quiet-text" }),
    against: h("span", { class: "quiet-text" }),
  };
  const texts = { game: h("td", { class: "wide-only" }), stage: h("td", { class: "wide-only" }), left: h("td", { class: "number left" }), speed: h("td", { class: "number wide-only" }), score: h("span"), changed: h("td", { class: "number wide-only" }) };
  const element = h(
    "tr",
    {},
    h("td", { class: "choose" }, choose),
    h("td", { class: "name" }, cells.name, " ", cells.kind),
    h("td", {}, cells.state),
    texts.game,
    texts.stage,
    h("td", { class: "progress" }, cells.bar, cells.progress),
    texts.left,
    texts.speed,
    h("td", { class: "number score" }, texts.score, h("br"), " ", cells.against),
    texts.changed,
  );
  return { element, cells, texts };
}

function refresh(shown, line) {
  const { cells, texts } = shown;
  say(cells.kind, line.kind === "run" ? "" : KINDS[line.kind]);
  setBadge(cells.state, line.state);
  if (line.error) cells.state.title = line.error;
  setBar(cells.bar, line.progress);
  cells.bar.hidden = line.progress === null || line.progress === undefined;
  say(cells.progress, line.total && line.kind === "run" ? `${count(line.update)} of ${count(line.total)}` : progressText(line));
  say(texts.game, line.game || UNKNOWN);
  say(texts.stage, line.stage || (line.kind === "pipeline" && line.state === "finished" ? "all done" : UNKNOWN));
  say(texts.left, leftText(line));
  texts.left.classList.toggle("unknown", leftText(line) === UNKNOWN);
  say(texts.speed, count(line.per_cpu_second));
  say(texts.score, estimate(line.score));
  say(cells.against, line.score ? (line.score.against === "NashConv" ? "NashConv" : `against ${line.score.against}`) : "");
  say(texts.changed, ago(line.changed));
}

function offer() {
  const several = chosen.size >= 2;
  say(compare, several ? `Compare ${chosen.size}` : "Compare");
  const words = new URLSearchParams([...chosen].map((id) => ["id", id]));
  compare.href = several ? `/compare?${words}` : "/compare";
}

function arrange() {
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const column = COLUMNS.find((one) => one.key === sorting.key);
  const fits = (line) => (!states.value || line.state === states.value) && words.every((word) => `${line.name} ${line.game} ${line.kind}`.toLowerCase().includes(word));
  const ordered = lines.filter(fits).sort((one, other) => {
    const [a, b] = [column.value(one), column.value(other)];
    const by = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
    return (sorting.down ? -by : by) || other.changed - one.changed || one.name.localeCompare(other.name, "en", { numeric: true });
  });
  heads.forEach((head, at) => {
    const active = COLUMNS[at].key === sorting.key;
    if (active) head.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  const wanted = ordered.map((line) => rows.get(line.id).element);
  const there = [...body.children];
  if (wanted.length !== there.length || wanted.some((element, at) => element !== there[at])) {
    const focused = document.activeElement;
    body.replaceChildren(...wanted);
    if (focused && body.contains(focused)) focused.focus();
  }
  nothing.hidden = wanted.length > 0;
}

function take(data) {
  const before = new Map(lines.map((line) => [line.id, line.state]));
  lines = data.runs;
  if (!lines.length) {
    fill(h("h1", {}, "Runs"), empty(data.folder));
    return;
  }
  const ids = new Set(lines.map((line) => line.id));
  for (const id of rows.keys()) if (!ids.has(id)) rows.delete(id);
  for (const line of lines) {
    if (!rows.has(line.id)) rows.set(line.id, row(line));
    refresh(rows.get(line.id), line);
    const old = before.get(line.id);
    if (old && old !== line.state) announce(`${line.name} is ${line.state} now.`);
  }
  const running = lines.filter((line) => line.state === "running").length;
  say(summary, `${lines.length === 1 ? "1 entry" : `${lines.length} entries`} below ${data.folder}; ${running || "none"} running.`);
  if (!table.isConnected) fill(h("h1", {}, "Runs"), summary, ...list);
  arrange();
}

function empty(folder) {
  return h(
    "div",
    { class: "empty" },
    h("h2", {}, "There are no runs here yet"),
    h("p", {}, "Runs below ", h("code", {}, folder), " appear on this page as soon as they begin. To begin one, from that folder:"),
    h("pre", {}, "lanista run beastybar-quick --output-dir demo"),
    h("p", {}, "or, for a run of half a minute:"),
    h("pre", {}, "lanista rl --game kuhn --iterations 200 --output kuhn.safetensors"),
    h("p", { class: "lead" }, "This page notices by itself. If your runs are elsewhere, start ", h("code", {}, "lanista view FOLDER"), " with their folder."),
  );
}

take(pageData());
offer();
follow("/events/runs", {}, (data) => !data.error && take(data));
