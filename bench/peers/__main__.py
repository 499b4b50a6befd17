"""Times Tern and the runtimes that people would pick instead on this machine's processor, in turns."""
import argparse
import json
import pathlib
import sys

from . import machine, measure, report
from .arguments import names
from .models import MODELS, USUAL
from .processes import Failed
from .runtimes import RUNTIMES

ROOT = pathlib.Path(__file__).resolve().parents[2]


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench peers", description=__doc__)
    parser.add_argument("--models", type=names(MODELS), default=USUAL,
                        help=f"{', '.join(MODELS)} (those of one image, or of 128 tokens or fewer)")
    parser.add_argument("--runtimes", type=names(RUNTIMES), default=list(RUNTIMES), help=", ".join(RUNTIMES))
    parser.add_argument("--reps", type=int, default=15, help="turns of each runtime (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of each runtime (%(default)s)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build-bench/peers",
                        help="models, converted files, logs, peers.json and peers.md; what is there is not made again")
    parser.add_argument("--tern", default=str(ROOT / "build-bench/tern"), help="the command to measure")
    parser.add_argument("--docs", action="store_true", help="write the section of docs/performance.md anew")
    a = parser.parse_args()
    if a.reps < 1 or a.threads < 1:
        parser.error("--reps and --threads count from 1")
    return a


def write(figures, a):
    section = report.markdown(figures)
    (a.out / "peers.json").write_text(json.dumps(figures, indent=1) + "\n")
    (a.out / "peers.md").write_text(section)
    return section


def main():
    a = arguments()
    a.out = a.out.resolve()
    a.out.mkdir(parents=True, exist_ok=True)
    figures = {"machine": machine.describe(), "versions": machine.versions(a.tern, a.runtimes), "threads": a.threads,
               "turns": a.reps, "loads": measure.LOADS, "titles": {name: r.title for name, r in RUNTIMES.items()}, "models": {}}
    for name in a.models:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            figures["models"][name] = measure.Measurement(name, a.runtimes, a.out, a.threads, a.tern).all(a.reps)
        except Failed as error:
            print(f"  {error}", file=sys.stderr)
            continue
        write(figures, a)
    if not figures["models"]:
        sys.exit("no model could be made")
    section = write(figures, a)
    print(section)
    if a.docs:
        document = ROOT / "docs/performance.md"
        document.write_text(report.put_between_markers(document.read_text(), section))


if __name__ == "__main__":
    main()
