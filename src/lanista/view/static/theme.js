// Runs before the page is drawn, so that nothing flashes: the person's choice, else the system's.
"use strict";
(function () {
  const root = document.documentElement;
  const saved = localStorage.getItem("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = (name) => {
    root.dataset.theme = name;
    root.dispatchEvent(new CustomEvent("themechange"));
  };
  apply(saved || (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => {
    if (!localStorage.getItem("theme")) apply(dark.matches ? "dark" : "light");
  });
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", () => {
      const next = root.dataset.theme === "dark" ? "light" : "dark";
      localStorage.setItem("theme", next);
      apply(next);
    });
  });
})();
