"use strict";
// Graphs in layers: by the longest path, in the order of the means of neighbours, O(n log n) for each sweep.
const tgLayout = (() => {
  const LABEL = 0, FULL = 1, TYPES = 2, OPERANDS = 3, NAMES = 4, PLACES = 5, RULES = 6, INNER = 7, KIND = 8, SECONDS = 9;
  const WIDE = 7.2, HIGH = 34, GAP = 14, BETWEEN = 30, PAD = 10, HEAD = 22, MOST_WIDE = 6000, SWEEPS = 6;

  // the path of a graph inside a node: steps of nodes, and which of several graphs
  const inside = (path, k, node, j) => `${path}/${k}` + (node[INNER].length > 1 ? `:${j}` : "");

  function lower(list, holds) { // the first of a sorted list for which something holds
    let low = 0, high = list.length;
    while (low < high) { const mid = (low + high) >> 1; if (holds(list[mid])) high = mid; else low = mid + 1; }
    return low;
  }

  function of(D, open) { // the function that lays out a graph, with what is open in it
    const T = D.texts;
  const layouts = new Map(); // by graph and what is open in it

  function openKey(path) {
    return [...open].filter((key) => key.startsWith(path + "/")).sort().join(" ");
  }

  function layout(number, path) {
    const key = number + "|" + openKey(path).replaceAll(path + "/", "/");
    let scene = layouts.get(key);
    if (!scene) layouts.set(key, scene = laidOut(D.graphs[number], number, path));
    return scene;
  }

  function laidOut(graph, number, path) {
    const count = graph.nodes.length, uses = graph.inputs.map(() => []), items = [];
    const results = new Map();
    graph.outputs.forEach((k, place) => { if (k !== null) results.set(k, [...(results.get(k) || []), place]); });
    for (let k = 0; k < count; k++) {
      const node = graph.nodes[k], sources = new Set();
      for (const operand of node[OPERANDS]) if (typeof operand === "number") sources.add(operand);
      const names = T[node[NAMES]], label = names ? `${names} = ${T[node[LABEL]]}` : T[node[LABEL]];
      const item = { k, label: shortened(label), types: T[node[TYPES]], from: [...sources], to: [], rank: 0, inside: null, results: results.get(k) || null };
      const isOpen = node[INNER].length && open.has(`${path}/${k}`);
      if (isOpen) item.inside = node[INNER].map((inner, j) => ({ scene: layout(inner, inside(path, k, node, j)), x: 0, y: 0, j }));
      const below = item.types.length + (item.results ? 12 + 3 * item.results.length : 0);
      const wide = Math.max(item.label.length + (node[INNER].length ? 2 : 0), below * 0.85) * WIDE + 18;
      item.w = Math.min(Math.max(wide, 54), 360); item.h = HIGH;
      if (item.inside) {
        let x = PAD, high = 0;
        for (const part of item.inside) { part.x = x; part.y = HEAD; x += part.scene.w + PAD; high = Math.max(high, part.scene.h); }
        item.w = Math.max(item.w, x); item.h = high + HEAD + PAD;
      }
      items.push(item);
    }
    graph.inputs.forEach(([name, type], j) => {
      const wide = Math.max(T[name].length, T[type].length * 0.85) * WIDE + 18;
      items.push({ k: -1 - j, label: shortened(T[name]), types: T[type], from: [], to: [], rank: 0, w: Math.min(Math.max(wide, 54), 300), h: HIGH, inside: null, results: results.get(-1 - j) || null });
    });
    const at = (k) => items[k >= 0 ? k : count - 1 - k];
    for (let k = 0; k < count; k++) for (const source of items[k].from) {
      items[k].rank = Math.max(items[k].rank, at(source).rank + 1);
      at(source).to.push(k);
    }
    for (let k = 0; k < count; k++) items[k].isTree = items[k].from.every((s) => (s < 0 || at(s).isTree) && at(s).to.length === 1);
    const readersFirst = [...items.slice(0, count).reverse(), ...items.slice(count)];
    for (const item of readersFirst) { // inputs, what is made of nothing else, and what has many readers stand above the first of these
      if (item.to.length && (item.isTree || item.to.length >= item.from.length))
        item.rank = Math.max(item.rank, Math.min(...item.to.map((k) => items[k].rank)) - 1);
    }
    const shown = items.filter((item) => item.k >= 0 || item.to.length || item.results || graph.inputs.length < 60);
    const ranks = [];
    for (const item of shown) (ranks[item.rank] ||= []).push(item);
    const layers = ranks.filter(Boolean);
    for (const layer of layers) pack(layer, null);
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      const down = sweep % 2 === 0, order = down ? layers : [...layers].reverse();
      for (const layer of order) pack(layer, (item) => {
        const near = down ? item.from : item.to;
        if (!near.length) return sweep < SWEEPS - 1 && (down ? item.to : item.from).length === 0 ? null : item.x + item.w / 2;
        let sum = 0;
        for (const k of near) { const other = at(k); sum += other.x + other.w / 2; }
        return sum / near.length;
      });
    }
    const rows = layers.flatMap(split);
    let left = Infinity, right = -Infinity;
    for (const row of rows) for (const item of row) { left = Math.min(left, item.x); right = Math.max(right, item.x + item.w); }
    let y = PAD;
    for (const row of rows) {
      const high = Math.max(...row.map((item) => item.h));
      for (const item of row) { item.x += PAD - left; item.y = y; }
      row.y = y; row.h = high;
      y += high + BETWEEN;
    }
    const edges = [];
    for (const item of shown) for (const source of item.from) edges.push([at(source), item]);
    edges.sort((a, b) => a[0].y - b[0].y);
    const longest = Math.max(0, ...edges.map(([a, b]) => b.y - a.y));
    return { number, rows, edges, longest, at, w: shown.length ? right - left + 2 * PAD : 60, h: shown.length ? y - BETWEEN + PAD : 30 };
  }

  function shortened(text) { return text.length > 46 ? text.slice(0, 45) + "…" : text; }

  function pack(layer, wanted) { // places in the order of what is wanted, none over another, as near to it as their mean can be
    if (!wanted) {
      let x = 0;
      for (const item of layer) { item.x = x; x += item.w + GAP; }
      return;
    }
    const places = new Map();
    for (const item of layer) { const place = wanted(item); places.set(item, place === null ? item.x + item.w / 2 : place); }
    layer.sort((a, b) => places.get(a) - places.get(b));
    const blocks = []; // neighbours that touch are one block, whose place is the mean of what its members want
    layer.forEach((item, place) => {
      let block = { start: place, w: item.w + GAP, sum: places.get(item) - item.w / 2, n: 1 };
      while (blocks.length) {
        const last = blocks[blocks.length - 1];
        if (last.sum / last.n + last.w <= block.sum / block.n) break;
        blocks.pop();
        block = { start: last.start, w: last.w + block.w, sum: last.sum + block.sum - block.n * last.w, n: last.n + block.n };
      }
      blocks.push(block);
    });
    for (const block of blocks) {
      let x = block.sum / block.n;
      for (let place = block.start; place < block.start + block.n; place++) { layer[place].x = x; x += layer[place].w + GAP; }
    }
  }

  function split(layer) { // nothing in a layer reads another of it, so a wide one may be several rows
    const wide = layer.reduce((sum, item) => sum + item.w + GAP, 0);
    if (wide <= MOST_WIDE) return [layer];
    const rows = [], centre = layer.reduce((sum, item) => sum + item.x + item.w / 2, 0) / layer.length;
    let row = [], x = 0;
    for (const item of layer) {
      if (x + item.w > MOST_WIDE) { rows.push(row); row = []; x = 0; }
      item.x = x; x += item.w + GAP; row.push(item);
    }
    rows.push(row);
    for (const one of rows) { const end = one[one.length - 1]; for (const item of one) item.x += centre - (end.x + end.w) / 2; }
    return rows;
  }

    return layout;
  }

  return { of, inside, lower, HEAD, LABEL, FULL, TYPES, OPERANDS, NAMES, PLACES, RULES, INNER, KIND, SECONDS };
})();
