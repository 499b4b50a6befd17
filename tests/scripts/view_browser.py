#!/usr/bin/env python3
"""The page of tern view in headless Chromium: view_browser.py --tern build/tern [--programs FOLDER]

Clicks, searches, folds, walks by keyboard and reads what the page shows, against `tern inspect --json`; and counts what
it draws while 10,000 nodes pan. The frames a second are printed: they depend on the machine.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from checks import Checks
from devtools import Page, find_browser
from view import DIGITS, Server, data_of

GRAPH = "tern.graphs[0]"
MOST_CALLS = {0.02: 5000, 0.1: 1500, 0.3: 1000, 0.8: 600}  # calls of the canvas for each frame, by zoom

# Position of the middle of a node's box in the window.
PLACE = """(() => { const g = %s, s = g.scene.byId.get([...g.scene.byId.keys()].find((id) => id.endsWith('/n%d')));
  const box = g.canvas.getBoundingClientRect(), { x, y, zoom } = g.at;
  return [box.left + (s.x + s.w / 2) * zoom + x, box.top + (s.y + 12) * zoom + y]; })()"""

PAN = """(async () => { const g = tern.graphs[0]; g.at.zoom = %f; g.at.x = 300; g.at.y = -500 * g.at.zoom;
  let frames = 0; const start = performance.now();
  while (performance.now() - start < 2000) {
    g.panBy(frames %% 2 ? -6 : 8, -7); await new Promise((done) => requestAnimationFrame(done)); ++frames; }
  return 1000 * frames / (performance.now() - start); })()"""

# Number of canvas calls of a frame.
CALLS = """(async () => { const g = tern.graphs[0]; g.at.zoom = %f; g.at.x = 300; g.at.y = -500 * g.at.zoom;
  const canvas = CanvasRenderingContext2D.prototype, old = {}; let calls = 0;
  for (const [name, own] of Object.entries(Object.getOwnPropertyDescriptors(canvas))) {
    if (typeof own.value !== 'function') continue;
    old[name] = own;
    canvas[name] = function (...values) { ++calls; return own.value.apply(this, values); };
  }
  g.panBy(8, -7);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  Object.defineProperties(canvas, old);
  return calls; })()"""


# Opens everything; returns errors in the positions of boxes and edges.
LAYOUT = """(() => { const g = tern.graphs[0], wrong = [];
  for (const f of g.model.functions.filter((x) => x.entry)) {
    g.show(f);
    g.openAll(true);
    for (const n of g.model.functions.flatMap((x) => x.nodes).filter((x) => x.raw.functions)) {
      if (!g.goTo(n)) continue;
      const item = g.itemOf(g.state.selected);
      if (!g.scene.byId.get(item.id).open) g.toggle(item);
    }
    g.drawNow();
    const levels = new Map();
    for (const s of g.scene.shapes) {
      if (![s.x, s.y, s.w, s.h].every(Number.isFinite)) wrong.push(`no place: ${s.item.id}`);
      const level = s.item.parent?.id;
      levels.set(level, [...(levels.get(level) ?? []), s]);
    }
    for (const level of levels.values()) level.forEach((a, i) => level.slice(i + 1).forEach((b) => {
      if (a.x < b.x + b.w - 0.5 && b.x < a.x + a.w - 0.5 && a.y < b.y + b.h - 0.5 && b.y < a.y + a.h - 0.5) wrong.push(`overlap: ${a.item.id}, ${b.item.id}`);
    }));
    for (const e of g.scene.edges) e.points.slice(1).forEach((p, i) => { if (!(p.y >= e.points[i].y - 0.6)) wrong.push(`goes up: ${e.values}`); });
    for (const n of f.nodes) tern.details.node(n);
  }
  return wrong.slice(0, 5); })()"""


def shown(page):
    return page.js("document.getElementById('details').innerText")


def check_digits(c, page, tern, model):
    inspected = json.loads(subprocess.check_output([tern, "inspect", model, "--json"]))
    nodes = inspected["functions"][0]["nodes"]
    with Server(tern, model, "--run", "--size", "s34=4") as server:
        page.open(server.address)
        page.until("window.tern !== undefined")
        c.check("title", page.js("document.title") == "digits.tern · tern", page.js("document.title"))
        c.check("the model", f"{inspected['cost']['parameters']:,}" in shown(page) and "Measured" in shown(page))
        convolution = next(i for i, n in enumerate(nodes) if n["op"] == "convolution")
        page.click(*page.js(PLACE % (GRAPH, convolution)))
        text, node = shown(page), nodes[convolution]
        c.check("a click shows the node", f"node {convolution}" in text and node["origin"]["source"] in text and node["origin"]["module"] in text, text)
        c.check("its type", "[s34, 16, 8, 8]" in text, text)
        c.check("its attributes", all(name in text and value in text for name, value in node["attributes"].items()), text)
        c.check("its time", "Time" in text and " · " in text, text)
        page.until("document.querySelectorAll('#details .histogram').length > 0")
        c.check("its weight, from the server", "Deviation" in shown(page))
        c.check("a screen reader hears it", page.js("document.getElementById('status').textContent").startswith("convolution"))

        page.key("/")
        c.check("/ goes to the search", page.js("document.activeElement.id") == "query")
        page.type("classifier matmul")
        found = page.js("[...document.querySelectorAll('#found li b')].map((b) => b.textContent)")
        c.check("search by module and op", found == ["matmul", "matmul"], str(found))
        page.key("ArrowDown")
        page.key("Enter")
        matmul = [i for i, n in enumerate(nodes) if n["op"] == "matmul"]
        c.check("Enter goes there", f"node {matmul[1]}" in shown(page), shown(page))
        page.js("document.getElementById('query').value = ''")
        page.key("/")
        page.type(node["origin"]["source"])
        c.check("search by Python line", page.js("document.querySelectorAll('#found li').length") >= 1)
        page.key("Escape")

        page.js(f"{GRAPH}.canvas.focus()")
        page.key("Home")
        c.check("Home", page.js(f"{GRAPH}.state.selected").endswith("in0"))
        before = page.js(f"{GRAPH}.state.selected")
        page.key("ArrowDown")
        after = page.js(f"{GRAPH}.state.selected")
        c.check("arrows walk", after not in (before, None), after)
        many = page.js(f"{GRAPH}.scene.shapes.length")
        page.key("c")
        folded = page.js(f"{GRAPH}.scene.shapes.length")
        c.check("c folds all", folded < many, f"{folded} of {many}")
        page.key("Home")
        page.key("ArrowDown")
        c.check("a module", "module" in shown(page) and "Nodes" in shown(page), shown(page))
        page.key("Enter")
        opened = page.js(f"{GRAPH}.scene.shapes.length")
        c.check("Enter opens it", opened > folded)
        page.key("Enter")
        c.check("and folds it", page.js(f"{GRAPH}.scene.shapes.length") == folded)
        zoom = page.js(f"{GRAPH}.at.zoom")
        page.key("+")
        c.check("+ zooms", page.js(f"{GRAPH}.at.zoom") > zoom)
        page.js(f"{GRAPH}.openAll(true)")

        dark = page.js("document.documentElement.dataset.theme")
        page.key("t")
        c.check("t changes the theme", page.js("document.documentElement.dataset.theme") != dark)
        page.key("?")
        c.check("? lists the keys", page.js("document.getElementById('keys').open") is True)
        page.key("Escape")

        page.key("2")
        c.check("2 shows the weights", page.js("!document.getElementById('view-weights').hidden"))
        rows = page.js("document.querySelector('#view-weights .scroll').getAttribute('aria-rowcount')")
        c.check("all weights", int(rows) == len(inspected["states"]))
        page.js("document.querySelectorAll('#view-weights .rows .row')[2].click()")
        page.until("document.querySelectorAll('#details .formats tr').length > 1")
        c.check("errors of formats", "int8" in shown(page) and " dB" in shown(page), shown(page))
        page.key("3")
        c.check("3 shows the memory", page.js("!document.getElementById('view-memory').hidden") and
                page.js("document.querySelector('#view-memory .note').textContent").find(" for ") > 0)
        page.js("tern.arena.canvas.focus()")
        page.key("ArrowRight")
        c.check("a block of memory", "at" in page.js("document.getElementById('status').textContent"))
        names = page.js("""[...document.querySelectorAll('button, select, input, canvas, [role=tab], [role=grid]')]
          .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label'))).map((e) => e.outerHTML)""")
        c.check("all controls have names", names == [], str(names))
        quiet(c, page, server.address)


