"""Makes what all conversions start from: peers.prepare MODEL FOLDER writes model.pt2 and data.safetensors.

data.safetensors holds the inputs and, from PyTorch in float64, the output that every runtime has to give.
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file

from .models import make


def main(name, folder):
    module, inputs = make(name)
    with torch.no_grad():
        program = torch.export.export(module, inputs)
        exact = make(name)[0].double()(*(x.double() if x.is_floating_point() else x for x in inputs))
    torch.export.save(program, folder / "model.pt2")
    tensors = {f"in{i}": x.contiguous() for i, x in enumerate(inputs)} | {"out0": exact.float().contiguous()}
    save_file(tensors, folder / "data.safetensors", metadata={"rtol": "1e-3", "atol": "1e-4"})


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
