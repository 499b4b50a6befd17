"""The measurement as Markdown."""
from .runtimes import RUNTIMES


def best(figures, bits, ours):
    """The fastest runtime of so many bits, Tern or another; None where none ran."""
    names = [n for n in figures["runtimes"] if RUNTIMES[n].bits == bits and n.startswith("tern_") == ours]
    return min(names, key=lambda n: figures["runtimes"][n]["ms"]["median"], default=None)


def _reads_file(name):
    """Whether a token reads all of the file: the others keep a table of the embedding beside the head."""
    return name.startswith(("tern_", "llama_", "torch_"))


def _row(name, r, figures):
    ms, bytes_read = r["ms"]["median"], r["bytes"]
    rate = bytes_read / ms / 1e6
    base = figures["runtimes"].get("tern_bf16")
    cells = [RUNTIMES[name].title, f"{ms:.1f} ±{50 * (r['ms']['q3'] - r['ms']['q1']) / ms:.0f} %", f"{1e3 / ms:.1f}",
             f"{base['ms']['median'] / ms:.2f}" if base else "", f"{bytes_read / 1e6:.0f}",
             f"{rate:.1f} ({100 * rate * 1e9 / figures['read_bytes']:.0f} %)" if _reads_file(name) else ""]
    return f"| {' | '.join(cells)} |\n"


def markdown(figures):
    lines = [
        "| | ms a token | tokens/s | times Tern's bfloat16 | MB | read, GB/s |\n|---|---:|---:|---:|---:|---:|\n"]
    order = sorted(figures["runtimes"], key=lambda n: (-RUNTIMES[n].bits, list(RUNTIMES).index(n)))
    lines += [_row(name, figures["runtimes"][name], figures) for name in order]
    lines.append(f"\nReading reaches {figures['read_bytes'] / 1e9:.1f} GB/s (`tern bench`).\n")
    sizes = {name: r["bytes"] for name, r in figures["runtimes"].items()}
    if {"tern_bf16", "tern_mxfp4"} <= set(sizes):
        lines.append(f"The archive of MXFP4 takes {100 * sizes['tern_mxfp4'] / sizes['tern_bf16']:.1f} % of bfloat16's.\n")
    for bits in (16, 8, 4):
        ours, other = best(figures, bits, True), best(figures, bits, False)
        if ours and other:
            ratio = figures["runtimes"][ours]["ms"]["median"] / figures["runtimes"][other]["ms"]["median"]
            lines.append(f"{bits} bits: {RUNTIMES[ours].title} takes {ratio:.2f} of the time of {RUNTIMES[other].title}.\n")
    lines += [f"{RUNTIMES[name].title} failed at {why}.\n" for name, why in figures["failures"].items()]
    return "".join(lines)
