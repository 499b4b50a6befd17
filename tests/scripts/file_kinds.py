#!/usr/bin/env python3
"""What somebody gives instead of a program: each command names the kind of the file, and the step that takes it.

  file_kinds.py --tern TERN      ends with `N passed, N failed`
"""
import argparse
import bz2
import gzip
import io
import json
import lzma
import pathlib
import pickle
import struct
import tarfile
import tempfile
import zipfile

import checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits/digits.pt2"


def zipped(*names):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as z:
        for name in names:
            z.writestr(name, b"x")
    return data.getvalue()


def npy():
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }".ljust(53) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + b"\0\0\0\0"


def safetensors():
    head = json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(head)) + head + b"\0\0\0\0"


def tar():
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.USTAR_FORMAT) as t:
        t.addfile(tarfile.TarInfo("a"))
    return data.getvalue()


# The bytes by each format's definition; the kind, and a word of the advice.
KINDS = {
    "model.gguf": (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "GGUF", ""),
    "model.safetensors": (safetensors(), "safetensors", "--input"),
    # ir_version 8, producer_name "pytorch"
    "model.onnx": (b"\x08\x08\x12\x07pytorch" + b"\x3a\x00", "ONNX", "docs/from_onnxruntime.md"),
    "bare.onnx": (b"\x08\x0a\x3a\x02\x12\x00", "ONNX", "torch.export"),
    "model.pte": (struct.pack("<I", 24) + b"ET12" + b"\0" * 64, "ExecuTorch", "docs/from_executorch.md"),
    "model.tflite": (struct.pack("<I", 28) + b"TFL3" + b"\0" * 64, "TensorFlow Lite", "torch.export"),
    "weights.pth": (zipped("weights/data.pkl", "weights/version"), "torch.save", "torch.export.save"),
    "script.pt": (zipped("script/data.pkl", "script/code/a.py"), "TorchScript", "torch.export.save"),
    "arrays.npz": (zipped("x.npy", "y.npy"), "NumPy", "--input"),
    "other.zip": (zipped("a/b"), "zip", "torch.export.save"),
    "array.npy": (npy(), "NumPy", "--input"),
    "old.pt": (b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "pickle", "torch.export"),
    "state.pkl": (pickle.dumps({"a": 1}, 4), "pickle", "torch.export"),
    "trace.json.gz": (gzip.compress(b"{}"), "gzip", "gunzip"),
    "model.bz2": (bz2.compress(b"x"), "bzip2", "bunzip2"),
    "model.xz": (lzma.compress(b"x"), "xz", "unxz"),
    "model.tar": (tar(), "tar", "tar -xf"),
    "model.h5": (b"\x89HDF\r\n\x1a\n" + b"\0" * 64, "HDF5", "torch.export"),
    "library.so": (b"\x7fELF" + b"\0" * 64, "ELF", "torch.export.save"),
    "image.png": (b"\x89PNG\r\n\x1a\n" + b"\0" * 64, "PNG", "--input"),
    "lfs.pt2": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS", "git lfs pull"),
    "page.pt2": (b"<!DOCTYPE html>\n<html></html>\n", "HTML", "download"),
    "config.json": (b'{"a": 1}\n', "JSON", "tern export"),
    "notes.txt": (b"some words\n", "text", "torch.export"),
    "empty.pt2": (b"", "empty", "repeat it"),
    "empty.tern": (b"", "empty", "repeat it"),
}
COMMANDS = {
    "inspect": ["inspect", "FILE"],
    "run": ["run", "FILE", "--random"],
    "validate": ["validate", "FILE"],
    "export": ["export", "FILE", "-o", "OUT"],
    "view": ["view", "FILE", "--html", "OUT"],
    "verify": ["verify", "FILE", "--random", "--precision", "bfloat16"],
    "bench": ["bench", "FILE"],
    "train": ["train", "FILE", "--data", "d.npz", "--steps", "1", "-o", "OUT"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        c = checks.Checks(arguments.tern, root)

        def told(name, words, *parts, statuses=(1, 2, 3, 4, 5)):
            done = c.run(*words)
            text = done.stdout + done.stderr
            good = done.returncode in statuses and all(part in text for part in parts)
            c.check(name, good, f"status {done.returncode}: {text[:400]}")

        archive = root / "digits.tern"
        c.run("export", DIGITS, "-o", archive)
        for name, (data, kind, advice) in KINDS.items():
            path = root / name
            path.write_bytes(data)
            # Tests every kind with one command, and some kinds with every command.
            some = COMMANDS if name in ("model.gguf", "model.onnx", "weights.pth", "notes.txt") else ["inspect", "export"]
            for command in some:
                words = [str({"FILE": path, "OUT": root / "out"}.get(w, w)) for w in COMMANDS[command]]
                told(f"{command} {name}", words, kind, advice)
        c.check("nothing was written", not (root / "out").exists(), "")
        told("export of an archive", ["export", archive, "-o", root / "again.tern"], "an archive of Tern", "tern run")
        for file, kind in (("model.gguf", "GGUF"), ("config.json", "JSON"), ("digits.tern", "archive of Tern")):
            told(f"--input {file}", ["run", archive, "-i", root / file], kind, ".npz")
        (root / "wrong.npy").write_bytes(KINDS["model.gguf"][0])
        told("--input, a wrong name", ["run", archive, "-i", root / "wrong.npy"], "GGUF")
        told("trace of a program", ["trace", DIGITS], "zip archive")
        told("trace of an archive", ["trace", archive], "archive of Tern")
        told("a damaged array has no advice", ["run", archive, "-i", root / "array.npy"], "input")
        for file, kind in (("config.json", "transformers"), ("saved_model.pb", "TensorFlow"), ("model.tern", "model.tern")):
            place = root / f"folder_{file}"
            place.mkdir()
            (place / file).write_bytes(b"{}")
            for command in ("inspect", "run", "export", "view"):
                words = [str({"FILE": place, "OUT": root / "out"}.get(w, w)) for w in COMMANDS[command]]
                told(f"{command}, folder with {file}", words, "folder", kind)
    print(f"{c.passed} passed, {c.failed} failed")
    raise SystemExit(c.failed > 0)


if __name__ == "__main__":
    main()
