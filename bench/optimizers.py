#!/usr/bin/env python3
"""AdamW over lists of float32 tensors: Tern, PyTorch's fused and foreach, and copying, in turns.

    optimizers.py TERN_BENCH [--turns N] [--threads N]

A step moves 28 bytes a parameter: it reads parameter, gradient and two moments, and writes all but the gradient. Copying
reads and writes as many in all. Each of the programs has its own process; the figures are medians over turns.
"""

import argparse
import os
import statistics
import subprocess
import sys

LISTS = ((1000, 100_000), (10_000, 1_000))


def serve(tensors, size, kind, threads):
    import time

    import torch

    torch.set_num_threads(threads)
    params = [torch.nn.Parameter(torch.full((size,), 0.01)) for _ in range(tensors)]
    for p in params:
        p.grad = torch.full((size,), 0.01)
    optimizer = torch.optim.AdamW(params, fused=kind == "fused", foreach=kind == "foreach")
    optimizer.step()
    for _ in sys.stdin:
        start = time.perf_counter()
        optimizer.step()
        print((time.perf_counter() - start) * 1e3, flush=True)


class Process:
    def __init__(self, command, threads):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | {"OMP_NUM_THREADS": str(threads)})

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [float(x) for x in self.process.stdout.readline().split()]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(bench, python, tensors, size, turns, threads):
    me = [python, __file__, "--serve", str(tensors), str(size), str(threads)]
    processes = {"Tern": Process([bench, "--optim", str(tensors), str(size)], threads),
                 "fused": Process([*me, "fused"], threads), "foreach": Process([*me, "foreach"], threads)}
    times = {name: [] for name in (*processes, "copying")}
    for _ in range(turns):
        for name, process in processes.items():
            ms, *copy = process.turn()
            times[name].append(ms)
            times["copying"] += copy
    for process in processes.values():
        process.end()
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"| {tensors:,} of {size:,} |" + "".join(
        f" {medians[name]:.1f} ({medians['copying'] / medians[name]:.0%}) |" for name in ("Tern", "fused", "foreach"))
        + f" {medians['copying']:.1f}, {28e-6 * tensors * size / medians['copying']:.1f} GB/s |", flush=True)


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(int(sys.argv[2]), int(sys.argv[3]), sys.argv[5], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--python", default=sys.executable, help="one with PyTorch")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    a = parser.parse_args()
    print("| tensors | Tern, ms (of copying) | fused | foreach | copying |\n|---|---:|---:|---:|---:|")
    for tensors, size in LISTS:
        measure(a.bench, a.python, tensors, size, a.turns, a.threads)


if __name__ == "__main__":
    main()
