#!/usr/bin/env python3
"""Counts the steps of optimizers that export recognises in PyTorch's own programs (tests/data/optimizers/make.py).

  recognised.py --tern TERN FOLDER      ends with `N passed, N failed`

A program of FOLDER is NAME_OPTIONS_FORM.pt2: the optimizer, its options, and how PyTorch wrote it (fused, foreach, loop).
"""
import argparse
import json
import pathlib
import sys
import tempfile

import checks

# Stay spelled out: a step reads its rate and the averaging weight from states, but the op computes them from the step
# count (asgd), or loses digits in float32 that the op keeps (radam).
NOT_RECOGNISED = {"asgd", "radam"}
OTHERS = {"adadelta", "adagrad", "adam", "adamax", "adamw", "nadam", "rmsprop", "rprop", "sgd"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        c = checks.Checks(arguments.tern, pathlib.Path(folder))
        seen = set()
        for program in sorted(arguments.folder.glob("*.pt2")):
            name = program.stem.split("_")[0]
            seen.add(name)
            done = c.run("inspect", program, "--json")
            steps = json.loads(done.stdout)["ops"].get("optim", 0) if done.returncode == 0 else done.stderr
            # A single op for all three parameters, with equal options.
            c.check(f"steps of {program.stem}", steps == (name not in NOT_RECOGNISED), f"{steps} ops")
        c.check("every optimizer has programs", seen == OTHERS | NOT_RECOGNISED, seen)
    print(f"{c.passed} passed, {c.failed} failed")
    sys.exit(c.failed > 0)


if __name__ == "__main__":
    main()
