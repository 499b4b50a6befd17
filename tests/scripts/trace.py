#!/usr/bin/env python3
"""Traces from the command line: what is in them, that flows connect and times nest, sums, merging, errors.

  trace.py --tern TERN --data FOLDER [--device NAME]...      ends with `N passed, N failed`

FOLDER is build/test-data. --device: one that reports times of its own, also in graphs; run it by device.sh. Without it,
the CPU is tested.
"""
import argparse
import collections
import gzip
import json
import os
import pathlib
import tempfile

import checks

PROGRAM, MODEL = "programs/kv_cache.pt2", "models/hf-bert-generation.pt2"
CONTROL_FLOW = ("cond_nested", "pt212_while_loop_dec")
ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAIN, IMAGES = ROOT / "tests/data/train", ROOT / "examples/digits/digits_test.safetensors"
IO, BAD_FILE, RUNTIME, USAGE = 3, 4, 6, 2
SLACK = 0.0015  # microseconds: times have three decimals


def end_of(event):
    return event["ts"] + event["dur"]


def inside(inner, outer):
    return outer["ts"] - SLACK <= inner["ts"] and end_of(inner) <= end_of(outer) + SLACK


def read(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        return json.load(file)


class Trace:
    def __init__(self, path):
        self.path, self.all = path, read(path)
        self.events = self.all["traceEvents"]

    def of(self, *categories):
        return [e for e in self.events if e.get("cat") in categories and e["ph"] == "X"]

    def runs(self):
        return [e for e in self.of("user_annotation") if e["name"].startswith("ProfilerStep#")]

    def nodes(self):
        return [e for e in self.of("cpu_op") if "Node" in e["args"]]

    def flows(self):
        return [e for e in self.events if e.get("cat") == "ac2g"]


class TraceChecks(checks.Checks):
    def __init__(self, tern, folder, data):
        super().__init__(tern, folder)
        self.data = data

    def trace(self, name, model, *options):
        path = self.folder / name
        done = self.run("run", model, "--random", "--trace", path, *options)
        self.check(f"run --trace {name}", done.returncode == 0, done.stderr)
        return Trace(path)

    def ends(self, name, status, text, *command):
        done = self.run(*command)
        self.check(name, done.returncode == status and text in done.stdout + done.stderr,
                   f"status {done.returncode}: {done.stdout}{done.stderr}")

    def nodes_of(self, model, *options):
        """The nodes that run, as `tern bench` times them."""
        done = self.run("bench", model, "--random", "--runs", 1, "--json", *options)
        return {(n["function"], n["node"]) for n in json.loads(done.stdout)["nodes"]}

    # Invariants of every trace.

    def check_whole(self, trace, name, model, times, *options):
        self.check(f"{name}: runs", len(trace.runs()) == times, len(trace.runs()))
        counts = collections.Counter((e["args"]["Function"], e["args"]["Node"]) for e in trace.nodes())
        self.check(f"{name}: every node once a run", set(counts.values()) == {times}, counts)
        self.check(f"{name}: the nodes that bench has", set(counts) == self.nodes_of(model, *options))
        ids = [e["args"]["External id"] for e in trace.nodes()]
        self.check(f"{name}: ids", len(ids) == len(set(ids)))
        runs = trace.runs()
        lost = [e for e in trace.nodes() if not any(inside(e, r) for r in runs)]
        self.check(f"{name}: nodes are in runs", not lost, lost[:2])
        # Spans of a thread are disjoint or nested.
        for (pid, tid), events in self.by_thread(trace).items():
            crossing, open_ = [], []
            for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
                while open_ and end_of(open_[-1]) <= e["ts"] + SLACK:
                    open_.pop()
                if open_ and end_of(e) > end_of(open_[-1]) + 2 * SLACK:
                    crossing.append((open_[-1]["name"], e["name"]))
                open_.append(e)
            self.check(f"{name}: spans of thread {tid} of {pid} nest", not crossing, crossing[:3])
        total = sum(e["dur"] for e in trace.nodes())
        self.check(f"{name}: nodes take no longer than the runs", total <= sum(r["dur"] for r in runs) + SLACK * len(ids))
        self.check_metadata(trace, name)
        self.check_summary(trace, name)

    @staticmethod
    def by_thread(trace):
        threads = collections.defaultdict(list)
        for e in trace.events:
            if e["ph"] == "X" and e.get("cat") != "gpu_user_annotation":
                threads[e["pid"], e["tid"]].append(e)
        return threads

    def check_metadata(self, trace, name):
        named = {(e["pid"], e["tid"]) for e in trace.events if e["ph"] == "M" and e["name"] == "thread_name"}
        used = {(e["pid"], e["tid"]) for e in trace.events if e["ph"] == "X"}
        self.check(f"{name}: threads have names", used <= named, used - named)
        processes = {e["pid"] for e in trace.events if e["ph"] == "M" and e["name"] == "process_name"}
        self.check(f"{name}: processes have names", {p for p, _ in used} <= processes)
        self.check(f"{name}: facts", trace.all["schemaVersion"] == 1 and trace.all["dropped_events"] == 0
                   and trace.all["baseTimeNanoseconds"] > 0)
        numbers = [e["args"]["Ev Idx"] for e in trace.events if "Ev Idx" in e.get("args", {})]
        self.check(f"{name}: numbers of events", numbers == sorted(set(numbers)))

    def check_summary(self, trace, name):
        done = self.run("trace", trace.path, "--json")
        self.check(f"{name}: tern trace", done.returncode == 0, done.stderr)
        told = json.loads(done.stdout)
        self.check(f"{name}: counts", told["events"] == len(trace.events) and told["runs"] == len(trace.runs())
                   and told["ops"] == len(trace.of("cpu_op")) and told["kernels"] == len(trace.of("kernel"))
                   and told["copies"] == len(trace.of("gpu_memcpy")), told)
        kernels = collections.Counter()
        for e in trace.of("kernel", "gpu_memcpy"):
            kernels[e["name"]] += e["dur"]
        self.check(f"{name}: times of kernels", all(abs(k["device_us"] - kernels[k["name"]]) < 1e-3 * max(1, kernels[k["name"]])
                                                    for k in told["by_kernel"]) and len(kernels) == len(told["by_kernel"]))
        by_op, by_module = ([sum(s[key] for s in told[table]) for key in ("host_us", "device_us")]
                            for table in ("by_op", "by_module"))
        self.check(f"{name}: ops and modules have the same time", all(abs(a - b) < 1 + 1e-6 * a for a, b in zip(by_op, by_module)))
        self.check(f"{name}: all device time is an op's or a run's", abs(by_op[1] - sum(kernels.values())) < 1 + 1e-6 * by_op[1])
        path = told["critical_path"]["length_us"]
        self.check(f"{name}: critical path", 0 < path <= told["span_us"] * (1 + 1e-9), path)

    def check_cpu(self):
        program, model = self.data / PROGRAM, self.data / MODEL
        self.check_whole(self.trace("cpu.json", model, "--repeat", 3), "cpu", model, 3)
        zipped = self.trace("cpu.json.gz", model)
        self.check_whole(zipped, "compressed", model, 1)
        self.check("graph: nodes of replays", len(self.trace("graph.json", program, "--graph", "--repeat", 4).nodes())
                   == 4 * len(self.nodes_of(program)))
        modules = [e for e in zipped.of("python_function")]
        by_id = {e["args"]["Python id"]: e for e in modules}
        children = [e for e in modules if e["args"]["Python parent id"] is not None]
        self.check("modules nest", children and all(inside(e, by_id[e["args"]["Python parent id"]]) for e in children))
        annotated = self.folder / "annotated.tern"
        done = self.run("export", model, "-o", annotated, "--annotate", "*matmul*", "phase=products")
        if done.returncode != 0:  # grouped by Tern's op
            done = self.run("export", model, "-o", annotated, "--annotate", "matmul", "phase=products")
        trace = self.trace("annotated.json", annotated)
        marked = [e for e in trace.nodes() if e["args"].get("User annotation") == "phase=products"]
        self.check("annotations of the archive", marked and all(e["args"]["Op"] == "matmul" for e in marked), done.stderr)
        bench = self.folder / "bench.json"
        done = self.run("bench", program, "--random", "--runs", 2, "--trace", bench)
        counters = [e for e in read(bench)["traceEvents"] if e["ph"] == "C" and e["name"] == "GFLOP/s"]
        self.check("bench: peaks", done.returncode == 0 and {k for e in counters for k in e["args"]} == {"of the run", "peak"}
                   and float(read(bench)["peak_flops"]) > 0, done.stderr)

    def check_training(self):
        """Steps of training are runs of the functions that training adds; every node of theirs is in them."""
        model, path, steps = self.folder / "mlp.tern", self.folder / "train.json", 5
        done = self.run("export", TRAIN / "mlp.pt2", "--train", "-o", model, "--loss", "cross_entropy", "--optimizer", "sgd")
        self.check("train: export", done.returncode == 0, done.stderr)
        done = self.run("train", model, "--data", IMAGES, "--array", "target=labels", "-o", self.folder / "trained.tern",
                        "--steps", steps, "--threads", 1, "--trace", path)
        self.check("train --trace", done.returncode == 0, done.stderr)
        trace = Trace(path)
        self.check("train: a run a step", len(trace.runs()) >= steps, len(trace.runs()))
        counts = collections.Counter((e["args"]["Function"], e["args"]["Node"]) for e in trace.nodes())
        self.check("train: every node once a step", steps in set(counts.values()), counts)
        self.check("train: nothing lost", trace.all["dropped_events"] == 0 and trace.all["unnamed_events"] == 0)
        self.check_metadata(trace, "train")
        self.check_summary(trace, "train")

    NODE_KEYS = ("Function", "Node", "Op", "Origin", "Module Hierarchy")

    def check_device(self, device):
        program = self.data / PROGRAM
        annotated, options = self.folder / "annotated.tern", ["--device", device, "--repeat", 2]
        self.run("export", program, "-o", annotated, "--annotate", "q", "who=query")
        trace = self.trace(f"{device.replace(':', '')}.json", annotated, *options)
        self.check_whole(trace, device, program, 2, "--device", device)
        nodes = {e["args"]["External id"]: e for e in trace.nodes()}
        started = [k for k in trace.of("kernel") if k["args"]["External id"] in nodes]
        self.check(f"{device}: kernels carry their nodes", started and all(
            all(k["args"].get(key) == nodes[k["args"]["External id"]]["args"].get(key) for key in self.NODE_KEYS)
            for k in started))
        self.check_kernels(trace, device)
        self.check_own_graphs(device, annotated, trace)
        for name, model in [("graph", annotated)] + [(n, self.data / f"programs/{n}.pt2") for n in CONTROL_FLOW]:
            self.check_graph(device, f"{device}, {name}", model, options)

    def check_kernels(self, trace, name):
        self.check(f"{name}: kernels", len(trace.of("kernel")) >= 2)
        self.check(f"{name}: annotations", trace.of("gpu_user_annotation") and
                   any(k["args"].get("User annotation") == "who=query" for k in trace.of("kernel")))
        self.check_flows(trace, name)

    def kernels_of_nodes(self, trace):
        keys = (*self.NODE_KEYS, "User annotation", "bytes")
        return collections.Counter((k["name"], *(k["args"].get(key) for key in keys))
                                   for k in trace.of("kernel") if "Node" in k["args"])

    def check_graph(self, device, name, model, options):
        """A traced replay has the kernels of a run without graphs, with the same fields. On emulated GPUs each device
        graph is one launch, and nothing else launches kernels after the captures."""
        file = name.replace(":", "").replace(", ", "-")
        steps = self.trace(f"{file}-steps.json", model, *options)
        trace, calls = self.counted_trace(file, model, *options, "--graph")
        self.check(f"{name}: kernels carry their nodes", self.kernels_of_nodes(trace) == self.kernels_of_nodes(steps),
                   (self.kernels_of_nodes(trace), self.kernels_of_nodes(steps)))
        if name.endswith(", graph"):
            self.check_kernels(trace, name)
            by_op = {s["name"]: s["device_us"] for s in json.loads(self.run("trace", trace.path, "--json").stdout)["by_op"]}
            self.check(f"{name}: ops of kernels", by_op.get("tern::matmul", 0) > 0, by_op)
        self.check_summary(trace, name)
        if not calls or not self.launches_graphs(device, name):
            return
        launches = self.graph_launches(trace)
        self.check(f"{name}: every launch of a graph is an event", launches and calls["GraphLaunch"] == len(launches), calls)
        if name.endswith(", graph"):  # captured once without and once with times
            self.check(f"{name}: one launch a replay", calls["GraphLaunch"] == calls["GraphInstantiateWithFlags"] == 2, calls)
            by_launch = collections.Counter(k["args"]["correlation"] for k in trace.of("kernel"))
            self.check(f"{name}: all kernels are of the launch",
                       set(by_launch) == {e["args"]["correlation"] for e in launches}, by_launch)

    def check_own_graphs(self, device, model, steps):
        """From the third run on, a session's own graphs: the kernels stay the same."""
        trace, calls = self.counted_trace("own", model, "--device", device, "--repeat", 4)
        twice = collections.Counter({kernel: 2 * n for kernel, n in self.kernels_of_nodes(steps).items()})
        self.check(f"{device}, own graphs: kernels carry their nodes", self.kernels_of_nodes(trace) == twice)
        if calls:
            self.check(f"{device}, own graphs: launches", calls["GraphLaunch"] == len(self.graph_launches(trace)) == 2, calls)

    def counted_trace(self, name, model, *options):
        """A trace, and the calls of an emulated driver by name without prefix; none on other devices."""
        report = self.folder / f"{name}-report.json"
        os.environ["TERN_EMULATOR_REPORT"] = str(report)
        trace = self.trace(f"{name}.json", model, *options)
        del os.environ["TERN_EMULATOR_REPORT"]
        calls = collections.Counter()
        if "TERN_EMULATOR_DEVICES" in os.environ:
            calls.update({call.removeprefix("cu").removeprefix("hip"): n
                          for call, n in json.loads(report.read_text())["calls_by_name"].items()})
        return trace, calls

    @staticmethod
    def graph_launches(trace):
        return [e for e in trace.of("cuda_runtime") if e["name"].endswith("GraphLaunch")]

    @staticmethod
    def launches_graphs(device, name):
        """Bodies of CUDA's conditional nodes hold no events, so these graphs need CUPTI."""
        return name.endswith(", graph") or device == "rocm" or os.environ.get("TERN_CUDA_LIBRARIES") == "1"

    def check_flows(self, trace, name):
        calls = {e["args"]["correlation"]: e for e in trace.of("cuda_runtime")}
        begins = {e["id"]: e for e in trace.flows() if e["ph"] == "s"}
        ends = {e["id"]: e for e in trace.flows() if e["ph"] == "f"}
        work = collections.defaultdict(list)
        for e in trace.of("kernel", "gpu_memcpy"):
            work[e["args"]["correlation"]].append(e)
        self.check(f"{name}: flows connect", begins and set(begins) == set(ends) == set(work) <= set(calls))
        self.check(f"{name}: flows are where calls and kernels begin", all(
            begins[c]["ts"] == calls[c]["ts"] and ends[c]["ts"] == work[c][0]["ts"] for c in begins))
        self.check(f"{name}: nothing begins before its launch", all(e["ts"] >= calls[c]["ts"] - SLACK for c, all_ in work.items() for e in all_))
        copies = trace.of("gpu_memcpy")
        self.check(f"{name}: copies have bytes", copies and all(e["args"]["bytes"] > 0 for e in copies))
        self.check(f"{name}: device", any(d["name"] for d in trace.all["deviceProperties"]))

    def check_errors(self):
        program = self.data / PROGRAM
        self.ends("a folder that is missing", IO, "No such file", "run", program, "--random", "--trace", self.folder / "none/t.json")
        self.ends("a full disk", IO, "No space left", "run", program, "--random", "--trace", "/dev/full")
        failed = self.folder / "failed.json"
        self.ends("a run that fails", RUNTIME, "longer than its limit", "run", program, "--random", "--max-seconds", "1e-9", "--trace", failed)
        self.check("its trace", [e["args"].get("finished") for e in Trace(failed).runs()] == [False])
        self.ends("its summary", 0, "did not finish", "trace", failed)
        few = self.trace("few.json", program, "--trace-memory", "2MB")
        self.check("a limit of memory", few.all["dropped_events"] == 0)
        text = failed.read_bytes()
        for name, content, told in [("cut.json", text[:len(text) // 2], f"byte {len(text) // 2 + 1}"),
                                    ("empty.json", b"", "byte 1"),
                                    ("deep.json", b'[{"args": ' + b"[" * 1000, "deeper than 64"),
                                    ("number.json", b"[3]", "an event must be an object"),
                                    ("cut.json.gz", gzip.compress(text)[:200], "is cut off here")]:
            (self.folder / name).write_bytes(content)
            self.ends(name, BAD_FILE, told, "trace", self.folder / name)
        self.ends("no trace", IO, "none.json", "trace", self.folder / "none.json")
        self.ends("merge without an output", USAGE, "--output", "trace", "merge", failed, failed)
        self.ends("merge of one rank twice", 0, "clocks stay", "trace", "merge", failed, failed, "-o", self.folder / "m.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--device", action="append", default=[])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        c = TraceChecks(args.tern, pathlib.Path(folder), args.data)
        for device in args.device:
            c.check_device(device)
        if not args.device:
            c.check_cpu()
            c.check_training()
            c.check_errors()
    print(f"{c.passed} passed, {c.failed} failed")


if __name__ == "__main__":
    main()
