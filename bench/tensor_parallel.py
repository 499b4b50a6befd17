#!/usr/bin/env python3
"""Steps of the decoder of examples/tensor_parallel among processes: Tern over gloo, and PyTorch over gloo, in turns.

  tensor_parallel.py BUILD --torch PYTHON [--size small] [--ranks 1,2,4] [--rounds 3] [--steps 32]

Prints milliseconds of a step, elapsed and of all processors: medians of rounds. Each process has one thread.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "scripts"))
import groups

TORCH = """
import sys, time
sys.path.insert(0, sys.argv[1])
import torch, torch.distributed as dist
import make_programs as m
rank, ranks, size, steps = map(eval, sys.argv[2:6])
torch.set_num_threads(1)
if ranks > 1:
    dist.init_process_group("gloo")
sizes = m.SIZES[size]
model = m.Llama(sizes, rank, ranks).eval()
with torch.inference_mode():
    for i in range(4):
        model(*m.step(i, sizes.words))
    times, before = [], time.process_time()
    for i in range(steps):
        begin = time.perf_counter()
        model(*m.step(4 + i, sizes.words))
        times.append(time.perf_counter() - begin)
    print("step", sorted(times)[steps // 2] * 1e3, (time.process_time() - before) / steps * 1e3, flush=True)
if ranks > 1:
    dist.barrier()
    dist.destroy_process_group()
"""


def launch(commands):
    """The median step and the processor time of all ranks, in milliseconds."""
    port = str(groups.free_port())
    processes = []
    for r, command in enumerate(commands):
        environment = os.environ | {"RANK": str(r), "WORLD_SIZE": str(len(commands)), "MASTER_ADDR": "127.0.0.1",
                                    "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
        if len(commands) == 1:
            environment = {k: v for k, v in environment.items() if k != "RANK" and k != "WORLD_SIZE"}
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                          env=environment))
    texts = [p.communicate() for p in processes]
    found = [re.search(r"^step (\S+) (\S+)$", out, re.M) for out, _ in texts]
    if not all(found):
        sys.exit("".join(out + errors for out, errors in texts))
    return max(float(f[1]) for f in found), sum(float(f[2]) for f in found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--torch", required=True, help="a Python with PyTorch and safetensors")
    parser.add_argument("--size", default="small")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=32)
    a = parser.parse_args()
    example = ROOT / "examples" / "tensor_parallel"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([a.torch, example / "make_programs.py", folder, "--size", a.size, "--ranks", a.ranks], check=True,
                       stderr=subprocess.DEVNULL)
        for pt2 in pathlib.Path(folder).glob("*.pt2"):
            subprocess.run([f"{a.build}/tern", "export", pt2], check=True, stdout=subprocess.DEVNULL)
        for ranks in map(int, a.ranks.split(",")):
            found = {"tern": [], "torch": []}
            for _ in range(a.rounds):
                found["tern"].append(launch([[f"{a.build}/group_worker", "decode", "gloo",
                                              f"{folder}/llama_{ranks}_{r}.tern", str(a.steps)] for r in range(ranks)]))
                found["torch"].append(launch([[a.torch, "-c", TORCH, str(example), str(r), str(ranks), repr(a.size),
                                               str(a.steps)] for r in range(ranks)]))
            for name, values in found.items():
                elapsed, processor = (statistics.median(v[i] for v in values) for i in (0, 1))
                print(f"{ranks} ranks, {name}: {elapsed:.3f} ms a step, {processor:.3f} ms of processors", flush=True)


if __name__ == "__main__":
    main()
