"""Tables of what was counted, as Markdown."""
import math

from . import model
from .counting import title
from .instructions import CLASSES


def millions(n):
    return f"{n / 1e6:,.1f}" if n < 1e9 else f"{n / 1e6:,.0f}"


def best_peer(figures, key):
    """(runtime, figure) of the peer with the least; None without one."""
    found = [(f[key], name) for name, f in figures.items() if name != "tern" and key in f]
    return (min(found)[1], min(found)[0]) if found else None


def comparison(models, runtimes, key, unit):
    """A line for each model: the figure of each runtime, and Tern's as a part of the best peer's."""
    lines = [f"| {unit} | {' | '.join(title(r) for r in runtimes)} | Tern / best |", "|---|" + "---:|" * (len(runtimes) + 1)]
    ratios = []
    for name, figures in models.items():
        show = millions if key == "instructions" else "{:.2f}".format
        cells = [show(figures[r][key]) if key in figures.get(r, {}) else "–" for r in runtimes]
        best, ours = best_peer(figures, key), figures.get("tern", {}).get(key)
        ratio = ours / best[1] if best and ours else None
        if ratio:
            ratios.append(ratio)
        lines.append(f"| {name} | {' | '.join(cells)} | {f'{ratio:.2f}' if ratio else '–'} |")
    if len(ratios) > 1:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"| geometric mean | {' | '.join('' for _ in runtimes)} | {mean:.2f} |")
    return "\n".join(lines) + "\n"


def classes(models):
    """Instructions by class, Tern beside its best peer."""
    lines = [f"| millions of instructions | | {' | '.join(CLASSES)} | MB loaded |", "|---|---|" + "---:|" * (len(CLASSES) + 1)]
    for name, figures in models.items():
        best = best_peer(figures, "instructions")
        for runtime in ["tern"] + ([best[0]] if best else []):
            f = figures.get(runtime, {})
            if "classes" in f:
                cells = " | ".join(millions(f["classes"].get(c, 0)) for c in CLASSES)
                lines.append(f"| {name} | {title(runtime)} | {cells} | {f['loaded_bytes'] / 1e6:,.1f} |")
    return "\n".join(lines) + "\n"


def percent(x):
    return "–" if x is None else f"{100 * x:.0f} %"


def hottest(figures, count=5):
    """The loops that most instructions belong to: modelled cycles, and the share of the multiply-add peak."""
    lines = ["| share | instructions | multiply-adds | bytes loaded | " +
             " | ".join(f"{t}: cycles, peak" for t in model.CORES.values()) + " | function |",
             "|---:|" + "---:|" * (3 + len(model.CORES)) + "---|"]
    for loop in figures["loops"][:count]:
        cells = [f"{c:.1f}, {percent(loop['peak_share'][core])}" if c else "–" for core, c in loop["cycles"].items()]
        place = loop["function"].split("(")[0][-80:] or f"{loop['file']} {loop['offset']}"
        lines.append(f"| {percent(loop['share'])} | {loop['instructions']} | {loop['multiply_adds']} | {loop['loaded_bytes']} | "
                     f"{' | '.join(cells)} | `{place}` |")
    return "\n".join(lines) + "\n"


def failures(models):
    lines = [f"- {title(r)}, {name}: {f['failure']}" for name, figures in models.items() for r, f in figures.items()
             if "failure" in f]
    return "\n".join(lines) + ("\n" if lines else "")
