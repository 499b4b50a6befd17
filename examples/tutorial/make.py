#!/usr/bin/env python3
"""Runs the Python block of docs/tutorial.md, and leaves out of tutorial.pt2 the paths of the machine that runs it.

  make.py [OUT]      needs torch 2.9 or later. Prints what the model generates; examples/tutorial/expected.txt holds that.
"""
import os
import pathlib
import re
import sys

import torch

page = pathlib.Path(__file__).resolve().parents[2] / "docs/tutorial.md"
block = re.search(r"<!-- file model.py -->\n```python\n(.*?)```\n", page.read_text(), re.S)
save = torch.export.save


def save_without_paths(program, path):
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    save(program, path)


torch.export.save = save_without_paths
os.chdir(sys.argv[1] if len(sys.argv) > 1 else ".")
exec(compile(block[1], "model.py", "exec"), {"__name__": "__main__"})
