"""Groups of processes whose ranks run on devices, for groups.py: recorded cases, injected failures, traces."""
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import zipfile

from groups import launch, start, wait

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


def case_on_device(checks, build, engine, device, path, extra={}, made=r"made [1-9]\d* calls$", title=""):
    """A recorded case in processes: PyTorch's results, of its gloo. With NCCL, the library has made calls, as `made` has
    them."""
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
        text, status, hung, errors = wait(launch(engine, ranks, command, ENVIRONMENT | extra))
        good, worst = not hung and not any(status), 0
        if good:
            # mpirun may insert a rank's output into another rank's line.
            said = dict.fromkeys(re.findall(r'"name": "([^"]*)"', text))
            for r in range(ranks):
                found = File(folder / f"out_{r}.safetensors")
                names = [name for name in said if name in found.tensors]
                good = good and len(names) == len(found.tensors) > 0
                for k, name in enumerate(names):
                    worst = max(worst, found.worst(name, expected, f"rank{r}.call0.out{k}"))
            good = good and worst <= 1
            if engine in ("nccl", "rccl") and "_empty_" not in path.stem:
                good = good and len(re.findall(rf"^stand-in: rank .* {made}", errors, re.M)) >= ranks
        checks.expect(f"{title or engine} on {device}, {path.stem}", good, f"{worst}\n{text}\n{errors}")


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


def failures_on_devices(checks, build, engine, device, data, extra={}, only=(), title=""):
    """As failures, in runs of programs on devices."""
    title = title or engine
    timeout, ranks = 2000, 2
    by_device = engine in ("nccl", "rccl")
    call = r"all_reduce \(sum\) of 24 float32, call \d+, at model\.py:12"
    waited = rf"rank \d+ has waited {timeout} ms in {call}" + (", on its device" if by_device else f" for rank {ranks - 1}")
    cases = {  # failure: message of all other ranks, maximum milliseconds
        "exit": (rf"rank {ranks - 1} has ended", 3000),
        "throw": (rf"rank {ranks - 1} has failed: the disk is full", 3000),
        "differ": (rf"do not make the same call: .*{call}; rank {ranks - 1} all_gather of 6 float32, call \d+, at model\.py:12", 15000),
        "sleep": (waited, timeout + 3000),
        "stop": (waited, timeout + 3000),
    }
    if engine == "mpi":
        del cases["exit"]  # mpirun ends all ranks when a rank ends
    cases = {how: case for how, case in cases.items() if not only or how in only}
    with tempfile.TemporaryDirectory() as folder:
        programs = []
        for name in ("tensor_parallel_2", "gather_and_broadcast_2"):
            programs.append(f"{folder}/{name}.tern")
            with_lines(f"{data}/collective/{name}.pt2", f"{folder}/{name}.pt2")
            subprocess.run([f"{build}/tern", "export", f"{folder}/{name}.pt2", "-o", programs[-1]], check=True,
                           capture_output=True)
        name = f"{device}:{{rank}}" if by_device else device
        start_all = lambda how, more, failing=ranks - 1: start(build, engine, ranks, ["device", how, failing, name, *programs],
                                                               ENVIRONMENT | extra | more)
        for how, (pattern, most) in cases.items():
            records = f"{folder}/{how}"
            limit = 20000 if how == "differ" else timeout  # the other program may compile kernels first
            text, status, hung, errors = wait(start_all(how, {"WORKER_TIMEOUT_MS": str(limit), "TERN_FLIGHT_FOLDER": records}),
                                              stopped=how in ("stop", "sleep") and engine != "mpi")
            others = [s for s in re.findall(r"^rank (\d+) after (\d+) ms: (.*)$", text, re.M) if int(s[0]) != ranks - 1]
            good = not hung and len(others) >= (1 if engine == "mpi" else ranks - 1) and \
                all(re.search(pattern, s[2]) and int(s[1]) <= most for s in others)
            checks.expect(f"{title} on {device}, one rank does: {how}", good, text + errors)
        if only:
            return
        said = subprocess.run([f"{build}/tern", "trace", "flight", f"{folder}/sleep"], capture_output=True, text=True)
        checks.expect(f"{engine} on {device}: tern trace flight", said.returncode == 1 and " Float, at " in said.stdout,
                      said.stdout + said.stderr)
        if engine != "mpi":  # its MPI_Finalize waits for all ranks
            text, status, hung, errors = wait(start_all("leave", {"WORKER_TIMEOUT_MS": "20000"}, failing=0))
            left = re.search(rf"^rank 1 after \d{{1,4}} ms: .*{call}, and rank 0 has left the group after \d+ calls", text, re.M)
            checks.expect(f"{engine} on {device}, rank 0 leaves before the other", not hung and bool(left), text + errors)
        text, status, hung, errors = wait(start_all("late", {"WORKER_TIMEOUT_MS": "20000"}))
        checks.expect(f"{engine} on {device}, one rank is late", not hung and not any(status) and
                      len(re.findall(r"^rank \d has made all runs$", text, re.M)) == ranks, text + errors)


