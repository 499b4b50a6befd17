"""The report of gpu_check.py, in Markdown."""
import datetime
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_FAILURES = 40


def cell(text):
    """Without folders of this machine, and on one line of a table."""
    return re.sub(r"\s+", " ", str(text).replace(f"{ROOT}/", "").replace(str(pathlib.Path.home()), "~")).replace("|", "\\|")


def every_th(n):
    """Every case, every 2nd, every 10th."""
    last = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th") if n % 100 not in (11, 12, 13) else "th"
    return "every" if n == 1 else f"every {n}{last}"


def outcome(step):
    if step.skipped:
        return f"not measured: {cell(step.skipped)}" if step.name == "speed" else f"not run: {cell(step.skipped)}"
    return "failed" if step.failed else "passed"


def write(path, device, versions, steps, every, seconds):
    lines = [f"# {cell(device.entry['description'])}, {datetime.date.today()}", ""]
    if device.emulated:
        lines += ["**Emulated**: the driver is a stand-in of `tests/gpu/`. No GPU ran anything, and there are no speeds.", ""]
    lines += [f"`./dev gpu-check` on `{device.name}`: {every_th(every)} conformance case, {every_th(max(1, every // 10))} program and "
              f"model, in {seconds:.0f} s.", "", "| what | version |", "|---|---|"]
    lines += [f"| {cell(what)} | {cell(version)} |" for what, version in versions]
    lines += ["", "| step | result | passed | failed | s |", "|---|---|---|---|---|"]
    lines += [f"| {cell(s.name)} | {outcome(s)} | {s.passed} | {s.failed} | {s.seconds:.0f} |" for s in steps]
    for step in steps:
        if step.table or step.notes:
            lines += ["", f"## {step.name.capitalize()}", "", *step.table, *([""] if step.table else []), *map(cell, step.notes)]
    if any(s.failures for s in steps):
        lines += ["", "## Failures"]
    for step in steps:
        if step.failures:
            lines += ["", f"{cell(step.name)}:", ""]
            lines += [f"- `{cell(f)[:400].replace('`', chr(39))}`" for f in step.failures[:MOST_FAILURES]]
            if len(step.failures) > MOST_FAILURES:
                lines.append(f"- and {len(step.failures) - MOST_FAILURES} more")
    lines += ["", f"{sum(s.passed for s in steps)} passed, {sum(s.failed for s in steps)} failed"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
