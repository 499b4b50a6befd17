#!/usr/bin/env python3
"""Makes precision.json: losses that PyTorch has in training with torch.autocast, GradScaler and float32 masters.

  make_precision.py [OUT]      needs torch (2.9 or later), safetensors, and the files of make.py in OUT

Writes encoder32.pt2 and encoder16.pt2 too: the encoder of make.py in float32 and bfloat16. Each case has the loss of each
step, the scale of the loss after the last step for float16, and `spread`: the largest relative difference of a loss
between PyTorch's own runs, whose first parameters differ by 1e-7 of their value, and with and without oneDNN.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import load_file
from torch import nn
from torch.export import Dim, export, load, save

from make import Encoder

OUT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
ROOT = pathlib.Path(__file__).resolve().parents[3]
STEPS, BATCH = 100, 32


def data_of(model):
    if model.startswith("encoder"):
        tokens = load_file(OUT / "encoder_data.safetensors")["tokens"]
        return tokens, tokens.sort(1).values, -1
    digits = load_file(ROOT / "examples/digits/digits_test.safetensors")
    return digits["images"], digits["labels"], 1


def train(name, precision, lr, clip, first_scale, noise=0.0):
    """Autocast for parameters of float32; for those of 16 bits AdamW steps float32 masters, rounded into them."""
    model = load(OUT / f"{name}.pt2").module()
    generator = torch.Generator().manual_seed(1)
    params = list(model.parameters())
    masters = [nn.Parameter(p.detach().float() * (1 + noise * torch.randn(p.shape, generator=generator))) for p in params]
    with torch.no_grad():
        for p, m in zip(params, masters):
            p.copy_(m)
    wide = params[0].dtype == torch.float32
    trained = params if wide else masters
    optimizer = torch.optim.AdamW(trained, lr=lr)
    scaler = torch.amp.GradScaler("cpu", init_scale=first_scale, enabled=precision == "float16")
    inputs, targets, class_axis = data_of(name)
    losses = []
    while True:
        for first in range(0, len(targets), BATCH):
            part = slice(first, first + BATCH)
            model.zero_grad()
            with torch.autocast("cpu", dtype=getattr(torch, precision), enabled=wide):
                loss = nn.functional.cross_entropy(model(inputs[part]).movedim(class_axis, 1), targets[part])
            scaler.scale(loss).backward()
            if not wide:
                for p, m in zip(params, masters):
                    m.grad = p.grad.float()
            if clip is not None:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(trained, clip)
            scaler.step(optimizer)
            scaler.update()
            if not wide:
                with torch.no_grad():
                    for p, m in zip(params, masters):
                        p.copy_(m)
            losses.append(loss.item())
            if len(losses) == STEPS:
                return losses, scaler.get_scale()


CASES = [  # model, --precision, rate, --clip-norm, first scale
    ("eight_bits", "bfloat16", 2e-3, None, 1),
    ("encoder32", "bfloat16", 3e-3, None, 1),
    ("encoder32", "float16", 3e-3, 1.0, 65536),
    ("eight_bits", "float16", 2e-3, None, 2.0**28),
    ("encoder16", "bfloat16", 3e-3, None, 1),
]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokens = load_file(OUT / "encoder_data.safetensors")["tokens"]
    model = Encoder().train()
    batch = ({0: Dim("batch", max=4096)},)
    save(export(model, (tokens[:4],), dynamic_shapes=batch), OUT / "encoder32.pt2")
    save(export(model.bfloat16(), (tokens[:4],), dynamic_shapes=batch), OUT / "encoder16.pt2")
    cases = []
    for case in CASES:
        losses, scale = train(*case)
        others = [train(*case, noise=1e-7 * k)[0] for k in (1, 2, 3)]
        with torch.backends.mkldnn.flags(enabled=False):
            others.append(train(*case)[0])
        spread = max(abs(a - b) / abs(b) for other in others for a, b in zip(other, losses))
        name, precision, lr, clip, first_scale = case
        cases.append({"model": name, "precision": precision, "lr": lr, "clip": clip, "losses": losses, "first_scale": first_scale,
                      "scale": scale,
                      "spread": spread})
        print(name, precision, losses[0], losses[-1], "scale", scale, "spread", spread)
    (OUT / "precision.json").write_text(json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
