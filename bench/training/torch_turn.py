"""PyTorch's side: a training step for each line of standard input, and its milliseconds, elapsed and of processors.

    torch_turn.py MODEL eager|compile THREADS
"""
import sys
import time

import torch

from . import models


def main():
    name, how, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(threads)
    model, x, sizes, axis = models.make(name)
    target = torch.randint(0, 1000, sizes)
    optimizer = models.MODELS[name][1](model.parameters())

    def loss_of(x, target):
        return torch.nn.functional.cross_entropy(model(x).movedim(axis, 1), target)

    if how == "compile":
        loss_of = torch.compile(loss_of)

    def step():
        optimizer.zero_grad()
        loss = loss_of(x, target)
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    for _ in sys.stdin:
        start, cpu = time.perf_counter(), time.process_time()
        step()
        print((time.perf_counter() - start) * 1e3, (time.process_time() - cpu) * 1e3, flush=True)


main()
