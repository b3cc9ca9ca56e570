// The report's sections as a page that lives: what changed is changed in place, the rest stays.

import { forget, show } from "./charts.js";
import { h, say } from "./dom.js";

/** Make `root` show these sections; those that were there already keep their place. */
export function update(root, sections) {
  const before = new Map([...root.children].map((child) => [child.id, child]));
  let last = null;
  for (const section of sections) {
    const place = before.get(section.anchor) ?? make(section);
    before.delete(section.anchor);
    refresh(place, section);
    const next = last ? last.nextSibling : root.firstChild;
    if (next !== place) root.insertBefore(place, next);
    last = place;
  }
  for (const gone of before.values()) {
    forget(gone);
    gone.remove();
  }
}

/** Return links to sections. */
export function contents(sections) {
  return sections.map((section) => h("a", { href: `#${section.anchor}` }, section.title));
}

function make(section) {
  return h("section", { id: section.anchor, "aria-labelledby": `${section.anchor}-title` });
}

function refresh(place, section) {
  const text = JSON.stringify(section);
  if (place.text === text) return;
  place.text = text;
  const shape = section.elements.map((element) => element.kind).join() + Boolean(section.lead);
  if (place.shape !== shape) {
    place.shape = shape;
    forget(place);
    const elements = section.elements.map((element) => RENDERERS[element.kind].make(element));
    place.elements_ = elements;
    place.lead = section.lead ? h("p", { class: "lead" }, section.lead) : null;
    place.replaceChildren(h("h2", { id: `${section.anchor}-title` }, section.title), ...(place.lead ? [place.lead] : []), ...elements);
  }
  if (place.lead) say(place.lead, section.lead);
  section.elements.forEach((element, at) => RENDERERS[element.kind].set(place.elements_[at], element));
}

const RENDERERS = {
  chart: {
    make: () => h("figure", {}, h("div", { class: "scroll" }, h("div", { class: "chart", role: "img" })), h("figcaption")),
    set(node, element) {
      const place = node.querySelector(".chart");
      place.setAttribute("aria-label", element.says);
      if (element.least_width) place.style.minWidth = `${element.least_width}px`;
      say(node.querySelector("figcaption"), element.caption);
      show(place, element.figure);
    },
  },
  panels: {
    make: () => h("div", { class: "panels" }),
    set(node, element) {
      element.panels.forEach(([title, note, figure], at) => {
        let panel = node.children[at];
        if (!panel) {
          panel = h("div", { class: "panel" }, h("h3", {}, h("span"), " ", h("span", { class: "note" })), h("div", { class: "chart", role: "img" }));
          node.append(panel);
        }
        const [name, value] = panel.querySelectorAll("h3 > span");
        say(name, title);
        say(value, note);
        const chart = panel.querySelector(".chart");
        chart.setAttribute("aria-label", `${title}: ${note}`);
        show(chart, figure);
      });
      while (node.children.length > element.panels.length) {
        forget(node.lastChild);
        node.lastChild.remove();
      }
    },
  },
  table: {
    make: () => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", {}, h("thead"), h("tbody"))),
    set(node, element) {
      const [head, body] = [node.querySelector("thead"), node.querySelector("tbody")];
      const cells = (tag, row) => h("tr", {}, row.map((cell, at) => h(tag, { class: element.words.includes(at) ? false : "number", scope: tag === "th" ? "col" : false }, cell)));
      head.replaceChildren(cells("th", element.columns));
      body.replaceChildren(...element.rows.map((row) => cells("td", row)));
      node.setAttribute("aria-label", element.columns.join(", "));
    },
  },
  swatches: {
    make: () => h("p", { class: "swatches" }),
    set(node, element) {
      node.replaceChildren(
        ...element.names.map(([name, colour]) => {
          const mark = h("i");
          mark.style.background = colour;
          return h("span", {}, mark, name);
        }),
      );
    },
  },
  facts: { make: () => h("dl", { class: "facts" }), set: (node, element) => facts(node, element.pairs) },
  words: { make: () => h("p"), set: (node, element) => say(node, element.text) },
  folded: {
    make: () => h("details", {}, h("summary"), h("pre")),
    set(node, element) {
      say(node.firstChild, element.title);
      say(node.lastChild, element.text);
    },
  },
};

/** Show names and values in a list of definitions; values may be elements. */
export function facts(list, pairs) {
  pairs.forEach(([name, value], at) => {
    let cell = list.children[at];
    if (!cell) {
      cell = h("div", {}, h("dt"), h("dd"));
      list.append(cell);
    }
    say(cell.firstChild, name);
    if (typeof value === "string") say(cell.lastChild, value);
    else if (cell.lastChild.firstChild !== value) cell.lastChild.replaceChildren(value);
  });
  while (list.children.length > pairs.length) list.lastChild.remove();
}
