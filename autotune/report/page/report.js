"use strict";
/* The page without this file is whole but still: it draws the plots, sorts, and leads from a point to its trial and back. */
(() => {
  const PRINTED_PX = 690; // what a sheet of A4 is wide between its margins
  const RING_PX = 14;
  const BUTTONS = [["toImage", "zoom2d", "pan2d", "resetScale2d"]];
  const root = document.documentElement;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const coarse = matchMedia("(pointer: coarse)");
  const CONFIG = {
    displaylogo: false,
    responsive: true,
    modeBarButtons: BUTTONS,
    displayModeBar: coarse.matches ? false : "hover",
  };

  // Themes

  const toggle = document.getElementById("theme");

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  }

  function themed() {
    toggle.setAttribute("aria-pressed", String(isDark()));
    plots.forEach((plot) => draw(plot));
  }

  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    themed();
  });
  dark.addEventListener("change", themed);

  // Plots

  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);

  /** What a variable of the style sheet is in the theme that is shown. */
  function ink(variable) {
    probe.style.color = `var(${variable})`;
    return getComputedStyle(probe).color;
  }

  /** A copy with colours for the variables that name them. */
  function painted(value, key = "") {
    if (Array.isArray(value)) return value.map((one) => painted(one, key));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, painted(one, name)]));
    }
    return typeof value === "string" && value.startsWith("--") && key.endsWith("color") ? ink(value) : value;
  }

  const plots = [...document.querySelectorAll("[data-plot]")].map((box) => ({
    box,
    ...JSON.parse(document.getElementById(`${box.dataset.plot}-spec`).textContent),
    view: null,
    current: null,
  }));

  /** Where a trial is in a plot: its trace and the number of its point. */
  function placeOf(plot, trial) {
    for (const trace of plot.data) {
      const point = (trace.customdata || []).indexOf(trial);
      if (point >= 0) return { trace, point };
    }
    return null;
  }

  function ring(plot) {
    const place = plot.current === null ? null : placeOf(plot, plot.current);
    if (!place) return [];
    const { trace, point } = place;
    const ends = { x0: -RING_PX, x1: RING_PX, y0: -RING_PX, y1: RING_PX };
    const at = { xref: "x", yref: trace.yaxis || "y", xanchor: trace.x[point], yanchor: trace.y[point] };
    return [{ type: "circle", xsizemode: "pixel", ysizemode: "pixel", ...ends, ...at, line: { color: "--link", width: 3 } }];
  }

  function draw(plot, width = null) {
    const view = plot.view && plot.views[plot.view];
    const data = plot.data.map((trace, index) => (view ? { ...trace, x: view.x[index] } : trace));
    const layout = { ...plot.layout, shapes: [...(plot.layout.shapes || []), ...ring(plot)] };
    if (view) layout.xaxis = { ...layout.xaxis, title: { text: view.title } };
    if (coarse.matches) layout.dragmode = false; // a finger scrolls the page
    if (width) Object.assign(layout, { autosize: false, width, height: 460 });
    // Always the same: with another configuration plotly begins anew, and forgets who listens.
    Plotly.react(plot.box, painted(data), painted(layout), CONFIG);
    if (!plot.heard) {
      plot.heard = true;
      plot.box.on("plotly_click", (event) => {
        const [point] = event.points;
        const trial = typeof point.customdata === "number" ? point.customdata : point.data.meta;
        if (typeof trial === "number") toTrial(trial);
      });
    }
  }

  for (const choice of document.querySelectorAll("[data-switch] input")) {
    choice.addEventListener("change", () => {
      const name = choice.closest("[data-switch]").dataset.switch;
      const plot = plots.find((one) => one.box.dataset.plot === name);
      plot.view = choice.value;
      plot.layout.uirevision = choice.value; // another axis: where one has zoomed to is no place on it
      draw(plot);
    });
  }

  // From a point to its trial and back

  function show(element, block) {
    element.scrollIntoView({ behavior: still.matches ? "auto" : "smooth", block });
  }

  function mark(trial) {
    document.querySelectorAll(".trials tbody.current").forEach((group) => group.classList.remove("current"));
    document.getElementById(`trial-${trial}`)?.classList.add("current");
    plots.forEach((plot) => {
      plot.current = trial;
      draw(plot);
    });
  }

  function toTrial(trial) {
    const group = document.getElementById(`trial-${trial}`);
    if (!group) return;
    mark(trial);
    show(group, "center");
    group.focus({ preventScroll: true });
  }

  function toPlot(trial) {
    const plot = plots.find((one) => placeOf(one, trial));
    if (!plot) return;
    mark(trial);
    show(plot.box, "center");
    plot.box.tabIndex = -1;
    plot.box.focus({ preventScroll: true });
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-trial]");
    if (!link) return;
    event.preventDefault();
    const trial = Number(link.dataset.trial);
    if (link.matches(".to-plot")) toPlot(trial);
    else toTrial(trial);
  });

  // Sorting

  /** Unknown last, whichever way; numbers as numbers. */
  function compared(a, b, sign) {
    if (a === "" || b === "") return (a === "") - (b === "");
    const [x, y] = [Number(a), Number(b)];
    return sign * (Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", { numeric: true }) : x - y);
  }

  const table = document.getElementById("trials-table");
  const heads = table ? [...table.querySelectorAll("thead th")] : [];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", (event) => {
      const { first } = event.currentTarget.dataset;
      const before = head.getAttribute("aria-sort");
      const turned = before === "ascending" ? "descending" : "ascending";
      const order = before === "none" ? first : turned;
      heads.forEach((one) => one.setAttribute("aria-sort", one === head ? order : "none"));
      const sign = order === "ascending" ? 1 : -1;
      const key = (group) => group.rows[0].cells[column].dataset.sort;
      const groups = [...table.tBodies].sort((a, b) => compared(key(a), key(b), sign) || compared(a.id, b.id, 1));
      table.append(...groups);
      document.getElementById("trials-sorted").textContent = `Sorted by ${head.textContent}, ${order}`;
    });
  });

  // Printing: light, and as wide as the sheet

  let shown;
  addEventListener("beforeprint", () => {
    shown = root.dataset.theme;
    root.dataset.theme = "light";
    plots.forEach((plot) => draw(plot, PRINTED_PX));
  });
  addEventListener("afterprint", () => {
    if (shown) root.dataset.theme = shown;
    else delete root.dataset.theme;
    plots.forEach((plot) => draw(plot));
  });

  themed();
})();
