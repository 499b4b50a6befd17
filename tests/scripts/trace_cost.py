#!/usr/bin/env python3
"""What a trace costs: runs of one program with and without it, in turns.

  trace_cost.py --tern TERN MODEL [--turns N] [--threads N] [--most SHARE]

Each turn is one run of each of two processes, in alternating order. Prints the median of the ratios of pairs, and the
ratio of the fastest tenths, which other load on the machine disturbs least. --most makes a larger one a failure; the last
line is `N passed, N failed`.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile


class Turns:
    def __init__(self, tern, model, threads, *options):
        self.process = subprocess.Popen([tern, "bench", model, "--random", "--turns", "--threads", str(threads), *options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True)
    parser.add_argument("model")
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--most", type=float)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain = Turns(args.tern, args.model, args.threads)
        traced = Turns(args.tern, args.model, args.threads, "--trace", pathlib.Path(folder) / "trace.json")
        times = []
        for turn in range(args.turns):
            if turn % 2:
                times.append((plain.run(), traced.run()))
            else:
                times.append((traced.run(), plain.run())[::-1])
        ended = plain.end(), traced.end()
    ratios = [b / a for a, b in times]
    fastest = [statistics.mean(sorted(column)[:max(1, len(times) // 10)]) for column in zip(*times)]
    ratio = fastest[1] / fastest[0]
    print(f"{args.turns} turns, {args.threads} threads: {fastest[0]:.3f} ms, traced {fastest[1]:.3f} ms: {ratio:.4f}; "
          f"median of pairs {statistics.median(ratios):.4f}")
    good = ended == (0, 0) and (args.most is None or ratio <= args.most)
    print(f"{int(good)} passed, {int(not good)} failed")
    sys.exit(not good)


if __name__ == "__main__":
    main()
