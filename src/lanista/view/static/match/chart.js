// The value over a match, a line a seat, and what each decision cost as bars; or how likely moves were.

import { h, svg } from "../dom.js";

const WIDTH = 600;
const HEIGHT = 130;

/** Return a chart of a match's decisions; `jump(step)` is called where it is clicked. */
export function chart(about, judged, jump) {
  const valued = about.decisions.some((one) => one.value !== null) || judged.size > 1;
  const number = (one) => (valued ? (judged.get(`${one.step}:${one.seat}`)?.value ?? one.value) : one.probability);
  const points = about.decisions.filter((one) => number(one) !== null && number(one) !== undefined);
  if (!points.length) return { element: h("p", { class: "quiet-text" }, "Choose a policy to see what it thinks of the moves."), at: () => {} };
  const most = valued ? Math.max(1, ...points.map((one) => Math.abs(number(one)))) : 1;
  const x = (step) => (step / Math.max(1, about.steps - 1)) * WIDTH;
  const y = (value) => (valued ? HEIGHT / 2 - (value / most) * (HEIGHT / 2 - 6) : HEIGHT - 6 - value * (HEIGHT - 12));
  const seats = [...new Set(points.map((one) => one.seat))].sort();
  const now = svg("line", { class: "now", y1: 0, y2: HEIGHT });
  const costs = points.filter((one) => one.cost > 0).map((one) => svg("rect", { class: "cost", x: x(one.step) - 1.5, width: 3, y: HEIGHT - Math.min(1, one.cost / most) * 40, height: Math.min(1, one.cost / most) * 40 }));
  const lines = seats.map((seat) => svg("polyline", { class: `line seat-${seat}`, points: points.filter((one) => one.seat === seat).map((one) => `${x(one.step).toFixed(1)},${y(number(one)).toFixed(1)}`).join(" ") }));
  const words = valued ? "Value expected by each seat over the match; red bars are what a move cost" : "Probability that the policy gives to each move that was made";
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": words }, svg("line", { class: "axis", x1: 0, x2: WIDTH, y1: y(0), y2: y(0) }), costs, lines, now);
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    jump(Math.round(((event.clientX - box.left) / box.width) * (about.steps - 1)));
  });
  const note = h("figcaption", {}, `${words}.`);
  return {
    element: h("figure", {}, picture, note),
    at(step) {
      now.setAttribute("x1", x(step));
      now.setAttribute("x2", x(step));
    },
  };
}
