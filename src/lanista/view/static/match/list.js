// The list of what has matches in it, or the matches of one file or run.

import { fill, h, pageData } from "../dom.js";
import { ask, withQuery } from "../server.js";

const PAGE = 50;
const { place } = pageData();

if (place) showMatches(place, Number(new URLSearchParams(location.search).get("first")) || 0);
else showFiles();

async function showFiles() {
  try {
    const { replays, runs, more } = await ask("/api/matches");
    if (!replays.length && !runs.length) return empty();
    fill(
      h("h1", {}, "Matches"),
      h("p", { class: "lead" }, "Recorded matches and evaluations of runs: open one and go through it move by move."),
      replays.length ? [h("h2", {}, "Replays"), h("div", { class: "scroll" }, replayTable(replays))] : null,
      more > 0 ? h("p", { class: "quiet-text" }, `${more} older files are not listed.`) : null,
      runs.length ? h("section", {}, h("h2", {}, "Evaluated in runs"), h("ul", {}, runs.map((run) => h("li", {}, h("a", { href: withQuery("/matches", { place: run }) }, run))))) : null,
    );
  } catch (refusal) {
    fill(h("h1", {}, "Matches"), h("p", { class: "notice bad" }, refusal.message));
  }
}

function empty() {
  fill(
    h("div", { class: "empty" }, h("h1", {}, "No matches yet"), h("p", {}, "No replay and no run with evaluations lies below this folder. Record some matches here, or play one yourself:"),
      h("pre", {}, "lanista play beastybar --seats champion:beastybar,heuristic --matches 10 --record replays"),
      h("p", {}, h("a", { href: "/play", class: "button" }, "Play a match"))),
  );
}

function replayTable(replays) {
  const rows = replays.map((file) => h("tr", {}, h("td", {}, h("a", { href: file.source === "human" ? withQuery("/match", { place: file.place, match: 0, eyes: Math.max(0, file.players.indexOf("human")) }) : withQuery("/matches", { place: file.place }) }, file.place)),
    file.problem ? h("td", { colspan: 3, class: "quiet-text" }, file.problem) : [h("td", {}, file.game), h("td", {}, file.players.join(", ")), h("td", {}, file.source || "")],
    h("td", { class: "fit quiet-text" }, new Date(file.changed * 1000).toLocaleString())));
  return h("table", { class: "wide" }, head("File", "Game", "Players", "Source", "Written"), h("tbody", {}, rows));
}

async function showMatches(file, first) {
  try {
    const { game, matches, more } = await ask("/api/matches/in", { place: file, first, count: PAGE });
    const step = (to, words) => h("a", { class: "button", href: withQuery("/matches", { place: file, first: to }) }, words);
    fill(
      h("p", {}, h("a", { href: "/matches" }, "All matches")),
      h("h1", {}, file),
      h("p", { class: "lead" }, game || "Matches of fixed players, newest first; each is played again from its row when it is opened."),
      matches.length ? h("div", { class: "scroll" }, matchTable(file, matches)) : h("p", {}, "There are no matches here."),
      h("div", { class: "controls" }, first > 0 ? step(Math.max(0, first - PAGE), "Previous") : null, more ? step(first + PAGE, "Next") : null),
    );
  } catch (refusal) {
    fill(h("h1", {}, file), h("p", { class: "notice bad" }, refusal.message));
  }
}

function matchTable(file, matches) {
  const rows = matches.map((one) => h("tr", {}, h("td", { class: "number" }, h("a", { href: withQuery("/match", { place: file, match: one.match }) }, String(one.match))),
    h("td", {}, one.players.join(" – ")), h("td", {}, one.places.map((at, seat) => (at === 1 ? one.players[seat] : null)).filter(Boolean).join(", ") || "—"),
    h("td", { class: "number" }, one.returns.map((amount) => Number(amount.toFixed(2))).join(" / ")), h("td", { class: "number" }, one.decisions === null ? "" : String(one.decisions)), h("td", { class: "quiet-text" }, one.note)));
  return h("table", { class: "wide" }, head("Match", "Players by seat", "First", "Returns", "Decisions", ""), h("tbody", {}, rows));
}

function head(...names) {
  return h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name))));
}
