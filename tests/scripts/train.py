#!/usr/bin/env python3
"""Training from the command line: losses as PyTorch has them, runs that are killed and resumed, messages.

  train.py --tern TERN [--full] [--only WORD] [--device NAME]      ends with `N passed, N failed`

The programs and PyTorch's losses are those of tests/data/train/make.py. --full kills runs ten times as often.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

import train_adapters
import train_interrupted
import training_checks
from training_checks import (CLOSE, CLOSE_OF_MODEL, CNN, DATA, difference, FLAGS, IMAGES, newest_step, result_of, ROOT,
                             states_of, TrainingChecks)


def losses_are_those_of_pytorch(c):
    cases = [c for name in ("losses", "further", "tied", "eight_bits") for c in json.loads((DATA / f"{name}.json").read_text())["cases"]]
    for case in cases:
        options = ["--loss", "cross_entropy", "--optimizer", case["optimizer"], "--lr", case["lr"]]
        for name, value in case["settings"].items():
            options += [f"--{name.replace('_', '-')}"] + ([] if name in FLAGS else [value])
        if case["clip"] is not None:
            options += ["--clip-norm", case["clip"]]
        tokens = case["model"] in ("encoder", "tied")
        if tokens:
            options += ["--class-axis", -1]
        model = c.export(DATA / f"{case['model']}.pt2", *options)
        done = c.train(model, "--no-shuffle", "--epochs", 100, "--steps", len(case["losses"]), "--json",
                       data=DATA / "encoder_data.safetensors" if tokens else IMAGES)
        name = f"losses of {case['model']} with {case['optimizer']} {case['settings']}"
        if done.returncode != 0:
            c.check(name, False, done.stderr)
            continue
        losses = json.loads(done.stdout)["losses"]
        error = max(abs(mine - its) / abs(its) for mine, its in zip(losses, case["losses"]))
        c.check(name, len(losses) == len(case["losses"]) and error < CLOSE_OF_MODEL.get(case["model"], CLOSE), f"{len(losses)} losses, {error:.3g}")


def groups_are_those_of_pytorch(c):
    """Parameter groups: rates, decays, betas, optimizers, frozen ones, schedules; float64 to 1e-9, Muon in bfloat16 within
    three times the spread of PyTorch's own runs. A resumed run and rates of a run keep their bits."""
    for case in json.loads((DATA / "groups.json").read_text())["cases"]:
        tokens = case["model"] == "encoder"
        data = DATA / "encoder_data.safetensors" if tokens else IMAGES
        model = c.export(DATA / f"{case['model']}.pt2", "--loss", "cross_entropy", *(["--class-axis", -1] if tokens else []),
                         *case["export"])
        options = ["--no-shuffle", "--epochs", 100, "--steps", len(case["losses"]), *case["train"]]
        done = c.train(model, *options, "--json", data=data)
        if done.returncode != 0:
            c.check(case["name"], False, done.stderr)
            continue
        losses = json.loads(done.stdout)["losses"]
        error = max(abs(mine - its) / abs(its) for mine, its in zip(losses, case["losses"], strict=True))
        c.check(f"losses of groups: {case['name']}", error < 3 * case.get("spread", CLOSE / 3), error)
        expected = (c.folder / "out.tern").read_bytes()
        checkpoints = c.folder / "group_checkpoints"
        c.train(model, *options, "--checkpoint", checkpoints, "--every", 37, data=data)
        for path in sorted(checkpoints.glob("checkpoint-*"))[1:]:
            path.unlink()
        done = c.train(model, *options, "--checkpoint", checkpoints, "--every", 37, "--resume", data=data)
        c.check(f"resumed with groups: {case['name']}", done.returncode == 0 and
                (c.folder / "out.tern").read_bytes() == expected, done.stderr)
        shutil.rmtree(checkpoints)
    groups = ["--params", "*.bias: weight-decay=0", "--params", "fc2: lr=0.5x"]
    model = c.export(DATA / "mlp.pt2", "--loss", "cross_entropy", "--lr", 1e-2, *groups)
    shown = c.run("inspect", model).stdout
    c.check("inspect shows groups", "training.group.0: adamw lr=0.01; 1 parameter of 1024 elements: fc1.weight" in shown and
            "adamw lr=0.005 weight-decay=0; 1 parameter of 10 elements: fc2.bias" in shown, shown)
    other = c.export(DATA / "mlp.pt2", "--loss", "cross_entropy", "--lr", 1e-2, "--params", "*.bias: weight-decay=0",
                     "--params", "fc2: lr=0.001", output="other.tern")
    ends = []
    for archive, rate in ((model, ["--lr", "fc2: 0.1x"]), (other, [])):
        done = c.train(archive, "--epochs", 2, "--json", *rate)
        ends.append(json.loads(done.stdout)["losses"] if done.returncode == 0 else done.stderr)
    c.check("--lr of a group", ends[0] == ends[1], ends)
    mlp = ["export", DATA / "mlp.pt2", "--train", "--loss", "cross_entropy", "-o", c.folder / "x.tern"]
    for text, message in (("fc3: lr=1", "no parameter matches; 'tern inspect --weights 1000' lists them; the nearest is 'fc"),
                          ("fc1.wieght: lr=1", "the nearest is 'fc1.weight'"), ("fc1", "it has no ':'"),
                          ("fc1: lr=fast", "lr takes a finite number"), ("fc1: rate=1", "'rate' is no setting"),
                          ("fc1: momentum=1", "momentum has no effect with the optimizer adamw of fc1.weight; use it with sgd"),
                          ("ndim<x: lr=1", "ndim takes a relation"), ("fc1: optimizer=adm", "optimizer takes sgd, adam"),
                          ("fc1: betas=0.9", "betas takes two numbers such as 0.9/0.95"), ("fc1: weight-decay=-1", "weight_decay is -1"),
                          ("*: frozen", "no floating-point parameter to train"), ("|fc1: lr=1", "a pattern is empty")):
        c.ends(f"--params '{text}'", 2, message, *mlp, "--params", text)
    c.ends("--lr of no group", 2, "no parameter group 'fc1' with a rate of its own (its groups: fc2)", *c.train_command(
        model, "--lr", "fc1: 1"))
    c.ends("--schedule of a group with rates of 0", 2, "give it a positive end", *c.train_command(
        model, "--schedule", "step:1:0", "--schedule", "fc2: cosine"))


