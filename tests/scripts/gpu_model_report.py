"""Tables of ./dev gpu-model, for the terminal and as Markdown. Standard library alone."""
from gpu_model_figures import DEVICES, H100, Sums, by_kernel, group_of, misses, narrow

NONE = "–"
COLUMNS = ("launches", "least MB", "memory", "requested", "sectors", "best", "conflicts", "warps", "registers", "occupancy", "tensor",
           *(f"{device.name} µs" for device in DEVICES), "launched µs", "times", "misses")


def number(value, digits=3):
    """So many digits that count, never as a power of ten."""
    if value is None:
        return NONE
    if value == int(value) and abs(value) < 1000:
        return str(int(value))
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text else text


def share(value):
    return NONE if value is None else f"{100 * value:.0f} %"


def cells(sums, missed):
    f = sums.figures()
    spills = f", {f['spill_bytes']} B spilled" if f["spill_bytes"] else ""
    return [str(f["launches"]), number(sums.least / 1e6), number(f["memory_ratio"]), number(f["requested_ratio"]),
            number(f["sectors"]), number(f["least_sectors"]), number(f["conflicts"]), number(f["warps"]),
            NONE if f["registers"] is None else f"{f['registers']}{spills}", share(f["occupancy"]), share(f["tensor_share"]),
            *(number(1e6 * sums.least_seconds(device)) for device in DEVICES), number(1e6 * sums.launched_seconds()),
            number(f["times"]), ", ".join(missed)]


def node_rows(programs):
    """A row for each program of one node."""
    for program in programs:
        sums = Sums(program["nodes"])
        yield [program["name"], *cells(sums, misses(program["group"], sums.figures(), narrow(program["nodes"])))]


def kernel_rows(program, most):
    """A row for the nodes that the same kernels compute, and one for all."""
    groups = by_kernel(program)
    for op, kernels, sums in groups[:most]:
        name = op if kernels in ((), (op,)) else f"{op} ({', '.join(kernels)})"
        yield [f"{name}, {len(sums.nodes)} nodes", *cells(sums, misses(group_of(op), sums.figures(), narrow(sums.nodes)))]
    if len(groups) > most:
        rest = Sums([node for _, _, sums in groups[most:] for node in sums.nodes])
        yield [f"the rest, {len(rest.nodes)} nodes", *cells(rest, [])]
    yield ["all", *cells(Sums(program["nodes"]), [])]


def launches_text(program):
    """How a run starts."""
    if program["no_graph"]:
        return f"no graph: {program['no_graph']}"
    outside = f" and {program['outside_graphs']} launches outside" if program["outside_graphs"] else ""
    graphs = program["graphs"]
    copied = f"; {program['copied_bytes'] / 1e6:.2f} MB copied on the device" if program["copied_bytes"] else ""
    return f"{program['launches']} kernels in {graphs} graph{'' if graphs == 1 else 's'}{outside}{copied}"


def markdown(head, rows):
    align = ["---", *["---:"] * (len(head) - 2), "---"]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, align, *rows]) + "\n"


def terminal(head, rows):
    rows = [head, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = []
    for row in rows:
        first = row[0].ljust(widths[0])
        lines.append("  ".join([first, *(cell.rjust(w) for cell, w in zip(row[1:-1], widths[1:-1])), row[-1]]).rstrip())
    return "\n".join(lines) + "\n"


def parted(programs):
    """(those of one node, models)"""
    return [p for p in programs if p["group"] != "model"], [p for p in programs if p["group"] == "model"]


def summary(programs, table):
    """A table of the programs of one node, and one of the models."""
    nodes, models = parted(programs)
    parts = []
    if nodes:
        parts.append(table(["node", *COLUMNS], list(node_rows(nodes))))
    if models:
        rows = [[p["name"], str(p["graphs"]), *cells(Sums(p["nodes"]), [str(p["outside_graphs"])])] for p in models]
        parts.append(table(["model", "graphs", *COLUMNS[:-1], "outside"], rows))
    return "\n".join(parts)


def details(programs, table, most):
    """A table of the kernels of each model."""
    titles = [(f"{p['name']}: {launches_text(p)}", p) for p in parted(programs)[1]]
    return "\n".join(f"{title}\n\n" + table(["nodes", *COLUMNS], list(kernel_rows(p, most))) for title, p in titles)
