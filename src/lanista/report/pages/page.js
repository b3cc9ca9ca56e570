"use strict";
(function () {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  // On a touch screen a finger on a chart must scroll the page, not zoom the chart.
  const touch = window.matchMedia("(pointer: coarse)").matches;
  figures.forEach(function (figure, number) {
    const place = document.getElementById("chart-" + (number + 1));
    if (touch) figure.layout.dragmode = false;
    Plotly.newPlot(place, figure.data, figure.layout, {
      responsive: true,
      displaylogo: false,
      displayModeBar: false,
      showTips: false,
    });
  });
  document.documentElement.dataset.drawn = String(figures.length);
})();