def precision_is_that_of_pytorch(c):
    """Products in 16 bits: losses as torch.autocast has them, within three times the spread of PyTorch's own runs; the
    scale of the loss after steps that were skipped; float32 masters of 16-bit parameters; a resumed run."""
    for case in json.loads((DATA / "precision.json").read_text())["cases"]:
        tokens = case["model"].startswith("encoder")
        data = DATA / "encoder_data.safetensors" if tokens else IMAGES
        scaled = case["precision"] == "float16"
        options = ["--loss", "cross_entropy", "--lr", case["lr"], "--precision", case["precision"],
                   *(["--class-axis", -1] if tokens else []), *(["--clip-norm", case["clip"]] if case["clip"] else []),
                   *(["--loss-scale", case["first_scale"]] if scaled else [])]
        model = c.export(DATA / f"{case['model']}.pt2", *options)
        run = ["--no-shuffle", "--epochs", 100, "--steps", len(case["losses"])]
        folder = c.folder / "precision"
        done = c.train(model, *run, "--json", "--checkpoint", folder, "--every", 60, data=data)
        name = f"{case['model']} in {case['precision']}"
        if done.returncode != 0:
            c.check(name, False, done.stderr)
            continue
        losses = json.loads(done.stdout)["losses"]
        error = max(abs(mine - its) / abs(its) for mine, its in zip(losses, case["losses"], strict=True))
        c.check(f"losses of {name}", error < 3 * case["spread"], (error, case["spread"], losses))
        expected = (c.folder / "out.tern").read_bytes()
        last = max(folder.glob("checkpoint-*"))
        states = states_of(last)
        if scaled:
            scale = struct.unpack("<f", states["state.optimizer.loss_scale"])[0]
            c.check(f"scale of the loss: {name}", scale == case["scale"], scale)
        if case["model"] == "encoder16":
            c.check("masters are float32", len(states["state.optimizer.master.head.weight"]) == 2 * len(states["state.head.weight"]) and
                    len(states["state.optimizer.exp_avg.head.weight"]) == 2 * len(states["state.head.weight"]))
        last.unlink()
        done = c.train(model, *run, "--checkpoint", folder, "--every", 60, "--resume", data=data)
        c.check(f"resumed: {name}", done.returncode == 0 and (c.folder / "out.tern").read_bytes() == expected, done.stderr)
        shutil.rmtree(folder)
    for options, message in ((["--loss-scale", 2], "--loss-scale needs --train and --precision float16"),
                             (["--precision", "float16", "--loss-scale", 0], "--loss-scale takes a positive number"),
                             (["--precision", "bfloat16", "--optimizer", "adafactor"], None)):
        c.ends(f"precision {options}", 2 if message else 0, message or "trains", "export", DATA / "encoder16.pt2", "--train", "--loss", "cross_entropy",
               "--class-axis", -1, *options, "-o", c.folder / "x.tern")
    c.ends("--precision of float64", 2, "no product, convolution or attention of float32", "export", DATA / "mlp.pt2", "--train",
           "--loss", "cross_entropy", "--precision", "bfloat16", "-o", c.folder / "x.tern")
    model = c.export(DATA / "encoder32.pt2", "--loss", "cross_entropy", "--class-axis", -1, "--precision", "float16",
                     "--accumulate")
    losses = []
    for options in (["--batch", 36], ["--batch", 12, "--accumulate", 3]):
        done = c.train(model, *options, "--epochs", 3, "--json", data=DATA / "encoder_data.safetensors")
        losses.append(json.loads(done.stdout)["losses"] if done.returncode == 0 else [done.stderr])
    c.check("accumulation in float16", len(losses[0]) == len(losses[1]) and
            max(abs(a - b) for a, b in zip(*losses)) < 2e-2, losses)