def traced_on_devices(checks, build, engine, device, data):
    """Kernels of collectives have the node, and name, group and bytes of the call, in replays of a graph too."""
    with tempfile.TemporaryDirectory() as folder:
        command = [f"{build}/tern", "run", f"{data}/collective/beside_2.pt2", "--random", "--group", engine, "--device",
                   f"{device}:{{local_rank}}", "--graph", "--repeat", "3", "--trace", folder + "/{rank}.json"]
        text, status, hung, errors = wait(launch(engine, 2, command, ENVIRONMENT))
        kernels = []
        if not any(status):
            with open(f"{folder}/0.json") as f:
                kernels = [e for e in json.load(f)["traceEvents"] if e.get("cat") == "kernel"]
        keys = {"Node", "Op", "Origin", "Collective name", "In msg nelems", "Out msg nelems", "Process Group Name", "dtype", "bytes"}
        found = [k["args"] for k in kernels if k["name"].startswith("nccl")]
        names = sorted(a.get("Collective name", "") for a in found)
        checks.expect(f"{engine} on {device}: kernels of collectives in a trace of replays", not hung and
                      names[:1] == ["_allgather_base"] and names[-1:] == ["allreduce"] and len(names) % 3 == 0 and
                      all(keys <= set(a) and a["In msg nelems"] == 36 for a in found), f"{found[:2]}{text}{errors}")


def symmetric_on_devices(checks, build, data):
    """Small sums and gatherings by NVSHMEM, and by NCCL where a rank lacks it or cannot start it."""
    on = {"TERN_CUDA_SHMEM": "1"}
    by_shmem, none = r"made [1-9]\d* calls of NVSHMEM$", r"made [1-9]\d* calls$"
    case = lambda name, extra, made, title: case_on_device(
        checks, build, "nccl", "cuda", pathlib.Path(data) / f"collective/{name}.pt2", on | extra, made, title)
    for name in ("all_reduce_bfloat16_3", "all_reduce_complex_2", "all_reduce_floats_2", "all_reduce_half_2",
                 "all_reduce_integers_2", "gather_and_broadcast_3", "mesh_4", "tensor_parallel_2"):
        case(name, {}, by_shmem, "nvshmem")
    case("tensor_parallel_2", {"TERN_NVSHMEM": "/nonexistent/libnvshmem_host.so.3"}, none, "nvshmem, missing,")
    case("tensor_parallel_2", {"TERN_STAND_IN_NO_SHMEM": "1"}, none, "nvshmem, which one rank cannot start,")
    failures_on_devices(checks, build, "nccl", "cuda", data, on, ("exit", "sleep"), "nvshmem")
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/model.tern"
        subprocess.run([f"{build}/tern", "export", f"{data}/collective/tensor_parallel_2.pt2", "-o", program], check=True,
                       capture_output=True)
        text, status, hung, errors = wait(start(build, "nccl", 2, ["device", "rejoin", 1, "cuda:{rank}", program, program],
                                                ENVIRONMENT | on | {"WORKER_TIMEOUT_MS": "20000"}))
        checks.expect("nvshmem on cuda, both ranks leave and join again", not hung and not any(status) and
                      len(re.findall(r"made 8 calls of NVSHMEM$", errors, re.M)) == 2, text + errors)
    for extra, said in (({}, "NVSHMEM 3.8.0"), ({"TERN_NVSHMEM": "/nonexistent"}, "NVSHMEM is missing: no library /nonexistent")):
        listed = subprocess.run([f"{build}/tern", "devices"], capture_output=True, text=True, env=os.environ | on | extra)
        checks.expect(f"tern devices: {said}", said in listed.stdout, listed.stdout + listed.stderr)


def on_devices(checks, build, engine, device, data, all_sizes):
    """Programs on devices, also where their library of collectives is there."""
    by_device = engine in ("nccl", "rccl")
    few = ("all_to_all_uneven_3", "beside_2", "lists_2")  # goes through the host; `tern conform` also runs all cases
    for path in sorted(pathlib.Path(data).glob("collective/*.pt2")):
        ranks = int(path.stem.rsplit("_", 1)[1])
        if ranks <= 4 if all_sizes else path.stem in few or (by_device and ranks == 2):
            case_on_device(checks, build, engine, device, path)
    failures_on_devices(checks, build, engine, device, data)
    if not by_device:
        return
    traced_on_devices(checks, build, engine, device, data)
    if device == "cuda":
        symmetric_on_devices(checks, build, data)
    command = [f"{build}/tern", "run", f"{data}/collective/beside_2.pt2", "--random", "--group", engine, "--device", "cpu"]
    text, status, hung, errors = wait(launch(engine, 2, command, ENVIRONMENT))
    checks.expect(f"{engine}, ranks without a device", all(status) and "rank 0, rank 1 cannot" in errors, text + errors)
