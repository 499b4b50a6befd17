#!/usr/bin/env python3
"""Counts the instructions of small models on aarch64 under qemu-user and compares them with those that are committed:
arm64_counts.py BUILD --data FOLDER [--update]. BUILD holds Tern's command for aarch64 (tests/scripts/arm64.sh). An
increase of more than 3 percent fails, since counts do not depend on the machine; with another compiler 20 percent.
Standard library alone."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from arm64.counting import RUN, Machine  # noqa: E402
from peers.processes import Failed, TurnProcess  # noqa: E402

BASELINE = ROOT / "tests/data/arm64_instructions.json"
SLACK, SLACK_OF_ANOTHER_COMPILER = 0.03, 0.20
PROCESSORS = ("neoverse-v2", "cortex-a76")
# Options of tern export, beside the program.
PROGRAMS = {
    "digits": ("examples/digits/digits.pt2",),
    "digits, int8": ("examples/digits/digits.pt2", "--quantize", "int8"),
    "mobilenetv3": ("{data}/models/timm-mobilenetv3.pt2",),
    "qwen2": ("{data}/models/hf-qwen2.pt2",),
    "qwen2, int8": ("{data}/models/hf-qwen2.pt2", "--quantize", "int8"),
}


def compiler():
    return subprocess.run(["aarch64-linux-gnu-g++", "-dumpfullversion"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def count(machine, archive, work):
    """Instructions of one run after warm-up."""
    counts = work / "counts"
    command = [*machine.command(machine.tern, counts), "bench", str(archive), "--random", "--threads", "1", "--turns"]
    process = TurnProcess(command, work / "log", machine.environment([]))
    try:
        for _ in range(RUN + 1):
            process.run_ms()
        process.process.wait(600)
    finally:
        process.close()
    return int(counts.read_text().splitlines()[0].split()[-1])


def compare(figures, baseline, slack):
    """A line for each figure that has grown, or that is not in the baseline."""
    lines = []
    for name, now in figures.items():
        before = baseline.get(name)
        if before is None:
            lines.append(f"{name}: {now} instructions; the baseline has none (--update writes it)")
        elif now > before * (1 + slack):
            lines.append(f"{name}: {now} instructions, {100 * (now / before - 1):.1f} % more than {before}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "build/test-data")
    parser.add_argument("--update", action="store_true", help="write the baseline anew")
    a = parser.parse_args()
    folder = a.build.resolve() / "counting"
    subprocess.run([ROOT / "bench/arm64/setup.sh", folder, "plugin"], check=True)
    figures = {}
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for processor in PROCESSORS:
            machine = Machine(processor, folder, a.build.resolve() / "tern", None)
            for name, (program, *options) in PROGRAMS.items():
                archive = work / "model.tern"
                program = str(ROOT / program.format(data=a.data.resolve()))
                subprocess.run([*machine.command(machine.tern), "export", program, *options, "-o", str(archive)], check=True,
                               stdout=subprocess.DEVNULL)
                figures[f"{name} on {processor}"] = count(machine, archive, work)
                archive.unlink()
    stored = json.loads(BASELINE.read_text()) if BASELINE.exists() else {"compiler": "", "instructions": {}}
    if a.update:
        BASELINE.write_text(json.dumps({"compiler": compiler(), "instructions": figures}, indent=1) + "\n")
        stored = json.loads(BASELINE.read_text())
    slack = SLACK if stored["compiler"] == compiler() else SLACK_OF_ANOTHER_COMPILER
    lines = compare(figures, stored["instructions"], slack)
    for line in lines:
        print("FAIL", line)
    for name, now in figures.items():
        before = stored["instructions"].get(name)
        if before and now < before * (1 - slack):
            print(f"{name}: {100 * (1 - now / before):.1f} % fewer instructions: --update keeps the gain")
    print(f"{len(figures) - len(lines)} passed, {len(lines)} failed")
    sys.exit(bool(lines))


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        print("FAIL", error)
        print("0 passed, 1 failed")
        sys.exit(1)
