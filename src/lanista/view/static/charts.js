// Draws the report's figures with plotly, in the page's colours, when they come into view.

const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false, showTips: false };
const TOUCH = window.matchMedia("(pointer: coarse)").matches;
const figures = new Map();
let loading = null;

function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/static/plotly.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("plotly did not load"));
    document.head.append(script);
  });
  return loading;
}

const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const place = entry.target;
      place.dataset.near = String(entry.isIntersecting);
      if (entry.isIntersecting) draw(place);
    }
  },
  { rootMargin: "300px" },
);

/** Show a figure in a place, now or when it comes into view; the place keeps its height. */
export function show(place, figure) {
  const text = JSON.stringify(figure);
  if (figures.get(place)?.text === text) return;
  figures.set(place, { figure, text });
  place.style.height = `${figure.layout.height}px`;
  if (place.dataset.near === "true") draw(place);
  else seen.observe(place);
}

/** Stop showing what is no longer in the page. */
export function forget(root) {
  for (const place of root.querySelectorAll(".chart")) {
    seen.unobserve(place);
    figures.delete(place);
    if (window.Plotly) window.Plotly.purge(place);
  }
}

async function draw(place) {
  const wanted = figures.get(place);
  const theme = document.documentElement.dataset.theme;
  if (!wanted || place.dataset.drawn === theme + wanted.text.length + wanted.text.slice(-200)) return;
  const library = await plotly();
  const current = figures.get(place);
  if (!current) return;
  await library.react(place, current.figure.data, themed(current.figure.layout), CONFIG);
  place.dataset.drawn = theme + current.text.length + current.text.slice(-200);
}

function themed(layout) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const copy = structuredClone(layout);
  const swap = { "#23262b": "--ink", "#e7e8ea": "--line", "#ffffff": "--paper", "#6b6f76": "--grey", "#b5b8bd": "--faint" };
  const walk = (value) => {
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner === "string" && swap[inner.toLowerCase()]) value[key] = colour(swap[inner.toLowerCase()]);
      else if (inner && typeof inner === "object") walk(inner);
    }
  };
  walk(copy);
  copy.paper_bgcolor = "rgba(0,0,0,0)";
  copy.plot_bgcolor = "rgba(0,0,0,0)";
  copy.hoverlabel = { bgcolor: colour("--raised"), bordercolor: colour("--line"), font: { color: colour("--ink") } };
  copy.uirevision = "keep";
  if (TOUCH) copy.dragmode = false;
  return copy;
}

document.documentElement.addEventListener("themechange", () => {
  for (const place of figures.keys()) {
    if (place.dataset.near === "true") draw(place);
  }
});
