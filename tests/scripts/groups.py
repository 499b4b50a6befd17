#!/usr/bin/env python3
"""Groups of processes over every engine of a build, and what they say where a rank fails.

  groups.py BUILD [--ranks 2,3,4,8] [--engines gloo,mpi] [--data FOLDER]

Each check starts tests/groups/worker.cpp as ranks: by the variables of torchrun for gloo, by mpirun for mpi. A check
that hangs is killed and fails.
"""
import argparse
import json
import os
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

LIMIT = 100  # seconds for all ranks of a check


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


def launch(engine, ranks, command, extra, own=lambda rank: {}):
    """Processes by rank, `own` is the environment of one; one process for all with mpirun."""
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
                                                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port} | own(r))
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
    cases = {  # failure: message of all other ranks, maximum milliseconds
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
    if engine == "mpi":  # mpirun ends all ranks when a rank ends
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


def joins(checks, build):
    """All ranks say why they do not become a group: one has another WORLD_SIZE, or ends while the others connect."""
    for turn in range(8):
        odd = 1 + turn % 3
        processes = launch("gloo", 4, [f"{build}/group_worker", "divide", "gloo"], {"WORKER_TIMEOUT_MS": "2000"},
                           lambda r, odd=odd: {"WORLD_SIZE": "5" if r == odd else "4"})
        begin = time.time()
        text, status, hung, errors = wait(processes)
        named = text.count(f"rank {odd} of 5 does not fit a group of 4")
        checks.expect(f"gloo, rank {odd} has another WORLD_SIZE", not hung and status == [2] * 4 and named == 4 and
                      time.time() - begin < 6, f"{status} {text}{errors}")
    for turn in range(8):
        processes = start(build, "gloo", 4, ["divide"], {"WORKER_TIMEOUT_MS": "3000"})
        time.sleep(0.008 * turn)
        ends = 1 + turn % 3
        processes[ends].kill()
        text, status, hung, errors = wait(processes)
        # A divided group, already formed on a slow machine, numbers its own ranks.
        said = [line for line in text.splitlines() if f"rank {ends} has ended" in line or f"missing: rank {ends}" in line
                or ("group 'part'" in line and "has ended" in line)]
        thrown = status.count(-signal.SIGABRT)  # Debian's Gloo throws in its own thread in rare cases (docs/collectives.md)
        checks.expect(f"gloo, rank {ends} is killed while the others connect", not hung and thrown < 2 and
                      len(said) + thrown == 3 and "pair.cc" not in text, f"{status} {text}{errors}")


def divisions(checks, build, engine):
    """A rank that is killed while groups are made: the others fail in time, and no signal ends them."""
    timeout = 3
    for turn in range(6):
        processes = start(build, engine, 3, ["divide"], {"WORKER_TIMEOUT_MS": str(timeout * 1000)})
        processes[turn % 3].stdout.readline()  # waits for the first division
        time.sleep(0.013 * turn)
        processes[turn % 3].kill()
        begin = time.time()
        text, status, hung, errors = wait(processes)
        good = not hung and time.time() - begin < 2 * timeout + 2 and sorted(status) == [-signal.SIGKILL, 2, 2]
        checks.expect(f"{engine}, rank {turn % 3} is killed while groups are made", good, f"{status} {text}{errors}")


def flight(checks, build, engine, torch):
    """The records of a recorded hang name the rank that is missing."""
    if engine == "mpi":
        return  # mpirun passes no signal to a single rank
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
        os.remove(f"{folder}/tern_flight_2")  # killed ranks leave none
        if os.path.exists(f"{build}/tern"):
            said = subprocess.run([f"{build}/tern", "trace", "flight", folder], capture_output=True, text=True)
            checks.expect(f"{engine}: tern trace flight without a record", said.returncode == 1 and
                          "ranks 0, 1 wait for rank 2" in said.stdout and "rank 2 wrote no record" in said.stdout,
                          said.stdout + said.stderr)
        if torch:
            said = [subprocess.run([f"{torch}/torchfrtrace", *options, folder], capture_output=True, text=True)
                    for options in ([], ["--allow-incomplete-ranks"])]
            checks.expect(f"{engine}: torchfrtrace without a record", said[0].returncode != 0 and said[1].returncode == 0,
                          "".join(s.stdout + s.stderr for s in said))


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


LOGITS = 2e-5  # a sum of parts rounds differently; logits are up to 4


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
        import group_devices
        for engine in {"cuda": ["nccl"], "rocm": ["rccl"]}.get(arguments.device, arguments.engines.split(",")):
            group_devices.on_devices(checks, arguments.build, engine, arguments.device, arguments.data, arguments.all)
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
            good = good and len(re.findall(r"rank \d+ has a window", text)) == (ranks if engine == "mpi" else 0)
            checks.expect(f"{engine}, {ranks} ranks: every kind has the bits of local_group", good, text + errors)
        if engine == "mpi":
            text, status, hung, errors = run(arguments.build, engine, 2, ["check"], {"OMPI_MCA_osc": "^sm"})
            good = not hung and not any(status) and len(re.findall(r"rank \d+: \d{3,} results", text)) == 2
            checks.expect("mpi, without windows of shared memory", good and "window" not in text, text + errors)
        text, status, hung, errors = run(arguments.build, engine, 4, ["mesh"])
        good = not hung and not any(status) and len(re.findall(r"rank \d+: \d{3,} results", text)) == 12
        checks.expect(f"{engine}, rows and columns of 4 ranks at the same time", good, text + errors)
        failures(checks, arguments.build, engine, 3)
        if engine == "gloo":  # mpirun ends all ranks when a rank ends
            joins(checks, arguments.build)
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
