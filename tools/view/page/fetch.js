// Data of weights: stored in the page if it is a file, else requested from the server.

const kKnown = new Map();
let source = null;

export function startFetching(data) {
  source = data;
}

async function ask(path, inPage) {
  if (!source.served) return inPage ?? { problem: "not in this file: --weight-bytes sets how much of the weights is read" };
  if (!kKnown.has(path)) {
    kKnown.set(path, fetch(path).then((answer) => (answer.ok ? answer.json() : { problem: `the server says ${answer.status}` }))
      .catch(() => ({ problem: "the server does not answer; 'tern view' may have ended" })));
  }
  return kKnown.get(path);
}

export const weightOf = (state) => ask(`weight?model=${state.model.number}&state=${state.index}`, source.weights?.[state.model.number]?.[state.index]);
export const comparedWith = (state, other) => ask(`compared?state=${state.index}&other=${other.index}`, source.compared?.[state.index]);
