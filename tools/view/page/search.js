// Finds nodes, modules, inputs and weights by name, op, module, Python line.
import { byId, el, fill, say } from "./dom.js";
import { plural } from "./text.js";

const kMostShown = 60;

function entriesOf(model) {
  const entries = [];
  for (const fn of model.functions) {
    const modules = new Set();
    for (const node of fn.nodes) {
      const { op, module, source } = node.origin;
      entries.push({ what: "node", node, title: node.title, more: [module, source].filter((t) => t).join(" · "),
        text: [node.op, op, module, source, node.raw.expression, `${fn.name}:${node.index}`, ...node.weights.map((s) => s.name)].join("\n").toLowerCase() });
      if (module && !modules.has(module)) {
        modules.add(module);
        entries.push({ what: "module", node, title: module, more: "module", text: module.toLowerCase() });
      }
    }
  }
  for (const state of model.states) {
    entries.push({ what: "weight", state, title: state.name, more: "weight", text: state.name.toLowerCase() });
  }
  return entries;
}

/** Entries containing every word of the query. Titles beginning with the query come first, then modules, nodes,
 * weights. */
export function find(entries, query) {
  const words = query.toLowerCase().split(/\s+/).filter((w) => w);
  if (words.length === 0) return [];
  const order = { module: 0, node: 1, weight: 2 };
  const rank = (e) => (e.title.toLowerCase() === query.toLowerCase() ? -2 : e.title.toLowerCase().startsWith(words[0]) ? -1 : 0) * 4 + order[e.what];
  return entries.filter((e) => words.every((w) => e.text.includes(w))).map((e, i) => [rank(e), i, e])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, , e]) => e);
}

/** `go(entry)` shows the chosen entry; `mark(entries)` marks all found entries. */
export function startSearch(models, go, mark) {
  const input = byId("query"), list = byId("found");
  let entries = null, found = [], at = -1;
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const point = (i) => {
    at = i;
    [...list.children].forEach((item, k) => item.setAttribute("aria-selected", String(k === i)));
    const item = list.children[i];
    if (!item) return;
    item.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", item.id);
  };
  const take = (entry) => {
    close();
    go(entry);
  };
  const update = () => {
    entries ??= models.flatMap((m) => entriesOf(m));
    found = find(entries, input.value.trim());
    mark(found);
    const shown = found.slice(0, kMostShown);
    fill(list, shown.map((e, i) => el("li", { role: "option", id: `found-${i}`, "aria-selected": "false", onmousedown: (event) => {
      event.preventDefault();
      take(e);
    } }, el("b", {}, e.title), models.length > 1 ? el("i", {}, (e.node?.fn.model ?? e.state.model).number === 0 ? "A" : "B") : null, el("span", {}, e.more))),
    found.length > shown.length ? el("li", { class: "more", role: "presentation" }, `${plural(found.length - shown.length, "more result")}`) : null,
    input.value.trim() && found.length === 0 ? el("li", { class: "more", role: "presentation" }, "nothing found") : null);
    list.hidden = input.value.trim() === "";
    input.setAttribute("aria-expanded", String(!list.hidden));
    say(input.value.trim() ? `${plural(found.length, "result")}` : "");
    at = -1;
    if (shown.length > 0) point(0);
  };
  input.addEventListener("input", update);
  input.addEventListener("focus", () => { if (input.value.trim()) update(); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (e) => {
    const count = Math.min(found.length, kMostShown);
    if (e.key === "ArrowDown" && count) point((at + 1) % count);
    else if (e.key === "ArrowUp" && count) point((at + count - 1) % count);
    else if (e.key === "Enter" && found[at]) take(found[at]);
    else if (e.key === "Escape") {
      input.value = "";
      mark([]);
      input.blur();
      return;
    } else return;
    e.preventDefault();
  });
}
