// The side panel: the chosen node, module, input or weight; the model if there is no choice.
import { el, facts, fill, section } from "./dom.js";
import { comparedWith, weightOf } from "./fetch.js";
import { histogram } from "./histogram.js";
import { bodiesOf } from "./model.js";
import { amountOf, kPaints, totalOf } from "./paint.js";
import { bytesText, countText, flopsText, numberText, plural, shareText, timeText, typeText } from "./text.js";

const link = (text, onclick) => el("button", { type: "button", class: "link", onclick }, text);
const kMostListed = 24;
const decibels = (value) => (value === "exact" ? value : value === null ? "not finite" : `${value.toFixed(1)} dB`);

export class Details {
  /** `go`: {node(node), weight(state)} show an item. `diff`: of two models, or null. */
  constructor(element, models, go, diff) {
    Object.assign(this, { element, models, go, diff });
  }

  show(item, model) {
    if (!item) this.model(model);
    else if (item.kind === "node") this.node(item.node);
    else if (item.kind === "input" || item.kind === "output") this.end(item);
    else this.group(item);
  }

  head(kind, title, model, more) {
    const which = this.models.length > 1 ? el("i", { class: "which" }, model.number === 0 ? "A" : "B") : null;
    return el("div", { class: "head" }, el("p", { class: "kind" }, kind), el("h2", {}, title, which), more);
  }

  value(fn, v, type) {
    const node = fn.producer.get(v), state = fn.states.get(v);
    const name = node ? link(`${node.title} ${node.index}`, () => this.go.node(node)) : state ? link(state.name, () => this.go.weight(state))
      : fn.inputs.find((i) => i.value === v)?.name ?? `value ${v}`;
    return el("li", {}, name, el("span", { class: "type" }, typeText(type ?? fn.types.get(v))));
  }

  node(node) {
    const { raw, origin, fn } = node;
    const run = fn.model.run;
    const f = node.figures;
    const pairs = [["Module", origin.module || (node.guessed ? `${node.parts.join(".")} (by its weights)` : "")], ["PyTorch", origin.op], ["Python line", origin.source], ["Algorithm", node.algorithm],
      ["Expression", raw.expression && el("code", {}, raw.expression)], ["Version", raw.version > 1 ? raw.version : null]];
    const figures = f && [["Time", `${timeText(f.seconds)} · ${shareText(f.seconds, run.seconds)}`], ["Operations", f.flops ? `${flopsText(f.flops)} · ${flopsText(f.flops / f.seconds)}/s` : null],
      ["Bytes moved", `${bytesText(f.bytes)} · ${bytesText(f.bytes / f.seconds)}/s`]];
    const difference = this.diff?.of(node);
    fill(this.element,
      this.head(`${fn.name} : node ${node.index}`, node.op === node.title ? node.op : `${node.title} (${node.op})`, fn.model),
      difference ? this.difference(difference, node) : null,
      facts(pairs),
      figures ? section("A run", facts(figures)) : run && section("A run", el("p", { class: "note" }, "No time of its own: the node is a view, or runs as a part of another.")),
      section(plural(raw.inputs.length, "operand"), el("ul", { class: "values" }, raw.inputs.slice(0, kMostListed).map((v) => (v === null ? el("li", {}, el("span", { class: "type" }, "absent")) : this.value(fn, v))),
        raw.inputs.length > kMostListed ? el("li", { class: "note" }, `and ${raw.inputs.length - kMostListed} more`) : null)),
      section(plural(raw.outputs.length, "result"), raw.outputs.map((v, i) => [
        el("p", { class: "type" }, v === null ? "unused" : typeText(raw.types[i]), v === null ? "" : node.resultBytes === null ? " · bytes known in a run" : node.resultBytes ? ` · ${bytesText(node.resultBytes)}` : ""),
        v === null ? null : el("ul", { class: "values" }, (fn.readers.get(v) ?? []).map((n) => el("li", {}, "read by ", link(`${n.title} ${n.index}`, () => this.go.node(n))))),
        v !== null && fn.results.has(v) ? el("p", { class: "note" }, "a result of the function") : null])),
      raw.attributes ? section("Attributes", facts(Object.entries(raw.attributes))) : null,
      raw.annotations ? section("Annotations", facts(Object.entries(raw.annotations).map(([k, v]) => [k, String(v)]))) : null,
      raw.functions ? section("Calls", el("ul", { class: "values" }, bodiesOf(node).map((b) => el("li", {}, `${b.role}: ${b.fn.name}, `, b.fn.nodes[0] ? link(plural(b.fn.nodes.length, "node"), () => this.go.node(b.fn.nodes[0])) : "no nodes")))) : null,
      node.weights.slice(0, 4).map((s) => this.weightPart(s)));
  }

