// A page that says one thing: what was asked for cannot be shown, and why.

import { fill, h, pageData } from "./dom.js";

const { sentence } = pageData();
fill(h("h1", {}, "This cannot be shown"), h("p", {}, sentence), h("p", {}, h("a", { href: "/" }, "All runs")));
