"""The speed of models on a GPU for gpu_check.py: Tern and PyTorch in turns.

A run copies the inputs to the device and the results back, and ends when they are there, in all of them.
"""
import functools
import json
import pathlib
import select
import statistics
import subprocess
import sys
import time

from gpu_check_step import Step, call, end_group

MODELS = ("hf-bert-generation", "hf-qwen2", "hf-qwen3_moe", "hf-falcon_mamba", "hf-mbart", "hf-beit", "timm-mobilenetv3",
          "timm-nfnet")
TURNS, RUNS = 3, 50
COMPILING = 0.7  # of the time of a model
NO_TIME = "no time left"
# Of tern bench; of the modes of gpu_check_torch.py.
TERN = {"Tern": [], "Tern, graph": ["--graph"]}
TORCH = {"torch eager": "eager", "torch.compile": "default", "torch.compile, reduce-overhead": "reduce-overhead"}


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


def one_model(tern, device, model, torch, folder, limit):
    """{column: milliseconds or why not}: the median over the turns."""
    end = time.monotonic() + limit
    processes = {name: TorchProcess(mode, model, folder / f"{mode}.log") for name, mode in TORCH.items()} if torch else {}
    times, wrong = {}, {}
    try:
        # They compile at the same time, and nobody is measured meanwhile. What is left is for the turns.
        for name, process in processes.items():
            try:
                process.answer((end - time.monotonic()) * COMPILING)
            except NoAnswer as error:
                wrong[name] = str(error)
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
    finally:
        for process in processes.values():
            process.close()
    return {name: wrong.get(name) or (statistics.median(times[name]) if times.get(name) else NO_TIME)
            for name in (*TERN, *processes)}


def measure(tern, device, models, folder, limit):
    step = Step("speed")
    why = no_torch()
    found = [models / f"{name}.pt2" for name in MODELS if (models / f"{name}.pt2").exists()]
    if not found:
        return Step("speed", skipped="there are no models")
    columns = [*TERN, *TORCH]
    step.table = ["| model, ms | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    end = time.monotonic() + limit
    for at, model in enumerate(found):
        answers = one_model(tern, device, model, not why, folder, (end - time.monotonic()) / (len(found) - at))
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
