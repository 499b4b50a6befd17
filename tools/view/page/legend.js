// The legend of the nodes' colours.
import { el, fill } from "./dom.js";

const kFamilies = [["product", "products"], ["attention", "attention"], ["pointwise", "pointwise"], ["reduce", "reductions, norms"],
  ["move", "views, moves"], ["control", "control flow"], ["quantize", "quantization"], ["other", "others"]];
const kKinds = [["changed", "changed"], ["removed", "only in A"], ["added", "only in B"]];

export function legend(element, models, paint, largest, differences) {
  const used = new Set(models.flatMap((m) => m.functions.flatMap((f) => f.nodes.map((n) => n.family))));
  const swatches = differences ? kKinds : paint.of ? null : kFamilies.filter(([family]) => used.has(family));
  return fill(element, swatches ? swatches.map(([name, text]) => el("span", {}, el("i", { class: `swatch ${name}` }), text))
    : [el("span", {}, "0"), el("i", { class: "scale" }), el("span", {}, `${paint.text(largest)} in one node`)]);
}
