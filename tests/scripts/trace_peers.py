#!/usr/bin/env python3
"""Traces against other programs: fields and figures as torch.profiler has them, and HolisticTraceAnalysis, which reads
Tern's traces of one rank and of several and has the same figures as `tern trace`.

  trace_peers.py --build BUILD --data FOLDER [--torch PYTHON] [--hta PYTHON] [--device NAME]

PYTHON is one with torch 2.12, or with the packages HolisticTraceAnalysis, psutil and pandas<3; without one that part is skipped.
The ranks are processes of examples/cpp/trace.cpp on --device (run this by device.sh), joined by Gloo. The last line is
`N passed, N failed`.
"""
import argparse
import collections
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL, COLLECTIVE = "models/hf-bert-generation.pt2", "collective/tensor_parallel_4.pt2"

TORCH = """
import json, sys, torch
from torch.profiler import profile, record_function, ProfilerActivity
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.pool, self.fc = torch.nn.Conv2d(3, 4, 3), torch.nn.MaxPool2d(2), torch.nn.Linear(36, 5)
    def forward(self, x):
        return self.fc(self.pool(self.conv(x).relu()).flatten(1))
net, x = Net().eval(), torch.randn(2, 3, 8, 8)
torch.export.save(torch.export.export(net, (x,)), "net.pt2")
with torch.no_grad():
    net(x)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True,
                 with_modules=True, with_flops=True) as p:
        with record_function("scope"):
            net(x)
p.export_chrome_trace("torch.json")
json.dump({e.name: e.flops for e in p.events() if e.flops}, open("flops.json", "w"))
"""

HTA = """
import json, sys, warnings
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
files = dict(enumerate(sys.argv[1:]))
t = TraceAnalysis(trace_files=files, trace_dir=".", include_last_profiler_step=True)
kinds, kernels = t.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000)
idle = t.get_idle_time_breakdown(ranks=list(files), visualize=False)[0]
print("RESULT", json.dumps({"times": t.get_temporal_breakdown(visualize=False).to_dict("records"),
                            "kinds": kinds.to_dict("records"), "kernels": kernels.to_dict("records"),
                            "idle": idle.groupby("rank").idle_time.sum().to_dict()}))
"""

# Fields written by torch but not by Tern, with the reason.
MISSING = {
    "cpu_op": {"Concrete Inputs": "constants are in the program", "Sequence number": "autograd's",
               "Fwd thread id": "autograd's", "Python parent id": "modules lie on a track of their own"},
    "python_function": {"Python module id": "a module's name is its path"},
    "user_annotation": {"Record function id": "the scope has no schema", "External id": "the scope's events carry its text"},
    "cpu_instant_event": {"finished": "", "Python parent id": ""},
}
# Kineto's fields for a GPU, possibly absent here: taken from its sources (CuptiActivity.cpp), without those from CUPTI
# alone.
OF_KERNELS = {"External id", "device", "context", "stream", "correlation"}
OF_COPIES = OF_KERNELS | {"bytes", "memory bandwidth (GB/s)"}
STRETCH = 1000
TOP = {"schemaVersion", "deviceProperties", "traceEvents", "baseTimeNanoseconds", "displayTimeUnit", "host_name",
       "record_shapes", "with_stack", "with_modules", "with_flops", "profile_memory"}


def spans(trace, *categories):
    return [e for e in trace["traceEvents"] if e.get("cat") in categories and e["ph"] in "Xi"]


