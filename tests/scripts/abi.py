#!/usr/bin/env python3
"""Compares the binary interface of libtern.so with the one in tests/data/abi/: abi.py BUILD [--write]

Types are read from debug information, which the library itself lacks: the files that define public functions are compiled
once more, without optimisation, and linked with the library's version script. Then abidw (Debian's abigail-tools) writes
what include/tern/ declares, and abidiff compares. --write replaces the file, after a change that docs/packages.md allows.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import checks

FOLDERS = ("runtime", "loader", "kernels", "schema", "dtypes")
# Flags for optimisation, debug information and warnings.
DROPPED = re.compile(r"-O\S*|-g\d?|-W\S*|-DNDEBUG")
INCOMPATIBLE = 8  # a bit of abidiff's exit status; 1 and 2 are errors of abidiff, 4 is any change


def run(*command, ok=(0,), directory=None):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=directory)
    if ok is not None and done.returncode not in ok:
        sys.exit(f"abi.py: {' '.join(map(str, command))[:300]}\n{done.stdout}{done.stderr}")
    return done


def exported(library):
    """Names without their versions."""
    lines = run("nm", "-D", "--defined-only", library).stdout.splitlines()
    return {line.split()[2].split("@")[0] for line in lines if line.split()[1] != "A"}


def entries_of(build, names):
    """Commands of the files whose objects define some of the names, by object."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        out = words[words.index("-o") + 1]
        if not out.startswith(FOLDERS) or not (build / out).exists():
            continue
        lines = run("nm", "-g", "--defined-only", build / out).stdout.splitlines()
        if any(line.split()[-2] in "TDBR" and line.split()[-1] in names for line in lines):
            found[out] = words
    return found


def compile_with_types(build, out, words, folder):
    target = folder / out.replace("/", "_")
    kept = [word for word in words if not DROPPED.fullmatch(word)]
    kept[kept.index("-o") + 1] = target
    if shutil.which("ccache") and not any("ccache" in word for word in words):
        kept.insert(0, "ccache")
    run(*kept, "-O0", "-g", "-w", f"-ffile-prefix-map={pathlib.Path.cwd()}=.", directory=build)
    return target


def library_with_types(build, folder):
    """Of the objects that define what libtern.so exports."""
    names = exported(build / "libtern.so")
    with ThreadPoolExecutor(int(os.environ.get("TERN_JOBS", os.cpu_count()))) as pool:
        objects = list(pool.map(lambda item: compile_with_types(build, *item, folder), entries_of(build, names).items()))
    library = folder / "libtern.so"
    soname = re.search(r"soname: \[(\S+)\]", run("readelf", "-d", build / "libtern.so").stdout).group(1)
    run("c++", "-shared", f"-Wl,-soname,{soname}", f"-Wl,--version-script={build / 'libtern.map'}", "-o", library, *objects)
    missing = names - exported(library)
    if missing:
        sys.exit(f"abi.py: the library with types lacks {sorted(missing)[:9]}")
    return library


def dump(library, out):
    run("abidw", "--headers-dir", "include/tern", "--drop-private-types", "--exported-interfaces-only", "--no-corpus-path",
        "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash", "--out-file", out, library)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    a = parser.parse_args()
    os.chdir(pathlib.Path(__file__).resolve().parents[2])
    build = a.build.resolve()
    folder = build / "abi"
    folder.mkdir(exist_ok=True)
    packed = pathlib.Path(f"tests/data/abi/libtern-{platform.machine()}.abi.zst")
    reference, now = folder / "reference.abi", folder / "libtern.abi"
    dump(library_with_types(build, folder), now)
    if a.write:
        run("zstd", "-q", "-f", "-19", now, "-o", packed)
        print(f"wrote {packed}, {packed.stat().st_size} bytes")
        return
    run("zstd", "-q", "-f", "-d", packed, "-o", reference)
    difference = run("abidiff", reference, now, ok=None)
    print(difference.stdout + difference.stderr, end="")
    tally = checks.Checks(None, folder)
    tally.check("no incompatible change", not difference.returncode & (INCOMPATIBLE | 3))
    tally.check("no change that the file lacks", difference.returncode == 0)
    # Checks the detection of changes: the interface without one of its functions.
    symbol = "tern_version"
    less = folder / "less.abi"
    less.write_text("".join(x for x in now.read_text().splitlines(True) if f"name='{symbol}'" not in x or "<elf-symbol" not in x))
    tally.check("a missing function would be found", run("abidiff", now, less, ok=None).returncode & INCOMPATIBLE)
    print(f"{tally.passed} passed, {tally.failed} failed")
    sys.exit(tally.failed > 0)


if __name__ == "__main__":
    main()
