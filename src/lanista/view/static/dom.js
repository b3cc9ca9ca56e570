// Elements from data. Text is always set as text, so that no name can become markup.

/** Return an element: h("a", { href: "/", class: "quiet" }, "Runs", child, …). */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  set(element, attributes);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Return an element of an SVG. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, attributes);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Set attributes; `on…` adds a listener, false and null leave an attribute out. */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Change an element's text only where it differs, so that a reader's place is kept. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Return what the server put into the page. */
export function pageData() {
  return JSON.parse(document.getElementById("data").textContent);
}

/** Fill <main>; a screen reader is told that the page is there. */
export function fill(...children) {
  const main = document.getElementById("main");
  main.replaceChildren(...children.flat().filter(Boolean));
  main.setAttribute("aria-busy", "false");
  document.documentElement.dataset.ready = "true";
  return main;
}

/** Tell a screen reader something that changed by itself. */
export function announce(sentence) {
  say(document.getElementById("status"), sentence);
}
