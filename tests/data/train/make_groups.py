#!/usr/bin/env python3
"""Makes groups.json: losses that PyTorch has in training with parameter groups.

  make_groups.py [OUT]      needs torch (2.9 or later), safetensors, and the programs of make.py in OUT

Each case has the options of `tern export` and `tern train`, and the loss of each step. PyTorch's program is written out
for each case: groups of parameters by name, optimizers, schedules. Muon computes in bfloat16, so its case has `spread`:
the largest relative difference of the losses between PyTorch's own runs, whose first weights differ by one unit in the
last place of bfloat16's input rounding (1e-7), and with and without oneDNN.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import load_file
from torch import nn
from torch.export import load

OUT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
ROOT = pathlib.Path(__file__).resolve().parents[3]
STEPS, BATCH = 100, 32


def data_of(model):
    if model == "encoder":
        tokens = load_file(OUT / "encoder_data.safetensors")["tokens"]
        return tokens, tokens.sort(1).values, -1
    digits = load_file(ROOT / "examples/digits/digits_test.safetensors")
    return digits["images"].double(), digits["labels"], 1


def train(name, build, noise=0.0):
    """`build` gives the optimizers and schedules of the named parameters."""
    model = load(OUT / f"{name}.pt2").module()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1 + noise * torch.randn(p.shape, generator=generator, dtype=p.dtype))
    optimizers, schedules = build(dict(model.named_parameters()))
    inputs, targets, class_axis = data_of(name)
    losses = []
    while True:
        for first in range(0, len(targets), BATCH):
            part = slice(first, first + BATCH)
            for o in optimizers:
                o.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs[part]).movedim(class_axis, 1), targets[part])
            loss.backward()
            for o in optimizers:
                o.step()
            for s in schedules:
                s.step()
            losses.append(loss.item())
            if len(losses) == STEPS:
                return losses


def decays_and_rates(named):
    """Norms and biases without weight decay, the last layer with a tenth of the rate and other betas."""
    fc1, fc2 = [named["fc1.weight"]], [named["fc2.weight"]]
    return [torch.optim.AdamW([
        {"params": fc1}, {"params": [named["fc1.bias"]], "weight_decay": 0},
        {"params": fc2, "lr": 2e-3, "betas": (0.8, 0.95)},
        {"params": [named["fc2.bias"]], "lr": 2e-3, "betas": (0.8, 0.95), "weight_decay": 0}],
        lr=2e-2, weight_decay=0.1)], []


def two_optimizers(named):
    """SGD on matrices, AdamW on the rest, each with its schedule."""
    sgd = torch.optim.SGD([p for p in named.values() if p.ndim >= 2], lr=0.1, momentum=0.9)
    adamw = torch.optim.AdamW([p for p in named.values() if p.ndim < 2], lr=1e-3)
    return [sgd, adamw], [torch.optim.lr_scheduler.CosineAnnealingLR(sgd, STEPS),
                          torch.optim.lr_scheduler.LinearLR(adamw, 1, 0.2, STEPS)]


def products_of_momenta(named):
    """NAdam's product of momenta depends on the betas of a group."""
    head = {n: p for n, p in named.items() if n.startswith("head")}
    rest = [p for n, p in named.items() if n not in head and not n.startswith(("tokens", "places"))]
    return [torch.optim.NAdam([{"params": rest}, {"params": list(head.values()), "betas": (0.8, 0.99), "lr": 4e-3}],
                              lr=2e-3)], []


def muon(named):
    return [torch.optim.Muon([p for p in named.values() if p.ndim == 2], lr=0.02),
            torch.optim.AdamW([p for p in named.values() if p.ndim != 2], lr=3e-4)], []


CASES = [
    ("mlp", decays_and_rates, ["--optimizer", "adamw", "--lr", "0.02", "--weight-decay", "0.1", "--params",
                               "*.bias: weight-decay=0", "--params", "fc2: lr=0.1x, betas=0.8/0.95"], []),
    ("encoder", two_optimizers, ["--optimizer", "sgd", "--momentum", "0.9", "--lr", "0.1", "--params",
                                 "ndim<2: optimizer=adamw, lr=1e-3"],
     ["--schedule", "cosine", "--schedule", "ndim<2: linear:0.2"]),
    ("encoder", products_of_momenta, ["--optimizer", "nadam", "--params", "tokens|places: frozen", "--params",
                                      "head: betas=0.8/0.99, lr=4e-3"], []),
    ("mlp", muon, ["--optimizer", "muon", "--lr", "0.02", "--params", "ndim<2: optimizer=adamw, lr=3e-4"], []),
]


def main():
    torch.set_num_threads(1)
    cases = []
    for model, build, export, run in CASES:
        losses = train(model, build)
        case = {"name": build.__name__, "model": model, "export": export, "train": run, "losses": losses}
        if build is muon:
            others = [train(model, build, 1e-7 * k) for k in range(1, 17)]
            with torch.backends.mkldnn.flags(enabled=False):
                others.append(train(model, build))
            case["spread"] = max(abs(a - b) / abs(b) for other in others for a, b in zip(other, losses))
        cases.append(case)
    (OUT / "groups.json").write_text(json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases}) + "\n")
    for case in cases:
        print(case["name"], case["losses"][0], case["losses"][-1], case.get("spread"))


if __name__ == "__main__":
    main()
