#!/usr/bin/env python3
"""Groups of processes over every engine of a build, and what they say where a rank fails.

  groups.py BUILD [--ranks 2,3,4,8] [--engines gloo,mpi] [--data FOLDER]

Each check starts tests/groups/worker.cpp as ranks: by the variables of torchrun for gloo, by mpirun for mpi. A check
that hangs is killed and fails.
"""
import argparse
import json
import os
import pathlib
import pickle
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

LIMIT = 100  # seconds for all ranks of one check


def free_port():
    """Of two that follow each other: the second is Tern's."""
    while True:
        with socket.socket() as a, socket.socket() as b:
            a.bind(("127.0.0.1", 0))
            port = a.getsockname()[1]
            try:
                b.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                continue


def start(build, engine, ranks, arguments, extra):
    return launch(engine, ranks, [f"{build}/group_worker", arguments[0], engine, *map(str, arguments[1:])], extra)


def launch(engine, ranks, command, extra):
    """Processes by rank; one for all with mpirun."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "SLURM_"))} | extra
    if engine == "mpi":
        address = f"127.0.0.1:{free_port()}"
        launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(ranks), "-x",
                  f"TERN_GROUP_ADDRESS={address}", *sum((["-x", k] for k in extra), [])]
        return [subprocess.Popen(launch + command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, start_new_session=True)]
    port = str(free_port())
    return [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                             env=environment | {"RANK": str(r), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(r),
                                                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
            for r in range(ranks)]


def run(build, engine, ranks, arguments, extra=None, stopped=False):
    return wait(start(build, engine, ranks, arguments, extra or {}), stopped)


def wait(processes, stopped=False):
    """What all ranks print, and the exit statuses. `stopped`: a rank stops itself, and is killed when others have ended."""
    end, waiting = time.time() + LIMIT, set(processes)
    while waiting and time.time() < end and not (stopped and len(waiting) == 1):
        waiting = {p for p in waiting if p.poll() is None}
        time.sleep(0.02)
    hung = bool(waiting) and not stopped
    for p in waiting:
        os.killpg(p.pid, signal.SIGKILL)
    texts = [p.communicate() for p in processes]
    return "".join(out for out, _ in texts), [p.returncode for p in processes], hung, "".join(e for _, e in texts)


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, name, good, detail):
        print(f"{'ok  ' if good else 'FAIL'} {name}" + ("" if good else f"\n{detail}"), flush=True)
        self.passed += good
        self.failed += not good


def failures(checks, build, engine, ranks):
    """Every other rank ends in time, and names the rank, the call, its number and the line."""
    timeout = 2000
    cases = {  # how: what all others say, and the most milliseconds
        "exit": (rf"rank {ranks - 1} has ended", 3000),
        "leave": (rf"rank \d+ is in all_reduce \(sum\) of 4 float32, call 6, at model.py:12, and rank {ranks - 1} has "
                  r"left the group after 5 calls", 3000),
        "throw": (rf"rank {ranks - 1} has failed: the disk is full", 3000),
        "differ": (r"do not make the same call: .*all_reduce \(sum\) of [48] float32, call 6, at model.py:12; "
                   r"rank \d+ all_reduce \(sum\) of [48] float32, call 6, at model.py:12", 3000),
        "sleep": (rf"rank \d+ has waited {timeout} ms in all_reduce \(sum\) of 4 float32, call 6, at model.py:12 "
                  rf"for rank {ranks - 1}", timeout + 2000),
        "stop": (rf"rank \d+ has waited {timeout} ms in all_reduce \(sum\) of 4 float32, call 6, at model.py:12 "
                 rf"for rank {ranks - 1}", timeout + 2000),
    }
    if engine == "mpi":  # mpirun ends all when one does
        cases = {k: cases[k] for k in ("throw", "differ", "sleep", "stop")}
        text, status, hung, errors = run(build, engine, ranks, ["fail", "exit", ranks - 1])
        checks.expect(f"{engine}, {ranks} ranks, one does: exit", not hung and any(status), text + errors)
    else:
        text, _, hung, errors = run(build, engine, ranks, ["fail", "leave", 0])
        left = re.findall(r"^rank [12] after \d{1,3} ms: .*, and rank 0 has left the group after 5 calls$", text, re.M)
        checks.expect(f"{engine}, rank 0 leaves before the others", not hung and len(left) == 2, text + errors)
        text, status, hung, errors = run(build, engine, ranks, ["early"])
        good = not hung and not any(status) and bool(re.search(r"^rank 0 after \d{1,3} ms$", text, re.M))
        checks.expect(f"{engine}, rank 0 leaves, and the others still talk", good, text + errors)
    for how, (pattern, most) in cases.items():
        text, _, hung, errors = run(build, engine, ranks, ["fail", how, ranks - 1],
                                    {"WORKER_TIMEOUT_MS": str(timeout)}, stopped=how in ("stop", "sleep") and engine != "mpi")
        said = re.findall(r"^rank (\d+) after (\d+) ms: (.*)$", text, re.M)
        others = [s for s in said if int(s[0]) != ranks - 1]
        good = not hung and len(others) >= (1 if engine == "mpi" else ranks - 1) and \
            all(re.search(pattern, s[2]) and int(s[1]) <= most for s in others)
        checks.expect(f"{engine}, {ranks} ranks, one does: {how}", good, text + errors)


def divisions(checks, build, engine):
    """A rank that is killed while groups are made: the others fail in time, and no signal ends them."""
    timeout = 3
    for turn in range(6):
        processes = start(build, engine, 3, ["divide"], {"WORKER_TIMEOUT_MS": str(timeout * 1000)})
        processes[turn % 3].stdout.readline()  # it has divided once
        time.sleep(0.013 * turn)
        processes[turn % 3].kill()
        begin = time.time()
        text, status, hung, errors = wait(processes)
        good = not hung and time.time() - begin < 2 * timeout + 2 and sorted(status) == [-signal.SIGKILL, 2, 2]
        checks.expect(f"{engine}, rank {turn % 3} is killed while groups are made", good, f"{status} {text}{errors}")


def flight(checks, build, engine, torch):
    """The records of a recorded hang name the rank that is missing."""
    if engine == "mpi":
        return  # mpirun passes no signal to one rank
    with tempfile.TemporaryDirectory() as folder:
        processes = start(build, engine, 3, ["fail", "sleep", 2],
                          {"WORKER_TIMEOUT_MS": "2000", "TERN_FLIGHT_FOLDER": folder})
        for p in processes[:2]:
            p.wait(LIMIT)
        os.kill(processes[2].pid, signal.SIGUSR2)
        end = time.time() + 20
        while not os.path.exists(f"{folder}/tern_flight_2") and time.time() < end:
            time.sleep(0.05)
        processes[2].kill()
        for p in processes:
            p.communicate()
        dumps = {}
        for r in range(3):
            with open(f"{folder}/tern_flight_{r}", "rb") as f:
                dumps[r] = pickle.load(f)
        sixth = {r: [e["state"] for e in d["entries"] if e["collective_seq_id"] == 6] for r, d in dumps.items()}
        place = dumps[0]["entries"][-1]["frames"][0]
        checks.expect(f"{engine}: flight records", sixth == {0: ["started"], 1: ["started"], 2: []} and
                      (place["filename"], place["line"]) == ("model.py", 12), f"{sixth} {place}")
        if os.path.exists(f"{build}/tern"):
            said = subprocess.run([f"{build}/tern", "trace", "flight", folder], capture_output=True, text=True)
            checks.expect(f"{engine}: tern trace flight", said.returncode == 1 and
                          "ranks 0, 1 wait for rank 2" in said.stdout and "rank 2 has made 5 calls" in said.stdout,
                          said.stdout + said.stderr)
        if torch:
            said = subprocess.run([f"{torch}/torchfrtrace", folder], capture_output=True, text=True)
            checks.expect(f"{engine}: torchfrtrace", "missing ranks: {2}" in said.stdout + said.stderr,
                          said.stdout + said.stderr)


def command(checks, build, data):
    """The command runs a program as two ranks, whose traces join."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/{r}.json" for r in range(2)]
        port = str(free_port())
        processes = [subprocess.Popen([f"{build}/tern", "run", f"{data}/collective/beside_2.pt2", "--random", "--group",
                                       "gloo", "--group-timeout", "60", "--trace", folder + "/{rank}.json"],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      env=os.environ | {"RANK": str(r), "WORLD_SIZE": "2", "LOCAL_RANK": str(r),
                                                        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
                     for r in range(2)]
        text = "".join(p.communicate(timeout=LIMIT)[0] for p in processes)
        good = not any(p.returncode for p in processes) and all(map(os.path.exists, names))
        if good:
            said = subprocess.run([f"{build}/tern", "trace", "merge", *names, "-o", f"{folder}/both.json"],
                                  capture_output=True, text=True)
            text += said.stdout + said.stderr
            kinds = [{(e["args"]["Collective name"], e["args"]["Seq"]) for e in json.load(open(n))["traceEvents"]
                      if e.get("name") == "record_param_comms"} for n in names]
            good = said.returncode == 0 and len(kinds[0]) >= 2 and kinds[0] == kinds[1]
        checks.expect("tern run --group gloo, and its traces as one", good, text)


def tensors(path):
    """The float32 tensors of a safetensors file."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    parts = {k: (v["dtype"], v["data_offsets"]) for k, v in header.items() if k != "__metadata__"}
    return {k: struct.unpack(f"<{(end - begin) // 4}f", data[begin:end]) for k, (t, (begin, end)) in parts.items()
            if t == "F32"}


def difference(path, expected):
    """The largest one of a decoder's logits, whose steps both files name."""
    found, expected = tensors(path), tensors(expected)
    if len(found) != len(expected) or not expected:
        return float("inf")
    worst = 0
    for name, values in expected.items():
        mine = next(v for k, v in found.items() if k.startswith(name.split(".")[0] + "."))
        worst = max(worst, *(abs(a - b) for a, b in zip(mine, values)))
    return worst


LOGITS = 2e-5  # a sum of parts rounds in other places; logits are up to 4


def decoder(checks, build, engine, data, ranks):
    """Parts of a decoder (examples/tensor_parallel) have the logits of the whole one, as PyTorch computed them."""
    with tempfile.TemporaryDirectory() as folder:
        command = [f"{build}/tern", "run", f"{data}/llama_{ranks}_{{rank}}.pt2", "-i", f"{data}/tokens.safetensors",
                   "-o", folder + "/{rank}.safetensors", "--group", engine, "--group-timeout", "60"]
        text, status, hung, errors = wait(launch(engine, ranks, command, {}))
        good, worst = not hung and not any(status), 0
        if good:
            found = [tensors(f"{folder}/{r}.safetensors") for r in range(ranks)]
            worst = difference(f"{folder}/0.safetensors", f"{data}/logits.safetensors")
            good = all(f == found[0] for f in found) and worst < LOGITS
        checks.expect(f"{engine}, a decoder on {ranks} ranks", good, f"{worst}\n{text}{errors}")


FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B", "BOOL": "?",
           "C64": "f"}  # a complex number is two
TOLERANCES = {"F64": 1e-12, "F32": 1e-5, "C64": 1e-5, "F16": 2e-3, "BF16": 1.6e-2}  # relative; NCCL adds in another order


class File:
    """A safetensors file."""

    def __init__(self, path):
        data = path.read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        self.tensors = json.loads(data[8:8 + length])
        self.metadata, self.body = self.tensors.pop("__metadata__", {}), data[8 + length:]

    def bytes(self, name):
        begin, end = self.tensors[name]["data_offsets"]
        return self.body[begin:end]

    def numbers(self, name):
        kind, data = self.tensors[name]["dtype"], self.bytes(name)
        if kind == "BF16":  # the upper half of a float
            data, kind = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)), "F32"
        return struct.unpack(f"<{len(data) // struct.calcsize(FORMATS[kind])}{FORMATS[kind]}", data)

    def part(self, prefix):
        """Its tensors whose names begin so, as a file without that."""
        header, body = {}, b""
        for name in self.tensors:
            if re.fullmatch(re.escape(prefix) + r"\d+", name):
                data = self.bytes(name)
                header["in" + name.removeprefix(prefix)] = {**self.tensors[name], "data_offsets": [len(body), len(body) + len(data)]}
                body += data
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + body

    def worst(self, name, other, its):
        """The largest difference of two tensors, by what is allowed."""
        mine, theirs = self.tensors[name], other.tensors[its]
        if (mine["dtype"], mine["shape"]) != (theirs["dtype"], theirs["shape"]):
            return float("inf")
        allowed = TOLERANCES.get(mine["dtype"], 0)
        pairs = [(a, b) for a, b in zip(self.numbers(name), other.numbers(its)) if a != b]
        return max([abs(a - b) / (allowed * (1 + abs(b))) if allowed else float("inf") for a, b in pairs], default=0)


