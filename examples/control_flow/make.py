#!/usr/bin/env python3
"""Exports a program with a loop and a choice that depend on data: make.py [OUT] writes kepler.pt2 (torch 2.9 or later).

Kepler's equation, mean = E - e sin(E), has no formula for the eccentric anomaly E. Newton's method finds it: a
`while_loop` until no orbit of the batch changes by more than 1e-12. `cond` chooses where to begin: at the mean anomaly, or
at pi where an orbit is so long that the steps from there might diverge.
"""
import os
import pathlib
import sys
import tempfile

import torch
from torch import nn
from torch._higher_order_ops import while_loop
from torch.export import Dim, export, save


class Kepler(nn.Module):
    def forward(self, mean, e):
        """Both float64 [orbits]; returns E [orbits] and the number of steps."""
        start = torch.cond((e > 0.8).any(), lambda m: torch.full_like(m, torch.pi), lambda m: m.clone(), (mean,))

        def goes_on(anomaly, change, steps):
            return (change > 1e-12).any()

        def newton(anomaly, change, steps):
            step = (anomaly - e * torch.sin(anomaly) - mean) / (1 - e * torch.cos(anomaly))
            return anomaly - step, step.abs(), steps + 1

        anomaly, _, steps = while_loop(goes_on, newton, (start, torch.ones_like(start), torch.tensor(0)))
        return anomaly, steps


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    os.chdir(tempfile.mkdtemp())
    orbits = {0: Dim("orbits", max=1 << 20)}
    program = export(Kepler(), (torch.rand(3).double(), torch.rand(3).double()), dynamic_shapes=(orbits, orbits))
    for graph in program.graph_module.modules():  # removes the paths of this machine
        for node in graph.graph.nodes:
            node.meta.pop("stack_trace", None)
    save(program, "kepler.pt2")
    (out / "kepler.pt2").write_bytes(pathlib.Path("kepler.pt2").read_bytes())
