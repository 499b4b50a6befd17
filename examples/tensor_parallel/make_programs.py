#!/usr/bin/env python3
"""A decoder of Llama's kind in parts, for one, two or four ranks: llama_N_R.pt2 is what rank R of N runs.

  pip install torch safetensors
  make_programs.py OUT [--size tiny|small] [--ranks 1,2,4] [--steps 16]

Also writes tokens.safetensors, the inputs of the steps, and logits.safetensors, what PyTorch gets for them with one rank.
"""
import argparse
import os
import socket
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
import torch.multiprocessing as multiprocessing
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn


@dataclass
class Sizes:
    width: int
    hidden: int
    layers: int
    heads: int
    groups: int  # heads of keys and values
    words: int
    positions: int


SIZES = {"tiny": Sizes(32, 64, 2, 4, 4, 64, 32), "small": Sizes(512, 1376, 8, 8, 4, 4096, 256)}


class Part(nn.Module):
    """A layer whose output channels (columns) or input channels (rows) are this rank's part."""

    def __init__(self, whole, rank, ranks, dim):
        super().__init__()
        self.weight = nn.Parameter(whole.chunk(ranks, dim)[rank].clone(), requires_grad=False)

    def forward(self, x):
        return F.linear(x, self.weight)


def add_up(x, ranks):
    return collectives.all_reduce(x, "sum", dist.group.WORLD) if ranks > 1 else x


class Norm(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weight


def rotate(x, angle):
    a, b = x.chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


class Attention(nn.Module):
    """This rank's heads. Keys and values of earlier positions are states."""

    def __init__(self, s, weights, rank, ranks):
        super().__init__()
        self.ranks, self.heads, self.groups, self.each = ranks, s.heads // ranks, s.groups // ranks, s.width // s.heads
        self.query, self.key, self.value = (Part(weights(n * self.each, s.width), rank, ranks, 0)
                                            for n in (s.heads, s.groups, s.groups))
        self.out = Part(weights(s.width, s.width), rank, ranks, 1)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, self.groups, s.positions, self.each))

    def forward(self, x, position, angle, mask):
        split = lambda y, n: y.view(1, -1, n, self.each).transpose(1, 2)
        q = rotate(split(self.query(x), self.heads), angle)
        self.keys.index_copy_(2, position, rotate(split(self.key(x), self.groups), angle))
        self.values.index_copy_(2, position, split(self.value(x), self.groups))
        y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask, enable_gqa=True)
        return add_up(self.out(y.transpose(1, 2).reshape(1, -1, self.heads * self.each)), self.ranks)


class FeedForward(nn.Module):
    def __init__(self, s, weights, rank, ranks):
        super().__init__()
        self.ranks = ranks
        self.gate, self.up = (Part(weights(s.hidden, s.width), rank, ranks, 0) for _ in range(2))
        self.down = Part(weights(s.width, s.hidden), rank, ranks, 1)

    def forward(self, x):
        return add_up(self.down(F.silu(self.gate(x)) * self.up(x)), self.ranks)


class Llama(nn.Module):
    def __init__(self, s, rank, ranks):
        super().__init__()
        generator = torch.Generator().manual_seed(1)

        def weights(rows, columns):
            w = torch.randn(rows, columns, generator=generator) / columns**0.5
            return w.bfloat16().float()  # the file stores fewer bits

        self.ranks, self.each = ranks, s.width // s.heads
        self.words = nn.Parameter(weights(s.words, s.width), requires_grad=False)
        self.layers = nn.ModuleList()
        for _ in range(s.layers):
            self.layers.append(nn.ModuleList([
                Norm(torch.ones(s.width)), Attention(s, weights, rank, ranks),
                Norm(torch.ones(s.width)), FeedForward(s, weights, rank, ranks)]))
        self.norm = Norm(torch.ones(s.width))
        self.logits = Part(weights(s.words, s.width), rank, ranks, 0)
        self.register_buffer("places", torch.arange(s.positions), persistent=False)
        frequencies = 10000.0 ** (-torch.arange(self.each // 2) / (self.each // 2))
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, token, position):
        """token, position: int64[1]. The logits of the word that comes next."""
        x = self.words[token].unsqueeze(0)
        angle = position.unsqueeze(-1) * self.frequencies
        mask = (self.places <= position).view(1, 1, 1, -1)
        for norm1, attention, norm2, feed in self.layers:
            x = x + attention(norm1(x), position, angle, mask)
            x = x + feed(norm2(x))
        logits = self.logits(self.norm(x))[0]
        if self.ranks == 1:
            return logits
        # parts of rows, stacked
        return collectives.all_gather_tensor(logits.t().contiguous(), 0, dist.group.WORLD).t()


def step(i, words):
    return torch.tensor([(7 * i + 3) % words]), torch.tensor([i])


def run(rank, ranks, port, out, size, steps):
    if ranks > 1:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
    torch.set_num_threads(1)
    sizes = SIZES[size]
    model = Llama(sizes, rank, ranks).eval()
    with torch.no_grad():
        program = torch.export.export(model, step(0, sizes.words), strict=False)
        torch.export.save(program, f"{out}/llama_{ranks}_{rank}.pt2")
        if ranks == 1:
            inputs, outputs = {}, {}
            for i in range(steps):
                inputs[f"call{i}.token"], inputs[f"call{i}.position"] = step(i, sizes.words)
                outputs[f"call{i}.output"] = model(*step(i, sizes.words)).contiguous()
            save_file(inputs, f"{out}/tokens.safetensors")
            save_file(outputs, f"{out}/logits.safetensors")
    if ranks > 1:
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--steps", type=int, default=16)
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    for ranks in map(int, arguments.ranks.split(",")):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        multiprocessing.spawn(run, (ranks, port, arguments.out, arguments.size, arguments.steps), nprocs=ranks)


if __name__ == "__main__":
    main()
