// Draws the visible part of a scene, and only readable text.
import { mixed } from "./colors.js";
import { kTextFont, kTitleFont, widthOf } from "./layout.js";
import { amountOf } from "./paint.js";
import { canOpen } from "./modules.js";
import { shareText } from "./text.js";

const kReadable = 0.42;  // smallest text size
const kRound = 6;

function curve(context, points, simple) {
  context.moveTo(points[0].x, points[0].y);
  for (let i = 1; i < points.length; ++i) {
    const a = points[i - 1], b = points[i];
    if (simple || a.x === b.x) {
      context.lineTo(b.x, b.y);
    } else {
      const bend = Math.min(40, (b.y - a.y) / 2);
      const y = (a.y + b.y) / 2;
      context.bezierCurveTo(a.x, Math.max(y, a.y + bend), b.x, Math.min(y, b.y - bend), b.x, b.y);
    }
  }
}

function arrow(context, point, scale) {
  context.moveTo(point.x - 4 * scale, point.y - 6 * scale);
  context.lineTo(point.x, point.y);
  context.lineTo(point.x + 4 * scale, point.y - 6 * scale);
}

const inSight = (s, view) => s.x < view.right && s.x + s.w > view.left && s.y < view.bottom && s.y + s.h > view.top;

function edgesInto(context, scene, view, zoom, colors, chosen) {
  const simple = zoom < 0.25;
  const plain = [], marked = [];
  for (const e of scene.edges) {
    if (e.left > view.right || e.right < view.left || e.top > view.bottom || e.bottom < view.top) continue;
    (chosen && e.values.some((v) => chosen.values.has(v)) && chosen.fn === e.fn ? marked : plain).push(e);
  }
  for (const [list, color, width] of [[plain, colors.edge, 1.2], [marked, colors.accent, 2]]) {
    context.beginPath();
    for (const e of list) curve(context, e.points, simple);
    context.strokeStyle = color;
    context.lineWidth = Math.max(width, 0.7 / zoom);
    context.stroke();
    if (zoom < kReadable) continue;
    context.beginPath();
    for (const e of list) if (!e.open) arrow(context, e.points.at(-1), 0.8);
    context.stroke();
  }
}

function colorsOf(shape, state, colors) {
  const { item } = shape;
  const kind = state.differences?.kindOf(item) ?? null;
  if (kind) return { bar: colors[kind], fill: mixed(colors.card, colors[kind], 0.16), line: colors[kind] };
  if (item.kind === "input" || item.kind === "output") return { bar: null, fill: colors.panel, line: colors.input };
  if (state.paint.of) {
    const amount = amountOf(item, state.paint);
    const share = Math.min(1, Math.sqrt(amount / (state.largest || 1)));
    return { bar: mixed(colors.line, colors.warm, share), fill: mixed(colors.card, colors.warm, share * 0.55), line: mixed(colors.line, colors.warm, share) };
  }
  if (item.kind !== "node") return { bar: null, fill: colors.card, line: colors.line };
  return { bar: colors[item.node.family], fill: colors.card, line: colors.line };
}

function box(context, s, radius) {
  context.beginPath();
  context.roundRect(s.x, s.y, s.w, s.h, radius);
}

