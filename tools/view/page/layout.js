// Layout of a function: nested boxes and the edges between them.
//
// Each level is laid out separately. Incoming values of a level enter at ports on its upper edge, outgoing values leave
// at ports on its lower edge: edges of different levels meet at ports.
import { layered } from "./layered.js";
import { bodyTrees } from "./modules.js";
import { shapeText, plural } from "./text.js";
import { edgesOf, isHidden, sourceOf } from "./views.js";

const kPad = 14, kHead = 26, kMostPorts = 24, kLine = 15;

let measuring = null;
const widths = new Map();

export function widthOf(text, font) {
  const key = `${font}|${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    measuring ??= document.createElement("canvas").getContext("2d");
    measuring.font = font;
    width = measuring.measureText(text).width;
    if (widths.size > 50000) widths.clear();
    widths.set(key, width);
  }
  return width;
}

export const kTitleFont = "600 12px system-ui, sans-serif";
export const kTextFont = "11px system-ui, sans-serif";

/** The longest fitting prefix of a text, with an ellipsis if shortened. */
export function fitted(text, font, most) {
  if (widthOf(text, font) <= most) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (widthOf(`${text.slice(0, mid)}…`, font) <= most) low = mid;
    else high = mid - 1;
  }
  return `${text.slice(0, low)}…`;
}

const lastPart = (name) => name.split(".").slice(-1)[0];

function nodeText(item) {
  const { node } = item;
  const lines = [];
  if (node.type) lines.push(shapeText(node.type));
  for (const state of node.weights.slice(0, 2)) lines.push(`${lastPart(state.name)}  ${state.type.sizes.join(" × ") || "scalar"}`);
  if (node.weights.length > 2) lines.push(`and ${node.weights.length - 2} more weights`);
  const last = node.parts.slice(-1)[0] ?? "";
  const module = /^\d+$/.test(last) ? node.parts.slice(-2).join(".") : last;
  const inside = item.parent?.kind === "module" && item.parent.module === node.origin.module;
  return { title: node.title, note: inside ? "" : module, lines };
}

function sizeNode(item) {
  const most = 236;
  const text = nodeText(item);
  const title = fitted(text.title, kTitleFont, most);
  const room = most - widthOf(title, kTitleFont) - 10;
  const note = text.note && room > 30 ? fitted(text.note, kTextFont, room) : "";
  const lines = text.lines.map((l) => fitted(l, kTextFont, most));
  const widest = Math.max(widthOf(title, kTitleFont) + (note ? widthOf(note, kTextFont) + 10 : 0), ...lines.map((l) => widthOf(l, kTextFont)));
  return { w: Math.max(84, Math.ceil(widest) + 24), h: 24 + lines.length * kLine + (lines.length > 0 ? 4 : 0), title, note, lines };
}

function sizeFolded(item) {
  const title = fitted(item.label, kTitleFont, 220);
  const count = item.end - item.begin;
  const lines = [item.repeat ? `${item.repeat.times} × ${plural(Math.round(count / item.repeat.times), "node")}` : plural(count, "node")];
  return { w: Math.max(130, widthOf(title, kTitleFont) + 54), h: 44, title, note: "", lines };
}

/** Items of a level: its nodes and modules, and pills for inputs and results of a function. */
function itemsOf(container, open) {
  const items = [];
  const { fn } = container;
  if (container.kind === "function") {
    fn.inputs.forEach((input, i) => {
      items.push({ kind: "input", id: `${container.id}/in${i}`, input, fn, value: input.value, label: input.name, parent: container });
    });
  }
  for (const child of container.children) items.push(child);
  if (container.kind === "function") {
    fn.outputs.forEach((output, i) => {
      if (output.value === null || output.value < 0) return;
      items.push({ kind: "output", id: `${container.id}/out${i}`, output, fn, value: output.value, label: output.name || `result ${i}`, parent: container });
    });
  }
  return items;
}

function sizePill(item) {
  const title = fitted(item.label, kTitleFont, 190);
  const lines = [fitted(shapeText((item.input ?? item.output).type), kTextFont, 200)];
  return { w: Math.max(90, Math.max(widthOf(title, kTitleFont), widthOf(lines[0], kTextFont)) + 28), h: 40, title, note: "", lines };
}

function sizeItem(item, fn, open) {
  if (item.kind === "input" || item.kind === "output") return sizePill(item);
  if (!open.has(item.id)) return item.kind === "node" ? sizeNode(item) : sizeFolded(item);
  return item.kind === "node" ? layoutBodies(item, open) : layoutLevel(item, fn, open);
}

/** Bodies of control flow, side by side. */
function layoutBodies(leaf, open) {
  const bodies = bodyTrees(leaf, depthOf(leaf));
  const placed = [];
  let x = kPad, h = 0;
  for (const body of bodies) {
    const inner = open.has(`${body.id}/folded`) ? { ...sizeFolded(body), folded: true } : layoutLevel(body, body.fn, open);
    placed.push({ item: body, box: inner, x, y: kHead });
    x += inner.w + kPad;
    h = Math.max(h, inner.h);
  }
  const text = sizeNode(leaf);
  return { w: Math.max(x, text.w + 40), h: kHead + h + kPad, title: text.title, note: text.note, lines: [], open: true, placed, edges: [], ports: { in: new Map(), out: new Map() } };
}

function depthOf(item) {
  for (let at = item; at; at = at.parent) if (at.kind === "function") return at.depth;
  return 0;
}

/** Outside values read by nodes [begin, end), and their values read outside. */
function crossing(fn, begin, end) {
  const taken = new Set(), given = new Set(), edges = edgesOf(fn);
  for (let i = begin; i < end; ++i) {
    const node = fn.nodes[i];
    if (isHidden(node)) continue;
    for (const v of edges.inputs.get(node)) {
      const from = fn.producer.get(v);
      if (!from || from.index < begin) taken.add(v);
    }
    for (const v of node.raw.outputs) {
      if (v === null) continue;
      if (edges.readers.get(v)?.some((n) => n.index >= end) || edges.results.has(v)) given.add(v);
    }
  }
  return { taken, given };
}

function layoutLevel(container, fn, open) {
  if (container.cached) return container.cached;
  const items = itemsOf(container, open);
  const boxes = items.map((item) => sizeItem(item, fn, open));
  const ofNode = new Map();  // the item containing a node
  const ofValue = new Map();  // the item providing a value
  items.forEach((item, i) => {
    if (item.kind === "input") ofValue.set(item.value, i);
    if (item.begin === undefined) return;
    for (let n = item.begin; n < item.end; ++n) {
      ofNode.set(n, i);
      for (const v of fn.nodes[n].raw.outputs) if (v !== null) ofValue.set(v, i);
    }
  });
  // Ports are boxes without a size, in the first and the last layer.
  const { taken, given } = container.kind === "module" ? crossing(fn, container.begin, container.end) : { taken: new Set(), given: new Set() };
  const all = [], inPorts = new Map(), outPorts = new Map();
  const port = (map, list, v) => {
    const at = list.length < kMostPorts ? list.push({ w: 8, h: 0, port: true }) - 1 : list.length - 1;
    map.set(v, at);
  };
  const entering = [], leaving = [];
  for (const v of taken) port(inPorts, entering, v);
  for (const v of given) port(outPorts, leaving, v);
  all.push(...entering, ...boxes, ...leaving);
  const base = entering.length, after = base + boxes.length;
  const edges = new Map();
  const connect = (from, to, v) => {
    if (from === to) return;
    const key = from * all.length + to;
    if (edges.has(key)) edges.get(key).values.add(v);
    else edges.set(key, { from, to, values: new Set([v]) });
  };
  items.forEach((item, i) => {
    const reads = (v) => {
      const from = ofValue.get(v);
      if (from !== undefined) connect(base + from, base + i, v);
      else if (inPorts.has(v)) connect(inPorts.get(v), base + i, v);
    };
    if (item.kind === "output") reads(sourceOf(fn, item.value));
    if (item.begin === undefined) return;
    for (let n = item.begin; n < item.end; ++n) edgesOf(fn).inputs.get(fn.nodes[n])?.forEach(reads);
  });
  for (const [v, at] of outPorts) if (ofValue.has(v)) connect(base + ofValue.get(v), after + at, v);
  const list = [...edges.values()].filter((e) => e.from < e.to);
  const places = layered(all, list, {
    fixed: new Set(entering.map((_, i) => i)),
    bottom: leaving.map((_, i) => after + i),
  });
  const nested = container.kind !== "function" || container.parent;
  const pad = nested ? kPad : 0, head = nested ? kHead : 0;
  const titleWidth = nested ? widthOf(container.label, kTitleFont) + 60 : 0;
  const w = Math.max(places.w + 2 * pad, titleWidth);
  const shift = pad + (w - 2 * pad - places.w) / 2;
  const centre = (i) => places.x[i] + all[i].w / 2 + shift;
  const side = (map, offset) => new Map([...map].map(([v, at]) => [v, centre(offset + at)]));
  const result = {
    w, h: places.h + head + pad, title: container.label, note: "", lines: [], open: true,
    placed: items.map((item, i) => ({ item, box: boxes[i], x: places.x[base + i] + shift, y: places.y[base + i] + head })),
    ports: { in: side(inPorts, 0), out: side(outPorts, after) },
  };
  result.edges = list.map((e, k) => ({
    values: [...e.values],
    from: e.from < base ? { port: centre(e.from) } : { at: e.from - base },
    to: e.to >= after ? { port: centre(e.to) } : { at: e.to - base },
    line: places.lines[k].map((p) => ({ x: p.x + shift, top: p.top + head, bottom: p.bottom + head })),
  }));
  container.cached = result;
  return result;
}

/** Drops the layout of an item and of its ancestors. */
export function changed(item) {
  for (let at = item; at; at = at.parent) at.cached = null;
}

/** The ends of an edge at an open box are at the port of its value. */
function endAt(placed, values, side) {
  const { box } = placed;
  const ports = box.ports?.[side];
  const v = values.find((value) => ports?.has(value));
  return placed.x + (v !== undefined ? ports.get(v) : box.w / 2);
}

function collect(box, x, y, depth, scene, container, fn) {
  box.edges.forEach((e) => {
    const points = [];
    const from = e.from.at !== undefined ? box.placed[e.from.at] : null, to = e.to.at !== undefined ? box.placed[e.to.at] : null;
    points.push(from ? { x: x + endAt(from, e.values, "out"), y: y + from.y + from.box.h } : { x: x + e.from.port, y: y + kHead });
    for (const p of e.line) points.push({ x: x + p.x, y: y + p.top }, { x: x + p.x, y: y + p.bottom });
    points.push(to ? { x: x + endAt(to, e.values, "in"), y: y + to.y } : { x: x + e.to.port, y: y + box.h - kPad });
    if (!from) points.unshift({ x: points[0].x, y });
    if (!to) points.push({ x: points.at(-1).x, y: y + box.h });
    let left = Infinity, right = -Infinity;
    for (const p of points) {
      left = Math.min(left, p.x);
      right = Math.max(right, p.x);
    }
    scene.edges.push({ points, values: e.values, fn, container, open: to === null || to.box.open === true, left, right, top: points[0].y, bottom: points.at(-1).y });
  });
  for (const p of box.placed) {
    const shape = { item: p.item, x: x + p.x, y: y + p.y, w: p.box.w, h: p.box.h, depth, title: p.box.title, note: p.box.note, lines: p.box.lines, open: p.box.open === true };
    scene.shapes.push(shape);
    scene.byId.set(p.item.id, shape);
    if (shape.open) collect(p.box, shape.x, shape.y, depth + 1, scene, p.item, p.item.fn ?? fn);
  }
}

/** All shapes in the order of drawing: outer before inner. */
export function sceneOf(tree, open) {
  const box = layoutLevel(tree, tree.fn, open);
  const scene = { shapes: [], edges: [], byId: new Map(), w: box.w, h: box.h };
  collect(box, 0, 0, 0, scene, tree, tree.fn);
  return scene;
}

/** Initially open modules: the largest, while the picture stays small. Repeated blocks stay folded. */
export function firstOpen(tree) {
  const kEnough = 46;
  const open = new Set();
  let shown = tree.children.length;
  const waiting = tree.children.filter((c) => c.kind === "module" && !c.repeat);
  while (waiting.length > 0) {
    waiting.sort((a, b) => (b.end - b.begin) - (a.end - a.begin));
    const next = waiting.findIndex((c) => shown + c.children.length - 1 <= kEnough);
    if (next < 0) break;
    const [group] = waiting.splice(next, 1);
    open.add(group.id);
    shown += group.children.length - 1;
    waiting.push(...group.children.filter((c) => c.kind === "module" && !c.repeat));
  }
  return open;
}