def quiet(c, page, address):
    """Nothing was reported, and nothing was asked of another address."""
    wrong = [m["params"] for m in page.log if m["method"] != "Network.requestWillBeSent"]
    asked = [m["params"]["request"]["url"] for m in page.log if m["method"] == "Network.requestWillBeSent"]
    c.check("no errors", wrong == [], json.dumps(wrong)[:1000])
    c.check("no other address", all(url.startswith((address, "data:")) for url in asked), str(asked))


def check_difference(c, page, tern, folder, model):
    other, html = folder / "int8.tern", folder / "difference.html"
    subprocess.run([tern, "export", DIGITS, "-o", other, "--quantize", "int8"], check=True, capture_output=True)
    subprocess.run([tern, "view", model, other, "--html", html], check=True, capture_output=True)
    page.open(html.as_uri())
    page.until("window.tern !== undefined")
    c.check("two graphs", page.js("document.querySelectorAll('.graph canvas').length") == 2)
    changed = page.js("[...tern.diff.nodes].filter(([n, d]) => d.kind === 'changed' && n.fn.model.number === 0).map(([n]) => n.op)")
    c.check("what is quantized differs", set(changed) <= {"matmul", "convolution"} and len(changed) == 3, str(changed))
    weights = page.js("[...tern.diff.weights].filter(([s, d]) => d.kind === 'changed' && s.model.number === 0).map(([s]) => s.name)")
    c.check("and its weights", sorted(weights) == ["classifier.1.weight", "classifier.4.weight", "features.3.weight"], str(weights))
    page.key("4")
    c.check("the list", page.js("document.querySelectorAll('#view-differences .row.changed').length") == 6)
    equal = page.js("document.querySelector('#view-differences .fold').textContent")
    c.check("what is equal is folded", "equal node" in equal and "equal weight" in equal and page.js("document.querySelectorAll('#view-differences .row.same').length") == 0, equal)
    drawn = "document.querySelectorAll('#view-differences .rows .row').length > 0"  # rows are drawn in the next frame
    page.js("document.querySelector('#view-differences .fold').click()")
    page.until(drawn)
    kinds = page.js("[...document.querySelectorAll('#view-differences .rows .row')].map((r) => r.classList[1])")
    c.check("and opens below what differs", kinds[:6] == ["changed"] * 6 and kinds == sorted(kinds, key=["changed", "removed", "added", "same"].index) and
            kinds[-1] == "same", str(kinds))
    page.js("document.querySelector('#view-differences .fold').click()")
    page.until(drawn)
    page.js("document.querySelector('#view-differences .row.changed').click()")
    c.check("how it differs", "Differs" in shown(page) and "int8" in shown(page), shown(page))
    matmul = page.js("tern.models[0].functions[0].nodes.findIndex((n) => n.op === 'matmul')")
    page.js(f"document.getElementById('tab-graph').click(); {GRAPH}.goTo(tern.models[0].functions[0].nodes[{matmul}])")
    c.check("its twin is chosen, too", page.js("tern.graphs[1].itemOf(tern.graphs[1].state.selected).node.op") == "matmul")
    page.until("[...document.querySelectorAll('#details h3')].some((h) => h.textContent === 'Against the other model')")
    c.check("the error of the weight", " dB" in shown(page))
    same = folder / "same.html"
    subprocess.run([tern, "view", model, model, "--html", same], check=True, capture_output=True)
    page.open(same.as_uri())
    page.until("window.tern !== undefined")
    c.check("nothing differs from itself", page.js("tern.diff.rows().length") == 0)


