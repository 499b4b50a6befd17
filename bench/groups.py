#!/usr/bin/env python3
"""all_reduce of 1 kB to 64 MB among processes: Tern's engines and PyTorch's gloo, in turns.

  groups.py BUILD [--torch PYTHON] [--ranks 2,4] [--rounds 3]

Prints microseconds: of each program's calls the median, of the rounds the median and the least.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "scripts"))
import groups

TORCH = """
import time, torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.set_num_threads(1)
size = 1024
while size <= 64 << 20:
    x = torch.ones(size // 4)
    turns = 5 if size >= 16 << 20 else 20 if size >= 1 << 20 else 200
    dist.all_reduce(x)
    dist.barrier()
    times = []
    for _ in range(turns):
        begin = time.perf_counter()
        dist.all_reduce(x)
        times.append((time.perf_counter() - begin) * 1e6)
    if dist.get_rank() == 0:
        print(size, sorted(times)[len(times) // 2], flush=True)
    size *= 4
dist.barrier()
dist.destroy_process_group()
"""


def torch_text(python, ranks):
    port = str(groups.free_port())
    processes = [subprocess.Popen([python, "-c", TORCH], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  env=os.environ | {"RANK": str(r), "WORLD_SIZE": str(ranks),
                                                    "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
                 for r in range(ranks)]
    return "".join(p.communicate()[0] for p in processes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--torch", help="a Python with PyTorch")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    names = ["gloo", "mpi"] + (["torch"] if arguments.torch else [])
    for ranks in map(int, arguments.ranks.split(",")):
        times = {}
        for _ in range(arguments.rounds):
            for name in names:
                text = torch_text(arguments.torch, ranks) if name == "torch" else \
                    groups.run(arguments.build, name, ranks, ["time"])[0]
                for line in text.splitlines():
                    words = line.split()
                    if len(words) == 2 and words[0].isdigit():
                        times.setdefault(int(words[0]), {}).setdefault(name, []).append(float(words[1]))
        print(f"{ranks} processes")
        for size, by_name in sorted(times.items()):
            cells = [f"{n} {statistics.median(t):10.1f} ({min(t):.1f})" for n, t in by_name.items()]
            print(f"  {size:9}  " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
