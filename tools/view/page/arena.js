// The arena over time: steps go right, addresses go up, a rectangle is memory in use.
import { isDark, mixed, palette } from "./colors.js";
import { el, say } from "./dom.js";
import { familyOf } from "./model.js";
import { bytesText, plural, typeText } from "./text.js";

const kLeft = 76, kTop = 18, kRight = 16, kBottom = 38;

/** The node computing a block's first value, and a name for the block. */
function nameOf(fn, block) {
  const node = fn.producer.get(block.values[0]);
  return { node, text: node ? `${node.title} ${node.index}` : "copy" };
}

export class ArenaView {
  constructor(models, chosen) {
    this.onChosen = chosen;
    this.planned = models.flatMap((m) => m.functions.filter((f) => f.plan).map((f) => ({ model: m, fn: f })));
    this.canvas = el("canvas", { tabindex: 0, role: "application", "aria-label": "Planned memory over the steps of a run. Left and right move between the blocks." });
    this.choice = el("select", { "aria-label": "Function and section", onchange: () => this.show(this.choice.value) });
    this.note = el("p", { class: "note" });
    this.parts = this.planned.flatMap(({ model, fn }) => (fn.plan.problem ? [{ model, fn, problem: fn.plan.problem }]
      : fn.plan.sections.map((section, i) => ({ model, fn, section, name: `${models.length > 1 ? `${model.name}: ` : ""}${fn.name}${fn.plan.sections.length > 1 ? `, section ${i + 1}` : ""}` }))));
    this.parts.forEach((p, i) => this.choice.append(el("option", { value: i }, p.name ?? `${p.fn.name}: not planned`)));
    this.element = el("div", { class: "arena" }, el("div", { class: "bar" }, this.choice, this.note), this.canvas);
    this.at = -1;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    document.addEventListener("theme", () => this.draw());
    this.canvas.addEventListener("pointermove", (e) => {
      const i = this.blockAt(e.offsetX, e.offsetY);
      this.canvas.title = i < 0 ? "" : this.describe(i);
    });
    this.canvas.addEventListener("click", (e) => this.choose(this.blockAt(e.offsetX, e.offsetY)));
    this.canvas.addEventListener("keydown", (e) => {
      const count = this.part?.section?.blocks.length ?? 0;
      const to = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: count - 1 }[e.key];
      if (to === undefined || count === 0) return;
      e.preventDefault();
      this.choose(Math.min(count - 1, Math.max(0, to)));
    });
    // The largest first.
    const largest = this.parts.reduce((best, p, i) => ((p.section?.bytes ?? -1) > (this.parts[best]?.section?.bytes ?? -1) ? i : best), 0);
    if (this.parts.length > 0) this.choice.value = String(largest);
    this.show(largest);
  }

  show(i) {
    this.part = this.parts[Number(i)];
    this.at = -1;
    const s = this.part?.section;
    this.note.textContent = !this.part ? "Memory is planned for archives that this version can run."
      : this.part.problem ?? `${bytesText(s.bytes)} for ${plural(s.blocks.length, "block")} in ${plural(s.steps.length, "step")}; all at once they would be ${bytesText(s.blocks.reduce((n, b) => n + b.bytes, 0))}`;
    this.draw();
  }

  describe(i) {
    const { fn, section } = this.part, b = section.blocks[i];
    const type = b.values.length > 0 ? typeText(fn.types.get(b.values[0])) : "";
    return `${nameOf(fn, b).text}: ${bytesText(b.bytes)} at ${bytesText(b.offset)}, steps ${b.first} to ${b.last}${type ? `, ${type}` : ""}${b.values.length > 1 ? `, and ${plural(b.values.length - 1, "value")} in its place` : ""}`;
  }

  choose(i) {
    this.at = i;
    this.draw();
    if (i < 0) return;
    say(this.describe(i));
    const { node } = nameOf(this.part.fn, this.part.section.blocks[i]);
    if (node) this.onChosen(node);
  }

  scale() {
    const { section } = this.part;
    const w = this.canvas.clientWidth - kLeft - kRight, h = this.canvas.clientHeight - kTop - kBottom;
    return { w, h, x: (step) => kLeft + (step * w) / Math.max(1, section.steps.length), y: (byte) => kTop + h - (byte * h) / Math.max(1, section.bytes) };
  }

  rectangle(b) {
    const { x, y } = this.scale();
    return { x: x(b.first), y: y(b.offset + b.bytes), w: x(b.last + 1) - x(b.first), h: y(b.offset) - y(b.offset + b.bytes) };
  }

  blockAt(px, py) {
    if (!this.part?.section) return -1;
    return this.part.section.blocks.findIndex((b) => {
      const r = this.rectangle(b);
      return px >= r.x && px <= r.x + r.w && py >= r.y && py <= r.y + r.h;
    });
  }

  draw() {
    const ratio = Math.min(2, devicePixelRatio || 1), { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === 0) return;
    this.canvas.width = clientWidth * ratio;
    this.canvas.height = clientHeight * ratio;
    const context = this.canvas.getContext("2d"), colors = palette();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colors.back;
    context.fillRect(0, 0, clientWidth, clientHeight);
    if (!this.part?.section) return;
    const { fn, section } = this.part, { w, h, x, y } = this.scale();
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let i = 0; i <= 4; ++i) {
      const byte = (section.bytes * i) / 4;
      context.fillStyle = colors.line;
      context.fillRect(kLeft, Math.round(y(byte)), w, 1);
      context.fillStyle = colors.soft;
      context.textAlign = "right";
      context.fillText(bytesText(Math.round(byte)), kLeft - 8, y(byte));
    }
    context.textAlign = "center";
    for (let i = 0; i <= 8; ++i) {
      const step = Math.round((section.steps.length * i) / 8);
      context.fillStyle = colors.soft;
      context.fillText(String(step), x(step), kTop + h + 14);
    }
    context.fillText("step", kLeft + w / 2, kTop + h + 28);
    section.blocks.forEach((b, i) => {
      const r = this.rectangle(b), node = fn.producer.get(b.values[0]);
      const color = colors[node ? familyOf(node.op) : "other"];
      context.fillStyle = mixed(colors.back, color, isDark() ? 0.5 : 0.42);
      context.fillRect(r.x, r.y, Math.max(1, r.w - 0.5), Math.max(1, r.h - 0.5));
      context.strokeStyle = i === this.at ? colors.accent : color;
      context.lineWidth = i === this.at ? 2.5 : 0.8;
      context.strokeRect(r.x + 0.5, r.y + 0.5, Math.max(1, r.w - 1.5), Math.max(1, r.h - 1.5));
      if (r.w < 60 || r.h < 14) return;
      context.fillStyle = colors.ink;
      context.textAlign = "left";
      context.save();
      context.beginPath();
      context.rect(r.x, r.y, r.w - 4, r.h);
      context.clip();
      context.fillText(nameOf(fn, b).text, r.x + 6, r.y + Math.min(r.h / 2, 12));
      context.restore();
    });
    context.textBaseline = "alphabetic";
  }
}
