// The arena on a canvas: zone, fighters, shots and items, moving evenly between two decisions.

import { h } from "../dom.js";
import { chip, colour } from "./parts.js";

const SMALLEST = 12;
const CENTRE = 5;

export function arena() {
  const canvas = h("canvas", { role: "img", "aria-label": "the arena" });
  const clock = h("div", { class: "quiet-text" });
  const fighters = h("div", { class: "fighters" });
  const element = h("div", { class: "arena" }, clock, canvas, fighters);
  const state = { half: SMALLEST, centre: [0, 0], names: "" };
  const redraw = () => state.scene && paint(canvas, state);
  document.documentElement.addEventListener("themechange", redraw);
  new ResizeObserver(redraw).observe(canvas);
  return {
    element,
    canvas,
    /** Where a point of the canvas lies in the arena. */
    at(event) {
      const box = canvas.getBoundingClientRect();
      const scale = box.width / (2 * state.half);
      const [x, y] = state.centre;
      return [x + (event.clientX - box.left - box.width / 2) / scale, y + (box.top + box.height / 2 - event.clientY) / scale];
    },
    /** Draw a moment; `next` and `share` say how far it has gone towards the next one. */
    update(scene, look, next = null, share = 0) {
      Object.assign(state, { scene, look, next, share });
      const wanted = scene.sight === null ? reach(scene, next) : scene.sight + 3;
      state.centre = centre(scene, next, share);
      state.half = Math.abs(wanted - state.half) > 8 ? wanted : state.half + (wanted - state.half) * 0.12;
      clock.textContent = `${scene.seconds.toFixed(1)} of ${scene.limit} s · zone ${scene.zone.toFixed(1)}${scene.sight ? " · what this seat sees" : ""}`;
      panel(fighters, scene, look, state);
      paint(canvas, state);
    },
  };
}

/** A seat's own view is about its fighter; the whole arena is about its middle. */
function centre(scene, next, share) {
  const own = scene.fighters.findIndex((one) => one.ammo !== undefined);
  return scene.sight === null || own < 0 ? [0, 0] : between(scene.fighters[own], next?.fighters[own], share);
}

function reach(scene, next) {
  const seen = [...scene.fighters, ...(next?.fighters || [])].filter((one) => one.alive && one.x !== undefined);
  const far = Math.max(0, ...seen.map((one) => Math.max(Math.abs(one.x), Math.abs(one.y))));
  return Math.min(Math.max(far + 2, SMALLEST), 50);
}

function panel(element, scene, look, state) {
  const names = JSON.stringify(look.names);
  if (state.names !== names || element.children.length !== scene.fighters.length) {
    element.replaceChildren(...scene.fighters.map((_, seat) => h("div", { class: `seat-${seat}` }, chip(look, seat), h("div", { class: "health" }, h("i", {})), h("span", { class: "quiet-text" }))));
    state.names = names;
  }
  scene.fighters.forEach((one, seat) => {
    const [, bar, words] = element.children[seat].children;
    bar.firstChild.style.width = `${one.alive ? (one.hp ?? 0) : 0}%`;
    const ammo = one.ammo === undefined ? "" : ` · ${one.ammo} ammo`;
    words.textContent = !one.alive ? "dead" : one.hp === undefined ? "out of sight" : `${one.hp.toFixed(0)} hp${ammo}${one.shielded ? " · shielded" : ""}`;
  });
}

function paint(canvas, { scene, look, next, share, half, centre: [x, y] }) {
  const size = Math.max(120, Math.round(canvas.clientWidth * devicePixelRatio)) || 480;
  if (canvas.width !== size) canvas.width = canvas.height = size;
  const pen = canvas.getContext("2d");
  const scale = size / (2 * half);
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = colour("--burn");
  pen.fillRect(0, 0, size, size);
  pen.setTransform(scale, 0, 0, -scale, size / 2 - x * scale, size / 2 + y * scale);
  disc(pen, 0, 0, mix(scene.zone, next?.zone, share), colour("--zone"));
  lines(pen, 50);
  if (scene.sight !== null) sight(pen, scene, look, next, share);
  scene.items.forEach((item) => drawItem(pen, item));
  scene.shots.forEach((shot) => drawShot(pen, shot, share * scene.step));
  scene.fighters.forEach((one, seat) => one.x !== undefined && drawFighter(pen, one, next?.fighters[seat], share, seat, look.actions[seat]));
}

