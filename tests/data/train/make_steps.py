#!/usr/bin/env python3
"""Makes programs with several losses, and the losses that PyTorch has in training them with several optimizers.

  make_steps.py [OUT] [losses]      needs torch (2.9 or later), safetensors; `losses`: leaves the programs as they are

gan.pt2 is a generator and a discriminator of points on a ring; actor_critic.pt2 has two heads over a shared trunk. Both
are float64. steps_data.safetensors has their inputs, and steps.json for each case the options of `tern export` and the
losses of each step; null where a step is left out (every=3). Cases with `accumulate` add up the gradients of so many
batches of `batch` samples, whose last one is smaller. Cases with `ranks` are in steps.json's `parallel`: one
DistributedDataParallel of so many ranks, whose gradients each step averages.
"""
import json
import math
import pathlib
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.export import Dim, export, load, save

OUT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
STEPS, BATCH = 100, 32


class Gan(nn.Module):
    """Returns the loss of the discriminator, the loss of the generator, and the generated points."""

    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, real, noise):
        made = self.generator(noise)
        loss = nn.functional.binary_cross_entropy_with_logits
        seen, known = self.discriminator(real), self.discriminator(made.detach())
        judged = self.discriminator(made)
        return {"discriminator_loss": loss(seen, torch.ones_like(seen)) + loss(known, torch.zeros_like(known)),
                "generator_loss": loss(judged, torch.ones_like(judged)), "made": made}


class ActorCritic(nn.Module):
    """Returns the loss of the policy (advantage times log-probability) and of the value, over a shared trunk."""

    def __init__(self):
        super().__init__()
        self.trunk, self.actor, self.critic = nn.Linear(6, 16), nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, observation, action, reward):
        x = torch.tanh(self.trunk(observation))
        value = self.critic(x).squeeze(1)
        chosen = self.actor(x).log_softmax(1).gather(1, action.unsqueeze(1)).squeeze(1)
        return {"policy": -(chosen * (reward - value).detach()).mean(), "value": (value - reward).square().mean()}


