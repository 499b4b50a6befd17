#!/usr/bin/env python3
"""Makes programs with several losses, and the losses that PyTorch has in training them with several optimizers.

  make_steps.py [OUT]      needs torch (2.9 or later), safetensors

gan.pt2 is a generator and a discriminator of points on a ring; actor_critic.pt2 has two heads over a shared trunk. Both
are float64. steps_data.safetensors has their inputs, and steps.json for each case the options of `tern export` and the
losses of each step; null where a step is left out (every=3).
"""
import json
import math
import pathlib
import sys

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


def train(name, inputs, steps):
    """`steps`: result with the loss, optimizer, and how many turns lie between two of its steps."""
    model = load(OUT / f"{name}.pt2").module()
    named = dict(model.named_parameters())
    made = [(result, optimizer(named), every) for result, optimizer, every in steps]
    losses, turn = [[] for _ in steps], 0
    while True:
        for first in range(0, len(inputs[0]), BATCH):
            batch = [i[first:first + BATCH] for i in inputs]
            for k, (result, optimizer, every) in enumerate(made):
                if (turn + 1) % every != 0:
                    losses[k].append(None)
                    continue
                model.zero_grad()
                loss = model(*batch)[result]
                loss.backward()
                optimizer.step()
                losses[k].append(loss.item())
            turn += 1
            if turn == STEPS:
                return losses


def of(named, *modules):
    return [p for n, p in named.items() if n.split(".")[0] in modules]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    angle = torch.rand(256) * 2 * math.pi
    data = {"real": torch.stack([angle.cos(), angle.sin()], 1), "noise": torch.randn(256, 4),
            "observation": torch.randn(256, 6), "action": torch.randint(0, 3, (256,)), "reward": torch.randn(256)}
    save_file(data, OUT / "steps_data.safetensors")
    batch = Dim("batch", max=4096)
    gan_inputs, actor_inputs = [data["real"], data["noise"]], [data["observation"], data["action"], data["reward"]]
    for name, model, inputs in (("gan", Gan(), gan_inputs), ("actor_critic", ActorCritic(), actor_inputs)):
        save(export(model.train(), tuple(i[:4] for i in inputs), dynamic_shapes=tuple({0: batch} for _ in inputs)),
             OUT / f"{name}.pt2")
    adam = lambda *modules, **settings: lambda named: torch.optim.Adam(of(named, *modules), **settings)
    sgd = lambda *modules, **settings: lambda named: torch.optim.SGD(of(named, *modules), **settings)
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
        {"name": "actor and critic over a trunk", "model": "actor_critic", "lr": 3e-3, "step": [
            "actor: loss=policy, trains=trunk|actor, optimizer=adam, lr=3e-3",
            "critic: loss=value, freeze=actor, optimizer=sgd, lr=0.02, momentum=0.5"],
         "losses": train("actor_critic", actor_inputs, [
             ("policy", adam("trunk", "actor", lr=3e-3), 1),
             ("value", sgd("trunk", "critic", lr=0.02, momentum=0.5), 1)])},
    ]
    (OUT / "steps.json").write_text(json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases}) + "\n")
    for case in cases:
        print(case["name"], [(losses[0], losses[-1]) for losses in case["losses"]])


if __name__ == "__main__":
    main()
