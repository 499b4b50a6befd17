"""The speed of models on a GPU for gpu_check.py: Tern and PyTorch in turns.

A run copies the inputs to the device and the results back, and ends when they are there, in all of them.
"""
import concurrent.futures
import functools
import json
import os
import pathlib
import select
import statistics
import subprocess
import sys
import time

from gpu_check_step import COUNTS, Step, call, end_group

# The names of gpu_check_models.py, which needs PyTorch.
NAMES = ("resnet50", "mobilenet_v3_large", "efficientnet_b0", "vit_b_16", "minilm", "gpt2", "llama_prefill", "llama_decode")

# Models from the test data, if PyTorch cannot make those of gpu_check_models.py.
SMALL = ("hf-bert-generation", "hf-qwen2", "hf-qwen3_moe", "hf-falcon_mamba", "hf-mbart", "hf-beit", "timm-mobilenetv3",
         "timm-nfnet")
TURNS, RUNS = 3, 50
TOGETHER = 4  # models compiled by PyTorch at the same time
MAKING, COMPILING = 0.3, 0.7  # shares of the time: for files; of a model's, for starting its processes
NO_TIME = "no time left"
# Options of tern bench; modes of gpu_check_torch.py.
TERN = {"Tern": [], "Tern, graph": ["--graph"]}
TORCH = {"torch eager": "eager", "torch, CUDA graph": "graph", "torch.compile, reduce-overhead": "reduce-overhead"}


class NoAnswer(Exception):
    """Says why there are no milliseconds."""


class TorchProcess:
    """A process that says when it has compiled, and then answers each line with the milliseconds of a run."""

    def __init__(self, mode, model, log):
        script = pathlib.Path(__file__).with_name("gpu_check_torch.py")
        self.log = log
        with open(log, "w") as errors:
            self.process = subprocess.Popen([sys.executable, str(script), mode, str(model), str(RUNS)], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, start_new_session=True)

    def answer(self, limit):
        """The next line."""
        if not select.select([self.process.stdout], [], [], max(1, limit))[0]:
            raise NoAnswer("took too long")
        line = self.process.stdout.readline().strip()
        if not line:
            raise NoAnswer(self.why())
        return line

    def turn(self, limit):
        try:
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise NoAnswer(self.why()) from error
        return float(self.answer(limit))

    def why(self):
        lines = pathlib.Path(self.log).read_text(errors="replace").strip().splitlines()
        return lines[-1][:120] if lines else "ended without a word"

    def close(self):
        end_group(self.process)


def no_torch():
    """Why PyTorch cannot take part, or nothing."""
    done = call([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"], 120)
    if done.wrong:
        return "PyTorch is not installed"
    return "" if done.output.split()[-1:] == ["True"] else "the installed PyTorch sees no GPU"


def tern_turn(tern, device, model, options, limit):
    command = [tern, "bench", str(model), "-i", str(model.with_suffix(".safetensors")), "--device", device.name, "--runs",
               str(RUNS), "--nodes", "0", "--json", *options]
    done = call(command, limit)
    if done.wrong:
        raise NoAnswer(f"{done.wrong}: {' '.join(done.output.split())[:120]}")
    return json.loads(done.output[done.output.index("{"):])["latency_ms"]["p50"]


def start_torch(model, folder):
    """Its processes, by column."""
    return {name: TorchProcess(mode, model, folder / f"{model.stem}-{mode}.log") for name, mode in TORCH.items()}


def take_turns(tern, device, model, processes, wrong, limit):
    """{column: milliseconds or why not}: the median over the turns."""
    end, times = time.monotonic() + limit, {}
    for turn in range(TURNS):
        names = [*TERN, *processes]
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            left = end - time.monotonic()
            if name in wrong or left <= 0:
                continue
            try:
                turn_of = processes[name].turn if name in processes else functools.partial(
                    tern_turn, tern, device, model, TERN[name])
                times.setdefault(name, []).append(turn_of(left))
            except NoAnswer as error:
                wrong[name] = str(error)
    return {name: wrong.get(name) or (statistics.median(times[name]) if times.get(name) else NO_TIME)
            for name in (*TERN, *processes)}


def some_models(tern, device, models, torch, folder, limit):
    """{model: {column: milliseconds or why not}}. PyTorch compiles for all of them at the same time, and nobody is measured
    meanwhile."""
    end = time.monotonic() + limit
    processes = {model: start_torch(model, folder) if torch else {} for model in models}
    wrong, answers = {model: {} for model in models}, {}
    try:
        for model in models:
            for name, process in processes[model].items():
                try:
                    process.answer(end - limit * (1 - COMPILING) - time.monotonic())
                except NoAnswer as error:
                    wrong[model][name] = str(error)
        for at, model in enumerate(models):
            answers[model] = take_turns(tern, device, model, processes[model], wrong[model],
                                        (end - time.monotonic()) / (len(models) - at))
    finally:
        for process in (p for group in processes.values() for p in group.values()):
            process.close()
    return answers


def made(folder, names, limit):
    """Models of gpu_check_models.py; and why some are missing."""
    script = pathlib.Path(__file__).with_name("gpu_check_models.py")
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 4)) as pool:
        done = dict(zip(names, pool.map(lambda name: call([sys.executable, str(script), str(folder), name], limit), names)))
    why = [f"- {name} was not made: {(d.output.strip().splitlines() or [d.wrong])[-1][:120]}." for name, d in done.items() if d.wrong]
    return [file for name in names for file in (folder / f"{name}.pt2", folder / f"{name}-bf16.pt2") if file.exists()], why


def check_results(tern, device, models, step, limit):
    """Beside PyTorch's in float64. It compiles kernels, too, which are kept for the runs that are measured."""
    done = call([tern, "conform", "--no-table", "--device", device.name, *map(str, models)], limit)
    count = next((m for m in map(COUNTS.match, reversed(done.output.splitlines())) if m), None)
    step.passed += int(count[1]) if count else 0
    step.failed += int(count[2]) if count else 1
    step.failures += [line for line in done.output.splitlines() if line.startswith("FAIL")] or ([done.wrong] if done.wrong else [])


def measure(tern, device, models, folder, limit, names=NAMES):
    step, end = Step("speed"), time.monotonic() + limit
    why = no_torch()
    found, step.notes = ([], []) if why else made(folder, names, limit * MAKING)
    if found:
        check_results(tern, device, found, step, limit * MAKING)
    found = found or [models / f"{name}.pt2" for name in SMALL if (models / f"{name}.pt2").exists()]
    if not found:
        return Step("speed", skipped="there are no models")
    columns = [*TERN, *TORCH]
    step.table = ["| model, ms | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for at in range(0, len(found), TOGETHER):
        some = found[at:at + TOGETHER]
        share = (end - time.monotonic()) * len(some) / (len(found) - at)
        for model, answers in some_models(tern, device, some, not why, folder, share).items():
            shown = [answers.get(name, "not measured") for name in columns]
            step.table.append(f"| {model.stem} | " + " | ".join(f"{x:.3f}" if isinstance(x, float) else "-" for x in shown) + " |")
            for name, answer in answers.items():
                if isinstance(answer, float):
                    step.passed += name in TERN
                elif name in TERN and answer != NO_TIME:
                    step.failed += 1
                    step.failures.append(f"{model.stem}, {name}: {answer}")
                else:  # PyTorch's own limits are no failure of Tern
                    step.notes.append(f"- {model.stem}, {name}: {answer}.")
    step.notes.append(f"Median of {TURNS} turns of {RUNS} runs each, from inputs on the host to results on the host."
                      + (f" PyTorch: not measured ({why})." if why else ""))
    return step
