#!/usr/bin/env python3
"""Makes the cases of tests/data/values.tar.zst: values that differ from PyTorch's unless each rule of it is known, run by PyTorch.

  make.py OUT [NAME...]      needs torch 2.15 and safetensors; NAME: only cases whose names hold one of these

The modules of this folder have the cases, a family each.
"""
import copy
import importlib
import os
import sys
import warnings

import torch
from safetensors.torch import save_file
from torch import nn
from torch.export import export
from torch.utils._pytree import tree_leaves

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from recorded import record, save_program, torch_version

warnings.filterwarnings("ignore")


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return tuple(x for x in tree_leaves(self.function(*args)) if isinstance(x, torch.Tensor))


def main():
    out, wanted = sys.argv[1], sys.argv[2:]
    os.makedirs(out, exist_ok=True)

    def case(name, function, args, exact=False, results=None):
        """`exact`: bit for bit. `results`: those that Tern documents where PyTorch has none."""
        if wanted and not any(w in name for w in wanted):
            return
        torch.manual_seed(0)
        module = function if isinstance(function, nn.Module) else Call(function)
        program = export(module, copy.deepcopy(args), strict=False)
        save_program(program, f"{out}/{name}.pt2")
        metadata = {"torch": torch_version()} | ({"rtol": "0", "atol": "0"} if exact else {})
        if results is None:
            tensors = record(module, args, "call0.")
        else:
            tensors = {f"call0.in{i}": x for i, x in enumerate(args)} | {f"call0.out{i}": x for i, x in enumerate(results)}
        save_file(tensors, f"{out}/{name}.safetensors", metadata=metadata)

    for family in ("resize", "operands", "specials", "integers", "mixed", "chunked_losses"):
        importlib.import_module(family).make(case)


if __name__ == "__main__":
    main()
