// Differences between two models: nodes matched by name and structure, then compared; weights by name.
import { bodiesOf } from "./model.js";
import { typeText } from "./text.js";
import { leaves } from "./modules.js";

const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

/** Pairs functions of the same name, and bodies called by matching nodes. */
function pairFunctions(a, b) {
  const pairs = [];
  for (const f of a.functions) {
    const g = b.functions.find((x) => x.name === f.name && x.entry === f.entry);
    if (g) pairs.push([f, g]);
  }
  return pairs;
}

/** Pairs of the same key, in order: the common begin and end, and the longest common run in between. */
function aligned(a, b, keyOf) {
  const pairs = [];
  let begin = 0, end = 0;
  const least = Math.min(a.length, b.length);
  while (begin < least && keyOf(a[begin]) === keyOf(b[begin])) pairs.push([a[begin], b[begin++]]);
  while (end < least - begin && keyOf(a.at(-1 - end)) === keyOf(b.at(-1 - end))) {
    pairs.push([a.at(-1 - end), b.at(-1 - end)]);
    ++end;
  }
  return [...pairs, ...commonRun(a.slice(begin, a.length - end), b.slice(begin, b.length - end), keyOf)];
}

/** The longest common run of two lists; for long lists only unique elements. */
function commonRun(a, b, keyOf) {
  const n = a.length, m = b.length;
  if (n * m > 4e6) return uniqueOnes(a, b, keyOf);
  const width = m + 1, length = new Uint16Array((n + 1) * width);
  const ka = a.map(keyOf), kb = b.map(keyOf);
  for (let i = n - 1; i >= 0; --i) {
    for (let j = m - 1; j >= 0; --j) {
      length[i * width + j] = ka[i] === kb[j] ? length[(i + 1) * width + j + 1] + 1 : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < n && j < m;) {
    if (ka[i] === kb[j]) pairs.push([a[i++], b[j++]]);
    else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) ++i;
    else ++j;
  }
  return pairs;
}

function uniqueOnes(a, b, keyOf) {
  const places = new Map();
  b.forEach((x) => places.set(keyOf(x), places.has(keyOf(x)) ? null : x));
  const counts = new Map();
  a.forEach((x) => counts.set(keyOf(x), (counts.get(keyOf(x)) ?? 0) + 1));
  return a.filter((x) => counts.get(keyOf(x)) === 1 && places.get(keyOf(x))).map((x) => [x, places.get(keyOf(x))]);
}

const groupBy = (list, key) => {
  const groups = new Map();
  for (const x of list) {
    const k = key(x);
    if (!groups.has(k)) groups.set(k, []);
    groups.get(k).push(x);
  }
  return groups;
};

/** Matches the nodes of two functions into `match`, both ways. */
function matchNodes(f, g, match) {
  const put = (x, y) => {
    match.set(x, y);
    match.set(y, x);
  };
  const rest = (fn) => fn.nodes.filter((n) => !match.has(n));
  // First within modules of the same path: nodes traced from the same operator, in order.
  for (const key of [(n) => `${n.op}|${n.origin.op}|${n.raw.expression ?? ""}`, (n) => `${n.op}|${n.origin.op}`, (n) => n.op]) {
    const inB = groupBy(rest(g), (n) => n.origin.module);
    for (const [module, nodes] of groupBy(rest(f), (n) => n.origin.module)) {
      for (const [x, y] of aligned(nodes, inB.get(module) ?? [], key)) put(x, y);
    }
  }
  // Then by structure: the same op on matching operands, in any module.
  const readers = new Map();
  for (const n of rest(g)) for (const v of n.inputs) readers.set(v, [...(readers.get(v) ?? []), n]);
  for (const n of rest(f)) {
    for (const v of n.inputs) {
      const from = f.producer.get(v), twin = from && match.get(from);
      const slot = from?.raw.outputs.indexOf(v);
      const candidate = (twin ? readers.get(twin.raw.outputs[slot]) : null)?.find((y) => y.op === n.op && !match.has(y));
      if (!candidate) continue;
      put(n, candidate);
      break;
    }
  }
}

function reasonsOf(x, y, match, weights) {
  const reasons = [];
  if (x.op !== y.op) reasons.push(`op: ${x.op} → ${y.op}`);
  if (!same(x.raw.types, y.raw.types)) reasons.push(`type: ${x.raw.types.map(typeText).join(", ")} → ${y.raw.types.map(typeText).join(", ")}`);
  const names = new Set([...Object.keys(x.raw.attributes ?? {}), ...Object.keys(y.raw.attributes ?? {})]);
  for (const name of names) {
    const p = x.raw.attributes?.[name], q = y.raw.attributes?.[name];
    if (p !== q) reasons.push(`${name}: ${p ?? "absent"} → ${q ?? "absent"}`);
  }
  if (x.raw.expression !== y.raw.expression) reasons.push(`expression: ${x.raw.expression ?? "none"} → ${y.raw.expression ?? "none"}`);
  if (!same(x.raw.annotations, y.raw.annotations)) reasons.push("annotations differ");
  if (x.raw.inputs.length !== y.raw.inputs.length) reasons.push(`operands: ${x.raw.inputs.length} → ${y.raw.inputs.length}`);
  else {
    x.raw.inputs.forEach((v, i) => {
      const p = x.fn.producer.get(v), q = y.fn.producer.get(y.raw.inputs[i]);
      const s = x.fn.states.get(v), t = y.fn.states.get(y.raw.inputs[i]);
      if ((p || q) && match.get(p) !== q) reasons.push(`operand ${i} comes from ${p ? `${p.title} ${p.index}` : "elsewhere"} → ${q ? `${q.title} ${q.index}` : "elsewhere"}`);
      if (s?.name !== t?.name) reasons.push(`operand ${i}: ${s?.name ?? "no weight"} → ${t?.name ?? "no weight"}`);
    });
  }
  for (const s of x.weights) {
    const d = weights.get(s);
    if (d && d.kind === "changed") reasons.push(`weight ${s.name}: ${d.reasons.join("; ")}`);
  }
  return reasons;
}

