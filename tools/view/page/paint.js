// Colouring of nodes: by the family of their op, or by an amount.
import { leaves } from "./modules.js";
import { bodiesOf } from "./model.js";
import { bytesText, flopsText, timeText } from "./text.js";
import { isHidden } from "./views.js";

const figure = (name) => (node) => node.figures?.[name] ?? 0;

export const kPaints = [
  { key: "op", name: "kind of op", of: null },
  { key: "time", name: "time", of: figure("seconds"), text: timeText, run: true },
  { key: "flops", name: "operations", of: figure("flops"), text: flopsText, run: true },
  { key: "bytes", name: "bytes moved", of: figure("bytes"), text: bytesText, run: true },
  { key: "memory", name: "memory of results", of: (node) => (isHidden(node) ? 0 : node.resultBytes), text: bytesText },
  { key: "weights", name: "memory of weights", of: (node) => (node.absorbedBy ? [] : node.weights).reduce((n, s) => n + s.storage_bytes, 0), text: bytesText },
];

export const paintsFor = (models) => kPaints.filter((p) => !p.run || models.some((m) => m.run));

function inBodies(node, of, depth) {
  if (depth > 16) return 0;
  return bodiesOf(node).reduce((sum, b) => sum + b.fn.nodes.reduce((n, x) => n + of(x) + inBodies(x, of, depth + 1), 0), 0);
}

/** The amount of an item including its contents. The time of a node with bodies already includes the bodies. */
export function amountOf(item, paint) {
  if (!paint.of) return 0;
  item.amounts ??= {};
  if (item.amounts[paint.key] !== undefined) return item.amounts[paint.key];
  let sum = 0;
  if (item.begin !== undefined) {
    for (const { node } of leaves(item)) {
      sum += paint.of(node) || inBodies(node, paint.of, 0);
      for (const view of node.absorbs) sum += paint.of(view);
    }
  }
  item.amounts[paint.key] = sum;
  return sum;
}

/** The amount of a whole model: the entry functions' nodes, and their bodies. */
export const totalOf = (model, paint) => model.functions.filter((f) => f.entry)
  .reduce((sum, f) => sum + f.nodes.reduce((n, node) => n + (paint.of(node) || inBodies(node, paint.of, 0)), 0), 0);

export const largestOf = (models, paint) => models.flatMap((m) => m.functions.flatMap((f) => f.nodes))
  .reduce((most, n) => (n.raw.functions ? most : Math.max(most, paint.of(n))), 0);
