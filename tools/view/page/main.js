// Puts the page together.
import { ArenaView } from "./arena.js";
import { firstTheme, isDark, setTheme } from "./colors.js";
import { Details } from "./details.js";
import { Difference } from "./diff.js";
import { differencesView } from "./differences.js";
import { byId, el, fill, say } from "./dom.js";
import { startFetching } from "./fetch.js";
import { GraphView } from "./graph.js";
import { legend } from "./legend.js";
import { makeModel } from "./model.js";
import { kPaints, largestOf, paintsFor } from "./paint.js";
import { startSearch } from "./search.js";
import { isHidden, showViews, viewsShown } from "./views.js";
import { weightsView } from "./weights.js";

const kKeys = [["/", "search"], ["1 2 3 4", "graph, weights, memory, differences"], ["arrows", "move to the next box in that direction"], ["Enter", "open or fold"],
  ["Escape", "move to the enclosing module"], ["Shift + arrows", "move the picture"], ["+ −", "zoom; also Ctrl + wheel"], ["f   0", "fit; all of it"],
  ["o   c", "open or fold all modules"], ["v", "show or hide views"], ["d", "from the graph to the details"], ["t", "dark or light"], ["?", "this list"]];

function start() {
  firstTheme();
  const data = JSON.parse(byId("data").textContent);
  startFetching(data);
  const models = data.models.map(makeModel);
  const diff = models.length === 2 ? new Difference(...models) : null;
  for (const node of diff?.nodes.keys() ?? []) node.differs = true;
  document.title = `${models.map((m) => m.name).join(" and ")} · tern`;
  fill(byId("title"), el("b", {}, "tern"), models.map((m, i) => el("span", {}, models.length > 1 ? el("i", { class: "which" }, "AB"[i]) : null, m.name)));

  const go = {
    node: (node) => {
      show("graph");
      const graph = graphs[node.fn.model.number];
      if (graph.goTo(node)) graph.canvas.focus();
      if (isHidden(node)) details.node(node);
    },
    weight: (state) => details.weight(state),
  };
  const details = new Details(byId("details"), models, go, diff);

  // Choosing an item in one of two models also shows its match in the other.
  const chosen = (item, view) => {
    details.show(item, view.model);
    const twin = item?.kind === "node" && diff?.match.get(item.node);
    if (twin) graphs[twin.fn.model.number].goTo(twin, false);
    else if (models.length === 2) graphs[1 - view.model.number].select(null, false);
  };
  const graphs = models.map((m) => new GraphView(m, chosen));
  const key = el("div", { class: "legend", "aria-label": "Legend" });
  const arena = new ArenaView(models, (node) => details.node(node));
  const views = {
    graph: ["Graph", el("div", { class: "graphs" }, graphs.map((g) => g.element), key)],
    weights: ["Weights", weightsView(models, (state) => details.weight(state), diff)],
    memory: ["Memory", arena.element],
    ...(diff ? { differences: ["Differences", differencesView(diff, (r) => (r.node ? details.node(r.node) : details.weight(r.state)))] } : {}),
  };
  const tabs = byId("tabs");
  for (const [name, [title, element]] of Object.entries(views)) {
    Object.assign(element, { id: `view-${name}`, hidden: name !== "graph" });
    element.setAttribute("role", "tabpanel");
    element.setAttribute("aria-labelledby", `tab-${name}`);
    byId("views").append(element);
    tabs.append(el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, onclick: () => show(name) }, title));
  }
  tabs.addEventListener("keydown", (e) => {
    const list = [...tabs.children], at = list.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 }[e.key];
    if (to !== undefined) list[(to + list.length) % list.length].focus();
  });
  function show(name) {
    if (!views[name]) return;
    for (const [other, [, element]] of Object.entries(views)) {
      element.hidden = other !== name;
      byId(`tab-${other}`).setAttribute("aria-selected", String(other === name));
    }
    for (const id of ["paint-label", "views-label"]) byId(id).hidden = name !== "graph";
  }
  show("graph");

  // The list of functions, hidden if there is only one.
  const functions = byId("function"), entries = [...new Set(models.flatMap((m) => m.functions.filter((f) => f.entry).map((f) => f.name)))];
  entries.forEach((name) => functions.append(el("option", {}, name)));
  functions.hidden = entries.length < 2;
  for (const g of graphs) g.onShown = (fn) => { if (fn.entry) functions.value = fn.name; };
  functions.addEventListener("change", () => graphs.forEach((g) => g.show(g.model.functions.find((f) => f.entry && f.name === functions.value))));

  const paint = byId("paint");
  if (diff) paint.append(el("option", { value: "differences" }, "differences"));
  for (const p of paintsFor(models)) paint.append(el("option", { value: p.key }, p.name));
  const repaint = () => {
    const by = kPaints.find((p) => p.key === paint.value) ?? kPaints[0];
    for (const g of graphs) {
      g.state.differences = paint.value === "differences" ? diff : null;
      g.paintBy(by);
    }
    legend(key, models, by, by.of ? largestOf(models, by) : 0, paint.value === "differences");
  };
  paint.addEventListener("change", repaint);
  if (models.some((m) => m.run) && !diff) paint.value = "time";
  repaint();

  startSearch(models, (entry) => {
    if (entry.state) {
      show("weights");
      details.weight(entry.state);
    } else go.node(entry.node);
  }, (found) => {
    for (const g of graphs) {
      const nodes = new Set(found.filter((e) => e.node?.fn.model === g.model).map((e) => e.node));
      g.state.found = nodes.size === 0 || nodes.size > 5000 ? null : new Set(g.scene.shapes.filter((s) => s.item.kind === "node" && nodes.has(s.item.node)).map((s) => s.item.id));
      g.draw();
    }
  });

  const viewsBox = byId("show-views");
  const toggleViews = (on) => {
    viewsBox.checked = on;
    showViews(on);
    for (const g of graphs) g.rebuild();
    say(on ? "views are shown" : "views are hidden");
  };
  viewsBox.addEventListener("change", () => toggleViews(viewsBox.checked));

  const turn = () => setTheme(isDark() ? "light" : "dark");
  byId("theme").addEventListener("click", turn);
  const keys = byId("keys");
  fill(keys, el("h2", {}, "Keys"), el("dl", { class: "facts" }, kKeys.map(([k, what]) => [el("dt", {}, el("kbd", {}, k)), el("dd", {}, what)])), el("form", { method: "dialog" }, el("button", {}, "Close")));
  byId("help").addEventListener("click", () => keys.showModal());
  document.addEventListener("keydown", (e) => {
    if (e.target.matches("input, select, dialog, dialog *") || e.ctrlKey || e.metaKey || e.altKey) return;
    const act = { "/": () => byId("query").focus(), "?": () => keys.showModal(), t: turn, v: () => toggleViews(!viewsShown()), d: () => byId("details").focus() }[e.key]
      ?? (/^[1-4]$/.test(e.key) ? () => show(Object.keys(views)[Number(e.key) - 1]) : null);
    if (!act) return;
    e.preventDefault();
    act();
  });
  details.model(models[0]);
  graphs[0].canvas.focus();
  // Used by tests.
  window.tern = { models, graphs, diff, arena, details, toggleViews };
}

start();