ENVIRONMENT = {"TERN_STAND_IN_COUNTS": "1", "TERN_EMULATOR_DEVICES": "4"}


def case_on_device(checks, build, engine, device, path):
    """A recorded case in processes: PyTorch's results, of its gloo. With NCCL, the library has made calls."""
    expected, ranks = File(path.with_suffix(".safetensors")), int(path.stem.rsplit("_", 1)[1])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for r in range(ranks):
            (folder / f"in_{r}.safetensors").write_bytes(expected.part(f"rank{r}.call0.in"))
        command = [f"{build}/tern", "run", str(path), "-i", f"{folder}/in_{{rank}}.safetensors", "-o",
                   f"{folder}/out_{{rank}}.safetensors", "--json", "--group", engine, "--group-timeout", "60", "--device",
                   f"{device}:{{local_rank}}" if engine in ("nccl", "rccl") else device]
        for g in expected.metadata.get("groups", "").split():
            command += ["--groups", g]
        text, status, hung, errors = wait(launch(engine, ranks, command, ENVIRONMENT))
        good, worst = not hung and not any(status), 0
        if good:
            names = re.findall(r'"name": "([^"]*)"', text)  # of all ranks, one after the other
            names = names[:len(names) // ranks]
            for r in range(ranks):
                found = File(folder / f"out_{r}.safetensors")
                for k, name in enumerate(names):
                    worst = max(worst, found.worst(name, expected, f"rank{r}.call0.out{k}"))
            good = bool(names) and worst <= 1
            if engine in ("nccl", "rccl") and "_empty_" not in path.stem:
                good = good and len(re.findall(r"stand-in: rank .* made [1-9]", errors)) >= ranks
        checks.expect(f"{engine} on {device}, {path.stem}", good, f"{worst}\n{text}\n{errors}")


def with_lines(path, to):
    """A copy of a program, whose nodes all come from one line of Python."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("/models/model.json"):
                program = json.loads(data)
                for node in program["graph_module"]["graph"]["nodes"]:
                    node["metadata"]["stack_trace"] = '  File "model.py", line 12, in forward\n    y = f(x)\n'
                data = json.dumps(program)
            new.writestr(entry.filename, data)


def failures_on_devices(checks, build, engine, device, data):
    """As failures, in runs of programs on devices."""
    timeout, ranks = 2000, 2
    by_device = engine in ("nccl", "rccl")
    call = r"all_reduce \(sum\) of 24 float32, call \d+, at model\.py:12"
    waited = rf"rank \d+ has waited {timeout} ms in {call}" + (", on its device" if by_device else f" for rank {ranks - 1}")
    cases = {  # how: what all others say, the most milliseconds
        "exit": (rf"rank {ranks - 1} has ended", 3000),
        "throw": (rf"rank {ranks - 1} has failed: the disk is full", 3000),
        "differ": (rf"do not make the same call: .*{call}; rank {ranks - 1} all_gather of 6 float32, call \d+, at model\.py:12", 15000),
        "sleep": (waited, timeout + 3000),
        "stop": (waited, timeout + 3000),
    }
    if engine == "mpi":
        del cases["exit"]  # mpirun ends all when one ends
    with tempfile.TemporaryDirectory() as folder:
        programs = []
        for name in ("tensor_parallel_2", "gather_and_broadcast_2"):
            programs.append(f"{folder}/{name}.tern")
            with_lines(f"{data}/collective/{name}.pt2", f"{folder}/{name}.pt2")
            subprocess.run([f"{build}/tern", "export", f"{folder}/{name}.pt2", "-o", programs[-1]], check=True,
                           capture_output=True)
        name = f"{device}:{{rank}}" if by_device else device
        start_all = lambda how, extra: start(build, engine, ranks, ["device", how, ranks - 1, name, *programs],
                                             ENVIRONMENT | extra)
        for how, (pattern, most) in cases.items():
            records = f"{folder}/{how}"
            limit = 20000 if how == "differ" else timeout  # the other program may compile kernels first
            text, status, hung, errors = wait(start_all(how, {"WORKER_TIMEOUT_MS": str(limit), "TERN_FLIGHT_FOLDER": records}),
                                              stopped=how in ("stop", "sleep") and engine != "mpi")
            others = [s for s in re.findall(r"^rank (\d+) after (\d+) ms: (.*)$", text, re.M) if int(s[0]) != ranks - 1]
            good = not hung and len(others) >= (1 if engine == "mpi" else ranks - 1) and \
                all(re.search(pattern, s[2]) and int(s[1]) <= most for s in others)
            checks.expect(f"{engine} on {device}, one rank does: {how}", good, text + errors)
        said = subprocess.run([f"{build}/tern", "trace", "flight", f"{folder}/sleep"], capture_output=True, text=True)
        checks.expect(f"{engine} on {device}: tern trace flight", said.returncode == 1 and " Float, at " in said.stdout,
                      said.stdout + said.stderr)
        text, status, hung, errors = wait(start_all("late", {"WORKER_TIMEOUT_MS": "20000"}))
        checks.expect(f"{engine} on {device}, one rank is late", not hung and not any(status) and
                      len(re.findall(r"^rank \d has made all runs$", text, re.M)) == ranks, text + errors)


def traced_on_devices(checks, build, engine, device, data):
    """Kernels of collectives have the node, and name, group and size of the call, in replays of a graph too."""
    with tempfile.TemporaryDirectory() as folder:
        command = [f"{build}/tern", "run", f"{data}/collective/beside_2.pt2", "--random", "--group", engine, "--device",
                   f"{device}:{{local_rank}}", "--graph", "--repeat", "3", "--trace", folder + "/{rank}.json"]
        text, status, hung, errors = wait(launch(engine, 2, command, ENVIRONMENT))
        kernels = []
        if not any(status):
            with open(f"{folder}/0.json") as f:
                kernels = [e for e in json.load(f)["traceEvents"] if e.get("cat") == "kernel"]
        keys = {"Node", "Op", "Origin", "Collective name", "In msg nelems", "Out msg nelems", "Process Group Name", "dtype"}
        found = [k["args"] for k in kernels if k["name"].startswith("nccl")]
        names = sorted(a.get("Collective name", "") for a in found)
        checks.expect(f"{engine} on {device}: kernels of collectives in a trace of replays", not hung and
                      names[:1] == ["_allgather_base"] and names[-1:] == ["allreduce"] and len(names) % 3 == 0 and
                      all(keys <= set(a) and a["In msg nelems"] == 36 for a in found), f"{found[:2]}{text}{errors}")


def on_devices(checks, build, engine, device, data, all_sizes):
    """Programs on devices, also where their library of collectives is there."""
    by_device = engine in ("nccl", "rccl")
    few = ("all_to_all_uneven_3", "beside_2", "lists_2")  # through the host, `tern conform` runs all of them too
    for path in sorted(pathlib.Path(data).glob("collective/*.pt2")):
        ranks = int(path.stem.rsplit("_", 1)[1])
        if ranks <= 4 if all_sizes else path.stem in few or (by_device and ranks == 2):
            case_on_device(checks, build, engine, device, path)
    failures_on_devices(checks, build, engine, device, data)
    if not by_device:
        return
    traced_on_devices(checks, build, engine, device, data)
    command = [f"{build}/tern", "run", f"{data}/collective/beside_2.pt2", "--random", "--group", engine, "--device", "cpu"]
    text, status, hung, errors = wait(launch(engine, 2, command, ENVIRONMENT))
    checks.expect(f"{engine}, ranks without a device", all(status) and "rank 0, rank 1 cannot" in errors, text + errors)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?")
    parser.add_argument("--logits", nargs=2, metavar="FILE", help="only compares a decoder's with the expected ones")
    parser.add_argument("--ranks", default="2,3,4,8")
    parser.add_argument("--engines", default="gloo,mpi")
    parser.add_argument("--all", action="store_true", help="up to 8 ranks")
    parser.add_argument("--data", help="the folder of the unpacked test data: also checks the command")
    parser.add_argument("--device", help="cuda, rocm or xpu, as device.sh has it: checks groups of these devices, and no others")
    parser.add_argument("--torch", help="the bin folder of a Python with PyTorch: its torchfrtrace reads the records")
    arguments = parser.parse_args()
    if arguments.logits:
        sys.exit(difference(*arguments.logits) >= LOGITS)
    if arguments.all:
        arguments.ranks = "2,3,4,8"
    checks = Checks()
    if arguments.device:
        for engine in {"cuda": ["nccl"], "rocm": ["rccl"]}.get(arguments.device, arguments.engines.split(",")):
            on_devices(checks, arguments.build, engine, arguments.device, arguments.data, arguments.all)
        arguments.engines = ""
    for engine in filter(None, arguments.engines.split(",")):
        if not os.path.exists(f"{arguments.build}/engines/libtern_{engine}.so"):
            print(f"left out: {engine}, which this build is without")
            continue
        if engine == "mpi" and shutil.which("mpirun") is None:
            print("left out: mpi, since there is no mpirun")
            continue
        for ranks in map(int, arguments.ranks.split(",")):
            text, status, hung, errors = run(arguments.build, engine, ranks, ["check"])
            good = not hung and not any(status) and len(re.findall(r"rank \d+: \d{3,} results", text)) == ranks
            checks.expect(f"{engine}, {ranks} ranks: every kind has the bits of local_group", good, text + errors)
        text, status, hung, errors = run(arguments.build, engine, 4, ["mesh"])
        good = not hung and not any(status) and len(re.findall(r"rank \d+: \d{3,} results", text)) == 12
        checks.expect(f"{engine}, rows and columns of 4 ranks at the same time", good, text + errors)
        failures(checks, arguments.build, engine, 3)
        if engine == "gloo":  # mpirun ends all when one does
            divisions(checks, arguments.build, engine)
        flight(checks, arguments.build, engine, arguments.torch)
        if arguments.data and engine == "gloo":
            command(checks, arguments.build, arguments.data)
        if arguments.data:
            for ranks in (2, 4):
                decoder(checks, arguments.build, engine, f"{arguments.data}/tensor_parallel", ranks)
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