function lines(pen, half) {
  pen.strokeStyle = colour("--line");
  pen.lineWidth = 0.04;
  pen.beginPath();
  for (let at = -half; at <= half; at += 5) {
    pen.moveTo(at, -half);
    pen.lineTo(at, half);
    pen.moveTo(-half, at);
    pen.lineTo(half, at);
  }
  pen.stroke();
}

function sight(pen, scene, look, next, share) {
  scene.fighters.forEach((one, seat) => {
    if (one.ammo === undefined || one.x === undefined) return;
    const [x, y] = between(one, next?.fighters[seat], share);
    pen.strokeStyle = colour("--faint");
    pen.lineWidth = 0.06;
    pen.setLineDash([0.4, 0.4]);
    pen.beginPath();
    pen.arc(x, y, scene.sight, 0, 2 * Math.PI);
    pen.stroke();
    pen.setLineDash([]);
  });
}

function drawItem(pen, item) {
  pen.fillStyle = item.kind === "health" ? colour("--good") : colour("--seat-3");
  pen.fillRect(item.x - 0.35, item.y - 0.35, 0.7, 0.7);
  pen.fillStyle = colour("--paper");
  pen.fillRect(item.x - 0.25, item.y - 0.07, 0.5, 0.14);
  if (item.kind === "health") pen.fillRect(item.x - 0.07, item.y - 0.25, 0.14, 0.5);
  else pen.fillRect(item.x - 0.25, item.y + 0.13, 0.5, 0.08);
}

function drawShot(pen, shot, seconds) {
  const [x, y] = [shot.x + shot.vx * seconds, shot.y + shot.vy * seconds];
  pen.strokeStyle = colour(`--seat-${shot.owner}`);
  pen.lineWidth = 0.16;
  pen.lineCap = "round";
  pen.beginPath();
  pen.moveTo(x - shot.vx * 0.03, y - shot.vy * 0.03);
  pen.lineTo(x, y);
  pen.stroke();
}

function drawFighter(pen, one, after, share, seat, action) {
  const [x, y] = between(one, after, share);
  const own = colour(`--seat-${seat}`);
  pen.globalAlpha = one.alive ? 1 : 0.25;
  if (action && action[4]) {
    const [dx, dy] = [action[2] - CENTRE, action[3] - CENTRE];
    const length = Math.hypot(dx, dy) || 1;
    pen.strokeStyle = own;
    pen.lineWidth = 0.22;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + (dx / length) * 1.15, y + (dy / length) * 1.15);
    pen.stroke();
  }
  disc(pen, x, y, 0.55, own);
  disc(pen, x, y, 0.24, colour("--paper"));
  if (one.alive) {
    pen.strokeStyle = own;
    pen.lineWidth = 0.14;
    pen.beginPath();
    pen.arc(x, y, 0.78, Math.PI / 2, Math.PI / 2 - (2 * Math.PI * one.hp) / 100, true);
    pen.stroke();
  }
  if (one.shielded && one.alive) {
    pen.strokeStyle = colour("--accent");
    pen.lineWidth = 0.1;
    pen.beginPath();
    pen.arc(x, y, 1.05, 0, 2 * Math.PI);
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

function disc(pen, x, y, radius, fill) {
  pen.fillStyle = fill;
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

function between(one, after, share) {
  if (!after || after.x === undefined) return [one.x, one.y];
  return [mix(one.x, after.x, share), mix(one.y, after.y, share)];
}

function mix(now, then, share) {
  return then === undefined || then === null ? now : now + (then - now) * share;
}
