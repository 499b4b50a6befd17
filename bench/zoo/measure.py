"""Measures one case: makes its files, compares outputs, takes turns, and sums the time that Tern loses."""
import json
import shutil
import sys

from peers.measure import WORST, WORST_NARROW, Measurement, errors_of
from peers.processes import Failed, TurnProcess, call
from peers.runtimes import OURS, RUNTIMES

PREPARE_SECONDS, TURN_SECONDS, FEWEST, MOST = 240, 10, 3, 9
RUNS_OF_A_TURN = 4
LIMITS = {"float32": WORST, "bfloat16": WORST_NARROW, "int8": WORST_NARROW}


class ZooMeasurement(Measurement):
    """One case. `result` is a line of the results."""

    models_module = "zoo.catalog"

    def __init__(self, case, runtimes, out, threads, tern):
        super().__init__(case.name, runtimes, out, threads, tern)
        self.case = case
        self.result |= {"name": case.name, "kind": case.kind, "form": case.form, "threads": threads}

    def describe(self):
        return "", tuple(RUNTIMES)

    def make_files(self):
        """Everything that needs PyTorch in one process; archives with Tern."""
        self.folder.mkdir(parents=True, exist_ok=True)
        foreign = [r for r in self.commands if r not in OURS]
        failures = json.loads(call([sys.executable, "-m", "zoo.prepare", self.name, str(self.folder), "--runtimes",
                                    ",".join(foreign), "--threads", str(self.threads)], self.log("pytorch", "prepare"),
                                   self.environment, PREPARE_SECONDS))
        for runtime, why in failures.items():
            self.fail(runtime, "convert", why)
        for runtime, commands in self.commands.items():
            if runtime in OURS and not commands.file.exists():
                self.each_of([runtime], "convert", self.convert)

    def start(self, runtime, commands, result):
        """Starts the process of the turns; Python runtimes write their output in the same process."""
        limit = WORST_NARROW if RUNTIMES[runtime].narrow else LIMITS[self.case.form]
        path = self.folder / f"{runtime}{'.safetensors' if runtime in OURS else '.npy'}"
        if runtime in OURS:
            call(commands.output(path), self.log(runtime, "output"), self.environment)
        process = TurnProcess(commands.turns("--output", str(path)), self.log(runtime, "turns"), self.environment)
        self.processes[runtime] = process
        process.run_ms()
        result["first_ms"] = process.run_ms()
        process.rest()
        result |= errors_of(path, self.folder, limit)

    def turns(self):
        """As many turns as fit in TURN_SECONDS."""
        ms = sum(r["first_ms"] for r in self.result["runtimes"].values() if "first_ms" in r)
        return int(max(FEWEST, min(MOST, TURN_SECONDS * 1000 / max(1e-3, RUNS_OF_A_TURN * ms))))

    def lost(self):
        """Time of Tern's nodes beyond the machine's limits, by op, algorithm and size."""
        figures = json.loads(call(self.commands["tern"].bench("--lost", "--runs", "3", "--json"), self.log("tern", "lost"),
                                  self.environment))
        self.result["lost"] = figures["lost"]
        self.result["tern_nodes_ms"] = sum(entry["ms"] for entry in figures["lost"])

    def all(self, keep=False):
        try:
            self.make_files()
            self.time(self.turns)
            if "ms" in self.result["runtimes"].get("tern", {}):
                self.lost()
        except Failed as error:
            self.result["error"] = str(error)
        finally:
            if not keep:
                shutil.rmtree(self.folder, ignore_errors=True)
        return self.result
