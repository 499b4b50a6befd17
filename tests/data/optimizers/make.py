#!/usr/bin/env python3
"""Makes the cases of tests/data/optimizers.tar.zst: one step of each optimizer of torch.optim, fused, by operators over
lists and by loops over parameters; and steps.safetensors, which tests/exporter/optimizers_test.cpp follows.

  make.py OUT [NAME...]      needs torch 2.12 and safetensors
  make.py --steps FILE
"""
import importlib
import os
import sys
import warnings

import torch
from safetensors.torch import save_file
from torch import nn
from torch.export import export

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from recorded import record, save_program, torch_version

warnings.filterwarnings("ignore")

# Optimizer: the state behind each list argument of its function; and arguments of the function from the constructor's.
BETAS = {"beta1": lambda o: o["betas"][0], "beta2": lambda o: o["betas"][1]}
FUNCTIONS = {
    "sgd": ({"momentum_buffer_list": "momentum_buffer"}, {}),
    "adam": ({"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "max_exp_avg_sqs": "max_exp_avg_sq",
              "state_steps": "step"}, BETAS),
    "adamw": ({"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "max_exp_avg_sqs": "max_exp_avg_sq",
               "state_steps": "step"}, BETAS),
    "adagrad": ({"state_sums": "sum", "state_steps": "step"}, {}),
    "rmsprop": ({"square_avgs": "square_avg", "grad_avgs": "grad_avg", "momentum_buffer_list": "momentum_buffer",
                 "state_steps": "step"}, {}),
    "adadelta": ({"square_avgs": "square_avg", "acc_deltas": "acc_delta", "state_steps": "step"}, {}),
    "adamax": ({"exp_avgs": "exp_avg", "exp_infs": "exp_inf", "state_steps": "step"}, BETAS),
    "nadam": ({"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "mu_products": "mu_product", "state_steps": "step"},
              BETAS),
    "radam": ({"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "state_steps": "step"}, BETAS),
    "asgd": ({"axs": "ax", "mus": "mu", "etas": "eta", "state_steps": "step"}, {}),
    "rprop": ({"prevs": "prev", "step_sizes": "step_size", "state_steps": "step"},
              {"etaminus": lambda o: o["etas"][0], "etaplus": lambda o: o["etas"][1],
               "step_size_min": lambda o: o["step_sizes"][0], "step_size_max": lambda o: o["step_sizes"][1]}),
}
CLASSES = {"sgd": "SGD", "adam": "Adam", "adamw": "AdamW", "adagrad": "Adagrad", "rmsprop": "RMSprop",
           "adadelta": "Adadelta", "adamax": "Adamax", "nadam": "NAdam", "radam": "RAdam", "asgd": "ASGD", "rprop": "Rprop",
           "adafactor": "Adafactor", "muon": "Muon"}
FUSED = ("sgd", "adam", "adamw", "adagrad")
OPTIONS = {
    "sgd": {"plain": {"lr": 0.1}, "momentum": {"lr": 0.1, "momentum": 0.9, "dampening": 0.25, "weight_decay": 0.1},
            "nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}},
    "adam": {"plain": {"lr": 0.01}, "amsgrad": {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1, "maximize": True}},
    "adamw": {"plain": {"lr": 0.01}, "amsgrad": {"lr": 0.01, "amsgrad": True, "betas": (0.8, 0.99)}},
    "adagrad": {"plain": {"lr": 0.1}, "decay": {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1,
                                                "initial_accumulator_value": 0.5}},
    "rmsprop": {"plain": {}, "momentum": {"momentum": 0.9, "weight_decay": 0.1},
                "centered": {"centered": True, "momentum": 0.5}},
    "adadelta": {"plain": {}, "decay": {"weight_decay": 0.1, "rho": 0.8}},
    "adamax": {"plain": {}, "decay": {"weight_decay": 0.1}},
    "nadam": {"plain": {}, "decoupled": {"weight_decay": 0.1, "decoupled_weight_decay": True}},
    "radam": {"plain": {"lr": 0.1}, "decoupled": {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
              "rectified": {"lr": 0.1, "betas": (0.8, 0.7), "weight_decay": 0.1}},
    "asgd": {"plain": {}, "averaging": {"t0": 1, "lambd": 0.1, "weight_decay": 0.1}},
    "rprop": {"plain": {"lr": 0.1}},
    "adafactor": {"plain": {}, "decay": {"weight_decay": 0.1, "lr": 0.1}},
    "muon": {"plain": {}, "plain_momentum": {"nesterov": False, "adjust_lr_fn": "match_rms_adamw", "lr": 0.1}},
}
SIZES = ((3, 5), (7,), (2, 3, 2))


def numbers(seed, sizes, dtype):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(sizes, generator=generator, dtype=dtype)


def trained(name, options, sizes, dtype, steps, keep=None, **more):
    """The optimizer after some steps from numbers that a seed gives; `keep` sees parameters and gradients."""
    params = [nn.Parameter(numbers(i, s, dtype)) for i, s in enumerate(sizes)]
    optimizer = getattr(torch.optim, CLASSES[name])(params, **options, **more)
    for step in range(steps):
        for i, p in enumerate(params):
            p.grad = numbers(100 * step + 10 + i, p.shape, dtype)
        before = [p.detach().clone() for p in params]
        optimizer.step()
        if keep is not None:
            keep(step, before, [p.grad for p in params], [p.detach().clone() for p in params])
    return optimizer, params


class Step(nn.Module):
    def __init__(self, name, options, how):
        super().__init__()
        self.name, self.how = name, how
        states, renamed = FUNCTIONS[name]
        self.lists = list(states)
        self.function = getattr(importlib.import_module("torch.optim." + name), name)
        import inspect
        known = inspect.signature(self.function).parameters
        self.options = {k: v(options) for k, v in renamed.items()}
        self.options |= {k: v for k, v in options.items() if k in known and k not in states and
                         k not in ("foreach", "fused", "capturable", "differentiable")}
        for flag in ("foreach", "fused"):
            if flag in known:
                self.options[flag] = how == flag
        if "capturable" in known and how != "fused":
            self.options["capturable"] = True  # the number of the step is a tensor of the program's

    def forward(self, params, grads, states, **scaling):
        lists = dict(zip(self.lists, states)) or {"none": [None] * len(params)}
        self.function(params, grads, *lists.values(), **self.options, **scaling)
        return params[0].sum()  # the step changes its inputs


class ScaledStep(Step):
    """As torch.amp's GradScaler has it: the step divides gradients, and is left out where found_inf is not 0."""

    def forward(self, params, grads, states, grad_scale, found_inf):
        return super().forward(params, grads, states, grad_scale=grad_scale, found_inf=found_inf)


def cases(out, wanted):
    for name, variants in OPTIONS.items():
        if name not in FUNCTIONS:
            continue  # uses more than operators on the lists
        for variant, options in variants.items():
            for how in (("fused",) if name in FUSED else ()) + ("foreach", "loop"):
                case = f"{name}_{variant}_{how}"
                if wanted and case not in wanted:
                    continue
                optimizer, params = trained(name, options, SIZES, torch.float32, 7)
                states = [[optimizer.state[p][key] for p in params if optimizer.state[p].get(key) is not None]
                          for key in FUNCTIONS[name][0].values()]
                args = ([p.detach() for p in params], [p.grad for p in params], states)
                module = Step(name, optimizer.defaults, how)
                if name == "sgd" and not states[0]:
                    module.lists, args = [], (*args[:2], [])
                try:
                    program = export(module, args, strict=False)
                except (RuntimeError, AssertionError, TypeError) as error:  # torch.export cannot trace all optimizers
                    print(f"{case}: not exported: {str(error).splitlines()[0]}")
                    continue
                save_program(program, f"{out}/{case}.pt2")
                # PyTorch runs the same operators: a float32 step elsewhere changes results.
                reference = module if how == "fused" else program.module()
                save_file(record(reference, args, "call0."), f"{out}/{case}.safetensors", metadata={"torch": torch_version()})
                print(case)
    for name in FUSED:
        case = f"{name}_scaled_fused"
        if not wanted or case in wanted:
            scaled_case(out, name, case)


def scaled_case(out, name, case):
    """Calls with found_inf 0 and 1. The second changes nothing, and says so of all that the first changes."""
    optimizer, params = trained(name, {"lr": 0.01} | ({"momentum": 0.9} if name == "sgd" else {}), SIZES,
                                torch.float32, 7)
    states = [[optimizer.state[p][key] for p in params if key in optimizer.state[p]]
              for key in FUNCTIONS[name][0].values()]
    module = ScaledStep(name, optimizer.defaults, "fused")
    calls = [([p.detach() for p in params], [p.grad for p in params], states, torch.tensor(4.0), torch.tensor(inf))
             for inf in (0.0, 1.0)]
    save_program(export(module, calls[0], strict=False), f"{out}/{case}.pt2")
    tensors = {}
    for i, args in enumerate(calls):
        tensors |= record(module, args, f"call{i}.")
    for key in [k.removeprefix("call0.mut") for k in tensors if k.startswith("call0.mut")]:
        tensors.setdefault(f"call1.mut{key}", tensors[f"call1.in{key}"].clone())
    save_file(tensors, f"{out}/{case}.safetensors", metadata={"torch": torch_version()})
    print(case)


def steps(file):
    torch.set_default_dtype(torch.float64)
    tensors = {}
    for name, variants in OPTIONS.items():
        sizes = ((3, 5), (5, 3)) if name == "muon" else SIZES
        for variant, options in variants.items():
            def keep(step, before, grads, after):
                for i, (p, g, q) in enumerate(zip(before, grads, after)):
                    group = "matrices" if name == "muon" else "all"  # the same of all optimizers
                    if step == 0:
                        tensors[f"{group}.p{i}"] = p
                    tensors[f"{group}.g{i}.{step}"] = g.clone()
                    tensors[f"{name}_{variant}.p{i}.{step}"] = q
            trained(name, options, sizes, torch.float64, 6, keep)
    save_file(tensors, file, metadata={"torch": torch_version()})


if sys.argv[1] == "--steps":
    steps(sys.argv[2])
else:
    os.makedirs(sys.argv[1], exist_ok=True)
    cases(sys.argv[1], sys.argv[2:])
