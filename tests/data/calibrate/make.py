"""Makes what `tests/scripts/calibrate.py` compares with: a small program, samples, and the errors that PyTorch finds.

Run with torch 2.12 and torchao 0.18, in a neutral folder, because a .pt2 file names the script that made it:
cp tests/data/calibrate/make.py /tmp/calibrate.py && cd /tmp && python calibrate.py FOLDER

errors.json holds, for each format, signal to quantization noise in dB and cosine: of each layer alone on the activations
of floats, of its value in the quantized model, and of the result. All of it is computed in float64 from the weights that
torchao quantizes and dequantizes.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
from torchao.quantization.quantize_.workflows.float8.float8_tensor import Float8Tensor
from torchao.quantization.quantize_.workflows.int8.int8_tensor import Int8Tensor
from torchao.quantization.quantize_.workflows.intx.intx_unpacked_to_int8_tensor import IntxUnpackedToInt8Tensor
from torchao.quantization.granularity import PerRow

WORDS, WIDTH, HIDDEN, SAMPLES = 48, 64, 96, 3
HOSTILE = "up<b>&\"'"  # a module's name, for XML


class Model(torch.nn.Module):
    """Layers of a transformer without attention: an embedding, two residual feed-forward blocks, a head."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(WORDS, WIDTH)
        block = lambda: torch.nn.ModuleDict({HOSTILE: torch.nn.Linear(WIDTH, HIDDEN), "down": torch.nn.Linear(HIDDEN, WIDTH)})
        self.blocks = torch.nn.ModuleList([block(), block()])
        self.head = torch.nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words):
        x = self.embed(words)
        for block in self.blocks:
            x = x + block["down"](torch.nn.functional.silu(block[HOSTILE](x)))
        return self.head(x)


def mx(w, element):
    return MXTensor.to_mx(w, element, 32, ScaleCalculationMode.FLOOR).dequantize(torch.float32)


FORMATS = {
    "int8": lambda w: Int8Tensor.from_hp(w, PerRow()).dequantize(),
    "int4": lambda w: IntxUnpackedToInt8Tensor.from_hp(w, (1, 32), torch.int4).dequantize(),
    "float8": lambda w: Float8Tensor.from_hp(w).dequantize(),
    "mxfp8_e4m3": lambda w: mx(w, torch.float8_e4m3fn),
    "mxfp4": lambda w: mx(w, torch.float4_e2m1fn_x2),
    "nvfp4": lambda w: NVFP4Tensor.to_nvfp4(w, per_tensor_scale=per_tensor_amax_to_scale(w.abs().max())).dequantize(),
}


def layers_of(model):
    return {name: m for name, m in model.named_modules() if isinstance(m, (torch.nn.Linear, torch.nn.Embedding))}


def recorded(model, samples):
    """Inputs and outputs of each layer, and the results, over all samples."""
    inputs, outputs = {}, {}
    hooks = []
    for name, layer in layers_of(model).items():
        def hook(_, args, out, name=name):
            inputs.setdefault(name, []).append(args[0])
            outputs.setdefault(name, []).append(out)
        hooks.append(layer.register_forward_hook(hook))
    results = [model(s) for s in samples]
    for h in hooks:
        h.remove()
    return inputs, outputs, results


def error(reference, actual):
    r, a = (torch.cat([t.flatten() for t in part]) for part in (reference, actual))
    return {"sqnr_db": (10 * torch.log10((r * r).sum() / ((a - r) ** 2).sum())).item(),
            "cosine": ((r * a).sum() / (r.norm() * a.norm())).item()}


def errors_of(model, samples, quantize):
    floats = model.double()
    inputs, outputs, results = recorded(floats, samples)
    changed = Model().double()
    changed.load_state_dict(floats.state_dict())
    own = {}
    for name, layer in layers_of(changed).items():
        layer.weight.data = quantize(layer.weight.data.float()).double()
        own[name] = error(outputs[name], [layer(x) for x in inputs[name]])
    _, accumulated, changed_results = recorded(changed, samples)
    model.float()
    return {"own": own, "accumulated": {n: error(outputs[n], accumulated[n]) for n in own},
            "result": error(results, changed_results)}


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(5)
    model = Model().eval()
    words = torch.export.Dim("words", min=1, max=64)
    samples = [torch.randint(0, WORDS, (4 + 3 * i,)) for i in range(SAMPLES)]
    program = torch.export.export(model, (samples[0],), dynamic_shapes=({0: words},))
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)  # paths of this machine
    torch.export.save(program, folder / "blocks.pt2")
    save_file({f"call{i}.words": s for i, s in enumerate(samples)}, folder / "samples.safetensors")
    with torch.no_grad():
        errors = {name: errors_of(model, samples, quantize) for name, quantize in FORMATS.items()}
    (folder / "errors.json").write_text(json.dumps(errors, indent=1) + "\n")


main()
