#!/usr/bin/env python3
"""Makes the cases of tests/data/subclasses.tar.zst: weights that are tensor subclasses of torchao and PyTorch, as torch.export.save keeps them.

  make.py OUT [NAME...]      needs torch 2.12, torchao 0.18 and safetensors
"""
import os
import sys
import warnings

import torch
import torch.nn.functional as F
import torchao.prototype.mx_formats.nvfp4_tensor as nvfp4
from safetensors.torch import save_file
from torch import nn
from torch.sparse import SparseSemiStructuredTensorCUTLASS
from torch.sparse._semi_structured_conversions import sparse_semi_structured_from_dense_cutlass
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import MXTensor, QuantizeTensorToMXKwargs
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, QuantizeTensorToNVFP4Kwargs, per_tensor_amax_to_scale
from torchao.quantization import Float8Tensor, Int8Tensor
from torchao.quantization.granularity import PerGroup, PerRow, PerTensor
from torchao.quantization.quantize_.common.kernel_preference import KernelPreference

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from recorded import plain, save_program, torch_version

warnings.filterwarnings("ignore")
out, wanted = sys.argv[1], sys.argv[2:]
os.makedirs(out, exist_ok=True)
torch.manual_seed(0)


class Weights(nn.Module):
    """A function of parameters and the input."""

    def __init__(self, function, **weights):
        super().__init__()
        self.function = function
        for name, value in weights.items():
            setattr(self, name, nn.Parameter(value, requires_grad=False))

    def forward(self, x):
        return self.function(self, x)


def case(name, module, x, tolerance, golden=None):
    """`tolerance` is a share of the largest output; 0 asks for the same numbers. `golden` gives the result where
    PyTorch's CPU cannot."""
    if wanted and name not in wanted:
        return
    with torch.no_grad():
        program = torch.export.export(module, (x,), strict=False)
        y = (golden or program.module())(x)
    save_program(program, f"{out}/{name}.pt2")
    finite = y[y.isfinite()].abs().max()
    save_file({"in0": plain(x), "out0": plain(y)}, f"{out}/{name}.safetensors",
              metadata={"torch": torch_version(), "rtol": str(tolerance), "atol": f"{tolerance * float(finite):.3g}"})
    print(name)


def linear(module, x):
    return F.linear(x, module.w, getattr(module, "b", None))


def normal(*sizes, dtype=torch.bfloat16):
    return torch.randn(*sizes).to(dtype)


# --- MX: a product with the identity shows every rounded activation
TYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "e2m3": "fp6_e2m3", "e3m2": "fp6_e3m2",
         "e2m1": torch.float4_e2m1fn_x2}


def mx(w, dtype, rule=ScaleCalculationMode.RCEIL, block=32, tiles=False):
    how = QuantizeTensorToMXKwargs(elem_dtype=dtype, block_size=block, scaling_mode=rule,
                                   kernel_preference=KernelPreference.EMULATED, is_swizzled_scales=tiles)
    return MXTensor.to_mx(w, dtype, block, rule, KernelPreference.EMULATED, how, tiles)


magnitudes = torch.randn(96, 128) * torch.exp(torch.randn(96, 1) * 15) * torch.exp(torch.randn(96, 128))
magnitudes[0] = 0
magnitudes[1, 3] = float("nan")
magnitudes[2, 40] = 3.3e38
magnitudes[3] = torch.arange(128) * 0.125  # ties of every type
magnitudes[4] = -torch.arange(128) * 0.25
for row, value in enumerate((448.0, 6.0, 7.5, 84.0, 57344.0), 5):
    magnitudes[row] = value
magnitudes = magnitudes.bfloat16()
for name, dtype in TYPES.items():
    for rule in ScaleCalculationMode:
        case(f"mx_{name}_{rule.value}", Weights(linear, w=mx(torch.eye(128).bfloat16(), dtype, rule)), magnitudes, 0)
    case(f"mx_{name}_weight", Weights(linear, w=mx(magnitudes[10:], dtype)), torch.eye(128).bfloat16() * 4, 0)
    case(f"mx_{name}_tiles", Weights(linear, w=mx(normal(200, 160), dtype, tiles=True), b=normal(200)), normal(2, 3, 160), 1e-2)
case("mx_mm", Weights(lambda m, x: torch.mm(x, m.w.t()), w=mx(normal(64, 128), torch.float8_e4m3fn)), normal(5, 128), 1e-2)
case("mx_addmm", Weights(lambda m, x: torch.addmm(m.b, x, m.w.t()), w=mx(normal(64, 128), torch.float4_e2m1fn_x2), b=normal(64)),
     normal(5, 128), 1e-2)
case("mx_slice", Weights(lambda m, x: F.linear(x, m.w[:32]), w=mx(normal(64, 128), torch.float4_e2m1fn_x2)), normal(5, 128), 1e-2)
case("mx_float32", Weights(linear, w=mx(normal(64, 128, dtype=torch.float32), torch.float8_e4m3fn), b=torch.randn(64)),
     torch.randn(5, 128), 1e-4)
case("mx_block16", Weights(linear, w=mx(normal(64, 128), torch.float8_e5m2, block=16)), normal(5, 128), 1e-2)


