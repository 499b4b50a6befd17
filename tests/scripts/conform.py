#!/usr/bin/env python3
"""Runs `tern conform` over folders of cases and holds the result against the list of cases that are known not to pass yet.

  conform.py --tern TERN --known LIST [--update] [--reports FOLDER] [--device D] [--every N] [--graph]
             [--may-pass] [--refused TEXT] [--target TARGET] [--same-bits D,D...] [--save-bits FILE] [--check-bits FILE]
             [--no-texts] [--direct] PATH...

A case outside the list that fails, has failed. A case on the list that passes has failed too, until it leaves the list; so has a name on the
list below a given PATH that no case has. Names are FOLDER/CASE, with the last folder of PATH in front: conformance/add/f32_0.
--reports keeps what `tern conform --json` printed for each PATH as FOLDER/NAME.json.
--target compiles the kernels of a target into each archive, --graph captures each call, as `tern conform` has them.
--same-bits, --save-bits, --check-bits: in reproducible mode, as `tern conform` has them; the last two with one PATH.
--no-texts, --direct: as `tern conform` has them: without origins, names and annotations; without a new archive.
--may-pass: a case on the list that passes is no failure, but told; nor is a name that no case has.
--refused: cases whose error contains the text are counted and no failures: what a device does not have. One of ten has to
pass.
--update writes what fails below the given PATHs into the list, and keeps its other lines.
"""
import argparse
import json
import pathlib
import subprocess
import sys


def known_failures(path):
    if not path.exists():
        return set()
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return {line for line in lines if line}


def run(arguments, paths, keep=None):
    """The cases as {name: error or None}; the exit status says nothing more."""
    command = [arguments.tern, "conform", "--json", "--device", arguments.device, "--every", str(arguments.every)]
    bits = {"--same-bits": arguments.same_bits, "--save-bits": arguments.save_bits, "--check-bits": arguments.check_bits}
    given = [part for option, value in bits.items() if value for part in (option, value)]
    command += (["--reproducible"] if given else []) + given
    command += ["--graph"] if arguments.graph else []
    command += ["--no-texts"] if arguments.no_texts else []
    command += ["--direct"] if arguments.direct else []
    command += (["--target", arguments.target] if arguments.target else []) + list(map(str, paths))
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode < 0:
        sys.exit(f"FAIL {' '.join(command)} died of signal {-result.returncode}")
    try:
        report = json.loads(result.stdout)
    except json.JSONDecodeError as error:
        sys.exit(f"FAIL {' '.join(command)} printed no JSON: {error}\n{result.stdout[-2000:]}")
    if keep:
        keep.parent.mkdir(parents=True, exist_ok=True)
        keep.write_text(result.stdout)
    return {case["name"]: None if case["passed"] else f"{case['stage']}: {case['message']}" for case in report["cases"]}


def update(arguments, paths):
    known = arguments.known
    lines = known.read_text().splitlines() if known.exists() else []
    for path in paths:
        prefix = path.name + "/"
        failures = sorted(prefix + name for name, error in run(arguments, [path]).items() if error)
        kept = {line.split("#")[0].strip(): line for line in lines if line.startswith(prefix)}
        lines = [line for line in lines if not line.startswith(prefix)]
        lines += [kept.get(name, name) for name in failures]
    known.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tern", required=True)
    parser.add_argument("--known", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--reports", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--may-pass", action="store_true")
    parser.add_argument("--refused")
    parser.add_argument("--target")
    parser.add_argument("--same-bits")
    parser.add_argument("--save-bits")
    parser.add_argument("--check-bits")
    parser.add_argument("--no-texts", action="store_true")
    parser.add_argument("--direct", action="store_true")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()

    if arguments.update:
        return update(arguments, arguments.paths)
    listed = known_failures(arguments.known)
    passed = failed = expected = refused = 0
    for path in arguments.paths:
        prefix = path.name + "/"
        keep = arguments.reports and arguments.reports / f"{path.name}.json"
        cases = {prefix + name: error for name, error in run(arguments, [path], keep).items()}
        if not cases:
            failed += 1
            print(f"FAIL {path}: no cases")
        for name, error in sorted(cases.items()):
            if arguments.refused and error and arguments.refused in error:
                refused += 1
                continue
            if (error is None) != (name in listed):
                passed += error is None
                expected += error is not None
                continue
            if error is None and arguments.may_pass:
                passed += 1
                print(f"{name}: listed as a known failure, but passes: take it off the list")
                continue
            failed += 1
            print(f"FAIL {name}: {error[:300] if error else 'listed as a known failure, but passes: take it off the list'}")
        for name in sorted(listed) if arguments.every == 1 and not arguments.may_pass else ():
            if name.startswith(prefix) and name not in cases:
                failed += 1
                print(f"FAIL {name}: listed as a known failure, but there is no such case")
    if refused:
        print(f"{refused} refused: {arguments.refused}")
    if refused > 9 * passed:
        failed += 1
        print("FAIL nearly all cases are refused")
    if expected:
        print(f"{expected} known failures, as listed in {arguments.known}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
