#!/usr/bin/env python3
"""Makes the cases of tests/data/quantized.tar.zst: operators and small models that PyTorch's and torchao's tools quantize.

  make.py OUT [--seed N] [NAME...]      needs torch 2.12, torchao 0.18, executorch and safetensors

A name is the beginning of a case's. Operators give the same bits unless their case says otherwise; models may differ by
a share of their largest result, as a number between two steps can be rounded either way.
"""
import argparse
import os
import sys
import warnings

import torch
from safetensors.torch import save_file
from torch import nn
from torch.export import Dim, export

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from recorded import record, save_program, torch_version

warnings.filterwarnings("ignore")
import torch.ao.quantization.fx._decomposed  # noqa: E402,F401  registers quantized_decomposed
import torchao  # noqa: E402,F401
import torchao.quantization.quant_primitives  # noqa: E402,F401

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("out")
options.add_argument("names", nargs="*")
options.add_argument("--seed", type=int, default=0)
options = options.parse_args()
os.makedirs(options.out, exist_ok=True)
torch.manual_seed(options.seed)
aten, qd, ao = torch.ops.aten, torch.ops.quantized_decomposed, torch.ops.torchao
f32, f16, bf16, f64 = torch.float32, torch.float16, torch.bfloat16, torch.float64
i8, u8, i16, i32, i64 = torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64
e4m3, e5m2, e8m0 = torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu
short = lambda t: str(t).split(".")[1]
made = 0


class Call(nn.Module):
    def __init__(self, function, **buffers):
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *args):
        return self.function(self, *args) if list(self.buffers()) else self.function(*args)


def wanted(name):
    return not options.names or any(name.startswith(n) for n in options.names)


def case(name, function, *calls, dynamic=None, decompose=False, share=None, golden=None, **buffers):
    """`calls` are argument tuples. `share`: of the largest result, the tolerance of each; bits are equal without it.
    `golden`: what gives the results where PyTorch's CPU lacks the operator."""
    global made
    if not wanted(name):
        return
    module = function if isinstance(function, nn.Module) else Call(function, **buffers)
    with torch.no_grad():
        program = export(module, calls[0], dynamic_shapes=dynamic, strict=False)
        if decompose:
            program = program.run_decompositions()
    save_program(program, f"{options.out}/{name}.pt2")
    tensors = {}
    for c, args in enumerate(calls):
        tensors |= record(golden or program.module(), args, f"call{c}.")
    largest = max((float(x.double().abs().max()) for n, x in tensors.items() if ".out" in n and x.numel()), default=0)
    tolerance = {"rtol": "0", "atol": "0"} if share is None else {"rtol": "1e-3" if share > 1e-5 else "1e-6", "atol": f"{share * largest:.3g}"}
    save_file(tensors, f"{options.out}/{name}.safetensors", metadata={"torch": torch_version()} | tolerance)
    made += 1


def numbers(*sizes, dtype=f32, spread=3.0):
    """Numbers with some that lie in the middle between two steps of 1/8, zeros and large ones."""
    x = torch.randn(*sizes) * spread
    flat = x.view(-1)
    flat[:: 7] = torch.round(flat[::7] * 16) / 16
    flat[3::11] = 0
    if flat.numel() > 20:
        flat[5], flat[6] = 60.0, -55.5
    return x.to(dtype)


def integers(*sizes, dtype=i8, least=None, most=None):
    info = torch.iinfo(dtype)
    return torch.randint(info.min if least is None else least, (info.max if most is None else most) + 1, sizes, dtype=dtype)


def scales(*sizes, dtype=f32):
    return (torch.rand(*sizes) / 16 + 0.01).to(dtype)


