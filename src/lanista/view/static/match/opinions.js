// What a policy thinks of a decision, as bars; what moves were worth.

import { h } from "../dom.js";

/** Return a policy's likeliest choices as bars; `played` has the choice by head. */
export function likely(choices, played = () => false) {
  let head = "";
  const rows = choices.flatMap((one) => {
    const title = one.head && one.head !== head ? [h("li", { class: "head" }, one.head.replaceAll("_", " "))] : [];
    head = one.head;
    return [...title, bar(one.probability, percent(one.probability), one.words, played(one))];
  });
  return h("ul", { class: "likely" }, rows);
}

/** Return what moves were worth as bars from the worst to the best. */
export function worth(judgement) {
  const values = judgement.moves.map((one) => one.value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const rows = judgement.moves.map((one) => {
    const error = one.error === null ? "" : ` ± ${one.error.toFixed(2)}`;
    return bar(high > low ? (one.value - low) / (high - low) : 1, signed(one.value), `${one.words}${error}`, one.played);
  });
  return [h("ul", { class: "likely" }, rows), h("p", { class: "quiet-text" }, `${judgement.method}${judgement.cost > 0 ? `; the move made cost ${judgement.cost.toFixed(2)}` : ""}.`)];
}

function bar(share, number, words, played) {
  const fill = h("i", {});
  fill.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  const row = h("li", { class: played ? "played" : "" }, h("span", { class: "share" }, number), h("span", { class: "track" }, fill, h("span", {}, words), played ? h("span", { class: "visually-hidden" }, " (played)") : null));
  return row;
}

export function percent(share) {
  return share >= 0.0995 ? `${(share * 100).toFixed(0)} %` : `${(share * 100).toFixed(1)} %`;
}

export function signed(number) {
  return `${number >= 0 ? "+" : "−"}${Math.abs(number).toFixed(2)}`;
}
