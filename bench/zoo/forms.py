"""The forms of a module: float32, bfloat16, and int8 by PyTorch's PT2E quantization. Inputs and outputs stay float32."""
import torch
from torch import nn
from torch.utils import _pytree as pytree


def tensors(tree):
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


class Tensors(nn.Module):
    """Takes and returns flat tensors: floats as float32, whatever the module computes in."""

    def __init__(self, module, dtype):
        super().__init__()
        self.module, self.dtype = module, dtype

    def forward(self, *inputs):
        cast = [x.to(self.dtype) if x.is_floating_point() else x for x in inputs]
        result = self.module(*cast)
        result = tensors(tuple(result.values()) if isinstance(result, dict) else result)
        return tuple(x.float() if x.is_floating_point() and x.dtype != torch.float64 else x for x in result)


def quantized(module, inputs):
    """Static int8 for the x86 quantizer's operators, calibrated with the inputs."""
    from torchao.quantization.pt2e import allow_exported_model_train_eval
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    try:  # the quantizer finds layers by their modules, which strict export records
        program = torch.export.export(module, inputs, strict=True)
    except Exception:
        program = torch.export.export(module, inputs, strict=False)
    prepared = prepare_pt2e(program.module(), quantizer)
    prepared(*inputs)
    return allow_exported_model_train_eval(convert_pt2e(prepared))


def in_form(module, inputs, form):
    dtype = torch.bfloat16 if form == "bfloat16" else torch.float32
    wrapped = Tensors(module.to(dtype), dtype).eval()
    with torch.no_grad():
        return quantized(wrapped, inputs) if form == "int8" else wrapped
