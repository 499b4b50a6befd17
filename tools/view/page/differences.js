// The list of differences, and below it, folded at first, the equal nodes and weights.
import { el } from "./dom.js";
import { longTable } from "./table.js";
import { plural } from "./text.js";

const kWords = { removed: "only in A", added: "only in B", changed: "changed", same: "equal" };

export function differencesView(diff, chosen) {
  const rows = diff.rows(), equal = diff.equalRows();
  const summary = el("p", { class: "note" }, rows.length === 0 ? "Nothing differs." : diff.summary().map(([what, text]) => `${what}: ${text}`).join(" · "));
  const columns = [
    { name: "", class: "mark", of: (r) => kWords[r.kind] },
    { name: "What", of: (r) => (r.node ? `${r.node.title} ${r.node.index}` : "weight") },
    { name: "Where", class: "wide", of: (r) => (r.node ? r.node.origin.module || r.node.fn.name : r.state.name) },
    { name: "How", class: "wide more", of: (r) => r.reasons.join("; ") },
  ];
  const tableOf = (shown) => longTable("Differences", columns, shown, chosen, (r) => r.kind);
  const list = el("div", { class: "list" }, el("div", { class: "bar" }, summary), tableOf(rows));
  const nodes = equal.filter((r) => r.node).length;
  const text = [[nodes, "equal node"], [equal.length - nodes, "equal weight"]].filter(([n]) => n > 0).map(([n, what]) => plural(n, what)).join(", ");
  if (equal.length === 0) return list;
  const fold = el("button", { type: "button", class: "fold", "aria-expanded": "false", onclick: () => {
    const open = fold.getAttribute("aria-expanded") === "false";
    fold.setAttribute("aria-expanded", String(open));
    list.querySelector(".table").replaceWith(tableOf(open ? [...rows, ...equal] : rows));
  } }, text);
  list.append(fold);
  return list;
}