/** A weight's bytes are equal if the hashes of their segments are equal. */
function bytesDiffer(a, b) {
  const p = a.model.inspect.segments[a.segment], q = b.model.inspect.segments[b.segment];
  if (!p || !q || a.offset !== b.offset) return null;
  return p.xxh3 === q.xxh3 ? false : p.bytes === a.storage_bytes && q.bytes === b.storage_bytes ? true : null;
}

function compareWeights(a, b, weights) {
  for (const s of a.states) {
    const t = b.stateByName.get(s.name);
    if (!t) {
      weights.set(s, { kind: "removed", reasons: [`only in ${a.name}`] });
      continue;
    }
    const reasons = [];
    if (!same(s.type, t.type)) reasons.push(`type: ${typeText(s.type)} → ${typeText(t.type)}`);
    else if (bytesDiffer(s, t) === true) reasons.push("the numbers differ");
    if (s.storage_bytes !== t.storage_bytes) reasons.push(`bytes: ${s.storage_bytes} → ${t.storage_bytes}`);
    const kind = reasons.length > 0 ? "changed" : "same";
    weights.set(s, { kind, reasons, other: t });
    weights.set(t, { kind, reasons, other: s });
  }
  for (const t of b.states) if (!weights.has(t)) weights.set(t, { kind: "added", reasons: [`only in ${b.name}`] });
}

export class Difference {
  constructor(a, b) {
    this.models = [a, b];
    this.match = new Map();
    this.weights = new Map();
    this.nodes = new Map();
    compareWeights(a, b, this.weights);
    const pairs = pairFunctions(a, b);
    for (let i = 0; i < pairs.length; ++i) {  // the list grows: bodies have names of their own
      const [f, g] = pairs[i];
      matchNodes(f, g, this.match);
      for (const n of f.nodes) {
        const twin = this.match.get(n);
        if (!twin) continue;
        bodiesOf(n).forEach((body, k) => {
          const other = bodiesOf(twin)[k];
          if (other && !pairs.some(([x]) => x === body.fn)) pairs.push([body.fn, other.fn]);
        });
      }
    }
    for (const f of a.functions) for (const n of f.nodes) this.note(n, a, "removed");
    for (const f of b.functions) for (const n of f.nodes) this.note(n, b, "added");
  }

  note(node, model, alone) {
    const other = this.match.get(node);
    if (!other) return this.nodes.set(node, { kind: alone, reasons: [`only in ${model.name}`], other: null });
    const [x, y] = model.number === 0 ? [node, other] : [other, node];
    const reasons = this.nodes.get(other)?.reasons ?? reasonsOf(x, y, this.match, this.weights);
    if (reasons.length > 0) this.nodes.set(node, { kind: "changed", reasons, other });
    return undefined;
  }

  of(node) { return this.nodes.get(node) ?? null; }
  weight(state) { return this.weights.get(state) ?? null; }

  /** The difference of a module: "changed" if its nodes have different kinds, else their common kind. */
  kindOf(item) {
    if (item.kind === "input" || item.kind === "output") return null;
    if (item.difference !== undefined) return item.difference;
    const kinds = new Set();
    const fnOf = (n) => bodiesOf(n).flatMap((b) => b.fn.nodes.flatMap((x) => [x, ...fnOf(x)]));
    for (const leaf of leaves(item)) {
      kinds.add(this.of(leaf.node)?.kind ?? null);
      for (const n of fnOf(leaf.node)) kinds.add(this.of(n)?.kind ?? null);
    }
    item.difference = kinds.size === 1 ? [...kinds][0] : kinds.size === 0 ? null : [...kinds].some((k) => k) ? "changed" : null;
    return item.difference;
  }

  /** Changed nodes and weights first, then nodes and weights of a single model. */
  rows() {
    const kinds = { changed: 0, removed: 1, added: 2 };
    const rows = [];
    for (const [node, d] of this.nodes) {
      if (d.kind === "changed" && node.fn.model.number === 1) continue;
      rows.push({ kind: d.kind, node, reasons: d.reasons });
    }
    for (const [state, d] of this.weights) {
      if (d.kind === "same" || (d.kind === "changed" && state.model.number === 1)) continue;
      rows.push({ kind: d.kind, state, reasons: d.reasons });
    }
    return rows.sort((p, q) => kinds[p.kind] - kinds[q.kind] || (p.state ? 1 : 0) - (q.state ? 1 : 0) || (p.node?.index ?? 0) - (q.node?.index ?? 0));
  }

  /** Nodes, then weights, equal in both models. */
  equalRows() {
    const [a] = this.models;
    const nodes = a.functions.flatMap((f) => f.nodes).filter((n) => this.match.has(n) && !this.nodes.has(n));
    const states = a.states.filter((s) => this.weights.get(s)?.kind === "same");
    return [...nodes.map((node) => ({ kind: "same", node, reasons: [] })), ...states.map((state) => ({ kind: "same", state, reasons: [] }))];
  }

  summary() {
    const count = (map, kind, number) => [...map].filter(([x, d]) => d.kind === kind && (number === undefined || (x.fn?.model ?? x.model).number === number)).length;
    const line = (map) => `${count(map, "changed", 0)} changed, ${count(map, "removed")} only in A, ${count(map, "added")} only in B`;
    return [["Nodes", line(this.nodes)], ["Weights", line(this.weights)]];
  }
}
