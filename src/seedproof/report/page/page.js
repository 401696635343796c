"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;

  // Light or dark: follow the system until the button is pressed.
  const theme = document.getElementById("theme");
  const setDark = (dark) => {
    root.classList.toggle("dark", dark);
    theme.textContent = dark ? "Light" : "Dark";
    theme.setAttribute("aria-pressed", String(dark));
  };
  setDark(window.matchMedia("(prefers-color-scheme: dark)").matches);
  theme.addEventListener("click", () => setDark(!root.classList.contains("dark")));

  // Charts. The expression interpreter (`ast`) needs no eval, so the page's policy forbids it.
  const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  const specs = new Map(data.figures.map((figure) => [figure.name, figure]));
  const draw = async (place) => {
    const figure = specs.get(place.id.slice(2));
    if (!figure || place.firstChild) return;
    await vegaEmbed(place, figure.spec, options);
    const svg = place.querySelector("svg");
    if (svg) svg.setAttribute("aria-hidden", "true");
    if (figure.points.length) readable(place, figure.points);
  };

  // On a phone most sections start folded; their titles are their findings. A chart is drawn when
  // its section opens, because a hidden element has no width.
  if (window.matchMedia("(max-width: 640px)").matches) {
    document.querySelectorAll(".topic > .body").forEach((body, index) => {
      const title = body.parentElement.querySelector("h2");
      const button = document.createElement("button");
      button.type = "button";
      button.className = "fold";
      button.append(...title.childNodes);
      title.append(button);
      const fold = (closed) => {
        body.hidden = closed;
        button.setAttribute("aria-expanded", String(!closed));
        if (!closed) body.querySelectorAll(".plot").forEach(draw);
      };
      button.addEventListener("click", () => fold(!body.hidden));
      fold(index > 1);
    });
    document.querySelectorAll(".contents a").forEach((link) => link.addEventListener("click", () => {
      const button = document.querySelector(link.getAttribute("href") + " .fold[aria-expanded=false]");
      if (button) button.click();
    }));
    window.addEventListener("beforeprint", () => document.querySelectorAll(".fold[aria-expanded=false]").forEach((button) => button.click()));
  }
  const visible = [...document.querySelectorAll(".plot")].filter((place) => place.offsetParent !== null);
  Promise.all(visible.map(draw)).then(() => { document.body.dataset.charts = String(visible.length); });

  // Arrow keys step through the marks of a chart and read them out.
  function readable(place, points) {
    const line = document.createElement("p");
    line.className = "reading";
    line.setAttribute("role", "status");
    place.after(line);
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-roledescription", "chart; arrow keys read its values");
    let at = -1;
    place.addEventListener("focus", () => { if (at < 0) line.textContent = "← → read the values"; });
    place.addEventListener("blur", () => { line.textContent = ""; at = -1; });
    place.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -points.length, End: points.length }[event.key];
      if (!step) return;
      event.preventDefault();
      at = Math.min(Math.max(at + step, 0), points.length - 1);
      line.textContent = `${at + 1} of ${points.length}: ${points[at]}`;
    });
  }

  // The table of unstable examples. Data from the user is inserted as text, never as markup.
  const table = document.getElementById("examples");
  if (!table) return;
  const body = table.tBodies[0];
  const search = document.getElementById("search");
  const order = document.getElementById("order");
  const count = document.getElementById("count");
  const more = document.getElementById("more");
  const first = window.matchMedia("(max-width: 640px)").matches ? 6 : 12;
  let size = first;
  let [key, down] = order.value.split(" ");
  down = down === "down";
  const words = data.examples.map((row) => [row.example, row.label, row.consensus, ...Object.values(row.shown)].join("\n").toLowerCase());

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const svgElement = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
    return made;
  };
  const cell = (name, className, content) => {
    const made = element("td", className);
    if (name) made.dataset.name = name;
    made.append(...content);
    return made;
  };

  function line(row) {
    const made = element("tr");
    const texts = Object.values(row.shown).map((text) => element("span", "text", text));
    made.append(cell("", "", [...texts, element("span", texts.length ? "id" : "", texts.length ? "#" + row.example : row.example)]));
    const bar = element("div", "votes");
    for (const [, votes] of row.votes) {
      const part = element("i");
      part.style.flex = String(votes);
      bar.append(part);
    }
    made.append(cell("", "", [bar, element("span", "vote-counts", row.votes.map(([name, votes]) => `${name} (${votes})`).join(", "))]));
    if (data.has_probs) {
      const strip = svgElement("svg", { viewBox: "0 0 140 20", class: "strip", role: "img", "aria-label": "probabilities of the runs: " + row.probs.map((p) => p.toFixed(2)).join(", ") });
      strip.append(svgElement("line", { x1: 2, x2: 138, y1: 18, y2: 18, class: "base" }), svgElement("line", { x1: 70, x2: 70, y1: 2, y2: 18, class: "half" }));
      for (const p of row.probs) strip.append(svgElement("line", { x1: 2 + 136 * p, x2: 2 + 136 * p, y1: 5, y2: 18 }));
      made.append(cell("", "", [strip]));
    }
    if (data.has_labels) {
      const parts = [row.label === null ? "–" : row.label];
      if (row.is_tie) parts.push(element("span", "vote-counts tie", "tie"));
      else if (row.label !== null && row.label !== row.consensus) parts.push(element("span", "wrong", "majority wrong"));
      made.append(cell("right answer", "", parts));
    }
    made.append(cell("entropy", "n", [row.entropy.toFixed(2)]));
    if (data.has_probs) made.append(cell("mean", "n", [row.mean.toFixed(2)]), cell("sd", "n", [row.sd.toFixed(2)]));
    return made;
  }

  const collator = new Intl.Collator("en", { numeric: true });
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a ?? ""), String(b ?? "")));

  function show() {
    const wanted = search.value.trim().toLowerCase();
    const matches = data.examples.map((row, i) => [row, i]).filter(([, i]) => words[i].includes(wanted));
    matches.sort(([a, i], [b, j]) => (down ? -1 : 1) * compare(a[key], b[key]) || i - j);
    body.replaceChildren(...matches.slice(0, size).map(([row]) => line(row)));
    count.textContent = `${Math.min(size, matches.length)} of ${matches.length} shown`;
    more.hidden = matches.length <= size;
    for (const head of table.tHead.rows[0].cells) {
      const button = head.querySelector("button");
      if (button && button.dataset.key === key) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }
  search.addEventListener("input", () => { size = first; show(); });
  order.addEventListener("change", () => {
    const [name, direction] = order.value.split(" ");
    key = name;
    down = direction === "down";
    show();
  });
  more.addEventListener("click", () => { size += 20; show(); });
  table.tHead.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    down = button.dataset.key === key ? !down : !["example", "label"].includes(button.dataset.key);
    key = button.dataset.key;
    show();
  });
  show();
})();