def decomposed():
    n = numbers
    for t, (lo, hi) in {u8: (0, 255), i8: (-128, 127), i16: (-32768, 32767), i32: (-(2**31), 2**31 - 1), torch.uint16: (0, 65535)}.items():
        zero = 3 if t != u8 else 128
        case(f"qd_per_tensor_{short(t)}", lambda x: (lambda q: (q, qd.dequantize_per_tensor(q, 0.0371, zero, lo, hi, t)))(qd.quantize_per_tensor(x, 0.0371, zero, lo, hi, t)), (n(5, 9),))
    for t in (f16, bf16):
        case(f"qd_per_tensor_{short(t)}", lambda x: (lambda q: (q, qd.dequantize_per_tensor(q, 0.0371, 7, 0, 255, u8, out_dtype=t)))(qd.quantize_per_tensor(x, 0.0371, 7, 0, 255, u8)), (n(5, 9, dtype=t),))
    for t in (e4m3, e5m2):
        case(f"qd_per_tensor_{short(t)}", lambda x: (lambda q: (q.to(f32), qd.dequantize_per_tensor(q, 0.125, 0, -448, 448, t)))(qd.quantize_per_tensor(x, 0.125, 0, -448, 448, t)), (n(5, 9),))
    case("qd_per_tensor_narrow", lambda x: qd.quantize_per_tensor(x, 0.5, 0, -8, 7, i8), (n(40),))
    tensor = lambda x, s, z: (lambda q: (q, qd.dequantize_per_tensor.tensor(q, s, z, -128, 127, i8)))(qd.quantize_per_tensor.tensor(x, s, z, -128, 127, i8))
    case("qd_per_tensor_tensor", tensor, (n(6, 7), torch.tensor(0.0531), torch.tensor(-9)))
    case("qd_per_tensor_tensor_double", tensor, (n(6, 7), torch.tensor([0.05313], dtype=f64), torch.tensor([4])))
    case("qd_per_tensor_tensor_bf16", lambda x, s, z: (lambda q: (q, qd.dequantize_per_tensor.tensor(q, s, z, -128, 127, i8, out_dtype=bf16)))(qd.quantize_per_tensor.tensor(x, s, z, -128, 127, i8)), (n(6, 7, dtype=bf16), torch.tensor([0.0531], dtype=f64), torch.tensor([4])))
    case("qd_per_tensor_tensor2", lambda x, s, z, lo, hi: (lambda q: (q, qd.dequantize_per_tensor.tensor2(q, s, z, lo, hi, i8)))(qd.quantize_per_tensor.tensor2(x, s, z, lo, hi, i8)),
         (n(6, 7), torch.tensor([0.0531]), torch.tensor([4]), torch.tensor([-100]), torch.tensor([90])))
    case("qd_per_tensor_dynamic", lambda x: qd.dequantize_per_tensor(qd.quantize_per_tensor(x, 0.1, 0, -128, 127, i8), 0.1, 0, -128, 127, i8), (n(5, 9),), (n(2, 9),), dynamic=(({0: Dim("n", max=9)},),))
    for axis, sizes in ((0, (4, 3, 2)), (1, (4, 3, 2)), (2, (4, 3, 2)), (-1, (4, 5))):
        c = sizes[axis]
        for zt in (i64, i32, f32):
            case(f"qd_per_channel_{axis % len(sizes)}of{len(sizes)}_{short(zt)}", lambda x, s, z: (lambda q: (q, qd.dequantize_per_channel(q, s, z, axis % len(sizes), -128, 127, i8)))(qd.quantize_per_channel(x, s, z, axis % len(sizes), -128, 127, i8)),
                 (n(*sizes), scales(c), integers(c, dtype=i64, least=-9, most=9).to(zt)))
    case("qd_per_channel_double", lambda x, s, z: (lambda q: (q, qd.dequantize_per_channel(q, s, z, 0, 0, 255, u8)))(qd.quantize_per_channel(x, s, z, 0, 0, 255, u8)), (n(4, 6), scales(4, dtype=f64), integers(4, dtype=i64, least=0, most=255)))
    case("qd_per_channel_no_zero", lambda q, s: (qd.dequantize_per_channel(q, s, None, 1, -128, 127, i8), qd.dequantize_per_channel(q, s, None, 1, -128, 127, i8, out_dtype=bf16)), (integers(3, 6), scales(6)))
    case("qd_per_channel_wraps", lambda q, s, z: qd.dequantize_per_channel(q, s, z, 0, -128, 127, i8), (integers(3, 6), scales(3), integers(3)))
    case("qd_per_channel_int32", lambda q, s, z: qd.dequantize_per_channel(q, s, z, 0, -(2**31), 2**31 - 1, i32), (integers(8, dtype=i32), scales(8) / 4096, torch.zeros(8, dtype=i64)))
    case("qd_per_channel_bf16", lambda x, s, z: (lambda q: (q, qd.dequantize_per_channel(q, s, z, 0, -128, 127, i8, out_dtype=bf16)))(qd.quantize_per_channel(x, s, z, 0, -128, 127, i8)), (n(4, 6, dtype=bf16), scales(4), torch.zeros(4, dtype=i64)))
    for t in (f16, bf16):
        case(f"qd_per_channel_scale_{short(t)}", lambda q, s, z: qd.dequantize_per_channel(q, s, z, 0, -128, 127, i8), (integers(4, 9), scales(4, dtype=t), integers(4, dtype=i64, least=-200, most=200)))
        case(f"qd_group_int16_{short(t)}", lambda q, s, z: qd.dequantize_per_channel_group(q, s, z, -32768, 32767, i16, 4, f32), (integers(3, 8, dtype=i16), scales(3, 2, dtype=t), integers(3, 2, dtype=i32, least=-2000, most=2000)))
    for t in (f32, f16, bf16):
        case(f"qd_choose_{short(t)}", lambda x: qd.choose_qparams.tensor(x, -128, 127, 1.1920928955078125e-07, i8), (n(4, 7, dtype=t),), (n(4, 7, dtype=t).abs() + 1,), (torch.zeros(4, 7, dtype=t),), (-n(4, 7, dtype=t).abs(),))
        case(f"qd_choose_uint8_{short(t)}", lambda x: qd.choose_qparams.tensor(x, 0, 255, 1e-5, u8), (n(4, 7, dtype=t),), (n(4, 7, dtype=t) * 1e-5,))
        for q in (i8, u8):
            case(f"qd_choose_symmetric_{short(q)}_{short(t)}", lambda x: qd.choose_qparams_symmetric.tensor(x, -127, 127, 1e-4, q), (n(4, 7, dtype=t),), (n(4, 7, dtype=t) * 1e-3,))
        case(f"qd_choose_per_token_{short(t)}", lambda x: qd.choose_qparams_per_token(x, i8), (n(2, 3, 7, dtype=t),), (n(2, 3, 7, dtype=t) * 1e-6,))
        case(f"qd_choose_per_token_asymmetric_{short(t)}", lambda x: qd.choose_qparams_per_token_asymmetric(x, i8), (n(2, 3, 7, dtype=t),), (n(2, 3, 7, dtype=t).abs() + 2,))
        case(f"qd_choose_per_token_asymmetric_impl_{short(t)}", lambda x: qd._choose_qparams_per_token_asymmetric_impl(x, i8), (n(2, 3, 7, dtype=t),))
        case(f"qd_per_token_{short(t)}", lambda x: (lambda s, z: (lambda q: (q, qd.dequantize_per_token(q, s, z, -128, 127, i8, t)))(qd.quantize_per_token(x, s, z, -128, 127, i8)))(*qd.choose_qparams_per_token_asymmetric(x, i8)), (n(2, 3, 9, dtype=t),))
        case(f"qd_per_token_symmetric_{short(t)}", lambda x: (lambda s, z: (lambda q: (q, qd.dequantize_per_token(q, s, z, -127, 127, i8, f32)))(qd.quantize_per_token(x, s, z, -127, 127, i8)))(*qd.choose_qparams_per_token(x, i8)), (n(2, 3, 9, dtype=t),))
        case(f"qd_group_{short(t)}", lambda x, s, z: (lambda q: (q, qd.dequantize_per_channel_group(q, s, z, -8, 7, i8, 4, t)))(qd.quantize_per_channel_group(x, s, z, -8, 7, i8, 4)), (n(3, 12, dtype=t), scales(3, 3) * 8, integers(3, 3, dtype=i32, least=-2, most=2)))
    case("qd_per_token_scales_f32", lambda x, s, z: (lambda q: (q, qd.dequantize_per_token(q, s, z, -128, 127, i8, f32)))(qd.quantize_per_token(x, s, z, -128, 127, i8)), (n(4, 9), scales(4, 1), integers(4, 1, dtype=i32, least=-5, most=5)))
    case("qd_group_no_zero", lambda q, s: qd.dequantize_per_channel_group(q, s, None, -8, 7, i8, 4, f32), (integers(3, 12, least=-8, most=7), scales(3, 3)))
    case("qd_group_longer", lambda x, s, z: qd.quantize_per_channel_group(x, s, z, -8, 7, i8, 128), (n(3, 12), scales(3, 1) * 8, torch.zeros(3, 1, dtype=i32)))
    case("qd_fake_quant_per_channel", lambda x, s, z: qd.fake_quant_per_channel(x, s, z, 1, -8, 7), (n(3, 4, 5), scales(4) * 8, integers(4, dtype=i32, least=-2, most=2)))
    case("qd_convert_element_type", lambda x: (qd.convert_element_type.no_fuse(x, bf16), qd.convert_element_type.no_fuse(x, i32)), (n(3, 7),))


