"use strict";
// The page of tg.view: draws what is in sight of a graph on a canvas, and tells of a node in the panel.
(() => {
  const D = JSON.parse(document.getElementById("data").textContent);
  const T = D.texts;
  const { LABEL, FULL, TYPES, OPERANDS, NAMES, PLACES, RULES, INNER, KIND, SECONDS, inside, lower } = tgLayout;
  const FONT = 12, HEAD = tgLayout.HEAD, SMALL_LOOP = 40, FEW = 120, TINY = 0.1;
  const $ = (id) => document.getElementById(id);
  const canvas = $("canvas"), pen = canvas.getContext("2d"), panel = $("panel");
  const KINDS = { "elements": "elements", "reductions": "reductions", "products": "products", "movements": "movements",
    "control": "control", "random": "random", "fused loops": "fused", "others": "others" };
  const state = { phase: 0, open: new Set(), selected: null, hits: [], hit: -1, x: 0, y: 0, scale: 1, scene: null, drawn: 0 };
  const layout = tgLayout.of(D, state.open);
  let colours = {};

  // --- drawing ---------------------------------------------------------------------------------------------------------
  function readColours() {
    const style = getComputedStyle(document.documentElement);
    colours = new Proxy({}, { get: (_, name) => style.getPropertyValue("--" + name).trim() });
    colours = Object.fromEntries(["bg", "fg", "muted", "line", "edge", "node", "group", "select", "accent", "hot", "mark", "input", ...Object.values(KINDS)].map((n) => [n, colours[n]]));
  }

  let waiting = false;
  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  function draw() {
    const began = performance.now(), ratio = window.devicePixelRatio || 1;
    const w = canvas.clientWidth, h = canvas.clientHeight;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = colours.bg; pen.fillRect(0, 0, w, h);
    pen.translate(state.x, state.y); pen.scale(state.scale, state.scale);
    const view = { l: -state.x / state.scale, t: -state.y / state.scale, r: (w - state.x) / state.scale, b: (h - state.y) / state.scale };
    state.drawn = 0;
    drawScene(state.scene, 0, 0, view, `${state.phase}`);
    state.frame = performance.now() - began;
  }

  function drawScene(scene, dx, dy, view, path) {
    const hits = state.hitKeys, slowest = state.slowest;
    pen.lineWidth = Math.max(1.1 / Math.max(state.scale, 0.35), 0.4 / state.scale);
    const top = view.t - dy, bottom = view.b - dy, left = view.l - dx, right = view.r - dx;
    pen.strokeStyle = colours.edge;
    let first = lower(scene.edges, (edge) => edge[0].y >= top - scene.longest - 400);
    for (let e = first; e < scene.edges.length; e++) {
      const [a, b] = scene.edges[e];
      if (a.y > bottom) break;
      if (b.y + b.h < top) continue;
      const x1 = a.x + a.w / 2 + dx, y1 = a.y + a.h + dy, x2 = b.x + b.w / 2 + dx, y2 = b.y + dy;
      if (Math.max(x1, x2) - dx < left || Math.min(x1, x2) - dx > right) continue;
      const chosen = state.selected && state.selected.path === path && (state.selected.k === a.k || state.selected.k === b.k);
      pen.globalAlpha = chosen ? 1 : y2 - y1 > 600 ? 0.25 : 0.75;
      pen.strokeStyle = chosen ? colours.select : colours.edge;
      pen.beginPath(); pen.moveTo(x1, y1);
      const bend = Math.min(Math.max((y2 - y1) / 2, 12), 80);
      pen.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2); pen.stroke();
    }
    pen.globalAlpha = 1;
    const texts = state.scale * FONT >= 4.5;
    pen.textBaseline = "middle";
    for (let r = lower(scene.rows, (row) => row.y + row.h >= top); r < scene.rows.length; r++) {
      const row = scene.rows[r];
      if (row.y > bottom) break;
      for (const item of row) {
        if (item.x + item.w < left || item.x > right) continue;
        state.drawn++;
        const node = item.k >= 0 ? D.graphs[scene.number].nodes[item.k] : null, x = item.x + dx, y = item.y + dy;
        pen.fillStyle = node ? colours[KINDS[T[node[KIND]]]] : colours.input;
        box(x, y, item.w, item.h, node ? 5 : 16);
        pen.fill();
        if (node && node[SECONDS] !== null && slowest) {
          pen.fillStyle = `rgba(${colours.hot},${0.85 * Math.sqrt(node[SECONDS] / slowest)})`;
          pen.fill();
        }
        const key = `${path}/${item.k}`, chosen = state.selected && state.selected.path === path && state.selected.k === item.k;
        const same = state.samePlaces && node && !chosen && node[PLACES].some((p) => state.samePlaces.has(p));
        pen.strokeStyle = chosen ? colours.select : hits && hits.has(key) ? colours.accent : same ? colours.accent : colours.line;
        pen.lineWidth = (chosen ? 3 : hits && hits.has(key) ? 2.5 : same ? 1.8 : item.results ? 2 : 1) / Math.max(state.scale, 0.3);
        if (state.scale < TINY) pen.lineWidth = 0.4 / state.scale; // or a program of thousands of nodes is a pale stroke
        pen.setLineDash(same && !(hits && hits.has(key)) ? [4 / state.scale, 3 / state.scale] : []);
        pen.stroke(); pen.setLineDash([]);
        if (texts) {
          pen.fillStyle = colours.fg; pen.font = `${FONT}px ui-monospace, monospace`;
          const badge = node && node[INNER].length ? (item.inside ? "▾ " : "▸ ") : "";
          pen.fillText(badge + item.label, x + 8, y + (item.inside ? HEAD / 2 : 12), item.w - 12);
          if (!item.inside) {
            pen.fillStyle = colours.muted; pen.font = `${FONT - 2}px ui-monospace, monospace`;
            pen.fillText((item.results ? "→ result " + item.results.join(", ") + "  " : "") + item.types, x + 8, y + 25, item.w - 12);
          }
        }
        for (const part of item.inside || []) {
          pen.fillStyle = colours.group; box(x + part.x, y + part.y, part.scene.w, part.scene.h, 5); pen.fill();
          drawScene(part.scene, x + part.x, y + part.y, view, inside(path, item.k, node, part.j));
        }
      }
    }
  }

  function box(x, y, w, h, r) { pen.beginPath(); pen.roundRect(x, y, w, h, Math.min(r, h / 2)); }

  function under(scene, x, y, path) { // the node at a place of a scene
    for (let r = lower(scene.rows, (row) => row.y + row.h >= y); r < scene.rows.length && scene.rows[r].y <= y; r++)
      for (const item of scene.rows[r]) {
        if (x < item.x || x > item.x + item.w || y > item.y + item.h) continue;
        for (const part of item.inside || []) {
          const node = D.graphs[scene.number].nodes[item.k];
          const deeper = under(part.scene, x - item.x - part.x, y - item.y - part.y, inside(path, item.k, node, part.j));
          if (deeper) return deeper;
        }
        return { path, k: item.k, number: scene.number, badge: x < item.x + 24 && y < item.y + HEAD };
      }
    return null;
  }

  function whereIs(target) { // the rectangle of a node in the whole picture, null where it lies in what is closed
    const steps = target.path.split("/").slice(1);
    let scene = state.scene, x = 0, y = 0;
    for (const step of steps) {
      const [k, j] = step.split(":").map(Number), item = scene.at(k);
      if (!item.inside) return null;
      const part = item.inside[j || 0];
      x += item.x + part.x; y += item.y + part.y; scene = part.scene;
    }
    const item = scene.at(target.k);
    return { x: x + item.x, y: y + item.y, w: item.w, h: item.h };
  }

  // --- moving ----------------------------------------------------------------------------------------------------------
  function fit() {
    const w = canvas.clientWidth, h = canvas.clientHeight, s = state.scene;
    state.scale = Math.min(w / s.w, h / s.h, 1.4);
    state.x = (w - s.w * state.scale) / 2; state.y = Math.max((h - s.h * state.scale) / 2, 0);
    redraw();
  }

  function begin() { // all of it where it can be read, else the top
    fit();
    if (state.scale < 0.3) { state.scale = 0.55; state.x = (canvas.clientWidth - state.scene.w * state.scale) / 2; state.y = 8; }
    redraw();
  }

  function centre(rect, scale) {
    if (scale) state.scale = scale;
    state.x = canvas.clientWidth / 2 - (rect.x + rect.w / 2) * state.scale;
    state.y = canvas.clientHeight / 2 - (rect.y + Math.min(rect.h, 200) / 2) * state.scale;
    redraw();
  }

  function zoom(factor, x, y) {
    const scale = Math.min(Math.max(state.scale * factor, 0.004), 4);
    state.x = x - (x - state.x) * scale / state.scale; state.y = y - (y - state.y) * scale / state.scale;
    state.scale = scale; redraw();
  }

  function relaid(keep) {
    const before = keep && whereIs(keep), began = performance.now();
    state.scene = layout(D.phases[state.phase][1], `${state.phase}`);
    state.layoutTime = performance.now() - began;
    const after = before && whereIs(keep);
    if (after) { state.x += (before.x - after.x) * state.scale; state.y += (before.y - after.y) * state.scale; }
    redraw();
  }

  function setPhase(number) {
    const places = state.samePlaces;
    state.phase = number; state.selected = null; state.samePlaces = places;
    $("phase").value = number; $("phasename").textContent = `${D.phases[number][0]}: ${D.graphs[D.phases[number][1]].nodes.length} nodes`;
    openLoops(); relaid(null); search(false); begin();
    const [hit] = places ? found((node) => node[PLACES].some((p) => places.has(p))) : [];
    if (hit) { choose(hit); if (state.scale > 0.3) centre(whereIs(hit)); } else overview();
    state.samePlaces = places; // a phase without a node of these lines does not lose them
  }

  function openLoops() { // fused loops are groups that are open, unless they are large
    const nodes = D.graphs[D.phases[state.phase][1]].nodes;
    nodes.forEach((node, k) => {
      const size = node[INNER].reduce((sum, g) => sum + D.graphs[g].nodes.length, 0);
      if (T[node[KIND]] === "fused loops" && size <= SMALL_LOOP && nodes.length <= FEW) state.open.add(`${state.phase}/${k}`);
    });
  }

  function toggle(target) {
    const key = `${target.path}/${target.k}`;
    if (!D.graphs[target.number].nodes[target.k]?.[INNER].length) return;
    if (state.open.has(key)) state.open.delete(key); else state.open.add(key);
    relaid(target); if ($("search").value) search(false);
  }

  function setAll(isOpen) {
    state.open.clear();
    const walk = (number, path, depth) => D.graphs[number].nodes.forEach((node, k) => {
      if (!node[INNER].length) return;
      state.open.add(`${path}/${k}`);
      if (depth < 6) node[INNER].forEach((g, j) => walk(g, inside(path, k, node, j), depth + 1));
    });
    if (isOpen) walk(D.phases[state.phase][1], `${state.phase}`, 0);
    const shown = state.selected && state.selected.path === `${state.phase}`; // else its surroundings are closed
    relaid(null); begin(); search(false);
    if (shown) choose(state.selected); else overview();
  }

  // --- search ----------------------------------------------------------------------------------------------------------
  function found(matches) {
    const hits = [];
    const walk = (number, path) => D.graphs[number].nodes.forEach((node, k) => {
      if (matches(node)) hits.push({ path, k, number });
      if (state.open.has(`${path}/${k}`)) node[INNER].forEach((g, j) => walk(g, inside(path, k, node, j)));
    });
    walk(D.phases[state.phase][1], `${state.phase}`);
    return hits;
  }

  function search(go) {
    const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) { state.hits = []; state.hitKeys = null; state.hit = -1; $("hits").textContent = ""; redraw(); return; }
    const lines = D.places.map((p) => (p.place + " " + p.lines[p.line - p.first]).toLowerCase());
    const below = (node) => node[INNER].map((g) => D.graphs[g].nodes.map((n) => T[n[LABEL]]).join(" ")).join(" ");
    const itself = [], byLine = []; // a line has many nodes: those that have the words themselves come first
    for (const hit of found(() => true)) {
      const node = D.graphs[hit.number].nodes[hit.k];
      const text = [T[node[FULL]], T[node[LABEL]], T[node[NAMES]], T[node[TYPES]], below(node)].join(" ").toLowerCase();
      if (words.every((word) => text.includes(word))) itself.push(hit);
      else if (words.every((word) => text.includes(word) || node[PLACES].some((p) => lines[p].includes(word)))) byLine.push(hit);
    }
    state.hits = [...itself, ...byLine];
    state.hitKeys = new Set(state.hits.map((hit) => `${hit.path}/${hit.k}`));
    if (go && state.hits.length) {
      state.hit = (state.hit + (go === "back" ? state.hits.length - 1 : 1)) % state.hits.length;
      choose(state.hits[state.hit], true);
    } else state.hit = Math.min(state.hit, state.hits.length - 1);
    $("hits").textContent = state.hits.length ? `${Math.max(state.hit, 0) + 1} of ${state.hits.length}` : "none";
    redraw();
  }

  // --- the panel -------------------------------------------------------------------------------------------------------
  function make(tag, text, cls) { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (cls) e.className = cls; return e; }

  function time(seconds) { return seconds >= 1 ? seconds.toPrecision(3) + " s" : seconds >= 1e-3 ? (seconds * 1e3).toPrecision(3) + " ms" : seconds >= 1e-6 ? (seconds * 1e6).toPrecision(3) + " µs" : (seconds * 1e9).toFixed(0) + " ns"; }

  function choose(target, go) {
    state.selected = target;
    const graph = D.graphs[target.number], node = target.k >= 0 ? graph.nodes[target.k] : null;
    state.samePlaces = node && node[PLACES].length ? new Set(node[PLACES]) : null;
    panel.replaceChildren();
    if (!node) {
      const [name, type] = graph.inputs[-1 - target.k];
      panel.append(make("h2", T[name]), make("div", `input: ${T[type]}`));
    } else {
      panel.append(make("h2", (T[node[NAMES]] ? T[node[NAMES]] + " = " : "") + T[node[LABEL]]));
      const operands = node[OPERANDS].map((o) => typeof o === "string" ? o : o < 0 ? T[graph.inputs[-1 - o][0]] : T[graph.nodes[o][NAMES]] || T[graph.nodes[o][LABEL]]);
      panel.append(make("pre", `${T[node[FULL]]}(${operands.join(", ")}) : ${T[node[TYPES]]}`));
      if (node[SECONDS] !== null) panel.append(make("div", `${time(node[SECONDS])} of a call` + (D.total ? `, ${(100 * node[SECONDS] / D.total).toFixed(1)} % of the program` : "")));
      if (node[INNER].length) { const b = make("button", state.open.has(`${target.path}/${target.k}`) ? "close" : "open what is inside"); b.onclick = () => { toggle(target); choose(target); }; panel.append(b); }
      if (node[PLACES].length) panel.append(make("h2", "your lines"));
      for (const p of node[PLACES]) lines(D.places[p]);
      if (node[RULES].length) panel.append(make("h2", "rewritten by"));
      for (const rule of new Set(node[RULES])) panel.append(make("div", T[rule]), make("div", D.why[T[rule]] || "", "muted"));
      const stretches = node[PLACES].flatMap((p) => D.stretches[D.places[p].place] || []);
      if (D.code) { panel.append(make("h2", stretches.length ? "generated code of these lines" : "generated code")); code(stretches); }
    }
    const b = make("button", "overview", "link"); b.onclick = overview; panel.append(make("p"), b);
    if (go) { const rect = whereIs(target); if (rect) centre(rect, Math.max(state.scale, 0.8)); }
    panel.scrollTop = 0; redraw();
  }

  function lines(place) {
    panel.append(make("div", place.place, "muted"));
    const pre = make("pre");
    place.lines.forEach((line, j) => { const row = make("span", undefined, place.first + j === place.line ? "mark" : ""); row.append(make("span", String(place.first + j).padStart(4) + "  ", "no"), line + "\n"); pre.append(row); });
    if (place.lines.some((line) => line)) panel.append(pre);
  }

  let rows = null;
  function code(stretches) { // only the lines in sight are elements
    rows ||= D.code.split("\n");
    const marks = new Set();
    for (const [first, last] of stretches) for (let j = first; j <= last; j++) marks.add(j);
    const frame = make("pre", undefined, "code"), sheet = make("div");
    sheet.style.cssText = `height:${rows.length * 16}px;width:1px;position:relative;padding:0`;
    frame.append(sheet);
    const show = () => {
      const first = Math.max(Math.floor(frame.scrollTop / 16) - 5, 0), end = Math.min(first + 34, rows.length);
      sheet.replaceChildren();
      for (let j = first; j < end; j++) {
        const row = make("div", rows[j], marks.has(j) ? "mark" : /^\s*(\/\*|#|;|\/\/)/.test(rows[j]) ? "c" : "");
        row.style.top = `${j * 16}px`; sheet.append(row);
      }
    };
    frame.onscroll = show; panel.append(frame);
    if (stretches.length) frame.scrollTop = Math.max(Math.min(...stretches.map((s) => s[0])) * 16 - 32, 0);
    show();
  }

  function overview() {
    state.selected = null; state.samePlaces = null; panel.replaceChildren();
    const graph = D.graphs[D.phases[state.phase][1]];
    panel.append(make("h2", D.title), make("div", `${D.phases[state.phase][0]}: ${graph.inputs.length} inputs, ${graph.nodes.length} nodes, ${graph.outputs.length} results`));
    panel.append(make("p", "Drag to move, wheel to zoom, click a node for its lines, rules and code; ▸ opens what is inside.", "muted"));
    const timed = found((node) => node[SECONDS] !== null).map((hit) => [D.graphs[hit.number].nodes[hit.k], hit]).sort((a, b) => b[0][SECONDS] - a[0][SECONDS]);
    if (timed.length) {
      panel.append(make("h2", "where the time goes"));
      const share = (seconds) => D.total ? `${(100 * seconds / D.total).toFixed(1)} %` : "";
      const row = ([seconds, text, hit]) => [time(seconds), share(seconds), text, hit];
      const parts = timed.map(([node, hit]) => [node[SECONDS], (T[node[NAMES]] ? T[node[NAMES]] + " = " : "") + T[node[LABEL]], hit]);
      const less = parts.slice(20), sum = less.reduce((all, [seconds]) => all + seconds, 0);
      table([...parts.slice(0, 20), ...(less.length ? [[sum, `${less.length} others`, null]] : []), ...D.rest.map(([seconds, text]) => [seconds, text, null])].map(row));
    }
    const counts = new Map();
    for (const node of graph.nodes) counts.set(T[node[LABEL]], (counts.get(T[node[LABEL]]) || 0) + 1);
    panel.append(make("h2", "how often"));
    table([...counts].sort((a, b) => b[1] - a[1]).slice(0, 25).map(([label, n]) => [String(n), "", label, null]));
    if (D.code) { panel.append(make("h2", "generated code")); code([]); }
    redraw();
  }

  function table(cells) {
    const body = make("table");
    for (const [a, b, text, hit] of cells) {
      const tr = make("tr"), last = make("td");
      if (hit) { const button = make("button", text, "link"); button.onclick = () => choose(hit, true); last.append(button); } else last.textContent = text;
      tr.append(make("td", a, "r"), make("td", b, "r"), last); body.append(tr);
    }
    panel.append(body);
  }

  function legend() {
    const kinds = new Set(D.phases.flatMap(([, g]) => D.graphs[g].nodes.map((node) => T[node[KIND]])));
    for (const kind of kinds) { const e = make("span"), i = make("i"); i.style.background = `var(--${KINDS[kind]})`; e.append(i, kind); $("legend").append(e); }
    if (state.slowest) { const e = make("span"), i = make("i"); i.style.background = `rgb(${colours.hot})`; e.append(i, `time, up to ${time(state.slowest)}`); $("legend").append(e); }
    $("legend").append(make("span", "→ result"), make("span", "dashed: of the same line as what is selected"));
  }

  // --- events ----------------------------------------------------------------------------------------------------------
  let drag = null;
  const fingers = new Map(); // what touches the canvas: two zoom
  canvas.addEventListener("pointerdown", (e) => {
    fingers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    drag = { x: e.offsetX, y: e.offsetY, moved: fingers.size > 1 }; canvas.setPointerCapture(e.pointerId);
  });
  function pinch(e) {
    const before = fingers.get(e.pointerId), [other] = [...fingers].filter(([id]) => id !== e.pointerId).map(([, at]) => at);
    const apart = (at) => Math.max(Math.hypot(at.x - other.x, at.y - other.y), 1), after = { x: e.offsetX, y: e.offsetY };
    fingers.set(e.pointerId, after);
    zoom(apart(after) / apart(before), (before.x + other.x) / 2, (before.y + other.y) / 2);
    state.x += (after.x - before.x) / 2; state.y += (after.y - before.y) / 2; // the middle goes along
    drag = null;
  }
  canvas.addEventListener("pointermove", (e) => {
    if (fingers.size > 1 && fingers.has(e.pointerId)) { pinch(e); return; }
    if (!drag) return;
    const dx = e.offsetX - drag.x, dy = e.offsetY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    state.x += dx; state.y += dy; drag = { x: e.offsetX, y: e.offsetY, moved: true }; redraw();
  });
  canvas.addEventListener("pointercancel", (e) => { fingers.delete(e.pointerId); drag = null; });
  canvas.addEventListener("pointerup", (e) => {
    fingers.delete(e.pointerId);
    if (drag && !drag.moved) {
      const hit = under(state.scene, (e.offsetX - state.x) / state.scale, (e.offsetY - state.y) / state.scale, `${state.phase}`);
      if (!hit) overview(); else { if (hit.badge) toggle(hit); choose(hit); }
    }
    drag = null;
  });
  canvas.addEventListener("dblclick", (e) => zoom(1.8, e.offsetX, e.offsetY));
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0015)), e.offsetX, e.offsetY); }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[e.key];
    if (step) { state.x += step[0]; state.y += step[1]; redraw(); e.preventDefault(); }
    else if (e.key === "+" || e.key === "-") zoom(e.key === "+" ? 1.25 : 0.8, canvas.clientWidth / 2, canvas.clientHeight / 2);
  });
  document.addEventListener("keydown", (e) => { if (e.key === "/" && e.target !== $("search")) { $("search").focus(); e.preventDefault(); } });
  $("search").addEventListener("input", () => { state.hit = -1; search(false); });
  $("search").addEventListener("keydown", (e) => { if (e.key === "Enter") search(e.shiftKey ? "back" : "on"); else if (e.key === "Escape") { $("search").value = ""; search(false); } });
  $("phase").addEventListener("input", (e) => setPhase(Number(e.target.value)));
  $("fit").onclick = fit; $("open").onclick = () => setAll(true); $("close").onclick = () => setAll(false);
  new ResizeObserver(redraw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); redraw(); });

  state.slowest = D.graphs.reduce((most, g) => g.nodes.reduce((m, node) => Math.max(m, node[SECONDS] || 0), most), 0);
  readColours(); legend();
  $("phase").max = D.phases.length - 1;
  setPhase(D.phases.length - 1);
  window.tgView = { state, data: D, whereIs, choose, setPhase, draw };
})();
