"""Times the text loop of a decoder of 0.5 B parameters by Tern (examples/generate), llama.cpp and transformers, with the same
random weights, in turns: the first token of a prompt, tokens a second after it, and memory; then of 4 and of 8 such prompts at
once, tokens a second in all. A turn is a process that loads, reads the prompt and makes the answer, twice: "first token" is that
of the first time, "again" that of the second, and so are tokens a second. A turn that does not count goes before: it brings the
files into memory, and Tern keeps packed weights in it (docs/api.md). Tern's first token includes reading and checking the mapped
weights, llama.cpp's reading them; transformers has copied them before the clock starts."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

from peers import turns
from peers.arguments import names

from .runtimes import RUNTIMES, TEXTS, Commands

ROOT = pathlib.Path(__file__).resolve().parents[2]


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench generate", description=__doc__)
    parser.add_argument("--runtimes", type=names(RUNTIMES), default=list(RUNTIMES), help=", ".join(RUNTIMES))
    parser.add_argument("--reps", type=int, default=5, help="turns of each runtime (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of each runtime (%(default)s)")
    parser.add_argument("--prompt", type=int, default=128, help="tokens (%(default)s)")
    parser.add_argument("--answer", type=int, default=64, help="tokens (%(default)s)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build-bench/generate",
                        help="15 GB of models, and generate.json; what is there is not made again")
    parser.add_argument("--tern", default=str(ROOT / "build-bench/tern"), help="the command that converts")
    parser.add_argument("--generate-text", default=str(ROOT / "build-bench/generate_text"), help="the program to measure")
    parser.add_argument("--llama-bench", default=str(ROOT / "build-bench/llama/bin/llama-bench"), help="that of llama.cpp")
    parser.add_argument("--llama-batched-bench", default=str(ROOT / "build-bench/llama/bin/llama-batched-bench"),
                        help="that of llama.cpp for several texts; without it those figures lack")
    return parser.parse_args()


def turn(command, environment):
    """What it prints, its peak memory in bytes, in which mapped weights count, and its processor time."""
    code = ("import json, resource, subprocess, sys; p = subprocess.run(sys.argv[1:], capture_output=True, text=True); "
            "r = resource.getrusage(resource.RUSAGE_CHILDREN); "
            "print(json.dumps([p.returncode, p.stdout, p.stderr, r.ru_maxrss, r.ru_utime + r.ru_stime]))")
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, env=environment,
                          check=True)
    status, out, err, kilobytes, seconds = json.loads(done.stdout)
    if status:
        raise RuntimeError((err.strip().splitlines() or ["it ended badly"])[-1][:200])
    return out, err, kilobytes * 1024, seconds


def measured(commands, environment):
    """Figures of one turn, and of those of several texts."""
    out, err, memory, seconds = turn(commands.turn(), environment)
    figures = commands.figures(out, err) | {"mb": memory / 1e6, "cpu_s": seconds}
    for texts in TEXTS:
        for command in commands.turns_of(texts):
            try:
                figures[f"per_s_{texts}"] = commands.tokens_a_second(*turn(command, environment)[:2])
                break
            except RuntimeError as error:
                print(f"{commands.name}, {texts} texts: {error}", file=sys.stderr)
    return figures


def table(results):
    several = " | ".join(f"{n} texts" for n in TEXTS)
    lines = [f"| precision | | first token, ms | again, ms | tokens/s | {several} | peak memory, MB | processor time, s |",
             "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    for name, figures in results.items():
        r = {key: statistics.median(f[key] for f in figures if key in f) for key in figures[0]}
        several = " | ".join(f"{r[key]:.1f}" if (key := f"per_s_{n}") in r else "" for n in TEXTS)
        lines.append(f"| {RUNTIMES[name].precision} | {RUNTIMES[name].title} | {r['first_ms']:.0f} | {r['again_ms']:.0f} | "
                     f"{r['per_s']:.1f} | {several} | {r['mb']:.0f} | {r['cpu_s']:.1f} |")
    return "\n".join(lines)


def main():
    a = arguments()
    a.out.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"OMP_NUM_THREADS": str(a.threads), "HF_HUB_OFFLINE": "1"}
    if not (a.out / "torch").exists():
        subprocess.run([sys.executable, "-m", "generate.prepare", str(a.out)], check=True, env=environment)
    all_commands = {n: Commands(n, a.out, a.tern, a.generate_text, a.llama_bench,
                                a.llama_batched_bench, a.threads, a.prompt, a.answer)
                    for n in a.runtimes}
    for name, commands in all_commands.items():
        for file, command in commands.conversions().items():
            if not file.exists():
                print(f"{name}: convert", file=sys.stderr)
                subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    results, failures = {}, {}
    for rep in range(a.reps + 1):
        for name in turns.order([n for n in all_commands if n not in failures], rep):
            try:
                figures = measured(all_commands[name], environment)
                if rep:
                    results.setdefault(name, []).append(figures)
            except RuntimeError as error:
                failures[name] = str(error)
        print(f"turn {rep} of {a.reps}" if rep else "warmed up", file=sys.stderr)
    results = {n: results[n] for n in all_commands if results.get(n) and n not in failures}
    (a.out / "generate.json").write_text(json.dumps({"results": results, "failures": failures}, indent=1) + "\n")
    print(table(results))
    for name, why in failures.items():
        print(f"\n{RUNTIMES[name].title} in {RUNTIMES[name].precision} failed: {why}")


if __name__ == "__main__":
    main()
