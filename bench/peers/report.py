"""Writes the figures as Markdown, and puts them between two markers of a document. Standard library alone."""
import math
import textwrap

from .runtimes import OURS, RUNTIMES

BEGIN = "<!-- peers: begin; `./dev bench peers --docs` writes what follows -->"
END = "<!-- peers: end -->"
NONE = "–"
TIMES = """Each cell is the median of the turns ± half of the interquartile range. The last column is Tern's time divided by
    that of the fastest peer: below 1 Tern is faster."""
NARROW = """In the precision that each is fastest in: `tern run --precision auto`, PyTorch under `torch.autocast` in bfloat16,
    OpenVINO without a hint. The best peer may be one in float32."""
ERRORS = """Ratio of signal to noise against PyTorch's float64 output, in dB, and the share of rows whose largest value is in
    the same place."""
MEMORY = """Largest private memory (anonymous and shared, without mapped files) while the model is loaded and runs three
    times. The first figure is the increase over the empty process, the second the whole process with its libraries, and
    with Python where people load the runtime from Python."""


def number(value):
    """Three digits that count; whole numbers from 100."""
    if value is None:
        return NONE
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def count(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def _paragraph(text):
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def table(head, rows):
    align = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, align, *rows]) + "\n"


def best_peer(runtimes, narrow=False):
    """The name of the fastest runtime but Tern, or None; `narrow`: in the precision that each is fastest in."""
    peers = {name: r["ms"]["median"] for name, r in runtimes.items()
             if name not in OURS and "ms" in r and (narrow or not RUNTIMES[name].narrow)}
    return min(peers, key=peers.get) if peers else None


def ratio(runtimes, narrow=False):
    """Tern's time as a multiple of the best peer's; None where one of them is missing."""
    best, own = best_peer(runtimes, narrow), runtimes.get("auto" if narrow else "tern", {})
    if best is None or "ms" not in own:
        return None
    return own["ms"]["median"] / runtimes[best]["ms"]["median"]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def _titles(figures):
    """The runtimes that occur, in the order of the command line, with their titles."""
    seen = {name for m in figures["models"].values() for name in [*m["runtimes"], *m["failures"]]}
    return {name: title for name, title in figures["titles"].items() if name in seen}


def _cells(figures, titles, cell):
    return [[name] + [cell(m["runtimes"].get(r)) for r in titles] for name, m in figures["models"].items()]


def _times(figures, titles, narrow=False):
    shown = {name: title for name, title in titles.items() if RUNTIMES[name].narrow == narrow}

    def cell(runtime):
        if not runtime or "ms" not in runtime:
            return NONE
        ms = runtime["ms"]
        return f"{number(ms['median'])} ±{50 * (ms['q3'] - ms['q1']) / ms['median']:.0f} %"

    rows, ratios = [], []
    for (name, *cells), model in zip(_cells(figures, shown, cell), figures["models"].values()):
        r = ratio(model["runtimes"], narrow)
        ratios += [] if r is None else [r]
        best = best_peer(model["runtimes"], narrow)
        rows.append([name, *cells, NONE if r is None else f"{r:.2f} ({titles[best]})"])
    mean = geometric_mean(ratios)
    if mean is not None:
        rows.append([f"geometric mean of {len(ratios)}", *[""] * len(shown), f"{mean:.2f}"])
    return table(["ms", *shown.values(), "Tern to the best peer"], rows)


def _narrow(figures, titles):
    """Times and errors in the precision that each runtime is fastest in; empty where no such runtime ran."""
    shown = {name: title for name, title in titles.items() if RUNTIMES[name].narrow}
    if not shown:
        return ""

    def cell(r):
        return NONE if not r or "sqnr_db" not in r else f"{number(r['sqnr_db'])}, {100 * r['same_first']:.0f} %"

    return f"""{_paragraph(NARROW)}

{_times(figures, titles, narrow=True)}
{_paragraph(ERRORS)}

{table(["dB, first", *shown.values()], _cells(figures, shown, cell))}
"""


def _loads(figures, titles):
    return table(["ms", *titles.values()],
                 _cells(figures, titles, lambda r: number(r["load_ms"]["median"]) if r and "load_ms" in r else NONE))


