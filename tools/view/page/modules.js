// The tree of a function: nested modules with nodes as leaves.
//
// A module is a run of consecutive nodes. Nodes are in an executable order, so modules of a level never form a cycle,
// even if PyTorch called a module repeatedly.
import { bodiesOf } from "./model.js";
import { foldRepeats } from "./repeats.js";
import { isHidden } from "./views.js";

function leafOf(node, path) {
  return { kind: "node", id: `${path}/n${node.index}`, node, begin: node.index, end: node.index + 1, children: null };
}

function groupsOf(nodes, depth, path) {
  const children = [], seen = new Map();
  for (let i = 0; i < nodes.length;) {
    const part = nodes[i].parts[depth];
    let j = i + 1;
    while (part !== undefined && j < nodes.length && nodes[j].parts[depth] === part) ++j;
    // A module with a single node becomes this node.
    if (part === undefined || j === i + 1) children.push(leafOf(nodes[i], path));
    else {
      const earlier = seen.get(part) ?? 0;
      seen.set(part, earlier + 1);
      children.push(groupOf(nodes.slice(i, j), depth, path, earlier));
    }
    i = j;
  }
  return nodes.length > 0 ? foldRepeats(children, nodes[0].fn, path) : children;
}

/** `earlier`: calls of the same module before this call. */
function groupOf(nodes, depth, path, earlier) {
  const { parts, index: begin } = nodes[0];
  // "0" alone says little.
  const label = /^\d+$/.test(parts[depth]) && depth > 0 ? `${parts[depth - 1]}.${parts[depth]}` : parts[depth];
  const id = `${path}/${label}@${earlier}`;
  const children = groupsOf(nodes, depth + 1, id);
  // A module containing only another module is merged with it.
  if (children.length === 1 && children[0].kind === "module") {
    if (!children[0].repeat) children[0].label = children[0].module;
    return children[0];
  }
  const group = { kind: "module", id, label, begin, end: nodes.at(-1).index + 1, children, module: parts.slice(0, depth + 1).join(".") };
  for (const child of children) child.parent = group;
  return group;
}

/** The tree of a function; bodies of control flow get their trees on opening. `path`: position of the call. */
export function treeOf(fn, path = `f${fn.index}`, depth = 0) {
  let children = groupsOf(fn.nodes.filter((n) => !isHidden(n)), 0, path);
  if (children.length === 1 && children[0].kind === "module" && !children[0].repeat) children = children[0].children;
  const root = { kind: "function", id: path, label: fn.name, fn, begin: 0, end: fn.nodes.length, children, parent: null, depth };
  for (const child of children) child.parent = root;
  return root;
}

const kMostNested = 32;

/** The trees of the bodies of a control-flow node. */
export function bodyTrees(leaf, depth) {
  if (leaf.bodies) return leaf.bodies;
  leaf.bodies = depth >= kMostNested ? [] : bodiesOf(leaf.node).map((body, i) => {
    const root = treeOf(body.fn, `${leaf.id}/b${i}`, depth + 1);
    root.label = body.role;
    root.parent = leaf;
    return root;
  });
  return leaf.bodies;
}

export const canOpen = (item) => item.kind === "module" || (item.kind === "node" && (item.node.raw.functions ?? []).length > 0);

export function* leaves(item) {
  if (item.kind === "node") yield item;
  for (const child of item.children ?? []) yield* leaves(child);
}