class PeerChecks(checks.Checks):
    def __init__(self, build, folder, data, device):
        super().__init__(build / "tern", folder)
        self.build, self.data, self.device = build, data, device

    def python(self, python, text, *args):
        return subprocess.run([python, "-c", text, *map(str, args)], cwd=self.folder, capture_output=True, text=True)

    def load(self, name):
        return json.loads((self.folder / name).read_text())

    def check_torch(self, python):
        done = self.python(python, TORCH)
        self.check("torch.profiler", done.returncode == 0, done.stderr[-2000:])
        done = self.run("run", self.folder / "net.pt2", "--random", "--trace", self.folder / "tern.json")
        self.check("tern run", done.returncode == 0, done.stderr)
        theirs, ours = self.load("torch.json"), self.load("tern.json")
        self.check("facts of the whole", TOP <= set(ours) and TOP <= set(theirs), TOP ^ (set(ours) & set(theirs)))
        for category in ("cpu_op", "python_function", "user_annotation", "cpu_instant_event"):
            keys = [{k for e in spans(t, category) for k in e["args"]} for t in (theirs, ours)]
            self.check(f"{category}: fields", keys[0] - keys[1] <= set(MISSING[category]), keys[0] - keys[1])
            for key in keys[0] & keys[1] - {"Input type", "Input Dims", "Input Strides", "Python parent id"}:
                types = [{type(e["args"][key]) for e in spans(t, category) if key in e["args"]} for t in (theirs, ours)]
                self.check(f"{category}: type of {key}", types[1] <= types[0], types)
            forms = [set(spans(t, category)[0]) for t in (theirs, ours)]
            self.check(f"{category}: form", forms[0] == forms[1], forms)
        names = [{e["name"] for e in t["traceEvents"] if e["ph"] == "M"} for t in (theirs, ours)]
        self.check("names of processes and threads", names[0] <= names[1], names)
        flops = self.load("flops.json")
        for aten, origin, operands in (("aten::conv2d", "aten.conv2d.default", 2), ("aten::linear", "aten.linear.default", 1)):
            a = [e["args"] for e in spans(theirs, "cpu_op") if e["name"] == aten]
            b = [e["args"] for e in spans(ours, "cpu_op") if e["args"].get("Origin") == origin]
            self.check(f"{aten}: as often", len(a) == len(b) == 1, (len(a), len(b)))
            for key in ("Input Dims", "Input type"):
                self.check(f"{aten}: {key}", a[0][key][:operands] == b[0][key][:operands], (a[0][key], b[0][key]))
            counted = flops.get(aten) or flops.get("aten::addmm")
            self.check(f"{aten}: flops", counted == b[0]["flops"], (counted, b[0]["flops"]))
        modules = {e["name"].removeprefix("nn.Module: ") for e in spans(ours, "python_function")}
        self.check("modules", {"conv", "fc"} <= modules, modules)
        done = self.run("trace", self.folder / "torch.json", "--json")
        told = json.loads(done.stdout) if done.returncode == 0 else {}
        self.check("tern trace reads torch's", told.get("ops") == len(spans(theirs, "cpu_op"))
                   and [s["name"] for s in told["by_annotation"]] == ["scope"]
                   and any(s["name"].startswith("Conv2d") for s in told["by_module"]), done.stderr)

    def example(self):
        program = self.folder / "trace"
        done = subprocess.run(["g++", "-std=c++20", "-O1", f"-I{ROOT}/include", ROOT / "examples/cpp/trace.cpp", f"-L{self.build}",
                               "-ltern", f"-Wl,-rpath,{self.build}", "-o", program], capture_output=True, text=True)
        self.check("examples/cpp/trace.cpp compiles", done.returncode == 0, done.stderr[-2000:])
        return program

    def make_ranks(self, program, ranks):
        """The traces of so many processes that reduce together."""
        model = self.folder / "collective.tern"
        self.run("export", self.data / COLLECTIVE.replace("_4", f"_{ranks}"), "-o", model)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{s.getsockname()[1]}"
        paths = [self.folder / f"rank{r}of{ranks}.json" for r in range(ranks)]
        environment = {**os.environ, "WORLD_SIZE": str(ranks), "TERN_DEVICE_PATH": os.environ.get("TERN_DEVICE_PATH", str(self.build / "devices"))}
        running = [subprocess.Popen([program, model, path, self.device, address], env={**environment, "RANK": str(r)},
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                   for r, path in enumerate(paths)]
        ended = [p.communicate() + (p.returncode,) for p in running]
        self.check(f"{ranks} ranks", all(e[2] == 0 for e in ended), ended)
        return paths

    def check_merge(self, paths):
        ranks = len(paths)
        done = self.run("trace", "merge", *paths, "-o", self.folder / "all.json.gz", "--json")
        self.check(f"{ranks} ranks: merge", done.returncode == 0, done.stderr)
        told = json.loads(done.stdout)
        made = len([e for e in spans(json.loads(paths[0].read_text()), "cpu_op") if "Seq" in e["args"]])
        self.check(f"{ranks} ranks: joined", told["ranks"] == list(range(ranks)) and len(told["collectives"]) == made > 0, told)
        # A machine has a single clock: the ranks only leave at different times.
        self.check(f"{ranks} ranks: clocks", all(abs(o) < 100e3 for o in told["offsets_us"]), told["offsets_us"])

    def stretched(self, path):
        """A copy that lasts a thousand times as long: HolisticTraceAnalysis rounds to microseconds, by which spans below
        one get negative durations, and its own assertions fail."""
        trace = json.loads(path.read_text())
        first = min(e["ts"] for e in trace["traceEvents"])
        for e in trace["traceEvents"]:
            e["ts"] = (e["ts"] - first) * STRETCH
            if "dur" in e:
                e["dur"] *= STRETCH
        copy = path.with_suffix(".stretched.json")
        copy.write_text(json.dumps(trace))
        return copy

    def check_hta(self, python, name, paths):
        done = self.python(python, HTA, *[self.stretched(path) for path in paths])
        result = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        self.check(f"{name}: HolisticTraceAnalysis", done.returncode == 0 and len(result) == 1, done.stderr[-2000:])
        if not result:
            return
        theirs = json.loads(result[0].removeprefix("RESULT "))
        for rank, path in enumerate(paths):
            ours = json.loads(self.run("trace", path, "--json").stdout)
            device = next(b for b in ours["busy"] if b["where"].startswith("device"))
            # Times have three decimals; a double rounds 3e12 microseconds in the last of these.
            slack = 0.01 * (ours["kernels"] + ours["copies"])
            times = next(t for t in theirs["times"] if t["rank"] == rank)
            for key, mine in (("kernel_time(us)", "span_us"), ("compute_time(us)", "compute_us"),
                              ("non_compute_time(us)", "other_us"), ("idle_time(us)", "idle_us")):
                self.check(f"{name}, rank {rank}: {key}", abs(times[key] / STRETCH - device[mine]) <= slack,
                           (times[key], device[mine], slack))
            idle = theirs["idle"].get(str(rank), 0) / STRETCH
            self.check(f"{name}, rank {rank}: idle time by streams", abs(idle - device["idle_us"]) <= slack, (idle, device["idle_us"]))
            sums = collections.Counter()
            for k in theirs["kernels"]:
                if k["rank"] == rank:
                    sums[k["name"]] += k["sum (us)"]
            for k in ours["by_kernel"]:
                self.check(f"{name}, rank {rank}: {k['name']}", abs(sums[k["name"]] / STRETCH - k["device_us"]) <= 0.01 * k["count"],
                           (sums[k["name"]], k["device_us"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--torch")
    parser.add_argument("--hta")
    parser.add_argument("--device", default="xpu")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        c = PeerChecks(args.build.resolve(), pathlib.Path(folder), args.data.resolve(), args.device)
        if args.torch:
            c.check_torch(args.torch)
        program = c.example()
        ranks = {n: c.make_ranks(program, n) for n in (2, 4)}
        for paths in ranks.values():
            c.check_merge(paths)
        if args.hta:
            one = c.folder / "one.json"
            done = c.run("run", c.data / MODEL, "--random", "--repeat", 3, "--device", args.device, "--trace", one)
            c.check("one rank", done.returncode == 0, done.stderr)
            c.check_hta(args.hta, "one", [one])
            for n, paths in ranks.items():
                c.check_hta(args.hta, f"{n} ranks", paths)
    print(f"{c.passed} passed, {c.failed} failed")
    sys.exit(c.failed > 0)


if __name__ == "__main__":
    main()
