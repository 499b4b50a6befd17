// The canvas with the graph of a function: moving, zooming, choosing, folding, by pointer and by keyboard.
import { palette } from "./colors.js";
import { el, say } from "./dom.js";
import { drawScene } from "./draw.js";
import { changed, firstOpen, sceneOf } from "./layout.js";
import { canOpen, bodyTrees, treeOf } from "./modules.js";
import { largestOf, totalOf } from "./paint.js";
import { plural, typeText } from "./text.js";
import { edgesOf, hiddenViews, sourceOf, standInOf } from "./views.js";

const kLeast = 0.02, kMost = 3;

/** A screen reader's text for an item. */
export function spoken(item) {
  if (item.kind === "input") return `input ${item.label}, ${typeText(item.input.type)}`;
  if (item.kind === "output") return `result ${item.label}, ${typeText(item.output.type)}`;
  if (item.kind !== "node") return `module ${item.label}, ${plural(item.end - item.begin, "node")}`;
  const { node } = item;
  return `${node.op} ${node.index}, ${typeText(node.type)}${node.origin.module ? `, in ${node.origin.module}` : ""}`;
}

export class GraphView {
  /** `chosen(item)` is called for each choice of the user. */
  constructor(model, chosen) {
    this.model = model;
    this.onChosen = chosen;
    this.canvas = el("canvas", { tabindex: 0, role: "application", "aria-roledescription": "graph",
      "aria-label": `Graph of ${model.name}. Arrow keys follow edges, Enter opens and folds, / searches, ? lists the keys.` });
    this.caption = el("p", { class: "caption" });
    this.element = el("div", { class: "graph" }, this.canvas, this.caption);
    this.state = { paint: { of: null }, selected: null, chosen: null, found: null, differences: null, largest: 0, total: 0 };
    this.at = { x: 0, y: 0, zoom: 1 };
    this.frames = 0;
    this.trees = new Map();
    new ResizeObserver(() => this.resized()).observe(this.element);
    document.addEventListener("theme", () => { this.colors = palette(); this.draw(); });
    this.colors = palette();
    this.listen();
    this.scene = { shapes: [], edges: [], byId: new Map(), w: 1, h: 1 };
    if (model.functions.length === 0) this.caption.textContent = `${model.name} · no functions`;
    this.show(model.functions.find((f) => f.entry) ?? model.functions[0]);
  }

  show(fn) {
    if (!fn) return;
    if (!this.trees.has(fn)) {
      const tree = treeOf(fn);
      this.trees.set(fn, { tree, open: firstOpen(tree) });
    }
    Object.assign(this, this.trees.get(fn));
    this.fn = fn;
    this.select(null, false);
    this.layout();
    this.fitted = false;
    this.fit();
    this.onShown?.(fn);
  }

  layout() {
    this.scene = sceneOf(this.tree, this.open);
    const hidden = hiddenViews(this.fn);
    this.caption.textContent = `${this.model.name} · ${this.fn.name} · ${plural(this.fn.nodes.length, "node")}${hidden ? `, ${plural(hidden, "view")} hidden` : ""}`;
    this.draw();
  }

  /** Rebuilds the trees after hiding other nodes. Open items stay open, and the picture stays in place. */
  rebuild() {
    if (!this.tree) return;
    const selected = this.state.selected && this.itemOf(this.state.selected);
    for (const [fn, shown] of this.trees) shown.tree = treeOf(fn);
    Object.assign(this, this.trees.get(this.fn));
    this.layout();
    this.paintBy(this.state.paint);  // hidden views count as nothing
    const node = selected?.kind === "node" ? standInOf(selected.node) : null;
    if (node) this.goTo(node);
    else {
      this.select(selected && this.itemOf(selected.id) ? selected.id : null, false);
      this.fit();
    }
  }

  // Painting.

