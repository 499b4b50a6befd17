#!/usr/bin/env python3
"""Trains a small CNN on scikit-learn's handwritten digits and exports it.

  train.py [OUT]      needs torch (2.9 or later), scikit-learn, safetensors

Writes digits.pt2, the trained program with a dynamic batch, and digits_test.safetensors: the 360 held-out images
(`images`, [360, 1, 8, 8], float32 in 0..1), their `labels` (int64) and the `logits` that PyTorch computes for them.
The data set is the test part of "Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, UCI, 1998),
1,797 images of 8 by 8 pixels, which comes with scikit-learn.
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

SEED = 20
HELD_OUT = 360
EPOCHS = 60
BATCH = 64


class Digits(nn.Module):
    """Two convolutions, each normalised, one pooling, two linear layers: 38,378 parameters."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Dropout(0.25),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, 64),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(64, 10),
        )

    def forward(self, images):
        return self.classifier(self.features(images))


def load():
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target, dtype=torch.int64)
    train, held_out = train_test_split(
        range(len(labels)), test_size=HELD_OUT, random_state=SEED, stratify=digits.target
    )
    return (images[train], labels[train]), (images[held_out], labels[held_out])


def train(model, images, labels):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    model.train()
    for epoch in range(EPOCHS):
        for batch in torch.randperm(len(labels)).split(BATCH):
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {loss.item():.4f}")


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    (images, labels), (test_images, test_labels) = load()
    model = Digits()
    train(model, images, labels)

    model.eval()
    with torch.no_grad():
        logits = model(test_images)
    accuracy = (logits.argmax(1) == test_labels).float().mean().item()
    print(f"held out: {accuracy:.2%} of {len(test_labels)}")

    batch = torch.export.Dim("batch", min=1, max=4096)
    program = torch.export.export(model, (test_images[:2].clone(),), dynamic_shapes={"images": {0: batch}})
    torch.export.save(program, out / "digits.pt2")
    tensors = {"images": test_images, "labels": test_labels, "logits": logits}
    save_file(
        {name: tensor.contiguous() for name, tensor in tensors.items()},
        out / "digits_test.safetensors",
        metadata={"torch": torch.__version__.split("+")[0]},
    )


if __name__ == "__main__":
    main()
