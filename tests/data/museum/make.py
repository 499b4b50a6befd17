#!/usr/bin/env python3
"""Makes the archives of one version of the format for tests/data/museum.tar.zst, with inputs and results.

  make.py --tern TERN --data BUILD/test-data OUT      needs numpy and safetensors

OUT/VERSION/FOLDER_CASE.tern is a case of the test data that passes, exported by TERN, beside the case's own .safetensors.
An archive made with options has the results that TERN gave with --reproducible. A version's archives are made once, when
the version is released, and never again. TERN needs the plugins xpu and metal.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy
from safetensors import safe_open
from safetensors.numpy import save_file

# Folders of cases: every N-th case, and the first of each operator.
FOLDERS = {"programs": 1, "mx": 1, "subclasses": 1, "import": 1, "traced": 2, "results": 2, "optimizers": 2,
           "quantized": 4, "collective": 2, "values": 4, "conformance": 1000}
MOST_BYTES = 100_000  # limit for an archive made without options
QUANTIZED = "int8 int4 float8 mxfp4 mxfp6_e2m3 mxfp6_e3m2 mxfp8_e4m3 mxfp8_e5m2 nvfp4".split()
CACHE = "programs/pt215_kv_cache"
# Options of export, and a case for each.
VARIANTS = {f"quantize_{f}": (CACHE, ["--quantize", f]) for f in QUANTIZED} | {
    "compressed": (CACHE, ["--compress", "zstd"]),
    "compressed_well": ("programs/mx_mxfp4", ["--compress", "zstd:19"]),
    "packed": (CACHE, ["--target", "cpu"]),
    "tuned": (CACHE, ["--target", "cpu", "--tune", "--tune-seconds", "1"]),
    "kernels_spirv": (CACHE, ["--target", "xpu:spirv"]),
    "kernels_metal": (CACHE, ["--target", "metal:msl"]),
    "bfloat16": (CACHE, ["--precision", "bfloat16"]),
    "annotated": (CACHE, ["--annotate", "*", "owner=museum"]),
    "no_origins": (CACHE, ["--no-origins"]),
    "gguf": ("gguf/llama_q4_k_m", []),
}
# Tokens, position, temperature, top-k and top-p of a prompt.
GENERATION_INPUTS = [numpy.arange(3, 12).reshape(1, 9), numpy.zeros(1, numpy.int64), numpy.float32(0), numpy.int64(0),
                     numpy.float32(1)]


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True)


def program_of(case):
    return next(p for p in (case.with_suffix(".pt2"), case.with_suffix(".gguf")) if p.exists())


def export(tern, case, archive, options):
    result = run(tern, "export", program_of(case), "-o", archive, "--custom-ops", "--unchecked-guards", *options)
    return result.returncode == 0


def first_call(path):
    """Inputs and outputs of the first call, by position."""
    tensors = {}
    with safe_open(path, "numpy") as file:
        for key in file.keys():
            name = key.removeprefix("call0.")
            if "." not in name and name.startswith("in"):
                tensors[int(name[2:])] = file.get_tensor(key)
    return [tensors[i] for i in sorted(tensors)]


def record(tern, case, archive, expected):
    """Writes the inputs of the case and the results that the archive gives now."""
    inputs = GENERATION_INPUTS if program_of(case).suffix == ".gguf" else first_call(case.with_suffix(".safetensors"))
    function = json.loads(run(tern, "inspect", "--json", archive).stdout)["functions"][0]
    names = [row["name"] for row in function["inputs"] if row["kind"] == "user"]
    arrays, out = archive.with_suffix(".in.npz"), archive.with_suffix(".npz")
    numpy.savez(arrays, **dict(zip(names, inputs, strict=True)))
    result = run(tern, "run", archive, "-i", arrays, "-o", out, "--reproducible", "--function", function["name"])
    arrays.unlink()
    if result.returncode != 0:
        sys.exit(f"{archive}: {result.stderr}")
    with numpy.load(out) as values:
        outputs = [values[row["name"]] for row in function["outputs"]]
    out.unlink()
    tensors = {f"in{i}": v for i, v in enumerate(inputs)} | {f"out{i}": v for i, v in enumerate(outputs)}
    save_file({k: numpy.array(v, order="C") for k, v in tensors.items()}, expected)


def cases_of(data, folder, every):
    seen = collections.Counter()
    for path in sorted(data.joinpath(folder).rglob("*.safetensors")):
        case = path.with_suffix("")
        if not case.with_suffix(".pt2").exists():
            continue
        if seen[case.parent] % every == 0:
            yield case
        seen[case.parent] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("out", type=pathlib.Path)
    a = parser.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)

    def keep(job):
        case, name = job
        archive = a.out / f"{name}.tern"
        if not export(a.tern, case, archive, []) or archive.stat().st_size > MOST_BYTES:
            archive.unlink(missing_ok=True)
            return False
        shutil.copyfile(case.with_suffix(".safetensors"), archive.with_suffix(".safetensors"))
        if run(a.tern, "conform", "--no-table", case.with_suffix(".pt2")).returncode == 0:
            return True
        archive.unlink()
        archive.with_suffix(".safetensors").unlink()
        return False

    jobs = [(case, str(case.relative_to(a.data)).replace(os.sep, "_").replace(".", "_"))
            for folder, every in FOLDERS.items() for case in cases_of(a.data, folder, every)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        print(sum(pool.map(keep, jobs)), "of", len(jobs), "cases")
    for name, (case, options) in VARIANTS.items():
        case, archive = a.data / case, a.out / f"option_{name}.tern"
        if not export(a.tern, case, archive, options):
            print("left out:", name)
            archive.unlink(missing_ok=True)
            continue
        record(a.tern, case, archive, archive.with_suffix(".safetensors"))


if __name__ == "__main__":
    main()
