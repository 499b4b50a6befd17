#!/usr/bin/env python3
"""Makes practice.json: figures that PyTorch has with averaged weights, class weights, and early stopping.

  make_practice.py [OUT]      needs torch (2.9 or later), safetensors, and the programs of make.py in OUT

few.safetensors has the first 64 images of examples/digits/digits_test.safetensors: a perceptron fits them too closely, so
that its loss on all images rises again.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.export import load
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

OUT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
ROOT = pathlib.Path(__file__).resolve().parents[3]
BATCH, PATIENCE = 32, 3
WEIGHTS = [1, 2, 0.5, 1, 1, 3, 1, 0.25, 1, 1.5]


def epochs(model, optimizer, inputs, targets, **loss_options):
    """Trains an epoch for each request: losses and norms of the gradients."""
    while True:
        losses, norms = [], []
        for first in range(0, len(targets), BATCH):
            part = slice(first, first + BATCH)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs[part]), targets[part], **loss_options)
            loss.backward()
            norms.append(nn.utils.get_total_norm([p.grad for p in model.parameters()]).item())
            optimizer.step()
            losses.append(loss.item())
            yield losses, norms, first + BATCH >= len(targets)


def main():
    torch.set_num_threads(1)
    digits = load_file(ROOT / "examples/digits/digits_test.safetensors")
    images, labels = digits["images"].double(), digits["labels"]
    save_file({"images": digits["images"][:64].clone(), "labels": labels[:64].clone()}, OUT / "few.safetensors")
    result = {"torch": torch.__version__.split("+")[0]}

    def measured(model):
        with torch.no_grad():
            return nn.functional.cross_entropy(model(images), labels).item()

    model = load(OUT / "mlp.pt2").module()
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    held_out, norms = [], []
    for k, (_, norm, ends) in enumerate(epochs(model, torch.optim.AdamW(model.parameters(), lr=1e-2), images, labels)):
        averaged.update_parameters(model)
        norms.append(norm[-1])
        if ends:
            held_out.append(measured(averaged))
        if len(held_out) == 4:
            break
    result["ema"] = {"decay": 0.9, "lr": 1e-2, "held_out_losses": held_out, "gradient_norms": norms,
                     "result": averaged(images[:4]).flatten().tolist(), "plain": measured(model)}

    model = load(OUT / "mlp.pt2").module()
    losses = []
    for loss, _, _ in epochs(model, torch.optim.SGD(model.parameters(), lr=0.1), images, labels,
                             weight=torch.tensor(WEIGHTS).double(), label_smoothing=0.1):
        losses.append(loss[-1])
        if len(losses) == 100:
            break
    result["class_weights"] = {"lr": 0.1, "label_smoothing": 0.1, "weights": WEIGHTS, "losses": losses}

    model = load(OUT / "mlp.pt2").module()
    held_out, best, kept = [], 0, None
    for _, _, ends in epochs(model, torch.optim.AdamW(model.parameters(), lr=2e-2), images[:64], labels[:64]):
        if not ends:
            continue
        held_out.append(measured(model))
        if held_out[-1] < min(held_out[:-1], default=1e9):
            best, kept = len(held_out), {n: p.detach().clone() for n, p in model.named_parameters()}
        if len(held_out) - best >= PATIENCE:
            break
    with torch.no_grad():
        for n, p in model.named_parameters():
            p.copy_(kept[n])
    result["patience"] = {"epochs": PATIENCE, "lr": 2e-2, "held_out_losses": held_out, "best_epoch": best,
                          "result": model(images[:4]).flatten().tolist()}
    (OUT / "practice.json").write_text(json.dumps(result) + "\n")
    print(result["ema"]["held_out_losses"], result["ema"]["plain"], result["patience"]["held_out_losses"], best)


if __name__ == "__main__":
    main()
