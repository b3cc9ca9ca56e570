// A person against a player: choose a match, then play it.

import { fill, h } from "../dom.js";
import { ask } from "../server.js";
import { arenaTable } from "./arena.js";
import { setup } from "./setup.js";
import { turnTable } from "./turns.js";

const address = new URLSearchParams(location.search);

/** Show a session: one that waits for moves, or one that has a clock. */
export function enter(session) {
  history.replaceState(null, "", `/play?session=${encodeURIComponent(session.id)}`);
  document.title = `${session.wish.game} · Play · Lanista`;
  if (session.clocked) arenaTable(session, enter);
  else turnTable(session, enter);
}

async function begin() {
  const id = address.get("session");
  if (id) {
    try {
      enter(await ask("/api/play/session", { id }));
      return;
    } catch (refusal) {
      history.replaceState(null, "", "/play");
      await setup(enter, address, refusal.message);
      return;
    }
  }
  await setup(enter, address);
}

begin().catch((refusal) => fill(h("h1", {}, "Play"), h("p", { class: "notice bad" }, refusal.message)));
