"use strict";
(() => {
  const root = document.documentElement;
  window.addEventListener("error", (event) => { root.dataset.error = event.message; });
  root.classList.add("js");

  const THEMES = { auto: "dark", dark: "light", light: "auto" };
  const themeButton = document.getElementById("theme");
  const setTheme = (name) => {
    if (name === "auto") delete root.dataset.theme; else root.dataset.theme = name;
    themeButton.textContent = `colours: ${name}`;
    themeButton.dataset.now = name;
    try { localStorage.setItem("harness-report-theme", name); } catch { /* a file may not store */ }
  };
  let remembered = "auto";
  try { remembered = localStorage.getItem("harness-report-theme") || "auto"; } catch { /* the same */ }
  setTheme(remembered in THEMES ? remembered : "auto");
  themeButton.addEventListener("click", () => setTheme(THEMES[themeButton.dataset.now]));

  // Charts: the nearest point is told, by pointer or by arrow keys.
  const NEAR = 26;
  const tip = document.getElementById("tip");
  const number = (value) => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3))));
  const hideTip = () => {
    tip.classList.remove("on");
    for (const ring of document.querySelectorAll(".ring.on")) ring.classList.remove("on");
  };
  const panelOf = (svg) => {
    const data = JSON.parse(svg.parentElement.querySelector(".points").textContent);
    const [left, top, width, height] = data.box;
    const ring = svg.querySelector(".ring");
    const points = [];
    data.series.forEach((series, index) => series.x.forEach((x, at) => {
      const y = series.y[at];
      if (x === null || y === null) return;
      points.push({
        series, index, at,
        px: left + width * (x - data.x[1]) / (data.x[2] - data.x[1]),
        py: top + height * (1 - (y - data.y[1]) / (data.y[2] - data.y[1])),
      });
    }));
    const seen = () => points.filter((point) => {
      const only = svg.closest(".chart").dataset.only;
      return only === undefined || only === String(point.series.slot);
    });
    const tell = (point) => {
      hideTip();
      const { series, at } = point;
      const lines = [series.name];
      if (series.words) lines.push(series.words[at]);
      else {
        if (series.step) lines.push(`step ${number(series.step[at])}`);
        lines.push(`${data.x[0]}: ${number(series.x[at])}`, `${data.y[0]}: ${number(series.y[at])}`);
      }
      tip.replaceChildren(...lines.map((line) => {
        const row = document.createElement("div");
        row.textContent = line;
        return row;
      }));
      ring.setAttribute("cx", point.px);
      ring.setAttribute("cy", point.py);
      ring.classList.add("on");
      const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
      tip.classList.add("on");
      const x = box.left + point.px * scale + 14, room = root.clientWidth - tip.offsetWidth - 6;
      tip.style.left = `${Math.max(4, Math.min(x, room)) + window.scrollX}px`;
      tip.style.top = `${box.top + point.py * scale + 14 + window.scrollY}px`;
    };
    return { points, seen, tell };
  };
  const panels = new WeakMap();
  const panel = (svg) => {
    if (!panels.has(svg)) panels.set(svg, panelOf(svg));
    return panels.get(svg);
  };
  const nearest = (svg, event) => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    let best = null, least = NEAR * NEAR;
    for (const point of panel(svg).seen()) {
      const away = (point.px - x) ** 2 + (point.py - y) ** 2;
      if (away < least) { least = away; best = point; }
    }
    return best;
  };
  const step = (svg, key) => {
    const { seen, tell } = panel(svg), points = seen();
    if (!points.length) return;
    let at = points.indexOf(svg.told);
    if (at < 0) at = key === "ArrowLeft" ? points.length : -1;
    const here = points[at];
    if (key === "ArrowRight") at = Math.min(at + 1, points.length - 1);
    if (key === "ArrowLeft") at = Math.max(at - 1, 0);
    if ((key === "ArrowDown" || key === "ArrowUp") && here) {
      const order = [...new Set(points.map((point) => point.index))];
      const next = order[order.indexOf(here.index) + (key === "ArrowDown" ? 1 : -1)];
      const found = points.findIndex((point) => point.index === next && point.at >= here.at);
      const first = points.findIndex((point) => point.index === next);
      if (first >= 0) at = found >= 0 ? found : first;
    }
    svg.told = points[Math.max(at, 0)];
    tell(svg.told);
  };
  for (const svg of document.querySelectorAll("svg.panel")) {
    svg.setAttribute("tabindex", "0");
    const move = (event) => {
      const point = nearest(svg, event);
      if (point) { svg.told = point; panel(svg).tell(point); } else hideTip();
    };
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerdown", move);
    svg.addEventListener("pointerleave", hideTip);
    svg.addEventListener("blur", hideTip);
    svg.addEventListener("keydown", (event) => {
      if (event.key.startsWith("Arrow")) { event.preventDefault(); step(svg, event.key); }
      if (event.key === "Escape") hideTip();
    });
  }
  for (const item of document.querySelectorAll(".legend li[data-slot]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    button.title = "show this one alone";
    button.append(...item.childNodes);
    item.append(button);
    button.addEventListener("click", () => {
      const chart = item.closest(".chart"), slot = item.dataset.slot;
      const only = chart.dataset.only === slot ? null : slot;
      if (only === null) delete chart.dataset.only; else chart.dataset.only = only;
      chart.classList.toggle("dim-others", only !== null);
      for (const other of chart.querySelectorAll(".legend button")) {
        other.setAttribute("aria-pressed", String(only !== null && other === button));
      }
      for (const mark of chart.querySelectorAll("svg.panel path")) {
        const own = [...mark.classList].find((name) => /^k\d+$/.test(name));
        mark.classList.toggle("dim", only !== null && own !== undefined && own !== `k${only}`);
      }
    });
  }

  // Rows of tables and conversations: shown where they have every word that is searched for.
  const PAGE = 40;
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const box of document.querySelectorAll("input[data-table]")) {
    const table = document.getElementById(box.dataset.table);
    box.addEventListener("input", () => {
      const wanted = words(box.value);
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = wanted.length > 0 && !wanted.every((word) => text.includes(word));
      }
    });
  }
  const form = document.getElementById("talk-filters");
  if (form) {
    const talks = [...document.querySelectorAll(".talk")], texts = new Map();
    const text = (talk) => {
      if (!texts.has(talk)) texts.set(talk, talk.textContent.toLowerCase());
      return texts.get(talk);
    };
    const fields = [...form.querySelectorAll("select")], search = form.elements.namedItem("find");
    const count = document.getElementById("talk-count");
    const more = document.getElementById("talk-more");
    let most = PAGE;
    const apply = () => {
      const wanted = words(search.value);
      let fit = 0;
      for (const talk of talks) {
        const fits = fields.every((field) => field.value === "" || (field.name === "moment"
          ? talk.dataset.moment.split("|").includes(field.value)
          : talk.dataset[field.name] === field.value))
          && wanted.every((word) => text(talk).includes(word));
        fit += fits ? 1 : 0;
        talk.hidden = !fits || fit > most;
      }
      const shown = Math.min(fit, most);
      count.textContent = `${fit} of ${talks.length}${shown < fit ? `, the first ${shown} shown` : ""}`;
      more.hidden = shown === fit;
      more.textContent = `show ${Math.min(PAGE, fit - shown)} more`;
    };
    more.addEventListener("click", () => { most += PAGE; apply(); });
    const remember = () => {
      const state = new URLSearchParams();
      for (const field of [...fields, search]) if (field.value) state.set(field.name, field.value);
      const query = state.toString();
      history.replaceState(null, "", query ? `#conversations?${query}` : "#conversations");
    };
    const recall = () => {
      const [place, query] = location.hash.split("?");
      if (place !== "#conversations" || !query) return;
      const state = new URLSearchParams(query);
      for (const field of [...fields, search]) field.value = state.get(field.name) || "";
      document.getElementById("conversations").scrollIntoView();
    };
    const changed = () => { most = PAGE; apply(); remember(); };
    form.addEventListener("input", changed);
    form.addEventListener("reset", () => setTimeout(changed));
    form.addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", () => { recall(); apply(); });
    document.getElementById("talk-open").addEventListener("click", (event) => {
      const open = event.currentTarget.dataset.open !== "yes";
      for (const talk of talks) if (!talk.hidden) talk.open = open;
      event.currentTarget.dataset.open = open ? "yes" : "no";
      event.currentTarget.textContent = open ? "close all shown" : "open all shown";
    });
    recall();
    apply();
  }
  root.dataset.ready = "yes";
})();