def executorch():
    """Operators that ExecuTorch adds. Its sums have no kernel in Python: the results are those of the patterns they replace."""
    import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401
    index = torch.tensor([[0, 3, 1], [4, 4, 2]])
    for name, bits in (("byte", 8), ("4bit", 4), ("2bit", 2)):
        op, lo, hi = getattr(qd, f"embedding_{name}"), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        width = 16 * bits // 8
        table = integers(5, width) if bits == 8 else integers(5, width, dtype=u8)
        for groups in (1, 4):
            s = scales(5, groups) if groups > 1 else scales(5)
            case(f"qd_embedding_{name}_{groups}", lambda w, s, i: op(w, s, None, lo, hi, i), (table, s, index))
            case(f"qd_embedding_{name}_{groups}_zero", lambda w, s, z, i: op(w, s, z, lo, hi, i), (table, s, torch.randn(s.shape), index))
        case(f"qd_embedding_{name}_dtype", lambda w, s, i: op.dtype(w, s, None, lo, hi, i, dtype=f16), (table, scales(5), index))
    lib = torch.library.Library("quantized_decomposed", "IMPL")
    dq = lambda q, s, z: qd.dequantize_per_tensor(q, s, z, 0, 255, u8)
    two = lambda relu: lambda a, sa, za, la, ha, b, sb, zb, lb, hb, so, zo, lo, ho: qd.quantize_per_tensor((torch.relu if relu else lambda x: x)(dq(a, sa, za) + dq(b, sb, zb)), so, zo, lo, ho, u8)
    number = lambda a, sa, za, la, ha, t, b, so, zo, lo, ho, out: qd.quantize_per_tensor(dq(a, sa, za) + b, so, zo, lo, ho, out)
    for name, f in (("add", two(False)), ("add_relu", two(True)), ("add.scalar", number)):
        lib.impl(name, f, "CompositeExplicitAutograd")
    a, b = integers(4, 9, dtype=u8), integers(4, 9, dtype=u8)
    for name, op in (("add", qd.add), ("add_relu", qd.add_relu)):
        case(f"qd_{name}", lambda a, b: op(a, 0.03, 120, 0, 255, b, 0.05, 7, 0, 255, 0.06, 90, 0, 255), (a, b))
    case("qd_add_number", lambda a: qd.add.scalar(a, 0.03, 120, 0, 255, u8, 1.7, 0.06, 90, 0, 255, u8), (a,))


def affine():
    n = numbers
    blocks = {"tensor": (4, 6, 8), "channel": (1, 6, 8), "middle": (4, 1, 8), "token": (1, 1, 8), "group": (1, 1, 4), "square": (2, 3, 4), "mixed": (4, 2, 1)}
    mappings = ("SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR", "ASYMMETRIC")
    def there_and_back(block, mapping, target, lo, hi, t, out=None, **more):
        def f(x):
            s, z = ao.choose_qparams_affine(x, mapping, block, target, lo, hi, **more)
            q = ao.quantize_affine(x, block, s, z, target, lo, hi)
            return s, z, q, ao.dequantize_affine(q, block, s, z, target, lo, hi, output_dtype=out or t)
        return f
    for name, block in blocks.items():
        for mapping in mappings:
            case(f"ao_affine_{name}_{mapping.lower()}", there_and_back(block, mapping, i8, -8, 7, f32, eps=1e-6, zero_point_dtype=i32), (n(4, 6, 8),))
    for t in (f32, f16, bf16):
        for target in (i8, u8) if t == f16 else (i8, u8, i16, i32):
            for mapping in mappings if target == i8 else ("ASYMMETRIC",):
                case(f"ao_affine_{short(t)}_{short(target)}_{mapping.lower()}", there_and_back((1, 8), mapping, target, None, None, t), (n(5, 16, dtype=t),), (n(5, 16, dtype=t).abs() + 1,))
        case(f"ao_affine_{short(t)}_scale_f32", there_and_back((1, 8), "ASYMMETRIC", i8, -128, 127, t, scale_dtype=f32, zero_point_dtype=i8), (n(5, 16, dtype=t),))
        case(f"ao_affine_{short(t)}_scale_bf16", there_and_back((1, 8), "ASYMMETRIC", u8, 0, 15, t, scale_dtype=bf16, zero_point_dtype=i32, eps=1e-3), (n(5, 16, dtype=t) * 1e-2,))
        case(f"ao_affine_{short(t)}_to_f32", there_and_back((1, 16), "SYMMETRIC", i8, -127, 127, t, f32, zero_point_dtype=i32), (n(5, 16, dtype=t),))
        case(f"ao_affine_{short(t)}_keepdim", there_and_back((1, 8), "ASYMMETRIC", i8, -8, 7, t, keepdim=True), (n(5, 16, dtype=t),))
        case(f"ao_affine_{short(t)}_zero_f32", lambda q, s, z: ao.dequantize_affine(q, (1, 4), s, z, i8, -8, 7, output_dtype=t), (integers(3, 8), scales(3, 2, dtype=t), torch.randn(3, 2)))
    case("ao_affine_keepdim_tensor", there_and_back((4, 6), "SYMMETRIC", i8, -8, 7, f32, keepdim=True, zero_point_dtype=i8), (n(4, 6),))
    case("ao_affine_vector", there_and_back((4,), "ASYMMETRIC", u8, 0, 3, f32), (n(12),))
    case("ao_affine_five_axes", there_and_back((1, 2, 3, 1, 2), "SYMMETRIC", i8, -2, 1, f32, zero_point_dtype=i8), (n(2, 4, 3, 2, 4),))
    case("ao_affine_elements", lambda x, s, z: ao.quantize_affine(x, (1, 1), s, z, i8), (n(3, 4), scales(3, 4), integers(3, 4, least=-3, most=3)))
    case("ao_affine_no_zero_point", lambda q, s: (ao.dequantize_affine(q, (1, 4), s, None, i8), ao.dequantize_affine(q, (1, 4), s, None, i8, output_dtype=bf16)), (integers(3, 8), scales(3, 2)))
    case("ao_affine_token_dynamic", lambda x: ao.choose_qparams_affine(x, "ASYMMETRIC", (1, 8), i8, -128, 127, 1e-5, f32, i8), (n(5, 8),), (n(2, 8),), dynamic=(({0: Dim("n", max=9)},),))
    case("ao_affine_decomposed", there_and_back((1, 8), "ASYMMETRIC", i8, -8, 7, bf16), (n(5, 16, dtype=bf16),), decompose=True)
    case("ao_affine_float8", lambda x, s, z: ao.quantize_affine(x, (1, 8), s, z, e4m3).to(f32), (n(5, 8), scales(5, 1), torch.zeros(5, 1, dtype=i32)))
    for t in (f32, bf16):
        for name, block in (("tensor", (4, 8)), ("row", (1, 8)), ("block", (2, 4))):
            for target in (e4m3, e5m2):
                case(f"ao_float8_{name}_{short(target)}_{short(t)}", lambda x: (lambda s: (lambda q: (s, q.to(f32), ao.dequantize_affine_float8_non_decomposed(q, s, t)))(ao.quantize_affine_float8_non_decomposed(x, s, target)))(ao.choose_scale_float8(x, block, target)), (n(4, 8, dtype=t),))
        case(f"ao_float8_bounds_{short(t)}", lambda x: (ao.choose_scale_float8(x, (1, 8), e4m3, f32, 0.5, 20.0), ao.choose_scale_float8(x, (1, 8), e4m3, e8m0)), (n(4, 8, dtype=t),))
    import torchao.kernel.intmm_triton  # noqa: F401
    lib = torch.library.Library("torchao", "IMPL")
    lib.impl("int_matmul", lambda a, b: a.int() @ b.int(), "CPU")
    lib.impl("int_scaled_matmul", lambda a, b, s: (a.int() @ b.int()).to(s.dtype) * s, "CPU")
    case("ao_int_matmul", lambda a, b: ao.int_matmul(a, b), (integers(5, 16), integers(16, 8)))
    for t in (f32, bf16):
        case(f"ao_int_scaled_matmul_{short(t)}", lambda a, b, s: ao.int_scaled_matmul(a, b, s), (integers(5, 16), integers(16, 8), scales(5, 1, dtype=t).expand(5, 8).contiguous()))