def check_control_flow(c, page, tern, folder, programs):
    """Each kind of body opens in its place, and its nodes can be gone to. Boxes of some programs do not overlap."""
    seen = set()
    for number, program in enumerate(sorted(programs.glob("*.pt2"))):
        html = folder / "program.html"
        if subprocess.run([tern, "view", program, "--html", html, "--weight-bytes", "0"], capture_output=True).returncode != 0:
            continue
        functions = data_of(html.read_text())["models"][0]["inspect"]["functions"]
        ops = {n["op"] for f in functions for n in f["nodes"] if n.get("functions")} - {"call"} - seen
        if not ops and number % 4 > 0:
            continue
        seen |= ops
        page.open(html.as_uri())
        page.until("window.tern !== undefined")
        wrong = page.js(LAYOUT)
        c.check(f"layout of {program.name}", wrong == [], str(wrong))
        wrong = page.js(f"tern.toggleViews(true), {LAYOUT}")
        c.check(f"layout of {program.name} with views", wrong == [], str(wrong))
        quiet(c, page, html.as_uri())
        for op in ops:
            reached = page.js(f"""(() => {{ const g = {GRAPH}; let ok = 0, all = 0;
              for (const caller of g.model.functions.flatMap((f) => f.nodes).filter((n) => n.op === '{op}'))
                for (const b of caller.raw.functions) for (const n of g.model.functions[b].nodes) {{ ++all; ok += g.goTo(n) && g.scene.byId.has(g.state.selected) ? 1 : 0; }}
              return [ok, all]; }})()""")
            c.check(f"bodies of {op} in {program.name}", reached[0] == reached[1] > 0, str(reached))
    c.check("all kinds of control flow", seen >= {"cond", "while_loop"}, str(seen))