function drawShape(context, s, state, zoom, colors) {
  const { item } = s;
  const own = colorsOf(s, state, colors);
  const pill = item.kind === "input" || item.kind === "output";
  const dim = state.differences && !state.differences.kindOf(item) && !s.open ? 0.55 : 1;
  context.globalAlpha = dim;
  if (s.open) {
    context.fillStyle = s.depth % 2 === 0 ? colors.group : colors.group2;
    context.strokeStyle = colors.line;
  } else {
    if (zoom > 0.3 && (item.kind === "module" || item.kind === "function")) {  // a pile of cards
      context.fillStyle = colors.card;
      context.strokeStyle = colors.line;
      context.lineWidth = 1;
      context.beginPath();
      context.roundRect(s.x + 5, s.y + 5, s.w - 4, s.h - 1, kRound);
      context.fill();
      context.stroke();
    }
    context.fillStyle = own.fill;
    context.strokeStyle = own.line;
  }
  context.lineWidth = Math.max(1, 0.6 / zoom);
  if (zoom < 0.2) {
    context.fillRect(s.x, s.y, s.w, s.h);
    if (s.open) context.strokeRect(s.x, s.y, s.w, s.h);
    if (own.bar && !s.open) {
      context.fillStyle = own.bar;
      context.fillRect(s.x, s.y, s.w, Math.min(s.h, 10));
    }
  } else {
    box(context, s, pill ? s.h / 2 : kRound);
    context.fill();
    context.stroke();
    if (own.bar && !s.open && !pill) {
      context.fillStyle = own.bar;
      context.beginPath();
      context.roundRect(s.x, s.y, 4, s.h, [kRound, 0, 0, kRound]);
      context.fill();
    }
  }
  if (state.selected === item.id) {
    context.globalAlpha = 1;
    context.strokeStyle = colors.accent;
    context.lineWidth = Math.max(2.4, 2 / zoom);
    box(context, { x: s.x - 2, y: s.y - 2, w: s.w + 4, h: s.h + 4 }, pill ? s.h / 2 + 2 : kRound + 2);
    context.stroke();
  } else if (state.found?.has(item.id)) {
    context.strokeStyle = colors.accent;
    context.setLineDash([4, 3]);
    context.lineWidth = Math.max(1.6, 1.4 / zoom);
    box(context, s, pill ? s.h / 2 : kRound);
    context.stroke();
    context.setLineDash([]);
  }
  context.globalAlpha = 1;
}

function drawText(context, s, state, zoom, colors) {
  const { item } = s;
  const pill = item.kind === "input" || item.kind === "output";
  const opens = canOpen(item) || (item.kind === "function" && item.parent);
  const left = s.x + (pill ? 14 : opens ? 26 : 13), top = s.y + 16;
  if (opens) {  // a triangle showing open or folded
    context.fillStyle = colors.soft;
    context.beginPath();
    const x = s.x + 15, y = s.y + 12;
    if (s.open) {
      context.moveTo(x - 4, y - 2.5), context.lineTo(x + 4, y - 2.5), context.lineTo(x, y + 3);
    } else {
      context.moveTo(x - 2, y - 4), context.lineTo(x + 3, y), context.lineTo(x - 2, y + 4);
    }
    context.fill();
  }
  context.font = kTitleFont;
  context.fillStyle = s.open ? colors.soft : colors.ink;
  context.fillText(s.title, left, top);
  context.font = kTextFont;
  context.fillStyle = colors.soft;
  const amount = state.paint.of && item.begin !== undefined ? amountOf(item, state.paint) : 0;
  if (amount > 0 && !pill) {
    context.textAlign = "right";
    const share = shareText(amount, state.total);
    const room = s.x + s.w - 9 - left - widthOf(s.title, kTitleFont) - 8;
    const text = [`${state.paint.text(amount)} · ${share}`, state.paint.text(amount), share].find((t) => widthOf(t, kTextFont) <= room);
    if (text) context.fillText(text, s.x + s.w - 9, top);
    context.textAlign = "left";
  } else if (s.note) {
    context.textAlign = "right";
    context.fillText(s.note, s.x + s.w - 9, top);
    context.textAlign = "left";
  }
  if (s.open) return;
  s.lines.forEach((line, i) => {
    context.fillStyle = i === 0 ? colors.soft : colors.faint;
    context.fillText(line, left, top + 16 + i * 15);
  });
}

/** `view`: the visible part, in the scene's units. */
export function drawScene(context, scene, view, zoom, state, colors) {
  const shapes = scene.shapes.filter((s) => inSight(s, view));
  for (const s of shapes) if (s.open) drawShape(context, s, state, zoom, colors);
  edgesInto(context, scene, view, zoom, colors, state.chosen);
  for (const s of shapes) if (!s.open) drawShape(context, s, state, zoom, colors);
  for (const s of shapes) {
    if (zoom >= kReadable) drawText(context, s, state, zoom, colors);
    else if ((s.open || s.item.kind === "module") && s.w * zoom > 46) {
      // Names of modules stay readable when zoomed out.
      const size = Math.min(12 / zoom, s.open ? 30 : 20, s.w / 7);
      if (size * zoom < 7) continue;
      context.font = `600 ${size}px system-ui, sans-serif`;
      context.fillStyle = colors.soft;
      context.fillText(s.title.slice(0, 22), s.x + 8, s.y + Math.min(s.h - 4, size + 6));
    }
  }
}
