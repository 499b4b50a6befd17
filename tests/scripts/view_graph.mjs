// The graph of a model of equal layers, without a browser: view_graph.mjs FOLDER, which holds the page's modules. Prints
// JSON for view.py.
const [folder] = process.argv.slice(2);
const { makeModel } = await import(`${folder}/model.js`);
const { bodyTrees, leaves, treeOf } = await import(`${folder}/modules.js`);
const { edgesOf, hiddenViews, showViews, sourceOf, standInOf } = await import(`${folder}/views.js`);

const kType = { dtype: "float32", sizes: ["s0", 64] };

/** The data of a model, as tools/view/data.cpp writes it. `widths`: layers of one width are alike. */
function dataOf(widths, more = {}) {
  const nodes = [], forms = [], first = new Map();
  let value = 0;
  const add = (op, module, inputs, form) => {
    if (!first.has(form)) first.set(form, nodes.length);
    forms.push(first.get(form));
    nodes.push({ op, version: 1, inputs, outputs: [++value], types: [kType], origin: { op: "aten.x", module, source: "m.py:1" } });
    return value;
  };
  let hidden = add("embedding", "model.embed", [0], "embed");
  widths.forEach((width, i) => {
    const m = `model.layers.${i}`, f = (name) => `${name} ${width}`;
    const q = add("matmul", `${m}.attn.q`, [hidden], f("q"));
    const view = add("permute", `${m}.attn`, [add("reshape", `${m}.attn`, [q], f("reshape"))], f("permute"));
    const a = add("attention", `${m}.attn`, [view, view], f("attention"));
    hidden = add("pointwise", m, [hidden, a], f("add"));
  });
  const result = add("reshape", "", [add("matmul", "head", [hidden], "head")], "result");
  return { inspect: { file: "m.tern", states: [], segments: [], functions: [{ name: "forward", entry: true, nodes,
    inputs: [{ name: "x", kind: "user", value: 0, type: kType }], outputs: [{ name: "y", value: result, type: kType }] }] },
  memory: [], sizes: {}, run: null, view_ops: ["permute", "reshape"], forms: [forms], ...more };
}

const functionOf = (data) => makeModel(data, 0).functions[0];
const labels = (item, depth) => (item.children ?? []).flatMap((c) => [c.label ?? c.node.title, ...(depth > 0 ? labels(c, depth - 1) : [])]);
const modulesOf = (tree) => labels(tree, 2).filter((l) => /^layers\.\d/.test(l));

const equal = functionOf(dataOf(Array(12).fill(8)));
const tree = treeOf(equal);
const repeat = tree.children.flatMap((c) => c.children ?? []).find((c) => c.repeat);
const view = equal.nodes.find((n) => n.op === "permute");
const hidden = {
  leaves: [...leaves(tree)].length, views: hiddenViews(equal), source: sourceOf(equal, view.raw.outputs[0]) === view.fn.producer.get(view.inputs[0]).inputs[0],
  standIn: standInOf(view).op, readers: edgesOf(equal).readers.get(sourceOf(equal, view.raw.outputs[0])).map((n) => n.op),
  result: sourceOf(equal, equal.outputs[0].value) === equal.nodes.at(-1).inputs[0],
};
const timed = dataOf([8]);
timed.run = { runs: 1, nodes: [{ function: "forward", node: 2, seconds: 1e-3, flops: 0, bytes: 0, runs: 1 }] };
const copied = hiddenViews(functionOf(timed));
const circle = dataOf([8]);
circle.inspect.functions[0].nodes[2].inputs = [circle.inspect.functions[0].nodes[3].outputs[0]];  // an archive with errors
const circular = [...leaves(treeOf(functionOf(circle)))].length;
showViews(true);
const all = { leaves: [...leaves(treeOf(equal))].length, nodes: equal.nodes.length, views: hiddenViews(equal) };
showViews(false);

console.log(JSON.stringify({
  hidden, all, copied, circular,
  label: repeat.label, alike: repeat.children.map((c) => c.label), others: repeat.children[1].children.map((c) => c.label), first: repeat.repeat.first.label,
  other: modulesOf(treeOf(functionOf(dataOf([8, 8, 8, 9, 8, 8, 8, 8])))),
  pattern: modulesOf(treeOf(functionOf(dataOf([8, 8, 9, 8, 8, 9, 8, 8, 9])))),
  two: modulesOf(treeOf(functionOf(dataOf([8, 8])))),
  bodies: bodyTrees({ node: equal.nodes[0] }, 0).length,
}));