def large_page(html, nodes=10000, block=10):
    """The page of digits with another graph: blocks of a chain with a branch, two modules deep."""
    data = data_of(html)
    t = {"dtype": "float32", "sizes": [4, 8]}
    made = []
    for i in range(nodes):
        inputs = [i] if i % block else [i, max(0, i - block)]
        if i % block == block - 1:
            inputs.append(i - block + 2)
        made.append({"op": ("matmul", "pointwise", "softmax", "reshape")[i % 4], "version": 1, "inputs": sorted(set(inputs)), "outputs": [i + 1], "types": [t],
                     "origin": {"op": "aten.add.Tensor", "module": f"layers.{i // block // 10}.blocks.{i // block % 10}", "source": f"m.py:{i}"}})
    data["models"][0]["inspect"]["functions"] = [{"name": "forward", "entry": True, "inputs": [{"name": "x", "kind": "user", "value": 0, "type": t}],
                                                  "outputs": [{"name": "y", "kind": "tensor", "value": nodes, "type": t}], "writes_back": [], "nodes": made}]
    data["models"][0].update(memory=[], run=None, view_ops=[], forms=[[0] * nodes])
    return with_data(html, data)


def with_data(html, data):
    begin = html.index('id="data">') + len('id="data">')
    return html[:begin] + json.dumps(data).replace("<", "\\u003c") + html[html.index("</script>", begin):]


def layers_page(html, layers=12):
    """The page of digits with another graph: equal layers, each with three views."""
    data = data_of(html)
    t = {"dtype": "float32", "sizes": [4, 8]}
    made, forms = [], []

    def add(op, module, *inputs):
        made.append({"op": op, "version": 1, "inputs": list(inputs), "outputs": [len(made) + 1], "types": [t],
                     "origin": {"op": "aten.x.default", "module": module, "source": "m.py:1"}})
        return len(made)

    hidden = add("embedding", "model.embed", 0)
    for i in range(layers):
        module = f"model.layers.{i}"
        x = add("matmul", f"{module}.attn.q", hidden)
        x = add("attention", f"{module}.attn", add("permute", f"{module}.attn", add("reshape", f"{module}.attn", x)))
        hidden = add("pointwise", module, hidden, add("matmul", f"{module}.attn.out", add("reshape", f"{module}.attn", x)))
    last = add("matmul", "head", hidden)
    each = 7
    forms = [i if i <= each or i == last - 1 else (i - 1) % each + 1 for i in range(last)]
    data["models"][0]["inspect"]["functions"] = [{"name": "forward", "entry": True, "inputs": [{"name": "x", "kind": "user", "value": 0, "type": t}],
                                                  "outputs": [{"name": "y", "kind": "tensor", "value": last, "type": t}], "writes_back": [], "nodes": made}]
    data["models"][0].update(memory=[], run=None, view_ops=["permute", "reshape"], forms=[forms])
    return with_data(html, data)


# Visible elements wider than the window; the legend scrolls.
TOO_WIDE = """[...document.querySelectorAll('header *, main *, aside *')].filter((e) => {
  const r = e.getBoundingClientRect();
  return r.width > 0 && !e.closest('.legend') && (r.right > innerWidth + 1 || r.left < -1);
}).map((e) => `${e.tagName} ${e.id} ${e.className}`).slice(0, 5)"""


