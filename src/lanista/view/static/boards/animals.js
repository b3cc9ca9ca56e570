// The twelve animals of Beasty Bar as small drawings of our own.

import { svg } from "../dom.js";

const eye = (x, y, r = 2.6) => ["circle", { cx: x, cy: y, r, fill: "#1c1c1c" }];
const white = (x, y, r = 4.6) => ["circle", { cx: x, cy: y, r, fill: "#fff" }];
const round = (cx, cy, r, fill) => ["circle", { cx, cy, r, fill }];
const oval = (cx, cy, rx, ry, fill) => ["ellipse", { cx, cy, rx, ry, fill }];
const shape = (d, fill, more = {}) => ["path", { d, fill, ...more }];
const stroke = (d, color, width) => ["path", { d, fill: "none", stroke: color, "stroke-width": width, "stroke-linecap": "round" }];

const DRAWINGS = {
  skunk: [round(16, 18, 7, "#2b2d31"), round(48, 18, 7, "#2b2d31"), round(32, 34, 21, "#2b2d31"),
    shape("M28 12h8l3 26-7 8-7-8z", "#f5f5f5"), white(24, 32), white(40, 32), eye(24, 32), eye(40, 32), oval(32, 46, 4, 3, "#e58a9a")],
  parrot: [round(32, 34, 22, "#3aa655"), shape("M20 14c4-10 10-10 12-2 3-8 9-6 12 2z", "#e5483f"), white(23, 30, 6), white(41, 30, 6), eye(23, 30), eye(41, 30),
    shape("M25 38c2-6 12-6 14 0 0 8-4 14-7 14s-7-6-7-14z", "#f2b632"), stroke("M32 38v12", "#b98512", 1.5)],
  kangaroo: [oval(21, 14, 6, 13, "#b87a46"), oval(43, 14, 6, 13, "#b87a46"), oval(21, 15, 3, 9, "#e9b48c"), oval(43, 15, 3, 9, "#e9b48c"),
    round(32, 36, 18, "#b87a46"), oval(32, 46, 11, 9, "#d9a273"), eye(25, 33, 3), eye(39, 33, 3), oval(32, 42, 5, 3.5, "#3b2a1c")],
  monkey: [round(11, 34, 8, "#8a5a33"), round(53, 34, 8, "#8a5a33"), round(11, 34, 4, "#e8b98e"), round(53, 34, 4, "#e8b98e"), round(32, 32, 21, "#8a5a33"),
    shape("M16 34c0-14 14-14 16-6 2-8 16-8 16 6 0 12-8 18-16 18s-16-6-16-18z", "#e8b98e"), eye(25, 32, 3), eye(39, 32, 3), stroke("M25 44c4 4 10 4 14 0", "#6b3f20", 2)],
  chameleon: [shape("M10 44c0-20 12-30 26-30 12 0 18 8 18 16 0 12-12 20-26 20-6 0-12-2-18-6z", "#6cc04a"), shape("M18 18l6-8 5 7 6-8 4 8", "#4c9a30"),
    round(40, 28, 9, "#e9f28c"), eye(41, 28, 4), stroke("M30 42c6 2 14 0 20-5", "#3b7a23", 2.5), round(20, 34, 3, "#e5d64a"), round(27, 24, 2.4, "#e5d64a")],
  seal: [round(32, 32, 22, "#7f91a3"), oval(32, 42, 14, 10, "#b9c6d1"), eye(23, 28, 3.6), eye(41, 28, 3.6), oval(32, 37, 5, 3.6, "#25303a"),
    stroke("M24 42l-12-2M24 45l-11 3M40 42l12-2M40 45l11 3", "#3d4a56", 1.4)],
  zebra: [oval(20, 14, 5, 9, "#cfd2d4"), oval(44, 14, 5, 9, "#cfd2d4"), oval(32, 34, 18, 22, "#dfe2e4"), stroke("M20 22l9 4M44 22l-9 4M16 32l9 2M48 32l-9 2M30 8v8M34 8v8", "#24262a", 4),
    oval(32, 50, 12, 8, "#555a61"), eye(24, 34, 3), eye(40, 34, 3), eye(28, 51, 1.8), eye(36, 51, 1.8)],
  giraffe: [stroke("M24 14V6M40 14V6", "#a8701f", 3.5), round(24, 5, 3.4, "#6b4212"), round(40, 5, 3.4, "#6b4212"), oval(12, 22, 8, 4.5, "#e3b04b"), oval(52, 22, 8, 4.5, "#e3b04b"),
    oval(32, 32, 17, 22, "#eec163"), round(23, 20, 4, "#b9792a"), round(41, 22, 3.4, "#b9792a"), round(33, 14, 2.6, "#b9792a"), oval(32, 48, 11, 8, "#f6ddb0"), eye(24, 31, 3), eye(40, 31, 3), eye(28, 48, 1.6), eye(36, 48, 1.6)],
  snake: [stroke("M12 52c20 6 40 2 36-8-3-8-28-2-26-14 1-8 12-10 20-8", "#4f9d4a", 9), oval(44, 20, 11, 8.5, "#5fb35a"), white(42, 17, 3.6), eye(42.5, 17, 2), white(49, 18, 3.2), eye(49.5, 18, 1.8),
    stroke("M54 23l7 2M58 24l3-3", "#d6403b", 1.8)],
  crocodile: [oval(24, 22, 7, 7, "#4d8a52"), oval(44, 22, 7, 7, "#4d8a52"), white(24, 21), white(44, 21), eye(24, 21), eye(44, 21), shape("M12 30c0-6 40-6 42 0l6 14c0 8-54 8-54 0z", "#5aa05f"),
    shape("M8 44l4 5 4-5 4 5 4-5 4 5 4-5 4 5 4-5 4 5 4-5 4 5 4-5z", "#fff"), eye(28, 35, 1.6), eye(38, 35, 1.6)],
  hippo: [round(17, 14, 6, "#8c7f9e"), round(47, 14, 6, "#8c7f9e"), oval(32, 26, 18, 16, "#9c8fae"), oval(32, 44, 24, 14, "#b2a6c2"), eye(24, 23, 3), eye(40, 23, 3),
    oval(23, 40, 3, 4, "#5f5470"), oval(41, 40, 3, 4, "#5f5470"), ["rect", { x: 24, y: 52, width: 5, height: 7, rx: 1.5, fill: "#fff" }], ["rect", { x: 35, y: 52, width: 5, height: 7, rx: 1.5, fill: "#fff" }]],
  lion: [round(32, 32, 27, "#a9641d"), round(32, 34, 19, "#eab04e"), round(17, 18, 5.5, "#eab04e"), round(47, 18, 5.5, "#eab04e"), eye(25, 31, 3), eye(39, 31, 3), shape("M27 38h10l-5 6z", "#4b2c10"),
    stroke("M32 44c-1 4-5 5-8 3M32 44c1 4 5 5 8 3", "#4b2c10", 2)],
};

/** Return the drawing of an animal; its name stands beside it, so it is decoration. */
export function face(name) {
  const parts = (DRAWINGS[name] || []).map(([tag, attributes]) => svg(tag, attributes));
  return svg("svg", { viewBox: "0 0 64 64", class: "face", "aria-hidden": "true" }, parts);
}
