// Repeated blocks, for example the equal layers of a transformer: runs of modules with the same form.

const kLeastTimes = 3, kLongestPeriod = 12;

/** Equal forms have equal texts: the nodes' forms, and the sources of their operands (number of the node in the item,
 * or ordinal of the outside value). */
function formText(item, fn) {
  const outside = new Map();
  const texts = [];
  for (const node of fn.nodes.slice(item.begin, item.end)) {
    const reads = node.raw.inputs.map((v) => {
      const from = fn.producer.get(v);
      if (from && from.index >= item.begin) return node.index - from.index;
      if (v === null || fn.states.has(v)) return v === null ? "n" : "w";
      if (!outside.has(v)) outside.set(v, outside.size);
      return `o${outside.get(v)}`;
    });
    texts.push(`${node.form}:${reads.join(",")}`);
  }
  return texts.join(";");
}

/** "layers", 0 and 11 of "model.layers.0" and "model.layers.11"; null for modules differing elsewhere in the path. */
function numbered(first, last) {
  const a = first.module.split("."), b = last.module.split(".");
  const at = a.findIndex((part, k) => part !== b[k]);
  if (at < 0 || !/^\d+$/.test(a[at]) || !/^\d+$/.test(b[at] ?? "")) return null;
  return { name: a.slice(Math.max(0, at - 1), at).join("."), from: a[at], to: b[at] };
}

/** Counts the repetitions of the period of `p` items at `i`. */
function timesOf(forms, i, p) {
  let times = 1;
  for (let k = i + p; k + p <= forms.length; k += p, ++times) {
    for (let j = 0; j < p; ++j) if (forms[k + j] !== forms[i + j]) return times;
  }
  return times;
}

/** The longest run beginning at item `i`; ties go to the shortest period. */
function runAt(children, forms, i) {
  let best = null;
  for (let p = 1; p <= kLongestPeriod && i + kLeastTimes * p <= forms.length; ++p) {
    const times = timesOf(forms, i, p);
    if (times < kLeastTimes || (best && times * p <= best.times * best.p)) continue;
    const modules = children.slice(i, i + times * p).filter((c) => c.kind === "module");
    const each = modules.length / times;
    if (each >= 1 && numbered(modules[0], modules.at(-1)) && numbered(modules[each], modules.at(-1))) best = { times, p, modules };
  }
  return best;
}

/** The item representing `times` periods of equal items, `modules` among them. */
function repeatOf(items, modules, times, path) {
  const { name, from, to } = numbered(modules[0], modules.at(-1));
  const count = modules.length / times;
  const label = `${name ? `${name}.` : ""}${from} to ${to}, ${count > 1 ? `${times} × ${count}` : times} alike`;
  const repeat = { kind: "module", id: `${path}/${name}.${from}-${to}`, label, module: label, begin: items[0].begin, end: items.at(-1).end,
    children: items, repeat: { times, first: modules[0] } };
  for (const item of items) item.parent = repeat;
  return repeat;
}

/** Replaces each run of equal items by a single item, containing the first item and an item for the others. */
export function foldRepeats(children, fn, path) {
  if (children.filter((c) => c.kind === "module").length < kLeastTimes) return children;
  const numbers = new Map();
  const forms = children.map((c) => {
    const text = formText(c, fn);
    if (!numbers.has(text)) numbers.set(text, numbers.size);
    return numbers.get(text);
  });
  const result = [];
  for (let i = 0; i < children.length;) {
    const run = runAt(children, forms, i);
    if (!run) {
      result.push(children[i++]);
      continue;
    }
    const { times, p, modules } = run;
    const items = children.slice(i, i + times * p);
    const others = repeatOf(items.slice(p), modules.slice(modules.length / times), times - 1, path);
    const repeat = repeatOf(items, modules, times, path);
    repeat.children = [...items.slice(0, p), others];
    for (const item of others.children) item.parent = others;
    others.parent = repeat;
    result.push(repeat);
    i += items.length;
  }
  return result;
}