def _memory(figures, titles):
    def cell(r):
        return f"{number(r['peak_mb'])}, {number(r['before_mb'] + r['peak_mb'])}" if r and "peak_mb" in r else NONE

    return table(["MB", *titles.values()], _cells(figures, titles, cell))


def _notes(figures, titles):
    """What each model needs beside its row in the tables."""
    lines = []
    for name, m in figures["models"].items():
        notes = [m["what"]]
        if name == "llama_cached":
            tokens = [f"{titles[r]} {number(1000 / f['ms']['median'])}" for r, f in m["runtimes"].items() if "ms" in f]
            notes.append(f"tokens a second: {', '.join(tokens)}")
        if name == "chain" and "machine" in m:
            moved, copy = 2 * 64 * 2**20, m["machine"]["copy_bytes"]
            reached = [f"{titles[r]} {100 * moved / (f['ms']['median'] / 1e3) / copy:.0f} %"
                       for r, f in m["runtimes"].items() if "ms" in f]
            notes.append(f"of copying's {copy / 1e9:.1f} GB/s reach {', '.join(reached)}")
        if m.get("others_share", 0) > 0.05:
            notes.append(f"other programs used {100 * m['others_share']:.0f} % of the processors during the measurement")
        restless = [titles[r] for r, f in m["runtimes"].items() if f.get("restless")]
        if restless:
            notes.append(f"threads of {', '.join(restless)} were never at rest")
        notes += [f"{titles[r]} failed at {why}" for r, why in m["failures"].items()]
        lines.append(f"- {name}: {'; '.join(notes)}.")
    return "\n".join(lines) + "\n"


def markdown(figures):
    """The whole section. The same figures give the same text."""
    titles, machine = _titles(figures), figures["machine"]
    peaks = [m["machine"] for m in figures["models"].values() if "machine" in m]
    limits = ""
    if peaks:
        top = {key: max(p[key] for p in peaks) / 1e9 for key in peaks[0]}
        limits = (f" Peaks, measured by `tern bench`: {number(top['flops'])} GFLOP/s, copying {number(top['copy_bytes'])} GB/s, "
                  f"reading {number(top['read_bytes'])} GB/s.")
    versions = ", ".join(f"{name} {version}" for name, version in figures["versions"].items())
    method = f"""`./dev bench peers` (`bench/peers/`): float32 but where it says otherwise, random weights, {count(figures['threads'], 'thread')},
        {count(figures['turns'], 'turn')}. A turn waits until no thread computes, runs once without measuring, and takes the
        median of three runs; the order of the runtimes rotates. Each runtime is a process of its own. Its output must agree
        with PyTorch's float64 output within 1e-3 of the largest value, in bfloat16 within 0.2. "Tern" runs plain
        archives with packed weights from its cache, as a program that has run before finds them; "Tern, packed" runs
        archives of `tern export --target cpu`. The other runtimes pack weights when they convert or load a model."""
    place = f"""{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}, Linux
        {machine['kernel']}.{limits} Versions: {versions}."""
    loads = f"""Time from the runtime's own file, in the page cache, to the first output, without the start of the process
        and its libraries: the median of {figures['loads']} fresh processes, or of as many as run in a minute."""
    return f"""## Beside other runtimes

{_paragraph(method)}

{_paragraph(place)}

{_paragraph(TIMES)}

{_times(figures, titles)}
{_notes(figures, titles)}
{_narrow(figures, titles)}{_paragraph(loads)}

{_loads(figures, titles)}
{_paragraph(MEMORY)}

{_memory(figures, titles)}"""


def put_between_markers(document, section, begin=BEGIN, end=END):
    """The document with the section between the markers, or at its end where it has none yet."""
    block = f"{begin}\n{section.strip()}\n{end}\n"
    if begin not in document and end not in document:
        return document.rstrip("\n") + "\n\n" + block
    if (document.count(begin), document.count(end)) != (1, 1) or document.index(begin) > document.index(end):
        raise ValueError("the document needs one begin marker and one end marker after it")
    before, _, rest = document.partition(begin)
    return before + block + rest.partition(end)[2].removeprefix("\n")