def check_layers(c, page, tern, folder, model):
    html = folder / "layers.html"
    subprocess.run([tern, "view", model, "--html", html], check=True, capture_output=True)
    html.write_text(layers_page(html.read_text()))
    page.open(html.as_uri())
    page.until("window.tern !== undefined")
    titles = page.js(f"{GRAPH}.scene.shapes.map((s) => s.title)")
    c.check("equal layers open as one", "layers.0 to 11, 12 alike" in titles and len(titles) < 10, str(titles))
    page.js(f"{GRAPH}.canvas.focus(); {GRAPH}.select({GRAPH}.scene.shapes.find((s) => s.item.repeat).item.id)")
    page.key("Enter")
    opened = page.js(f"{GRAPH}.scene.shapes.filter((s) => /^layers/.test(s.title)).map((s) => [s.title, s.open])")
    c.check("opened, one of them is open", opened == [["layers.0 to 11, 12 alike", True], ["layers.0", True], ["layers.1 to 11, 11 alike", False]], str(opened))
    page.js(f"{GRAPH}.goTo({GRAPH}.fn.nodes[7 * 7 + 1])")
    c.check("a node of another layer can be gone to", page.js(f"{GRAPH}.itemOf({GRAPH}.state.selected).node.index") == 50)
    page.js(f"{GRAPH}.openAll(true)")
    nodes = page.js(f"{GRAPH}.scene.shapes.filter((s) => s.item.kind === 'node').length")
    page.key("v")
    everything = page.js(f"{GRAPH}.scene.shapes.filter((s) => s.item.kind === 'node').length")
    c.check("v shows views", everything == page.js(f"{GRAPH}.fn.nodes.length") == nodes + 36 and page.js("document.getElementById('show-views').checked"),
            f"{nodes} {everything}")
    page.key("v")
    c.check("and hides them", page.js(f"{GRAPH}.scene.shapes.filter((s) => s.item.kind === 'node').length") == nodes)
    page.js(f"{GRAPH}.openAll(true)")
    view = page.js(f"{GRAPH}.fn.nodes.findIndex((n) => n.op === 'permute')")
    page.key("/")
    page.type("permute")
    page.key("Enter")
    c.check("search finds a hidden view", f"node {view}" in shown(page) and page.js(f"{GRAPH}.itemOf({GRAPH}.state.selected).node.op") == "matmul", shown(page))
    quiet(c, page, html.as_uri())


def check_narrow(c, page, folder):
    """At 480 pixels all tabs and panels are in the window. The page compares two models."""
    page.size(480, 800)
    page.open((folder / "difference.html").as_uri())
    page.until("window.tern !== undefined")
    for name in ("graph", "weights", "memory", "differences"):
        page.js(f"document.getElementById('tab-{name}').click()")
        wide = page.js(TOO_WIDE)
        c.check(f"{name} fits 480 pixels", wide == [] and page.js("document.documentElement.scrollWidth") <= 480, str(wide))
    c.check("both graphs have room", page.js("document.getElementById('tab-graph').click(); tern.graphs.every((g) => g.canvas.clientHeight > 100 && g.canvas.clientWidth > 400)"))
    page.js("document.getElementById('help').click()")
    c.check("the keys fit, too", page.js("document.getElementById('keys').getBoundingClientRect().right") <= 480)
    page.size(1440, 900)


def check_speed(c, page, tern, folder, model):
    html = folder / "large.html"
    subprocess.run([tern, "view", model, "--html", html], check=True, capture_output=True)
    html.write_text(large_page(html.read_text()))
    page.open(html.as_uri())
    page.until("window.tern !== undefined")
    page.js(f"{GRAPH}.openAll(true)")
    c.check("all of 10,000 nodes are there", page.js(f"{GRAPH}.scene.shapes.filter((s) => s.item.kind === 'node').length") == 10000)
    for zoom, most in MOST_CALLS.items():
        calls = page.js(CALLS % zoom)
        print(f"10,000 nodes at {zoom}: {calls} calls, {max(page.js(PAN % zoom) for _ in range(3)):.0f} frames/s")
        c.check(f"a frame at {zoom} draws what is seen", 0 < calls <= most, f"{calls} calls of the canvas")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True)
    parser.add_argument("--programs", type=pathlib.Path, help="a folder of .pt2 files with control flow")
    options = parser.parse_args()
    tern, browser = str(pathlib.Path(options.tern).resolve()), find_browser()
    if browser is None:
        sys.exit("view_browser.py: no Chromium; './dev setup view' installs it")
    with tempfile.TemporaryDirectory() as name:
        folder, c = pathlib.Path(name), Checks(tern, name)
        model = str(folder / "digits.tern")
        subprocess.run([tern, "export", DIGITS, "-o", model], check=True, capture_output=True)
        page = Page(browser)
        try:
            check_digits(c, page, tern, model)
            check_difference(c, page, tern, folder, model)
            check_narrow(c, page, folder)
            check_layers(c, page, tern, folder, model)
            if options.programs:
                check_control_flow(c, page, tern, folder, options.programs)
            check_speed(c, page, tern, folder, model)
        finally:
            page.close()
    print(f"{c.passed} passed, {c.failed} failed")
    sys.exit(c.failed > 0)


if __name__ == "__main__":
    main()
