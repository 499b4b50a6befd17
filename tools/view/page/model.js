// The page's model, built from the output of `tern inspect --json`, the plan of its memory, and a run's figures.

const kProducts = ["matmul", "linear", "convolution", "attention", "embedding", "einsum", "grouped_matmul"];

/** The family of an op, which determines its colour. */
export function familyOf(op) {
  if (op === "attention") return "attention";
  if (kProducts.includes(op) || op.includes("matmul") || op.includes("convolution")) return "product";
  if (["cond", "while_loop", "scan_loop", "map_loop", "call"].includes(op)) return "control";
  if (op === "pointwise") return "pointwise";
  if (/norm|softmax|reduce|pool|cum|scan|arg|sort|topk|loss|histogram/.test(op)) return "reduce";
  if (/quantize/.test(op)) return "quantize";
  if (/reshape|permute|slice|concat|expand|pad|select|gather|scatter|view|copy|split|flip|roll|stack|strided|convert|fill|arange/.test(op)) {
    return "move";
  }
  return "other";
}

const shortOrigin = (origin) => origin.replace(/^[a-z_]+\./, "").replace(/\.[A-Za-z_0-9]+$/, "").replace(/_$/, "");

/** Splits module paths at dots; nodes of several modules unnamed by PyTorch have no path. */
const kMostParts = 64;
function partsOf(module) {
  const parts = module ? module.split(".") : [];
  return parts.length <= kMostParts ? parts : [...parts.slice(0, kMostParts - 1), parts.slice(kMostParts - 1).join(".")];
}

function makeNode(fn, raw, index, form) {
  const origin = raw.origin ?? { op: "", module: "", source: "" };
  const traced = shortOrigin(origin.op);
  return {
    fn, index, raw, origin, form,
    op: raw.op,
    family: familyOf(raw.op),
    title: raw.op === "pointwise" && traced ? traced : raw.op,
    parts: partsOf(origin.module),
    inputs: [], consumers: [], weights: [],
    type: raw.types.find((t) => t) ?? null,
    absorbs: [], absorbedBy: null, differs: false, algorithm: null, figures: null, resultBytes: 0,
  };
}

const kElementBytes = { bool: 1, uint8: 1, int8: 1, uint16: 2, int16: 2, float16: 2, bfloat16: 2, uint32: 4, int32: 4,
  float32: 4, uint64: 8, int64: 8, float64: 8, complex32: 4, complex64: 8, complex128: 16 };

/** Bytes of a tensor; symbolic sizes have the plan's values. Null for data-dependent sizes. */
export function typeBytes(type, sizes) {
  if (!type) return 0;
  const bytes = kElementBytes[type.dtype] ?? (type.dtype.startsWith("float4") || type.dtype.endsWith("int4") ? 0.5 : 1);
  const all = type.sizes.reduce((n, s) => n * (typeof s === "number" ? s : sizes[s] ?? NaN), bytes);
  return Number.isNaN(all) ? null : all;
}

/** Inputs of bodies bound to weights: every caller passes the same state. By function and input. */
function boundStates(functions) {
  const bound = functions.map(() => new Map());
  const queue = functions.map((_, i) => i).filter((i) => functions[i].entry), seen = new Set(queue);
  for (const f of queue) {  // the queue grows
    const states = new Map();
    functions[f].inputs.forEach((input, i) => states.set(input.value, input.state ?? bound[f].get(i) ?? null));
    for (const node of functions[f].nodes) {
      const operands = node.op === "cond" ? node.inputs.slice(1) : node.inputs;
      for (const body of node.functions ?? []) {
        if (!functions[body]) continue;
        functions[body].inputs.forEach((input, i) => {
          const state = operands.length === functions[body].inputs.length ? states.get(operands[i]) ?? null : null;
          bound[body].set(i, bound[body].has(i) && bound[body].get(i) !== state ? null : state);
        });
        if (!seen.has(body)) queue.push(body);
        seen.add(body);
      }
    }
  }
  return bound;
}

function makeFunction(model, raw, index, bound, forms) {
  const fn = { model, index, raw, name: raw.name, entry: raw.entry, nodes: [], inputs: [], outputs: raw.outputs,
    results: new Set(raw.outputs.map((o) => o.value)),
    producer: new Map(), types: new Map(), states: new Map(), readers: new Map() };
  raw.inputs.forEach((input, i) => {
    if (input.value === null || input.value < 0) return;
    fn.types.set(input.value, input.type);
    const given = model.stateByName.get(bound.get(i));
    // A loop step over a weight's rows reads a single row: another type, no weight.
    if (given && JSON.stringify(given.type) === JSON.stringify(input.type)) fn.states.set(input.value, given);
    else if (input.kind === "state") fn.states.set(input.value, model.stateByName.get(input.state));
    else if (input.kind === "user") fn.inputs.push(input);
  });
  fn.nodes = raw.nodes.map((node, i) => makeNode(fn, node, i, forms?.[i] ?? i));
  for (const node of fn.nodes) {
    node.raw.outputs.forEach((v, i) => {
      if (v === null) return;
      fn.producer.set(v, node);
      fn.types.set(v, node.raw.types[i]);
    });
    node.raw.inputs.forEach((v) => {
      if (v === null) return;
      if (fn.states.has(v)) {
        const state = fn.states.get(v);
        node.weights.push(state);
        state.readers.push(node);
        return;
      }
      node.inputs.push(v);
      if (!fn.readers.has(v)) fn.readers.set(v, []);
      fn.readers.get(v).push(node);
      fn.producer.get(v)?.consumers.push(node);
    });
    const bytes = node.raw.types.map((t) => typeBytes(t, model.sizes));
    node.resultBytes = bytes.includes(null) ? null : bytes.reduce((sum, n) => sum + n, 0);
  }
  absorb(fn);
  if (fn.nodes.every((n) => n.parts.length === 0)) guessModules(fn);
  return fn;
}

