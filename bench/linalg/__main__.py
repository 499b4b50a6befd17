"""Batches of small matrices by Tern, PyTorch, NumPy and SciPy, in turns; the least time of each counts, so that what else
the machine does counts little. A ratio above 1: Tern is that many times as fast as the fastest other."""
import argparse
import json
import pathlib
import subprocess
import sys
import time

from . import peers

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPERATIONS = ["cholesky", "solve", "inv", "qr", "eigh", "svd"]
MORE = ["eigvalsh", "svdvals", "lu_factor", "det", "triangular_solve", "cholesky_solve", "lstsq",
        "slogdet", "pinv", "matrix_exp", "eig", "ldl_factor"]


class Tern:
    """`tern_bench --linalg` (bench/linalg.h)."""

    def __init__(self, command):
        self.process = subprocess.Popen([command, "--linalg"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit("tern_bench has ended")
        return answer

    def run(self):
        return tuple(float(x) for x in self.ask("run").split())


def repeated(library, times):
    """Runs right after each other, so that no thread of it has slept long; the best of them."""
    runs = [library.run() for _ in range(times)]
    return min(x[0] for x in runs), min(x[1] for x in runs)


def batch_of(n, memory):
    return max(2, min(10000 if n <= 32 else 1000, int(memory / (n * n))))


def works(library, operation, n):
    try:
        library.run()
    except (RuntimeError, ValueError) as error:  # torch's LinAlgError is the former, NumPy's and SciPy's the latter
        print(f"{library.name}: {operation} of {n} rows fails: {error}", file=sys.stderr)
        return False
    return True


def measure(tern, operation, dtype, n, batch, a):
    """The least seconds (wall, threads) of each; slow ones have fewer turns."""
    others = peers.libraries(operation, batch, n, dtype, a.peers, a.torch_threads)
    tern.ask(f"make {operation} {dtype} {n} {batch} {a.threads}")
    least, spent = {}, {}
    tern.run()
    others = [x for x in others if works(x, operation, n)]
    for turn in range(a.turns):
        for name, x in [("tern", tern), *((o.name, o) for o in others)]:
            if turn >= 3 and spent[name] > a.seconds:
                continue
            start = time.perf_counter()
            wall, cpu = repeated(x, a.repeats)
            spent[name] = spent.get(name, 0) + time.perf_counter() - start
            old = least.get(name, (wall, cpu))
            least[name] = min(old[0], wall), min(old[1], cpu)
    return least


def main():
    p = argparse.ArgumentParser(prog="./dev bench linalg", description=__doc__)
    p.add_argument("--ops", default=",".join(OPERATIONS), help=f"also {', '.join(MORE)} (%(default)s)")
    p.add_argument("--types", default="float32,float64")
    p.add_argument("--sizes", default="2,3,4,8,16,24,32,64")
    p.add_argument("--batch", type=int, default=0, help="matrices (10,000; 1,000 above 32; fewer for large ones)")
    p.add_argument("--memory", type=float, default=2e7, help="numbers of a batch at most (%(default)g)")
    p.add_argument("--threads", type=int, default=2, help="of Tern (%(default)s)")
    p.add_argument("--turns", type=int, default=15)
    p.add_argument("--repeats", type=int, default=1, help="runs of a turn, of which the best counts (%(default)s)")
    p.add_argument("--seconds", type=float, default=3, help="for each of them, after three turns (%(default)s)")
    p.add_argument("--peers", default="torch,numpy,scipy")
    p.add_argument("--torch-threads", default="1,2", help="its LU of several matrices of 256 rows and more can hang "
                   "with 2 (%(default)s)")
    p.add_argument("--tern", default=str(ROOT / "build-bench/tern_bench"))
    p.add_argument("--json", type=pathlib.Path)
    a = p.parse_args()
    a.peers, a.torch_threads = a.peers.split(","), [int(x) for x in a.torch_threads.split(",")]
    tern, rows = Tern(a.tern), []
    print("| op | type | n | batch | Tern, ms | fastest other, ms | | ratio | ratio of processor time |\n"
          "|---|---|---:|---:|---:|---:|---|---:|---:|")
    for operation in a.ops.split(","):
        for dtype in a.types.split(","):
            for n in (int(x) for x in a.sizes.split(",")):
                batch = a.batch or batch_of(n, a.memory)
                least = measure(tern, operation, dtype, n, batch, a)
                wall, cpu = least.pop("tern")
                best = min(least, key=lambda name: least[name][0])
                cheapest = min(x[1] for x in least.values())
                rows.append({"op": operation, "type": dtype, "n": n, "batch": batch, "tern": [wall, cpu], "others": least})
                print(f"| {operation} | {dtype} | {n} | {batch} | {1e3 * wall:.3g} | {1e3 * least[best][0]:.3g} | {best} "
                      f"| {least[best][0] / wall:.2f} | {cheapest / cpu:.2f} |", flush=True)
                if a.json:
                    a.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
