"""Times one token of a decoder of 0.5 B parameters, its cache of 128 slots half filled, by Tern and other runtimes in
turns. Weights take 16, 8 and 4 bits."""
import argparse
import json
import math
import os
import pathlib
import statistics
import sys

from peers import turns
from peers.arguments import names
from peers.processes import Failed, TurnProcess, call

from . import report
from .runtimes import RUNTIMES, Commands

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORST_DB = 25  # smallest SQNR of Tern against PyTorch in float32 with the same rounded weights; PyTorch in bfloat16 has
               # 30


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench decoder", description=__doc__)
    parser.add_argument("--runtimes", type=names(RUNTIMES), default=list(RUNTIMES), help=", ".join(RUNTIMES))
    parser.add_argument("--reps", type=int, default=9, help="turns of each runtime (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of each runtime (%(default)s)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build-bench/decoder",
                        help="20 GB of models, logs, and decoder.json; what is there is not made again")
    parser.add_argument("--tern", default=str(ROOT / "build-bench/tern"), help="the command to measure")
    parser.add_argument("--llama-bench", default=str(ROOT / "build-bench/llama/bin/llama-bench"), help="that of llama.cpp")
    a = parser.parse_args()
    if a.reps < 1 or a.threads < 1:
        parser.error("--reps and --threads count from 1")
    return a


def sqnr_db(path, right):
    """Of the logits in a file."""
    import numpy

    got = numpy.load(path) if path.suffix == ".npy" else to_float32(path)
    right = right.astype(numpy.float64)
    noise = float(((got.astype(numpy.float64) - right) ** 2).sum())
    return 10 * math.log10(float((right**2).sum()) / noise) if noise > 0 else math.inf


def to_float32(path):
    """NumPy has no bfloat16."""
    from safetensors.torch import load_file

    return next(iter(load_file(path).values())).float().numpy()


class Measurement:
    def __init__(self, a):
        self.a, self.folder = a, a.out
        self.commands = {n: Commands(n, a.out, a.threads, a.tern, a.llama_bench) for n in a.runtimes}
        self.environment = os.environ | {"OMP_NUM_THREADS": str(a.threads), "HF_HUB_OFFLINE": "1"}
        self.figures = {"threads": a.threads, "turns": a.reps, "runtimes": {}, "failures": {}}

    def each(self, step, do):
        for name, commands in self.commands.items():
            if name in self.figures["failures"]:
                continue
            print(f"{RUNTIMES[name].title}: {step}", file=sys.stderr, flush=True)
            try:
                do(name, commands)
            except Failed as error:
                self.fail(name, f"{step}: {error}")

    def fail(self, name, why):
        self.figures["failures"][name] = why
        print(f"  {RUNTIMES[name].title}: {why}", file=sys.stderr, flush=True)

    def log(self, name, step):
        return self.folder / f"{name}.{step}.log"

    def convert(self, name, commands):
        if not commands.file.exists():
            commands.file.parent.mkdir(exist_ok=True)
            try:
                call(commands.convert(), self.log(name, "convert"), self.environment)
            except Failed:
                commands.file.unlink(missing_ok=True)
                raise

    def check(self, name, commands):
        """Tern against PyTorch in float32 with the weights that it has. The others round in their own ways, which leaves
        little of random logits in four bits; they must have something in common with the weights before rounding."""
        if name.startswith("llama_"):
            return
        from safetensors.numpy import load_file

        path = self.folder / f"{name}{'.safetensors' if commands.ours else '.npy'}"
        call(commands.output(path), self.log(name, "output"), self.environment)
        right = load_file(self.folder / "logits.safetensors")
        db = sqnr_db(path, right[commands.ours and RUNTIMES[name].form or "bf16"])
        if not db > (WORST_DB if commands.ours else 0):
            raise Failed(f"its logits are not PyTorch's: {db:.1f} dB")
        self.result(name)["sqnr_db"] = db
        path.unlink()

    def result(self, name):
        return self.figures["runtimes"].setdefault(name, {})

    def bytes_of(self, commands):
        """Of a runtime's file, and of the data beside it."""
        beside = [f for f in commands.file.parent.glob(f"{commands.file.stem}.*") if f.suffix in (".bin", ".data")]
        return sum(f.stat().st_size for f in [commands.file, *beside])

    def time(self):
        processes = {}

        def start(name, commands):
            processes[name] = TurnProcess(commands.turns(), self.log(name, "turns"), self.environment)
            processes[name].run_ms()
            processes[name].rest()

        try:
            self.each("start", start)
            running = {n: p for n, p in processes.items() if n not in self.figures["failures"]}
            times, failures, _ = turns.take_turns(running, self.a.reps)
        finally:
            for process in processes.values():
                process.close()
        for name, why in failures.items():
            self.fail(name, f"run: {why}")
        for name, ms in times.items():
            self.result(name).update(ms=turns.summary(ms), bytes=self.bytes_of(self.commands[name]))

    def bandwidth(self):
        """Reading alone, as `tern bench` measures it, several times."""
        ours = [c for c in self.commands.values() if c.ours and c.file.exists()]
        if not ours:
            raise SystemExit("the reading bandwidth is measured by Tern: name one of its formats")
        peaks = [json.loads(call(ours[0].peaks(), self.log("tern", "peaks"), self.environment))["peaks"] for _ in range(5)]
        self.figures["read_bytes"] = statistics.median(p["read_bytes"] for p in peaks)

    def all(self):
        if not (self.folder / "logits.safetensors").exists():
            call([sys.executable, "-m", "decoder.prepare", str(self.folder)], self.log("pytorch", "prepare"), self.environment)
        self.each("convert", self.convert)
        self.each("check", self.check)
        self.bandwidth()
        self.time()
        runtimes = self.figures["runtimes"]
        self.figures["runtimes"] = {n: r for n, r in runtimes.items() if "ms" in r}
        return self.figures


def main():
    a = arguments()
    a.out = a.out.resolve()
    a.out.mkdir(parents=True, exist_ok=True)
    figures = Measurement(a).all()
    (a.out / "decoder.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(report.markdown(figures))


if __name__ == "__main__":
    main()