def steps_are_those_of_pytorch(c):
    """Several losses and optimizers over shared parameters: a GAN, actor and critic; every third step; three batches a
    step, whose last one is smaller; resumed runs."""
    for case in json.loads((DATA / "steps.json").read_text())["cases"]:
        options = [word for rule in case["step"] for word in ("--step", rule)]
        accumulate = case.get("accumulate", 1)
        options += ["--accumulate"] if accumulate > 1 else []
        model = c.export(DATA / f"{case['model']}.pt2", "--lr", case["lr"], *options)
        data, folder = DATA / "steps_data.safetensors", c.folder / "steps"
        run = ["--no-shuffle", "--epochs", 100, "--steps", len(case["losses"][0])]
        run += ["--batch", case["batch"], "--accumulate", accumulate] if accumulate > 1 else []
        done = c.train(model, *run, "--json", data=data)
        if done.returncode != 0:
            c.check(case["name"], False, done.stderr)
            continue
        report = json.loads(done.stdout)
        error = training_checks.error_of_steps(report, case["losses"])
        c.check(f"losses of {case['name']}", error < CLOSE, error)
        expected = (c.folder / "out.tern").read_bytes()
        for more in ([], ["--graph"]):
            c.train(model, *run, "--checkpoint", folder, "--every", 41, *more, data=data)
            for path in sorted(folder.glob("checkpoint-*"))[1:]:
                path.unlink()
            done = c.train(model, *run, "--checkpoint", folder, "--every", 41, "--resume", "--json", *more, data=data)
            c.check(f"resumed {case['name']} {more}", done.returncode == 0 and (c.folder / "out.tern").read_bytes() == expected and
                    json.loads(done.stdout)["further_losses"] == report["further_losses"], done.stderr)
            shutil.rmtree(folder)
    gan = ["export", DATA / "gan.pt2", "--train", "-o", c.folder / "x.tern"]
    d = "d: loss=0, trains=discriminator"
    done = c.run(*gan, "--step", d, "--step", "g: loss=generator_loss, trains=generator, every=2, lr=0.5x")
    c.check("report of steps", done.returncode == 0 and "with 2 steps" in done.stdout and "  g: adamw lr=0.0005; 4 parameters" in
            done.stdout, done.stdout + done.stderr)
    done = c.train(c.folder / "x.tern", "--epochs", 1, "--held-out", 0.25, "--lr", "g: 0.1x", data=DATA / "steps_data.safetensors")
    c.check("a line for each epoch has all losses", done.returncode == 0 and "  g loss 0." in done.stdout, done.stdout + done.stderr)
    shown = c.run("inspect", c.folder / "x.tern").stdout
    c.check("inspect shows steps", "training.steps: d g:2" in shown and "function 'd'" in shown and "function 'train_step'" not in
            shown and "updates state 'optimizer.g.exp_avg.generator.0.weight'" in shown, shown)
    for steps, message in ((["d"], "it has no ':'"), (["d: trains=x"], "it has no loss=RESULT"), (["forward: loss=0"], "no other method"),
                           ([d, d], "two steps have the name 'd'"), ([d + ", every=2"], "the first step, 'd', is taken with each"),
                           ([d, "g: loss=9"], "the program has no such result; it has"), ([d, "g: loss=made"], "but a loss is one float"),
                           ([d, "g: loss=1, trains=genrator"], "leaves no parameter; the nearest is 'generator."),
                           ([d, "g: loss=0, trains=generator"], "--step g: its loss depends on no parameter that it trains"),
                           ([d + ", every=0"], "every takes"), ([d + ", betas=1"], "betas takes two numbers")):
        c.ends(f"--step {steps}", 2, message, *gan, *[word for s in steps for word in ("--step", s)])
    c.ends("--step beside --loss", 2, "leave out --loss", *gan, "--loss", "mse", "--step", d)
    c.ends("a step with the name of an accumulation", 2, "'apply_d' is the method 'apply' of the step 'd'; give this step",
           *gan, "--accumulate", "--step", d, "--step", "apply_d: loss=1, trains=generator")
    c.ends("--accumulate without methods", 2, "no methods accumulate and apply; export it with --train --accumulate",
           *c.train_command(c.folder / "x.tern", "--accumulate", 2, data=DATA / "steps_data.safetensors"))
    done = c.run(*gan, "--accumulate", "--activation-memory", "least", "--step", d, "--step", "g: loss=1, trains=generator")
    c.check("memory of accumulated steps", done.returncode == 0 and "accumulate_d: " in done.stdout and "accumulate_g: " in
            done.stdout, done.stdout + done.stderr)


def largest_error(mine, its):
    return max(abs(a - b) / abs(b) for a, b in zip(mine, its, strict=True))


def practice_is_that_of_pytorch(c):
    """Averaged weights, norms of gradients, class weights, early stopping; a resumed run keeps its best epoch."""
    its = json.loads((DATA / "practice.json").read_text())
    mlp, held = DATA / "mlp.pt2", ["--held-out", IMAGES]
    ema = its["ema"]
    model = c.export(mlp, "--loss", "cross_entropy", "--lr", ema["lr"], "--ema", ema["decay"], "--gradient-norm")
    run = ["--no-shuffle", "--epochs", len(ema["held_out_losses"]), *held]
    done = c.train(model, *run, "--json", "--forward", c.folder / "forward.tern")
    if done.returncode != 0:
        return c.check("averaged weights", False, done.stderr)
    report = json.loads(done.stdout)
    error = largest_error([e["held_out_loss"] for e in report["epochs"]], ema["held_out_losses"])
    c.check("held-out losses of averaged weights", error < CLOSE, error)
    error = largest_error(report["gradient_norms"], ema["gradient_norms"])
    c.check("norms of the gradients", error < CLOSE, error)
    for archive, method in (("forward.tern", "forward"), ("out.tern", "forward_ema")):
        error = first_results(c, archive, method, ema["result"])
        c.check(f"results of averaged weights: {archive}", error < 1e-9, error)
    error = first_results(c, "out.tern", "forward", ema["result"])
    c.check("forward has the weights themselves", error > 1e-3, error)
    steps = c.export(mlp, "--loss", "cross_entropy", "--lr", ema["lr"], "--ema", ema["decay"], "--accumulate", output="sum.tern")
    done = c.train(steps, *run, "--batch", 8, "--accumulate", 4, "--json")
    mine = [e["held_out_loss"] for e in json.loads(done.stdout)["epochs"]] if done.returncode == 0 else [0] * 4
    c.check("averages of accumulated steps", largest_error(mine, ema["held_out_losses"]) < CLOSE, (mine, done.stderr))

    weighted = its["class_weights"]
    model = c.export(mlp, "--loss", "cross_entropy", "--lr", weighted["lr"], "--optimizer", "sgd", "--label-smoothing",
                     weighted["label_smoothing"], "--class-weights", ",".join(map(str, weighted["weights"])))
    done = c.train(model, "--no-shuffle", "--epochs", 100, "--steps", 100, "--json")
    error = largest_error(json.loads(done.stdout)["losses"], weighted["losses"]) if done.returncode == 0 else done.stderr
    c.check("class weights", done.returncode == 0 and error < CLOSE, error)

    patience = its["patience"]
    model = c.export(mlp, "--loss", "cross_entropy", "--lr", patience["lr"])
    run = ["--no-shuffle", "--epochs", 200, *held, "--patience", patience["epochs"], "--metric", "f1", "--metric", "auc"]
    few = ["--array", "target=labels"]
    done = c.train(model, *run, *few, "--json", "--forward", c.folder / "forward.tern", data=DATA / "few.safetensors")
    if done.returncode != 0:
        return c.check("patience", False, done.stderr)
    report = json.loads(done.stdout)
    mine = [e["held_out_loss"] for e in report["epochs"]]
    c.check("patience ends the run", len(mine) == len(patience["held_out_losses"]) and report["best_epoch"] == patience["best_epoch"] and
            largest_error(mine, patience["held_out_losses"]) < CLOSE, (len(mine), report.get("best_epoch")))
    error = first_results(c, "forward.tern", "forward", patience["result"])
    c.check("the archive has the best epoch", error < 1e-9, error)
    c.check("metrics of epochs", 0.8 < report["epochs"][-1]["metrics"]["f1"] < report["epochs"][-1]["metrics"]["auc"] < 1,
            report["epochs"][-1])
    expected, folder = (c.folder / "out.tern").read_bytes(), c.folder / "patience"
    c.train(model, *run, *few, "--checkpoint", folder, "--every", 3, data=DATA / "few.safetensors")
    finished = c.train(model, *run, *few, "--checkpoint", folder, "--every", 3, "--resume", data=DATA / "few.safetensors")
    c.check("a run that patience ended stays ended", finished.returncode == 0 and "states the archive has" in finished.stdout and
            (c.folder / "out.tern").read_bytes() == expected, finished.stdout + finished.stderr)
    for path in sorted(folder.glob("checkpoint-*"))[1:]:
        path.unlink()
    done = c.train(model, *run, *few, "--checkpoint", folder, "--every", 3, "--resume", "--json", data=DATA / "few.safetensors")
    c.check("a resumed run keeps its best epoch", done.returncode == 0 and (c.folder / "out.tern").read_bytes() == expected and
            [e["metrics"] for e in json.loads(done.stdout)["epochs"]] == [e["metrics"] for e in report["epochs"]], done.stderr)
    shutil.rmtree(folder)
    for options, message in ((["--patience", 2], "need held-out samples"), (["--metric", "f1"], "need held-out samples"),
                             (["--held-out", 0.2, "--metric", "f2"], "--metric takes f1, iou, auc"),
                             (["--held-out", 0.2, "--metric", "r2"], "needs a loss over numbers")):
        c.ends(f"train {options}", 2, message, *c.train_command(model, *options))
    for options, message in ((["--ema", 1], "--ema takes a decay"), (["--class-weights", "1,2"], "has 2 numbers, but the prediction has 10"),
                             (["--class-weights", "1,-2"], "--class-weights takes finite numbers")):
        c.ends(f"export {options}", 2, message, "export", mlp, "--train", "--loss", "cross_entropy", *options, "-o", c.folder / "x.tern")
    c.ends("class weights of numbers", 2, "--class-weights needs --loss", "export", mlp, "--train", "--loss", "mse",
           "--class-weights", 1, "-o", c.folder / "x.tern")