  difference(d, node) {
    return section("Differs", el("ul", { class: "values" }, d.reasons.map((r) => el("li", { class: d.kind }, r))),
      d.other ? el("p", {}, link(`the node of ${d.other.fn.model.name}`, () => this.go.node(d.other))) : null);
  }

  weightPart(state) {
    const body = el("div", { class: "weight" });
    this.weightNumbers(body, state);
    return section("Weight", el("p", {}, link(state.name, () => this.go.weight(state))), el("p", { class: "type" }, `${typeText(state.type)} · ${bytesText(state.storage_bytes)}`), body);
  }

  /** Shows histogram, statistics and errors after their data arrive. */
  async weightNumbers(body, state) {
    fill(body, el("p", { class: "note" }, "…"));
    const numbers = await weightOf(state);
    if (numbers.problem) return fill(body, el("p", { class: "note" }, numbers.problem));
    fill(body, histogram(numbers),
      facts([["Mean", numberText(numbers.mean)], ["Deviation", numberText(numbers.deviation)], ["Zeros", numbers.count ? shareText(numbers.zeros, numbers.count) : null],
        ["Not finite", numbers.not_finite ? countText(numbers.not_finite) : null]]),
      numbers.formats.length === 0 ? null : el("table", { class: "formats" }, el("caption", {}, "Error if quantized"),
        el("thead", {}, el("tr", {}, ["format", "bytes", "SQNR", "cosine"].map((t) => el("th", { scope: "col" }, t)))),
        el("tbody", {}, numbers.formats.map((f) => el("tr", {}, el("td", {}, f.format), el("td", {}, bytesText(f.bytes)), el("td", {}, decibels(f.sqnr_db)), el("td", {}, f.cosine === null ? "not finite" : f.cosine.toFixed(5)))))));
    const other = this.diff?.weight(state)?.other;
    if (!other) return undefined;
    const [a, b] = state.model.number === 0 ? [state, other] : [other, state];
    const error = await comparedWith(a, b);
    body.append(section("Against the other model", error.problem ? el("p", { class: "note" }, error.problem)
      : facts(error.equal ? [["Numbers", "equal"]] : [["SQNR", decibels(error.sqnr_db)], ["Cosine", error.cosine === null ? "not finite" : error.cosine.toFixed(6)], ["Largest error", numberText(error.largest_error)]])));
    return undefined;
  }

  weight(state) {
    const body = el("div", { class: "weight" });
    const d = this.diff?.weight(state);
    fill(this.element, this.head(state.kind, state.name, state.model),
      d && d.kind !== "same" ? section("Differs", el("ul", { class: "values" }, d.reasons.map((r) => el("li", { class: d.kind }, r)))) : null,
      facts([["Type", typeText(state.type)], ["Bytes", bytesText(state.storage_bytes)], ["Strides", `[${state.strides.join(", ")}]`], ["Tied to", state.tied],
        ["Changes in runs", state.mutable ? "yes" : null], ["In the state_dict", state.persistent ? null : "no"]]),
      body,
      section("Read by", el("ul", { class: "values" }, state.readers.slice(0, 40).map((n) => el("li", {}, link(`${n.title} ${n.index}`, () => this.go.node(n)), el("span", { class: "type" }, n.origin.module))))));
    this.weightNumbers(body, state);
  }

