#!/usr/bin/env python3
"""Milliseconds of a data-parallel training step: `tern train --group` and PyTorch's DistributedDataParallel, in turns.

  train_ranks.py BUILD --torch PYTHON [--model encoder|resnet18] [--ranks 2] [--batch 16] [--epochs 4] [--rounds 3]

PYTHON needs torch (and torchvision for resnet18). Each rank has one thread. An epoch has four steps: of each run the
median epoch counts, without the first; the table has the median of the rounds, also with one rank alone.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "scripts"))
import groups

WORKER = '''
import sys, time, json, torch
from torch import nn
name, batch, epochs, rank, ranks, folder, job = sys.argv[1], *map(int, sys.argv[2:6]), *sys.argv[6:8]
torch.set_num_threads(1)
torch.manual_seed(0)
if name == "resnet18":
    import torchvision
    model, loss_axis = torchvision.models.resnet18(num_classes=10).train(), 1
    inputs, targets = torch.randn(batch * 4, 3, 224, 224), torch.randint(0, 10, (batch * 4,))
else:
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(1000, 256)
            layer = nn.TransformerEncoderLayer(256, 4, 1024, 0.0, batch_first=True, norm_first=True)
            self.layers, self.head = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), nn.Linear(256, 1000)
        def forward(self, tokens):
            return self.head(self.layers(self.tokens(tokens)))
    model, loss_axis = Encoder().train(), -1
    inputs = torch.randint(0, 1000, (batch * 4, 128))
    targets = inputs.roll(1, 1)
if job == "make":
    import numpy
    from torch.export import Dim, export, save
    save(export(model, (inputs[:2],), dynamic_shapes=({0: Dim("batch", max=4096)},)), folder + "/model.pt2")
    argument = "tokens" if name == "encoder" else "x"
    numpy.savez(folder + "/data.npz", **{argument: inputs.numpy(), "target": targets.numpy()})
    sys.exit()
if ranks > 1:
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
times = []
for epoch in range(epochs):
    start = time.perf_counter()
    for at in range(0, 4 * batch, batch):
        part = slice(at + rank, at + batch, ranks)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs[part]).movedim(loss_axis, 1), targets[part])
        loss.backward()
        optimizer.step()
        loss.item()
    times.append(time.perf_counter() - start)
if rank == 0:
    print(json.dumps(times))
'''


def together(ranks, command_of_rank):
    """What rank 0 prints."""
    port = str(groups.free_port())
    processes = [subprocess.Popen(command_of_rank(r), stdout=subprocess.PIPE, text=True, env=os.environ | {
        "RANK": str(r), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(r), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
        "OMP_NUM_THREADS": "1"}) for r in range(ranks)]
    texts = [p.communicate()[0] for p in processes]
    if any(p.returncode for p in processes):
        sys.exit("a rank has failed")
    return texts[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--torch", required=True, metavar="PYTHON")
    parser.add_argument("--model", choices=("encoder", "resnet18"), default="encoder")
    for name, value in (("ranks", 2), ("batch", 16), ("epochs", 4), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    a = parser.parse_args()
    tern = os.path.realpath(f"{a.build}/tern")
    with tempfile.TemporaryDirectory() as folder:
        worker = [a.torch, "-c", WORKER, a.model, str(a.batch)]
        subprocess.run([*worker, "0", "0", "1", folder, "make"], check=True)
        axis = ["--class-axis", "-1"] if a.model == "encoder" else []
        subprocess.run([tern, "export", f"{folder}/model.pt2", "--train", "--loss", "cross_entropy", *axis, "--optimizer",
                        "adamw", "--data-parallel", "-o", f"{folder}/model.tern"], check=True, stdout=subprocess.DEVNULL)

        def tern_step(ranks):
            command = [tern, "train", f"{folder}/model.tern", "--data", f"{folder}/data.npz", "--batch", str(a.batch),
                       "--epochs", str(a.epochs), "--no-shuffle", "--threads", "1", "-o", f"{folder}/out.tern", "--json"]
            text = together(ranks, lambda r: command + (["--group", "gloo"] if ranks > 1 else []))
            return statistics.median(e["seconds"] for e in json.loads(text)["epochs"][1:]) * 1e3 / 4

        def torch_step(ranks):
            text = together(ranks, lambda r: [*worker, str(a.epochs), str(r), str(ranks), folder, "train"])
            return statistics.median(json.loads(text)[1:]) * 1e3 / 4

        print(f"{a.model}, batch {a.batch}, AdamW, one thread a rank; ms of a step\nranks  Tern  PyTorch")
        for ranks in (1, a.ranks):
            times = [(tern_step(ranks), torch_step(ranks)) for _ in range(a.rounds)]
            mine, its = (statistics.median(column) for column in zip(*times))
            print(f"{ranks:5} {mine:6.1f} {its:7.1f}   {mine / its:.2f}")


if __name__ == "__main__":
    main()
