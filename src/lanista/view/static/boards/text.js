// Any game that has no drawing of its own: its text.

import { h } from "../dom.js";

export function text() {
  const element = h("div", {});
  return {
    element,
    update(scene) {
      const lines = scene.text.trim() ? h("pre", { class: "text-board", tabindex: "0", "aria-label": "the position as text" }, scene.text) : null;
      const note = scene.hidden && !scene.text.trim() ? h("p", { class: "quiet-text" }, "This game draws only the whole position, and a part of it is hidden. What the seat sees stands beside.") : null;
      element.replaceChildren(...[lines, note].filter(Boolean));
    },
  };
}
