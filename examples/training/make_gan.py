#!/usr/bin/env python3
"""Exports a generator and a discriminator of points on a ring, untrained.

  make_gan.py [OUT]      needs torch (2.9 or later)

Writes gan.pt2. Its results are the loss of the discriminator, the loss of the generator, and the generated points;
`tern export --train --step ...` makes a step of each loss (docs/training.md).
"""
import pathlib
import sys

import torch
from torch import nn
from torch.export import Dim, export, save


def layers(sizes, activation):
    """Linear layers with an activation between them."""
    made = []
    for rows, columns in zip(sizes, sizes[1:]):
        made += [nn.Linear(rows, columns), activation()]
    return nn.Sequential(*made[:-1])


class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = layers([8, 64, 64, 2], nn.ReLU)
        self.discriminator = layers([2, 64, 64, 1], lambda: nn.LeakyReLU(0.2))

    def forward(self, real, noise):
        loss = nn.functional.binary_cross_entropy_with_logits
        made = self.generator(noise)
        seen, known, judged = self.discriminator(real), self.discriminator(made.detach()), self.discriminator(made)
        return {
            "discriminator_loss": loss(seen, torch.ones_like(seen)) + loss(known, torch.zeros_like(known)),
            "generator_loss": loss(judged, torch.ones_like(judged)),
            "made": made,
        }


torch.manual_seed(0)
batch = {0: Dim("batch", max=4096)}
program = export(Gan().train(), (torch.randn(4, 2), torch.randn(4, 8)), dynamic_shapes=(batch, batch))
save(program, pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "gan.pt2")
