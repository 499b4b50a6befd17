#!/usr/bin/env python3
"""all_reduce of 1 kB to 64 MB among processes: Tern's engines and PyTorch's gloo, in turns.

  groups.py BUILD [--torch PYTHON] [--ranks 2,4] [--rounds 3] [--engines gloo,mpi] [--least 1024]

Prints microseconds of each program's calls, the median of rounds, and in parentheses those of all processors.

  groups.py BUILD --fit [--rounds 3] [--engines gloo,mpi]

Measures messages of 1 kB to 16 MB between two processes, fits latency and bandwidth to those of up to 512 kB, which stay
in the caches (the least sum of squared relative errors), and compares the all_reduce that bench/collective_model.py makes of these with the measured one. Needs
NumPy.
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


def numbers(text):
    """Bytes and microseconds of each line."""
    return {int(w[0]): float(w[1]) for w in map(str.split, text.splitlines()) if len(w) in (2, 3) and w[0].isdigit()}


CACHED = 512 << 10


def fitted(times):
    """alpha in microseconds, and bytes for each microsecond."""
    import numpy
    times = {n: t for n, t in times.items() if n <= CACHED}
    n, t = numpy.array(list(times)), numpy.array(list(times.values()))
    alpha, inverse = numpy.linalg.lstsq(numpy.stack([1 / t, n / t], axis=1), numpy.ones(len(n)), rcond=None)[0]
    return max(alpha, 0), 1 / inverse


def fit(build, engines, rounds):
    import collective_model
    for engine in engines:
        runs = {what: [numbers(groups.run(build, engine, 2, [what])[0]) for _ in range(rounds)] for what in ("link", "time")}
        middle = {what: {size: statistics.median(r[size] for r in all_rounds) for size in all_rounds[0]}
                  for what, all_rounds in runs.items()}
        alpha, rate = fitted(middle["link"])
        worst = max(abs(alpha + n / rate - t) / t for n, t in middle["link"].items() if n <= CACHED)
        print(f"{engine}: alpha {alpha:.2f} us, {rate / 1e3:.2f} GB/s; a message differs by at most {100 * worst:.0f} %")
        print(f"  {'bytes':>9} {'predicted':>10} {'measured':>10} {'ratio':>6}   microseconds of all_reduce, 2 processes")
        for size, measured in middle["time"].items():
            predicted = collective_model.direct(collective_model.Network(2, alpha, 0, rate, 0), size)
            print(f"  {size:9} {predicted:10.1f} {measured:10.1f} {measured / predicted:6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--torch", help="a Python with PyTorch")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default="gloo,mpi")
    parser.add_argument("--least", type=int, default=1024, help="bytes of the smallest call")
    parser.add_argument("--fit", action="store_true", help="latency and bandwidth of a message, and what the model makes of them")
    arguments = parser.parse_args()
    if arguments.fit:
        return fit(arguments.build, arguments.engines.split(","), arguments.rounds)
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
