"""Counts the instructions that one run of a model executes on aarch64, for Tern and for other runtimes, under qemu-user.

A model is the name of a case of `./dev bench zoo` (operator.linear_197x384x1536.b1.full.float32). What is counted is
stored and not counted again, unless Tern's command has changed."""
import argparse
import pathlib
import platform
import subprocess
import sys

from peers.processes import Failed, call
from peers.runtimes import RUNTIMES

from . import counting, report, script  # noqa: F401
from .models import MODELS, QUICK
from .processors import PROCESSORS

ROOT = pathlib.Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
PEERS = ["ort", "ov", "script"]


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench arm64", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"names of cases; all: {len(MODELS)} models "
                        f"(default: {', '.join(QUICK)})")
    parser.add_argument("--runtimes", default=",".join(["tern"] + PEERS), help="%(default)s")
    parser.add_argument("--cpu", choices=PROCESSORS, default="neoverse-v2", help="processor to emulate (%(default)s)")
    parser.add_argument("--again", action="store_true", help="repeat counts that failed")
    parser.add_argument("--loops", type=int, default=5, metavar="N", help="hottest loops that are shown (%(default)s)")
    parser.add_argument("--report", action="store_true", help="print what is stored and count nothing")
    parser.add_argument("--on-device", action="store_true", help="measure times on this processor, which is an aarch64 one")
    parser.add_argument("--turns", type=int, default=15, help="timed runs of --on-device (%(default)s)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build-bench/arm64", help="models and counts")
    parser.add_argument("--tern", type=pathlib.Path, default=ROOT / "build-arm64/tern", help="Tern's command for aarch64")
    parser.add_argument("--exporter", default=str(ROOT / "build-bench/tern"), help="Tern's command for this machine")
    a = parser.parse_args()
    a.models = list(MODELS) if a.models == ["all"] else a.models or list(QUICK)
    a.runtimes = a.runtimes.split(",")
    unknown = set(a.runtimes) - {"tern", *PEERS}
    if unknown:
        parser.error(f"no runtime {', '.join(sorted(unknown))}; there are tern, {', '.join(PEERS)}")
    if a.on_device and platform.machine() != "aarch64":
        parser.error(f"--on-device needs a processor of aarch64; this one is {platform.machine()}")
    return a


def prepare(name, a):
    """Makes the files of a model."""
    folder = a.out / "models" / name
    folder.mkdir(parents=True, exist_ok=True)
    peers = [r for r in a.runtimes if r != "tern" and not (folder / RUNTIMES[r].file).exists()]
    if not (folder / "data.safetensors").exists() or (peers and not (folder / "prepared").exists()):
        call([sys.executable, "-W", "ignore", "-m", "arm64.prepare", name, str(folder), "--runtimes", ",".join(peers),
              "--threads", "1"], folder / "prepare.log", None)
        (folder / "prepared").touch()
    if "tern" in a.runtimes and not (folder / "model.tern").exists():
        call([a.exporter, "export", str(folder / "model.pt2"), "-o", str(folder / "model.tern")], folder / "export.log", None)
    return folder


def main():
    a = arguments()
    a.out = a.out.resolve()
    machine = counting.Machine(None if a.on_device else a.cpu, a.out, a.tern.resolve(), sys.executable)
    kind = "on-device" if a.on_device else a.cpu
    store = counting.Store(a.out / "counts" / kind, machine.tern)
    models = {}
    for name in a.models:
        models[name] = {}
        folder = a.out / "models" / name
        try:
            if not a.report:
                folder = prepare(name, a)
        except (Failed, subprocess.CalledProcessError) as error:
            print(f"{name}: {error}", file=sys.stderr)
        for runtime in a.runtimes:
            found = store.find(name, runtime)
            if not a.report and (not found or ("failure" in found and a.again)):
                file = folder / RUNTIMES[runtime].file
                work = a.out / "work" / kind / name
                print(f"{name}: {counting.title(runtime)} ...", file=sys.stderr, flush=True)
                if not file.exists():
                    found = {"failure": f"cannot convert the model ({folder.name}/prepare.log)"}
                elif a.on_device:
                    found = counting.time_ms(machine, runtime, folder, BENCH, work, a.turns)
                else:
                    found = counting.count(machine, runtime, folder, BENCH, work)
                store.put(name, runtime, found)
            if found:
                models[name][runtime] = found
    key, unit = ("ms", "milliseconds") if a.on_device else ("instructions", "millions of instructions")
    print(report.comparison(models, a.runtimes, key, unit))
    if not a.on_device:
        print(report.classes(models))
        for name, figures in models.items():
            for runtime, f in figures.items():
                best = report.best_peer(figures, "instructions")
                if "loops" in f and runtime in ("tern", best and best[0]):
                    print(f"{name}, {counting.title(runtime)}:\n\n{report.hottest(f, a.loops)}")
    print(report.failures(models), end="")


if __name__ == "__main__":
    main()