  paintBy(paint) {
    this.state.paint = paint;
    this.state.largest = paint.of ? largestOf([this.model], paint) : 0;
    this.state.total = paint.of ? totalOf(this.model, paint) : 0;
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.drawNow();
    });
  }

  drawNow() {
    const context = this.canvas.getContext("2d");
    const { x, y, zoom } = this.at;
    const ratio = this.ratio ?? 1, w = this.canvas.width / ratio, h = this.canvas.height / ratio;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.colors.back;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.setTransform(zoom * ratio, 0, 0, zoom * ratio, x * ratio, y * ratio);
    const view = { left: -x / zoom, top: -y / zoom, right: (w - x) / zoom, bottom: (h - y) / zoom };
    drawScene(context, this.scene, view, zoom, this.state, this.colors);
    ++this.frames;
  }

  resized() {
    const box = this.element.getBoundingClientRect();
    if (box.width === 0) return;
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    // Whole pixels keep text sharp.
    this.canvas.width = Math.floor(box.width * this.ratio);
    this.canvas.height = Math.floor(box.height * this.ratio);
    this.canvas.style.width = `${this.canvas.width / this.ratio}px`;
    this.canvas.style.height = `${this.canvas.height / this.ratio}px`;
    if (!this.fitted) this.fit();
    this.draw();
  }

  // Moving.

  size() {
    return { w: this.canvas.width / (this.ratio ?? 1), h: this.canvas.height / (this.ratio ?? 1) };
  }

  /** Shows the whole graph, or its upper end if the whole would be unreadably small. */
  fit(all = false) {
    const { w, h } = this.size();
    if (this.canvas.clientWidth === 0) return;
    this.fitted = true;
    const whole = Math.min((w - 48) / this.scene.w, (h - 72) / this.scene.h, 1.25);
    const zoom = Math.max(kLeast, all ? whole : Math.max(whole, Math.min(0.85, (w - 48) / this.scene.w)));
    this.at = { zoom, x: (w - this.scene.w * zoom) / 2, y: Math.max(24, whole === zoom ? (h - 24 - this.scene.h * zoom) / 2 : 24) };
    this.draw();
  }

  zoomBy(factor, px, py) {
    const zoom = Math.min(kMost, Math.max(kLeast, this.at.zoom * factor)), real = zoom / this.at.zoom;
    const { w, h } = this.size();
    const cx = px ?? w / 2, cy = py ?? h / 2;
    this.at = { zoom, x: cx - (cx - this.at.x) * real, y: cy - (cy - this.at.y) * real };
    this.draw();
  }

  panBy(dx, dy) {
    this.at.x += dx;
    this.at.y += dy;
    this.draw();
  }

  /** Scrolls to the shape. */
  reveal(id, centred = false) {
    const s = this.scene.byId.get(id);
    if (!s) return;
    if (this.at.zoom < 0.5 && centred) this.at.zoom = 0.8;
    const { w, h } = this.size(), { x, y, zoom } = this.at;
    const left = s.x * zoom + x, top = s.y * zoom + y, right = left + s.w * zoom, bottom = top + Math.min(s.h * zoom, h / 2);
    if (!centred && left >= 16 && right <= w - 16 && top >= 16 && bottom <= h - 48) return;
    if (centred || right < 0 || left > w || bottom < 0 || top > h) {
      this.at.x = w / 2 - (s.x + s.w / 2) * zoom;
      this.at.y = h / 2 - (s.y + Math.min(s.h, h / zoom / 2) / 2) * zoom;
    } else {
      this.panBy(left < 16 ? 16 - left : right > w - 16 ? Math.max(w - 16 - right, 16 - left) : 0,
        top < 16 ? 16 - top : bottom > h - 48 ? h - 48 - bottom : 0);
    }
    this.draw();
  }

  // Choosing.

  itemOf(id) { return this.scene.byId.get(id)?.item ?? null; }

  select(id, tell = true) {
    this.state.selected = id;
    const item = id ? this.itemOf(id) : null;
    const owner = item ? this.functionOf(item) : null;
    const values = !item ? [] : item.kind === "node" ? [...edgesOf(item.node.fn).inputs.get(item.node) ?? [], ...item.node.raw.outputs.filter((v) => v !== null)]
      : item.value !== undefined ? [sourceOf(item.fn, item.value)] : [];
    this.state.chosen = item ? { values: new Set(values), fn: owner } : null;
    this.draw();
    if (!tell) return;
    if (item) say(spoken(item));
    this.onChosen(item, this);
  }

  functionOf(item) {
    for (let at = item.kind === "function" ? item.parent ?? item : item; at; at = at.parent) if (at.kind === "function") return at.fn;
    return this.fn;
  }

  toggle(item) {
    const id = item.kind === "function" ? `${item.id}/folded` : item.id;
    if (item.kind !== "function" && !canOpen(item)) return false;
    const before = this.scene.byId.get(item.id);
    this.open.has(id) ? this.open.delete(id) : this.open.add(id);
    if (item.repeat && this.open.has(id)) this.open.add(item.repeat.first.id);  // shows the first of the equal blocks
    if (item.kind === "node") bodyTrees(item, 0);
    changed(item);
    this.layout();
    // Keeps the item's position on the screen.
    const after = this.scene.byId.get(item.id);
    if (before && after) {
      this.at.x += (before.x + before.w / 2 - after.x - after.w / 2) * this.at.zoom;
      this.at.y += (before.y - after.y) * this.at.zoom;
    }
    this.reveal(item.id);
    say(`${item.label ?? item.node.title} ${this.scene.byId.get(item.id)?.open ? "open" : "folded"}`);
    return true;
  }

  /** Opens or folds all modules; bodies of control flow stay unchanged. */
  openAll(open) {
    if (!this.tree) return;
    const walk = (item) => {
      item.cached = null;
      if (item.kind === "module") open ? this.open.add(item.id) : this.open.delete(item.id);
      for (const child of item.children ?? item.bodies ?? []) walk(child);
    };
    walk(this.tree);
    this.layout();
    this.fit();
  }

  /** Opens a node's ancestors, chooses the node and scrolls to it. Looks into bodies if necessary. */
  goTo(chosen, tell = true) {
    const node = standInOf(chosen);
    if (!node) return false;
    const path = pathTo(this.tree, node, this.model, 0) ?? (() => {
      const entry = this.model.functions.find((f) => f.entry && f !== this.fn && (f === node.fn || pathTo(treeOf(f), node, this.model, 0)));
      if (entry) this.show(entry);
      return entry ? pathTo(this.tree, node, this.model, 0) : null;
    })();
    if (!path) return false;
    for (const item of path.slice(0, -1)) {
      if (item.kind !== "function") this.open.add(item.id);
      else this.open.delete(`${item.id}/folded`);
      item.cached = null;
    }
    this.layout();
    const leaf = path.at(-1);
    this.select(leaf.id, tell);
    this.reveal(leaf.id, true);
    return true;
  }

  shapeAt(px, py) {
    const x = (px - this.at.x) / this.at.zoom, y = (py - this.at.y) / this.at.zoom;
    for (let i = this.scene.shapes.length - 1; i >= 0; --i) {
      const s = this.scene.shapes[i];
      if (x >= s.x && x <= s.x + s.w && y >= s.y && y <= s.y + s.h) return s;
    }
    return null;
  }

  listen() {
    const c = this.canvas;
    let from = null;
    c.addEventListener("pointerdown", (e) => {
      c.setPointerCapture(e.pointerId);
      from = { x: e.offsetX, y: e.offsetY, moved: false };
    });
    c.addEventListener("pointermove", (e) => {
      if (!from) {
        const s = this.shapeAt(e.offsetX, e.offsetY);
        c.style.cursor = s && (!s.open || e.offsetY < s.y * this.at.zoom + this.at.y + 26 * this.at.zoom) ? "pointer" : "grab";
        return;
      }
      if (Math.abs(e.offsetX - from.x) + Math.abs(e.offsetY - from.y) > 4) from.moved = true;
      if (!from.moved) return;
      this.panBy(e.offsetX - (from.px ?? from.x), e.offsetY - (from.py ?? from.y));
      [from.px, from.py] = [e.offsetX, e.offsetY];
    });
    c.addEventListener("pointerup", (e) => {
      if (from && !from.moved) this.clicked(e);
      from = null;
    });
    c.addEventListener("dblclick", (e) => {
      const s = this.shapeAt(e.offsetX, e.offsetY);
      if (s) this.toggle(s.item);
    });
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      if (e.ctrlKey || e.metaKey) this.zoomBy(Math.exp(-e.deltaY / 180), e.offsetX, e.offsetY);
      else if (e.shiftKey) this.panBy(-e.deltaY, 0);
      else this.panBy(-e.deltaX, -e.deltaY);
    }, { passive: false });
    c.addEventListener("keydown", (e) => { if (!e.ctrlKey && !e.metaKey && !e.altKey && this.key(e)) e.preventDefault(); });
  }

  clicked(e) {
    const s = this.shapeAt(e.offsetX, e.offsetY);
    this.canvas.focus();
    if (!s) return this.select(null);
    this.select(s.item.id);
    // A click on the triangle opens or folds.
    const x = (e.offsetX - this.at.x) / this.at.zoom - s.x, y = (e.offsetY - this.at.y) / this.at.zoom - s.y;
    if (x < 26 && y < 26 && (canOpen(s.item) || s.item.kind === "function")) this.toggle(s.item);
  }

  key(e) {
    const step = 80;
    const moves = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const move = moves[e.key];
    if (move && e.shiftKey) return this.panBy(-move[0] * step, -move[1] * step), true;
    if (move) return this.walk(...move), true;
    switch (e.key) {
      case "Enter": case " ": {
        const item = this.state.selected && this.itemOf(this.state.selected);
        if (item) this.toggle(item);
        return true;
      }
      case "Escape": case "Backspace": {
        const item = this.state.selected && this.itemOf(this.state.selected);
        this.select(item?.parent?.parent ? item.parent.id : null);
        if (this.state.selected) this.reveal(this.state.selected);
        return true;
      }
      case "+": case "=": return this.zoomBy(1.25), true;
      case "-": return this.zoomBy(0.8), true;
      case "0": return this.fit(true), true;
      case "f": return this.fit(), true;
      case "o": return this.openAll(true), true;
      case "c": return this.openAll(false), true;
      case "Home": return this.choose(this.scene.shapes[0]), true;
      case "End": return this.choose(this.scene.shapes.at(-1)), true;
      default: return false;
    }
  }

  choose(shape) {
    if (!shape) return;
    this.select(shape.item.id);
    this.reveal(shape.item.id);
  }

  /** Moves to the nearest shape in this direction. */
  walk(dx, dy) {
    const from = this.scene.byId.get(this.state.selected);
    if (!from) return this.choose(this.scene.shapes[0]);
    const fx = from.x + from.w / 2, fy = from.open ? from.y : from.y + from.h / 2;
    let best = null, least = Infinity;
    for (const s of this.scene.shapes) {
      if (s === from) continue;
      const x = s.x + s.w / 2 - fx, y = (s.open ? s.y : s.y + s.h / 2) - fy;
      const along = x * dx + y * dy, across = Math.abs(x * dy) + Math.abs(y * dx);
      if (along <= 2) continue;
      // Sideways movement stays in the row.
      if (dx !== 0 && Math.abs(y) > from.h / 2 + s.h / 2) continue;
      const distance = along + 2 * across;
      if (distance < least) [best, least] = [s, distance];
    }
    if (best) this.choose(best);
  }
}

/** The items from the tree down to a node: modules, nodes with bodies, bodies. */
function pathTo(tree, node, model, depth) {
  if (depth > 16) return null;
  if (tree.fn === node.fn) {
    const path = [tree];
    let at = tree;
    while (at.kind !== "node") {
      at = at.children.find((c) => c.begin <= node.index && node.index < c.end);
      if (!at) return null;
      path.push(at);
    }
    return path;
  }
  for (const caller of tree.fn.nodes) {
    if (!(caller.raw.functions ?? []).length) continue;
    const path = pathTo(tree, caller, model, depth);
    for (const body of bodyTrees(path.at(-1), depth)) {
      const inner = pathTo(body, node, model, depth + 1);
      if (inner) return [...path, ...inner];
    }
  }
  return null;
}
