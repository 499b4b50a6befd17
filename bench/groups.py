#!/usr/bin/env python3
"""all_reduce of 1 kB to 64 MB among processes: Tern's engines and PyTorch's gloo, in turns.

  groups.py BUILD [--torch PYTHON] [--ranks 2,4] [--rounds 3] [--engines gloo,mpi] [--least 1024]

Prints microseconds of each program's calls, the median of rounds, and in parentheses those of all processors.
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
import sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.set_num_threads(1)
size = int(sys.argv[1])
while size <= 64 << 20:
    x = torch.ones(size // 4)
    turns = 5 if size >= 16 << 20 else 20 if size >= 1 << 20 else 200
    dist.all_reduce(x)
    dist.barrier()
    times = []
    before = time.process_time()
    for _ in range(turns):
        begin = time.perf_counter()
        dist.all_reduce(x)
        times.append((time.perf_counter() - begin) * 1e6)
    processor = torch.tensor([(time.process_time() - before) * 1e6 / turns], dtype=torch.float64)
    dist.all_reduce(processor)
    if dist.get_rank() == 0:
        print(size, sorted(times)[len(times) // 2], processor.item(), flush=True)
    size *= 4
dist.barrier()
dist.destroy_process_group()
"""


def torch_text(python, ranks, least):
    port = str(groups.free_port())
    processes = [subprocess.Popen([python, "-c", TORCH, str(least)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
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
    parser.add_argument("--engines", default="gloo,mpi")
    parser.add_argument("--least", type=int, default=1024, help="bytes of the smallest call")
    arguments = parser.parse_args()
    names = arguments.engines.split(",") + (["torch"] if arguments.torch else [])
    for ranks in map(int, arguments.ranks.split(",")):
        times = {}
        for _ in range(arguments.rounds):
            for name in names:
                text = torch_text(arguments.torch, ranks, arguments.least) if name == "torch" else \
                    groups.run(arguments.build, name, ranks, ["time", arguments.least])[0]
                for line in text.splitlines():
                    words = line.split()
                    if len(words) == 3 and words[0].isdigit():
                        times.setdefault(int(words[0]), {}).setdefault(name, []).append((float(words[1]), float(words[2])))
        print(f"{ranks} processes")
        for size, by_name in sorted(times.items()):
            middle = lambda values, i: statistics.median(v[i] for v in values)
            cells = [f"{n} {middle(t, 0):10.1f} ({middle(t, 1):.1f})" for n, t in by_name.items()]
            print(f"  {size:9}  " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
