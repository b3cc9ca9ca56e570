// MicroRTS: the grid with units, what they carry and where they act.

import { h, svg } from "../dom.js";
import { chip } from "./parts.js";

const SIGNS = { base: "B", barracks: "K", worker: "w", light: "l", heavy: "H", ranged: "r", resource: "◆" };

export function microrts() {
  const element = h("div", {});
  return {
    element,
    update(scene, look) {
      const stores = scene.stock.map((amount, seat) => h("span", {}, chip(look, seat), ` ${amount} in store`));
      const clock = h("span", { class: "quiet-text" }, `tick ${scene.tick} of ${scene.longest}`);
      element.replaceChildren(h("div", { class: "rts-facts" }, stores, clock), field(scene));
    },
  };
}

function field(scene) {
  const side = scene.side;
  const at = (cell) => [(cell % side) + 0.5, Math.floor(cell / side) + 0.5];
  const lines = Array.from({ length: side + 1 }, (_, n) => `M${n} 0V${side}M0 ${n}H${side}`).join("");
  const aims = scene.units.filter((unit) => unit.aim >= 0).map((unit) => aim(at(unit.cell), at(unit.aim), unit));
  return svg(
    "svg",
    { class: "rts", viewBox: `-0.1 -0.1 ${side + 0.2} ${side + 0.2}`, role: "img", "aria-label": describe(scene) },
    svg("rect", { width: side, height: side, fill: "var(--cell)", rx: 0.15 }),
    svg("path", { d: lines, stroke: "var(--grid-line)", "stroke-width": 0.03 }),
    aims,
    scene.units.map((unit) => drawn(unit, at(unit.cell))),
  );
}

function aim([x, y], [toX, toY], unit) {
  return svg("line", { x1: x, y1: y, x2: toX, y2: toY, stroke: unit.owner >= 0 ? `var(--seat-${unit.owner})` : "var(--faint)", "stroke-width": 0.09, "stroke-linecap": "round", opacity: 0.55, "stroke-dasharray": unit.order === "attack" ? "none" : "0.15 0.15" });
}

function drawn(unit, [x, y]) {
  const fill = unit.owner >= 0 ? `var(--seat-${unit.owner})` : "var(--good)";
  const square = unit.unit === "base" || unit.unit === "barracks" || unit.unit === "resource";
  const size = unit.unit === "worker" ? 0.27 : unit.unit === "heavy" ? 0.38 : 0.32;
  const body = square ? svg("rect", { x: x - 0.4, y: y - 0.4, width: 0.8, height: 0.8, rx: 0.1, fill }) : svg("circle", { cx: x, cy: y, r: size, fill });
  const sign = svg("text", { x, y: y + 0.14, "text-anchor": "middle", "font-size": 0.42, fill: "#fff", "font-weight": 700 }, SIGNS[unit.unit]);
  const load = unit.load ? svg("text", { x: x + 0.34, y: y - 0.2, "text-anchor": "middle", "font-size": 0.3, fill: "var(--ink)" }, String(unit.load)) : null;
  const hits = unit.owner >= 0 ? svg("text", { x: x + 0.34, y: y + 0.44, "text-anchor": "middle", "font-size": 0.26, fill: "var(--ink)" }, String(unit.hits)) : null;
  return svg("g", {}, svg("title", {}, `${unit.unit}${unit.order ? `, ${unit.order}` : ""}`), body, sign, load, hits);
}

function describe(scene) {
  const count = (seat) => scene.units.filter((unit) => unit.owner === seat).length;
  return `tick ${scene.tick}; seat 0 has ${count(0)} units, seat 1 ${count(1)}`;
}
