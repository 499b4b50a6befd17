"""Makes the files of a case: zoo.prepare NAME FOLDER --runtimes eager,ort,ov --threads N.

Writes model.pt2, data.safetensors (inputs, and the float64 output), and the file of each runtime, all in one process:
imports take longer than most conversions. Prints JSON with the error of each runtime that could not convert.
"""
import argparse
import copy
import json
import pathlib
import signal
import sys
import warnings

import torch
from peers.adapters import ADAPTERS
from peers.runtimes import RUNTIMES
from safetensors.torch import save_file

from . import catalog

SECONDS = 60  # limit of a step


class OutOfTime(Exception):
    pass


def alarm(*_):
    raise OutOfTime(f"takes more than {SECONDS} s")


def limited(step):
    signal.alarm(SECONDS)
    try:
        return step()
    finally:
        signal.alarm(0)


def exact_output(module, inputs):
    """The first output in float64, or in float32 for modules that cannot compute in float64."""
    with torch.no_grad():
        try:
            double = copy.deepcopy(module).double()
            if hasattr(double, "dtype"):
                double.dtype = torch.float64
            return double(*(x.double() if x.is_floating_point() else x for x in inputs))[0].float()
        except (RuntimeError, TypeError, ValueError):
            return module(*inputs)[0].float()


def write_program(name, folder):
    module, inputs = catalog.make(name)
    form = catalog.Case.parse(name).form
    # Quantized programs have no float64 form: their own output is the reference.
    exact = module(*inputs)[0].float() if form == "int8" else exact_output(module, inputs)
    with torch.no_grad():
        program = torch.export.export(module, inputs, strict=False)
    torch.export.save(program, folder / "model.pt2")
    tensors = {f"in{i}": x.contiguous() for i, x in enumerate(inputs)} | {"out0": exact.detach().contiguous()}
    save_file(tensors, folder / "data.safetensors", metadata={"rtol": "1e-3", "atol": "1e-4"})
    torch.save(module, folder / RUNTIMES["eager"].file)


def convert(runtime, name, folder, threads):
    if (folder / RUNTIMES[runtime].file).exists():
        return
    adapter = ADAPTERS[runtime](name, folder, RUNTIMES[runtime].file, threads, catalog.__name__)
    adapter.convert()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtimes", required=True)
    parser.add_argument("--threads", type=int, required=True)
    a = parser.parse_args()
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGALRM, alarm)
    torch.set_num_threads(a.threads)
    answers, sys.stdout = sys.stdout, sys.stderr
    limited(lambda: write_program(a.name, a.folder))
    failures = {}
    for runtime in filter(None, a.runtimes.split(",")):
        try:
            limited(lambda r=runtime: convert(r, a.name, a.folder, a.threads))
        except Exception as error:  # any runtime may fail in any way; the others go on
            failures[runtime] = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    print(json.dumps(failures), file=answers)


if __name__ == "__main__":
    main()
