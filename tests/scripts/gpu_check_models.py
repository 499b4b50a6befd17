"""Models of real sizes for the speeds of gpu_check.py: gpu_check_models.py FOLDER NAME writes NAME.pt2 of bench/peers with
float32 weights, NAME-bf16.pt2 with bfloat16, and beside each a .safetensors file with its inputs and what PyTorch gives in
float64 for the same weights."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import torch  # noqa: E402
from peers.models import make  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

# Error of the last result caused by rounding each layer.
TOLERANCES = {torch.float32: "1e-3", torch.bfloat16: "1e-1"}


def cast(x, dtype):
    return x.to(dtype) if x.is_floating_point() else x


def write(folder, name, dtype):
    module, inputs = make(name)
    module, inputs = module.to(dtype), tuple(cast(x, dtype) for x in inputs)
    with torch.no_grad():
        program = torch.export.export(module, inputs)
        file = folder / f"{name}{'-bf16' if dtype == torch.bfloat16 else ''}.pt2"
        torch.export.save(program, file.with_suffix(".part.pt2"))
        exact = module.double()(*(cast(x, torch.float64) for x in inputs))  # the weights of `program` change here
    tensors = {f"in{i}": x.contiguous() for i, x in enumerate(inputs)} | {"out0": exact.to(dtype).contiguous()}
    save_file(tensors, file.with_suffix(".safetensors"), metadata={"rtol": TOLERANCES[dtype], "atol": TOLERANCES[dtype]})
    file.with_suffix(".part.pt2").rename(file)


if __name__ == "__main__":
    torch.set_num_threads(4)
    for kind in TOLERANCES:
        write(pathlib.Path(sys.argv[1]), sys.argv[2], kind)
