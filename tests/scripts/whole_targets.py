#!/usr/bin/env python3
"""Compiles all units of a target that have equal options as one, syntax only: file-local names are unique in a target.

    whole_targets.py BUILD [TARGET...]

A target's units border on each other elsewhere as soon as a file's size changes (cmake/TernUnite.cmake), so equal names
of two units compile today and collide tomorrow. Prints each error once, then `N passed, N failed`: a check for each
target and set of options with several units.
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

WITHOUT_VALUE = {"-MD"}
WITH_VALUE = {"-MT", "-MF", "-o", "-c"}


def options(command):
    """Returns the command without its source and outputs."""
    words = iter(shlex.split(command))
    kept = []
    for word in words:
        if word in WITH_VALUE:
            next(words)
        elif word not in WITHOUT_VALUE:
            kept.append(word)
    return tuple(kept)


def groups(build, targets):
    """Returns the paths of the units of each target and set of options."""
    database = subprocess.run(["ninja", "-C", build, "-t", "compdb"], stdout=subprocess.PIPE, check=True).stdout
    units = {}
    for entry in json.loads(database):
        file = pathlib.Path(entry["directory"], entry["file"])
        target = file.parent.name
        is_unit = file.suffix == ".cpp" and file.parent.parent == build / "generated/units"
        if is_unit and (not targets or target in targets):
            units.setdefault((target, options(entry["command"])), []).append(file)
    return {key: files for key, files in units.items() if len(files) > 1}


def compile_whole(build, command, files):
    """Returns the lines of the compiler's errors."""
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder, "whole.cpp")
        whole.write_text("".join(file.read_text() for file in files))
        run = subprocess.run([*command, "-fsyntax-only", whole], cwd=build, env=os.environ | {"LC_ALL": "C"},
                             stderr=subprocess.PIPE, text=True)
    lines = run.stderr.splitlines()
    return [line for line in lines if "error:" in line] or lines[-1:] or ["no message"] if run.returncode else []


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    checks = groups(build, sys.argv[2:])
    seen, failed = set(), 0
    for (target, command), files in checks.items():
        errors = compile_whole(build, command, files)
        failed += bool(errors)
        for line in errors:
            if line not in seen:
                print(f"FAIL {target}: {line}", flush=True)
            seen.add(line)
    if not checks:
        print("FAIL no target with several units in", build)
        failed = 1
    print(f"{len(checks) - failed if checks else 0} passed, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
