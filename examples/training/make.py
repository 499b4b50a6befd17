#!/usr/bin/env python3
"""Exports a small CNN for handwritten digits, untrained and in training mode.

  make.py [OUT]      needs torch (2.9 or later)

Writes digits.pt2. `tern export --train` makes an archive of it that `tern train` trains (docs/training.md).
"""
import pathlib
import sys

import torch
from torch import nn
from torch.export import Dim, export, save


class Digits(nn.Module):
    """Two convolutions with batch norms, a pooling, dropout and a linear layer."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Dropout(0.25),
        )
        self.classifier = nn.Linear(16 * 4 * 4, 10)

    def forward(self, images):
        return self.classifier(self.features(images).flatten(1))


torch.manual_seed(0)
model = Digits().train()
batch = {0: Dim("batch", max=4096)}
program = export(model, (torch.randn(4, 1, 8, 8),), dynamic_shapes=(batch,))
save(program, pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "digits.pt2")
