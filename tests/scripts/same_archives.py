#!/usr/bin/env python3
"""`tern export` writes the same bytes on every instruction set and with any number of threads.

Not with --calibrate, whose runs round as the processor does, and not with --target cpu and --tune, which are for one processor.

  same_archives.py --tern TERN --data BUILD/test-data     ends with `N passed, N failed`
"""
import argparse
import hashlib
import os
import pathlib
import subprocess
import tempfile

import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINES = [
    {"OMP_NUM_THREADS": "3"}, {"TERN_AMX": "0", "OMP_NUM_THREADS": "2"}, {"TERN_CPU": "avx2", "OMP_NUM_THREADS": "2"},
    {"TERN_CPU": "baseline", "OMP_NUM_THREADS": "1"},
]  # fmt: skip
FORMATS = "int8 int4 float8 mxfp4 mxfp6_e2m3 mxfp6_e3m2 mxfp8_e4m3 mxfp8_e5m2 nvfp4".split()
DIGITS = ROOT / "examples/digits/digits.pt2"


def exports(data):
    yield DIGITS, []
    yield DIGITS, ["--no-fold"]
    yield DIGITS, ["--precision", "bfloat16"]
    yield DIGITS, ["--compress", "zstd:9"]
    yield from ((DIGITS, ["--quantize", name]) for name in FORMATS)
    yield DIGITS, ["--quantize", "int4", "--rule", "torchao"]
    yield data / "programs/kv_cache.pt2", ["--quantize", "mxfp8_e4m3", "--activations", "mx"]
    yield ROOT / "examples/training/digits.pt2", ["--train", "--loss", "cross_entropy"]
    yield ROOT / "examples/training/digits.pt2", ["--train", "--loss", "cross_entropy", "--lora", "*.weight"]
    yield data / "gguf/llama_q4_k_m.gguf", []
    for name in ("all_int4_bmm", "ao_int8wo_mlp", "pt2e_x86_cnn"):  # constants computed at export
        yield data / f"quantized/{name}.pt2", []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        t = checks.Checks(a.tern.resolve(), folder)
        for source, options in exports(a.data):
            hashes, title = {}, f"{source.name} {' '.join(pathlib.Path(word).name for word in options)}"
            for machine in MACHINES:
                archive = pathlib.Path(folder) / "a.tern"
                run = subprocess.run([t.tern, "export", source, "-o", archive, *options], env={**os.environ, **machine},
                                     capture_output=True, text=True)  # fmt: skip
                key = run.stderr if run.returncode else hashlib.sha256(archive.read_bytes()).hexdigest()
                hashes.setdefault(key, []).append(machine)
                t.check(title, not run.returncode, run.stderr)
            t.check(f"{title}, bytes", len(hashes) == 1, list(hashes.values()))
    print(f"{t.passed} passed, {t.failed} failed")
    return t.failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