def fake():
    n = numbers
    for t in (f32, f16, bf16):
        case(f"fake_tensor_{short(t)}", lambda x: (aten.fake_quantize_per_tensor_affine(x, 0.0731, 5, -128, 127), *aten.fake_quantize_per_tensor_affine_cachemask(x, 0.31, 5, 0, 15)), (n(6, 7, dtype=t),))
        case(f"fake_tensor_qparams_{short(t)}", lambda x, s, z: aten.fake_quantize_per_tensor_affine.tensor_qparams(x, s, z, -8, 7), (n(6, 7, dtype=t), torch.tensor([0.31]), torch.tensor([2], dtype=i32)))
        case(f"fake_channel_{short(t)}", lambda x, s, z: (aten.fake_quantize_per_channel_affine(x, s, z, 1, -8, 7), *aten.fake_quantize_per_channel_affine_cachemask(x, s, z, 1, -8, 7)), (n(3, 4, 5, dtype=t), scales(4) * 8, integers(4, dtype=i32, least=-2, most=2)))
    case("fake_channel_float_zero", lambda x, s, z: aten.fake_quantize_per_channel_affine_cachemask(x, s, z, 0, -8, 7), (n(4, 9), scales(4) * 8, torch.randn(4)))
    for on in (0, 1):
        case(f"fake_switched_{on}", lambda x, s, z, on: aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, s, z, on, -8, 7), (n(6, 7), torch.tensor([0.31]), torch.tensor([2], dtype=i32), torch.tensor([on])))
    case("fake_trained_tensor", lambda x, s, z: aten._fake_quantize_learnable_per_tensor_affine(x, s, z, -8, 7), (n(6, 7), torch.tensor([0.31]), torch.tensor([1.5])), (n(6, 7), torch.tensor([0.31]), torch.tensor([-9.2])))
    case("fake_trained_channel", lambda x, s, z: aten._fake_quantize_learnable_per_channel_affine(x, s, z, 1, -8, 7), (n(6, 7), scales(7) * 8, torch.randn(7) * 5))
    one = lambda v, t: torch.tensor([v], dtype=t)
    for symmetric in (False, True):
        for rows in (False, True):
            def f(x, observe, quantize, low, high, scale, zero):
                return aten._fused_moving_avg_obs_fq_helper_functional(x, observe, quantize, low, high, scale, zero, 0.01, -128, 127, 0, rows, symmetric)
            size = 6 if rows else 1
            start = lambda v: torch.full((size,), v)
            calls = [(n(6, 7), one(1, i64), one(1, i64), start(float("inf")), start(-float("inf")), start(1.0), torch.zeros(size, dtype=i32)),
                     (n(6, 7), one(1, i64), one(1, i64), start(-1.5), start(2.25), start(1.0), torch.zeros(size, dtype=i32)),
                     (n(6, 7) * 1e-5, one(1, i64), one(1, i64), start(float("inf")), start(-float("inf")), start(1.0), torch.zeros(size, dtype=i32)),
                     (n(6, 7).abs(), one(1, i64), one(1, i64), start(0.0), start(3.0), start(1.0), torch.zeros(size, dtype=i32)),
                     (n(6, 7), one(0, i64), one(1, i64), start(-1.5), start(2.25), start(1.0), torch.zeros(size, dtype=i32)),
                     (n(6, 7), one(1, i64), one(0, i64), start(-1.5), start(2.25), start(1.0), torch.zeros(size, dtype=i32))]
            case(f"observer_{'symmetric' if symmetric else 'affine'}_{'rows' if rows else 'tensor'}", f, *calls)


