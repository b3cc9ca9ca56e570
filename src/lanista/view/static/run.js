// One run while it goes on and after: how it stands, and the report's sections, kept up to date.

import { announce, fill, h, pageData, say } from "./dom.js";
import { UNKNOWN, count, duration, estimate } from "./format.js";
import { contents, facts, update } from "./sections.js";
import { ask, follow } from "./server.js";
import { KINDS, MEANINGS, badge, bar, leftText, setBadge, setBar } from "./state.js";

let { line } = pageData();
const id = line.id;
const seen = { learning: 0, strength: -1 };
const shown = { evaluation: [], strength: [], learning: [] };

const state = badge(line.state);
const means = h("span", { class: "quiet-text" });
const progress = bar(line.progress);
const head = h("dl", { class: "facts" });
const words = h("div", { class: "headline" });
const links = h("nav", { class: "contents", "aria-label": "Sections" });
const trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
const offline = h("p", { class: "notice", hidden: true }, "The server does not answer; this page tries again.");
const stages = h("p", { class: "stages" });
const evaluation = h("div", { class: "slot" });
const strength = h("div", { class: "slot", "aria-live": "off" }, h("p", { class: line.evaluations ? "lead waiting tall" : "lead waiting" }, "Counting matches…"));
const learning = h("div", { class: "slot" });

fill(
  h("p", { class: "crumbs" }, h("a", { href: "/" }, "Runs"), " / ", line.name),
  h("div", { class: "title" }, h("h1", {}, line.name), state, means),
  trouble,
  offline,
  stages,
  head,
  progress,
  words,
  h("p", { class: "controls" }, h("a", { class: "button", href: `/report?id=${encodeURIComponent(id)}`, target: "_blank", rel: "noopener" }, "Report"), h("a", { class: "button", href: `/compare?id=${encodeURIComponent(line.run || id)}` }, "Compare"), h("a", { class: "button", href: `/matches?place=${encodeURIComponent(line.run || id)}` }, "Matches")),
  links,
  evaluation,
  strength,
  learning,
);

function head_(next) {
  if (next.state !== line.state) announce(`${next.name} is ${next.state} now.`);
  line = next;
  setBadge(state, line.state);
  say(means, line.state === "running" ? "" : MEANINGS[line.state] ?? "");
  setBar(progress, line.progress);
  progress.hidden = line.progress === null || line.progress === undefined;
  trouble.hidden = !line.error;
  say(trouble, line.error || "");
  document.title = `${line.state === "running" ? "● " : ""}${line.name} · Lanista`;
  const against = line.score && (line.score.against === "NashConv" ? "NashConv" : `Score against ${line.score.against}`);
  facts(head, [
    ["Game", line.game || UNKNOWN],
    ["Update", line.total ? `${count(line.update)} of ${count(line.total)}` : UNKNOWN],
    ["Left", leftText(line)],
    ["Decisions", count(line.decisions)],
    ["Decisions / CPU s", count(line.per_cpu_second)],
    ["CPU time", duration(line.cpu_seconds)],
    [against || "Lowest score", estimate(line.score)],
  ]);
  showStages();
}

function showStages() {
  if (!line.stages) {
    stages.hidden = true;
    return;
  }
  const parts = line.stages.map((stage) => {
    const now = stage.name === line.stage;
    const mark = stage.done ? "✓ " : now ? "▸ " : "";
    const state = stage.done ? "done" : now ? "now" : "to come";
    return h("span", { class: `stage${stage.done ? " done" : now ? " now" : ""}`, title: state }, `${mark}${stage.name}`);
  });
  const text = line.stages.map((stage) => `${stage.name}${stage.done}`).join() + line.stage;
  if (stages.text !== text) {
    stages.text = text;
    stages.replaceChildren(h("span", { class: "quiet-text" }, `${KINDS[line.kind]}: `), ...parts);
  }
}

async function renew(part, root) {
  try {
    const body = await ask("/api/run", { id, part });
    shown[part] = body.sections;
    root.querySelector(".waiting")?.remove();
    update(root, body.sections);
    if (part === "strength") {
      words.replaceChildren(...body.headline.map((sentence) => h("p", {}, sentence)));
      if (body.again_in > 0) setTimeout(() => renew(part, root), 1000 * body.again_in + 100);
    }
    links.replaceChildren(...contents([...shown.evaluation, ...shown.strength, ...shown.learning]));
    root.dataset.version = body.version;
  } catch (refusal) {
    const waiting = root.querySelector(".waiting") ?? h("p", { class: "lead waiting" });
    say(waiting, refusal.message);
    if (!waiting.isConnected && !root.children.length) root.append(waiting);
  }
}

function take(data) {
  offline.hidden = true;
  if (data.error) {
    trouble.hidden = false;
    say(trouble, data.error);
    return;
  }
  const ended = line.state === "running" && data.line.state === "finished";
  head_(data.line);
  if (ended) evaluated();
  if (data.learning !== seen.learning) {
    seen.learning = data.learning;
    renew("learning", learning);
  }
  if (data.line.evaluations !== seen.strength) {
    seen.strength = data.line.evaluations;
    renew("strength", strength);
  }
}

async function evaluated() {
  if (line.kind !== "pipeline") return;
  const body = await ask("/api/evaluation", { id });
  shown.evaluation = body.sections;
  update(evaluation, body.sections);
}

head_(line);
await evaluated();
seen.strength = line.evaluations;
renew("learning", learning);
renew("strength", strength);
follow("/events/run", { id }, take, () => {
  offline.hidden = false;
});