def first_results(c, archive, method, wanted):
    """Error of the results of the first four images."""
    rows = tensors_of_images(4)
    (c.folder / "four.npy").write_bytes(rows)
    done = c.run("run", c.folder / archive, "-f", method, "-i", c.folder / "four.npy", "-o", c.folder / "result.npy")
    return difference(result_of(c.folder / "result.npy"), wanted) if done.returncode == 0 else done.stderr


def tensors_of_images(count):
    """The first images as a .npy file of float64."""
    data = IMAGES.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + length])["images"]
    first = 8 + length + entry["data_offsets"][0]
    numbers = struct.unpack(f"<{count * 64}f", data[first:first + count * 256])
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count}, 1, 8, 8), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{count * 64}d", *numbers)


def events_of(folder):
    """Scalars of event files, read with the layout of TFRecord and protocol buffers: {tag: {step: value}}."""
    def fields(data):
        at = 0
        def varint():
            nonlocal at
            value = shift = 0
            while True:
                byte, at = data[at], at + 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value
        while at < len(data):
            key = varint()
            size = {0: None, 1: 8, 5: 4}.get(key & 7, -1)
            size = varint() if size == -1 else size
            value = varint() if size is None else data[at:at + size]
            at += 0 if size is None else size
            yield key >> 3, value

    scalars = {}
    for path in sorted(folder.glob("events.out.tfevents.*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            length = struct.unpack("<Q", data[at:at + 8])[0]
            event = dict(fields(data[at + 12:at + 12 + length]))
            at += 16 + length
            for number, value in fields(event.get(5, b"")):
                item = dict(fields(value))
                scalars.setdefault(item[1].decode(), {})[event[2]] = struct.unpack("<f", item[2])[0]
    return scalars


def events_have_all_figures(c):
    model = c.export(CNN, "--loss", "cross_entropy", "--gradient-norm")
    folder = c.folder / "board"
    options = ["--epochs", 2, "--held-out", 0.25, "--metric", "f1", "--tensorboard", folder]
    done = c.train(model, *options, "--json")
    if done.returncode != 0:
        return c.check("event files", False, done.stderr)
    report, events = json.loads(done.stdout), events_of(folder)
    c.check("tags of events", set(events) == {"loss/train", "lr", "gradient_norm", "loss/held_out", "metrics/accuracy", "metrics/f1"},
            events.keys())
    for tag, mine in (("loss/train", report["losses"]), ("gradient_norm", report["gradient_norms"])):
        c.check(f"events of {tag}", list(events[tag]) == list(range(1, len(mine) + 1)) and
                all(abs(a - b) <= 1e-6 * abs(b) for a, b in zip(events[tag].values(), mine)), events[tag])
    c.check("events of epochs", list(events["metrics/f1"]) == [9, 18] and
            abs(events["metrics/f1"][18] - report["epochs"][1]["metrics"]["f1"]) < 1e-6, events["metrics/f1"])


def states_of_eight_bits(c):
    """They take a quarter of the memory, and a resumed run has the bits of one that was not interrupted."""
    program = DATA / "eight_bits.pt2"
    for optimizer, options in (("adamw", []), ("adamw8bit", []), ("sgd8bit", ["--momentum", 0.9, "--dampening", 0.5]),
                               ("rmsprop8bit", ["--momentum", 0.5]), ("lion8bit", [])):
        model = c.export(program, "--loss", "cross_entropy", "--optimizer", optimizer, "--lr", 1e-3, *options)
        run = ["--batch", 24, "--epochs", 2, "--seed", 3]
        done = c.train(model, *run)
        c.check(f"train with {optimizer}", done.returncode == 0, done.stderr)
        expected = (c.folder / "out.tern").read_bytes()
        folder = c.folder / optimizer
        c.train(model, *run, "--checkpoint", folder, "--every", 7)
        for path in sorted(folder.glob("checkpoint-*"))[1:]:
            path.unlink()
        done = c.train(model, *run, "--checkpoint", folder, "--every", 7, "--resume")
        c.check(f"resumed with {optimizer}: the same bits", done.returncode == 0 and
                (c.folder / "out.tern").read_bytes() == expected, done.stderr)
    states = json.loads(c.run("inspect", c.export(program, "--loss", "cross_entropy", "--optimizer", "adamw8bit"),
                              "--json").stdout)["states"]
    bytes_of = {w["name"]: w["storage_bytes"] for w in states if w["name"].startswith("optimizer.exp_avg")}
    # Two weights of 4096 elements have 8 bits and 16 scales, 650 elements of the others floats.
    c.check("bytes of states of 8 bits", sum(bytes_of.values()) == 2 * (2 * (4096 + 64) + 4 * (10 * 64 + 64 + 64 + 10)),
            bytes_of)
    c.ends("8 bits of an optimizer without", 2, "adafactor has no states of 8 bits; the optimizers with such states are sgd8bit, adam8bit",
           "export", program, "--train", "--loss", "cross_entropy", "--optimizer", "adafactor8bit", "-o", c.folder / "x.tern")
    double = c.export(DATA / "mlp.pt2", "--loss", "cross_entropy", "--optimizer", "adamw8bit", output="double.tern")
    c.check("parameters of float64 keep their states", "uint8" not in c.run("inspect", double).stdout)


def digits_are_learnt(c):
    model = c.export(CNN, "--loss", "cross_entropy", "--optimizer", "adamw", "--lr", 3e-3)
    done = c.train(model, "--epochs", 25, "--held-out", 0.25, "--seed", 1, "--schedule", "cosine", "--json", "--forward",
                   c.folder / "forward.tern", "--plot", c.folder / "loss.svg")
    if done.returncode != 0:
        return c.check("digits", False, done.stderr)
    report = json.loads(done.stdout)
    c.check("digits are learnt", report["epochs"][-1]["held_out_accuracy"] > 0.93, report["epochs"][-1])
    c.check("the curve is drawn", (c.folder / "loss.svg").read_text().endswith("</svg>\n"))
    forward = c.run("inspect", c.folder / "forward.tern").stdout
    c.check("batch norms of the archive for inference are folded",
            "  mutable" not in forward and "batch_norm" not in forward and "dropout" not in forward, forward)
    forward_is_that_of_the_trained_archive(c, "digits")
    c.check("a trained archive can be trained further", c.train(c.folder / "out.tern", output="more.tern").returncode == 0)


def forward_is_that_of_the_trained_archive(c, name):
    logits = []
    for archive in ("out.tern", "forward.tern"):
        done = c.run("run", c.folder / archive, "-f", "forward", "--random", "--size", "s34=8", "-o", c.folder / "logits.npy")
        c.check(f"{name}: {archive} runs", done.returncode == 0, done.stderr)
        logits.append(struct.unpack("<80f", (c.folder / "logits.npy").read_bytes()[-320:]))
    error = max(abs(a - b) for a, b in zip(*logits))
    c.check(f"{name}: both archives give the same", error < 1e-4 * max(map(abs, logits[0])), error)


def packed_weights_are_left_behind(c):
    """--forward changes constant weights: their packed bytes must not run instead."""
    for name, options in (("adapters", ["--lora", "*"]), ("folded batch norms", ["--freeze", "features.*.weight"])):
        model = c.export(CNN, "--loss", "cross_entropy", "--lr", 1e-2, *options, "--target", "cpu", "--size", "s34=128")
        c.check(f"{name}: weights are packed", "packed weights: " in c.run("inspect", model).stdout)
        done = c.train(model, "--epochs", 2, "--forward", c.folder / "forward.tern")
        c.check(f"{name}: packed weights are trained", done.returncode == 0, done.stderr)
        forward_is_that_of_the_trained_archive(c, name)
        c.ends(f"{name}: --forward's packed weights", 0, "", "validate", "--deep", c.folder / "forward.tern")


def accumulation_is_one_large_batch(c):
    """The mean of the gradients of equal batches is the gradient of all of them; without dropout and batch norms."""
    model = c.export(DATA / "mlp.pt2", "--loss", "cross_entropy", "--optimizer", "sgd", "--lr", 0.1, "--accumulate")
    losses = []
    for options in (["--batch", 36], ["--batch", 12, "--accumulate", 3]):
        done = c.train(model, *options, "--epochs", 3, "--json")
        losses.append(json.loads(done.stdout)["losses"] if done.returncode == 0 else [done.stderr])
    c.check("accumulation", len(losses[0]) == len(losses[1]) == 30 and
            max(abs(a - b) for a, b in zip(*losses)) < 1e-12, losses)


def memory_is_limited(c):
    """Values that are computed again instead of being held: fewer bytes, the same bits, with and without dropout."""
    def trained(model, data, *options):
        folder = c.folder / "limited"
        done = c.train(model, "--epochs", 1, "--batch", 32, "--steps", 4, "--checkpoint", folder, *options, data=data)
        c.check(f"train within a limit {options}", done.returncode == 0, done.stderr)
        states = [states_of(path) for path in folder.glob("*.safetensors")]
        shutil.rmtree(folder, ignore_errors=True)
        return states[-1] if states else {}

    for name, data, options in ((CNN, IMAGES, ["--accumulate"]),
                                (DATA / "encoder.pt2", DATA / "encoder_data.safetensors", ["--class-axis", -1])):
        options = ["--loss", "cross_entropy", *options]
        short = pathlib.Path(name).stem
        whole = c.export(name, *options)
        bits = [trained(whole, data, *more) for more in ([], ["--reproducible"])]
        arena = {f["function"]: f["arena_bytes"] for f in json.loads(c.run("inspect", whole, "--json").stdout)["cost"]["runs"]}
        least = 0
        for limit in ("least", "between"):
            if limit == "between":
                limit = (arena["train_step"] + least) // 2
            done = c.run("export", name, "--train", *options, "--activation-memory", limit, "--json", "-o",
                         c.folder / "less.tern")
            c.check(f"{short} within {limit}", done.returncode == 0, done.stderr)
            if done.returncode != 0:
                return
            report = json.loads(done.stdout)["activation_memory"]
            least = least or report["train_step"]["bytes"]
            inspected = c.run("inspect", c.folder / "less.tern", "--json").stdout
            for run in json.loads(inspected)["cost"]["runs"]:
                method = report.get(run["function"])
                c.check(f"{short} within {limit}: {run['function']} as planned", method is None or
                        run["arena_bytes"] == method["bytes"] <= (arena["train_step"] if limit == "least" else limit), run)
            c.check(f"{short} within {limit}: less", report["train_step"]["bytes"] < arena["train_step"] and
                    report["train_step"]["repeated_nodes"] > 0, report)
            for k, more in enumerate(([], ["--reproducible"])):
                c.check(f"{short} within {limit} {more}: the same bits",
                        len(bits[k]) > 10 and trained(c.folder / "less.tern", data, *more) == bits[k])
        c.ends(f"{short} within too few bytes", 2, f"need at least {least} bytes", "export", name, "--train", *options,
               "--activation-memory", least - 1, "-o", c.folder / "x.tern")


def frozen_parameters_stay(c):
    model = c.export(CNN, "--loss", "cross_entropy", "--freeze", "features.*", "--json")
    states = c.run("inspect", model, "--json").stdout
    c.check("frozen parameters are constants", '"optimizer.exp_avg.classifier.weight"' in states and
            "optimizer.exp_avg.features" not in states)
    c.check("the rest is trained", c.train(model).returncode == 0)
    # head.weight and tokens.weight are the same tensor.
    tied = ["export", DATA / "tied.pt2", "--train", "--loss", "cross_entropy", "--class-axis", -1, "-o", c.folder / "t.tern"]
    for one, other in (("head", "tokens"), ("tokens", "head")):
        c.ends(f"--freeze of one of two names, {one}", 2,
               f"--freeze matches {one}.weight, which is the same tensor as {other}.weight", *tied, "--freeze", f"{one}.*")
    c.ends("--freeze of both names", 0, "trains 4 parameters of 304 elements", *tied, "--freeze", "head.*", "--freeze",
           "tokens.*")
    c.ends("a tied parameter is trained once", 0, "trains 5 parameters of 576 elements with adamw on cross_entropy\n", *tied)


def reproducible_runs_have_the_same_bits(c):
    """On every instruction set, and for every number of threads."""
    model = c.export(CNN, "--loss", "cross_entropy")
    archives = []
    for level, threads in (("baseline", 1), ("avx2", 2), ("", 2)):
        command = c.train_command(model, "--reproducible", "--epochs", 2)
        command[command.index("--threads") + 1] = threads
        done = subprocess.run([c.tern, *map(str, command)], capture_output=True, text=True,
                              env={**os.environ, **({"TERN_CPU": level} if level else {})})
        c.check(f"--reproducible, {level or 'this processor'}", done.returncode == 0, done.stderr)
        archives.append((c.folder / "out.tern").read_bytes())
    c.check("the same bits on every instruction set", archives[0] == archives[1] == archives[2])


def graphs_have_the_same_bits(c):
    """Steps that are captured once and replayed, with dropout, accumulation, a smaller last batch, and a resumed run."""
    model = c.export(CNN, "--loss", "cross_entropy", "--accumulate")
    for options in ([], ["--accumulate", 3]):
        archives = []
        for more in ([], ["--graph"]):
            done = c.train(model, "--epochs", 2, "--held-out", 0.25, "--schedule", "cosine", *options, *more)
            c.check(f"train {options} {more}", done.returncode == 0, done.stderr)
            archives.append((c.folder / "out.tern").read_bytes())
        c.check(f"graphs have the same bits {options}", archives[0] == archives[1])
    folder = c.folder / "graph"
    for steps in (9, 18):  # nine are the first epoch, the last of 14 samples; a graph ends like any other run
        done = c.train(model, "--epochs", steps // 9, "--held-out", 0.25, "--checkpoint", folder, "--every", 1, "--graph")
        c.check("checkpoints beside graphs", newest_step(folder) == steps, done.stderr)
        shutil.rmtree(folder)
    # Resumes before the smaller last batch of the second epoch: the graph belongs to the full batches of the third.
    options = ["--epochs", 3, "--held-out", 0.25, "--checkpoint", folder, "--every", 17, "--graph"]
    c.train(model, *options)
    for path in folder.glob("checkpoint-*27.safetensors"):
        path.unlink()
    done = c.train(model, *options, "--resume", "--trace", c.folder / "trace.json")
    runs = [e["args"]["Function"] for e in json.loads((c.folder / "trace.json").read_text())["traceEvents"]
            if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"]
    c.check("a resumed run captures full batches", (runs.count("train_step (graph)"), runs.count("train_step")) == (8, 2),
            (done.stderr, runs))


def devices_give_the_same_bits(c, device, full):
    """A whole run on the device and on the CPU, in reproducible mode: gradients, optimizers, batch norms, dropout."""
    tokens = DATA / "encoder_data.safetensors"
    cases = [("cnn", CNN, IMAGES, ["--accumulate"], ["--accumulate", 2])]
    cases += [("8 bits", DATA / "eight_bits.pt2", IMAGES, ["--optimizer", "adamw8bit", "--amsgrad"], [])]
    if full:
        cases += [("mlp", DATA / "mlp.pt2", IMAGES, ["--optimizer", "sgd", "--momentum", 0.9, "--dampening", 0.5], []),
                  ("encoder", DATA / "encoder.pt2", tokens, ["--class-axis", -1, "--clip-norm", 1], []),
                  ("adapters", DATA / "encoder.pt2", tokens, ["--class-axis", -1, "--lora", "*"], []),
                  ("less memory", DATA / "encoder.pt2", tokens, ["--class-axis", -1, "--activation-memory", "least"], [])]
    for name, program, data, options, run in cases:
        model = c.export(program, "--loss", "cross_entropy", *options)
        results = {}
        for where in (["cpu"], [device], [device, "--graph"]):
            done = c.train(model, "--epochs", 1, "--steps", 2, "--batch", 48, "--reproducible", "--device", *where, *run, data=data)
            c.check(f"{name} on {where}", done.returncode == 0, done.stderr)
            results[" ".join(where)] = (c.folder / "out.tern").read_bytes() if done.returncode == 0 else None
        for where in (device, f"{device} --graph"):
            c.check(f"{name}: the same bits on cpu and {where}", results["cpu"] == results[where] is not None)


def attention_drops_probabilities(c):
    """With values of 1, each result is the sum of the kept probabilities, each divided by 3 / 4: 1 on average. The first
    query sees one key, so its results are 0 or 4 / 3."""
    rng = random.Random(2)
    sizes = {"q": [4, 4, 16, 8], "k": [4, 2, 16, 8], "v": [4, 2, 16, 8]}
    header, arrays, at = {}, b"", 0
    for name, size in sizes.items():
        count = size[0] * size[1] * size[2] * size[3]
        header[name] = {"dtype": "F32", "shape": size, "data_offsets": [at, at + 4 * count]}
        arrays += struct.pack(f"<{count}f", *(1 if name == "v" else rng.gauss(0, 1) for _ in range(count)))
        at += 4 * count
    text = json.dumps(header).encode()
    (c.folder / "attention.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + arrays)
    done = c.run("export", DATA / "attention_dropout.pt2", "-o", c.folder / "attention.tern")
    c.check("export of attention with dropout", done.returncode == 0, done.stderr)
    done = c.run("run", c.folder / "attention.tern", "-i", c.folder / "attention.safetensors", "-o", c.folder / "result.npy")
    sums = result_of(c.folder / "result.npy", "f") if done.returncode == 0 else [0]
    mean = sum(sums) / len(sums)
    c.check("the mean of attention with dropout", 0.9 < mean < 1.1, (done.stderr, mean))
    first = {round(sums[i], 4) for i in range(0, len(sums), 16 * 8)}
    c.check("queries of one key", first == {0, 1.3333}, first)


def joint_graphs_are_trained(c):
    """A file that holds its own gradients (torch.export.experimental._export_forward_backward)."""
    program = ROOT / "build/test-data/programs/joint_training.pt2"
    if not program.exists():
        return
    model = c.export(program, "--optimizer", "adam", "--lr", 1e-2)
    header = {"x": {"dtype": "F32", "shape": [64, 16], "data_offsets": [0, 4096]},
              "y": {"dtype": "I64", "shape": [64], "data_offsets": [4096, 4608]}}
    rng = random.Random(1)
    text = json.dumps(header).encode()
    (c.folder / "joint.safetensors").write_bytes(
        struct.pack("<Q", len(text)) + text + struct.pack("<1024f", *(rng.gauss(0, 1) for _ in range(1024))) +
        struct.pack("<64q", *(rng.randrange(4) for _ in range(64))))
    done = c.train(model, "--epochs", 20, "--json", data=c.folder / "joint.safetensors")
    c.ends("--step of a joint graph", 2, "whose gradients belong to one loss", "export", program, "--train", "--step",
           "d: loss=0, trains=*", "-o", c.folder / "x.tern")
    c.ends("--forward of a joint graph", 2, "--forward: the archive has no method 'forward'", *c.train_command(
        model, "--epochs", 1, "--forward", c.folder / "f.tern", data=c.folder / "joint.safetensors", output="j.tern"))
    c.check("--forward is checked before training", not (c.folder / "j.tern").exists())
    losses = json.loads(done.stdout)["losses"] if done.returncode == 0 else []
    c.check("the batch of a program that fixes it is told", '"batch": 8,' in done.stdout, done.stdout[-300:])
    c.check("a joint graph is trained", len(losses) == 160 and sum(losses[-8:]) < 0.7 * sum(losses[:8]), done.stderr)


def messages(c):
    model = c.export(CNN, "--loss", "cross_entropy", "--optimizer", "sgd", "--lr", 0.1)
    out = c.folder / "x.tern"
    c.ends("unknown loss", 2, "--loss takes cross_entropy,", "export", CNN, "--train", "--loss", "mean", "-o", out)
    c.ends("unknown optimizer", 2, "--optimizer takes sgd,", "export", CNN, "--train", "--loss", "mse", "--optimizer", "sdg",
           "-o", out)
    for optimizer, option in (("adam", ["--momentum", 0.9]), ("adam", ["--nesterov"]), ("sgd", ["--amsgrad"]),
                              ("lion", ["--eps", 1e-8]), ("sgd", ["--betas", "0.9,0.99"]), ("adamax", ["--amsgrad"])):
        c.ends(f"{option[0]} with {optimizer}", 2, f"{option[0]} has no effect with --optimizer {optimizer}", "export", CNN,
               "--train", "--loss", "cross_entropy", "--optimizer", optimizer, *option, "-o", out)
    c.ends("--dampening without --momentum", 2, "--dampening needs --momentum", "export", CNN, "--train",
           "--loss", "cross_entropy", "--optimizer", "sgd", "--dampening", 0.5, "-o", out)
    for rate in (-1, "nan", "inf"):
        c.ends(f"--lr {rate}", 2, "--lr takes", *c.train_command(model, "--lr", rate))
        c.ends(f"export --lr {rate}", 2, "--lr takes", "export", CNN, "--train", "--loss", "cross_entropy", "--lr", rate,
               "-o", out)
    rprop = c.export(CNN, "--loss", "cross_entropy", "--optimizer", "rprop", output="rprop.tern")
    for option in (["--lr", 0.1], ["--schedule", "cosine"], ["--warmup", 5]):
        c.ends(f"{option[0]} with rprop", 2, "rprop has no rate", *c.train_command(rprop, *option))
    c.ends("muon of a vector", 2, "is float64[16], but muon only updates matrices of constant size; give the others another optimizer: --params 'ndim!=2: optimizer=adamw'", "export", DATA / "mlp.pt2", "--train", "--loss",
           "cross_entropy", "--optimizer", "muon", "-o", out)
    c.ends("options without --train", 2, "need --train", "export", CNN, "--lr", 1, "-o", out)
    c.ends("--activation-memory of something else", 2, "--activation-memory takes bytes such as 512MB", "export", CNN,
           "--train", "--loss", "cross_entropy", "--activation-memory", "half", "-o", out)
    c.ends("no scalar loss", 2, "give --loss", "export", CNN, "--train", "-o", out)
    c.ends("a pattern without a parameter", 2, "no parameter matches; 'tern inspect --weights 1000'", "export", CNN, "--train", "--loss",
           "cross_entropy", "--freeze", "encoder.*", "-o", out)
    c.ends("a .pt2", 2, "tern export MODEL.pt2 --train", "train", CNN, "--data", IMAGES, "-o", out)
    c.ends("no array", 2, "there is no array 'target'", "train", model, "--data", IMAGES, "-o", out)
    c.ends("an array for no input", 2, "--array traget=labels: ", "train", model, "--data", IMAGES, "-o", out, "--array", "traget=labels")
    c.ends("sizes of an array", 2, "array 'logits' is float32[360, 10]", *c.train_command(
        model, "--array", "images=logits"))
    c.ends("types of an array", 2, "--cast converts it", *c.train_command(model, "--array", "target=floats", data=floats(c)))
    c.ends("a schedule", 2, "--schedule takes constant", *c.train_command(model, "--schedule", "cosin"))
    c.ends("--every alone", 2, "--checkpoint FOLDER", *c.train_command(model, "--every", 2))
    c.ends("an output that cannot be written", 3, "absent/out.tern", *c.train_command(model, output="absent/out.tern"))
    c.ends("no data", 3, "cannot open", "train", model, "--data", c.folder / "none.npz", "-o", out)
    c.ends("two outputs of one name", 2, "--output and --forward are the same file", *c.train_command(
        model, "--forward", out, output="x.tern"))
    c.ends("a share that holds nothing out", 2, "0 held-out samples", *c.train_command(model, "--held-out", 1e-4))
    c.ends("an array for no input", 2, "'train_step' has no such input", *c.train_command(model, "--array", "tagret=labels"))
    c.ends("a folder of checkpoints that is a file", 3, "cannot make the folder", *c.train_command(
        model, "--checkpoint", IMAGES))
    wrong = labelled(c, 10)
    c.ends("a class number out of range", 6, "step 1, samples 0, 1 of ", *c.train_command(model, "--no-shuffle", data=wrong))
    c.ends("a held-out one", 6, "held-out samples 0, 1 of ", *c.train_command(model, "--steps", 1, "--held-out", wrong))
    c.ends("a step whose update overflows", 6, "is not finite: training diverged", *c.train_command(
        model, "--lr", 1e308, "--steps", 1))
    c.ends("a loss that is not finite", 6, "training diverged", *c.train_command(model, "--lr", 1e30, "--epochs", 20))
    c.run("export", DATA / "mlp.pt2", "-o", c.folder / "plain.tern")
    c.ends("an archive that does not train", 2, "updates no state, so it does not train", "train",
           c.folder / "plain.tern", "--data", IMAGES, "-o", out)


def floats(c):
    """Two images, and targets that are no class numbers."""
    header = {"images": {"dtype": "F32", "shape": [2, 1, 8, 8], "data_offsets": [0, 512]},
              "floats": {"dtype": "F32", "shape": [2], "data_offsets": [512, 520]}}
    text = json.dumps(header).encode()
    path = c.folder / "floats.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(520))
    return path


def labelled(c, number):
    """Two images of one class."""
    header = {"images": {"dtype": "F32", "shape": [2, 1, 8, 8], "data_offsets": [0, 512]},
              "labels": {"dtype": "I64", "shape": [2], "data_offsets": [512, 528]},
              "target": {"dtype": "I64", "shape": [2], "data_offsets": [528, 544]}}
    text = json.dumps(header).encode()
    path = c.folder / "labelled.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(512) + struct.pack("<4q", *[number] * 4))
    return path


CHECKS = (losses_are_those_of_pytorch, groups_are_those_of_pytorch, precision_is_that_of_pytorch,
          steps_are_those_of_pytorch, practice_is_that_of_pytorch, events_have_all_figures,
          train_interrupted.killed_runs_end_with_the_same_bits, states_of_eight_bits, train_interrupted.interrupted_run,
          train_interrupted.other_signals, train_interrupted.results_that_cannot_be_written, digits_are_learnt,
          accumulation_is_one_large_batch, memory_is_limited, packed_weights_are_left_behind,
          train_adapters.adapters_are_trained, train_adapters.tied_weights_get_adapters_as_copies, train_adapters.adapters_are_averaged, train_adapters.adapters_have_steps,
          train_adapters.adapters_of_weights_that_are_not_transposed, graphs_have_the_same_bits, frozen_parameters_stay,
          reproducible_runs_have_the_same_bits, attention_drops_probabilities, joint_graphs_are_trained, messages)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", metavar="WORD", default="", help="checks whose function's name has this word")
    parser.add_argument("--device", help="only: a run there gives the bits of the CPU; with --full of more programs")
    arguments = parser.parse_args()
    # Shells start background jobs with SIGINT ignored, and runs of tern would inherit the setting.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        c = TrainingChecks(os.path.realpath(arguments.tern), pathlib.Path(folder))
        if arguments.device:
            devices_give_the_same_bits(c, arguments.device, arguments.full)
        for check in () if arguments.device else CHECKS:
            if arguments.only in check.__name__:
                check(c, arguments.full) if check is train_interrupted.killed_runs_end_with_the_same_bits else check(c)
    print(f"{c.passed} passed, {c.failed} failed")
    sys.exit(c.failed > 0)


if __name__ == "__main__":
    main()
