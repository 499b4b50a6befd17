#!/usr/bin/env python3
"""Checks a GPU and writes a report: `./dev gpu-check` builds what this needs and calls it.

  gpu_check.py [--device cuda|rocm] [--minutes 10] [--every 10 | --all] [--only PATTERN] [--models NAME,...] [--out FILE]
               [--build FOLDER] [--data FOLDER]

--every takes every N-th conformance case and every N/10-th program and model. Each step has a part of the time that is
left; a step that fails or takes longer does not stop the others. The last line is `N passed, N failed`.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

import gpu_check_convolutions
import gpu_check_solvers
from gpu_check_device import Device, no_device, tool_versions
from gpu_check_report import outcome, write
from gpu_check_speed import NAMES, measure
from gpu_check_step import COUNTS, Step, call

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Folders with cases for tern conform, and the divisor of the sampling interval: a folder with few cases uses a tenth.
CASES = {"programs": 10, "models": 10, "conformance": 1}
KNOWN = "tests/data/device_expected_failures.txt"
KNOWN_BITS = "tests/data/reproducible_expected_failures.txt"
SANITIZED = 5
SLICE = 60  # operators per call of tern conform


class Check:
    """The steps of one device. Each returns a Step; `limit` is its time in seconds."""

    def __init__(self, arguments, device, folder):
        self.a, self.device, self.folder = arguments, device, folder
        self.tern = str(arguments.build / "tern")

    def every(self, folder):
        return max(1, self.a.every // CASES[folder])

    def conform(self, name, limit, every, paths, *options, known=KNOWN, environment=()):
        command = [sys.executable, "tests/scripts/conform.py", "--tern", self.tern, "--known", known, "--may-pass",
                   "--every", str(every), *options, *map(str, paths)]
        return counted(name, call(command, limit, dict(environment)))

    def cases(self, folder):
        run = self.slices if folder == "conformance" else self.conform
        return lambda limit: run(f"conform, {folder}", limit, self.every(folder), [self.a.data / folder], "--device",
                                 self.device.name)

    def slices(self, name, limit, every, paths, *options, known=KNOWN):
        """As conform, some operators at a time: where the time is over, what has run counts."""
        end, whole = time.monotonic() + limit, Step(name)
        groups = {}  # a folder, or the files of a case
        for path in filter(pathlib.Path.exists, paths):
            for source in sorted(path.iterdir()):
                groups.setdefault((path.name, source.name if source.is_dir() else source.stem), []).append(source)
        operators = list(groups.items())
        for at in range(0, len(operators), SLICE):
            links = self.folder / "slice"
            shutil.rmtree(links, ignore_errors=True)
            for (parent, _), source in ((key, s) for key, sources in operators[at:at + SLICE] for s in sources):
                (links / parent).mkdir(parents=True, exist_ok=True)
                if source.is_dir():  # made of links to files: tern conform follows no links to folders
                    shutil.copytree(source, links / parent / source.name, copy_function=os.symlink)
                else:
                    os.symlink(source, links / parent / source.name)
            step = self.conform(name, max(1, end - time.monotonic()), every, sorted(links.iterdir()), *options, known=known)
            over = time.monotonic() >= end
            if not over or step.passed:
                whole.passed, whole.failed = whole.passed + step.passed, whole.failed + step.failed
                whole.failures += step.failures
            if over and (not step.passed or at + SLICE < len(operators)):
                whole.failed += 1
                whole.failures.append(f"the time of {limit:.0f} s was over after {at} of {len(operators)} operators: give "
                                      "--minutes more, or a larger --every")
                break
        return whole if operators else Step(name, 0, 1, ["no cases"])

    def same_bits(self, limit):
        paths = [self.a.data / "results", self.a.data / "conformance"]
        return self.slices("same bits as the CPU", limit, self.a.every, paths, "--same-bits", f"cpu,{self.device.name}",
                            known=KNOWN_BITS)

    def streams(self, limit):
        """Streams, events, graphs, control flow inside graphs, and Tern's own kernels."""
        name, test = "streams, events, graphs", self.a.build / "test_devices"
        if not test.exists():
            return Step(name, skipped="test_devices is not built: './dev gpu-check' builds it")
        done = call([str(test), f"--gtest_filter=*{self.device.name}*:Devices.*"], limit,
                    {"TERN_TEST_NEEDS": self.device.name, "TERN_CUDA_LIBRARIES": "0", "TERN_ROCM_LIBRARIES": "0"})
        passed = len(re.findall(r"^\[       OK \] ", done.output, re.M))
        failures = sorted(set(re.findall(r"^\[  FAILED  \] (\S+?)(?:,| \(|$)", done.output, re.M)))
        if failures or (passed and not done.wrong):
            return Step(name, passed, len(failures), failures)
        last = next((line for line in reversed(done.output.splitlines()) if line), "it printed nothing")
        return Step(name, passed, 1, [f"{done.wrong or 'no test ran'}; its last line: {last}"])

    def graphs(self, limit):
        """Every call of the programs as a graph: loops and branches among them."""
        command = [self.tern, "conform", "--graph", "--no-table", "--device", self.device.name, "--every",
                   str(self.every("programs")), str(self.a.data / "programs")]
        return counted("programs as graphs", call(command, limit))

    def archive(self, target):
        return lambda limit: self.conform(f"kernels in the archive, {target}", limit, self.every("programs"),
                                          [self.a.data / "programs"], "--device", self.device.name, "--target", target,
                                          environment={"TERN_NO_COMPILE": "1"})

    def archive_file(self, limit):
        """One archive with every target, written and then run without a compiler."""
        name, models = "an archive of all targets", sorted((self.a.data / "models").glob("*.pt2"))
        if not models:
            return Step(name, skipped="there are no models")
        file = str(self.folder / "model.tern")
        start = time.monotonic()
        done = call([self.tern, "export", str(models[0]), "-o", file, "--target", ",".join(self.device.targets)], limit)
        if not done.wrong:
            done = call([self.tern, "run", file, "--random", "--device", self.device.name, "--native-code"],
                        max(1, limit - (time.monotonic() - start)), {"TERN_NO_COMPILE": "1"})
        failures = [done.wrong, *done.output.splitlines()[-3:]] if done.wrong else []
        return Step(name, int(not failures), int(bool(failures)), failures)

    def sanitizer(self, limit):
        name = "compute-sanitizer, memcheck"
        if self.device.emulated:
            return Step(name, skipped="the device is emulated")
        if self.device.plugin != "cuda":
            return Step(name, skipped="it is for NVIDIA's GPUs")
        tool = shutil.which("compute-sanitizer")
        if not tool:
            return Step(name, skipped="compute-sanitizer is not on PATH; it comes with the CUDA toolkit")
        programs = sorted((self.a.data / "programs").glob("*.pt2"))
        programs = programs[::max(1, len(programs) // SANITIZED)][:SANITIZED]
        command = [tool, "--tool", "memcheck", "--error-exitcode", "9", self.tern, "conform", "--no-table", "--jobs", "1",
                   "--device", self.device.name, *map(str, programs)]
        return counted(name, call(command, limit), begins=("FAIL", "====="))

    def speed(self, limit):
        if self.device.emulated:
            return Step("speed", skipped="the device is emulated")
        return measure(self.tern, self.device, self.a.data / "models", self.folder, limit, self.a.models)

    def solvers(self, limit):
        return gpu_check_solvers.measure(self.a.build / "solver_speed", self.device, limit)

    def convolutions(self, limit):
        return gpu_check_convolutions.measure(self.a.build / "convolution_speed", self.device, limit)

    def steps(self):
        """Names, what they run, and their shares of the time."""
        yield "streams, events, graphs", self.streams, 10
        for folder in CASES:
            yield f"conform, {folder}", self.cases(folder), {"programs": 3, "models": 6, "conformance": 16}[folder]
        yield "programs as graphs", self.graphs, 3
        yield "same bits as the CPU", self.same_bits, 12
        for target in self.device.targets:
            yield f"kernels in the archive, {target}", self.archive(target), 3
        yield "an archive of all targets", self.archive_file, 1
        yield "speed", self.speed, 18
        yield "solvers", self.solvers, 8
        yield "convolutions", self.convolutions, 6
        yield "compute-sanitizer, memcheck", self.sanitizer, 3


def counted(name, done, begins=("FAIL", "ERROR")):
    """The step of a command that counts: `N passed, N failed`. Lines that begin so say what failed."""
    lines = done.output.splitlines()
    count = next((m for m in map(COUNTS.match, reversed(lines)) if m), None)
    failures = [line for line in lines if line.startswith(begins)]
    if count is None:
        return Step(name, 0, 1, [done.wrong or "no count at the end", *(failures or lines[-5:])])
    passed, failed = int(count[1]), int(count[2])
    if passed + failed == 0:
        return Step(name, 0, 1, ["no cases"])
    if done.wrong and not failed:  # all results passed, yet the process failed
        return Step(name, passed, 1, [done.wrong, *failures])
    return Step(name, passed, failed, failures if failed else [])


def run_all(check, minutes):
    steps = [step for step in check.steps() if re.search(check.a.only, step[0])]
    end = time.monotonic() + minutes * 60
    results = []
    for at, (name, function, share) in enumerate(steps):
        if sys.stdout.isatty():
            print(f"{at + 1}/{len(steps)} {name}", flush=True)
        start = time.monotonic()
        limit = (end - start) * share / sum(s for _, _, s in steps[at:])
        try:
            step = function(max(1, limit))
        except Exception as error:  # a failed step must not end the others
            step = Step(name, 0, 1, [f"{type(error).__name__}: {error}"])
        step.seconds = time.monotonic() - start
        results.append(step)
    return results


def main():
    parser = argparse.ArgumentParser(prog="./dev gpu-check", description="Checks a GPU and writes a report.")
    parser.add_argument("--device", choices=("cuda", "rocm"), help="default: the first that is there")
    parser.add_argument("--minutes", type=float, default=10, help="the most that all steps together take (default: 10)")
    parser.add_argument("--every", type=int, default=10, metavar="N",
                        help="every N-th conformance case, every N/10-th program and model (default: 10)")
    parser.add_argument("--all", action="store_true", help="all cases")
    parser.add_argument("--only", default="", metavar="PATTERN", help="the steps whose names match: 'conform|speed'")
    parser.add_argument("--models", type=lambda text: text.split(","), default=NAMES, metavar="NAME,...",
                        help="of bench/peers, for the step speed (default: the eight of docs/performance.md)")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="default: docs/results/DEVICE-DATE.md")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", metavar="FOLDER")
    parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="default: test-data of the build folder")
    a = parser.parse_args()
    if a.minutes <= 0 or a.every < 1:
        parser.error("--minutes and --every take a positive number")
    if a.all:
        a.every = 1
    a.build, a.out = a.build.absolute(), a.out and a.out.absolute()
    a.data = (a.data or a.build / "test-data").absolute()
    os.chdir(ROOT)
    tern = a.build / "tern"
    if not tern.exists():
        sys.exit(f"gpu-check: there is no {tern}: './dev gpu-check' builds it")
    listed = json.loads(call([str(tern), "devices", "--json"], 60).output)
    device = Device.find(listed, a.device)
    if device is None:
        sys.exit("gpu-check: " + no_device(listed, a.device))
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        results = run_all(Check(a, device, pathlib.Path(folder)), a.minutes)
    out = a.out or (a.build / "gpu-check" if device.emulated else ROOT / "docs/results") / device.file_name()
    write(out, device, tool_versions(device, str(tern)), results, every=a.every, seconds=time.monotonic() - start)
    for step in results:
        if step.skipped:
            print(f"{step.name}: {outcome(step)}")
        for line in step.shown:
            print(line)
        for failure in step.failures:
            print(failure if failure.startswith("FAIL") else f"FAIL {step.name}: {failure}")
    print(f"report: {os.path.relpath(out)}")
    passed, failed = sum(s.passed for s in results), sum(s.failed for s in results)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