  end(item) {
    const { fn } = item, raw = item.input ?? item.output;
    const readers = item.kind === "input" ? fn.readers.get(item.value) ?? [] : [fn.producer.get(item.value)].filter((n) => n);
    fill(this.element, this.head(item.kind === "input" ? "input" : "result", item.label, fn.model), facts([["Type", typeText(raw.type)], ["Kind", raw.kind === "user" ? null : raw.kind]]),
      section(item.kind === "input" ? "Read by" : "Made by", el("ul", { class: "values" }, readers.map((n) => el("li", {}, link(`${n.title} ${n.index}`, () => this.go.node(n)), el("span", { class: "type" }, n.origin.module))))));
  }

  group(item) {
    const fn = item.fn ?? functionOf(item);
    const counts = new Map();
    for (const node of fn.nodes.slice(item.begin, item.end)) counts.set(node.op, (counts.get(node.op) ?? 0) + 1);
    const amounts = kPaints.filter((p) => p.of).map((p) => [p, amountOf(item, p)]).filter(([, n]) => n > 0);
    fill(this.element, this.head(item.kind, item.kind === "module" ? item.module : item.label, fn.model),
      facts([["Nodes", countText(item.end - item.begin)], ...amounts.map(([p, n]) => [p.name, `${p.text(n)} · ${shareText(n, totalOf(fn.model, p))}`])]),
      section("Ops", facts([...counts].sort((a, b) => b[1] - a[1]).map(([op, n]) => [op, countText(n)]))));
  }

  model(model) {
    const i = model.inspect, cost = i.cost;
    const slow = model.functions.flatMap((f) => f.nodes).filter((n) => n.figures && !n.raw.functions).sort((a, b) => b.figures.seconds - a.figures.seconds).slice(0, 12);
    fill(this.element, this.head("model", model.name, model),
      facts([["File", bytesText(i.bytes)], ["Format", i.format], ["Parameters", cost && `${countText(cost.parameters)} in ${plural(cost.parameter_tensors, "tensor")}`],
        ["Buffers", cost?.buffers ? countText(cost.buffers) : null], ["Nodes", countText(model.functions.reduce((n, f) => n + f.nodes.length, 0))],
        ["Functions", model.functions.length > 1 ? model.functions.map((f) => f.name).join(", ") : null],
        ["Sizes", i.symbols.map((s) => `${s.name}: ${s.min} to ${s.max ?? "any"}`).join("; ")]]),
      (cost?.runs ?? []).map((r) => section(`A run of ${r.function}`, facts([["Sizes", Object.entries(r.sizes).map(([n, v]) => `${n} = ${v}`).join(", ")],
        ["Operations", r.problem ? null : flopsText(r.flops)], ["Peak memory", r.problem ? null : bytesText(r.peak_bytes)], ["Cannot be planned", r.problem]]))),
      model.run ? section("Measured", el("p", { class: "note" }, `${model.run.source}: ${timeText(model.run.seconds)} a run`, model.run.shared > 0 ? `; ${timeText(model.run.shared)} of it in bodies that share a name, whose nodes have no times` : ""),
        el("ol", { class: "slow" }, slow.map((n) => el("li", {}, link(`${n.title} ${n.index}`, () => this.go.node(n)), el("span", { class: "type" }, n.origin.module), el("b", {}, timeText(n.figures.seconds)))))) : null,
      this.diff ? section("Differences", facts(this.diff.summary())) : null,
      section("Ops", facts(Object.entries(i.ops).map(([op, n]) => [op, countText(n)]))),
      i.findings.length ? section("Findings", el("ul", {}, i.findings.map((f) => el("li", {}, f.message)))) : null,
      section("Metadata", facts(i.metadata.map(([k, v]) => [k, v.length > 120 ? `${v.slice(0, 120)}…` : v]))));
  }
}

function functionOf(item) {
  for (let at = item; at; at = at.parent) if (at.fn) return at.fn;
  return null;
}
