// Places the boxes of a level in layers, from top to bottom, with downward edges.
//
// Layers by longest path, order by barycentres, positions by least squares: each box is pulled towards its neighbours
// above and below, and the boxes of a layer keep their order and distance (pool adjacent violators finds the optimum).

const kLayerGap = 34, kBoxGap = 22, kEdgeGap = 12, kPortGap = 10;
const kLongest = 48;  // longest edge (in layers) routed around boxes; longer edges go straight

function layersOf(count, edges, last) {
  const layer = new Int32Array(count);
  const succ = Array.from({ length: count }, () => []), pred = Array.from({ length: count }, () => []);
  for (const e of edges) {
    succ[e.from].push(e.to);
    pred[e.to].push(e.from);
  }
  let depth = 0;
  for (let v = 0; v < count; ++v) {  // boxes come in an executable order
    for (const u of pred[v]) layer[v] = Math.max(layer[v], layer[u] + 1);
    depth = Math.max(depth, layer[v]);
  }
  // A box without predecessors is placed directly above its first reader.
  for (let v = count - 1; v >= 0; --v) {
    if (pred[v].length === 0 && succ[v].length > 0 && !last.fixed?.has(v)) {
      layer[v] = Math.max(0, succ[v].reduce((least, w) => Math.min(least, layer[w]), count) - 1);
    }
  }
  for (const v of last.bottom ?? []) layer[v] = Math.max(depth, layer[v]);
  return layer;
}

/** Adds points in the layers crossed by edges. Returns the chains of vertices of each edge. */
function chainsOf(boxes, edges, layer, vertices) {
  return edges.map((e) => {
    const chain = [e.from];
    const span = layer[e.to] - layer[e.from];
    for (let l = layer[e.from] + 1; l < layer[e.to] && span <= kLongest; ++l) {
      chain.push(vertices.length);
      vertices.push({ w: 1, h: 0, layer: l, dummy: true });
    }
    chain.push(e.to);
    return chain;
  });
}

function orderLayers(layers, up, down, vertices, sweeps) {
  const place = new Float64Array(vertices.length);
  const number = (list) => list.forEach((v, i) => { place[v] = i; });
  layers.forEach(number);
  const mean = (v, neighbours) => {
    if (neighbours[v].length === 0) return place[v];
    let sum = 0;
    for (const n of neighbours[v]) sum += place[n];
    return sum / neighbours[v].length;
  };
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    const downward = sweep % 2 === 0;
    for (let i = 0; i < layers.length; ++i) {
      const list = layers[downward ? i : layers.length - 1 - i];
      if (list.length < 2) continue;
      const key = new Map(list.map((v) => [v, mean(v, downward ? up : down)]));
      list.sort((a, b) => key.get(a) - key.get(b) || place[a] - place[b]);
      number(list);
    }
  }
}

/** Centres nearest to `wanted` with at least `distance[i]` between i and i + 1. */
function nearest(wanted, weights, distance) {
  const blocks = [];
  let offset = 0;
  wanted.forEach((want, i) => {
    if (i > 0) offset += distance[i - 1];
    let block = { sum: (want - offset) * weights[i], weight: weights[i], count: 1 };
    while (blocks.length > 0 && blocks.at(-1).sum / blocks.at(-1).weight >= block.sum / block.weight) {
      const before = blocks.pop();
      block = { sum: before.sum + block.sum, weight: before.weight + block.weight, count: before.count + block.count };
    }
    blocks.push(block);
  });
  const centres = [];
  offset = 0;
  for (const b of blocks) {
    for (let k = 0; k < b.count; ++k) {
      if (centres.length > 0) offset += distance[centres.length - 1];
      centres.push(b.sum / b.weight + offset);
    }
  }
  return centres;
}

