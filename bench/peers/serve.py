"""One model in one Python runtime: peers.serve RUNTIME FOLDER --threads N [--models MODULE], and some of

--convert        writes the runtime's own file
--output FILE    writes what a run returns, as .npy
--load           prints JSON: milliseconds of loading and of the first run, and the private memory before, of the interpreter
                 and its libraries
--turns          does one run for each line of standard input and answers with its milliseconds, as `tern bench --turns` does
"""
import argparse
import json
import pathlib
import sys
import time

from .adapters import ADAPTERS
from .processes import private_bytes
from .runtimes import MODELS, RUNTIMES


def ms_since(start):
    return (time.perf_counter() - start) * 1e3


def timed(function):
    start = time.perf_counter()
    result = function()
    return result, ms_since(start)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runtime", choices=ADAPTERS)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--output", type=pathlib.Path)
    for name in ("convert", "load", "turns"):
        parser.add_argument(f"--{name}", action="store_true")
    a = parser.parse_args()
    a.folder = a.folder.resolve()
    adapter = ADAPTERS[a.runtime](a.folder.name, a.folder, RUNTIMES[a.runtime].file, a.threads, a.models)
    if a.convert:
        adapter.convert()
        return
    # Libraries print to stdout; only answers may go to the reader.
    answers, sys.stdout = sys.stdout, sys.stderr
    before = private_bytes("self")
    run, opened = timed(adapter.load)
    result, first = timed(run)
    if a.output:
        import numpy

        result = result[0] if isinstance(result, (list, tuple)) else result
        numpy.save(a.output, result.numpy() if hasattr(result, "numpy") else result)
    if a.load:
        print(json.dumps({"open_ms": opened, "prepare_ms": 0, "first_run_ms": first, "before_bytes": before}), file=answers)
    if a.turns:
        for _ in sys.stdin:
            print(f"{timed(run)[1]:.6f}", file=answers, flush=True)


if __name__ == "__main__":
    main()
