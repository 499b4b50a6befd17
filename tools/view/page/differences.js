// The list of what differs.
import { el } from "./dom.js";
import { longTable } from "./table.js";

const kWords = { removed: "only in A", added: "only in B", changed: "changed" };

export function differencesView(diff, chosen) {
  const rows = diff.rows();
  const summary = el("p", { class: "note" }, rows.length === 0 ? "Nothing differs." : diff.summary().map(([what, text]) => `${what}: ${text}`).join(" · "));
  const columns = [
    { name: "", class: "mark", of: (r) => kWords[r.kind] },
    { name: "What", of: (r) => (r.node ? `${r.node.title} ${r.node.index}` : "weight") },
    { name: "Where", class: "wide", of: (r) => (r.node ? r.node.origin.module || r.node.fn.name : r.state.name) },
    { name: "How", class: "wide more", of: (r) => r.reasons.join("; ") },
  ];
  return el("div", { class: "list" }, el("div", { class: "bar" }, summary), longTable("Differences", columns, rows, chosen, (r) => r.kind));
}
