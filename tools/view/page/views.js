// Views: reshape, permute, slice and similar ops, changing only the addressing of elements. The graph hides views by
// default, and edges pass through hidden views.

let allShown = false;

export const viewsShown = () => allShown;
export const showViews = (on) => { allShown = on; };

/** True for nodes hidden by default: views of a single value, taking no time and equal to the other model's view. */
function isPlainView(node) {
  if (!node.fn.model.viewOps.has(node.op) || node.inputs.length !== 1 || node.raw.functions || node.differs) return false;
  const from = node.fn.producer.get(node.inputs[0]);
  // An invalid archive may contain cycles.
  return !(node.figures?.seconds > 0) && (!from || from.index < node.index);
}

export const isHidden = (node) => node.absorbedBy !== null || (!allShown && isPlainView(node));

/** The source value of an edge of value `v`. */
export function sourceOf(fn, v) {
  let at = v;
  for (let node = fn.producer.get(at); node && !node.absorbedBy && isHidden(node); node = fn.producer.get(at)) at = node.inputs[0];
  return at;
}

/** Operands and readers of the visible nodes, by the source values of edges. */
export function edgesOf(fn) {
  if (fn.edges?.all === allShown) return fn.edges;
  const inputs = new Map(), readers = new Map();
  for (const node of fn.nodes) {
    if (isHidden(node)) continue;
    const values = [...new Set(node.inputs.map((v) => sourceOf(fn, v)))];
    inputs.set(node, values);
    for (const v of values) {
      if (!readers.has(v)) readers.set(v, []);
      readers.get(v).push(node);
    }
  }
  fn.edges = { all: allShown, inputs, readers, results: new Set([...fn.results].map((v) => sourceOf(fn, v))) };
  return fn.edges;
}

/** The visible node representing a hidden node: its reader, or the source of the view. */
export function standInOf(node) {
  let at = node;
  while (at.absorbedBy) at = at.absorbedBy;
  if (!isHidden(at)) return at;
  const source = sourceOf(at.fn, at.inputs[0]);
  return at.fn.producer.get(source) ?? edgesOf(at.fn).readers.get(source)?.[0] ?? null;
}

export const hiddenViews = (fn) => fn.nodes.reduce((n, node) => n + (!node.absorbedBy && isHidden(node) ? 1 : 0), 0);
