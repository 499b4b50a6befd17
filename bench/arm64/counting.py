"""Runs a runtime under qemu-user with the counting plugin, one model and one thread, and stores what was counted."""
import hashlib
import json
import os
import pathlib

from peers.measure import WORST, WORST_NARROW, errors_of
from peers.processes import Failed, TurnProcess
from peers.runtimes import RUNTIMES
from zoo.case import Case

from . import loops
from .processors import PROCESSORS, write_cpuinfo

RUN = 1  # counted from 0; each process has done one run before
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TERN_WEIGHT_CACHE": "off",
               "LC_ALL": "C.UTF-8"}


class Machine:
    """What the runtimes run on: a processor that qemu-user emulates, or this one (`processor` None)."""

    def __init__(self, processor, folder: pathlib.Path, tern: pathlib.Path, python):
        self.processor, self.folder, self.tern = processor, folder, tern
        self.python = python
        if processor:
            self.root = folder / "sysroot"
            # A prefix for each processor: processes of several may run at once.
            self.prefix = folder / "prefix" / processor
            self.prefix.mkdir(parents=True, exist_ok=True)
            for name in ("lib", "usr", "etc"):
                link = self.prefix / name
                if not link.is_symlink():
                    link.symlink_to(self.root / ("usr/lib" if name == "lib" else name))
            write_cpuinfo(processor, self.prefix)

    def environment(self, search):
        extra = ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(map(str, search))}
        return os.environ | extra

    def command(self, program, counts=None, run=RUN):
        """The command that starts a program of aarch64."""
        if not self.processor:
            return [str(program)]
        plugin = ["-plugin", f"{self.folder}/libcounting_plugin.so,out={counts},run={run}"] if counts else []
        return ["qemu-aarch64", "-cpu", PROCESSORS[self.processor].qemu, "-L", str(self.prefix), *plugin, str(program)]

    def runtime(self, name, model, bench, counts=None, output=None):
        """(command, environment) of the process that takes turns."""
        if name == "tern":
            inputs = ["--inputs", str(model / "data.safetensors"), "--threads", "1"]
            return [*self.command(self.tern, counts), "bench", str(model / "model.tern"), *inputs, "--turns"], self.environment([])
        search = [bench] + ([self.root / "peers"] if self.processor else [])
        python = self.root / "usr/bin/python3.11" if self.processor else self.python
        check = ["--output", str(output)] if output else []
        return [*self.command(python, counts), "-W", "ignore", "-m", "arm64.serve", name, str(model), "--threads", "1", *check,
                "--turns"], self.environment(search)


def digest(path: pathlib.Path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


class Store:
    """A JSON file for each count: what is there is not counted again, unless Tern's command has changed."""

    def __init__(self, folder: pathlib.Path, tern):
        self.folder = folder
        self.tern = digest(tern) if tern and tern.exists() else ""

    def path(self, model, runtime):
        return self.folder / model / f"{runtime}.json"

    def find(self, model, runtime):
        path = self.path(model, runtime)
        found = json.loads(path.read_text()) if path.exists() else None
        return None if found and runtime == "tern" and found.get("command") != self.tern else found

    def put(self, model, runtime, figures):
        path = self.path(model, runtime)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(figures | ({"command": self.tern} if runtime == "tern" else {}), indent=1) + "\n")


def is_narrow(model):
    return "." in model and Case.parse(model).form != "float32"


def count(machine: Machine, runtime, model: pathlib.Path, bench, work: pathlib.Path):
    """Figures of one run after warm-up; a failure is a figure too."""
    work.mkdir(parents=True, exist_ok=True)
    counts, log = work / f"{runtime}.counts", work / f"{runtime}.log"
    output = None if runtime == "tern" else work / f"{runtime}.npy"
    counts.unlink(missing_ok=True)
    command, environment = machine.runtime(runtime, model, bench, counts, output)
    process = TurnProcess(command, log, environment)
    try:
        for _ in range(RUN + 1):
            process.run_ms()
        process.process.wait(600)
        if not counts.exists():
            raise Failed("wrote no counts")
        figures = loops.summary(counts, PROCESSORS[machine.processor].vector_bytes)
        if output:
            figures |= errors_of(output, model, WORST_NARROW if is_narrow(model.name) else WORST)
        counts.unlink()
        return figures
    except Failed as error:
        return {"failure": str(error)}
    finally:
        process.close()


def time_ms(machine: Machine, runtime, model, bench, work, turns):
    """Milliseconds of runs on this processor, for --on-device."""
    work.mkdir(parents=True, exist_ok=True)
    command, environment = machine.runtime(runtime, model, bench)
    process = TurnProcess(command, work / f"{runtime}.log", environment)
    try:
        for _ in range(3):
            process.run_ms()
        times = sorted(process.run_ms() for _ in range(turns))
        return {"ms": times[len(times) // 2]}
    except Failed as error:
        return {"failure": str(error)}
    finally:
        process.close()


def title(runtime):
    return RUNTIMES[runtime].title
