"""Whether Tern takes cuDNN's fastest engine for convolutions, for gpu_check.py.

build/convolution_speed prints a line for each engine, and one that begins with `=` for each convolution; a line that begins
with SKIP says why it cannot run.
"""
import re

from gpu_check_step import Step, call

SUM = re.compile(r"^= (\S+) (\d+) (\S+) (\S+) plain: (\S+) us taken, (\S+) best \((.*)\); fused: (\S+) taken, (\S+) best \((.*)\)$")
HEAD = ("model", "batch", "type", "convolution", "plain: taken, µs", "best", "of", "with bias and ReLU: taken, µs", "best", "of")
SLOWER = 1.2  # reports a faster engine if Tern's engine takes this many times its time


def sums(lines):
    """The words of HEAD for each convolution."""
    return [match.groups() for match in map(SUM.match, lines) if match]


def slower(rows):
    """Lines for people, of the convolutions whose engine is not the best."""
    told = []
    for *what, plain, best, engine, fused, fused_best, fused_engine in rows:
        for graph, taken, least, by in (("plain", plain, best, engine), ("fused", fused, fused_best, fused_engine)):
            if float(taken) > SLOWER * float(least):
                told.append(f"{' '.join(what)} {graph}: {taken} µs, {least} by {by}")
    return told


def measure(program, device, limit):
    name = "convolutions"
    if device.plugin != "cuda":
        return Step(name, skipped="it is for NVIDIA's GPUs")
    if not program.exists():
        return Step(name, skipped=f"{program.name} is not built: './dev gpu-check' builds it")
    done = call([str(program), f"{limit * 0.7:.1f}", *(["--small"] if device.emulated else [])], limit)
    lines = done.output.splitlines()
    failures = [line for line in lines if line.startswith("FAIL")] or ([done.wrong] if done.wrong else [])
    skipped = next((line.removeprefix("SKIP ") for line in lines if line.startswith("SKIP")), "")
    if skipped and not failures:
        return Step(name, skipped=skipped)
    rows = sums(lines)
    if not rows and not failures:
        return Step(name, 0, 1, ["nothing was measured: give --minutes more"])
    step = Step(name, len(rows), len(failures), failures)
    if device.emulated:
        return step  # without times
    step.table = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|", *(f"| {' | '.join(row)} |" for row in rows)]
    step.shown = [f"convolutions with a faster engine than Tern's: {len(slower(rows))}", *slower(rows)]
    step.notes = step.shown[1:]
    return step
