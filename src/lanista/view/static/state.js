// How a run stands, in words and colours that all pages share.

import { h, say } from "./dom.js";
import { UNKNOWN, duration, percent } from "./format.js";

export const MEANINGS = {
  running: "A process works on it.",
  finished: "It has done all its updates.",
  stopped: "It was stopped and saved; the same command with --resume goes on.",
  crashed: "It ended without saving; resuming goes on from its newest checkpoint.",
  unreadable: "Its files cannot be read.",
};
export const KINDS = { run: "run", pipeline: "pipeline", live: "live bot" };

export function badge(state) {
  const element = h("span", { class: "badge" });
  setBadge(element, state);
  return element;
}

export function setBadge(element, state) {
  element.className = `badge ${state}`;
  element.title = MEANINGS[state] ?? "";
  say(element, state);
}

/** A bar with its share in words. */
export function bar(share) {
  const fill = h("i");
  const element = h("div", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, fill);
  setBar(element, share);
  return element;
}

export function setBar(element, share) {
  const value = Math.floor((share ?? 0) * 100);
  element.setAttribute("aria-valuenow", value);
  element.setAttribute("aria-label", `${value} % done`);
  element.firstChild.style.width = `${value}%`;
}

export function progressText(line) {
  if (line.progress === null || line.progress === undefined) return UNKNOWN;
  return percent(line.progress);
}

export function leftText(line) {
  if (line.state !== "running" || line.seconds_left === null || line.seconds_left === undefined) return UNKNOWN;
  return duration(line.seconds_left);
}

/** The address of a line's page. */
export function pageOf(line) {
  return `/${line.kind === "live" ? "live" : "run"}?id=${encodeURIComponent(line.id)}`;
}
