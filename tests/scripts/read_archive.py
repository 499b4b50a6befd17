#!/usr/bin/env python3
"""examples/read_archive reads every tensor and attached file of archives as Tern's loader does, bit for bit.

  read_archive.py --build BUILD --data BUILD/test-data [--every N]

Exports every N-th case of each folder (of the large ones fewer), reads every N-th archive of the museum, and some programs with each option that changes the
bytes of weights. The archives together must have every property in WANTED. Ends with `N passed, N failed`.
"""
import argparse
import concurrent.futures
import importlib.util
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
READER = ROOT / "examples/read_archive/read_archive.py"
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("read_archive", READER)
reader = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reader)

# Folders of cases, and how many times fewer of them are read.
FOLDERS = {
    "programs": 1, "mx": 1, "subclasses": 1, "import": 1, "traced": 2, "results": 2, "values": 10, "optimizers": 2,
    "quantized": 3, "gguf": 1, "collective": 2, "gradients": 20, "models": 2, "conformance": 50,
    "museum": 20,
}
# Options of export, and a case for each.
QUANTIZED = "int8 int4 float8 mxfp4 mxfp6_e2m3 mxfp6_e3m2 mxfp8_e4m3 mxfp8_e5m2 nvfp4".split()
VARIANTS = [(f"quantize {f}", "programs/kv_cache.pt2", ["--quantize", f]) for f in QUANTIZED] + [
    ("compress", "programs/kv_cache.pt2", ["--compress", "zstd"]),
    ("compress, high level", "programs/mx_mxfp4.pt2", ["--compress", "zstd:19"]),
    ("packed", "programs/kv_cache.pt2", ["--target", "cpu"]),
    ("bfloat16", "programs/kv_cache.pt2", ["--precision", "bfloat16"]),
    ("training", "../../examples/training/digits.pt2", ["--train", "--loss", "cross_entropy"]),
]
WANTED = {t[0] for t in reader.TYPES.values()} | {
    "zstd", "several frames", "page", "shared segment", "tied or overlapping", "strided", "offset", "empty", "file",
    "swizzled scales", "rows of blocks", "outer scale", "zero_point 1", "zero_point 2", "sparse", "bits 4", "bits 5",
    "bits 6", "signed planes", "super-blocks",
}


def export(tern, source, archive, options):
    command = [tern, "export", source, "-o", archive, "--custom-ops", "--unchecked-guards", *options]
    return subprocess.run(command, capture_output=True, text=True)


def loaded(program, path):
    """Tensors and files that Tern's loader reads, in order: name, type, bytes, floats."""
    out = subprocess.run([program, path], capture_output=True, check=True).stdout
    end = out.index(b"\n") + 1
    rows, at = [], end
    for _ in range(int(out[:end].split()[1])):
        name, kind, rest = out[at:].split(b"\0", 2)
        line = rest.index(b"\n")
        size, floats = map(int, rest[:line].split())
        at += len(name) + len(kind) + 2 + line + 1
        rows.append((name.decode(), kind.decode(), out[at : at + size], out[at + size : at + size + floats]))
        at += size + floats
    return rows


def same_numbers(numbers, floats):
    """The reader's numbers are these float32, bit for bit; a NaN is any NaN."""
    other = struct.unpack(f"<{len(floats) // 4}f", floats)
    return len(numbers) == len(other) and all(
        a == b and math.copysign(1, a) == math.copysign(1, b) or a != a and b != b for a, b in zip(numbers, other)
    )


def properties(archive):
    for row in archive.segments:
        if row.number(4, "B"):
            yield "zstd"
        if row.vector(8)[1] > 1:
            yield "several frames"
        if row.number(3, "I", 64) == 4096:
            yield "page"
    numbers = [segment for _, segment in archive.storages if segment >= 0]
    if len(set(numbers)) < len(numbers):
        yield "shared segment"
    if len({s.storage for s in archive.states}) < len(archive.states):
        yield "tied or overlapping"
    if archive.files:
        yield "file"
    for s in archive.states:
        t = s.type
        yield reader.TYPES[t.dtype][0]
        contiguous = [math.prod(t.shape[i + 1 :]) for i in range(len(t.shape))]
        if any(n > 1 and a != b for n, a, b in zip(t.shape, s.strides, contiguous)):
            yield "strided"
        if s.offset:
            yield "offset"
        if 0 in t.shape:
            yield "empty"
        if t.block:
            yield reader.TYPES[t.scale][0] if t.scale else "sparse"
            fields = {
                "swizzled scales": t.layout, "rows of blocks": t.block_rows > 1, "outer scale": t.outer,
                "signed planes": t.bits and t.dtype == 3, "super-blocks": t.super_columns,
            }
            yield from (name for name, has in fields.items() if has)
            yield f"zero_point {t.zero_point}"
            yield f"bits {t.bits}"


def differences(program, path):
    """What the reader sees otherwise than the loader, and the properties of the archive."""
    archive = reader.open_archive(path)
    archive.check()
    rows = loaded(program, path)
    names = [s.name for s in archive.states] + list(archive.files)
    if names != [row[0] for row in rows]:
        return [f"the names {names} are not {[row[0] for row in rows]}"], set()
    wrong = []
    for state, (name, kind, data, floats) in zip(archive.states, rows):
        plain = f"{reader.TYPES[state.type.dtype][0]}{state.type.shape}"
        if plain != kind:
            wrong.append(f"{name} has the type {plain} instead of {kind}")
        elif archive.bytes_of(state) != data:
            wrong.append(f"{name} {state.type} has other bytes")
        elif floats and not same_numbers(archive.numbers_of(state), floats):
            wrong.append(f"{name} {state.type} has other numbers")
    for name, _, data, _ in rows[len(archive.states) :]:
        if archive.storage(archive.files[name]) != data:
            wrong.append(f"the file {name} has other bytes")
    return wrong, set(properties(archive))


def one(tern, program, name, source, options):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/case.tern"
        if str(source).endswith(".tern"):
            path = str(source)
            exported = subprocess.CompletedProcess([], 0)
        elif source is None:
            exported = subprocess.run([program, "--sample", path], capture_output=True, text=True)
        else:
            exported = export(tern, source, path, options)
        if exported.returncode:
            return name, [exported.stderr.strip()], set()
        try:
            return name, *differences(program, path)
        except Exception as error:  # a test shows every failure
            return name, [repr(error)], set()


def cases(data, every):
    yield "all element types and kinds of quantized values", None, []
    yield from ((name, data / case, options) for name, case, options in VARIANTS)
    for folder, fewer in FOLDERS.items():
        paths = sorted(p for p in (data / folder).rglob("*") if p.suffix in (".pt2", ".gguf", ".tern"))
        for path in paths[:: max(1, every * fewer)]:
            yield str(path.relative_to(data)), path, []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--every", type=int, default=1)
    a = parser.parse_args()
    passed = failed = 0
    seen = set()
    with concurrent.futures.ProcessPoolExecutor(int(os.environ.get("TERN_JOBS", os.cpu_count()))) as pool:
        programs = a.build / "tern", a.build / "archive_tensors"
        tasks = [pool.submit(one, *programs, *case) for case in cases(a.data, a.every)]
        for task in tasks:
            name, wrong, found = task.result()
            passed, failed, seen = passed + (not wrong), failed + bool(wrong), seen | found
            for text in wrong:
                print(f"FAIL {name}: {text}")
    missing = WANTED - seen
    if missing:
        failed += 1
        print(f"FAIL no archive has: {', '.join(sorted(missing))}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
