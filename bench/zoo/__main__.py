"""Times Tern and other runtimes on hundreds of architectures and operators, and prints the distribution of the ratios."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from peers import machine
from peers.arguments import names
from peers.report import number, put_between_markers, ratio
from peers.runtimes import RUNTIMES

from . import distribution
from .case import order
from .measure import ZooMeasurement
from .store import Store

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEVELS = {"amx_tile": "AMX", "avx512_bf16": "AVX-512 and bfloat16", "avx512f": "AVX-512", "avx2": "AVX2"}
FLOAT32 = ["tern", "eager", "ort", "ov"]
AS_THEY_COME = ["auto", "autocast", "ov_auto"]  # also measured where the processor has instructions for bfloat16


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench zoo", description=__doc__)
    parser.add_argument("--only", type=re.compile, metavar="REGEX", help="measure cases whose names match")
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="measure a random sample: architectures in random order, "
                        "each first with a random batch, size and form")
    parser.add_argument("--runtimes", type=names(RUNTIMES), help=f"{', '.join(RUNTIMES)} (default: {','.join(FLOAT32)}; on "
                        f"processors with bfloat16 also {','.join(AS_THEY_COME)})")
    parser.add_argument("--threads", type=int, default=2, help="of each runtime (%(default)s)")
    parser.add_argument("--retry", action="store_true", help="repeat cases that PyTorch could not export")
    parser.add_argument("--list", action="store_true", help="list the cases and measure none")
    parser.add_argument("--report", action="store_true", help="print the distribution of stored results and measure none")
    parser.add_argument("--docs", action="store_true", help="write the distribution of docs/performance.md anew")
    parser.add_argument("--keep", action="store_true", help="keep models and converted files")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build-bench/zoo", help="results.jsonl, zoo.md and files")
    parser.add_argument("--tern", default=str(ROOT / "build-bench/tern"), help="the command to measure")
    a = parser.parse_args()
    if a.threads < 1:
        parser.error("--threads counts from 1")
    if a.minutes is not None and a.minutes <= 0:
        parser.error("--minutes is above 0")
    return a


def flags():
    """Instruction sets of this processor, as Linux names them."""
    found = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return set(found[1].split()) if found else set()


def has_bfloat16():
    return bool(flags() & {"avx512_bf16", "amx_bf16"})


def describe_processor():
    """Virtual machines give several processors one name, so the widest instruction set is part of it."""
    level = next((title for flag, title in LEVELS.items() if flag in flags()), "baseline")
    return f"{machine.describe()['processor']} with {level}, {os.cpu_count()} cores"


def read_catalog(out):
    """The catalog of the installed libraries. Imports of the libraries take seconds, so a file keeps the list."""
    path = out / "catalog.json"
    if not path.exists():
        listed = subprocess.run([sys.executable, "-m", "zoo.catalog"], stdout=subprocess.PIPE, text=True, check=True).stdout
        path.write_text(listed.splitlines()[-1] + "\n")
    return json.loads(path.read_text())


class Progress:
    """A line per case; on a terminal also one that shows the case in work."""

    def __init__(self, count, minutes):
        self.count, self.end, self.done = count, minutes and time.monotonic() + 60 * minutes, 0
        self.terminal = sys.stderr.isatty()

    def out_of_time(self):
        return self.end is not None and time.monotonic() >= self.end

    def begin(self, name):
        if self.terminal:
            left = f", {max(0, self.end - time.monotonic()) / 60:.0f} min left" if self.end else ""
            print(f"\r\033[K[{self.done + 1}/{self.count}{left}] {name}", end="", file=sys.stderr, flush=True)

    def finish(self, result):
        self.done += 1
        value = ratio(result["runtimes"]) if "runtimes" in result else None
        times = ", ".join(f"{name} {number(r['ms']['median'])}" for name, r in result.get("runtimes", {}).items() if "ms" in r)
        text = result.get("error") or (f"{value:.2f} ({times})" if value else f"no ratio ({times})")
        print(f"{chr(13) + chr(27) + '[K' if self.terminal else ''}{result['name']}: {text}", file=sys.stderr, flush=True)


def measure(a, store, processor):
    runtimes = a.runtimes or FLOAT32 + (AS_THEY_COME if has_bfloat16() else [])
    known = store.names(processor, with_errors=not a.retry)
    cases = [c for c in order(read_catalog(a.out), a.shuffle)
             if c.name not in known and (not a.only or a.only.search(c.name))]
    if a.list:
        print("\n".join(c.name for c in cases))
        print(f"{len(cases)} cases of {len({(c.kind, c.architecture) for c in cases})} architectures and operators")
        return
    versions = machine.versions(a.tern, runtimes)
    progress = Progress(len(cases), a.minutes)
    for case in cases:
        if progress.out_of_time():
            break
        progress.begin(case.name)
        result = ZooMeasurement(case, runtimes, a.out, a.threads, a.tern).all(a.keep)
        store.add(result | {"processor": processor, "versions": versions})
        progress.finish(result)


def main():
    a = arguments()
    a.out = a.out.resolve()
    a.out.mkdir(parents=True, exist_ok=True)
    store = Store(a.out / "results.jsonl")
    processor = describe_processor()
    try:
        if not a.report:
            measure(a, store, processor)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command resumes", file=sys.stderr)
    if a.list or not store.results:
        return
    section = distribution.markdown(store.results)
    (a.out / "zoo.md").write_text(section)
    if a.docs:
        document = ROOT / "docs/performance.md"
        document.write_text(put_between_markers(document.read_text(), section, distribution.BEGIN, distribution.END))
    print(section)


if __name__ == "__main__":
    main()