def products():
    for a in (i8, u8):
        case(f"int_mm_{short(a)}", lambda x, y: torch._int_mm(x, y), (integers(17, 16, dtype=a), integers(16, 8)))
    case("int_mm_weight", lambda s, x: torch._int_mm(x, s.w.t()), (integers(5, 16),), w=integers(24, 16))
    for t in (f32, f16, bf16):
        loose = {f32: 1e-6, f16: 2e-3, bf16: 1e-2}[t]
        case(f"weight_int8pack_{short(t)}", lambda s, x: torch._weight_int8pack_mm(x, s.w, s.s), (numbers(5, 32, dtype=t),), w=integers(16, 32), s=scales(16, dtype=t), share=loose)
        for rows in (16, 48, 64, 128, 160):
            for group in (32, 64):
                w, sz = torch.randint(0, 16, (rows, 64), dtype=i32), torch.cat((scales(64 // group, rows, 1), torch.randn(64 // group, rows, 1)), 2).to(t)
                if rows in (64, 160) or group == 32 and t == f32:
                    case(f"weight_int4pack_{short(t)}_{rows}_{group}", lambda s, x: torch._weight_int4pack_mm_for_cpu(x, s.w, group, s.sz), (numbers(3, 64, dtype=t),), w=torch._convert_weight_to_int4pack_for_cpu(w, 2), sz=sz, share=loose)
                if rows in (48, 160) and group == 32 and t == bf16:
                    case(f"convert_int4pack_{rows}", lambda x, w, sz: (torch._convert_weight_to_int4pack_for_cpu(w, 2), torch._weight_int4pack_mm_for_cpu(x, torch._convert_weight_to_int4pack_for_cpu(w, 2), group, sz)), (numbers(3, 64, dtype=t), w, sz), share=loose)
    for tiles in (2, 4, 8):
        n, k = 16, 256
        w, sz = torch.randint(0, 16, (n, k), dtype=i32), torch.cat((scales(k // 64, n, 1), torch.randn(k // 64, n, 1)), 2).bfloat16()
        packed = torch.zeros(n // 8, k // (16 * tiles), 32, tiles // 2, dtype=i64)
        for lane in range(32):
            for word in range(tiles // 2):
                for place, column in enumerate((0, 8, 16, 24, 1, 9, 17, 25)):  # starting at the lowest bits
                    columns = torch.arange(k // (16 * tiles)) * 16 * tiles + word * 32 + lane % 4 * 2 + column
                    packed[:, :, lane, word] |= w[lane // 4 :: 8][:, columns].long() << 4 * place
        packed = torch.where(packed >= 2**31, packed - 2**32, packed).int()
        expected = ((w.float().view(n, -1, 64) - 8) * sz[:, :, 0].t().unsqueeze(-1).float() + sz[:, :, 1].t().unsqueeze(-1).float()).bfloat16().view(n, k)
        case(f"weight_int4pack_tiles_{tiles}", lambda s, x: torch._weight_int4pack_mm(x, s.w, 64, s.sz), (numbers(3, k, dtype=bf16),), w=packed, sz=sz, share=1e-2, golden=lambda x: (x.float() @ expected.float().t()).bfloat16())
    for name, group, t in (("channel", 64, f32), ("channel", 64, bf16), ("group", 32, f32)):
        w, s = integers(24, 32, dtype=u8), scales(24, 64 // group)
        for bias in (None, torch.randn(24)):
            packed = torch.ops.aten._dyn_quant_pack_4bit_weight(w, s, bias, group, 64, 24)
            case(f"dyn_quant_{name}_{short(t)}{'' if bias is None else '_bias'}", lambda s, x: torch.ops.aten._dyn_quant_matmul_4bit(x, s.w, group, 64, 24), (numbers(5, 64, dtype=t),), w=packed, share=1e-6 if t == f32 else 8e-3)
        case(f"dyn_quant_pack_{name}_{short(t)}", lambda x, w, s: torch.ops.aten._dyn_quant_matmul_4bit(x, torch.ops.aten._dyn_quant_pack_4bit_weight(w, s, None, group, 64, 24), group, 64, 24), (numbers(5, 64, dtype=t), w, s), share=1e-6 if t == f32 else 8e-3)


def blocks_of_scales(s, x):
    """Scales [r, k] repeated to the size of x [rows, columns]."""
    for axis in (0, 1):
        each = -(-x.shape[axis] // s.shape[axis]) if s.shape[axis] in (1, x.shape[axis]) else 128
        s = s.repeat_interleave(each, axis)
    return s[: x.shape[0], : x.shape[1]]


def swizzled(s):
    """Rows of scales in the order of NVIDIA's block-scaled units: tiles of 128 x 4, of which 32 rows lie together."""
    rows, columns = -(-s.shape[0] // 128) * 128, -(-s.shape[1] // 4) * 4
    padded = torch.zeros(rows, columns, dtype=u8)
    padded[: s.shape[0], : s.shape[1]] = s.view(u8)
    return padded.view(rows // 128, 4, 32, columns // 4, 4).permute(0, 3, 2, 1, 4).reshape(-1).view(e8m0)


# PyTorch's CPU has neither the operator nor its shape function.
grouped_v2 = torch.library.Library("aten", "IMPL")
for key in ("CPU", "Meta"):
    grouped_v2.impl("_scaled_grouped_mm_v2", lambda x, w, *_: torch.empty(x.shape[0], w.shape[2], dtype=bf16, device=x.device), key)


def scaled():
    m, k, n = 16, 256, 128
    x, w = torch.randn(m, k).to(e4m3), torch.randn(n, k).to(e4m3)
    exact = lambda a, sa, b, sb: (a.double() * blocks_of_scales(sa, a).double()) @ (b.double() * blocks_of_scales(sb, b).double()).t()
    one, bias = torch.tensor(0.25), torch.randn(n)
    for out in (f32, bf16, e4m3):
        case(f"scaled_mm_tensor_{short(out)}", lambda x, w, s: torch._scaled_mm(x, w.t(), s, s, out_dtype=out).to(f32), (x, w, one), share={f32: 1e-5, bf16: 1e-2, e4m3: 0.08}[out])
    case("scaled_mm_tensor_mixed", lambda x, w, s: torch._scaled_mm(x, w.t(), s, s, out_dtype=bf16), (torch.randn(m, k).to(e5m2), w, one), share=1e-2)
    case("scaled_mm_bias", lambda x, w, s, b: torch._scaled_mm(x, w.t(), s, s, b, out_dtype=bf16), (x, w, one, bias.bfloat16()), share=1e-2)
    case("scaled_mm_result", lambda x, w, s: torch._scaled_mm(x, w.t(), s, s, scale_result=s, out_dtype=e4m3).to(f32), (x[:, :32].contiguous(), w[:, :32].contiguous(), one), share=0.08,
         golden=lambda x, w, s: ((x.float() @ w.float().t()) * (s * s) * (1 / s)).to(e4m3).float())
    for name, sa, sb in (("rows", scales(m, 1), scales(n, 1)), ("blocks", scales(m, k // 128), scales(n // 128, k // 128)), ("lines", scales(m, k // 128), scales(n, k // 128))):
        case(f"scaled_mm_{name}", lambda x, w, sa, sb: torch._scaled_mm(x, w.t(), sa, sb, out_dtype=bf16), (x, w, sa, sb.t().contiguous()), share=1e-2, golden=lambda x, w, sa, sb: exact(x, sa, w, sb.t()).bfloat16())
        if name == "lines":
            turned = lambda s: s.t().contiguous().t()
            case(f"scaled_mm_v2_{name}", lambda x, w, sa, sb: torch.ops.aten._scaled_mm_v2(x, w.t(), [sa], [4], [0], [sb], [4], [0], None, bf16), (x, w, turned(sa), turned(sb)), share=1e-2, golden=lambda x, w, sa, sb: exact(x, sa, w, sb).bfloat16())
    case("scaled_mm_v2_rows", lambda x, w, sa, sb: torch.ops.aten._scaled_mm_v2(x, w.t(), [sa], [1], [0], [sb], [1], [0], None, bf16), (x, w, scales(m, 1), scales(1, n)), share=1e-2, golden=lambda x, w, sa, sb: exact(x, sa, w, sb.t()).bfloat16())
    case("scaled_mm_v2_tensor", lambda x, w, s: torch.ops.aten._scaled_mm_v2(x, w.t(), [s], [0], [0], [s], [0], [0], None, bf16), (x, w, one), share=1e-2, golden=lambda x, w, s: exact(x, s.view(1, 1), w, s.view(1, 1)).bfloat16())
    padded = torch.zeros(4, n // 128)
    padded[: k // 128] = scales(k // 128, n // 128)
    case("scaled_mm_v2_blocks", lambda x, w, sa, sb: torch.ops.aten._scaled_mm_v2(x, w.t(), [sa], [4], [0], [sb], [5], [0], None, bf16), (x, w, scales(k // 128, m).t(), padded), share=1e-2,
         golden=lambda x, w, sa, sb: exact(x, sa, w, sb[: k // 128].t()).bfloat16())
    powers = lambda *sizes: torch.randint(118, 130, sizes, dtype=u8).view(e8m0)
    pa, pb = powers(m, k // 32), powers(n, k // 32)
    mx = lambda x, w: ((x.double().view(m, -1, 32) * pa.double().unsqueeze(-1)).view(m, k) @ (w.double().view(n, -1, 32) * pb.double().unsqueeze(-1)).view(n, k).t()).bfloat16()
    case("scaled_mm_mx", lambda s, x, w: torch._scaled_mm(x, w.t(), s.a, s.b, out_dtype=bf16), (x, w), a=swizzled(pa), b=swizzled(pb), share=1e-2, golden=mx)
    case("scaled_mm_v2_mx", lambda s, x, w: torch.ops.aten._scaled_mm_v2(x, w.t(), [s.a], [3], [1], [s.b], [3], [1], None, bf16), (x, w), a=swizzled(pa), b=swizzled(pb), share=1e-2, golden=mx)
    ends = torch.tensor([5, 5, 16], dtype=i32)
    ws, sa, sb = torch.randn(3, n, k).to(e4m3), scales(m), scales(3, n)
    def grouped(x, w, sa, sb, ends):
        out = torch.zeros(m, n, dtype=f64)
        for r in range(m):
            g = int((r >= ends).sum())
            out[r] = x[r].double() @ w[g].double().t() * sa[r] * sb[g]
        return out.bfloat16()
    case("scaled_grouped_mm", lambda x, w, sa, sb, ends: torch._scaled_grouped_mm(x, w.transpose(1, 2), sa, sb, ends, out_dtype=bf16), (x, ws, sa, sb, ends), share=1e-2, golden=grouped)
    case("scaled_grouped_mm_v2", lambda x, w, sa, sb, ends: torch.ops.aten._scaled_grouped_mm_v2(x, w.transpose(1, 2), [sa], [1], [0], [sb], [1], [0], ends, None, bf16), (x, ws, sa, sb, ends), share=1e-2, golden=grouped)
    case("scaled_grouped_mm_pairs", lambda x, w, sa, sb: torch._scaled_grouped_mm(x, w.transpose(1, 2), sa, sb, out_dtype=bf16), (torch.randn(3, m, k).to(e4m3), ws, scales(3, m), sb), share=1e-2,
         golden=lambda x, w, sa, sb: ((x.double() @ w.double().transpose(1, 2)) * sa.unsqueeze(-1) * sb.unsqueeze(1)).bfloat16())


def sparse():
    from torch.sparse._semi_structured_conversions import sparse_semi_structured_from_dense_cutlass as compressed
    for t in (f32, f16, bf16, i8):
        rows, columns = (32, 128) if t == i8 else (64, 128)
        w = integers(rows, columns, least=1, most=9) if t == i8 else torch.randn(rows, columns).to(t)
        keep = torch.rand(rows, columns // 4, 4).argsort(-1) < 2
        if t == f32:
            keep = (torch.rand(rows, columns // 4, 2, 2).argsort(-1) < 1).view(rows, -1, 4)
        w = torch.where(keep.view(rows, columns), w, torch.zeros_like(w))
        kept, meta = compressed(w)
        x = integers(5, columns, least=-9, most=9) if t == i8 else torch.randn(5, columns).to(t)
        y, bias, out = x.t().contiguous(), torch.randn(rows).to(t) if t != i8 else None, i32 if t == i8 else None
        share = None if t == i8 else {f32: 1e-6, f16: 2e-3, bf16: 1e-2}[t]
        wide = lambda v: v.double() if t != i8 else v.int()
        back = lambda v: v.to(t if t != i8 else i32)
        case(f"sparse_linear_{short(t)}", lambda s, x: aten._sparse_semi_structured_linear(x, s.k, s.m, out_dtype=out), (x,), k=kept, m=meta, share=share, golden=lambda x: back(wide(x) @ wide(w).t()))
        case(f"sparse_mm_{short(t)}", lambda s, y: aten._sparse_semi_structured_mm(s.k, s.m, y, out_dtype=out), (y,), k=kept, m=meta, share=share, golden=lambda y: back(wide(w) @ wide(y)))
        if t != i8:
            case(f"sparse_linear_bias_{short(t)}", lambda s, x: aten._sparse_semi_structured_linear(x, s.k, s.m, bias=s.b), (x,), k=kept, m=meta, b=bias, share=share, golden=lambda x: back(wide(x) @ wide(w).t() + wide(bias)))
            case(f"sparse_addmm_{short(t)}", lambda s, y: aten._sparse_semi_structured_addmm(s.b, s.k, s.m, y, alpha=0.5, beta=2), (y,), k=kept, m=meta, b=bias, share=share, golden=lambda y: back(0.5 * (wide(w) @ wide(y)) + 2 * wide(bias).unsqueeze(1)))


def sparse_sizes():
    """Rows that are no whole steps of a kernel, and one, few and many rows of the other operand."""
    from torch.sparse._semi_structured_conversions import sparse_semi_structured_from_dense_cutlass as compressed
    for t in (f16, bf16, f32):
        for rows, columns in ((32, 192), (96, 320)):
            w = torch.randn(rows, columns).to(t)
            keep = (torch.rand(rows, columns // 4, 2, 2).argsort(-1) < 1).view(rows, columns) if t == f32 else (torch.rand(rows, columns // 4, 4).argsort(-1) < 2).view(rows, columns)
            w = w * keep
            kept, meta = compressed(w)
            case(f"sparse_sizes_{short(t)}_{columns}", lambda s, x: aten._sparse_semi_structured_linear(x, s.k, s.m), *((torch.randn(n, columns).to(t),) for n in (3, 1, 7, 40)), dynamic=((({0: Dim("rows", min=1, max=64)}),),),
                 k=kept, m=meta, share=1e-6 if t == f32 else 1e-2, golden=lambda x: (x.double() @ w.double().t()).to(t))


class Residual(nn.Module):
    def __init__(self, channels=8, groups=1):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, channels, 3, 2, 1), nn.BatchNorm2d(channels), nn.ReLU())
        self.a = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1, groups=groups), nn.BatchNorm2d(channels), nn.ReLU6() if groups > 1 else nn.ReLU())
        self.b, self.fc = nn.Conv2d(channels, channels, 1), nn.Linear(channels, 10)

    def forward(self, x):
        x = self.stem(x)
        x = torch.relu(x + self.b(self.a(x)))
        return self.fc(nn.functional.max_pool2d(x, 2).mean((2, 3)))


class Block(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed, self.norm = nn.Embedding(40, width), nn.LayerNorm(width)
        self.up, self.gate, self.down = nn.Linear(width, 64, bias=False), nn.Linear(width, 64, bias=False), nn.Linear(64, width)

    def forward(self, ids):
        x = self.embed(ids)
        h = self.norm(x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 16)), lambda: (torch.randn(4, 32),)),
    "cnn": (lambda: Residual(), lambda: (torch.randn(2, 3, 16, 16),)),
    "depthwise": (lambda: Residual(8, 8), lambda: (torch.randn(1, 3, 16, 12),)),
    "block": (lambda: Block(), lambda: (torch.randint(0, 40, (2, 5)),)),
}


def pt2e():
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
    import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as x86
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config as symmetric
    quantizers = {}
    for dynamic in (False, True):
        for qat in (False, True):
            end = "_dynamic" * dynamic + "_qat" * qat
            quantizers["x86" + end] = (qat, lambda d=dynamic, q=qat: x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config(is_qat=q, is_dynamic=d)))
            quantizers["xnnpack" + end] = (qat, lambda d=dynamic, q=qat: XNNPACKQuantizer().set_global(symmetric(is_per_channel=True, is_dynamic=d, is_qat=q)))
    quantizers["xnnpack_tensor"] = (False, lambda: XNNPACKQuantizer().set_global(symmetric(is_per_channel=False)))
    for q, (qat, quantizer) in quantizers.items():
        for name, (make, inputs) in MODELS.items():
            if not wanted(f"pt2e_{q}_{name}") or (qat and name not in ("mlp", "cnn")):
                continue
            model, args = make().train(qat), inputs()
            try:
                prepared = (prepare_qat_pt2e if qat else prepare_pt2e)(export(model, args, strict=True).module(), quantizer())
                for _ in range(2):
                    prepared(*inputs())
                prepared(*args)
                converted = convert_pt2e(prepared)
            except Exception as e:
                print(f"pt2e_{q}_{name}: {type(e).__name__}: {str(e)[:100]}")
                continue
            case(f"pt2e_{q}_{name}", converted, args, share=2e-2)
            if name == "mlp":
                case(f"pt2e_{q}_{name}_dec", converted, args, share=2e-2, decompose=True)


def configurations():
    import torchao.quantization as q
    from torchao.utils import unwrap_tensor_subclass
    found = {
        "int8wo": lambda: q.Int8WeightOnlyConfig(),
        "int8da": lambda: q.Int8DynamicActivationInt8WeightConfig(),
        "int4intx": lambda: q.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=q.PerGroup(16)),
        "int3intx": lambda: q.IntxWeightOnlyConfig(weight_dtype=torch.int3, granularity=q.PerAxis(0), mapping_type=q.MappingType.ASYMMETRIC),
        "int8da_int4w": lambda: q.Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=q.PerGroup(16)),
        "float8wo": lambda: q.Float8WeightOnlyConfig(),
    }
    for c, config in found.items():
        for name in ("mlp", "block"):
            for t in (f32, bf16):
                label = f"ao_{c}_{name}" + ("_bf16" if t == bf16 else "")
                if not wanted(label):
                    continue
                make, inputs = MODELS[name]
                model, args = make().eval().to(t), tuple(x.to(t) if x.is_floating_point() else x for x in inputs())
                q.quantize_(model, config())
                model = unwrap_tensor_subclass(model)
                case(label, model, args, share=1e-2 if t == f32 else 3e-2)
                case(label + "_dec", model, args, share=1e-2 if t == f32 else 3e-2, decompose=True)


def by_hand():
    """As people without a library write it: integers, scales, and a cast."""
    w = integers(24, 32)
    case("hand_int8", lambda s, x: nn.functional.linear(x, s.w.to(x.dtype)) * s.s, (torch.randn(4, 32),), w=w, s=scales(24), share=1e-5)
    pairs = integers(24, 16, dtype=u8)
    def int4(s, x):
        q = torch.stack((s.w & 15, s.w >> 4), -1).flatten(1)
        return nn.functional.linear(x, ((q.view(24, -1, 16).to(x.dtype) - s.z.to(x.dtype)) * s.s.to(x.dtype)).flatten(1))
    for t in (f32, bf16):
        case(f"hand_int4_{short(t)}", int4, (torch.randn(4, 32).to(t),), w=pairs, s=scales(24, 2, 1), z=integers(24, 2, 1, dtype=i32, least=6, most=9).float(), share=1e-5 if t == f32 else 2e-2)


def everywhere():
    """Weights that other nodes than linear layers read: rows of tables, experts, batches of matrices, convolutions."""
    def int8(rows, columns, *lead, dtype=f32):  # a scale for each row
        return {"q": integers(*lead, rows, columns), "s": scales(*lead, rows, 1, dtype=dtype)}, lambda m: m.q.to(dtype) * m.s
    def int4(rows, columns, *lead, dtype=f32):  # pairs in a byte, groups of 32, zero points
        unpacked = lambda m: torch.stack((m.q & 15, m.q >> 4), -1).flatten(-2).unflatten(-1, (-1, 32)).to(dtype)
        return ({"q": integers(*lead, rows, columns // 2, dtype=u8), "s": scales(*lead, rows, columns // 32, 1, dtype=dtype), "z": integers(*lead, rows, columns // 32, 1, dtype=i8, least=6, most=9)},
                lambda m: ((unpacked(m) - m.z.to(dtype)) * m.s).flatten(-2))
    def mx(rows, columns, *lead, dtype=f32):
        return ({"q": (torch.randn(*lead, rows, columns) * 2).to(e4m3), "s": torch.randint(120, 130, (*lead, rows, columns // 32), dtype=u8).view(e8m0)},
                lambda m: (m.q.to(dtype).unflatten(-1, (-1, 32)) * m.s.to(dtype).unsqueeze(-1)).flatten(-2))
    formats = {"int8": int8, "int4": int4, "mxfp8": mx}
    ids = torch.tensor([[0, 11, 3], [7, 7, 2]])
    ends = torch.tensor([2, 2, 9], dtype=i32)  # an expert without rows
    for name, make in formats.items():
        for t in (f32, bf16):
            end = "" if t == f32 else "_bf16"
            share = 1e-5 if t == f32 else 2e-2
            buffers, table = make(12, 64, dtype=t)
            case(f"all_{name}_embedding{end}", lambda m, i: nn.functional.embedding(i, table(m)), (ids,), **buffers)
            case(f"all_{name}_tied{end}", lambda m, i: nn.functional.linear(nn.functional.embedding(i, table(m)), table(m)), (ids,), share=share, **buffers)
            if t == f32:
                for mode in ("sum", "mean"):
                    case(f"all_{name}_bag_{mode}", lambda m, i, o: nn.functional.embedding_bag(i, table(m), o, mode=mode), (ids.flatten(), torch.tensor([0, 2, 2, 5])), share=1e-5, **buffers)
            buffers, experts = make(24, 64, 3, dtype=t)
            if t == bf16:  # the only type of PyTorch's kernel
                case(f"all_{name}_experts", lambda m, x, e: torch._grouped_mm(x, experts(m).transpose(1, 2), offs=e), (torch.randn(9, 64).to(t), ends), share=share, **buffers)
            case(f"all_{name}_bmm{end}", lambda m, x: torch.bmm(x, experts(m).transpose(1, 2)), (torch.randn(3, 4, 64).to(t),), share=share, **buffers)
            with torch.random.fork_rng():  # keeps the random numbers of later cases
                buffers, experts = make(24, 64, 3, dtype=t)
                def loop(m, x):
                    w = experts(m)
                    return sum(x[:, i:i + 1] * nn.functional.linear(x, w[i]) for i in range(3))
                case(f"all_{name}_loop{end}", loop, (torch.randn(4, 64).to(t),), share=share, **buffers)
            buffers, kernels = make(16, 32 * 9, dtype=t)
            case(f"all_{name}_conv2d{end}", lambda m, x: nn.functional.conv2d(x, kernels(m).view(16, 32, 3, 3), m.b, stride=2, padding=1), (torch.randn(2, 32, 9, 7).to(t),), share=share, b=torch.randn(16).to(t), **buffers)
            buffers, ones = make(16, 64, dtype=t)
            case(f"all_{name}_conv1d_groups{end}", lambda m, x: nn.functional.conv1d(x, ones(m).view(16, 64, 1), groups=2), (torch.randn(1, 128, 10).to(t),), share=share, **buffers)


def microscaled_groups():
    """Groups of rows and their matrices with scales of MX blocks, which only GPUs multiply: results in double."""
    m, k, n, groups = 300, 160, 144, 3
    ends = torch.tensor([150, 150, 290], dtype=i32)  # a group without rows, and rows without a group
    powers = lambda *sizes: torch.randint(120, 130, sizes, dtype=u8).view(e8m0)
    x, sx, w, sw = torch.randn(m, k).to(e4m3), powers(m, k // 32), torch.randn(groups, n, k).to(e4m3), powers(groups, n, k // 32)
    wide = lambda t, s: (t.double().unflatten(-1, (-1, 32)) * s.double().unsqueeze(-1)).flatten(-2)
    def padded(s, ends):  # each group has its own tiles; rows without a group have none
        starts = [0, *ends.tolist()]
        return torch.cat([swizzled(s[a:b]).view(u8) for a, b in zip(starts, ends.tolist()) if b > a]).view(-1, -(-s.shape[1] // 4) * 4).view(e8m0)
    def product(x, sx, ends):
        group = (torch.arange(len(x)).unsqueeze(1) >= ends).sum(1)
        every = torch.einsum("rk,gnk->rgn", wide(x, sx), wide(w, sw))
        return torch.stack([every[r, g] if g < groups else torch.zeros(n, dtype=f64) for r, g in enumerate(group.tolist())]).bfloat16()
    tiles = torch.stack([swizzled(s).view(u8) for s in sw]).view(e8m0)
    v1 = lambda s, x, sx, ends: torch._scaled_grouped_mm(x, s.w.transpose(1, 2), sx, s.sw, ends, out_dtype=bf16)
    def v2(swizzle):
        return lambda s, x, sx, ends: torch.ops.aten._scaled_grouped_mm_v2(x, s.w.transpose(1, 2), [sx], [3], [swizzle], [s.sw], [3], [swizzle], ends, None, bf16)
    # The scales of an input lie in tiles depending on its groups.
    golden = lambda x, _, e: product(x, sx if len(x) == m else other_sx, e)
    few, other_sx, few_ends = torch.randn(40, k).to(e4m3), powers(40, k // 32), torch.tensor([7, 24, 40], dtype=i32)
    calls = ((x, padded(sx, ends), ends), (few, padded(other_sx, few_ends), few_ends))
    dynamic = ({0: Dim("rows", min=2, max=4096)}, {0: Dim("scales", min=2, max=8192)}, None)
    case("grouped_mx", v1, calls[0], w=w, sw=tiles, share=1e-2, golden=golden)
    case("grouped_mx_dynamic", v1, *calls, dynamic=(dynamic,), w=w, sw=tiles, share=1e-2, golden=golden)
    case("grouped_mx_v2", v2(1), calls[0], w=w, sw=tiles, share=1e-2, golden=golden)
    case("grouped_mx_v2_rows", v2(0), (x, sx, ends), w=w, sw=sw.flatten(1), share=1e-2, golden=golden)
    case("grouped_mx_inputs", lambda x, sx, w, sw, ends: torch._scaled_grouped_mm(x, w.transpose(1, 2), sx, sw, ends, out_dtype=bf16), (x, padded(sx, ends), w, tiles, ends), share=1e-2, golden=lambda x, s, w, t, e: product(x, sx, e))


for part in (decomposed, executorch, affine, fake, products, scaled, sparse, pt2e, configurations, by_hand, everywhere, microscaled_groups, sparse_sizes):
    part()
print(made, "cases")
