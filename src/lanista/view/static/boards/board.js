// One board for each kind of scene; a page asks here and knows no game.

import { h } from "../dom.js";
import { arena } from "./arena.js";
import { beastybar } from "./beastybar.js";
import { cards } from "./cards.js";
import { grid } from "./grid.js";
import { microrts } from "./microrts.js";
import { showdown } from "./showdown.js";
import { text } from "./text.js";

const KINDS = { arena, beastybar, cards, grid, microrts, showdown, text };

/** Return a frame that draws whatever scenes it is given. */
export function boardFrame() {
  const element = h("div", { class: "board", role: "region", "aria-label": "Board" });
  let kind = null;
  let board = null;
  return {
    element,
    get board() {
      return board;
    },
    update(scene, look, next = null, share = 0) {
      if (scene.kind !== kind) {
        kind = scene.kind;
        board = (KINDS[kind] || text)();
        element.replaceChildren(board.element);
      }
      const same = next && next.kind === kind ? next : null;
      board.update(scene, look, same, same ? share : 0);
    },
  };
}
