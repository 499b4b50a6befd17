"""Measures one model with all runtimes: makes files, compares outputs, loads in fresh processes, takes turns."""
import json
import math
import os
import pathlib
import statistics
import sys
import time

from . import models, turns
from .processes import Failed, PeakMemory, TurnProcess, busy_seconds, call, private_bytes
from .runtimes import MODELS, OURS, RUNTIMES, Commands, before_bytes, load_ms

LOADS, LOAD_SECONDS, MEMORY_RUNS = 3, 60, 3
# Error limits relative to the largest magnitude of the output: for float32, and for products of bfloat16.
WORST, WORST_NARROW = 1e-3, 0.2


def errors_of(path, folder, worst):
    """Against PyTorch's float64 output: the largest difference as a part of its largest magnitude, the ratio of signal to
    noise in dB, and in how many rows of the last axis the largest value is in the same place."""
    import numpy
    from safetensors.numpy import load_file

    right = load_file(folder / "data.safetensors")["out0"].astype(numpy.float64)
    if path.suffix == ".npy":
        got = numpy.load(path)
    else:
        tensors = load_file(path)
        got = tensors.get("out0", next(iter(tensors.values())))
    if got.shape != right.shape:
        raise Failed(f"gives {got.shape} instead of {right.shape}")
    got = got.astype(numpy.float64)
    error = float((numpy.abs(got - right).max() / (numpy.abs(right).max() or 1)) if right.size else 0)
    if not error <= worst:
        raise Failed(f"its output differs from PyTorch's by {error:.1g} of the largest value")
    noise = float(((got - right) ** 2).sum())
    signal = float((right**2).sum())
    return {"error": error, "sqnr_db": 10 * math.log10(signal / noise) if signal > 0 and noise > 0 else math.inf,
            "same_first": float((got.argmax(-1) == right.argmax(-1)).mean()) if right.ndim and right.size else 1.0}


class Measurement:
    """One model. `result` is what the report needs, and stays useful when a runtime fails."""

    models_module = MODELS

    def __init__(self, name, runtimes, out: pathlib.Path, threads, tern):
        self.name, self.folder = name, out / name
        what, wanted = self.describe()
        self.threads, self.processes = threads, {}
        self.commands = {r: Commands(r, self.folder, threads, tern, self.models_module) for r in runtimes if r in wanted}
        self.environment = os.environ | {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1",
                                         "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor")}
        self.result = {"what": what, "runtimes": {}, "failures": {}}

    def describe(self):
        """The model in words, and the runtimes that can run it."""
        model = models.MODELS[self.name]
        return model.what, model.runtimes or tuple(RUNTIMES)

    def log(self, runtime, step):
        return self.folder / f"{runtime}.{step}.log"

    def each(self, step, do):
        """Does a step with every runtime that has not failed yet."""
        self.each_of(self.commands, step, do)

    def each_of(self, runtimes, step, do):
        for runtime in runtimes:
            commands = self.commands[runtime]
            if runtime in self.result["failures"]:
                continue
            try:
                do(runtime, commands, self.result["runtimes"].setdefault(runtime, {}))
            except Failed as error:
                self.fail(runtime, step, str(error))

    def fail(self, runtime, step, why):
        self.result["failures"][runtime] = f"{step}: {why}"
        self.result["runtimes"].pop(runtime, None)
        print(f"  {RUNTIMES[runtime].title}: {step}: {why}", file=sys.stderr, flush=True)

    def prepare(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "data.safetensors").exists():
            call([sys.executable, "-m", "peers.prepare", self.name, str(self.folder)], self.log("pytorch", "prepare"),
                 self.environment)

    def convert(self, runtime, commands, _):
        if not commands.file.exists():
            try:
                call(commands.convert(), self.log(runtime, "convert"), self.environment)
            except Failed:
                commands.file.unlink(missing_ok=True)
                raise

    def check(self, runtime, commands, result):
        path = self.folder / f"{runtime}{'.safetensors' if runtime in OURS else '.npy'}"
        call(commands.output(path), self.log(runtime, "output"), self.environment)
        result |= errors_of(path, self.folder, WORST_NARROW if RUNTIMES[runtime].narrow else WORST)
        path.unlink()

    def load(self, runtime, commands, result):
        """From the runtime's own file to the first output, each time in a fresh process with the file in the page cache."""
        figures, end = [], time.monotonic() + LOAD_SECONDS
        while len(figures) < LOADS and (not figures or time.monotonic() < end):
            figures.append(json.loads(call(commands.load(), self.log(runtime, "load"), self.environment)))
        result["load_ms"] = turns.summary([load_ms(f) for f in figures])
        result["before_mb"] = statistics.median(before_bytes(f) for f in figures) / 1e6
        if "peaks" in figures[0]:
            self.result["machine"] = {key: max(f["peaks"][key] for f in figures) for key in figures[0]["peaks"]}

    def memory(self, runtime, commands, result):
        """Private memory at most, loading and three runs, in a process of its own, as sampling disturbs."""
        process = TurnProcess(commands.turns(), self.log(runtime, "memory"), self.environment)
        try:
            with PeakMemory(process.process.pid) as sampled:
                for _ in range(MEMORY_RUNS):
                    process.run_ms()
                after = private_bytes(process.process.pid)
        finally:
            process.close()
        result["peak_mb"] = max(sampled.peak, after) / 1e6 - result["before_mb"]

    def start(self, runtime, commands, _):
        """Starts the process of a runtime's turns."""
        self.processes[runtime] = TurnProcess(commands.turns(), self.log(runtime, "turns"), self.environment)
        for _ in range(3):
            self.processes[runtime].run_ms()
        self.processes[runtime].rest()

    def time(self, count):
        """Runs all runtimes in count() turns, and measures the share of the processors that others took meanwhile."""
        def own():
            return sum(p.cpu_seconds() for r, p in self.processes.items() if r not in self.result["failures"])

        try:
            self.each("start", self.start)
            running = {r: p for r, p in self.processes.items() if r not in self.result["failures"]}
            wall, busy, ours = time.monotonic(), busy_seconds(), own()
            times, failures, restless = turns.take_turns(running, count())
            for runtime, why in failures.items():
                self.fail(runtime, "run", why)
            if not failures:
                wall, busy, ours = time.monotonic() - wall, busy_seconds() - busy, own() - ours
                self.result["others_share"] = max(0.0, busy - ours) / (wall * os.cpu_count())
        finally:
            for process in self.processes.values():
                process.close()
        for runtime, ms in times.items():
            self.result["runtimes"][runtime] |= {"ms": turns.summary(ms), "turns_ms": ms}
            if runtime in restless:
                self.result["runtimes"][runtime]["restless"] = True

    def all(self, reps):
        self.prepare()
        for step in (self.convert, self.check, self.load, self.memory):
            self.each(step.__name__, step)
        self.time(lambda: reps)
        return self.result
