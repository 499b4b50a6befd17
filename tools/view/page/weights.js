// The list of weights; the panel at the side shows the chosen weight.
import { el } from "./dom.js";
import { longTable } from "./table.js";
import { bytesText, typeText } from "./text.js";

export function weightsView(models, chosen, diff) {
  const rows = models.flatMap((m) => m.states);
  const columns = [
    ...(models.length > 1 ? [{ name: "", class: "which", of: (s) => (s.model.number === 0 ? "A" : "B") }] : []),
    { name: "Name", class: "wide", of: (s) => s.name },
    { name: "Kind", class: "more", of: (s) => s.kind },
    { name: "Type", class: "wide", of: (s) => typeText(s.type) },
    { name: "Bytes", class: "number", of: (s) => bytesText(s.storage_bytes), sort: (s) => -s.storage_bytes },
    { name: "Read by", class: "number more", of: (s) => String(s.readers.length), sort: (s) => -s.readers.length },
  ];
  return el("div", { class: "list" }, longTable("Weights", columns, rows, chosen, (s) => diff?.weight(s)?.kind ?? ""));
}
