#!/usr/bin/env python3
"""Counts what programs cost on a GPU, without one: `./dev gpu-model` builds what this needs and calls it.

  gpu_model.py [--build FOLDER] [--nodes PATTERN] [--json FILE] [--docs] [--check | --update] [MODEL...]

Models are archives or .pt2 files. It counts single nodes of sizes that models have, too, and without models those that
`./dev bench peers` has made; with --check and --update three small ones of the tests. docs/gpu_model.md explains the
figures. --check compares them with those of tests/data/gpu_model.json: one that is worse fails; the last line is `N
passed, N failed`. --update writes them there.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

from gpu_model_baseline import compare, kept
from gpu_model_figures import Sums
from gpu_model_report import details, markdown, summary, terminal

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASELINE = ROOT / "tests/data/gpu_model.json"
DOCS = ROOT / "docs/gpu_model_figures.md"
SMALL = [ROOT / f"build/test-data/models/{name}.pt2" for name in ("timm-mobilenetv3", "hf-qwen2", "hf-bert-generation")]
BEGIN = "<!-- gpu-model: begin; `./dev gpu-model --docs MODEL...` writes what follows -->\n"
END = "<!-- gpu-model: end -->\n"


def arguments():
    parser = argparse.ArgumentParser(prog="./dev gpu-model", description=__doc__.split("\n\n")[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path, metavar="MODEL")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--nodes", default=".", metavar="PATTERN", help="single nodes: a regular expression, '-' for none")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=NUMBER", help="a symbolic size of the models")
    parser.add_argument("--work", type=float, default=6e7,
                        help="operations of a launch, beyond which only some of its blocks run (%(default).0e)")
    parser.add_argument("--most", type=int, default=8,
                        help="rows of the table of each model's kernels; 0: no such table (%(default)s)")
    parser.add_argument("--libraries", action="store_true",
                        help="with NVIDIA's libraries, as far as they are emulated: their nodes take the least")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="everything that was counted, launch by launch")
    parser.add_argument("--docs", action="store_true", help="write the tables of docs/gpu_model_figures.md anew")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--check", action="store_true", help="fail where a figure is worse than in the baseline")
    end.add_argument("--update", action="store_true", help="write the baseline")
    a = parser.parse_args()
    if a.libraries and (a.check or a.update or a.docs):
        parser.error("the baseline and the page are of Tern's own kernels, without --libraries")
    return a


class Counter:
    """The program that counts, on the emulated device."""

    def __init__(self, a):
        device = a.build.absolute().parent / "tests/scripts/device.sh"
        self.command = [str(device), "cuda", str(a.build.absolute() / "gpu_model")]
        ptxas = sorted((a.build / "device-tools").glob("lib/python*/site-packages/nvidia/cu*/bin/ptxas"))
        if not ptxas:
            print("No ptxas in build/device-tools, so no registers and occupancy: './dev setup devices' installs it",
                  file=sys.stderr)
        self.environment = os.environ | {"TERN_CUDA_LIBRARIES": str(int(a.libraries))}
        self.options = ["--work", str(a.work), *(f"--size={size}" for size in a.size)]
        self.options += ["--cache", str(a.build.absolute() / "gpu-emulation/texts")]
        if ptxas:
            self.options += ["--ptxas", str(ptxas[-1].absolute())]

    def call(self, *arguments):
        done = subprocess.run([*self.command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.environment)
        if done.returncode:
            sys.exit(f"gpu_model: {' '.join(arguments)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def node_names(self, pattern):
        return [name for name in self.call("--list").splitlines() if pattern != "-" and re.search(pattern, name)]

    def count(self, arguments):
        return json.loads(self.call(*self.options, *arguments))

    def all(self, names, models):
        """Nodes in as many processes as there are cores, by turns: neighbours are alike. Then models."""
        workers = min(os.cpu_count() or 1, 4)
        parts = [[f"--node={name}" for name in names[i::workers]] for i in range(workers)]
        parts += [[str(model.absolute())] for model in models]
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            found = [program for part in pool.map(self.count, filter(None, parts)) for program in part]
        order = {name: i for i, name in enumerate([*names, *map(name_of, models)])}
        return sorted(found, key=lambda program: order.get(program["name"], 0))


def name_of(model):
    """As gpu_model names it: `resnet50` of resnet50/model.pt2 and of resnet50.tern."""
    return model.parent.name if model.stem == "model" else model.stem


def figures_of(programs):
    """What the baseline has of each program."""
    return {p["name"]: kept({**Sums(p["nodes"]).figures(), "graphs": p["graphs"], "outside_graphs": p["outside_graphs"]})
            for p in programs}


def check(programs):
    failures, better = compare(json.loads(BASELINE.read_text()), figures_of(programs))
    for line in failures:
        print(f"FAIL {line}")
    if better:
        print(f"Better than the baseline, which ./dev gpu-model --update writes anew: {'; '.join(better)}")
    failed = len({line.split(": ")[0] for line in failures})
    print(f"{len(programs) - failed} passed, {failed} failed")
    return failed


def update(programs):
    old = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    lines = [f" {json.dumps(name)}: {json.dumps(figures)}" for name, figures in {**old, **figures_of(programs)}.items()]
    BASELINE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def write_docs(programs):
    text = DOCS.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    DOCS.write_text(text[:begin] + "\n" + summary(programs, markdown) + "\n" + text[end:])


def main():
    a = arguments()
    counter = Counter(a)
    models = a.models
    if not models:
        models = SMALL if a.check or a.update else sorted((ROOT / "build-bench/peers").glob("*/model.pt2"))
    programs = counter.all(counter.node_names(a.nodes), models)
    broken = [p for p in programs if "error" in p]
    for p in broken:
        print(f"FAIL {p['name']}: {p['error']}")
    programs = [p for p in programs if "error" not in p]
    if a.most:
        print(details(programs, terminal, a.most))
    print(summary(programs, terminal))
    if a.json:
        a.json.write_text(json.dumps(programs, indent=1) + "\n")
    if a.docs:
        write_docs(programs)
    if a.update:
        update(programs)
    failed = len(broken)
    if a.check:
        failed += check(programs)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
