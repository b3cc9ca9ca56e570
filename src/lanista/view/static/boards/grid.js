// Boards of cells: marks, discs that fall, stones and pieces, chessmen.

import { h, svg } from "../dom.js";
import { pick } from "./parts.js";

const CHESS = { K: "♔", Q: "♕", R: "♖", B: "♗", N: "♘", P: "♙", k: "♚", q: "♛", r: "♜", b: "♝", n: "♞", p: "♟" };
const FIRST = "xXbB";
const SECOND = "oOwW+";

export function grid() {
  const element = h("div", { class: "grid-scroll" });
  let before = null;
  return {
    element,
    update(scene, look) {
      const focused = document.activeElement?.dataset?.cell;
      element.replaceChildren(draw(scene, look, before));
      before = scene.rows;
      if (focused) element.querySelector(`[data-cell="${focused}"]`)?.focus();
    },
  };
}

function draw(scene, look, before) {
  const columns = scene.rows[0].length;
  const squares = scene.look === "pieces" || scene.look === "chess";
  const cells = scene.rows.flatMap((row, r) => [...row].map((sign, c) => cell(scene, look, before, r, c, sign)));
  const frame = h("div", { class: `grid ${scene.look}${squares ? " squares" : ""}`, role: "group", "aria-label": `board, ${scene.rows.length} rows, ${columns} columns` }, cells);
  frame.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  if (scene.look === "hex") shift(frame, scene.rows.length, columns);
  return frame;
}

function shift(frame, rows, columns) {
  frame.style.gridTemplateColumns = `repeat(${2 * columns + rows - 1}, minmax(0, 1fr))`;
  [...frame.children].forEach((cell, at) => {
    const row = Math.floor(at / columns);
    cell.style.gridColumn = `${1 + row + 2 * (at % columns)} / span 2`;
    cell.style.gridRow = String(row + 1);
  });
}

function cell(scene, look, before, r, c, sign) {
  const target = [`cell:${r},${c}`, `column:${c}`].find((one) => look.targets.has(one));
  const dark = (r + c) % 2 ? " dark" : "";
  const name = scene.names?.[r] || String(r + 1);
  const fresh = before && before[r] && before.length === scene.rows.length && before[r][c] !== sign && sign !== ".";
  const label = `row ${name}, column ${c + 1}: ${sign === "." ? "empty" : sign}`;
  return pick(look, target, { class: `cell${dark}`, label, "data-cell": `${r},${c}` }, content(scene.look, sign, fresh));
}

function content(look, sign, fresh) {
  if (sign === ".") return null;
  if (look === "chess") return h("span", { class: "chessman" }, CHESS[sign] || sign);
  const seat = FIRST.includes(sign) ? 0 : SECOND.includes(sign) ? 1 : null;
  if (look === "marks" && seat !== null) return mark(seat);
  const known = seat === null ? "" : ` seat-${seat}`;
  return h("span", { class: `piece${known}${fresh ? " last" : ""}` }, seat === null ? sign : "");
}

function mark(seat) {
  const cross = svg("path", { d: "M14 14L86 86M86 14L14 86" });
  const ring = svg("circle", { cx: 50, cy: 50, r: 38 });
  return svg("svg", { class: `mark seat-${seat}`, viewBox: "0 0 100 100", "aria-hidden": "true" }, seat === 0 ? cross : ring);
}
