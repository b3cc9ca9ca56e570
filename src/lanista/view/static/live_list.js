// The live bots below the folder.

import { fill, h, pageData } from "./dom.js";
import { ago } from "./format.js";
import { badge, pageOf } from "./state.js";

const { bots } = pageData();

function list() {
  const rows = bots.map((line) =>
    h("tr", {}, h("td", {}, h("a", { href: pageOf(line) }, line.name)), h("td", {}, badge(line.state)), h("td", { class: "number" }, ago(line.changed))),
  );
  const head = h("tr", {}, h("th", { scope: "col" }, "Policy folder"), h("th", { scope: "col" }, "Learner"), h("th", { scope: "col", class: "number" }, "Last change"));
  return h("div", { class: "scroll" }, h("table", {}, h("thead", {}, head), h("tbody", {}, rows)));
}

function empty() {
  return h(
    "div",
    { class: "empty" },
    h("h2", {}, "There is no live bot here yet"),
    h("p", {}, "A policy folder appears here once a policy was published into it:"),
    h("pre", {}, "lanista policy publish bot/policy POLICY.safetensors"),
    h("p", {}, "or see a bot learn while it plays:"),
    h("pre", {}, "lanista live-demo"),
  );
}

fill(h("h1", {}, "Live bots"), bots.length ? list() : empty());
