#!/usr/bin/env python3
"""Makes eight_bits.safetensors: torchao's trees of codes, the codes that it gives to numbers, and steps of its
optimizers of 8 bits, which tests/tools/eight_bits_test.cpp follows.

  eight_bits.py FILE      needs torch 2.12 and torchao 0.18
"""
import sys


import torch
from safetensors.torch import save_file
from torchao.optim import Adam8bit, AdamW8bit
from torchao.optim.quant_utils import quantize_8bit_with_qmap, scale_tensor
from torchao.optim.subclass_8bit import get_qmap_signed, get_qmap_unsigned

SIZES = ((16, 256), (65, 63))  # the second stays float32: its last block is not full
STEPS = 6
CASES = {"adamw": (AdamW8bit, {"lr": 1e-2}),
         "adam": (Adam8bit, {"lr": 1e-2, "weight_decay": 0.1, "betas": (0.8, 0.99)})}


def numbers(count, seed):
    """The same in C++: multiples of 1/1000, smaller by a power of ten from block to block."""
    i = torch.arange(count)
    return ((i * 7919 + seed * 104729) % 2001 - 1000).to(torch.float32) / 1000 * 10.0 ** -(i // 256 % 5).to(torch.float32)


def blocks():
    """Blocks of large, tiny, zero, single and special numbers."""
    torch.manual_seed(1)
    rows = [torch.randn(256), torch.randn(256) * 1e-20, torch.zeros(256), torch.randn(256) ** 9, torch.logspace(-9, 0, 256),
            torch.linspace(-1, 1, 256), torch.full((256,), -3.0), torch.cat([torch.ones(1), torch.zeros(255)]),
            torch.cat([torch.tensor([float("nan")]), torch.randn(255)]), torch.cat([torch.tensor([float("inf")]), torch.randn(255)])]
    return torch.cat(rows)


tensors = {"blocks": blocks()}
for sign, values in (("signed", get_qmap_signed()), ("unsigned", get_qmap_unsigned())):
    qmap = torch.tensor(values)
    x = tensors["blocks"] if sign == "signed" else tensors["blocks"].abs()
    scaled, scale = scale_tensor(x, 256)
    # Boundaries of codes: the middles of neighbours, and adjacent floats.
    middles = (qmap[:-1] + qmap[1:]) / 2
    edges = torch.cat([middles, middles.nextafter(torch.tensor(2.0)), middles.nextafter(torch.tensor(-2.0)), torch.ones(3)])
    tensors |= {f"{sign}.values": qmap, f"{sign}.codes": quantize_8bit_with_qmap(scaled, qmap), f"{sign}.scales": scale,
                f"{sign}.edges": edges, f"{sign}.edge_codes": quantize_8bit_with_qmap(edges, qmap)}
for name, (optimizer, options) in CASES.items():
    params = [torch.nn.Parameter(numbers(a * b, k).view(a, b)) for k, (a, b) in enumerate(SIZES)]
    o = optimizer(params, **options)
    for step in range(STEPS):
        for k, p in enumerate(params):
            p.grad = numbers(p.numel(), 10 * step + k + 5).view(p.shape)
        o.step()
    for k, p in enumerate(params):
        tensors[f"{name}.p{k}"] = p.detach()
        for key in ("exp_avg", "exp_avg_sq"):
            if key in o.state[p] and hasattr(o.state[p][key], "codes"):
                tensors |= {f"{name}.{key}{k}": o.state[p][key].codes, f"{name}.{key}_scale{k}": o.state[p][key].scale}
save_file({k: v.contiguous().clone() for k, v in tensors.items()}, sys.argv[1], metadata={"torch": torch.__version__.split("+")[0], "torchao": "0.18.0"})