function placeLayers(layers, up, down, vertices, sweeps) {
  const x = new Float64Array(vertices.length);
  const gap = (a, b) => (vertices[a].dummy || vertices[b].dummy ? kEdgeGap : kBoxGap);
  const distances = layers.map((list) => list.slice(1).map((v, i) => {
    const u = list[i];
    return (vertices[u].w + vertices[v].w) / 2 + gap(u, v);
  }));
  for (const [l, list] of layers.entries()) {
    let at = 0;
    list.forEach((v, i) => {
      if (i > 0) at += distances[l][i - 1];
      x[v] = at;
    });
    const half = at / 2;
    for (const v of list) x[v] -= half;
  }
  const want = (v, neighbours) => {
    const list = neighbours[v];
    if (list.length === 0) return x[v];
    let sum = 0, weight = 0;
    for (const n of list) {
      const w = vertices[v].dummy && vertices[n].dummy ? 8 : vertices[v].dummy || vertices[n].dummy ? 2 : 1;
      sum += x[n] * w;
      weight += w;
    }
    return sum / weight;
  };
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    const downward = sweep % 2 === 0;
    for (let i = 0; i < layers.length; ++i) {
      const l = downward ? i : layers.length - 1 - i;
      const list = layers[l];
      const own = downward ? up : down;
      const wanted = list.map((v) => want(v, own));
      const weights = list.map((v) => (own[v].length === 0 ? 0.05 : vertices[v].dummy ? 2 : own[v].length));
      nearest(wanted, weights, distances[l]).forEach((c, k) => { x[list[k]] = c; });
    }
  }
  return x;
}

/**
 * boxes: [{w, h}], edges: [{from, to}] with from < to. `fixed`: boxes of the first layer, `bottom`: boxes of the last
 * layer. Returns {x, y: corners, w, h, lines: for each edge its points in between}.
 */
export function layered(boxes, edges, { fixed, bottom } = {}) {
  const count = boxes.length;
  if (count === 0) return { x: [], y: [], w: 0, h: 0, lines: [] };
  const layer = layersOf(count, edges, { fixed, bottom });
  const vertices = boxes.map((b, i) => ({ w: b.w, h: b.h, layer: layer[i], dummy: false, port: b.port === true }));
  const chains = chainsOf(boxes, edges, layer, vertices);
  const layers = [];
  vertices.forEach((v, i) => (layers[v.layer] ??= []).push(i));
  for (let i = 0; i < layers.length; ++i) layers[i] ??= [];
  const up = vertices.map(() => []), down = vertices.map(() => []);
  for (const chain of chains) {
    for (let i = 1; i < chain.length; ++i) {
      down[chain[i - 1]].push(chain[i]);
      up[chain[i]].push(chain[i - 1]);
    }
  }
  const many = vertices.length > 4000;
  orderLayers(layers, up, down, vertices, many ? 6 : 16);
  const centre = placeLayers(layers, up, down, vertices, many ? 8 : 24);
  // Moves the top left corner to the origin.
  let left = Infinity, right = -Infinity;
  vertices.forEach((v, i) => {
    left = Math.min(left, centre[i] - v.w / 2);
    right = Math.max(right, centre[i] + v.w / 2);
  });
  const tops = [];
  let y = 0;
  layers.forEach((list, l) => {
    const height = list.reduce((most, v) => Math.max(most, vertices[v].h), 0);
    tops.push({ y, height });
    const ports = (k) => layers[k].every((v) => vertices[v].port || vertices[v].dummy);
    if (l + 1 < layers.length) y += height + (ports(l) || ports(l + 1) ? kPortGap : kLayerGap);
    else y += height;
  });
  const middle = (v) => tops[vertices[v].layer].y + tops[vertices[v].layer].height / 2;
  return {
    x: boxes.map((b, i) => centre[i] - left - b.w / 2),
    y: boxes.map((b, i) => tops[layer[i]].y + (tops[layer[i]].height - b.h) / 2),
    w: right - left,
    h: y,
    lines: chains.map((chain) => chain.slice(1, -1).map((v) => {
      const t = tops[vertices[v].layer];
      return { x: centre[v] - left, y: middle(v), top: t.y, bottom: t.y + t.height };
    })),
  };
}