/**
 * PyTorch records no modules in bodies of control flow. A node in a body belongs to the module of its weight, or to the
 * innermost module shared by the nearest nodes with weights before and after.
 */
function guessModules(fn) {
  const own = fn.nodes.map((n) => n.weights.map((s) => s.name.split(".").slice(0, -1)).find((parts) => parts.length > 0) ?? null);
  const after = [...own];
  for (let i = own.length - 2; i >= 0; --i) after[i] ??= after[i + 1];
  let before = null;
  fn.nodes.forEach((node, i) => {
    before = own[i] ?? before;
    const next = own[i] ?? after[i];
    if (!before || !next) return;
    const differ = before.findIndex((part, k) => part !== next[k]);
    // The node still belongs to the earlier module of a list: a residual sum ends its layer.
    node.parts = differ < 0 ? before : before.slice(0, differ + (/^\d+$/.test(before[differ]) ? 1 : 0));
    node.guessed = true;
  });
}

/** Views of weights are drawn as parts of their readers: a product reads its weight transposed. */
function absorb(fn) {
  for (const node of fn.nodes) {
    const [v] = node.raw.outputs;
    const readers = [...new Set(fn.readers.get(v) ?? [])];
    if (node.family !== "move" || node.inputs.length > 0 || node.weights.length === 0 || node.raw.outputs.length !== 1) continue;
    if (readers.length === 0 || readers.some((r) => r.raw.functions) || fn.results.has(v)) continue;
    node.absorbedBy = readers[0];
    readers[0].absorbs.push(node, ...node.absorbs);
    for (const reader of readers) {
      reader.weights.push(...node.weights);
      reader.inputs = reader.inputs.filter((x) => x !== v);
    }
    fn.readers.delete(v);
  }
}

function addPlan(model, memory) {
  for (const plan of memory) {
    const fn = model.functions[plan.function];
    if (!fn) continue;
    fn.plan = plan;
    for (const [node, name] of plan.algorithms) if (fn.nodes[node]) fn.nodes[node].algorithm = name;
  }
  // Algorithms measured at export for a processor are shown if the plan has none.
  for (const tuning of model.inspect.tunings ?? []) {
    for (const choice of tuning.choices) {
      const node = model.functions[choice.function]?.nodes[choice.node];
      if (node && !node.algorithm) node.algorithm = `${choice.algorithm} (tuned for ${tuning.processor})`;
    }
  }
}

function addRun(model, run) {
  if (!run) return;
  const byName = new Map();
  for (const f of model.functions) byName.set(f.name, [...(byName.get(f.name) ?? []), f]);
  const inner = ["cond", "while_loop", "scan_loop", "map_loop", "call"];
  let seconds = 0, shared = 0;
  for (const n of run.nodes) {
    // Bodies may share a name in runs and traces: an ambiguous name gives figures to none of its nodes.
    const named = byName.get(n.function) ?? [];
    const nodes = named.map((f) => f.nodes[n.node]).filter((x) => x && (named.length === 1 || x.op === n.op));
    if (nodes.length > 1 && !inner.includes(n.op)) [seconds, shared] = [seconds + n.seconds / run.runs, shared + n.seconds / run.runs];
    if (nodes.length !== 1) continue;
    const [node] = nodes;
    node.figures = { seconds: n.seconds / run.runs, flops: n.flops / run.runs, bytes: n.bytes / run.runs, runs: n.runs };
    // The time of a node with bodies includes theirs.
    if (!inner.includes(node.op)) seconds += node.figures.seconds;
  }
  model.run = { ...run, seconds, shared };
}

export function makeModel(raw, number) {
  const inspect = raw.inspect;
  const model = { number, inspect, name: inspect.file, run: null, functions: [], states: [], stateByName: new Map() };
  model.sizes = raw.sizes ?? {};
  model.viewOps = new Set(raw.view_ops ?? []);
  model.states = inspect.states.map((s, i) => ({ ...s, index: i, model, readers: [] }));
  for (const s of model.states) model.stateByName.set(s.name, s);
  const bound = boundStates(inspect.functions);
  model.functions = inspect.functions.map((f, i) => makeFunction(model, f, i, bound[i], raw.forms?.[i]));
  addPlan(model, raw.memory);
  addRun(model, raw.run);
  return model;
}

/** The functions called by a node, each with its role. */
export function bodiesOf(node) {
  const names = { cond: ["if true", "if false"], while_loop: ["while", "do"], scan_loop: ["each step"], map_loop: ["each row"], call: ["body"] };
  return (node.raw.functions ?? []).map((f, i) => ({
    role: names[node.op]?.[i] ?? `body ${i}`,
    fn: node.fn.model.functions[f],
  })).filter((b) => b.fn);
}