# --- NVFP4
def scaled_product(a, b, aten_op, bias=None):
    """What the hardware computes: float32 sums of exact products, then the tensors' scales, then the bias."""
    def blocks(t):
        return NVFP4Tensor(t.qdata, t.scale, t.block_size, t.orig_dtype, None, None, t.is_swizzled_scales).dequantize(torch.float32)

    y = (blocks(a) @ blocks(b)).to(a.orig_dtype)
    scales = [s for s in (a.per_tensor_scale, b.per_tensor_scale) if s is not None]
    if scales:
        y = y * torch.stack(scales).prod().to(a.orig_dtype)
    return y if bias is None else y + bias.to(a.orig_dtype)


nvfp4._addmm_nvfp4_dispatch = scaled_product  # PyTorch has the product only for GPUs


def two_levels(w, outer, tiles=False, how=None, activation=None):
    scale = per_tensor_amax_to_scale(w.abs().max()) if outer else None
    return NVFP4Tensor.to_nvfp4(w, per_tensor_scale=scale, act_per_tensor_scale=activation, is_swizzled_scales=tiles,
                                act_quant_kwargs=how)


for outer in (False, True):
    levels = "two" if outer else "one"
    for tiles in (False, True):
        w = torch.randn(300, 160) * torch.exp(torch.randn(300, 1) * 2)
        case(f"nvfp4_{levels}_levels" + ("_tiles" if tiles else ""), Weights(linear, w=two_levels(w, outer, tiles)), torch.eye(160), 0)
    for kind in ("dynamic", "static", "none"):
        x = normal(5, 128) * 3
        how = QuantizeTensorToNVFP4Kwargs(use_dynamic_per_tensor_scale=kind == "dynamic", is_swizzled_scales=True)
        scale = per_tensor_amax_to_scale(x.abs().max()) if kind == "static" else None
        w = two_levels(normal(64, 128), outer, True, how, scale)
        case(f"nvfp4_{levels}_levels_activations_{kind}", Weights(linear, w=w, b=normal(64)), x, 1e-2)
        case(f"nvfp4_{levels}_levels_activations_{kind}_mm", Weights(lambda m, x: torch.addmm(m.b, x, m.w.t()), w=w, b=normal(64)), x, 1e-2)

w = torch.randn(3, 64, 128).bfloat16()
scales = per_tensor_amax_to_scale(w.abs().amax((1, 2), keepdim=True))
for kind in ("dynamic", "none"):
    how = QuantizeTensorToNVFP4Kwargs(use_dynamic_per_tensor_scale=kind == "dynamic", is_swizzled_scales=False)
    experts = NVFP4Tensor.to_nvfp4(w, per_tensor_scale=scales, is_swizzled_scales=False, act_quant_kwargs=how)
    case(f"nvfp4_experts_{kind}", Weights(lambda m, x: torch.bmm(x, m.w.transpose(-2, -1)), w=experts),
         normal(3, 5, 128) * torch.tensor([1, 8, 64]).view(3, 1, 1).bfloat16(), 1e-2)

# --- integers and float8: PyTorch's programs hold most steps, and reach for inner tensors
for name, granularity in {"row": PerRow(), "tensor": PerTensor()}.items():
    for dtype in (torch.float32, torch.bfloat16):
        w, suffix = normal(64, 128, dtype=dtype), "" if dtype == torch.float32 else "_bf16"
        case(f"int8_{name}{suffix}", Weights(linear, w=Int8Tensor.from_hp(w, granularity=granularity), b=normal(64, dtype=dtype)),
             normal(5, 128, dtype=dtype), 1e-2)
        case(f"float8_{name}{suffix}", Weights(linear, w=Float8Tensor.from_hp(w, granularity=granularity), b=normal(64, dtype=dtype)),
             normal(5, 128, dtype=dtype), 1e-2)
ids = torch.randint(0, 50, (3, 7))
for name, granularity in {"row": PerRow(), "group": PerGroup(16)}.items():
    for dtype in (torch.float32, torch.bfloat16):
        suffix = "" if dtype == torch.float32 else "_bf16"
        case(f"int8_{name}_embedding{suffix}",
             Weights(lambda m, i: F.embedding(i, m.w), w=Int8Tensor.from_hp(normal(50, 64, dtype=dtype), granularity=granularity)), ids, 0)
case("float8_mm", Weights(lambda m, x: torch.mm(x, m.w.t()), w=Float8Tensor.from_hp(torch.randn(50, 64), granularity=PerRow())),
     torch.randn(4, 64), 1e-4)

# --- 2:4 sparse (PyTorch has such products for GPUs alone): results equal those of the whole weight
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    w, b = torch.randn(64, 128).to(dtype), torch.randn(64).to(dtype)
    keep = torch.rand(64, 32, 4).argsort(-1) < 2
    if dtype == torch.float32:  # a single nonzero of two
        keep = (torch.rand(64, 32, 2, 2).argsort(-1) < 1).view(64, 32, 4)
    w = w * keep.view(64, 128)
    kept, meta = sparse_semi_structured_from_dense_cutlass(w)
    sparse = SparseSemiStructuredTensorCUTLASS(w.shape, kept, meta, None, None, None)
    case(f"sparse_cutlass_{str(dtype).split('.')[1]}", Weights(linear, w=sparse, b=b), torch.randn(32, 128).to(dtype),
         1e-5 if dtype == torch.float32 else 1e-2, lambda x: (x.double() @ w.double().t() + b.double()).to(dtype))
