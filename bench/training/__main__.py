"""Milliseconds of a training step: Tern, PyTorch and torch.compile, in turns, batches of 8.

    python -m training BUILD [--models resnet18 encoder] [--threads 1 2] [--turns 15] [--runtimes tern eager compile]

Each runtime has a process of its own, which makes its first steps before the turns begin. The table has medians over
turns: elapsed milliseconds, and the processor time of all threads, which other work on the machine disturbs less.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from peers.turns import order

RUNTIMES = ("tern", "eager", "compile")
WARM_UP = 3


def make_archive(build, name, folder):
    import torch

    from . import models

    model, x, _, _ = models.make(name)
    torch.export.save(torch.export.export(model, (x,)), f"{folder}/{name}.pt2")
    archive = f"{folder}/{name}.tern"
    subprocess.run([f"{build}/tern", "export", f"{folder}/{name}.pt2", "--train", "--loss", "cross_entropy",
                    *models.MODELS[name][2], "-o", archive], check=True, stdout=subprocess.DEVNULL)
    return archive


class Process:
    def __init__(self, command, threads):
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended with {self.process.wait()}")
        return [float(x) for x in line.split()]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def command_of(runtime, build, name, archive, threads):
    if runtime == "tern":
        return [f"{build}/tern_bench", "--train", archive, str(threads)]
    return [sys.executable, "-m", "training.torch_turn", name, runtime, str(threads)]


def measure(processes, turns):
    times = {name: [] for name in processes}
    for turn in range(turns + WARM_UP):
        for name in order(processes, turn):
            ms = processes[name].turn()
            if turn >= WARM_UP:
                times[name].append(ms)
    return {name: [statistics.median(column) for column in zip(*rows)] for name, rows in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--models", nargs="+", choices=("resnet18", "encoder"), default=["resnet18", "encoder"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--runtimes", nargs="+", choices=RUNTIMES, default=list(RUNTIMES))
    parser.add_argument("--turns", type=int, default=15)
    a = parser.parse_args()
    print("| model | threads |" + "".join(f" {r}, ms (processors) |" for r in a.runtimes) + "\n|---|---|" + "---:|" * len(a.runtimes))
    with tempfile.TemporaryDirectory() as folder:
        for name in a.models:
            archive = make_archive(a.build, name, folder)
            for threads in a.threads:
                processes = {r: Process(command_of(r, a.build, name, archive, threads), threads) for r in a.runtimes}
                medians = measure(processes, a.turns)
                for process in processes.values():
                    process.end()
                print(f"| {name} | {threads} |" + "".join(
                    f" {medians[r][0]:.0f} ({medians[r][1]:.0f}) |" for r in a.runtimes), flush=True)


if __name__ == "__main__":
    main()