class OneLoss(nn.Module):
    """Returns one result of a program: DistributedDataParallel then finds the parameters that the result is without."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, result, *inputs):
        return self.model(*inputs)[result]


def train(name, inputs, steps, batch=BATCH, accumulate=1, wrap=lambda model: model):
    """`steps`: result with the loss, optimizer, and how many turns lie between two of its steps."""
    model = load(OUT / f"{name}.pt2").module()
    named = dict(model.named_parameters())
    optimizers = [(result, optimizer(named), every) for result, optimizer, every in steps]
    model = wrap(OneLoss(model))
    losses, turn = [[] for _ in steps], 0
    while True:
        batches = list(zip(*(i.split(batch) for i in inputs)))
        for first in range(0, len(batches), accumulate):
            shared = batches[first:first + accumulate]
            for k, (result, optimizer, every) in enumerate(optimizers):
                if (turn + 1) % every != 0:
                    losses[k].append(None)
                    continue
                model.zero_grad()
                total = 0
                for inputs_of_batch in shared:
                    loss = model(result, *inputs_of_batch) / len(shared)
                    loss.backward()
                    total += loss.item()
                optimizer.step()
                losses[k].append(total)
            turn += 1
            if turn == STEPS:
                return losses


def adam(*modules, **settings):
    return lambda named: torch.optim.Adam(of(named, *modules), **settings)


def sgd(*modules, **settings):
    return lambda named: torch.optim.SGD(of(named, *modules), **settings)


# A GAN, and actor and critic: `tern export`'s steps, and PyTorch's.
GAN_RULES = ["discriminator: loss=discriminator_loss, trains=discriminator, optimizer=adam, lr=2e-3, betas=0.5/0.999",
             "generator: loss=generator_loss, trains=generator, optimizer=sgd, lr=0.05, momentum=0.9, every=2"]
GAN_STEPS = [("discriminator_loss", adam("discriminator", lr=2e-3, betas=(0.5, 0.999)), 1),
             ("generator_loss", sgd("generator", lr=0.05, momentum=0.9), 2)]
CRITIC_RULES = ["actor: loss=policy, trains=trunk|actor, optimizer=adam, lr=3e-3",
                "critic: loss=value, freeze=actor, optimizer=sgd, lr=0.02, momentum=0.5"]
CRITIC_STEPS = [("policy", adam("trunk", "actor", lr=3e-3), 1),
                ("value", sgd("trunk", "critic", lr=0.02, momentum=0.5), 1)]
SHARED = [{"model": "gan", "lr": 2e-3, "step": GAN_RULES}, {"model": "actor_critic", "lr": 3e-3, "step": CRITIC_RULES}]
STEPS_OF = {"gan": GAN_STEPS, "actor_critic": CRITIC_STEPS}


def inputs_of(data, model):
    return [data[name] for name in (("real", "noise") if model == "gan" else ("observation", "action", "reward"))]


def rank_losses(rank, ranks, file, results):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=ranks)
    data = load_file(OUT / "steps_data.safetensors")
    for case in SHARED:
        own = [i[rank::ranks] for i in inputs_of(data, case["model"])]
        mine = train(case["model"], own, STEPS_OF[case["model"]], BATCH // ranks,
                     wrap=lambda model: nn.parallel.DistributedDataParallel(model, find_unused_parameters=True))
        losses = torch.tensor([[math.nan if loss is None else loss for loss in step] for step in mine], dtype=torch.float64)
        torch.distributed.all_reduce(losses)
        means = [[None if math.isnan(loss) else loss / ranks for loss in step] for step in losses.tolist()]
        if rank == 0:
            results.put({"name": case["model"], **case, "ranks": ranks, "losses": means})
    torch.distributed.destroy_process_group()


def parallel(ranks=2):
    spawn = torch.multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        results = spawn.SimpleQueue()
        processes = [spawn.Process(target=rank_losses, args=(r, ranks, f"{folder}/ranks", results)) for r in range(ranks)]
        for p in processes:
            p.start()
        cases = [results.get() for _ in SHARED]
        for p in processes:
            p.join()
    return cases


def of(named, *modules):
    return [p for n, p in named.items() if n.split(".")[0] in modules]


def make_programs():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    angle = torch.rand(256) * 2 * math.pi
    data = {"real": torch.stack([angle.cos(), angle.sin()], 1), "noise": torch.randn(256, 4),
            "observation": torch.randn(256, 6), "action": torch.randint(0, 3, (256,)), "reward": torch.randn(256)}
    save_file(data, OUT / "steps_data.safetensors")
    batch = Dim("batch", max=4096)
    for name, model in (("gan", Gan()), ("actor_critic", ActorCritic())):
        inputs = inputs_of(data, name)
        save(export(model.train(), tuple(i[:4] for i in inputs), dynamic_shapes=tuple({0: batch} for _ in inputs)),
             OUT / f"{name}.pt2")


def main():
    torch.set_num_threads(1)
    if "losses" not in sys.argv[2:]:
        make_programs()
    data = load_file(OUT / "steps_data.safetensors")
    gan_inputs, actor_inputs = inputs_of(data, "gan"), inputs_of(data, "actor_critic")
    cases = [
        {"name": "gan", "model": "gan", "lr": 2e-3, "step": [
            "discriminator: loss=discriminator_loss, trains=discriminator, optimizer=adam, lr=2e-3, betas=0.5/0.999",
            "generator: loss=generator_loss, trains=generator, optimizer=adam, lr=1e-3, betas=0.5/0.999"],
         "losses": train("gan", gan_inputs, [
             ("discriminator_loss", adam("discriminator", lr=2e-3, betas=(0.5, 0.999)), 1),
             ("generator_loss", adam("generator", lr=1e-3, betas=(0.5, 0.999)), 1)])},
        {"name": "gan with more steps of the discriminator", "model": "gan", "lr": 1e-2, "step": [
            "discriminator: loss=0, trains=discriminator, optimizer=rmsprop, lr=1e-2",
            "generator: loss=1, trains=generator, optimizer=sgd, lr=0.05, momentum=0.9, every=3"],
         "losses": train("gan", gan_inputs, [
             ("discriminator_loss", lambda named: torch.optim.RMSprop(of(named, "discriminator"), lr=1e-2), 1),
             ("generator_loss", sgd("generator", lr=0.05, momentum=0.9), 3)])},
        {"name": "actor and critic over a trunk", "model": "actor_critic", "lr": 3e-3, "step": CRITIC_RULES,
         "losses": train("actor_critic", actor_inputs, CRITIC_STEPS)},
        *({"name": f"{case['model']}, three batches a step", **case, "batch": 24, "accumulate": 3,
           "losses": train(case["model"], inputs_of(data, case["model"]), STEPS_OF[case["model"]], 24, 3)}
          for case in SHARED),
    ]
    (OUT / "steps.json").write_text(json.dumps({
        "torch": torch.__version__.split("+")[0], "cases": cases, "parallel": parallel()}) + "\n")
    for case in cases:
        print(case["name"], [(losses[0], losses[-1]) for losses in case["losses"]])


if __name__ == "__main__":
    main()
